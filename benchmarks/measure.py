"""Taking times, and fitting growth to them."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that ``action`` takes, and what it returns."""
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


def alternate(repeats: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Let each side measure itself, one after the other, ``repeats`` times: its figures, per side."""
    figures: list[list[float]] = [[] for _ in sides]
    for _ in range(repeats):
        for side, values in zip(sides, figures, strict=True):
            values.append(side())
    return figures


def median(values: Sequence[float]) -> float:
    """The median, as a float."""
    return float(np.median(values))


def spread(values: Sequence[float], digits: int = 4) -> list[float]:
    """The smallest and the largest figure, rounded to significant digits."""
    return [float(f"{value:.{digits}g}") for value in (min(values), max(values))]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of log seconds over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
