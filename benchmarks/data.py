"""The tables that are measured on, and where they are looked for."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

REPOSITORY = Path(__file__).resolve().parent.parent
VARIABLE = "ENERGYBOOST_DATA"


class MissingDataError(Exception):
    """A table is not there; the message says which, and where it was looked for."""


def california() -> pd.DataFrame:
    """California Housing: 9 numeric columns, MedHouseVal last."""
    return _npz("california_housing.npz")


def adult_train() -> pd.DataFrame:
    """Adult's own training split: numbers and categories."""
    return _categories(pd.read_csv(_file("adult_train.csv.gz")))


def adult_test() -> pd.DataFrame:
    """Adult's own test split, with the categories of the training split."""
    train = adult_train()
    return pd.read_csv(_file("adult_test.csv.gz")).astype(train.dtypes.to_dict())


def abalone() -> pd.DataFrame:
    """Abalone: rings and what else was measured of a shell."""
    return _categories(pd.read_csv(_file("abalone.csv.gz")))


def protein() -> pd.DataFrame:
    """Protein tertiary structure: RMSD and nine numbers."""
    return pd.read_csv(_file("protein.csv.gz"))


def mnist(n_rows: int, n_columns: int = 197) -> pd.DataFrame:
    """The first digits of 14 x 14 MNIST: the label, a category, and the pixels that vary most, in order."""
    arrays = _arrays("mnist14.npz")
    pixels, labels = arrays["x_train"].reshape(-1, 196)[:n_rows], arrays["y_train"][:n_rows]
    chosen = np.sort(np.argsort(-pixels.var(axis=0), kind="stable")[: n_columns - 1])
    frame = pd.DataFrame(pixels[:, chosen], columns=[f"pixel{k}" for k in chosen])
    frame.insert(0, "label", pd.Categorical(labels, categories=range(10)))
    return frame


def covertype(n_rows: int) -> pd.DataFrame:
    """Random rows of Covertype: 10 numbers and 3 categories."""
    frame = _npz("covertype.npz")
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:n_rows]].reset_index(drop=True)
    return frame.astype(dict.fromkeys(("Wilderness_Area", "Soil_Type", "Cover_Type"), "category"))


def split(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Training, validation and test rows, split as in the official package's README."""
    rest, test = train_test_split(frame, test_size=0.2, random_state=123)
    train, validation = train_test_split(rest, test_size=0.2, random_state=124)
    return tuple(part.reset_index(drop=True) for part in (train, validation, test))


def _folder() -> Path:
    return Path(os.environ.get(VARIABLE, REPOSITORY.parent / "shared" / "data"))


def _file(name: str) -> Path:
    path = _folder() / name
    if not path.is_file():
        raise MissingDataError(f"{name} is not in {_folder()}; set {VARIABLE} to the folder that holds it")
    return path


@cache
def _arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(_file(name), allow_pickle=False) as arrays:
        return dict(arrays)


def _npz(name: str) -> pd.DataFrame:
    return pd.DataFrame(_arrays(name))


def _categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with every column of text made a category."""
    return frame.astype(dict.fromkeys(frame.select_dtypes(exclude="number").columns, "category"))
