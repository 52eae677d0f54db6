"""What may be asked for one column of a training table, instead of what inference would choose."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

from energyboost.checks import choice, integer
from energyboost.errors import ParameterError
from energyboost.model.domain import MAX_CODES
from energyboost.tables.codecs import Label
from energyboost.tables.frames import LABELS, ColumnType, Name
from energyboost.tables.words import guess, listing

CodecName = Literal["Categories", "OrderedLevels", "Levels", "QuantileBins"]
LeftOutAs = Literal["id", "drop"]
_OF_LABELS: tuple[CodecName, ...] = ("Categories", "OrderedLevels")
_OF_NUMBERS: tuple[CodecName, ...] = ("Levels", "QuantileBins", "Categories")
_KEYS = ("codec", "bins", "ordered", "levels")
_GOES_WITH = {"bins": "QuantileBins", "ordered": "OrderedLevels", "levels": "Categories"}


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for one column; nothing, unless told.

    Parameters
    ----------
    left_out : {"id", "drop"}, optional
        Whether the model does without the column, whose values are made anew in what comes back ("id") or which does
        not come back ("drop").
    codec : str, optional
        The codec that the column gets.
    bins : int, optional
        Its own `max_bins`.
    order : tuple, optional
        The order of its levels.
    levels : int, optional
        How many of its levels are kept; the others become one.
    """

    left_out: LeftOutAs | None = None
    codec: CodecName | None = None
    bins: int | None = None
    order: tuple[Label, ...] | None = None
    levels: int | None = None

    @classmethod
    def parse(cls, name: Name, asked: Any) -> "Options":
        """Check what was asked for one column, whatever its type.

        Examples
        --------
        >>> options = Options.parse("size", {"ordered": ["S", "L"]})
        >>> options.codec, options.order
        ('OrderedLevels', ('S', 'L'))
        """
        column = f"schema, column {name!r}"
        if isinstance(asked, str) and asked in get_args(LeftOutAs):
            return cls(left_out=asked)  # type: ignore[arg-type]
        if isinstance(asked, str) and asked == "category":
            return cls(codec="Categories")
        if not isinstance(asked, Mapping) or not asked or not set(asked) <= set(_KEYS):
            raise ParameterError(
                f"{column}: what can be asked for is 'drop', 'id', 'category' or a dict with 'codec', 'bins', "
                f"'ordered' or 'levels'; got {asked!r}"
            )
        codec, bins, ordered, levels = (asked.get(key) for key in _KEYS)
        if codec is not None:
            choice(f"{column}: codec", codec, get_args(CodecName))
        if bins is not None:
            bins = integer(f"{column}: bins", bins, 2, MAX_CODES - 1)
        if levels is not None:
            levels = integer(f"{column}: levels", levels, 1, MAX_CODES - 2)
        order = None if ordered is None or ordered is True else _order(column, ordered)
        wanted = [key for key in _GOES_WITH if asked.get(key) is not None]
        if len(wanted) > 1 or (wanted and codec not in (None, _GOES_WITH[wanted[0]])):
            raise ParameterError(f"{column}: {' and '.join(map(repr, asked))} contradict each other: keep one of them")
        if wanted and wanted != ["bins"]:  # with few distinct values, bins leave the choice
            codec = _GOES_WITH[wanted[0]]
        return cls(codec=codec, bins=bins, order=order, levels=levels)

    @property
    def any(self) -> bool:
        """Whether anything was asked for."""
        return self != Options()

    def check(self, name: Name, column_type: ColumnType) -> None:
        """Refuse what a column of this type cannot have."""
        labels, text = column_type.kind in LABELS, column_type.kind in ("string", "category")
        codecs = _OF_LABELS if labels else _OF_NUMBERS
        if self.levels is not None and not text:
            problem = f"levels={self.levels}"
        elif self.codec is not None and self.codec not in codecs:
            problem = f"codec {self.codec!r}"
        elif self.bins is not None and labels:
            problem = f"bins={self.bins}"
        else:
            return
        also = ("'ordered', 'levels'" if text else "'ordered'") if labels else "'bins'"
        raise ParameterError(
            f"schema, column {name!r}: a {column_type.kind} ({column_type}) cannot have {problem}; possible are "
            f"{also}, codec {' or '.join(map(repr, codecs))}, 'id' and 'drop'"
        )


def parse_overrides(
    names: Sequence[Name], kind: str, ids: Collection[Any] | None, overrides: Mapping[Any, Any] | None
) -> dict[Name, Options]:
    """Return what was asked for the columns of a table, by their names.

    Examples
    --------
    >>> found = parse_overrides(["a", "b", "c"], "pandas", ["b"], {"a": {"bins": 64}})
    >>> found["a"].bins, found["b"].left_out
    (64, 'id')
    """
    if ids is not None and (isinstance(ids, str) or not isinstance(ids, Collection)):
        raise ParameterError(f"ids is a list of column names; got {ids!r}")
    if overrides is not None and not isinstance(overrides, Mapping):
        raise ParameterError(
            "schema is a dict from column names to what is asked for them, such as {'city': {'levels': 20}}; "
            f"got {overrides!r}"
        )
    found: dict[Name, Options] = {}
    for asked_name, asked in ({} if overrides is None else overrides).items():
        name = _known("schema", asked_name, names, kind)
        if name in found:
            raise ParameterError(f"schema names column {name!r} twice: keep one of them")
        found[name] = Options.parse(name, asked)
        if found[name].left_out == "drop" and kind == "numpy":
            raise ParameterError(
                f"schema, column {name!r}: columns of an array are known by their position, so none can be dropped "
                f"from what comes back; drop it before, numpy.delete(table, {names.index(name)}, axis=1)"
            )
    for asked_name in () if ids is None else ids:
        name = _known("ids", asked_name, names, kind)
        if found.setdefault(name, Options("id")) != Options("id"):
            raise ParameterError(f"column {name!r} is among the ids, and schema asks something else for it: keep one")
    return found


def _known(parameter: str, name: Any, names: Sequence[Name], kind: str) -> Name:
    """Return the name as the table has it; columns of an array may be named by their position."""
    if isinstance(name, str | Integral) and not isinstance(name, bool):
        if name in names:
            return names[names.index(name)]
        if kind == "numpy" and isinstance(name, Integral) and -len(names) <= int(name) < len(names):
            return names[int(name)]
    raise ParameterError(
        f"{parameter} names a column {name!r} that the table lacks; it has {listing(names, 20)}{guess(name, names)}"
    )


def _order(column: str, ordered: Any) -> tuple[Label, ...]:
    is_list = isinstance(ordered, Sequence) and not isinstance(ordered, str) and len(ordered) > 0
    if not is_list or not all(isinstance(x, Label) for x in ordered) or len(set(ordered)) < len(ordered):
        raise ParameterError(
            f"{column}: ordered is True (sorted, or as declared), or the list of its levels, the lowest first and each "
            f"once; got {ordered!r}"
        )
    return tuple(ordered)
