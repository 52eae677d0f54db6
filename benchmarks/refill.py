"""How the pool is refilled: test score and seconds of persistent chains against chains restarted from training rows.

    python -m benchmarks.refill [--trees 200] [--seeds 3] [--only california ...] [--write]

Prints one JSON object per fit and a table of means, which ``--write`` puts into docs/decisions.md. Splits and scores
are those of the other benchmarks; the number of trees is chosen on the validation rows.
"""

import argparse
import json
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

from benchmarks import data
from benchmarks.measure import timed
from benchmarks.tables import circumstances, table, write_between_markers
from energyboost import NRGBoost

WAYS: dict[str, dict[str, Any]] = {
    "persistent, pool auto (default)": {},
    "persistent, pool 80,000": {"pool_size": 80_000},
    "restart, pool auto": {"refill": "restart"},
    "restart, pool 80,000 (paper)": {"refill": "restart", "pool_size": 80_000},
}
TASKS: dict[str, dict[str, Any]] = {
    "california": {"max_leaves": 256, "learning_rate": 0.15},
    "abalone": {"max_leaves": 64, "learning_rate": 0.1},
    "adult": {"max_leaves": 256, "learning_rate": 0.15},
    "covertype": {"max_leaves": 256, "learning_rate": 0.15},
}


def load(task: str) -> tuple[Any, Any, Any, str]:
    """Training, validation and test rows of a table, and the column that is scored."""
    if task == "adult":
        rest, validation, _ = data.split(data.adult_train())
        return rest, validation, data.adult_test(), "income"
    if task == "covertype":
        return *data.split(data.covertype(50_000)), "Cover_Type"
    frame, target = {"california": (data.california, "MedHouseVal"), "abalone": (data.abalone, "rings")}[task]
    return *data.split(frame()), target


def stage_scores(model: NRGBoost, frame: Any, target: str, stages: Sequence[int]) -> list[float]:
    """R² of a number, AUC of a label with two levels, accuracy of one with more, after each number of trees."""
    truth = frame[target]
    if truth.dtype.kind in "fiu":
        return [float(r2_score(truth, guess)) for guess in model.staged_predict(frame, target, stages=stages)]
    if len(model.levels(target)) > 2:
        return [float(np.mean(truth == guess)) for guess in model.staged_predict(frame, target, stages=stages)]
    positive = model.levels(target)[1]
    staged = model.staged_predict_proba(frame, target, stages=stages)
    return [float(roc_auc_score(truth == positive, probability[:, 1])) for probability in staged]


def main() -> None:
    """Run all fits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(TASKS))
    parser.add_argument("--write", action="store_true", help="put the table into docs/decisions.md")
    options = parser.parse_args()
    rows = []
    for task in options.only:
        train, validation, test, target = load(task)
        NRGBoost(n_trees=3, pool_size=2_000, random_state=0, **TASKS[task] | {"max_leaves": 8}).fit(train[:2_000])
        for way, settings in WAYS.items():
            scores, seconds = [], []
            for seed in range(options.seeds):
                model = NRGBoost(n_trees=options.trees, random_state=seed, **TASKS[task], **settings)
                seconds.append(timed(partial(model.fit, train))[0])
                stages = range(5, model.n_trees_ + 1, 5)
                best = stages[int(np.argmax(stage_scores(model, validation, target, stages)))]
                scores.append(stage_scores(model, test, target, [best])[0])
                record = {"table": task, "way": way, "seed": seed, "trees": best, "score": scores[-1]}
                print(json.dumps(record | {"seconds": round(seconds[-1], 1)}), flush=True)
            spread = f"{np.mean(scores):.4f} ({min(scores):.4f} to {max(scores):.4f})"
            rows.append((task, way, spread, f"{np.mean(seconds):.1f}"))
    text = table(("table", "refill", "test score, mean (range)", "fit seconds"), rows)
    text += f"\n\n{options.seeds} seeds, {options.trees} trees; {circumstances([date.today().isoformat()])}"
    print(text)
    if options.write:
        write_between_markers("refill", text, data.REPOSITORY / "docs" / "decisions.md")


if __name__ == "__main__":
    main()
