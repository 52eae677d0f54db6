"""A stamp of all kernel sources, by which Numba's disk cache tells old machine code from new.

The cache notices a change of the file that defines a kernel, not of the files whose functions it calls. A kernel that
calls such functions is therefore made by a function that hands it this stamp: what a kernel takes from around it is
part of its key in the cache. The functions it calls are not cached on their own.
"""

from hashlib import sha256
from pathlib import Path


def stamp_of(folder: Path) -> str:
    """A hash of the sources in a folder."""
    return sha256(b"\0".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()


STAMP = stamp_of(Path(__file__).parent)
