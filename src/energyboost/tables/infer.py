"""Which codec a column gets, and why."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from energyboost.errors import DataError, ParameterError
from energyboost.tables.categories import FrequentCategories, NumberCategories
from energyboost.tables.codecs import Array, Categories, Cells, Codec, Label, OrderedLevels, labels_in_order
from energyboost.tables.frames import LABELS, NANOSECONDS, TIMES, ColumnType, Name
from energyboost.tables.numeric import Levels, QuantileBins
from energyboost.tables.overrides import Options

# Text with more levels than this, most of them on one or two rows, is refused as an id or free text.
MANY_LEVELS = 50
NOTHING_ASKED = Options()

_WORDS = {"string": "text", "number": "number"}
_UNITS = {"D": "day", "h": "hour", "m": "minute", "s": "second", "ms": "ms", "us": "us", "ns": "ns"}


class TooVaried(Exception):
    """A column of labels of which too few repeat; says what it has, for `looks_like_ids`."""


def looks_like_ids(columns: Mapping[Name, str]) -> DataError:
    """Return the refusal of all columns of labels of which too few repeat, given what each of them has.

    Examples
    --------
    >>> str(looks_like_ids({"key": "9 distinct texts in 9 rows"}))[:60]
    "column 'key' has 9 distinct texts in 9 rows: it looks like a"
    """
    found = [f"column {name!r} has {what}" for name, what in columns.items()]
    name = next(iter(columns))
    looks = "it looks like an id or free text" if len(found) == 1 else "they look like ids or free text"
    more = f"; and {len(found) - 20:,} more columns" if len(found) > 20 else ""
    return DataError(
        f"{'; '.join(found[:20])}{more}: {looks}, of which nothing can be learned. Drop free text, "
        f"schema={{{name!r}: 'drop'}}; have ids made anew when sampling, ids=[{name!r}]; or keep the frequent levels "
        f"and call the rest 'other', schema={{{name!r}: {{'levels': 20}}}}. If it is neither, make it a category, "
        f"schema={{{name!r}: 'category'}}, of at most max_levels levels"
    )


def choose_codec(
    name: Name,
    column_type: ColumnType,
    cells: Cells,
    *,
    max_bins: int = 255,
    max_levels: int = 1000,
    asked: Options = NOTHING_ASKED,
    weights: Array | None = None,
) -> tuple[Codec, str]:
    """Choose the codec of a column from its training cells, and say why in one sentence; or raise `TooVaried`.

    Examples
    --------
    >>> cells = Cells(np.array([3, 1, 3]), np.zeros(3, bool))
    >>> choose_codec("age", ColumnType("number", "int64"), cells)
    (Levels(values=(1, 3), dtype='int64', missing=False), 'number with 2 distinct values: one level each')
    """
    asked.check(name, column_type)
    known = cells.values[~cells.missing]
    weights = None if weights is None else weights[~cells.missing]
    missing = bool(cells.missing.any())
    if column_type.kind in LABELS:
        codec, why = _labels(name, column_type, known.tolist(), missing, max_levels, asked, weights)
    elif asked.codec == "Categories":
        codec, why = _number_categories(name, column_type, known, missing, max_levels)
    else:
        codec, why = _numbers(column_type, known, missing, max_bins, asked, weights)
    if len(known) == 0:
        why = f"{_word(column_type)} with no values: every cell is missing"
    elif missing:
        why += ", and one for missing"
    return codec, f"{why} (as asked)" if asked.any else why


def _labels(
    name: Name,
    column_type: ColumnType,
    known: list[Label],
    missing: bool,
    max_levels: int,
    asked: Options,
    weights: Array | None,
) -> tuple[Codec, str]:
    if asked.levels is not None:
        return _frequent(name, column_type, known, missing, asked.levels, weights)
    levels = labels_in_order(known, column_type.categories)
    if asked.order is not None:
        levels = _in_asked_order(name, levels, asked.order)
    if len(levels) > max_levels:
        raise TooVaried(f"{len(levels):,} distinct levels, more than max_levels={max_levels:,}")
    hardly_repeats = len(levels) > MANY_LEVELS and 2 * len(levels) > len(known)
    if column_type.kind == "string" and hardly_repeats and asked.codec is None:
        raise TooVaried(f"{len(levels):,} distinct texts in {len(known):,} rows")
    ordered = column_type.ordered if asked.codec is None else asked.codec == "OrderedLevels"
    word = f"ordered {_word(column_type)}" if ordered else _word(column_type)
    return (OrderedLevels if ordered else Categories)(levels, missing), _one_level_each(word, len(levels))


def _in_asked_order(name: Name, levels: tuple[Label, ...], order: tuple[Label, ...]) -> tuple[Label, ...]:
    stray = next((level for level in levels if level not in order), None)
    if stray is not None:
        raise ParameterError(
            f"schema, column {name!r}: level {stray!r} occurs in the table, and not in 'ordered': add it to the list, "
            "or change the cells that hold it"
        )
    own = {level: level for level in levels}  # True is equal to 1
    return tuple(own[level] for level in order if level in own)


def _frequent(
    name: Name, column_type: ColumnType, known: list[Label], missing: bool, n_levels: int, weights: Array | None
) -> tuple[Codec, str]:
    counts: Counter[Label] = Counter()
    for label, weight in zip(known, [1] * len(known) if weights is None else weights.tolist(), strict=True):
        counts[label] += weight
    if not all(isinstance(label, str) for label in counts):
        raise ParameterError(
            f"schema, column {name!r}: its levels are not text, so the rest of them cannot be called "
            f"{FrequentCategories.OTHER!r}: make them strings"
        )
    ranked = sorted(counts, key=lambda label: (-counts[label], label))
    levels = labels_in_order(ranked[:n_levels], column_type.categories)
    if len(ranked) <= n_levels:
        return Categories(levels, missing), _one_level_each(_word(column_type), len(levels))
    if FrequentCategories.OTHER not in levels:
        levels = (*levels, FrequentCategories.OTHER)
    distinct = _count(len(ranked), "distinct value")
    return (
        FrequentCategories(levels, missing),
        f"{_word(column_type)} with {distinct}: one level for each of the {n_levels:,} most frequent, one for the rest",
    )


def _number_categories(
    name: Name, column_type: ColumnType, known: Array, missing: bool, max_levels: int
) -> tuple[Codec, str]:
    levels = np.unique(known)
    if len(levels) > max_levels:
        raise DataError(
            f"column {name!r} has {len(levels):,} distinct values, more than max_levels={max_levels:,}: leave it a "
            f"{_word(column_type)} (take it out of schema), or raise max_levels"
        )
    why = _one_level_each(f"{_word(column_type)} as labels", len(levels))
    return NumberCategories(tuple(levels.tolist()), missing, known.dtype.name), why


def _numbers(
    column_type: ColumnType, known: Array, missing: bool, max_bins: int, asked: Options, weights: Array | None
) -> tuple[Codec, str]:
    distinct, place = np.unique(known, return_inverse=True)
    counts = np.bincount(place, weights)
    max_bins = asked.bins or max_bins
    few = len(distinct) + missing <= max(max_bins, 1 + missing)
    if asked.codec == "Levels" or len(distinct) == 0 or (few and asked.codec is None):
        codec = Levels(tuple(distinct.tolist()), known.dtype.name, missing)
        return codec, _one_level_each(_word(column_type), len(distinct))
    bins = QuantileBins.fit(distinct, max_bins, missing=missing, weights=counts)
    n_bins = _count(bins.n_codes - missing - len(bins.atoms), "quantile bin")
    atoms = f", {_count(len(bins.atoms), 'atom')}" if bins.atoms else ""
    why = f"{_word(column_type)} with {_count(len(distinct), 'distinct value')}: "
    return bins, why + n_bins + _grid(column_type, bins) + atoms


def _one_level_each(word: str, n_levels: int) -> str:
    return (
        f"constant {word}: one level" if n_levels == 1 else f"{word} with {n_levels:,} distinct values: one level each"
    )


def _grid(column_type: ColumnType, codec: QuantileBins) -> str:
    if not codec.scale:
        return ""
    if column_type.kind not in TIMES:
        step = codec.step / codec.scale
        return f" on a grid of {step:,.6f}".rstrip("0").rstrip(".") if step != 1 else " of whole numbers"
    span = codec.step * NANOSECONDS[column_type.unit or "ns"]
    unit = next((u for u in _UNITS if span % NANOSECONDS[u] == 0), "ns")
    count = span // NANOSECONDS[unit]
    return f" on a grid of {_count(count, _UNITS[unit]) if len(unit) == 1 else f'{count:,} {unit}'}"


def _word(column_type: ColumnType) -> str:
    return _WORDS.get(column_type.kind, column_type.kind)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
