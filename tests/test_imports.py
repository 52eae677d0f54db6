"""Which part of the package may import which, read from the imports themselves."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import energyboost
from energyboost.kernels.sources import STAMP, stamp_of

PACKAGE = Path(energyboost.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# errors <- kernels <- model <- sampling <- fitting, with checks and threads beside them
CORE = ["errors", "checks", "parallel", "kernels", "model", "sampling", "fitting"]
# what asks questions of a model; its files may import each other
QUESTIONS = {"density", "conditional", "joint", "where"}
# what a part may import, besides itself; parts that are not listed are edges, which import anything
MAY_IMPORT = {
    "errors": set(),
    "checks": {"errors"},
    "parallel": {"errors"},
    "kernels": {"errors"},
    **{part: set(CORE[:rank]) for rank, part in enumerate(CORE) if part in ("model", "sampling", "fitting")},
    "tables": {"model.domain", "model.table", "errors", "checks"},
    **{part: {"model", "sampling", "tables", "errors", "checks", "parallel"} | QUESTIONS for part in QUESTIONS},
    "modelfile": {"model", "sampling", "tables", "errors", "checks", "parallel"} | QUESTIONS,
    "estimators": {*CORE, *QUESTIONS, "tables", "modelfile"},
    "": {*CORE, *QUESTIONS, "tables", "modelfile", "estimators"},
}
# libraries that one part alone may import
OWNER = {"numba": "kernels", "llvmlite": "kernels", "narwhals": "tables", "sklearn": "estimators"}


def module_of(path):
    """The dotted name of a file inside the package, "" for the package itself."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    """Dotted names of everything that a file imports, wherever in the file the import stands."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}, line {node.lineno}: a relative import"
            # `from energyboost.model import domain` imports a file
            below = PACKAGE.parent.joinpath(*node.module.split("."))
            for name in node.names:
                is_file = (below / f"{name.name}.py").exists() or (below / name.name).is_dir()
                names.append(f"{node.module}.{name.name}" if is_file else node.module)
    return names


def own(path):
    """The parts and files of this package that a file imports."""
    return [
        name.removeprefix("energyboost").lstrip(".") for name in imports(path) if name.split(".")[0] == "energyboost"
    ]


def is_allowed(name, allowed):
    """Whether a dotted name is one of the allowed ones or stands below one."""
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_of(path) or "__init__")
def test_a_part_imports_only_what_it_may(path):
    module = module_of(path)
    part = module.split(".")[0]
    for name in own(path):
        if part in MAY_IMPORT:
            assert is_allowed(name, {part, *MAY_IMPORT[part]} - {""}), f"{module} imports {name}"
        else:  # an edge may import anything, the package itself included
            assert name == "" or name.split(".")[0] in {*MAY_IMPORT, *edges()}, f"{module} imports {name}"


def edges():
    """The parts of the package that no rule names."""
    return {module_of(path).split(".")[0] for path in FILES} - set(MAY_IMPORT)


def test_nothing_imports_an_edge():
    for path in FILES:
        if module_of(path).split(".")[0] in MAY_IMPORT:
            assert not [name for name in own(path) if is_allowed(name, edges())], module_of(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_of(path) or "__init__")
def test_a_library_is_imported_by_its_part_alone(path):
    part = module_of(path).split(".")[0]
    for name in imports(path):
        library = name.split(".")[0]
        assert library not in OWNER or part == OWNER[library] or part in edges(), f"{module_of(path)} imports {name}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "kernels").glob("*.py")), ids=lambda path: path.stem)
def test_a_cached_kernel_that_calls_other_files_has_their_stamp_in_its_key(path):
    # Numba's cache stamps the file that defines a function, and not those that it calls functions of.
    called = {name for name in own(path) if name.startswith("kernels")} - {"kernels.arrays", "kernels.sources"}
    if called and "cache=True" in path.read_text(encoding="utf-8"):
        module = import_module(f"energyboost.{module_of(path)}")
        kernel = getattr(module, path.stem)(1)
        assert STAMP in [cell.cell_contents for cell in kernel.py_func.__closure__]


def test_the_stamp_changes_with_every_kernel_file(tmp_path):
    for path in sorted((PACKAGE / "kernels").glob("*.py")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert stamp_of(tmp_path) == STAMP
    for path in sorted(tmp_path.glob("*.py")):
        before = path.read_bytes()
        path.write_bytes(before + b"#")
        assert stamp_of(tmp_path) != STAMP
        path.write_bytes(before)


def test_the_rules_name_every_part_that_is_not_an_edge():
    # a new part gets a rule, or its name here
    assert edges() <= {"cli", "__main__", "plots", "distributed", "dask", "examples"}
