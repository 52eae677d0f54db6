"""Conditions on columns, for rows drawn under them: values, ranges, sets, and whether a cell is missing."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from energyboost.errors import DataError, ParameterError
from energyboost.tables import Categories, Cells, Numbers, OrderedLevels, Schema, decode_column, levels, read_values

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """What a condition leaves of a column: the part of each code that fits it.

    A code stands for values between ``start`` and ``stop`` of its own; with neither, for none or all of them.
    """

    part: Floats  # of each code, 0 to 1: what its probability is multiplied by
    start: Floats  # of the uniforms that are decoded
    stop: Floats
    low: Any = None  # decoded values are held between, against rounding
    high: Any = None

    @classmethod
    def to_codes(cls, allowed: npt.NDArray[np.bool_]) -> "Restriction":
        """Some codes, wholly."""
        part = allowed.astype(float)
        return cls(part, np.zeros(len(part)), np.ones(len(part)))

    def decoder(self, decode: Callable[..., Cells]) -> Callable[..., Cells]:
        """What decodes codes to values that fit."""

        def within(codes: Any, uniforms: Any) -> Cells:
            place = self.start[codes] + uniforms * (self.stop - self.start)[codes]
            cells = decode(codes, np.minimum(place, 1 - 2.0**-53))
            if self.low is None:
                return cells
            return Cells(
                np.where(cells.missing, cells.values, np.clip(cells.values, self.low, self.high)), cells.missing
            )

        return within


class Condition(Protocol):
    """A condition on one column."""

    def restrict(self, schema: Schema, j: int) -> Restriction:
        """What the condition leaves of column ``j``; nothing is an error."""


@dataclass(frozen=True, slots=True)
class Between:
    """From ``low`` to ``high``, both included unless strict; None is no bound."""

    low: Any
    high: Any
    strict: bool = False

    def __str__(self) -> str:
        if self.high is None:
            return f"{'above' if self.strict else 'at least'} {self.low!r}"
        if self.low is None:
            return f"{'below' if self.strict else 'at most'} {self.high!r}"
        return f"between {self.low!r} and {self.high!r}"

    def restrict(self, schema: Schema, j: int) -> Restriction:
        """See :class:`Condition`."""
        codec, name = schema.columns[j].codec, schema.names[j]
        if isinstance(codec, Categories):
            raise DataError(
                f"column {name!r} has no order, so that nothing is {self}: name its levels with isin(...); it has "
                f"{_offer(schema, j)}"
            )
        bounds = [None if _is_none(bound) else _number(schema, j, bound) for bound in (self.low, self.high)]
        if isinstance(codec, OrderedLevels):
            low = 0 if bounds[0] is None else bounds[0] + self.strict
            high = codec.n_codes if bounds[1] is None else bounds[1] - self.strict
            place = np.arange(codec.n_codes)
            allowed = (place >= low) & (place <= high)
            restriction = Restriction.to_codes(allowed & (place != codec.missing_code))
        else:
            numbers = cast(Numbers, codec)
            if self.strict:
                dtype = np.dtype(numbers.dtype)
                bounds = [_beyond(bound, dtype, up) for bound, up in zip(bounds, (True, False), strict=True)]
            start, stop, low, high = numbers.between(*bounds)
            restriction = Restriction(stop - start, start, stop, low, high)
        if not restriction.part.any():
            raise DataError(f"column {name!r}: no value is {self}; it has {_offer(schema, j)}")
        return restriction


@dataclass(frozen=True, slots=True)
class IsIn:
    """One of some values."""

    values: tuple[Any, ...]

    def restrict(self, schema: Schema, j: int) -> Restriction:
        """See :class:`Condition`."""
        codec, name = schema.columns[j].codec, schema.names[j]
        if not self.values:
            raise DataError(f"column {name!r}: isin() names no value; it has {_offer(schema, j)}")
        if isinstance(codec, Categories | OrderedLevels):
            codes = [_number(schema, j, value) for value in self.values]
            return Restriction.to_codes(np.isin(np.arange(codec.n_codes), codes))
        if len(self.values) == 1:
            return _exactly(schema, j, self.values[0])
        allowed = np.zeros(codec.n_codes, bool)
        for value in self.values:
            found = _exactly(schema, j, value)
            if (found.part[found.part > 0] < 1).any():
                raise DataError(
                    f"column {name!r} is a {schema.columns[j].why}: {value!r} has no code of its own, so that isin() "
                    "cannot hold it beside others; use between(...), or one value"
                )
            allowed |= found.part > 0
        return Restriction.to_codes(allowed)


@dataclass(frozen=True, slots=True)
class Missing:
    """Missing, or not."""

    is_missing: bool

    def restrict(self, schema: Schema, j: int) -> Restriction:
        """See :class:`Condition`."""
        codec, name = schema.columns[j].codec, schema.names[j]
        if self.is_missing and codec.missing_code is None:
            raise DataError(f"column {name!r} is never missing: no training row lacked it; it has {_offer(schema, j)}")
        missing = np.arange(codec.n_codes) == codec.missing_code
        if not self.is_missing and missing.all():
            raise DataError(f"column {name!r} is always missing: every training row lacked it")
        return Restriction.to_codes(missing if self.is_missing else ~missing)


def between(low: Any, high: Any) -> Between:
    """From ``low`` to ``high``, both included: numbers, dates, or levels of an ordered category.

    Examples
    --------
    >>> between(30, 45)
    Between(low=30, high=45, strict=False)
    """
    return Between(low, high)


def gt(bound: Any) -> Between:
    """Greater than a bound."""
    return Between(bound, None, strict=True)


def ge(bound: Any) -> Between:
    """Greater than or equal to a bound."""
    return Between(bound, None)


def lt(bound: Any) -> Between:
    """Less than a bound."""
    return Between(None, bound, strict=True)


def le(bound: Any) -> Between:
    """Less than or equal to a bound."""
    return Between(None, bound)


def isin(*values: Any) -> IsIn:
    """One of some values.

    Examples
    --------
    >>> isin("Rome", "Oslo")
    IsIn(values=('Rome', 'Oslo'))
    """
    return IsIn(values)


def missing() -> Missing:
    """The cell is missing."""
    return Missing(True)


def not_missing() -> Missing:
    """The cell is not missing."""
    return Missing(False)


def restrictions(
    schema: Schema, where: Mapping[Any, Any] | None, avoid_missing: bool = False
) -> dict[int, Restriction]:
    """What conditions leave of columns, by position: ``where`` maps a column to a condition or a value."""
    if where is not None and not isinstance(where, Mapping):
        raise ParameterError(
            f"where is a dict of column names to conditions, such as {{'age': between(30, 45)}}; got {where!r}"
        )
    asked: dict[int, Condition] = {}
    for name, condition in (where or {}).items():
        if isinstance(condition, list | tuple | set | range | np.ndarray):
            raise ParameterError(
                f"where gives column {name!r} a {type(condition).__name__}: say isin(...) for one of some values, "
                "between(low, high) for a range"
            )
        asked[schema.index_of(name)] = (
            condition if isinstance(condition, Between | IsIn | Missing) else IsIn((condition,))
        )
    found = {j: condition.restrict(schema, j) for j, condition in asked.items()}
    if avoid_missing:
        wanted = [schema.names[j] for j, condition in asked.items() if condition == Missing(True)]
        if wanted:
            raise ParameterError(f"column {wanted[0]!r} cannot be missing in rows without gaps: leave one of them out")
        for j, column in enumerate(schema.columns):
            if column.codec.missing_code is not None and not isinstance(asked.get(j), Missing):
                kept = Missing(False).restrict(schema, j)
                found.setdefault(j, kept)
    return found


def log_weights(schema: Schema, start: npt.NDArray[np.int64], found: Mapping[int, Restriction]) -> Floats | None:
    """Restrictions as logarithms of factors on the probabilities of codes, column j's from ``start[j]`` on."""
    if not found:
        return None
    weights = np.zeros(int(start[-1]))
    for j, restriction in found.items():
        part = restriction.part
        weights[start[j] : start[j] + len(part)] = np.where(part > 0, np.log(np.maximum(part, 1e-300)), -np.inf)
    return weights


