"""What a model says of a row, how its training went, and which columns it is about."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from energyboost.checks import integer
from energyboost.conditional import Conditional
from energyboost.density import TableDensity
from energyboost.errors import DataError, ParameterError
from energyboost.model.tree import Tree
from energyboost.plots.canvas import (
    QUIET,
    REAL,
    SYNTHETIC,
    Array,
    Picture,
    dates_along,
    panels,
    rows_of,
    titled,
    whole_numbers_along,
    words,
)
from energyboost.plots.cells import OTHER, columns_of, edges_of
from energyboost.sampling.boosted import Boosted
from energyboost.sampling.moves import dependences
from energyboost.tables import encode
from energyboost.tables.frames import Name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEVELS = 15
MOST_STAGES = 50
SHOWN = (0.001, 0.999)
"""Of a distribution of numbers, the part that is shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution(Picture):
    """The picture of :func:`conditional`.

    Parameters
    ----------
    target : name
        The column.
    at : array
        Levels, or the edges between which the probabilities are.
    probability : array
        Of each level, or between neighbouring edges.
    median, interval : value, pair of values
        Of a column with an order: the median and the central 90 %. Else None.
    observed : value
        What was observed; None if it is not known.
    """

    target: Name
    at: Array
    probability: Array
    median: Any
    interval: Any
    observed: Any


@dataclass(frozen=True, slots=True, eq=False)
class LearningCurve(Picture):
    """The picture of :func:`learning_curve`.

    Parameters
    ----------
    n_trees : array of int
        1, 2, ...
    gain : array
        What each round added to the mean log-density of the training rows.
    total : array
        What all rounds so far have added.
    stages, held_out : array
        What so many trees add to the mean log-density of the rows held out; empty without any.
    """

    n_trees: Array
    gain: Array
    total: Array
    stages: Array
    held_out: Array


@dataclass(frozen=True, slots=True, eq=False)
class Importance(Picture):
    """The picture of :func:`importance`.

    Parameters
    ----------
    columns : tuple of names
        Those of the largest gain first.
    gain : array
        Of each column, the share of the trees' variance that its splits explain; of all columns, they add up to 1.
    dependence : array of shape (n_columns, n_columns)
        Of each pair: 0 as by chance, 1 if one determines the other. NaN for columns that are not shown.
    """

    columns: tuple[Name, ...]
    gain: Array
    dependence: Array


def conditional(
    of: Any, row: Any = 0, target: Name | None = None, *, observed: Any = None, n_bins: int = 40, ax: Any = None
) -> Distribution:
    """Draw the distribution of a column given what is known of a row.

    Parameters
    ----------
    of : Conditional, or a fitted model
        What knows the distribution.
    row : int, or frame of one row
        Of a Conditional, the position of the row; of a model, the row.
    target : name, optional
        Of a model, the column.
    observed : value, optional
        What was observed, to be marked; of a model, it is read from the row.
    n_bins : int
        Bins of a column of numbers or dates.
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Distribution
        ``axes``, and the probabilities that were drawn.
    """
    integer("n_bins", n_bins, 1)
    if not isinstance(of, Conditional):
        if target is None:
            raise ParameterError("name the column: conditional(model, row, target=...)")
        of, observed = _asked(_density(of), row, target, observed)
    elif target is not None and target != of.target:
        raise ParameterError(f"the conditional is of column {of.target!r}, not of {target!r}")
    else:
        place = integer("row", row, 0, max(len(of) - 1, 0))
        of = of[place]
    (axes,) = panels(1, None if ax is None else [ax], size=(5, 2.6))
    is_number = of._is_number
    at, probability = _bins(of, n_bins) if is_number else _levels(of)
    ordered = of._codec.ordered
    median, interval = (of.median()[0], tuple(of.interval()[0])) if ordered else (None, None)
    drawn = Distribution((axes,), of.target, at, probability, median, interval, observed)
    (_draw_numbers if is_number else _draw_levels)(axes, drawn)
    return drawn


