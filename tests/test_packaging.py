"""What is installed, and that the documents and the checks agree on how."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import energyboost

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_version_stands_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/energyboost/__init__.py"
    mentions = [
        path
        for path in [ROOT / "pyproject.toml", *(ROOT / "src").rglob("*.py")]
        if f'"{energyboost.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert mentions == [ROOT / "src/energyboost/__init__.py"]


def test_an_installed_copy_is_of_this_version():
    try:
        installed = metadata.version("energyboost")
    except metadata.PackageNotFoundError:
        return  # run from a working copy that is on the path
    assert installed == energyboost.__version__


def test_the_public_names_are_there():
    assert {"NRGBoost", "TableDensity", "DataError", "ParameterError", "ModelFileError"} <= set(energyboost.__all__)
    assert energyboost.__all__ == sorted(energyboost.__all__)
    for name in energyboost.__all__:
        assert getattr(energyboost, name).__doc__


def test_the_package_says_that_it_is_typed():
    assert resources.files("energyboost").joinpath("py.typed").is_file()


def test_the_library_works_without_any_extra():
    # None in sys.modules makes an import fail, as where the library is not installed
    code = """if True:
        import sys
        for extra in ["pandas", "polars", "pyarrow", "matplotlib", "typer", "hypothesis", "pytest"]:
            sys.modules[extra] = None
        import numpy as np
        from energyboost import *
        table = np.random.default_rng(0).normal(size=(200, 2)).round(1)
        model = NRGBoost(n_trees=3, max_leaves=4, pool_size=500, random_state=0).fit(table)
        assert model.sample(5).shape == (5, 2)
        assert model.predict(table, "x1").shape == model.score_samples(table).shape == (200,)
    """
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_the_dependencies_are_those_that_are_imported():
    imported = set()
    for path in (ROOT / "src/energyboost").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.split(".")[0])
    # what comes with numba, with scikit-learn, and with a user's own frames
    imported -= {*sys.stdlib_module_names, "energyboost", "llvmlite", "threadpoolctl", "polars", "pyarrow"}
    required, app = (
        {re.match(r"[\w-]+", line)[0].replace("scikit-learn", "sklearn") for line in lines}
        for lines in (PROJECT["project"]["dependencies"], PROJECT["project"]["optional-dependencies"]["app"])
    )
    assert imported == required | app


def test_the_readme_tells_two_commands_and_the_checks_run_the_second():
    commands = re.findall(r"^```console\n(.+)\n```$", README, re.M)
    demo, test = commands[:2]
    assert demo == "pip install '.[app]' && energyboost demo"
    assert test == "pip install '.[test]' && pytest"
    pattern = re.search(r"^tests=\$\(grep -m 1 -E '(.+)' README.md\)$", (ROOT / ".ci/run").read_text(), re.M)[1]
    assert [line for line in README.splitlines() if re.search(pattern, line)] == [test]


def test_the_example_table_comes_with_its_source_and_licence():
    notice = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in notice
    assert "abalone.csv.gz" in notice
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["examples/abalone.csv.gz"] == "energyboost/examples/abalone.csv.gz"
