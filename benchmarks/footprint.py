"""Memory of a fit, and the waits before the first result: measured in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import energyboost
from benchmarks import data
from benchmarks.measure import median, spread
from benchmarks.records import Goal, Record, judged
from benchmarks.session import Session

# On Linux a process's peak begins with that of the process it was started from. This one is small.
STARTER = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"


def memory(session: Session) -> list[Record]:
    """Peak memory of the California fit with our defaults, above that of the imports."""
    data.california()  # without the table there is nothing to start a process for
    n_trees = session.size(200, 4)
    _probe("memory", threads=session.threads, trees=2)  # compiles, if the cache is cold
    peaks = _probe("memory", threads=session.threads, trees=n_trees)
    return [
        judged(
            "memory-california", "MB", Goal(400, 150),
            ours=peaks["fit"] - peaks["imports"],
            settings={"n_trees": n_trees, "threads": session.threads},
            quality={"imports (MB)": peaks["imports"], "table (MB)": peaks["table"] - peaks["imports"]},
        )
    ]  # fmt: skip


def startup(session: Session) -> list[Record]:
    """The import, the very first fit's compilation, and what every later process pays at its first fit."""
    data.california()
    threads, repeats = session.threads, session.size(5, 1)
    settings = {"threads": threads, "repeats": repeats}
    imports = [_probe("import") for _ in range(repeats)]
    estimators = [figures["estimator"] for figures in imports]
    with TemporaryDirectory() as folder:
        cold = _probe("start", threads=threads, cache=Path(folder))
        warm = [_probe("start", threads=threads, cache=Path(folder)) for _ in range(repeats)]
    later = [figures["fit"] for figures in warm]
    return [
        judged(
            "startup-import", "s", Goal(1, 0.5),
            ours=median(estimators), settings=settings,
            quality={
                "range": spread(estimators),
                "of which `import energyboost` alone (s)": median([figures["bare"] for figures in imports]),
            },
        ),
        judged(
            "startup-compile", "s", Goal(30, 15),
            ours=cold["fit"],
            settings={"threads": threads, "repeats": 1},
            quality={
                "first predict besides (s)": cold["predict"],
                "first sample besides (s)": cold["sample"],
            },
        ),
        judged(
            "startup-later", "s", Goal(2, 1),
            ours=median(later), settings=settings,
            quality={
                "range": spread(later),
                "first predict besides (s)": median([figures["predict"] for figures in warm]),
                "first sample besides (s)": median([figures["sample"] for figures in warm]),
            },
        ),
    ]  # fmt: skip


def _probe(what: str, *, threads: int = 1, trees: int = 1, cache: Path | None = None) -> dict[str, float]:
    """What a fresh process finds, with the library taken from where it is here."""
    library = str(Path(energyboost.__file__).parent.parent)
    paths = os.pathsep.join([library, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths} | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    arguments = [what, "--threads", str(threads), "--trees", str(trees)]
    run = subprocess.run(
        [sys.executable, "-c", STARTER, sys.executable, "-m", "benchmarks.probe", *arguments],
        cwd=data.REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(run.stdout)
    return found
