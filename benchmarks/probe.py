"""What only a fresh process can tell: memory, and the time until the library is ready.

Prints one JSON object::

    python -m benchmarks.probe import
    python -m benchmarks.probe start --threads 2
    python -m benchmarks.probe memory --threads 2 --trees 200
"""

import argparse
import json
import resource
import sys
import time


def seconds_to_import() -> dict[str, float]:
    """Seconds until the library is imported, and until its estimator is, which may load what the first did not.

    Nothing that they need may be imported before.
    """
    begin = time.perf_counter()
    import energyboost

    bare = time.perf_counter() - begin
    _ = energyboost.NRGBoost
    return {"bare": bare, "estimator": time.perf_counter() - begin}


def first_and_second(threads: int) -> dict[str, float]:
    """Seconds of a first small fit, prediction and sample, and of a second one of each."""
    from benchmarks import data
    from energyboost import NRGBoost

    train, _, test = data.split(data.california().iloc[:3000])

    def round_of_use() -> dict[str, float]:
        marks = [time.perf_counter()]
        model = NRGBoost(n_trees=3, n_jobs=threads, random_state=0).fit(train)
        marks.append(time.perf_counter())
        model.predict(test, "MedHouseVal")
        marks.append(time.perf_counter())
        model.sample(100, random_state=0)
        marks.append(time.perf_counter())
        names = ("fit", "predict", "sample")
        return {name: end - begin for name, begin, end in zip(names, marks, marks[1:], strict=False)}

    first, second = round_of_use(), round_of_use()
    return {name: first[name] - second[name] for name in first}


def memory_of_fit(threads: int, n_trees: int) -> dict[str, float]:
    """Megabytes by which the process's peak rises from imports to a fitted California model."""
    from benchmarks import data
    from energyboost import NRGBoost

    imports = _peak_megabytes()
    train = data.split(data.california())[0]
    table = _peak_megabytes()
    NRGBoost(n_trees=n_trees, n_jobs=threads, random_state=0).fit(train)
    return {"imports": imports, "table": table, "fit": _peak_megabytes()}


def _peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)  # bytes there, kilobytes elsewhere


def main() -> None:
    """Run one probe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("import", "start", "memory"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trees", type=int, default=200)
    options = parser.parse_args()
    if options.what == "import":
        found = seconds_to_import()
    elif options.what == "start":
        found = first_and_second(options.threads)
    else:
        found = memory_of_fit(options.threads, options.trees)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
