"""The command line. A command is a function below with ``@app.command()``; `main` turns refusals into one line."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from energyboost import __version__

if TYPE_CHECKING:
    import pandas as pd

    from energyboost import NRGBoost

NEEDS = "energyboost: the command line needs {}; run: pip install 'energyboost[app]'"

try:
    import typer
except ModuleNotFoundError as error:
    sys.exit(NEEDS.format(error.name))

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def main() -> int:
    """Run a command and return its exit code, or leave with code 1 and one line that says what is wrong."""
    try:
        return int(app(standalone_mode=False) or 0)
    except ModuleNotFoundError as error:
        sys.exit(NEEDS.format(error.name))
    except typer.TyperException as error:
        message = error.format_message()
    except (ValueError, OSError) as error:
        message = str(error)
    sys.exit("energyboost: " + " ".join(message.split()))


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    """One model of a whole table: boosted trees on its joint density."""
    if version:
        typer.echo(f"energyboost {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(),
    rows: Annotated[int, typer.Option(min=1, help="Synthetic rows to write.")] = 4177,
    trees: Annotated[int, typer.Option(min=1, help="Rounds of boosting.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same results.")] = 0,
) -> None:
    """Fit a model of 4,177 abalones, show what it learned, and write synthetic ones (CSV and PNG)."""
    import pandas as pd

    from energyboost import NRGBoost

    output.mkdir(parents=True, exist_ok=True)
    table = pd.read_csv(_example("abalone.csv.gz")).sample(frac=1, random_state=seed)
    test, train = table[: len(table) // 5], table[len(table) // 5 :]
    typer.echo(
        f"energyboost {__version__}: one model of all columns of Abalone ({len(table):,} rows; UCI, CC BY 4.0).\n"
        "Compiling, which takes up to a minute on the first run only ..."
    )
    model = NRGBoost(n_trees=trees, max_leaves=64, verbose=True, random_state=seed)
    NRGBoost(n_trees=2, max_leaves=model.max_leaves).fit(train[:100])

    began = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - began
    typer.echo(
        f"Fitted {model.n_trees_} trees of up to {model.max_leaves} leaves to {len(train):,} rows in {seconds:.1f} s.\n"
        f"The other {len(test)} rows are held out, and all figures below are about them.\n\n"
        f"What became of each column:\n{model.schema_}\n"
    )
    _show_predictions(model, test, seed)
    _show_densities(model, test)
    synthetic = model.sample(max(rows, len(test)), random_state=seed)
    typer.echo(
        f"A classifier tells synthetic rows from real ones with an AUC of {_auc(test, synthetic, seed):.3f} "
        "(0.5: it cannot; 1: always).\n"
    )
    _write(output, test, synthetic[:rows])


def _example(name: str) -> Path:
    """Return where an example table is: inside an installed package, else in the working copy."""
    here = Path(__file__).parent
    inside = here / "examples" / name
    return inside if inside.exists() else here.parents[1] / "examples" / name


def _show_predictions(model: "NRGBoost", test: "pd.DataFrame", seed: int) -> None:
    import pandas as pd
    from sklearn.metrics import accuracy_score, r2_score

    rings, sex = model.predict(test, "rings"), model.predict(test, "sex")
    sure = model.predict_proba(test, "sex").max(axis=1)
    shown = pd.DataFrame(
        {
            "rings": test["rings"],
            "predicted": rings.round(1),
            "sex": test["sex"],
            "predicted ": sex,
            "probability": sure.round(2),
        }
    )
    share = test["sex"].value_counts(normalize=True).max()
    typer.echo(
        "Any column can be predicted from the others:\n"
        f"  rings: R2 {r2_score(test['rings'], rings):.3f} (1: exactly; 0: no better than their mean)\n"
        f"  sex: accuracy {accuracy_score(test['sex'], sex):.3f} (always the most frequent one: {share:.3f})\n"
        f"{_indented(shown.sample(5, random_state=seed))}\n"
    )


def _show_densities(model: "NRGBoost", test: "pd.DataFrame") -> None:
    fitted, without = model.score(test), model.score_samples(test, n_trees=0).mean()
    energy = model.score_samples(test, normalize=False)
    odd = test.assign(energy=energy.round(1)).iloc[energy.argsort()[:3]]
    typer.echo(
        "Every row has a log-density:\n"
        f"  mean {fitted:.2f}; before the first tree, columns taken as independent: {without:.2f}\n"
        f"  the oddest rows, by energy, in which widths of bins do not count (mean {energy.mean():.1f}):\n"
        f"{_indented(odd)}\n"
    )


def _auc(real: "pd.DataFrame", synthetic: "pd.DataFrame", seed: int) -> float:
    """AUC of a classifier between real rows and as many synthetic ones, cross-validated."""
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score
    from threadpoolctl import threadpool_limits

    both = pd.concat([real, synthetic[: len(real)]], ignore_index=True).astype({"sex": "category"})
    classifier = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)
    is_synthetic = np.arange(len(both)) >= len(real)
    with threadpool_limits(1, "openmp"):  # on a busy machine, OpenMP's threads wait for each other most of the time
        return float(cross_val_score(classifier, both, is_synthetic, scoring="roc_auc", cv=5).mean())


def _write(output: Path, real: "pd.DataFrame", synthetic: "pd.DataFrame") -> None:
    from matplotlib.figure import Figure

    from energyboost.plots import marginals, pairs

    rows, picture = output / "abalone-synthetic.csv", output / "abalone-synthetic.png"
    synthetic.to_csv(rows, index=False)
    figure = Figure(figsize=(10, 10.5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[3, 1.2])  # type: ignore[misc]
    marginals(real, synthetic, axes=above.subplots(3, 3))
    chosen = [("length", "whole_weight"), ("whole_weight", "shucked_weight"), ("shell_weight", "rings")]
    pairs(real, synthetic, chosen, axes=below.subplots(1, 3))
    figure.savefig(picture, dpi=120)
    typer.echo(f"Wrote {len(synthetic):,} synthetic rows to {rows.resolve()}")
    typer.echo(f"Wrote a picture of real and synthetic rows to {picture.resolve()}")


def _indented(table: "pd.DataFrame") -> str:
    return "\n".join("    " + line for line in table.to_string(index=False).splitlines())
