"""Which codec a column gets, and why."""

import numpy as np

from energyboost.errors import DataError
from energyboost.tables.codecs import Categories, Cells, Codec, OrderedLevels, labels_in_order
from energyboost.tables.frames import LABELS, NANOSECONDS, TIMES, ColumnType, Name
from energyboost.tables.numeric import Levels, QuantileBins

# Text with more levels than this, most of them on one or two rows, is refused as an id or free text.
MANY_LEVELS = 50

_WORDS = {"string": "text", "number": "number"}
_UNITS = {"D": "day", "h": "hour", "m": "minute", "s": "second", "ms": "ms", "us": "us", "ns": "ns"}


def choose_codec(
    name: Name, column_type: ColumnType, cells: Cells, *, max_bins: int = 255, max_levels: int = 1000
) -> tuple[Codec, str]:
    """Choose the codec of a column from its training cells, and say why in one sentence.

    Examples
    --------
    >>> cells = Cells(np.array([3, 1, 3]), np.zeros(3, bool))
    >>> choose_codec("age", ColumnType("number", "int64"), cells)
    (Levels(values=(1, 3), dtype='int64', missing=False), 'number with 2 distinct values: one level each')
    """
    known = cells.values[~cells.missing]
    missing = bool(cells.missing.any())
    if column_type.kind in LABELS:
        codec, why = _labels(name, column_type, known.tolist(), missing, max_levels)
    else:
        codec, why = _numbers(column_type, known, missing, max_bins)
    if len(known) == 0:
        return codec, f"{_word(column_type)} with no values: every cell is missing"
    return codec, why + (", and one for missing" if missing else "")


def _labels(
    name: Name, column_type: ColumnType, known: list[object], missing: bool, max_levels: int
) -> tuple[Codec, str]:
    levels = labels_in_order(known, column_type.categories)
    if len(levels) > max_levels:
        raise DataError(
            f"column {name!r} has {len(levels):,} distinct levels, more than max_levels={max_levels:,}: "
            "if it is an id or free text, drop it; otherwise keep its most frequent levels and call the "
            "rest 'other', or raise max_levels"
        )
    if column_type.kind == "string" and len(levels) > MANY_LEVELS and 2 * len(levels) > len(known):
        raise DataError(
            f"column {name!r} has {len(levels):,} distinct texts in {len(known):,} rows: it looks like an id or free "
            "text, of which nothing can be learned; drop it, or make it a category if it is none"
        )
    word = "ordered category" if column_type.ordered else _word(column_type)
    make = OrderedLevels if column_type.ordered else Categories
    return make(levels, missing), f"{word} with {_count(len(levels), 'distinct value')}: one level each"


def _numbers(column_type: ColumnType, known: np.ndarray, missing: bool, max_bins: int) -> tuple[Codec, str]:
    distinct, counts = np.unique(known, return_counts=True)
    why = f"{_word(column_type)} with {_count(len(distinct), 'distinct value')}: "
    if len(distinct) + missing <= max(max_bins, 1 + missing):
        return Levels(tuple(distinct.tolist()), known.dtype.name, missing), why + "one level each"
    codec = QuantileBins.fit(distinct, max_bins, missing=missing, weights=counts)
    bins = _count(codec.n_codes - missing - len(codec.atoms), "quantile bin")
    atoms = f", {_count(len(codec.atoms), 'atom')}" if codec.atoms else ""
    return codec, why + bins + _grid(column_type, codec) + atoms


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
