"""How fitting and sampling grow with rows, columns, leaves and trees.

    python -m benchmarks.growth           all sizes: less than 20 minutes
    python -m benchmarks.growth --quick   few and small ones: a minute or two
    python -m benchmarks.growth --write   and the table goes into benchmarks/README.md

One JSON object per line and size, at the end a table with the exponents: how steeply seconds rise with size,
both in logarithms.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.data import MissingDataError
from benchmarks.measure import exponent, timed
from benchmarks.tables import circumstances, number, table, write_between_markers
from energyboost import NRGBoost

SAMPLED_ROWS = 2000


@dataclass(frozen=True, slots=True)
class Series:
    """Fits that differ in one size only."""

    name: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    frame: Callable[[int], pd.DataFrame]
    parameters: Callable[[int], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Point:
    """One size of a series, and what it took."""

    series: str
    size: int
    fit_seconds: float
    sample_seconds: float
    settings: dict[str, Any]


SERIES = (
    Series(
        "rows",
        (5000, 16_000, 50_000, 160_000, 500_000),
        (2000, 5000, 12_000),
        data.covertype,
        lambda _: {"n_trees": 20, "max_leaves": 256},
    ),
    Series(
        "columns",
        (10, 25, 50, 100, 197),
        (10, 20, 40),
        lambda n_columns: data.mnist(10_000, n_columns),
        lambda _: {"n_trees": 20, "max_leaves": 256},
    ),
    Series(
        "leaves",
        (64, 256, 1024, 4096, 16_384),
        (64, 256, 1024),
        lambda _: data.covertype(100_000),
        # by the default ratio, trees of this table stop far below the larger sizes
        lambda max_leaves: {"n_trees": 10, "max_leaves": max_leaves, "max_ratio": 8.0},
    ),
    Series(
        "trees",
        (25, 50, 100, 200, 400),
        (5, 10, 20),
        lambda _: data.split(data.california())[0],
        lambda n_trees: {"n_trees": n_trees, "max_leaves": 256},
    ),
)


def points(series: Series, quick: bool, threads: int) -> Iterator[Point]:
    """Measure every size of a series, kernels warm."""
    small = {"n_trees": 5} if quick and series.name != "trees" else {}
    for size in series.quick_sizes if quick else series.sizes:
        frame, parameters = series.frame(size), series.parameters(size) | small
        common = {"random_state": 0, "n_jobs": threads}
        # kernels are made for how large trees are: to be warm, some must be as large
        NRGBoost(**parameters | {"n_trees": 3}, **common).fit(frame).sample(10, random_state=0)
        estimator = NRGBoost(**parameters, **common)
        fit_seconds, model = timed(partial(estimator.fit, frame))
        sample_seconds, _ = timed(partial(model.sample, SAMPLED_ROWS, random_state=0))
        settings = parameters | {
            "rows": len(frame),
            "columns": frame.shape[1],
            "mean_leaves": float(np.mean([record["n_leaves"] for record in model.history_])),
            "sampled_rows": SAMPLED_ROWS,
            "threads": threads,
        }
        yield Point(series.name, size, fit_seconds, sample_seconds, settings)


def exponents(measured: list[Point]) -> dict[str, float]:
    """The exponents of fitting and sampling over all sizes, and between the two largest.

    Over leaves, the size is the mean number of leaves that the trees really have, not the most they may have.
    """
    sizes = [point.settings["mean_leaves"] if point.series == "leaves" else float(point.size) for point in measured]
    seconds = {
        "fit": [point.fit_seconds for point in measured],
        "sample": [point.sample_seconds for point in measured],
    }
    overall = {name: exponent(sizes, values) for name, values in seconds.items()}
    return overall | {f"{name}, two largest": exponent(sizes[-2:], values[-2:]) for name, values in seconds.items()}


def growth_table(measured: dict[str, list[Point]]) -> str:
    """Every size, and below each series its exponents."""
    rows = []
    for name, series in measured.items():
        rows += [
            (
                name,
                f"{p.size:,}",
                number(p.fit_seconds),
                number(p.sample_seconds),
                number(p.settings["mean_leaves"]),
            )
            for p in series
        ]
        found = exponents(series)
        for label, suffix in (("exponent", ""), ("between the two largest", ", two largest")):
            rows.append((name, label, f"{found['fit' + suffix]:.2f}", f"{found['sample' + suffix]:.2f}", ""))
    return table(("over", "size", "fit (s)", f"sample {SAMPLED_ROWS:,} rows (s)", "leaves per tree"), rows)


def main() -> None:
    """Read the command line, measure, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="few and small sizes")
    parser.add_argument("--only", nargs="+", choices=[series.name for series in SERIES], help="these series")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    options = parser.parse_args()
    if options.write and (options.quick or options.only):
        parser.error("--write is for a full run")
    measured: dict[str, list[Point]] = {}
    for series in SERIES:
        if options.only and series.name not in options.only:
            continue
        try:
            for point in points(series, options.quick, options.threads):
                print(json.dumps(asdict(point)), flush=True)
                measured.setdefault(series.name, []).append(point)
        except MissingDataError as missing:
            print(json.dumps({"series": series.name, "skipped": str(missing)}), flush=True)
            continue
        found = {"series": series.name, "exponents": exponents(measured[series.name])}
        print(json.dumps(found), flush=True)
    text = f"{growth_table(measured)}\n\n{circumstances([date.today().isoformat()])}"
    print(f"\n{text}")
    if options.write:
        write_between_markers("growth", text)


if __name__ == "__main__":
    main()
