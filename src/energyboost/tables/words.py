"""Lists of names in messages."""

import difflib
from collections.abc import Iterable
from typing import Any


def listing(values: Iterable[Any], limit: int) -> str:
    """Write out the first values, and how many there are if these are not all.

    Examples
    --------
    >>> listing(["a", "b", "c"], 2)
    "'a', 'b', ... (3 in all)"
    """
    shown = list(values)
    rest = f", ... ({len(shown):,} in all)" if len(shown) > limit else ""
    return ", ".join(map(repr, shown[:limit])) + rest


def columns(names: Iterable[Any]) -> str:
    """Write "column 'a'" or "columns 'a', 'b'", at most ten of them.

    Examples
    --------
    >>> columns(["a", "b"])
    "columns 'a', 'b'"
    """
    names = list(names)
    return f"column{'s'[: len(names) > 1]} {listing(names, 10)}"


def guess(name: object, names: Iterable[Any]) -> str:
    """Ask whether another name was meant, if one is close; else say nothing.

    Examples
    --------
    >>> guess("cty", ["age", "city"])
    "; did you mean 'city'?"
    """
    spelled = {str(known): known for known in names}
    close = difflib.get_close_matches(str(name), spelled, n=1)
    return f"; did you mean {spelled[close[0]]!r}?" if close else ""
