"""Ways to move chains, compared: autocorrelation of the slowest columns, in sweeps and in seconds.

    python -m benchmarks.samplers [--only california ...] [--quick] [--write]

Single columns; pairs drawn jointly; tempering along the rounds of boosting; blocks of columns proposed from a density
tree and accepted by Metropolis and Hastings. One model per table; every way starts from rows of its pool. Prints one
JSON object per way and table, and a table, which ``--write`` puts into docs/decisions.md.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import data
from benchmarks.measure import timed
from benchmarks.tables import circumstances, table, write_between_markers
from energyboost import NRGBoost
from energyboost.fitting.config import BoostingConfig
from energyboost.fitting.grow import Rows, grow_tree
from energyboost.kernels.grow import Reference
from energyboost.model.baseline import Baseline
from energyboost.model.domain import Domain
from energyboost.model.energy import Codes, Energy, columns_of
from energyboost.sampling.boosted import Boosted
from energyboost.sampling.diagnostics import measure_mixing
from energyboost.sampling.gibbs import sweep
from energyboost.sampling.moves import SINGLE, Moves
from energyboost.sampling.pool import draw_first

N_CHAINS = 64
TABLES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "california": (lambda: data.split(data.california())[0], {"n_trees": 200}),
    "adult": (data.adult_train, {"n_trees": 200}),
    "mnist": (lambda: data.mnist(10_000), {"n_trees": 50}),
}
States = npt.NDArray[Any]
Way = Callable[[Boosted, Codes, int], States]


def gibbs(moves_of: Callable[[Boosted], Moves]) -> Way:
    """Sweeps, with some pairs."""

    def run(density: Boosted, rows: Codes, n: int) -> States:
        return sweep(density.energy, rows, n, np.random.SeedSequence(1), moves=moves_of(density), n_kept=n)

    return run


def tempered(n_levels: int, with_pairs: bool) -> Way:
    """A ladder of models of fewer and fewer trees, down to the first alone, which is drawn exactly; neighbours swap."""

    def run(density: Boosted, rows: Codes, n: int) -> States:
        energy, moves, rng = density.energy, density.moves if with_pairs else SINGLE, np.random.default_rng(1)
        trees = np.unique(np.round(np.geomspace(1, energy.n_trees, n_levels)).astype(int))
        ladder = [draw_first(energy, len(rows), rng) for _ in trees[:-1]] + [rows]
        for level, t in enumerate(trees[:-1]):
            sweep(energy, ladder[level], 20, np.random.SeedSequence([2, level]), n_trees=int(t), moves=moves)
        out = np.empty((len(rows), n, rows.shape[1]), rows.dtype)
        for k in range(n):
            ladder[0] = draw_first(energy, len(rows), rng)
            for level, t in enumerate(trees[1:], 1):
                sweep(energy, ladder[level], 1, np.random.SeedSequence([1, k, level]), n_trees=int(t), moves=moves)
            for level in range(k % 2, len(trees) - 1, 2):
                low, high = ladder[level], ladder[level + 1]
                gain = sum(
                    sign * energy.score(x, int(t))
                    for x, sign in ((low, 1), (high, -1))
                    for t, sign in ((trees[level + 1], sign), (trees[level], -sign))
                )
                swap = np.log(rng.random(len(rows))) < gain
                low[swap], high[swap] = high[swap].copy(), low[swap].copy()
            out[:, k] = ladder[-1]
        return out

    return run


def blocks(size: int, with_pairs: bool) -> Way:
    """After each sweep, a block of columns proposed from a density tree of these columns."""

    def run(density: Boosted, rows: Codes, n: int) -> States:
        energy, moves, rng = density.energy, density.moves if with_pairs else SINGLE, np.random.default_rng(1)
        columns = _slowest(density, size)
        proposal = density_tree(density.pool[:, columns], _part(energy.domain, columns))
        out = np.empty((len(rows), n, rows.shape[1]), rows.dtype)
        for k in range(n):
            sweep(energy, rows, 1, np.random.SeedSequence([1, k]), moves=moves)
            proposed = rows.copy()
            proposed[:, columns] = draw_first(proposal, len(rows), rng)
            gain = energy.score(proposed) - energy.score(rows)
            gain += proposal.score(rows[:, columns]) - proposal.score(proposed[:, columns])
            accepted = np.log(rng.random(len(rows))) < gain
            rows[accepted] = proposed[accepted]
            out[:, k] = rows
        return out

    return run


def density_tree(codes: Codes, domain: Domain) -> Energy:
    """A tree whose leaves have the density of the rows, relative to the product of their columns."""
    baseline = Baseline.fit(columns_of(domain), codes, 0.05)
    energy, config = Energy(domain, baseline), BoostingConfig(max_leaves=4096, max_ratio=1e9)
    grown = grow_tree(
        energy.columns, Rows(np.ascontiguousarray(codes)), Reference(codes[:0], baseline.probability), config,
        np.random.SeedSequence(0),
    )  # fmt: skip
    energy.add(grown.tree.with_values(np.log((0.95 * grown.p + 0.05 * grown.q) / grown.q)))
    return energy


def _part(domain: Domain, columns: npt.NDArray[np.int64]) -> Domain:
    return Domain(tuple(domain.sizes[j] for j in columns), tuple(domain.ordered[j] for j in columns))


def _slowest(density: Boosted, size: int) -> npt.NDArray[np.int64]:
    rows = density.pool[:N_CHAINS].copy()
    states = sweep(density.energy, rows, 200, np.random.SeedSequence(0), moves=density.moves, n_kept=200)
    return np.sort(np.argsort(-measure_mixing(states, density.energy.domain).iat, kind="stable")[:size])


def _always(moves: Moves) -> Moves:
    n = len(moves.pairs)
    return replace(moves, cells=(1,) * n, cells_per_tree=(0,) * n, weights=(1.0,) * n)


WAYS: dict[str, Way] = {
    "single columns": gibbs(lambda density: SINGLE),
    "pairs (default)": gibbs(lambda density: density.moves),
    "pairs, all after every sweep": gibbs(lambda density: _always(density.moves)),
    "tempering, 8 models, single": tempered(8, with_pairs=False),
    "tempering, 8 models, pairs": tempered(8, with_pairs=True),
    "tempering, 24 models, pairs": tempered(24, with_pairs=True),
    "blocks of 3, pairs": blocks(3, with_pairs=True),
    "blocks of 5, pairs": blocks(5, with_pairs=True),
}


def main() -> None:
    """Read the command line, measure, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.samplers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into docs/decisions.md")
    options = parser.parse_args()
    lines = []
    for name in options.only:
        load, parameters = TABLES[name]
        frame = load()
        model = NRGBoost(**parameters | ({"n_trees": 10} if options.quick else {}), random_state=0).fit(frame)
        density = model.density_.model
        n = 30 if options.quick else 200 if name == "mnist" else 1000
        for way, run in WAYS.items():
            starts = density.pool[np.random.default_rng(0).permutation(len(density.pool))[:N_CHAINS]]
            run(density, starts.copy(), 2)  # warms
            seconds, states = timed(partial(run, density, starts.copy(), n))
            mixing = measure_mixing(states, density.energy.domain)
            worst = np.argsort(-mixing.iat, kind="stable")[:3]
            milliseconds = 1000 * seconds / (n * N_CHAINS)
            record = {
                "table": name,
                "way": way,
                "slowest": {str(model.schema_.names[j]): round(float(mixing.iat[j]), 1) for j in worst},
                "ms per sweep": milliseconds,
                "ms per independent row": milliseconds * float(mixing.iat.max()),
            }
            if name == "mnist":
                record["changed digit"] = float((states[:, min(n, 100) - 1, 0] != starts[:, 0]).mean())
            print(json.dumps(record), flush=True)
            slowest = ", ".join(f"{column} {iat:g}" for column, iat in record["slowest"].items())
            lines.append((name, way, slowest, f"{milliseconds:.3g}", f"{record['ms per independent row']:.3g}"))
    header = ("table", "way", "IAT of the slowest columns, in sweeps", "ms per sweep", "ms per independent row")
    text = f"{table(header, lines)}\n\n{N_CHAINS} chains, one thread; {circumstances([date.today().isoformat()])}"
    print(text)
    if options.write:
        write_between_markers("samplers", text, data.REPOSITORY / "docs" / "decisions.md")


if __name__ == "__main__":
    main()
