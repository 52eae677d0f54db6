"""One run of the measurements: its sizes, its folders, its workers, and the official fits it has at hand."""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.frames import read_frame, write_frame
from benchmarks.official_side import REQUIREMENTS, OfficialWorker, python_of
from benchmarks.records import Store, fingerprint
from benchmarks.tables import machine


@dataclass(frozen=True, slots=True)
class OfficialFit:
    """A fit of the official package: what it took, and where the model is."""

    seconds: float
    compile_seconds: float
    reused: bool  # measured in an earlier run
    model: str


@dataclass(slots=True)
class Session:
    """What measurements share. ``quick`` makes all small: it shows that things work, not how fast."""

    quick: bool
    threads: int
    output: Path
    environment: Path
    again: bool = False
    sources: str = field(init=False, default_factory=fingerprint)
    results: Store = field(init=False)
    _fits: Store = field(init=False)
    _workers: dict[int, OfficialWorker] = field(init=False, default_factory=dict)
    _exchange: TemporaryDirectory[str] = field(init=False, default_factory=TemporaryDirectory)
    _exchanged: int = field(init=False, default=0)
    _fitted: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        where = f"{self.threads} threads, {machine()}"
        self.results = Store(self.output / "results.json", f"sources {self.sources}, {where}")
        self._fits = Store(self.output / "official_fits.json", f"{REQUIREMENTS[0]}, {where}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()
        self._exchange.cleanup()

    def size(self, full: int, quick: int) -> int:
        """A number of trees, sweeps, rows, ...: of a full run or of a quick one."""
        return quick if self.quick else full

    def official(self, threads: int) -> OfficialWorker:
        """The official package's process with that many threads, kept warm."""
        if threads not in self._workers:
            log = self.output / f"official_worker_{threads}.log"
            self._workers[threads] = OfficialWorker(python_of(self.environment), threads, log)
        return self._workers[threads]

    def file(self, suffix: str) -> Path:
        """A new file for exchange with a worker."""
        self._exchanged += 1
        return Path(self._exchange.name) / f"{self._exchanged}{suffix}"

    def sent(self, frame: pd.DataFrame) -> Path:
        """The file that a worker finds ``frame`` in."""
        path = self.file(".npz")
        write_frame(path, frame)
        return path

    def official_fit(self, name: str, frame: pd.DataFrame, params: dict[str, Any]) -> OfficialFit:
        """Fit with the official package, or take up such a fit: it is long, so it is kept between runs."""
        in_this_run = name in self._fitted
        asked: dict[str, Any] = {"params": params, "rows": len(frame), "model": str(self.output / f"{name}.official")}
        fit = self._fits.get(name) if in_this_run or not self.again else None
        if not fit or {key: fit[key] for key in asked} != asked or not Path(asked["model"]).is_file():
            request = {"params": params | {"num_threads": self.threads}, "seed": 0, "model": asked["model"]}
            fit = asked | self.official(self.threads)("fit", frame=self.sent(frame), **request)
            self._fits.put(name, fit)
            self._fitted.add(name)
            in_this_run = True
        return OfficialFit(fit["seconds"], fit["compile_seconds"], not in_this_run, fit["model"])

    def official_stages(self, fit: OfficialFit, frame: pd.DataFrame, target: str) -> npt.NDArray[np.float64]:
        """Predictions of an official model after 1, 2, ... trees."""
        worker, out = self.official(self.threads), self.file(".npy")
        worker("load", model=fit.model)
        worker("staged_predict", frame=self.sent(frame), target=target, out=out)
        stages: npt.NDArray[np.float64] = np.load(out)
        return stages

    def official_sample(self, fit: OfficialFit, n: int, n_sweeps: int) -> tuple[float, pd.DataFrame]:
        """Seconds that an official model takes to draw rows, and the rows."""
        worker, out = self.official(self.threads), self.file(".npz")
        worker("load", model=fit.model)
        draw = {"threads": self.threads, "seed": 0, "out": out}
        worker("sample", n=self.threads, n_sweeps=2, **draw)  # warms
        seconds = worker("sample", n=n, n_sweeps=n_sweeps, **draw)["seconds"]
        return seconds, read_frame(out)
