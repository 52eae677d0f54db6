"""Pictures of tables: what real and synthetic rows have in common, column by column and pair by pair."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from energyboost.checks import integer
from energyboost.errors import DataError
from energyboost.tables.frames import LABELS, Name, open_table, plain
from energyboost.tables.words import listing

Array = npt.NDArray[Any]

MOST_LABELS = 12
OTHER = "(other)"
COLOURS = {"real": "#4878a8", "synthetic": "#d1682e"}


class Marginal(NamedTuple):
    """Shares of a column's rows: of each label, or between neighbouring edges (of known cells only).

    Of many labels the most frequent are shown, and ``OTHER`` is what remains; None stands for missing.
    """

    at: Array
    real: Array
    synthetic: Array


class Pair(NamedTuple):
    """Points of two columns, one array for each; rows with a missing cell are left out."""

    real: tuple[Array, Array]
    synthetic: tuple[Array, Array]


class Comparison(NamedTuple):
    """A figure, and what it shows."""

    figure: Figure
    marginals: dict[Name, Marginal]
    pairs: dict[tuple[Name, Name], Pair]


def compare(
    real: Any,
    synthetic: Any,
    *,
    pairs: Sequence[tuple[Name, Name]] = (),
    n_bins: int = 30,
    n_points: int = 600,
) -> Comparison:
    """Draw the marginals of all columns and the scatter of some pairs, real and synthetic in one.

    Parameters
    ----------
    real, synthetic : pandas, polars or pyarrow frame, or 2-D numpy array
        Tables with the same columns.
    pairs : sequence of pairs of names
        Columns of numbers, dates or times to scatter against each other.
    n_bins : int
        Bins in the histogram of such a column.
    n_points : int
        Most rows of each table that a scatter shows: its first ones.

    Returns
    -------
    Comparison
        ``(figure, marginals, pairs)``: the figure, and the numbers in it by column and by pair.

    Examples
    --------
    >>> table = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 4.0]])
    >>> figure, marginals, pairs = compare(table, table[:2], pairs=[("x0", "x1")], n_bins=2)
    >>> marginals["x0"].at.tolist(), marginals["x0"].synthetic.tolist()
    ([0.5, 2.5, 4.5], [0.5, 0.5])
    """
    (left, declared), (right, _) = _columns(real), _columns(synthetic)
    if set(left) != set(right):
        raise DataError(f"the tables have different columns: {listing(left, 20)} and {listing(right, 20)}")
    integer("n_bins", n_bins, 1)
    integer("n_points", n_points, 1)
    for name, cells in left.items():
        if not len(cells) or not len(right[name]):
            raise DataError("a table without rows has nothing to compare")
        if cells.dtype.kind != right[name].dtype.kind and "O" in (cells.dtype.kind, right[name].dtype.kind):
            raise DataError(f"column {name!r} holds labels in one table only: make both labels, or both numbers")
    marginals = {name: _marginal(left[name], right[name], declared[name], n_bins) for name in left}
    points = {pair: Pair(*(_points(columns, pair, n_points) for columns in (left, right))) for pair in pairs}
    return Comparison(_draw(marginals, points), marginals, points)


def _columns(frame: Any) -> tuple[dict[Name, Array], dict[Name, Sequence[Any] | None]]:
    """Return the cells of each column, and its declared categories.

    Labels have None for missing cells, others NaN or NaT; durations are in seconds.
    """
    table, columns, declared = open_table(frame), dict[Name, Array](), dict[Name, Sequence[Any] | None]()
    for i, name in enumerate(table.names):
        column_type, cells = table.read(i)
        declared[name] = column_type.categories
        if column_type.kind in LABELS:
            columns[name] = plain(column_type, cells).astype(object)
            columns[name][cells.missing] = None
        elif column_type.kind == "number":
            columns[name] = np.where(cells.missing, np.nan, cells.values)
        else:
            times = plain(column_type, cells)
            columns[name] = times / np.timedelta64(1, "s") if column_type.kind == "duration" else times
    return columns, declared


def _marginal(real: Array, synthetic: Array, declared: Sequence[Any] | None, n_bins: int) -> Marginal:
    if real.dtype == object:
        return _labels(real, synthetic, declared)
    known = [cells[cells == cells] for cells in (real, synthetic)]  # neither NaN nor NaT is itself
    dates = real.dtype.kind == "M"
    numbers = [cells.astype(real.dtype).astype(np.int64) if dates else cells for cells in known]
    edges = (np.histogram_bin_edges if dates else _edges)(np.concatenate(numbers), n_bins)
    shares = (np.histogram(cells, edges)[0] / max(1, len(cells)) for cells in numbers)
    return Marginal(edges.astype(np.int64).astype(real.dtype) if dates else edges, *shares)


def _labels(real: Array, synthetic: Array, declared: Sequence[Any] | None) -> Marginal:
    counts = Counter(real.tolist()) + Counter(synthetic.tolist())
    known: list[Any] = [label for label, _ in counts.most_common() if label is not None]
    place = {label: i for i, label in enumerate(sorted(known) if declared is None else declared)}
    shown = sorted(known[:MOST_LABELS], key=place.__getitem__)
    of_all = [[np.mean(cells == label) for label in shown] for cells in (real, synthetic)]
    missing = [np.mean([cell is None for cell in cells]) for cells in (real, synthetic)]
    if len(known) > MOST_LABELS:
        of_all = [[*shares, 1 - sum(shares) - gaps] for shares, gaps in zip(of_all, missing, strict=True)]
        shown.append(OTHER)
    if None in counts:
        of_all = [[*shares, gaps] for shares, gaps in zip(of_all, missing, strict=True)]
        shown.append(None)
    at = np.empty(len(shown), object)
    at[:] = shown
    return Marginal(at, *map(np.array, of_all))


def _edges(numbers: Array, n_bins: int) -> Array:
    if len(numbers) and (numbers == np.rint(numbers)).all():  # every bin with as many whole numbers as the others
        step = max(1, -(-int(np.ptp(numbers) + 1) // n_bins))
        return np.arange(numbers.min() - 0.5, numbers.max() + 0.5 + step, step)
    return np.histogram_bin_edges(numbers, n_bins)


def _points(columns: dict[Name, Array], pair: tuple[Name, Name], n_points: int) -> tuple[Array, Array]:
    for name in pair:
        if name not in columns:
            raise DataError(f"unknown column {name!r}; the columns are {listing(columns, 20)}")
        if columns[name].dtype == object:
            raise DataError(f"column {name!r} holds labels: scatter columns of numbers, dates or times")
    x, y = (columns[name] for name in pair)
    known = (x == x) & (y == y)
    return x[known][:n_points], y[known][:n_points]


def _draw(marginals: dict[Name, Marginal], pairs: dict[tuple[Name, Name], Pair]) -> Figure:
    n_across = 3
    n_above, n_below = -(-len(marginals) // n_across), -(-len(pairs) // n_across)
    figure = Figure(figsize=(3.4 * n_across, 2.5 * (n_above + n_below)), layout="constrained")
    grid = figure.subplots(n_above + n_below, n_across, squeeze=False)
    for axes in grid.flat:
        axes.set_visible(False)
    for axes, (name, marginal) in zip(grid[:n_above].flat, marginals.items(), strict=False):
        _draw_marginal(axes, name, marginal)
    for axes, (pair, points) in zip(grid[n_above:].flat, pairs.items(), strict=False):
        _draw_pair(axes, pair, points)
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _draw_marginal(axes: Axes, name: Name, marginal: Marginal) -> None:
    axes.set(visible=True, title=name, ylabel="share of rows")
    labels = marginal.at.dtype == object
    for i, kind in enumerate(COLOURS):
        style: dict[str, Any] = {"color": COLOURS[kind], "label": kind}
        if labels:
            axes.bar(np.arange(len(marginal.at)) + 0.4 * i, marginal[i + 1], 0.4, **style)
        else:
            axes.stairs(marginal[i + 1], marginal.at, fill=kind == "real", linewidth=1.5, **style)
    if labels:
        names = ["missing" if label is None else str(label) for label in marginal.at]
        axes.set_xticks(np.arange(len(names)) + 0.2, names, rotation=90 if len(names) > 6 else 0)
    elif marginal.at.dtype.kind == "M":
        axes.tick_params("x", rotation=90)
    axes.tick_params(labelsize="small")


def _draw_pair(axes: Axes, pair: tuple[Name, Name], points: Pair) -> None:
    axes.set(visible=True, xlabel=pair[0], ylabel=pair[1])
    for kind, (x, y) in zip(COLOURS, points, strict=True):
        axes.plot(x, y, ".", color=COLOURS[kind], label=kind, markersize=2.5, alpha=0.6)
    axes.tick_params(labelsize="small")