def learning_curve(model: Any, held_out: Any = None, *, axes: Any = None) -> LearningCurve:
    """Draw what each round of training gained.

    Parameters
    ----------
    model : fitted estimator
        With its ``history_``.
    held_out : frame, optional
        Rows that were not trained on: what up to 50 stages gain on them is drawn, too.
    axes : two matplotlib axes, optional
        For the total and for each round.

    Returns
    -------
    LearningCurve
        ``axes``, and the gains that were drawn.

    Notes
    -----
    Gains are differences of mean log-densities, per row and in nats. They use the log Z that training carries along,
    which is an estimate.
    """
    if not hasattr(model, "history_"):
        raise ParameterError(f"a learning curve is of a fitted estimator, which has history_; got {type(model)}")
    gain = np.array([record["gain"] for record in model.history_], float)
    if not len(gain):
        raise DataError("the model has no trees: it has learned nothing that could be drawn")
    n_trees, stages, held = np.arange(1, len(gain) + 1), np.empty(0, int), np.empty(0)
    if held_out is not None:
        energy = cast(Boosted, model.density_.model).energy
        codes = encode(model.schema_, held_out)
        stages = np.unique(np.linspace(1, len(gain), min(MOST_STAGES, len(gain))).astype(int))
        first = energy.score(codes, 0).mean()
        held = np.array([energy.score(codes, int(k)).mean() - first - energy.log_z[k] for k in stages])
    where = panels(2, axes, across=2, size=(3.9, 2.6))
    drawn = LearningCurve(where, n_trees, gain, np.cumsum(gain), stages, held)
    where[0].plot(n_trees, drawn.total, color=REAL, label="training rows")
    if len(stages):
        where[0].plot(stages, held, color=SYNTHETIC, label="held-out rows")
        best = int(stages[held.argmax()])
        where[0].plot([best], [held.max()], "o", color=SYNTHETIC, markersize=5, label=f"best: {best} trees")
        where[0].legend(frameon=False, fontsize=8)
    where[1].plot(n_trees, gain, color=REAL)
    titled(where[0], "gain since the baseline", x="trees", y="nats per row")
    titled(where[1], "gain of each round", x="trees", y="nats per row")
    for one in where:
        one.axhline(0, color=QUIET, linewidth=0.7, zorder=0)
    return drawn


def importance(model: Any, *, most: int = 15, axes: Any = None) -> Importance:
    """Draw how much of the model is about each column, and how strongly columns depend on each other in it.

    Parameters
    ----------
    model : fitted estimator or TableDensity
        No training rows are needed: both come from the rows of its pool.
    most : int
        Columns to show.
    axes : two matplotlib axes, optional
        For the gains and for the dependences.

    Returns
    -------
    Importance
        ``axes``, the gain of every column, and the dependence of those shown.

    Notes
    -----
    The gain of a column is the sum, over all splits on it in all trees, of ``a b / (a + b) * (v - w)**2 / n``: of the n
    rows of the pool, a and b go left and right, and v and w are the means there of what the tree adds to their energy.
    Over a tree, that adds up to the variance of what it adds; it is what trees are grown to raise, taken on the pool.
    """
    density, most = _density(model), integer("most", most, 1)
    if not density.model.n_trees:
        raise DataError("the model has no trees: no column was split on")
    gain = _gains(density)
    order = np.argsort(-gain, kind="stable")
    names = tuple(density.schema.names[j] for j in order)
    shown = order[:most]
    dependence = np.full((len(order),) * 2, np.nan)
    np.fill_diagonal(dependence, 1.0)
    place = {int(j): k for k, j in enumerate(order)}
    wide = sorted(int(j) for j in shown if density.model.domain.sizes[j] > 1)
    asked = [(a, b) for k, a in enumerate(wide) for b in wide[k + 1 :]]
    pool = cast(Boosted, density.model).pool
    for pair in dependences(pool, density.model.domain, pairs=asked) if asked else []:
        a, b = (place[j] for j in pair.columns)
        dependence[a, b] = dependence[b, a] = pair.dependence
    n = len(shown)
    where = panels(2, axes, across=2, size=(3.9, max(2.2, 0.3 * n + 1.1)))
    drawn = Importance(where, names, gain[order], dependence)
    places = rows_of(where[0], names[:n])
    where[0].barh(places, drawn.gain[:n], 0.7, color=REAL)
    titled(where[0], "gain of splits", x="share of all")
    _draw_matrix(where[1], names[:n], dependence[:n, :n])
    return drawn


# --- inner workings --------------------------------------------------------------------------------------------------


def _density(model: Any) -> TableDensity:
    density = getattr(model, "density_", model)
    if not isinstance(density, TableDensity):
        raise ParameterError(f"the picture is of a fitted model; got {type(model).__name__}: fit it first")
    return density


def _asked(density: TableDensity, row: Any, target: Name, observed: Any) -> tuple[Conditional, Any]:
    """The distribution in a frame's only row, and what the row says itself."""
    found = density.conditional(row, target)
    if len(found) != 1:
        raise ParameterError(f"a picture is of one row; got {len(found):,}: give a frame of one, such as table[:1]")
    if observed is None:
        cells = columns_of(row).get(found.target)
        if cells is not None and cells.known[0]:
            observed = cells.values[0]
    return found, observed


