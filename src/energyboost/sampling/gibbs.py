"""Gibbs sweeps over many chains, in threads."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import IMPOSSIBLE
from energyboost.kernels.sweeps import sweeps
from energyboost.model.energy import Codes, Energy
from energyboost.parallel import map_blocks, row_blocks
from energyboost.sampling.moves import SINGLE, Moves

UNIFORMS_AT_ONCE = 1 << 17  # per block of chains: longer sweeping is cut


def sweep(
    energy: Energy,
    codes: Codes,
    n_sweeps: int,
    seed: np.random.SeedSequence,
    *,
    moves: Moves = SINGLE,
    free: npt.NDArray[np.bool_] | None = None,
    n_kept: int = 0,
    n_trees: int | None = None,
    temperature: float = 1.0,
    log_weights: npt.NDArray[np.float64] | None = None,
    block_size: int = 64,
    n_jobs: int | None = 1,
) -> Codes:
    """Move every row of ``codes`` (in place) by ``n_sweeps`` sweeps of the model at a temperature.

    Only the columns that are ``free`` (as ``codes``) move, all unless told. ``log_weights``, laid out as the base, are
    the logarithms of factors on the probabilities of codes; minus infinity rules a code out.

    Returns the last ``n_kept`` states of each chain, shape (n_chains, n_kept, n_columns). Every block of
    ``block_size`` chains has a stream of random numbers of its own, so results do not depend on ``n_jobs``.
    """
    if not codes.flags.c_contiguous:
        raise ValueError("the codes of chains must be C-contiguous: kernels read them as one run, row by row")
    n_chains, n_columns = codes.shape
    n_trees = energy.n_trees if n_trees is None else n_trees
    kept = np.empty((n_chains, n_kept, n_columns), codes.dtype)
    kernel = sweeps(energy.index.width)
    sets, base = energy.index.arrays, energy.base
    if log_weights is not None:  # a factor is the same at any temperature
        with np.errstate(over="ignore"):
            base = np.maximum(base + temperature * log_weights, IMPOSSIBLE).astype(np.float32)
    # no hotter than keeps IMPOSSIBLE out of reach, no colder than keeps other energies finite
    cold = np.float32(np.clip(1 / temperature, 1e-20, 1e20))
    free = np.ones(codes.shape, bool) if free is None else free
    pairs = np.array(moves.pairs, np.int64).reshape(-1, 2)
    n_uniforms = n_columns + 3 * len(pairs)
    blocks = row_blocks(n_chains, block_size)

    def run(block: tuple[slice, np.random.SeedSequence]) -> None:
        rows, stream = block
        rng, n = np.random.default_rng(stream), len(codes[rows])
        due = moves.schedule(n_sweeps, n_columns, n_trees, rng)
        reflected = moves.reflections(n_sweeps)
        for first, last in _stretches(n_sweeps, n_sweeps - n_kept, n * n_uniforms):
            uniforms = rng.random((n, last - first, n_uniforms), dtype=np.float32)
            start = max(first - (n_sweeps - n_kept), 0)
            out = kept[rows, start : start + (last - first if first >= n_sweeps - n_kept else 0)]
            part = np.empty(out.shape, codes.dtype)
            plan = reflected[first:last], pairs, due[first:last]
            kernel(energy.columns, sets, n_trees, base, cold, free[rows], *plan, codes[rows], uniforms, part)
            out[:] = part

    map_blocks(run, list(zip(blocks, seed.spawn(len(blocks)), strict=True)), n_jobs)
    return kept


def _stretches(n_sweeps: int, first_kept: int, numbers_per_sweep: int) -> Iterator[tuple[int, int]]:
    """Cut sweeps into stretches that are kept wholly or not at all and need few uniforms each."""
    longest = max(1, UNIFORMS_AT_ONCE // max(1, numbers_per_sweep))
    first = 0
    while first < n_sweeps:
        end = first_kept if first < first_kept else n_sweeps
        last = min(first + longest, end)
        yield first, last
        first = last
