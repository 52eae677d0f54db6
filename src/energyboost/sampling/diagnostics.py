"""How well chains mix: integrated autocorrelation time, R-hat and effective sample size, per column."""

from dataclasses import dataclass
from math import ceil, log

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import rankdata

from energyboost.model.baseline import Codes
from energyboost.model.domain import Domain

Floats = npt.NDArray[np.float64]

FEW_LEVELS = 6
"""Of an unordered column, so many of the most frequent levels are followed, each on its own."""
KEPT = 0.1
"""A chain has forgotten its start when a column's correlation with it is below this."""


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
    """What is followed of a column: its codes, or whether it is at each of its frequent levels."""
    seen, counts = np.unique(codes, return_counts=True)
    if len(seen) < 2:
        return []
    if ordered:
        return [codes.astype(float)]
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
