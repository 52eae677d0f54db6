"""f0: the model before the first tree, a product of one distribution per column."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import IMPOSSIBLE, Columns

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Probabilities of every code of every column, laid end to end as ``columns`` says (padding: zero)."""

    columns: Columns
    probability: npt.NDArray[np.float64]

    @classmethod
    def fit(cls, columns: Columns, codes: Codes, uniform_mix: float) -> "Baseline":
        """A mixture per column of its marginal in the data and the uniform distribution."""
        probability = np.zeros(columns.start[-1])
        for j, size in enumerate(columns.size):
            share = np.bincount(codes[:, j], minlength=size) / len(codes)
            probability[columns.start[j] : columns.start[j] + size] = (1 - uniform_mix) * share + uniform_mix / size
        return cls(columns, probability)

    @property
    def energy(self) -> npt.NDArray[np.float64]:
        """Log-probabilities; ``IMPOSSIBLE`` where there is none."""
        return np.where(self.probability > 0, np.log(np.maximum(self.probability, 1e-300)), float(IMPOSSIBLE))

    def column(self, j: int) -> npt.NDArray[np.float64]:
        """Probabilities of the codes of column ``j``."""
        first = self.columns.start[j]
        return self.probability[first : first + self.columns.size[j]]

    def sample(self, n_rows: int, rng: np.random.Generator, dtype: np.dtype) -> Codes:
        """Draw independent rows."""
        codes = np.empty((n_rows, len(self.columns.size)), dtype)
        for j in range(codes.shape[1]):
            below = np.cumsum(self.column(j))
            # scaled so that a uniform number just below one cannot pass the last code
            codes[:, j] = np.searchsorted(below / below[-1], rng.random(n_rows), side="right")
        return codes