def _exactly(schema: Schema, j: int, value: Any) -> Restriction:
    """One value of a column of numbers."""
    codec, name, number = cast(Numbers, schema.columns[j].codec), schema.names[j], _number(schema, j, value)
    start, stop, low, high = codec.between(number, number)
    if (stop > start).any():
        return Restriction(stop - start, start, stop, low, high)
    inside = (codec.lower <= number) & (number <= codec.upper) & np.isinf(codec.n_points)
    if not inside.any():
        raise DataError(f"column {name!r} is never {value!r}; it has {_offer(schema, j)}")
    return Restriction(inside.astype(float), start, start, number, number)


def _number(schema: Schema, j: int, value: Any) -> Any:
    """A value as a number on the scale of its column (its code, for labels), refused if it is none."""
    column = schema.columns[j]
    cells = read_values(schema, j, [value])
    if cells.missing[0]:
        raise DataError(f"column {column.name!r}: {value!r} is no value; ask for missing cells by missing()")
    if not isinstance(column.codec, Categories | OrderedLevels):
        number = cells.values[0]
        return number.item() if isinstance(number, np.generic) else number
    code = int(column.codec.encode(cells)[0])
    if code < 0 or cells.values[0] not in cast(Categories, column.codec).levels:  # other labels may count as "other"
        raise DataError(f"column {column.name!r} has no level {value!r}; it has {_offer(schema, j)}")
    return code


def _is_none(bound: Any) -> bool:
    """Whether a bound is none: not given, or infinite."""
    return bound is None or (isinstance(bound, float | np.floating) and bool(np.isinf(bound)))


def _beyond(bound: Any, dtype: np.dtype[Any], up: bool) -> Any:
    """The next number that is no longer the bound."""
    if bound is None:
        return None
    if dtype.kind == "i":
        return math.floor(bound) + 1 if up else math.ceil(bound) - 1
    return float(np.nextafter(dtype.type(bound), dtype.type(np.inf if up else -np.inf)))


def _offer(schema: Schema, j: int) -> str:
    """What values a column has, for a message."""
    codec = schema.columns[j].codec
    if isinstance(codec, Categories | OrderedLevels):
        names = levels(schema, j).tolist()
        shown = ", ".join(map(repr, names[:10])) + (f", ... ({len(names):,} in all)" if len(names) > 10 else "")
        return f"the levels {shown}"
    known = np.flatnonzero(np.arange(codec.n_codes) != codec.missing_code)
    if not len(known):
        return "no values at all"
    low, high = decode_column(schema, j, known[[0, -1]], np.array([0.0, 1 - 2.0**-53]))
    return f"values from {low} to {high}" + (" in UTC" if schema.columns[j].type.zone else "")
