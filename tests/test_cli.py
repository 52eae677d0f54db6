"""The command line, run as a user runs it: in a process of its own."""

import re
import subprocess
import sys

import matplotlib.image
import pandas as pd
import pytest

import energyboost
from energyboost import cli


def run(*arguments, code="from energyboost.cli import main; sys.exit(main())"):
    """Run the command line; returns the exit code, standard output and standard error."""
    command = [sys.executable, "-c", f"import sys; {code}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=600)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A short demo: its standard output, its standard error, and the folder it wrote to."""
    folder = tmp_path_factory.mktemp("demo") / "new"
    code, out, err = run("demo", "--output", folder, "--rows", 900, "--trees", 40, "--seed", 1)
    assert code == 0, err
    return out, err, folder


def test_the_demo_writes_rows_like_those_of_the_table(demo):
    _, _, folder = demo
    real = pd.read_csv(cli._example("abalone.csv.gz"))
    synthetic = pd.read_csv(folder / "abalone-synthetic.csv")
    assert len(real) == 4177
    assert len(synthetic) == 900
    pd.testing.assert_series_equal(synthetic.dtypes, real.dtypes)
    assert set(synthetic["sex"]) == {"F", "I", "M"}
    assert synthetic["rings"].between(1, 29).all()


def test_the_demo_draws_a_picture(demo):
    _, _, folder = demo
    picture = matplotlib.image.imread(folder / "abalone-synthetic.png")
    assert min(picture.shape[:2]) > 500
    assert picture.std() > 0.05


def test_the_demo_says_what_it_learned(demo):
    out, err, folder = demo
    assert "40/40" in err.splitlines()[-1]
    assert re.search(r"^Fitted 40 trees of up to 64 leaves to 3,342 rows in \d+\.\d s\.$", out, re.M)
    assert "The other 835 rows are held out" in out
    assert re.search(r"^rings +int64 +Levels +\d+  number with \d+ distinct values: one level each$", out, re.M)
    r2 = float(re.search(r"rings: R2 (-?\d\.\d+)", out)[1])
    found = re.search(r"sex: accuracy (\S+) \(always the most frequent one: (\S+)\)", out)
    accuracy, chance = map(float, found.groups())
    assert 0 < r2 < 1
    assert chance < accuracy < 1
    fitted, without = map(float, re.search(r"  mean (\S+); before the first tree, .*: (\S+)$", out, re.M).groups())
    assert fitted > without
    assert out.count("-") > 3
    assert 0.5 < float(re.search(r"with an AUC of (\S+) ", out)[1]) <= 1
    assert f"Wrote 900 synthetic rows to {folder / 'abalone-synthetic.csv'}" in out
    assert str(folder / "abalone-synthetic.png") in out


def test_the_same_seed_gives_the_same_rows(demo, tmp_path):
    _, _, folder = demo
    assert run("demo", "--output", tmp_path, "--rows", 900, "--trees", 40, "--seed", 1)[0] == 0
    name = "abalone-synthetic.csv"
    assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_version_and_help():
    assert run("--version")[:2] == (0, f"energyboost {energyboost.__version__}\n")
    assert run("--version", code="from runpy import run_module; run_module('energyboost', run_name='__main__')") == (
        0,
        f"energyboost {energyboost.__version__}\n",
        "",
    )
    for arguments in ([], ["--help"]):
        code, out, _ = run(*arguments)
        assert code == 0
        assert "demo  Fit a model of 4,177 abalones" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--rows", "many"], "'--rows'"),
        (["demo", "--trees", "0"], "'--trees'"),
        (["paint"], "No such command 'paint'"),
        (["demo", "--output", __file__], "File exists: "),
    ],
)
def test_an_error_is_one_line(arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("energyboost: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("lacking", ["typer", "pandas"])
def test_without_the_app_extra_it_says_what_to_install(lacking):
    hidden = f"sys.modules['{lacking}'] = None; from energyboost.cli import main; sys.exit(main())"
    assert run("demo", code=hidden) == (
        1,
        "",
        f"energyboost: the command line needs {lacking}; run: pip install 'energyboost[app]'\n",
    )
