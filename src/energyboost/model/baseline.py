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
    def fit(
        cls, columns: Columns, codes: Codes, uniform_mix: float, weight: npt.NDArray[np.int32] | None = None
    ) -> "Baseline":
        """A mixture per column of its marginal in the data and the uniform distribution; rows may have weights."""
        weight = weight if weight is not None and len(weight) else np.ones(len(codes), np.int32)
        probability = np.zeros(columns.start[-1])
        for j, size in enumerate(columns.size):
            share = np.bincount(codes[:, j], weight, minlength=size) / weight.sum(dtype=np.int64)
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

    def sample(
        self,
        n_rows: int,
        rng: np.random.Generator,
        dtype: np.dtype,
        log_weights: npt.NDArray[np.float64] | None = None,
    ) -> Codes:
        """Draw independent rows; ``log_weights``, laid out as the energy, are factors on the probabilities."""
        codes = np.empty((n_rows, len(self.columns.size)), dtype)
        for j in range(codes.shape[1]):
            share = self.column(j)
            if log_weights is not None:
                share = share * np.exp(log_weights[self.columns.start[j] : self.columns.start[j] + len(share)])
            below = np.cumsum(share)
            # scaled so that a uniform number just below one cannot pass the last code
            codes[:, j] = np.searchsorted(below / below[-1], rng.random(n_rows), side="right")
        return codes
