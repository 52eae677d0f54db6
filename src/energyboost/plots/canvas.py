"""What all pictures share: where they are drawn, their colours, and how they are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from energyboost.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

REAL, SYNTHETIC, QUIET = "#3b6fa0", "#d9662b", "#8a8a8a"
"""Blue and orange, which colour-blind readers tell apart, and a grey for what matters less."""
MOST_LETTERS = 18


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What was drawn. A notebook shows it; :meth:`save` writes it to a file.

    Parameters
    ----------
    axes : tuple of matplotlib axes
        The panels, to change or to add to.
    """

    axes: tuple["Axes", ...]

    @property
    def figure(self) -> "Figure":
        """The matplotlib figure that the panels are in."""
        return self.axes[0].get_figure(root=True)  # type: ignore[return-value]

    def save(self, path: Any, dpi: int = 120) -> None:
        """Write the figure to a file; what its name ends with says of which kind."""
        self.figure.savefig(path, dpi=dpi)

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.figure.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()


def new_figure(width: float, height: float) -> "Figure":
    """A figure of its own, in inches, that no window and no global state knows of."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "pictures need matplotlib; run: pip install 'energyboost[app]'", name="matplotlib"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def panels(n: int, given: Any, *, across: int = 3, size: tuple[float, float] = (3.2, 2.2)) -> tuple["Axes", ...]:
    """``n`` empty panels: of the axes that were given, else of a new figure with so many ``across``."""
    if given is None:
        across = min(across, max(n, 1))
        down = -(-n // across)
        figure = new_figure(size[0] * across, size[1] * down + 0.35)
        given = figure.subplots(down, across, squeeze=False)
    every: list[Axes] = list(np.asarray(given, dtype=object).ravel())
    if len(every) < n:
        raise ParameterError(f"the picture has {n} panels: give as many axes; got {len(every)}")
    for spare in every[n:]:
        spare.set_visible(False)
    for one in every[:n]:
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=8)
    return tuple(every[:n])


def titled(axes: "Axes", title: Any, **labels: str) -> None:
    """Give a panel its title, at the left, and the names of its axes."""
    axes.set_title(str(title), loc="left", fontsize=9.5)
    for axis, text in labels.items():
        getattr(axes, f"set_{axis}label")(text, fontsize=8.5)


def words(label: Any) -> str:
    """A label as text that fits beside a panel."""
    text = "missing" if label is None else str(label)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def dates_along(axes: "Axes", axis: str = "x") -> None:
    """Write dates on an axis as shortly as they can be told apart."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
    chosen = getattr(axes, f"{axis}axis")
    chosen.set_major_locator(locator)
    chosen.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def whole_numbers_along(axes: "Axes") -> None:
    """Write no fractions on the axis of a column of whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))


def rows_of(axes: "Axes", labels: Sequence[Any]) -> Array:
    """Make a panel one of horizontal bars, the first on top; returns their places."""
    places = np.arange(len(labels))
    axes.set_yticks(places, [words(label) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    return places


def legend(axes: Sequence["Axes"]) -> None:
    """One legend for a whole figure of its own, above it; for panels in somebody's figure, in the first."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure: Any = axes[0].get_figure()
    if figure.get_layout_engine() is not None and len(axes) > 1:
        figure.legend(handles, labels, loc="outside upper right", ncols=2, frameon=False, fontsize=9, markerscale=1.5)
    else:
        axes[0].legend(handles, labels, frameon=False, fontsize=8)
