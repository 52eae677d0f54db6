"""Markdown tables, and where they are kept: between two markers of a page."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import energyboost
from benchmarks.records import Record

README = Path(__file__).with_name("README.md")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table, its columns aligned so that it also reads as plain text."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    padded = (
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in [lines[0], rule, *lines[1:]]
    )
    return "\n".join(f"| {line} |" for line in padded)


def official_table(records: Sequence[Record], skipped: dict[str, str]) -> str:
    """All measurements, and why some are missing."""
    header = ("measurement", "unit", "ours", "official", "ratio", "at least", "aim", "reached", "besides")
    rows = [
        (
            record.name,
            record.unit,
            number(record.ours),
            number(record.official),
            number(record.ratio),
            number(record.required),
            number(record.aim),
            record.reached,
            "; ".join(
                [f"{name} {number(value)}" for name, value in record.quality.items()]
                + [f"{name}: {'yes' if holds else 'NO'}" for name, holds in record.conditions.items()]
            ),
        )
        for record in records
    ]
    missing = "".join(f"\n\nNot measured: {name}, because {reason}." for name, reason in skipped.items())
    return table(header, rows) + missing


def number(value: Any) -> str:
    """A figure as a person reads it."""
    if isinstance(value, list):
        return " to ".join(map(number, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def circumstances(days: Sequence[str], official: dict[str, str] | None = None) -> str:
    """When, where and with what was measured, in one sentence."""
    packages = {name: version(name) for name in ("numpy", "numba", "scikit-learn")}
    ours = ", ".join(f"{name} {number}" for name, number in packages.items())
    theirs = "; official side: " + ", ".join(f"{n} {v}" for n, v in official.items()) if official else ""
    return (
        f"{' to '.join(dict.fromkeys([min(days), max(days)]))}, {machine()}, Python {platform.python_version()}; "
        f"energyboost {energyboost.__version__}, {ours}{theirs}."
    )


def machine() -> str:
    """The processor and how many of its cores this machine has."""
    cpu_file = Path("/proc/cpuinfo")
    lines = cpu_file.read_text().splitlines() if cpu_file.is_file() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def write_between_markers(name: str, text: str, page: Path = README) -> None:
    """Put ``text`` between the markers of that name in a page, in place of what stood there."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found_begin, rest = page.read_text().partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"{page} has no markers {begin} and {end}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
