"""What was measured: one record per figure, and the file that keeps them between runs."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import energyboost


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure to reach, and a better one to aim at; which way is better follows from the two."""

    required: float
    aim: float

    def reached(self, value: float) -> str:
        """Which of the two ``value`` reaches: "aim", "required" or "no"."""
        sign = 1 if self.aim >= self.required else -1
        if sign * value >= sign * self.aim:
            return "aim"
        return "required" if sign * value >= sign * self.required else "no"


@dataclass(frozen=True, slots=True)
class Record:
    """One figure, as it is printed and kept.

    ``ratio`` is official over ours, where the official package has the same figure; otherwise the goal is about
    ``ours`` itself. ``conditions`` must all hold besides.
    """

    name: str
    unit: str
    ours: float
    official: float | None
    ratio: float | None
    required: float
    aim: float
    reached: str
    settings: dict[str, Any]
    quality: dict[str, Any] = field(default_factory=dict)
    conditions: dict[str, bool] = field(default_factory=dict)
    taken: str = field(default_factory=lambda: date.today().isoformat())

    def as_json(self) -> str:
        """The record on one line."""
        return json.dumps(asdict(self), ensure_ascii=False)


def judged(
    name: str,
    unit: str,
    goal: Goal,
    *,
    ours: float,
    official: float | None = None,
    settings: dict[str, Any],
    quality: dict[str, Any] | None = None,
    conditions: dict[str, bool] | None = None,
) -> Record:
    """A record of a ratio to the official package, or of a figure of ours alone, held against its goal."""
    ratio = None if official is None else official / ours
    conditions = conditions or {}
    reached = goal.reached(ours if ratio is None else ratio) if all(conditions.values()) else "no"
    return Record(
        name, unit, ours, official, ratio, goal.required, goal.aim, reached,
        settings, quality or {}, conditions,
    )  # fmt: skip


def fingerprint() -> str:
    """A hash of the library's sources: figures are of exactly these."""
    package = Path(energyboost.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Store:
    """A JSON file of results by name; an entry holds only for the ``stamp`` it was made under."""

    def __init__(self, path: Path, stamp: str) -> None:
        self._path = path
        self._stamp = stamp
        path.parent.mkdir(parents=True, exist_ok=True)

    def get(self, name: str) -> Any | None:
        """The entry of that name, if there is a valid one."""
        entry = self._read().get(name)
        return entry["content"] if entry and entry["stamp"] == self._stamp else None

    def put(self, name: str, content: Any) -> None:
        """Keep an entry; a file half written is never left behind."""
        entries = self._read() | {name: {"stamp": self._stamp, "content": content}}
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps(entries, indent=1, ensure_ascii=False))
        partial.replace(self._path)

    def _read(self) -> dict[str, Any]:
        return json.loads(self._path.read_text()) if self._path.is_file() else {}
