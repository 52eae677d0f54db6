"""The distribution of one column given what is known of each row, as an object."""

import html
from collections.abc import Iterator
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from energyboost.checks import integer, real
from energyboost.errors import DataError, ParameterError
from energyboost.tables import (
    Categories,
    Numbers,
    OrderedLevels,
    Schema,
    decode_column,
    frame_of,
    levels,
    numbers_to_values,
    read_values,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Kind = Literal["mean", "median", "mode"]


def pooled(by_chain: Floats, known: npt.NDArray[np.bool_], ordered: bool) -> tuple[Floats, Floats]:
    """The mean over chains (n_rows, n_chains, n_codes) of a distribution given that it is one of the known codes.

    Also its error for each row: the largest standard error of a probability, of an ordered column of a cumulative one;
    0 for one chain, which is exact.
    """
    value = by_chain[:, :, known]
    mass, mean_mass = value.sum(axis=2), value.sum(axis=2).mean(axis=1)[:, None]
    share = value.mean(axis=1) / mean_mass
    if by_chain.shape[1] == 1:
        return share, np.zeros(len(share))
    # to first order, what each chain alone would change of the ratio
    off = (value - share[:, None] * mass[:, :, None]) / mean_mass[:, :, None]
    off = off.cumsum(axis=2) if ordered else off
    return share, (off.std(axis=1, ddof=1) / np.sqrt(by_chain.shape[1])).max(axis=1)


class Conditional:
    """The distribution of one column, for every row of a query.

    Levels and atoms have a probability; inside a bin a number is uniform on the column's grid. Everything but `mean`
    follows from that exactly; `mean` takes for the mean of a bin that of its training values.

    Parameters
    ----------
    schema : Schema
        The columns of the model.
    column : int
        Which of them this is about.
    probability : array of shape (n_rows, n_codes)
        Of every code of the column but that for missing.
    error : array of shape (n_rows,)
        The largest standard error of a probability (of an ordered column: of a cumulative one), for rows with several
        gaps; 0 where all is exact.
    index : pandas index, optional
        Of the query.
    """

    def __init__(
        self, schema: Schema, column: int, probability: Floats, error: Floats | None = None, index: Any = None
    ) -> None:
        codec = schema.columns[column].codec
        self._schema, self._column, self._codec, self._index = schema, column, codec, index
        self._codes = np.flatnonzero(np.arange(codec.n_codes) != codec.missing_code)
        if not len(self._codes):
            raise DataError(
                f"column {self.target!r} was missing in every training row: it has no distribution of values"
            )
        self._share = probability
        self.error = np.zeros(len(probability)) if error is None else error

    @property
    def target(self) -> Any:
        """The column that this is about."""
        return self._schema.names[self._column]

    def __len__(self) -> int:
        return len(self._share)

    def __iter__(self) -> Iterator["Conditional"]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, rows: Any) -> "Conditional":
        """The distributions of some rows: a position, a slice, or an array of positions or booleans."""
        if np.ndim(rows) == 0 and not isinstance(rows, slice):
            place = range(len(self))[rows]  # an IndexError beyond the last
            rows = slice(place, place + 1)
        some = Conditional.__new__(Conditional)
        some._schema, some._column, some._codec, some._codes = self._schema, self._column, self._codec, self._codes
        some._share, some.error = self._share[rows], self.error[rows]
        some._index = None if self._index is None else self._index[rows]
        return some

    @property
    def levels(self) -> npt.NDArray[Any]:
        """The levels that :attr:`proba` speaks of."""
        return levels(self._schema, self._column)

    @property
    def proba(self) -> Floats:
        """The probability of every level, (n_rows, n_levels), in the order of :attr:`levels`."""
        self.levels  # noqa: B018 - refuses columns without
        return self._share

    # --- single guesses ------------------------------------------------------------------------------------------

    def mean(self) -> npt.NDArray[Any]:
        """The mean; of dates, a date."""
        return numbers_to_values(self._schema, self._column, self._mean())

    def std(self) -> npt.NDArray[Any]:
        """The standard deviation; of dates, a duration."""
        if not self._is_number:
            self._mean()  # refuses labels
        middle = self._low / 2 + self._high / 2
        mean = self._share @ middle
        square = (middle - mean[:, None]) ** 2 + self._variance_inside
        found = np.sqrt((self._share * square).sum(axis=1))
        unit = self._schema.columns[self._column].type.unit
        return np.asarray(found) if unit is None else np.rint(found).astype(f"m8[{unit}]")

    def median(self) -> npt.NDArray[Any]:
        """The median: the smallest value that at least half of the probability lies at or below."""
        return self.quantile(0.5)

    def mode(self) -> npt.NDArray[Any]:
        """The likeliest value: a level, an atom, or the middle of the bin that is densest."""
        likely = self._share.argmax(axis=1)
        if self._is_binned:
            # an atom is infinitely dense: it is the mode where it is likelier than any bin
            bins = self._widths_of_bins()
            lone = np.isnan(bins)
            densest = np.where(lone, -1.0, self._share / np.where(lone, 1.0, bins)).argmax(axis=1)
            likely = np.where(lone[likely], likely, densest)
        return decode_column(self._schema, self._column, self._codes[likely])

    def quantile(self, q: Any) -> npt.NDArray[Any]:
        """The smallest value that a share ``q`` lies at or below; (n_rows,), or (n_rows, len(q)) for several shares."""
        self._must_be_ordered("quantiles")
        asked = np.atleast_1d(np.asarray(q, dtype=float))
        if asked.ndim != 1 or not ((asked >= 0) & (asked <= 1)).all():
            raise ParameterError(f"quantiles are asked for by shares from 0 to 1; got {q!r}")
        found = np.stack([self._quantile(np.full(len(self), one)) for one in asked], axis=1)
        return found if np.ndim(q) else found[:, 0]

    def interval(self, coverage: float = 0.9) -> npt.NDArray[Any]:
        """The central interval that holds a share ``coverage``: its two ends, (n_rows, 2)."""
        tail = (1 - real("coverage", coverage, 0, 1)) / 2
        return self.quantile([tail, 1 - tail])

    # --- questions about values ----------------------------------------------------------------------------------

    def pdf(self, y: Any) -> Floats:
        """The probability of a level or an atom, the density per unit of a value in a bin; 0 beyond the bins.

        ``y`` is one value, one for each row, or several for each row.
        """
        y, shape = self._values(y)
        if not self._is_number:
            return self._of_codes(y).reshape(shape)
        place, inside, _ = self._place(y)
        widths = self._codec.widths[self._codes]
        density = np.take_along_axis(self._share, place, axis=1) / widths[place]
        return np.where(inside, density, 0.0).reshape(shape)

    def logpdf(self, y: Any) -> Floats:
        """The logarithm of :meth:`pdf`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(y)))

    def cdf(self, y: Any) -> Floats:
        """The probability of a value of at most ``y``: one value, one for each row, or several for each row."""
        self._must_be_ordered("cumulative probabilities")
        y, shape = self._values(y)
        below = np.concatenate([np.zeros((len(self), 1)), np.cumsum(self._share, axis=1)], axis=1)
        if not self._is_number:
            return np.take_along_axis(below, y.astype(np.int64) + 1, axis=1).reshape(shape)
        place, _, part = self._place(y)
        share = np.take_along_axis(self._share, place, axis=1)
        return np.minimum(np.take_along_axis(below, place, axis=1) + part * share, 1.0).reshape(shape)

    def crps(self, y: Any) -> Floats:
        """The continuous ranked probability score of what was observed, one value for each row; less is better.

        The integral of (cdf(x) - [x >= y])² over x, in the unit of the column, exactly [tbl:crps-results]. Of an
        ordered category it is the ranked probability score, in levels.
        """
        self._must_be_ordered("ranked probability scores")
        y, shape = self._values(y)
        if y.shape[1] != 1:
            raise ParameterError("crps takes one observed value for each row")
        low, high, n = (np.arange(len(self._codes), dtype=float),) * 2 + (np.ones(len(self._codes)),)
        if self._is_number:
            low, high, n = self._low, self._high, self._n_points
        return _crps(self._share, low, high, n, y[:, 0]).reshape(shape)

    def entropy(self) -> Floats:
        """The entropy in nats: of levels, or the differential entropy of bins, in the unit of the column."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = self._share * (np.log(self._share) - np.log(self._codec.widths[self._codes]))
        return np.asarray(-np.where(self._share > 0, terms, 0.0).sum(axis=1))

    def sample(self, n: int = 1, random_state: Any = None) -> npt.NDArray[Any]:
        """Draw ``n`` values for each row, (n_rows, n)."""
        rng = np.random.default_rng(random_state if random_state is None else integer("random_state", random_state, 0))
        drawn = [self._drawn(rng) for _ in range(integer("n", n, 1))]
        return np.stack(drawn, axis=1)

    def to_frame(self) -> Any:
        """A frame of the training table's kind: a number's mean, spread and quantiles, or a level's probability."""
        if self._is_number:
            shares = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
            columns = {"mean": self.mean(), "std": self.std()} | {name: self.quantile(q) for name, q in shares.items()}
        else:
            columns = {str(level): self._share[:, k] for k, level in enumerate(self.levels)}
        return frame_of(self._schema, columns, self._index, self._schema.columns[self._column].type.zone)

    def __repr__(self) -> str:
        lines = [f"Conditional of {self.target!r}, {len(self):,} row{'s'[: len(self) != 1]}"]
        head, rows = self._head(5)
        wide = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
        for cells in (head, *rows):
            lines.append("  ".join(cell.rjust(width) for cell, width in zip(cells, wide, strict=True)))
        if len(self) > 5:
            lines.append("...")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, rows = self._head(10)
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        title = html.escape(f"Conditional of {self.target!r}, {len(self):,} rows")
        return f"<table><caption>{title}</caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"

    # --- inner workings ------------------------------------------------------------------------------------------

    @property
    def _is_number(self) -> bool:
        return not isinstance(self._codec, Categories | OrderedLevels)

    @property
    def _is_binned(self) -> bool:
        return self._is_number and bool((self._n_points > 1).any())

    @property
    def _low(self) -> Floats:
        return np.asarray(cast(Numbers, self._codec).lower[self._codes])

    @property
    def _high(self) -> Floats:
        return np.asarray(cast(Numbers, self._codec).upper[self._codes])

    @property
    def _n_points(self) -> Floats:
        return np.asarray(cast(Numbers, self._codec).n_points[self._codes])

    @property
    def _spread(self) -> Floats:
        return self._high - self._low

    @property
    def _variance_inside(self) -> Floats:
        """Of the values of each code: spread evenly over an interval, or over the points of a grid."""
        n = np.maximum(self._n_points, 2)
        with np.errstate(invalid="ignore"):
            return self._spread**2 / 12 * np.where(np.isfinite(n), (n + 1) / (n - 1), 1.0)

    def _widths_of_bins(self) -> Floats:
        """The width of each bin; NaN of an atom."""
        return np.where(self._n_points > 1, self._codec.widths[self._codes], np.nan)

    def _numbers(self, what: str) -> Floats:
        if not self._is_number:
            raise DataError(f"column {self.target!r} holds labels: it has no {what.split()[-1]}; use mode() or proba")
        return np.asarray(self._codec.centres[self._codes])

    def _mean(self) -> Floats:
        return np.asarray(self._share @ self._numbers("a mean"))

    def _must_be_ordered(self, what: str) -> None:
        if not self._codec.ordered:
            raise DataError(f"the levels of column {self.target!r} have no order, which {what} need; use proba")

    def _quantile(self, q: Floats) -> npt.NDArray[Any]:
        """One quantile for each row."""
        below = np.cumsum(self._share, axis=1)
        below /= below[:, -1:]
        # a code of no probability is no quantile, not even the quantile 0
        place = np.minimum((below < np.maximum(q, 1e-300)[:, None]).sum(axis=1), below.shape[1] - 1)
        rows = np.arange(len(self))
        share = self._share[rows, place]
        part = np.clip((q - (below[rows, place] - share)) / np.maximum(share, 1e-300), 0, 1)
        if self._is_number:  # on a grid, the first value with that much below or at it: its middle is decoded to it
            n = self._n_points[place]
            with np.errstate(invalid="ignore"):
                part = np.where(np.isfinite(n), (np.maximum(np.ceil(part * n - 1e-9), 1) - 0.5) / n, part)
        return decode_column(self._schema, self._column, self._codes[place], np.minimum(part, 1 - 2.0**-53))

    def _drawn(self, rng: np.random.Generator) -> npt.NDArray[Any]:
        below = np.cumsum(self._share, axis=1)
        place = (below <= rng.random((len(self), 1)) * below[:, -1:]).sum(axis=1)
        place = np.minimum(place, below.shape[1] - 1)
        return decode_column(self._schema, self._column, self._codes[place], rng.random(len(self)))

    def _values(self, y: Any) -> tuple[npt.NDArray[Any], tuple[int, ...]]:
        """Values as numbers (places among the levels, of labels), (n_rows, k), and the shape of the answer."""
        array = np.asarray(y) if not hasattr(y, "to_numpy") else y.to_numpy()
        if array.ndim > 2 or (array.ndim and len(array) != len(self)):
            raise ParameterError(
                f"there are {len(self):,} rows: give one value, one for each row, or an array with a row for each; got "
                f"shape {array.shape}"
            )
        shape = array.shape if array.ndim else (len(self),)
        cells = read_values(self._schema, self._column, array.ravel() if array.ndim else array.reshape(1))
        if cells.missing.any():
            raise DataError(
                f"column {self.target!r}, row {int(cells.missing.argmax())}: the value is missing; leave such rows "
                "out, conditional[known] and y[known]"
            )
        n_rows = len(array) if array.ndim else 1
        n_each = array.shape[1] if array.ndim == 2 else 1
        if self._is_number:
            numbers = cells.values.astype(float)
        else:
            codes = self._codec.encode(cells)
            if (codes < 0).any():
                unknown = cells.values[int((codes < 0).argmax())]
                raise DataError(f"column {self.target!r} has no level {unknown!r}; it has {self.levels.tolist()}")
            numbers = np.searchsorted(self._codes, codes)
        numbers = numbers.reshape(n_rows, n_each)
        return np.broadcast_to(numbers, (len(self), numbers.shape[1])), shape

    def _of_codes(self, place: npt.NDArray[Any]) -> Floats:
        return np.take_along_axis(self._share, place.astype(np.int64), axis=1)

    def _place(self, y: Floats) -> tuple[Integers, npt.NDArray[np.bool_], Floats]:
        """The last code that begins at or below each value; whether the value is one of it; how much of it is below."""
        low, high, n = self._low, self._high, self._n_points
        place = np.maximum(np.searchsorted(low, y, side="right") - 1, 0)
        a, b, n = low[place], high[place], n[place]
        inside = (y >= a) & (y <= b)
        with np.errstate(invalid="ignore", divide="ignore"):
            reach = np.clip((y - a) / np.where(b > a, b - a, 1.0), 0, 1)
            part = np.where(np.isfinite(n), np.minimum(np.floor(reach * (n - 1) + 1e-9) + 1, n) / n, reach)
        return place, inside, np.where(y < a, 0.0, part)

    def _head(self, n: int) -> tuple[list[str], list[list[str]]]:
        """What is shown of the first rows."""
        some = self[:n]
        if self._is_number:
            columns = {"mean": some.mean(), "median": some.median(), "90% from": some.interval()[:, 0]}
            columns["to"] = some.interval()[:, 1]
            rows = [[_short(values[i]) for values in columns.values()] for i in range(len(some))]
            return list(columns), rows
        names = self.levels
        most = np.argsort(-some._share, axis=1, kind="stable")[:, :3]
        rows = [[f"{names[k]} {some._share[i, k]:.3f}" for k in most[i]] for i in range(len(some))]
        return [("likeliest", "then", "then")[k] for k in range(most.shape[1])], rows


