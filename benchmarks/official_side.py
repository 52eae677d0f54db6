"""The official package in an environment of its own, and requests to its worker."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from benchmarks.data import REPOSITORY

REQUIREMENTS = ("nrgboost==0.0.3", "pandas", "scikit-learn")


def python_of(folder: Path, requirements: Sequence[str] = REQUIREMENTS) -> Path:
    """The interpreter of the environment in ``folder``, which is made if it is not there."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done, wanted = folder / "installed.txt", "\n".join(requirements)
    if done.is_file() and done.read_text() == wanted:
        return python
    print(f"making an environment with {', '.join(requirements)} in {folder}", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    subprocess.run(install, check=True, stdout=sys.stderr, env=clean_environment())
    done.write_text(wanted)
    return python


class OfficialWorker:
    """A process in the official environment, idle unless a request is under way."""

    def __init__(self, python: Path, threads: int, log: Path) -> None:
        self._log = log
        self._log_file = log.open("w")
        # what has no thread parameter of its own follows these
        counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.official_worker"],
            cwd=REPOSITORY,
            env=clean_environment() | counts,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log_file,
            text=True,
        )

    def __call__(self, do: str, **request: Any) -> dict[str, Any]:
        """Ask for something, wait for the answer."""
        requests, answers = _pipe(self._process.stdin), _pipe(self._process.stdout)
        print(json.dumps({"do": do} | request, default=str), file=requests, flush=True)
        answer = answers.readline()
        if not answer:
            last = "\n".join(self._log.read_text().splitlines()[-15:])
            raise RuntimeError(f"the official worker ended during {do!r}; the end of {self._log}:\n{last}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        """End the process."""
        _pipe(self._process.stdin).close()
        self._process.wait()
        self._log_file.close()


def clean_environment() -> dict[str, str]:
    """Ours without what would lead the other interpreter to our packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the worker was started without a pipe")
    return stream
