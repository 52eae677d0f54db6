"""Threads over fixed-size blocks. Kernels release the GIL; results never depend on the number of threads."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import TypeVar

from energyboost.errors import ParameterError

Block = TypeVar("Block")
Result = TypeVar("Result")


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads: ``None`` and -1 mean all processors this process may use, -2 all but one."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ParameterError(f"n_jobs is a number of threads, -1 for one per processor, or None; got {n_jobs!r}")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return available
    return max(1, int(n_jobs) if n_jobs > 0 else available + 1 + int(n_jobs))


def map_blocks(function: Callable[[Block], Result], blocks: Sequence[Block], n_jobs: int | None) -> list[Result]:
    """``[function(block) for block in blocks]`` in up to ``n_jobs`` threads, in the order of the blocks."""
    n_jobs = resolve_n_jobs(n_jobs)
    if n_jobs == 1 or len(blocks) < 2:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(min(n_jobs, len(blocks))) as threads:
        return list(threads.map(function, blocks))


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Cut ``range(n_rows)`` into slices of at most ``size`` rows."""
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
