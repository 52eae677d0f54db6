"""How well chains mix: integrated autocorrelation time, R-hat and effective sample size, per column."""

from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import rankdata

from energyboost.model.domain import Domain
from energyboost.model.energy import Codes, Energy
from energyboost.sampling.annealing import LogZ
from energyboost.sampling.gibbs import sweep
from energyboost.sampling.moves import Moves

Floats = npt.NDArray[np.float64]

FEW_LEVELS = 6
"""Of an unordered column, so many of the most frequent levels are followed, each on its own."""
KEPT = 0.1
"""A chain has forgotten its start when a column's correlation with it is below this."""


N_CHAINS, N_SWEEPS = 64, 256
"""What chains are watched for, from rows of the pool."""
MOST_SWEEPS = 100
"""So many sweeps are taken at most unless told; chains that need more are slow."""
AGREE = 1.05
"""Chains whose R-hat is above this, and above what slow mixing alone explains, disagree."""
STUCK = 0.75 * N_SWEEPS
"""Autocorrelation times from here on are too long to be measured."""


@dataclass(frozen=True, slots=True)
class Mixing:
    """How chains move along every column. A column that never varies has an ``iat`` and an ``r_hat`` of 1.

    ``iat`` is the integrated autocorrelation time in sweeps: as many sweeps are worth one independent draw.
    """

    iat: Floats
    r_hat: Floats
    n_effective: Floats

    @property
    def slowest(self) -> int:
        """The column with the largest autocorrelation time."""
        return int(np.argmax(self.iat))

    @property
    def sweeps_to_forget(self) -> int:
        """Sweeps until the slowest column keeps less than ``KEPT`` of its start."""
        iat = float(self.iat.max(initial=1.0))
        # of an autoregressive chain: iat = (1 + r) / (1 - r), and the correlation after k sweeps is r^k
        return 1 if iat <= 1 else ceil(log(KEPT) / log((iat - 1) / (iat + 1)))


def measure_mixing(states: Codes, domain: Domain) -> Mixing:
    """From the states of chains at equilibrium, (n_chains, n_sweeps, n_columns)."""
    n_chains, n_sweeps, n_columns = states.shape
    iat, r_hat = np.ones(n_columns), np.ones(n_columns)
    for j in range(n_columns):
        for values in _functions(states[:, :, j], domain.ordered[j]):
            values = _normal_scores(values)
            iat[j] = max(iat[j], n_chains * n_sweeps / effective_size(values))
            r_hat[j] = max(r_hat[j], split_r_hat(values))
    return Mixing(iat, r_hat, n_chains * n_sweeps / iat)


def _functions(codes: Codes, ordered: bool) -> list[Floats]:
    """What is followed of a column: its codes and how far they are out, or whether it is at its frequent levels.

    Reflected chains cross a distribution fast, and may yet move slowly between its middle and its ends.
    """
    seen, counts = np.unique(codes, return_counts=True)
    if len(seen) < 2:
        return []
    if ordered:
        place = codes.astype(float)
        return [place, np.abs(place - np.median(place))]
    frequent = seen[np.argsort(-counts, kind="stable")][:FEW_LEVELS]
    return [(codes == level).astype(float) for level in frequent[: len(seen) - (len(seen) == 2)]]


def _normal_scores(values: Floats) -> Floats:
    """Ranks as normal scores, so that no scale or heavy tail matters (Vehtari et al. 2021)."""
    scores: Floats = ndtri((rankdata(values) - 0.375) / (values.size + 0.25)).reshape(values.shape)
    return scores


def split_r_hat(values: Floats) -> float:
    """The ratio of the standard deviation of all draws to that within half chains; near 1 where chains agree."""
    half = values.shape[1] // 2
    if half < 2:
        return 1.0
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = half * halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return float("inf") if between > 0 else 1.0
    return float(np.sqrt((within * (half - 1) / half + between / half) / within))


def effective_size(values: Floats) -> float:
    """The number of independent draws that chains (n_chains, n_draws) are worth, by Geyer's initial sequences.

    Autocorrelation is taken about the mean of *all* chains: chains that stay apart count as slow, not as many.
    """
    n_chains, n = values.shape
    centred = values - values.mean()
    variance = centred.var()
    if variance == 0:
        return float(n_chains * n)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    products = np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=1)[:, :n].mean(axis=0)
    correlation = products / (n - np.arange(n)) / variance
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    if not len(pairs):
        return float(n_chains)
    positive = len(pairs) if (pairs > 0).all() else int(np.argmax(pairs <= 0))
    total = np.minimum.accumulate(pairs[:positive]).sum()
    return float(n_chains * n / max(2 * total - 1, 1.0))


