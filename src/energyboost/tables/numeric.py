"""Codecs of numbers: a level for each value, or quantile bins with atoms."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from energyboost.tables.codecs import MISSING, UNSEEN, Array, Cells, Stored, is_code

_SCALES = (0, *(10**decimals for decimals in range(7)))
_DTYPES = ("int64", "float16", "float32", "float64")


class Numbers(Stored):
    """What `Levels` and `QuantileBins` share: codes are intervals of *points*, in rising order.

    A point is the value itself, or on a grid of 1/scale the integer ``value * scale``.
    """

    __slots__ = ()
    dtype: str
    missing: bool

    @property
    def _scale(self) -> int:
        """How many points there are per unit; 0 when the column has no grid."""
        raise NotImplementedError

    @property
    def _step(self) -> int:
        """How many points apart values are inside a code; 0 when the column has no grid."""
        raise NotImplementedError

    @property
    def _edges(self) -> tuple[Array, Array]:
        """The first and the last point of each code."""
        raise NotImplementedError

    @property
    def n_codes(self) -> int:
        """How many codes there are, the one for missing included."""
        return len(self._edges[0]) + self.missing

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes means something: here it does."""
        return True

    @property
    def missing_code(self) -> int | None:
        """The code of a missing cell: the first, if there is one."""
        return 0 if self.missing else None

    @property
    def lower(self) -> npt.NDArray[np.float64]:
        """The smallest value of each code."""
        return self._per_code(self._to_values(self._edges[0]), np.nan)

    @property
    def upper(self) -> npt.NDArray[np.float64]:
        """The largest value of each code."""
        return self._per_code(self._to_values(self._edges[1]), np.nan)

    @property
    def n_points(self) -> npt.NDArray[np.float64]:
        """How many values each code stands for: infinity for an interval without a grid, 0 for missing."""
        first, last = self._edges
        many = _steps(first, last, self._step) + 1.0 if self._step else np.where(last > first, np.inf, 1.0)
        return self._per_code(many, 0.0)

    def between(self, low: Any, high: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], Any, Any]:
        """Which values from ``low`` to ``high`` there are: for each code the uniforms in [0, 1) that `decode` to them.

        Also the least and the greatest of them that could be, on the column's grid. None is no bound.
        """
        first, last = self._edges
        n_points = self.n_points[int(self.missing) :]
        if len(first) == 0:
            return np.zeros(self.n_codes), np.zeros(self.n_codes), low, high
        if self._scale:
            begin, step = int(first[0]), max(self._step, 1)
            below, above = (_to_grid(bound, self._scale, begin, step, up) for bound, up in ((low, True), (high, False)))
            least = begin if below is None else max(below, begin)
            most = int(last[-1]) if above is None else min(above, int(last[-1]))
            # as Python numbers, which do not overflow
            k_low = np.array([max(0, -((a - least) // step)) for a in first.tolist()], float)
            k_high = np.array([(min(b, most) - a) // step for a, b in zip(first.tolist(), last.tolist(), strict=True)])
            start, stop = np.minimum(k_low / n_points, 1), np.clip((k_high + 1.0) / n_points, 0, 1)
            bounds = self._to_values(np.array([least, most]))
            low, high = bounds[0], bounds[1]
        else:
            a, b = first.astype(float), last.astype(float)
            low = max(-np.inf if low is None else float(low), a[0])
            high = min(np.inf if high is None else float(high), b[-1])
            span = np.where(b > a, b - a, 1.0)
            lone = np.where((a >= low) & (a <= high), 1.0, 0.0)
            start = np.where(b > a, np.clip((low - a) / span, 0, 1), 0.0)
            stop = np.where(b > a, np.clip((high - a) / span, 0, 1), lone)
        return self._per_code(start, 0.0), self._per_code(np.maximum(start, stop), 0.0), low, high

    def encode(self, cells: Cells) -> npt.NDArray[np.int64]:
        """Return the code of each cell; `MISSING` or `UNSEEN` where there is none."""
        first, last = self._edges
        if len(first) == 0:
            codes = np.full(len(cells), UNSEEN)
        else:
            points = _to_points(cells.values, self.dtype, self._scale, first[0], last[-1])
            codes = np.searchsorted(_cuts(first, last), points) + self.missing
        codes[cells.missing] = MISSING if self.missing_code is None else self.missing_code
        return codes

    def settle(self, cells: Cells) -> Cells:
        """Return values that need not occur, such as means, as the nearest that could: on the column's grid."""
        first, last = self._edges
        if len(first) == 0:
            return cells
        scale, step = self._scale, self._step
        if not scale:  # levels may be whole numbers, or have a few decimals
            points, scale, _ = _grid(first)
            first, last, step = points, points, min(scale, 1)
        if not step:
            return cells
        steps = np.rint((np.rint(cells.values.astype(np.float64) * scale) - float(first[0])) / step)
        steps = np.clip(steps, 0, float(_steps(first[:1], last[-1:], step)[0]))
        values = (first[0] + (steps * step).astype(np.int64)) / scale
        return Cells((np.rint(values) if self.dtype == "int64" else values).astype(self.dtype), cells.missing)

    def _to_values(self, points: Array) -> Array:
        return (points / self._scale).astype(self.dtype) if self._scale > 1 else points.astype(self.dtype)

    def _per_code(self, values: Array, missing: float) -> npt.NDArray[np.float64]:
        return np.concatenate([np.full(int(self.missing), missing), values.astype(np.float64)])

    def _check(self) -> None:
        """Refuse what no table can have led to, such as the fields of a damaged file."""
        if self.dtype not in _DTYPES or not isinstance(self.missing, bool):
            raise ValueError(f"dtype is {self.dtype!r} and missing is {self.missing!r}")
        first, last = self._edges
        if len(first) != len(last) or self.n_codes == 0:
            raise ValueError(f"{len(first)} bins begin and {len(last)} end")
        edges = np.stack([first, last], axis=1).ravel()
        if not (np.all(first <= last) and np.all(last[:-1] < first[1:]) and np.all(np.isfinite(edges))):
            raise ValueError("the edges of the codes do not rise")


@dataclass(frozen=True, slots=True)
class Levels(Numbers):
    """Numbers, one code for each distinct value; a value in between goes to the nearest.

    Examples
    --------
    >>> codec = Levels((1, 2, 5), "int64")
    >>> codec.encode(Cells(np.array([2, 4, 99]), np.zeros(3, bool)))
    array([1, 2, 2])
    """

    values: tuple[float, ...]
    dtype: str
    missing: bool = False

    def __post_init__(self) -> None:
        self._check()

    @property
    def _scale(self) -> int:
        return int(self.dtype == "int64")

    @property
    def _step(self) -> int:
        return int(self.dtype == "int64")

    @property
    def _edges(self) -> tuple[Array, Array]:
        values = np.array(self.values, dtype=self.dtype)
        return values, values

    @property
    def centres(self) -> npt.NDArray[np.float64]:
        """The mean value each code stands for; NaN for missing."""
        return self.lower

    @property
    def widths(self) -> npt.NDArray[np.float64]:
        """How many units of the column each code spans; 1 for a level, an atom, and missing."""
        return np.ones(self.n_codes)

    def decode(self, codes: Array, uniforms: Array) -> Cells:
        """Return a value for each code: the level, or the place in the bin that the uniform says."""
        values = np.array([0] * self.missing + list(self.values), dtype=self.dtype)
        return Cells(values[codes], is_code(codes, self.missing_code))


@dataclass(frozen=True, slots=True)
class QuantileBins(Numbers):
    """Numbers in quantile bins, with an atom (a bin of one value) for each frequent value.

    Neighbouring bins touch. Next to an atom a bin ends at its own outermost training value, so that
    a special value far off, -999 say, stretches no bin. Values in a gap go to the nearest bin.

    Parameters
    ----------
    first, last : tuple of number
        The first and the last point of each bin: integers ``value * scale`` on a grid, else values.
    means : tuple of float
        The mean of the training values in each bin.
    dtype : str
        ``"int64"`` (whole numbers, dates), or the float dtype that values are rounded to.
    scale, step : int
        The grid: values are ``(first + k * step) / scale``; a scale of 0 is no grid.
    missing : bool
        Whether code 0 stands for a missing cell.
    atoms : tuple of int
        Which of the bins are atoms. Not every bin of one value is: it may hold one point of a grid, like others two.

    Examples
    --------
    >>> values = np.concatenate([np.zeros(900), np.arange(100) / 4])
    >>> codec = QuantileBins.fit(values, max_bins=5)
    >>> codec.n_codes, codec.atoms, codec.step / codec.scale
    (5, (0,), 0.25)
    >>> codec.decode(np.array([0, 1, 4]), np.array([0.5, 0.5, 0.999])).values
    array([ 0.  ,  3.25, 24.75])
    """

    first: tuple[float, ...]
    last: tuple[float, ...]
    means: tuple[float, ...]
    dtype: str
    scale: int
    step: int
    missing: bool = False
    atoms: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.scale not in _SCALES or not (0 < self.step < 2**64 if self.scale else self.step == 0):
            raise ValueError(f"no grid has a scale of {self.scale!r} and a step of {self.step!r}")
        if len(self.means) != len(self.first) or not np.all(np.isfinite(np.array(self.means, float))):
            raise ValueError(f"{len(self.first)} bins have means {self.means}")
        self._check()
        if not all(type(i) is int and 0 <= i < len(self.first) and self.first[i] == self.last[i] for i in self.atoms):
            raise ValueError(f"bins {self.atoms} cannot all be atoms")

    @classmethod
    def fit(cls, values: Array, max_bins: int = 255, *, missing: bool = False, weights: Array | None = None) -> Self:
        """Choose the bins of a column.

        Every value that holds at least 1 / max_bins of the weight becomes an atom. The quantile bins
        share what is left of `max_bins`, at least one for each stretch of values between two atoms.
        """
        distinct, mass = _distinct(values, weights)
        points, scale, step = _grid(distinct)
        atom = mass * max_bins >= mass.sum()
        after_atom = np.concatenate([[True], atom[:-1]])
        n_stretches = int(np.count_nonzero(~atom & after_atom))
        n_bins = max(max_bins - missing - int(np.count_nonzero(atom)) - n_stretches + 1, 1)
        rest = np.where(atom, 0, mass)
        rank = (np.cumsum(rest) - rest / 2) / max(rest.sum(), np.finfo(float).tiny)
        bins = np.minimum(np.floor(rank * n_bins), n_bins - 1)
        begins = atom | after_atom | (np.diff(bins, prepend=-1) != 0)

        start = np.flatnonzero(begins)
        first, last = points[start], points[np.append(start[1:], len(points)) - 1]
        _close_gaps(first, last, np.flatnonzero(~atom[start[:-1]] & ~atom[start[1:]]), step)
        share = mass / np.repeat(np.add.reduceat(mass, start), np.diff(np.append(start, len(mass))))
        means = np.add.reduceat(share * distinct, start)
        return cls(
            tuple(first.tolist()), tuple(last.tolist()), tuple(means.tolist()), values.dtype.name,
            scale, step, missing, tuple(np.flatnonzero(atom[start]).tolist()),
        )  # fmt: skip

    @property
    def _scale(self) -> int:
        return self.scale

    @property
    def _step(self) -> int:
        return self.step

    @property
    def _edges(self) -> tuple[Array, Array]:
        dtype = np.int64 if self.scale else self.dtype
        return np.array(self.first, dtype=dtype), np.array(self.last, dtype=dtype)

    @property
    def centres(self) -> npt.NDArray[np.float64]:
        """The mean value each code stands for; NaN for missing."""
        return self._per_code(np.array(self.means), np.nan)

    @property
    def widths(self) -> npt.NDArray[np.float64]:
        """How many units of the column each code spans; 1 for a level, an atom, and missing."""
        first, last = self._edges
        if self.scale:
            span = (_steps(first, last, self.step) + 1.0) * self.step / self.scale
        else:  # halves, because the difference of two floats may overflow
            half = last.astype(np.float64) / 2 - first.astype(np.float64) / 2
            span = 2 * np.minimum(half, np.finfo(np.float64).max / 2)
        span[list(self.atoms)] = 1
        return self._per_code(np.where(span > 0, span, 1.0), 1.0)  # a lone value between atoms, off any grid, is one

    def decode(self, codes: Array, uniforms: Array) -> Cells:
        """Return a value for each code: the level, or the place in the bin that the uniform says."""
        first, last = self._edges
        missing = is_code(codes, self.missing_code)
        place = np.maximum(codes.astype(np.int64) - self.missing, 0)
        if self.scale:
            steps = _steps(first, last, self.step)
            # a uniform is at most 1 - 2**-53, hence even rounded the product stays below its factor
            k = (uniforms * (steps + 1.0)[place]).astype(np.uint64)
            values = self._to_values(first[place] + (k * np.uint64(self.step)).view(np.int64))
        else:
            low, high = first.astype(np.float64)[place], last.astype(np.float64)[place]
            values = (low * (1 - uniforms) + high * uniforms).astype(self.dtype)
            values = np.clip(values, first[place], last[place])
        return Cells(values, missing)


def _steps(first: Array, last: Array, step: int) -> npt.NDArray[np.uint64]:
    """Count the grid steps from first to last, right even where int64 would overflow."""
    return np.asarray((last.astype(np.uint64) - first.astype(np.uint64)) // np.uint64(step))


def _to_points(values: Array, dtype: str, scale: int, low: Any, high: Any) -> Array:
    """Clip values to the column's range and move them to its points."""
    if dtype == "int64":
        if values.dtype.kind == "f":
            limit = 2.0**63 - 1024  # the largest float64 that is an int64
            values = np.rint(np.clip(values.astype(np.float64), -limit, limit)).astype(np.int64)
        return np.clip(values, low, high)
    unit = max(scale, 1)
    values = np.clip(values.astype(np.float64), float(low) / unit, float(high) / unit).astype(dtype)
    return np.rint(values.astype(np.float64) * scale).astype(np.int64) if scale else values


def _to_grid(bound: Any, scale: int, begin: int, step: int, up: bool) -> int | None:
    """The point of a grid that is nearest to a bound, inside it."""
    if bound is None:
        return None
    point = Fraction(bound) * scale
    near = round(point)
    if near / scale == bound:  # a decimal like 0.7, which is no fraction of powers of two
        point = Fraction(near)
    k = (point - begin) / step
    return begin + step * (math.ceil(k) if up else math.floor(k))


def _cuts(first: Array, last: Array) -> Array:
    """Return the largest point that goes to each code but the last: halfway to the next code."""
    low, high = last[:-1], first[1:]
    if low.dtype.kind == "i":
        return low + (_steps(low, high, 1) // 2).view(np.int64)
    middle = low + (high / 2 - low / 2)
    return np.where(middle < high, middle, low)


def _distinct(values: Array, weights: Array | None) -> tuple[Array, npt.NDArray[np.float64]]:
    """Return the distinct values, rising, and the weight of each; no weight is no value."""
    if weights is None:
        distinct, counts = np.unique(values, return_counts=True)
        return distinct, counts.astype(np.float64)
    kept = weights > 0
    distinct, place = np.unique(values[kept], return_inverse=True)
    return distinct, np.bincount(place, weights[kept]).astype(np.float64)


def _grid(distinct: Array) -> tuple[Array, int, int]:
    """Find the coarsest decimal grid that all the values lie on: their points, its scale and step."""
    if distinct.dtype.kind == "i":
        return distinct, 1, _common_step(distinct)
    exact_bits = np.finfo(distinct.dtype).nmant
    for scale in _SCALES[1:]:
        points = np.rint(distinct.astype(np.float64) * scale)
        # two spare bits for decimals: a rounded value times the scale must round back to its own point
        if np.abs(points).max() >= 2.0 ** (exact_bits - 2 * (scale > 1)):
            break
        if np.array_equal((points / scale).astype(distinct.dtype), distinct):
            return points.astype(np.int64), scale, _common_step(points.astype(np.int64))
    return distinct, 0, 0


def _common_step(points: Array) -> int:
    return max(int(np.gcd.reduce(_steps(np.full_like(points, points[0]), points, 1))), 1)


def _close_gaps(first: Array, last: Array, pairs: Array, step: int) -> None:
    """Let bin i end, for i in `pairs`, where bin i + 1 begins: halfway between their values."""
    low, high = last[pairs], first[pairs + 1]
    if step:
        half = (_steps(low, high, step) - 1) // 2 * np.uint64(step)
        last[pairs] = low + half.view(np.int64)
        first[pairs + 1] = last[pairs] + np.uint64(step).view(np.int64)
    else:
        middle = np.minimum(low + (high / 2 - low / 2), high)
        first[pairs + 1] = np.where(middle > low, middle, high)
        last[pairs] = np.nextafter(first[pairs + 1], np.array(-np.inf, dtype=first.dtype))
