"""The distribution of columns given the cells of a row that are known, the others summed out.

One unknown cell besides is summed out exactly, over all its codes. More are drawn, from chains of the model that hold
the known cells: conditional distributions are averaged over their states, and the chains are compared with each other.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from energyboost.model.domain import Domain
from energyboost.model.energy import Codes, Energy, Floats
from energyboost.parallel import map_blocks, row_blocks
from energyboost.sampling.protocol import Bools, How, Reduce

MOST_CELLS = 1 << 22
"""Codes of a column times those of an unknown one, up to which this is summed out."""
CELLS_AT_ONCE = 1 << 20
N_CHAINS, MOST_CHAINS = 8, 512
"""For each row, and for a row that is alone."""
N_CHAINS_IN_ALL = 4096
N_KEPT = 8
"""States of a chain that are used."""
STATES_AT_ONCE = 1 << 17

Part = tuple[npt.NDArray[np.int64], npt.NDArray[Any]]
"""Some rows, and what was found of them."""


class Chained(Protocol):
    """A model whose rows come from chains."""

    @property
    def energy(self) -> Energy:
        """The unnormalised log-probability of a row of codes."""

    @property
    def domain(self) -> Domain:
        """The space of the rows."""

    @property
    def n_trees(self) -> int:
        """Number of trees."""

    def states(self, codes: Codes, free: Bools, n_kept: int, seed: np.random.SeedSequence, how: How) -> Codes:
        """States of one chain per row along its ``free`` columns, (n_rows, n_kept, n_columns)."""


def staged_conditional(
    model: Chained,
    codes: Codes,
    known: Bools,
    column: int,
    stages: Sequence[int],
    reduce: Reduce,
    n_jobs: int | None = 1,
) -> Iterator[npt.NDArray[Any]]:
    """The distribution of a column given the known cells of each row, after each number of trees in ``stages``.

    ``known[:, column]`` is not read. ``reduce`` gets the probabilities of the codes by each chain, (n_rows, n_chains,
    n_codes): one chain where they are exact.
    """
    unknown = ~known
    unknown[:, column] = False
    n_unknown = np.count_nonzero(unknown, axis=1)
    few = model.energy.columns.size[np.argmax(unknown, axis=1)] * model.energy.columns.size[column] <= MOST_CELLS
    groups = n_unknown == 0, (n_unknown == 1) & few, (n_unknown > 1) | (n_unknown == 1) & ~few
    exact, one, many = map(np.flatnonzero, groups)

    def of_exact(probability: Floats) -> npt.NDArray[Any]:
        return reduce(probability[:, None])

    staged = model.energy.staged_conditional(codes[exact], column, stages, of_exact, n_jobs)
    for stage, first in zip(stages, staged, strict=True):
        if len(exact) == len(codes):
            yield first
            continue
        how = How(n_trees=stage, n_jobs=n_jobs)
        parts: list[Part] = [(exact, first)]
        for gap in np.unique(np.argmax(unknown[one], axis=1)):
            rows = one[unknown[one, gap]]
            parts.append((rows, _sum_out_one(model, codes[rows], column, int(gap), reduce, how)))
        if len(many):
            free = unknown[many]
            free[:, column] = True
            averages = _average(model, codes[many], free, [column], [reduce], how)
            parts += [(many[rows], of_columns[0]) for rows, of_columns in averages]
        yield _in_order(parts, len(codes))


def gaps(
    model: Chained, codes: Codes, known: Bools, reduces: Sequence[Reduce], n_jobs: int | None = 1
) -> dict[int, npt.NDArray[Any]]:
    """For every column with gaps, what ``reduces[column]`` makes of its distribution in the rows that do not know it.

    As :func:`staged_conditional` for each column, but chains are run once for all columns.
    """
    n_unknown = np.count_nonzero(~known, axis=1)
    few, many = np.flatnonzero((n_unknown > 0) & (n_unknown <= 2)), np.flatnonzero(n_unknown > 2)
    parts: list[list[Part]] = [[] for _ in reduces]
    for j, reduce in enumerate(reduces):
        rows = few[~known[few, j]]
        if len(rows):
            stages = [model.n_trees]
            found = next(staged_conditional(model, codes[rows], known[rows], j, stages, reduce, n_jobs))
            parts[j].append((rows, found))
    if len(many):
        columns = list(range(len(reduces)))
        for rows, of_columns in _average(model, codes[many], ~known[many], columns, reduces, How(n_jobs=n_jobs)):
            for j in columns:
                inside = ~known[many[rows], j]
                if inside.any():
                    parts[j].append((many[rows][inside], of_columns[j]))
    return {j: _in_order(part, len(codes))[~known[:, j]] for j, part in enumerate(parts) if part}


def _in_order(parts: Sequence[Part], n_rows: int) -> npt.NDArray[Any]:
    """What was found of some rows, where these rows stand among all."""
    some = parts[-1][1]
    out = np.zeros((n_rows, *some.shape[1:]), some.dtype)
    for rows, found in parts:
        if len(rows):
            out[rows] = found
    return out


def _sum_out_one(model: Chained, codes: Codes, column: int, gap: int, reduce: Reduce, how: How) -> npt.NDArray[Any]:
    """Sum over all codes of one more column, exactly."""

    def run(rows: slice) -> npt.NDArray[Any]:
        plane, _ = model.energy.planes(codes[rows], gap, column, how.n_trees)
        probability = plane.sum(axis=1, dtype=np.float64)
        probability /= probability.sum(axis=1, keepdims=True)
        return reduce(probability[:, None])

    sizes = model.energy.columns.size
    at_once = max(1, CELLS_AT_ONCE // int(sizes[column] * sizes[gap]))
    return np.concatenate(map_blocks(run, row_blocks(len(codes), at_once), how.n_jobs))


def _average(
    model: Chained, codes: Codes, free: Bools, columns: Sequence[int], reduces: Sequence[Reduce], how: How
) -> Iterator[tuple[npt.NDArray[np.int64], list[npt.NDArray[Any]]]]:
    """Average conditional distributions over chains along the free cells, block by block of rows.

    Yields the rows of a block and, for each column, what is wanted of those among them in which it is free. Rows that
    know the same cells, and the same of them, share chains.
    """
    alike = np.concatenate([np.where(free, 0, codes), free.astype(codes.dtype)], axis=1)
    _, which, same = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    same = same.reshape(-1)
    n_chains = int(np.clip(N_CHAINS_IN_ALL // len(which), N_CHAINS, MOST_CHAINS))
    for number, block in enumerate(row_blocks(len(which), max(1, STATES_AT_ONCE // (n_chains * N_KEPT)))):
        first = which[block]
        states = model.states(
            np.repeat(codes[first], n_chains, axis=0),
            np.repeat(free[first], n_chains, axis=0),
            N_KEPT,
            np.random.SeedSequence([0, number]),
            how,
        )
        inside = np.flatnonzero((same >= block.start) & (same < block.start + len(first)))
        place = same[inside] - block.start
        states = states.reshape(len(first), n_chains * N_KEPT, -1)
        found = []
        for j, reduce in zip(columns, reduces, strict=True):
            asked = np.flatnonzero(free[first, j])
            by_chain = _over_states(model, states[asked], j, n_chains, how)
            back = np.full(len(first), -1)
            back[asked] = np.arange(len(asked))
            rows = back[place][free[inside, j]]
            found.append(reduce(by_chain)[rows])  # rows that are alike are reduced once
        yield inside, found


def _over_states(model: Chained, states: Codes, column: int, n_chains: int, how: How) -> Floats:
    """The mean over the states of each chain (n_rows, n_states, n_columns) of the conditional of a column."""
    n_rows, n_states, n_columns = states.shape
    size = int(model.energy.columns.size[column])
    by_chain = np.empty((n_rows, n_chains, size))
    for rows in row_blocks(n_rows, max(1, (1 << 22) // (n_states * size))):
        some = states[rows].reshape(-1, n_columns)
        given = model.energy.conditional(some, column, how.n_trees, how.n_jobs)
        by_chain[rows] = given.reshape(-1, n_chains, n_states // n_chains, size).mean(axis=2)
    return by_chain


def joint(
    model: Chained,
    codes: Codes,
    known: Bools,
    columns: Sequence[int],
    n_trees: int | None = None,
    n_jobs: int | None = 1,
) -> Floats:
    """The distribution of some columns together given the known cells of each row, (n_rows, codes, codes, ...).

    Other unknown cells are summed out, over every combination of their codes: see :func:`n_combinations`.
    """
    sizes = [int(model.energy.columns.size[j]) for j in columns]
    out = np.empty((len(codes), *sizes))

    def run(block: slice) -> None:
        for i in range(block.start, block.stop):
            others = [int(j) for j in np.flatnonzero(~known[i]) if j not in columns]
            table = _table(model, codes[i], [*others, *columns], n_trees)
            out[i] = table.sum(axis=tuple(range(len(others))))

    map_blocks(run, row_blocks(len(codes), 64), n_jobs)
    return out


def n_combinations(model: Chained, known: Bools, columns: Sequence[int]) -> npt.NDArray[np.float64]:
    """How many combinations of codes :func:`joint` looks at for each row."""
    log_size: Floats = np.log(model.energy.columns.size)
    unknown = ~known
    unknown[:, list(columns)] = True
    return np.asarray(np.exp(unknown @ log_size))


def _table(model: Chained, row: Codes, columns: Sequence[int], n_trees: int | None) -> Floats:
    """The probability of every combination of codes of some columns, given the other cells of one row."""
    energy = model.energy
    sizes = [int(energy.columns.size[j]) for j in columns]
    if len(columns) == 1:
        return np.asarray(energy.conditional(row[None], columns[0], n_trees)[0])
    *first, outer, inner = columns
    n_rows = math.prod(sizes[:-2])
    weight, log_top = np.empty((n_rows, *sizes[-2:]), np.float32), np.empty(n_rows)
    for some in row_blocks(n_rows, max(1, CELLS_AT_ONCE // (sizes[-2] * sizes[-1]))):
        rows = np.repeat(row[None], some.stop - some.start, axis=0)
        places = np.unravel_index(np.arange(some.start, some.stop), sizes[:-2]) if first else ()
        for j, place in zip(first, places, strict=True):
            rows[:, j] = place
        weight[some], log_top[some] = energy.planes(rows, outer, inner, n_trees)
        for j, place in zip(first, places, strict=True):
            log_top[some] += energy.baseline.energy[energy.columns.start[j] + place]
    table = weight * np.exp(log_top - log_top.max())[:, None, None]
    return np.asarray((table / table.sum()).reshape(sizes))
