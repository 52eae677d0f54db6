"""Measure energyboost against the paper author's own package, ``nrgboost``, both sides in one run.

    python -m benchmarks.official                     everything not measured yet: long
    python -m benchmarks.official --quick             a small version of everything: a few minutes
    python -m benchmarks.official --only fit-default  some of it
    python -m benchmarks.official --write             and the table goes into benchmarks/README.md

One JSON object per line and figure, at the end a table.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

from benchmarks import fits, footprint, gibbs, mixing, use
from benchmarks.data import MissingDataError
from benchmarks.records import Record, fingerprint
from benchmarks.session import Session
from benchmarks.tables import circumstances, official_table, write_between_markers

CACHE = Path.home() / ".cache" / "energyboost-benchmarks"

MEASUREMENTS: dict[str, Callable[[Session], list[Record]]] = {
    "gibbs-california": gibbs.california,
    "gibbs-california-2048": gibbs.california_2048,
    "gibbs-mnist": gibbs.mnist,
    "gibbs-adult": gibbs.adult,
    "fit-california": fits.california,
    "fit-california-50": fits.california_50,
    "fit-adult-30": fits.adult_30,
    "fit-california-2048-20": fits.california_2048,
    "fit-default": fits.default,
    "sample-10000": use.sample,
    "predict-california": use.predict,
    "r2-california": fits.r2_california,
    "r2-abalone": fits.r2_abalone,
    "memory-california": footprint.memory,
    "startup": footprint.startup,
    "mixing-california": mixing.california,
    "mixing-adult": mixing.adult,
    "mixing-mnist": mixing.mnist,
    "log-z": mixing.log_z,
    "log-z-bridge": mixing.log_z_bridge,
}


def measure(session: Session, names: list[str]) -> tuple[list[Record], dict[str, str]]:
    """The records of the measurements named, printed as they come, and why some could not be taken."""
    records: list[Record] = []
    skipped: dict[str, str] = {}
    for name in names:
        known = None if session.again else session.results.get(name)
        try:
            found = [Record(**fields) for fields in known] if known else MEASUREMENTS[name](session)
        except MissingDataError as missing:
            skipped[name] = str(missing)
            print(json.dumps({"name": name, "skipped": str(missing)}), flush=True)
            continue
        if fingerprint() != session.sources:  # such a figure is of no known sources: shown, not kept
            changed = {"sources unchanged meanwhile": False}
            found = [replace(record, reached="no", conditions=record.conditions | changed) for record in found]
        elif not known:
            session.results.put(name, [json.loads(record.as_json()) for record in found])
        for record in found:
            print(record.as_json(), flush=True)
        records.extend(found)
    return records, skipped


def main() -> None:
    """Read the command line, measure, print the table."""
    parser = _parser()
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error("--write is for full figures, not for those of --quick")
    folder = options.output / ("quick" if options.quick else "full")
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in MEASUREMENTS if name in (options.only or MEASUREMENTS)]
    with Session(options.quick, options.threads, folder, options.env, options.again) as session:
        records, skipped = measure(session, names)
        versions = session.official(session.threads)("versions")
    days = [record.taken for record in records] or [date.today().isoformat()]
    text = f"{official_table(records, skipped)}\n\n{circumstances(days, versions)}"
    print(f"\n{text}")
    if options.quick:
        print("\nA quick run: these figures say that everything works, not how fast it is.")
    if options.write:
        write_between_markers("official", text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.official",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a small version of everything")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--again", action="store_true", help="measure also what is known already")
    parser.add_argument("--threads", type=int, default=2, help="of fits, samples and predictions, on both sides")
    parser.add_argument("--output", type=Path, default=CACHE, help="where results are kept")
    parser.add_argument("--env", type=Path, default=CACHE / "official", help="the official package's environment")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    return parser


if __name__ == "__main__":
    main()
