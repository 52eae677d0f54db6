"""Threads over blocks."""

import os
import threading

import pytest

from energyboost.errors import ParameterError
from energyboost.parallel import map_blocks, resolve_n_jobs, row_blocks

AVAILABLE = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.parametrize(
    ("n_jobs", "threads"),
    [(None, AVAILABLE), (-1, AVAILABLE), (-2, max(1, AVAILABLE - 1)), (-1000, 1), (1, 1), (7, 7)],
)
def test_negative_numbers_of_jobs_count_down_from_all_processors(n_jobs, threads):
    assert resolve_n_jobs(n_jobs) == threads


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_no_jobs_are_refused(n_jobs):
    with pytest.raises(ParameterError) as refusal:
        resolve_n_jobs(n_jobs)
    expected = f"n_jobs is a number of threads, -1 for one per processor, or None; got {n_jobs!r}"
    assert str(refusal.value) == expected


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_blocks(n_jobs):
    assert map_blocks(lambda k: k * k, range(50), n_jobs) == [k * k for k in range(50)]
    assert map_blocks(lambda k: k, [], n_jobs) == []


def test_blocks_run_in_several_threads():
    # every block waits for the others: with fewer threads than blocks, this would not end
    together = threading.Barrier(3, timeout=30)
    assert len(map_blocks(lambda _: together.wait(), range(3), 3)) == 3


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_block_that_fails_fails_the_whole(n_jobs):
    with pytest.raises(ZeroDivisionError):
        map_blocks(lambda k: 1 // k, [1, 0, 2], n_jobs)


@pytest.mark.parametrize(("n_rows", "size", "lengths"), [(0, 4, []), (4, 4, [4]), (9, 4, [4, 4, 1])])
def test_row_blocks_cover_every_row_once(n_rows, size, lengths):
    blocks = row_blocks(n_rows, size)
    assert [len(range(*block.indices(n_rows))) for block in blocks] == lengths
    assert [i for block in blocks for i in range(*block.indices(n_rows))] == list(range(n_rows))