def _bins(of: Conditional, n_bins: int) -> tuple[Array, Array]:
    """Probabilities between edges, over the part of the distribution that is shown."""
    low, high = of.quantile(list(SHOWN))[0]
    if isinstance(low, np.datetime64 | np.timedelta64):
        unit = low.dtype
        numbers = np.array([low, high]).astype(np.int64)
        whole = edges_of(np.array([numbers[0], numbers[1]]), n_bins)
        edges = np.ceil(whole).astype(np.int64).astype(unit)  # the day that starts at an edge belongs to the right
        reach = of.cdf((edges.astype(np.int64) - 1).astype(unit)[None, :])[0]
        return edges, np.diff(reach)
    values = of._low[np.isfinite(of._low)], of._high[np.isfinite(of._high)]
    whole_numbers = all((part == np.rint(part)).all() for part in values) and bool(np.isfinite(of._n_points).all())
    ends = np.array([low, high], float)
    if low == high:
        edges = ends + np.array([-0.5, 0.5])
    else:
        edges = edges_of(ends, n_bins) if whole_numbers else np.linspace(ends[0], ends[1], n_bins + 1)
    reach = of.cdf(edges[None, :])[0]
    if not whole_numbers:  # what lies at the first edge is shown, too
        reach[0] = of.cdf(np.nextafter(edges[:1], -np.inf)[None, :])[0, 0]
    return edges, np.diff(reach)


def _levels(of: Conditional) -> tuple[Array, Array]:
    """The likeliest levels in their order, and what the others have together."""
    level, probability = of.levels.astype(object), of.proba[0]
    if len(level) <= MOST_LEVELS:
        return level, probability
    kept = np.sort(np.argsort(-probability, kind="stable")[:MOST_LEVELS])
    return np.append(level[kept], OTHER), np.append(probability[kept], 1 - probability[kept].sum())


def _draw_numbers(axes: "Axes", drawn: Distribution) -> None:
    axes.stairs(drawn.probability, drawn.at, fill=True, color=REAL, alpha=0.55)
    top = max(float(drawn.probability.max()), 1e-9)
    axes.set_ylim(-0.1 * top, 1.12 * top)
    axes.hlines(-0.05 * top, *drawn.interval, color=QUIET, linewidth=3, label="central 90 %")
    axes.plot([drawn.median], [-0.05 * top], "o", color="white", markeredgecolor="black", markersize=5, label="median")
    if drawn.observed is not None:
        axes.axvline(drawn.observed, color=SYNTHETIC, linestyle="--", linewidth=1.6, label="observed")
    if np.asarray(drawn.at).dtype.kind == "M":
        dates_along(axes)
    elif (np.asarray(drawn.at) % 1 == 0.5).all():
        whole_numbers_along(axes)
    titled(axes, drawn.target, y="probability")
    axes.legend(frameon=False, fontsize=8)


def _draw_levels(axes: "Axes", drawn: Distribution) -> None:
    names = drawn.at.tolist()
    places = rows_of(axes, names)
    marked = [drawn.observed is not None and name == drawn.observed for name in names]
    axes.barh(places, drawn.probability, 0.7, color=[SYNTHETIC if mark else REAL for mark in marked])
    for place, share in zip(places, drawn.probability, strict=True):
        axes.annotate(f"{share:.1%}", (share, place), (3, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_xlim(0, 1.15 * float(drawn.probability.max()))
    titled(axes, f"{drawn.target}{'  (observed: orange)' if any(marked) else ''}", x="probability")


def _gains(density: TableDensity) -> Array:
    """Of every column, the share of the variance of all trees over the pool that its splits explain."""
    model = cast(Boosted, density.model)
    gain = np.zeros(len(density.schema.columns))
    for tree in model.energy.trees:
        _add_gains(tree, np.bincount(tree.leaves(model.pool), minlength=tree.n_leaves).astype(float), gain)
    return gain / max(float(gain.sum()), 1e-300)


def _add_gains(tree: Tree, counts: Array, gain: Array) -> None:
    """Add what each split of a tree explains of its variance: children are behind their parents."""
    n_nodes, n = len(tree.column), max(float(counts.sum()), 1.0)
    # of nodes, then of leaves: ~child is a leaf
    count = np.concatenate([np.zeros(n_nodes), counts])
    total = np.concatenate([np.zeros(n_nodes), counts * tree.leaf_value])
    sides = [np.where(side >= 0, side, n_nodes + ~side).tolist() for side in (tree.left, tree.right)]
    columns = tree.column.tolist()
    for node in range(n_nodes - 1, -1, -1):
        left, right = sides[0][node], sides[1][node]
        a, b = count[left], count[right]
        if a and b:
            gain[columns[node]] += a * b / (a + b) * (total[left] / a - total[right] / b) ** 2 / n
        count[node], total[node] = a + b, total[left] + total[right]


def _draw_matrix(axes: "Axes", names: tuple[Name, ...], dependence: Array) -> None:
    off = np.where(np.eye(len(names), dtype=bool), np.nan, dependence)
    axes.imshow(off, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    rows_of(axes, names)
    axes.set_xticks(np.arange(len(names)), [words(name) for name in names], rotation=90)
    if len(names) <= 15:
        for a, b in np.argwhere(np.isfinite(off)):
            dark = off[a, b] > 0.6
            text = f"{off[a, b]:.2f}".removeprefix("0") if off[a, b] < 0.995 else "1"
            axes.text(b, a, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    titled(axes, "dependence of pairs")
