"""What a parameter may be, in one place: every refusal names the parameter, what it may be, and what came."""

from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real

import numpy as np

from energyboost.errors import ParameterError

RandomState = int | np.random.Generator | np.random.RandomState | None


def integer(name: str, value: object, low: int, high: int | None = None, also: str = "") -> int:
    """Return ``value`` as a plain int of ``low`` to ``high``; ``also`` says what else would have been allowed.

    Examples
    --------
    >>> integer("n", 3, 0)
    3
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    span = f"of at least {low:,}" if high is None else f"from {low:,} to {high:,}"
    raise ParameterError(f"{name} is a whole number {span}{also}; got {value!r}")


def real(name: str, value: object, low: float, high: float | None = None, *, open_low: bool = False) -> float:
    """Return ``value`` as a plain finite float of ``low`` (not itself, if open) to ``high``.

    Examples
    --------
    >>> real("share", 1, 0, 1)
    1.0
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        above_low = number > low if open_low else number >= low
        if above_low and isfinite(number) and (high is None or number <= high):
            return number
    above = f"above {low:g}" if open_low else f"of at least {low:g}"
    span = above if high is None else f"{above} and at most {high:g}"
    raise ParameterError(f"{name} is a number {span}; got {value!r}")


def choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return ``value``, one of the choices.

    Examples
    --------
    >>> choice("start", "pool", ["pool", "baseline"])
    'pool'
    """
    if isinstance(value, str) and value in choices:
        return value
    raise ParameterError(f"{name} is one of {', '.join(map(repr, choices))}; got {value!r}")


def boolean(name: str, value: object) -> bool:
    """Return ``value`` as a plain bool.

    Examples
    --------
    >>> boolean("verbose", True)
    True
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ParameterError(f"{name} is True or False; got {value!r}")


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """The root of all randomness of one call; generators are advanced, so that each call with one differs."""
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31)))
    return np.random.SeedSequence(None if random_state is None else integer("random_state", random_state, 0))