def _short(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float | np.floating) else str(value)


def _crps(share: Floats, low: Floats, high: Floats, n: Floats, y: Floats) -> Floats:
    """Integrals of F² up to y and of (1 - F)² from y on, where F rises along each code and is flat between codes.

    Along a code F is a straight line or, where the code stands for n values of a grid, a stair of n - 1 equal treads.
    """
    rows = np.arange(len(share))
    above = np.cumsum(share, axis=1)
    above /= above[:, -1:]
    below = np.concatenate([np.zeros((len(share), 1)), above[:, :-1]], axis=1)
    gap = np.append(low[1:] - high[:-1], 0.0)
    spread = high - low
    rising = _integral(below, share, spread, n, np.ones_like(low)) + gap * above**2
    falling = _integral(1 - above, share, spread, n, np.ones_like(low)) + gap * (1 - above) ** 2
    up_to = np.concatenate([np.zeros((len(share), 1)), np.cumsum(rising, axis=1)], axis=1)
    from_on = np.concatenate([np.cumsum(falling[:, ::-1], axis=1)[:, ::-1], np.zeros((len(share), 1))], axis=1)
    at = np.maximum(np.searchsorted(low, y, side="right") - 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.clip((y - low[at]) / np.where(spread[at] > 0, spread[at], 1.0), 0, 1)
    part = np.where(spread[at] > 0, part, 1.0)
    beyond = np.clip(y - high[at], 0, None)  # into the gap behind the code, or past the last
    p, f, g = share[rows, at], below[rows, at], above[rows, at]
    size, count = spread[at], n[at]
    left = up_to[rows, at] + _integral(f, p, size, count, part) + beyond * g**2
    # of the code itself, what lies behind the value: the same integral, begun from the other end
    whole, rest = (_integral(1 - g, p, size, count, share) for share in (np.ones_like(p), 1 - part))
    right = from_on[rows, at] - whole + rest
    right -= np.minimum(beyond, gap[at]) * (1 - g) ** 2
    before = np.clip(low[0] - y, 0, None)  # all of it lies above the observed value
    return np.where(y < low[0], from_on[:, 0] + before, left + right)


def _integral(start: Any, share: Any, spread: Any, n: Any, part: Any) -> Floats:
    """The integral of F² over the first ``part`` of a code, where F is ``start`` before it and rises by ``share``."""
    with np.errstate(invalid="ignore"):
        line = start**2 * part + start * share * part**2 + share**2 * part**3 / 3
        # treads at start + share * k / n, for k = 1 .. n - 1, of which whole ones and a piece of the next are passed
        treads = np.where(np.isfinite(n), part * (n - 1), 0.0)
        k = np.floor(treads + 1e-9)
        step = share / np.where(np.isfinite(n), n, 1.0)
        stair = k * start**2 + start * step * k * (k + 1) + step**2 * k * (k + 1) * (2 * k + 1) / 6
        stair += (treads - k) * (start + step * (k + 1)) ** 2
        stair /= np.where(np.isfinite(n), np.maximum(n - 1, 1), 1.0)
    return np.asarray(spread * np.where(np.isfinite(n), stair, line))