def watch(energy: Energy, pool: Codes, moves: Moves, n_jobs: int | None = 1) -> Mixing:
    """How chains from rows of a pool mix. The same model and pool give the same measurement."""
    for_starts, for_sweeps = np.random.SeedSequence(0).spawn(2)
    n_chains = min(N_CHAINS, len(pool))
    chains = pool[np.random.default_rng(for_starts).permutation(len(pool))[:n_chains]]
    # small blocks: for all threads, and each with a plan of its own
    states = sweep(energy, chains, N_SWEEPS, for_sweeps, moves=moves, n_kept=N_SWEEPS, block_size=4, n_jobs=n_jobs)
    return measure_mixing(states, energy.domain)


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics:
    """How well a fitted model can be sampled, and how well log Z is known; print it.

    Parameters
    ----------
    columns : tuple of str
        The columns that ``mixing`` speaks of.
    mixing : Mixing
        Of chains that start in the pool.
    n_sweeps : int
        Sweeps that ``sample`` takes by default where several chains start from one row of the pool.
    seconds_per_draw : float
        Of one sweep of one chain, on one thread.
    log_z : LogZ
        The estimate that log-densities use.
    carried : LogZ
        The one carried along in training. Where the two differ by much, the pool drifted.
    acceptance : tuple of float
        The share of the pool that each round kept, where the history of training is at hand.
    """

    columns: tuple[str, ...]
    mixing: Mixing
    n_sweeps: int
    seconds_per_draw: float
    log_z: LogZ
    carried: LogZ
    acceptance: tuple[float, ...] = ()

    @property
    def records(self) -> list[dict[str, Any]]:
        """One record per column: autocorrelation time in sweeps, R-hat, and effective draws, also per second."""
        return [
            {
                "column": name,
                "iat": float(iat),
                "r_hat": float(r_hat),
                "n_effective": float(n),
                "n_effective_per_second": 1 / (float(iat) * self.seconds_per_draw),
            }
            for name, iat, r_hat, n in zip(
                self.columns, self.mixing.iat, self.mixing.r_hat, self.mixing.n_effective, strict=True
            )
        ]

    @property
    def drift(self) -> float:
        """How far the log Z carried along in training stands from the one that is used."""
        return self.carried.value - self.log_z.value

    @property
    def verdict(self) -> str:
        """What all this means, and what to do."""
        slowest = self.columns[self.mixing.slowest]
        needed = self.mixing.sweeps_to_forget
        if self.mixing.iat.max(initial=1.0) >= STUCK:
            words = [
                f"Chains hardly move along column {slowest!r}: {N_SWEEPS} sweeps are too few to say how slowly. Rows "
                "from one pool row stay alike. Draw no more rows than the pool has, set pairs=[...] of columns that "
                "determine each other, or fit with smaller trees."
            ]
        elif needed > self.n_sweeps:
            words = [
                f"Chains move slowly along column {slowest!r}: they forget where they started after about {needed} "
                f"sweeps, and {self.n_sweeps} are taken. Use sample(n_sweeps={needed}), or set pairs=[...]."
            ]
        else:
            words = [
                f"Samples are practically independent of where their chains start after {needed} "
                f"sweep{'s'[: needed != 1]}; column {slowest!r} takes longest."
            ]
        # at equilibrium, half chains of n sweeps have an R-hat of about sqrt(1 + IAT / n)
        explained = np.sqrt(1 + self.mixing.iat / (N_SWEEPS // 2))
        apart = [
            name
            for name, r_hat, limit in zip(self.columns, self.mixing.r_hat, AGREE * explained, strict=True)
            if r_hat > limit
        ]
        if apart:
            words.append(
                f"Chains from different rows of the pool disagree about {', '.join(map(repr, apart))}: what few of "
                "them have visited may come too often or too rarely."
            )
        error = float(np.hypot(self.log_z.error, self.carried.error))  # not a number if there was but one chain
        if abs(self.drift) > 4 * error + 1e-3:
            words.append(
                f"The pool drifted in training: the log Z carried along is off by {self.drift:+.3f}, more than chance "
                "explains. More chains (n_chains) or a larger refresh keep it closer."
            )
        words.append(f"log Z is {self.log_z.value:.3f} with a standard error of {self.log_z.error:.3f}.")
        return " ".join(words)

    def __str__(self) -> str:
        wide = max(map(len, ("column", *self.columns)))
        lines = [f"{'column':<{wide}}  {'IAT':>7}  {'R-hat':>6}  {'effective':>9}  {'per second':>10}"]
        for r in self.records:
            lines.append(
                f"{r['column']:<{wide}}  {r['iat']:>7.1f}  {r['r_hat']:>6.3f}  {r['n_effective']:>9,.0f}  "
                f"{r['n_effective_per_second']:>10,.0f}"
            )
        if self.acceptance:
            kept = self.acceptance[1:] or self.acceptance
            lines.append(f"a round kept {min(kept):.0%} to {max(kept):.0%} of the pool")
        return "\n".join([*lines, self.verdict])
