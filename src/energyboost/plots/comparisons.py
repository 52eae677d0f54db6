"""Real and synthetic tables side by side: column by column, and pair by pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from energyboost.checks import integer
from energyboost.errors import DataError, ParameterError
from energyboost.model.domain import Domain
from energyboost.plots.canvas import (
    REAL,
    SYNTHETIC,
    Array,
    Picture,
    dates_along,
    legend,
    panels,
    rows_of,
    titled,
    whole_numbers_along,
    words,
)
from energyboost.plots.cells import OTHER, Cells, columns_of, edges_of, places_among, shown_labels
from energyboost.sampling.moves import dependences
from energyboost.tables.frames import Name
from energyboost.tables.words import listing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OTHER", "Marginal", "Marginals", "Pair", "Pairs", "marginals", "pairs"]

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
STRONGEST, MOST_PANELS = 6, 24
MOST_CODES = 32
"""Of a column of numbers, when pairs are chosen; fewer in small tables, where chance makes many depend."""


class Marginal(NamedTuple):
    """Shares of a column's rows: of each label, or between neighbouring edges (of known cells only).

    Of many labels the most frequent are shown, and ``OTHER`` is what remains; None stands for missing. ``missing`` is
    the share of cells that are missing, in the real and in the synthetic table.
    """

    at: Array
    real: Array
    synthetic: Array
    missing: tuple[float, float]


class Pair(NamedTuple):
    """Two columns together, by ``kind``; rows with a missing cell are left out.

    "points": of two columns of numbers or dates, the two arrays of each table. "quantiles": of labels and numbers, the
    labels in ``at`` and the quantiles 0.05, 0.25, 0.5, 0.75, 0.95 of the numbers, (n_labels, 5). "shares": of two
    columns of labels, these in ``at`` and the share of rows of each combination.
    """

    kind: str
    at: tuple[list[Any], ...]
    real: Any
    synthetic: Any


@dataclass(frozen=True, slots=True, eq=False)
class Marginals(Picture):
    """The picture of :func:`marginals`, and the shares in it by column."""

    columns: dict[Name, Marginal]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(Picture):
    """The picture of :func:`pairs`, and the numbers in it by pair of columns."""

    pairs: dict[tuple[Name, Name], Pair]


def marginals(
    real: Any, synthetic: Any, *, columns: Sequence[Name] | None = None, n_bins: int = 30, axes: Any = None
) -> Marginals:
    """Draw how each column is distributed in two tables.

    Parameters
    ----------
    real, synthetic : pandas, polars or pyarrow frame, or 2-D numpy array
        Tables; columns that only one of them has are left out.
    columns : sequence of names, optional
        Which columns; unless told, the first 24 that both tables have.
    n_bins : int
        Bins in the histogram of a column of numbers, dates or times.
    axes : array of matplotlib axes, optional
        Panels to draw in, one for each column; a new figure unless given.

    Returns
    -------
    Marginals
        ``axes``, and in ``columns`` the shares that were drawn, by column.

    Examples
    --------
    >>> table = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 4.0]])
    >>> picture = marginals(table, table[:2], n_bins=2)
    >>> picture.columns["x0"].at.tolist(), picture.columns["x0"].synthetic.tolist()
    ([0.5, 2.5, 4.5], [0.5, 0.5])
    """
    integer("n_bins", n_bins, 1)
    left, right = _opened(real, synthetic)
    names = _checked_names(left, list(left)[:MOST_PANELS] if columns is None else columns)
    drawn = {name: _marginal(left[name], right[name], n_bins) for name in names}
    across = 3 if len(drawn) <= 12 else 4
    where = panels(len(drawn), axes, across=across)
    for k, (one, (name, marginal)) in enumerate(zip(where, drawn.items(), strict=True)):
        _draw_marginal(one, f"{name}{left[name].unit}", marginal)
        if k % across == 0 and not left[name].is_label:
            titled(one, one.get_title(loc="left"), y="share of rows")
    legend(where)
    return Marginals(where, drawn)


def pairs(
    real: Any,
    synthetic: Any,
    columns: Sequence[Name | tuple[Name, Name]] | None = None,
    *,
    n_points: int = 600,
    axes: Any = None,
) -> Pairs:
    """Draw how pairs of columns are distributed in two tables.

    Numbers and dates are scattered against each other. Of labels and numbers, each label gets the median of its
    numbers, the middle half and the middle nine tenths. Of two columns of labels, the area of each dot is the share of
    rows.

    Parameters
    ----------
    real, synthetic : pandas, polars or pyarrow frame, or 2-D numpy array
        Tables; columns that only one of them has are left out.
    columns : sequence of names, or of pairs of names, optional
        All pairs of these columns, or these pairs. Unless told, the six pairs that depend most on each other in the
        real table.
    n_points : int
        Most rows of each table that a scatter shows: its first ones.
    axes : array of matplotlib axes, optional
        Panels to draw in, one for each pair; a new figure unless given.

    Returns
    -------
    Pairs
        ``axes``, and in ``pairs`` the numbers that were drawn, by pair.
    """
    integer("n_points", n_points, 1)
    left, right = _opened(real, synthetic)
    chosen = _strongest(left) if columns is None else _chosen(left, columns)
    drawn = {pair: _pair(left, right, pair, n_points) for pair in chosen}
    where = panels(len(drawn), axes, size=(3.2, 2.7))
    for one, (pair, found) in zip(where, drawn.items(), strict=True):
        _draw_pair(one, pair, found, left)
    legend(where)
    return Pairs(where, drawn)


# --- what is drawn ---------------------------------------------------------------------------------------------------


def _opened(real: Any, synthetic: Any) -> tuple[dict[Name, Cells], dict[Name, Cells]]:
    left, right = columns_of(real), columns_of(synthetic)
    left = {name: cells for name, cells in left.items() if name in right}
    if not left:
        raise DataError(
            f"the tables have no column in common: {listing(columns_of(real), 20)} and {listing(right, 20)}"
        )
    for name, cells in left.items():
        if not len(cells.values) or not len(right[name].values):
            raise DataError("a table without rows has nothing to compare")
        if cells.is_label != right[name].is_label:
            raise DataError(f"column {name!r} holds labels in one table only: make both labels, or both numbers")
    return left, right


def _checked_names(columns: dict[Name, Cells], names: Any) -> list[Name]:
    for name in names:
        if name not in columns:
            raise DataError(f"unknown column {name!r}; the columns are {listing(columns, 20)}")
    if not list(names):
        raise ParameterError("columns names no column: name at least one, or leave it out")
    return list(names)


def _chosen(columns: dict[Name, Cells], asked: Any) -> list[tuple[Name, Name]]:
    asked = list(asked)
    if all(isinstance(one, tuple) for one in asked) and asked:
        for pair in asked:
            if len(_checked_names(columns, pair)) != 2 or pair[0] == pair[1]:
                raise ParameterError(f"each pair is two different columns; got {pair!r}")
        return [(a, b) for a, b in asked]
    names = _checked_names(columns, asked)
    if len(names) < 2:
        raise ParameterError(f"pairs are of at least two columns; got {names!r}")
    return list(combinations(names, 2))


def _strongest(columns: dict[Name, Cells]) -> list[tuple[Name, Name]]:
    """The pairs that depend most on each other, which come first."""
    names = list(columns)
    if len(names) < 2:
        raise DataError("a table of one column has no pairs")
    codes = np.stack([_codes(columns[name]) for name in names], axis=1).astype(np.uint8)
    sizes = tuple(int(size) + 1 for size in codes.max(axis=0))
    domain = Domain(sizes, tuple(not columns[name].is_label for name in names))
    found = sorted(dependences(codes, domain), key=lambda pair: -pair.dependence)[:STRONGEST]
    return [(names[pair.columns[0]], names[pair.columns[1]]) for pair in found] or [(names[0], names[1])]


def _codes(cells: Cells) -> Array:
    """Codes by which pairs are chosen; a gap is in the middle, so that gaps in the same rows do not count."""
    if cells.is_label:
        return places_among(cells, shown_labels(cells, cells))
    known = cells.known
    n_codes = int(np.clip(np.sqrt(np.count_nonzero(known)) / 2, 3, MOST_CODES))
    codes = np.full(len(known), n_codes // 2)
    ranks = rankdata(cells.values[known].astype(np.float64))
    codes[known] = np.floor((ranks - 0.5) / max(len(ranks), 1) * n_codes)
    return codes


def _marginal(real: Cells, synthetic: Cells, n_bins: int) -> Marginal:
    missing = float(np.mean(~real.known)), float(np.mean(~synthetic.known))
    if real.is_label:
        shown = shown_labels(real, synthetic)
        a, b = (np.bincount(places_among(c, shown), minlength=len(shown)) / len(c.values) for c in (real, synthetic))
        return Marginal(_objects(shown), a, b, missing)
    known = [cells.values[cells.known] for cells in (real, synthetic)]
    dtype = real.values.dtype
    numbers = [cells.astype(dtype).astype(np.int64) if real.is_date else cells for cells in known]
    edges = (np.histogram_bin_edges if real.is_date else edges_of)(np.concatenate(numbers), n_bins)
    a, b = (np.histogram(cells, edges)[0] / max(1, len(cells)) for cells in numbers)
    return Marginal(edges.astype(np.int64).astype(dtype) if real.is_date else edges, a, b, missing)


def _pair(left: dict[Name, Cells], right: dict[Name, Cells], pair: tuple[Name, Name], n_points: int) -> Pair:
    labelled = [name for name in pair if left[name].is_label]
    shown = {name: [s for s in shown_labels(left[name], right[name]) if s is not None] for name in labelled}
    found: list[Any] = []
    for columns in (left, right):
        x, y = (columns[name] for name in pair)
        known = x.known & y.known
        x, y = (cells._replace(values=cells.values[known]) for cells in (x, y))
        if not labelled:
            found.append((x.values[:n_points], y.values[:n_points]))
        elif len(labelled) == 2:
            a, b = (places_among(cells, shown[name]) for cells, name in zip((x, y), pair, strict=True))
            counts = np.zeros((len(shown[pair[0]]), len(shown[pair[1]])))
            np.add.at(counts, (a, b), 1)
            found.append(counts / max(1, len(a)))
        else:
            labels, numbers = (x, y) if x.is_label else (y, x)
            found.append(_quantiles(places_among(labels, shown[labelled[0]]), numbers, len(shown[labelled[0]])))
    kind = ("points", "quantiles", "shares")[len(labelled)]
    return Pair(kind, tuple(shown[name] for name in labelled), *found)


def _quantiles(place: Array, numbers: Cells, n_labels: int) -> Array:
    """Of the numbers at each label; without any, missing."""
    dtype = numbers.values.dtype
    found = np.full((n_labels, len(SHARES)), np.datetime64("NaT") if numbers.is_date else np.nan, dtype)
    for k in range(n_labels):
        some = numbers.values[place == k]
        if len(some):
            values = np.quantile(some.astype(np.int64) if numbers.is_date else some, SHARES)
            found[k] = values.astype(np.int64).astype(dtype) if numbers.is_date else values
    return found


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), object)
    array[:] = values
    return array


# --- drawing ---------------------------------------------------------------------------------------------------------

BOTH = (("real", REAL, -1), ("synthetic", SYNTHETIC, 1))


def _draw_marginal(axes: "Axes", title: str, marginal: Marginal) -> None:
    labels = marginal.at.dtype == object
    if any(marginal.missing) and not labels:
        gaps = "missing: {:.0%} real, {:.0%} synthetic".format(*marginal.missing)
        axes.text(0.98, 0.99, gaps, transform=axes.transAxes, ha="right", va="top", fontsize=7.5)
    titled(axes, title)
    if labels:
        places = rows_of(axes, marginal.at.tolist())
        for (kind, colour, side), shares in zip(BOTH, (marginal.real, marginal.synthetic), strict=True):
            axes.barh(places + 0.2 * side, shares, 0.38, color=colour, label=kind)
        return
    axes.stairs(marginal.real, marginal.at, fill=True, color=REAL, alpha=0.55, label="real")
    axes.stairs(marginal.synthetic, marginal.at, color=SYNTHETIC, linewidth=1.6, label="synthetic")
    axes.set_ylim(0, 1.15 * max(marginal.real.max(), marginal.synthetic.max(), 1e-9))
    if marginal.at.dtype.kind == "M":
        dates_along(axes)
    elif (marginal.at % 1 == 0.5).all():
        whole_numbers_along(axes)


def _draw_pair(axes: "Axes", pair: tuple[Name, Name], found: Pair, columns: dict[Name, Cells]) -> None:
    tables = found.real, found.synthetic
    if found.kind == "points":
        titled(axes, "", x=f"{pair[0]}{columns[pair[0]].unit}", y=f"{pair[1]}{columns[pair[1]].unit}")
        for (kind, colour, _), (x, y) in zip(BOTH, tables, strict=True):
            axes.plot(x, y, ".", color=colour, label=kind, markersize=4, markeredgewidth=0, alpha=0.55)
        for axis, name in zip("xy", pair, strict=True):
            if columns[name].is_date:
                dates_along(axes, axis)
    elif found.kind == "quantiles":
        labels, numbers = pair if columns[pair[0]].is_label else pair[::-1]
        titled(axes, labels, x=f"{numbers}{columns[numbers].unit}")
        places = rows_of(axes, found.at[0])
        for (kind, colour, side), q in zip(BOTH, tables, strict=True):
            at = places + 0.17 * side
            axes.hlines(at, q[:, 0], q[:, 4], color=colour, linewidth=1)
            axes.hlines(at, q[:, 1], q[:, 3], color=colour, linewidth=5, label=kind)
            axes.plot(q[:, 2], at, "o", color="white", markeredgecolor=colour, markersize=4)
        if columns[numbers].is_date:
            dates_along(axes)
    else:
        _draw_shares(axes, pair, found)


def _draw_shares(axes: "Axes", pair: tuple[Name, Name], found: Pair) -> None:
    titled(axes, pair[1], x=str(pair[0]))
    a, b = found.at
    largest = max(found.real.max(), found.synthetic.max(), 1e-9)
    across, down = np.meshgrid(np.arange(len(a)), np.arange(len(b)), indexing="ij")
    room = min(18.0, 60 / max(len(a), len(b)))  # points from edge to edge of the largest dot
    for (kind, colour, side), shares in zip(BOTH, (found.real, found.synthetic), strict=True):
        area = (room**2 * shares / largest).ravel()
        axes.scatter(across.ravel() + 0.2 * side, down.ravel(), area, color=colour, alpha=0.85)
        axes.plot([], [], "o", color=colour, label=kind)
    rows_of(axes, b)
    many = len(a) > 4 or max(map(len, map(words, a))) > 9
    axes.set_xticks(np.arange(len(a)), [words(label) for label in a], rotation=90 if many else 0)
    axes.set_xlim(-0.6, len(a) - 0.4)
