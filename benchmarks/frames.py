"""Tables as .npz files, for exchange between environments; needs numpy and pandas only."""

from pathlib import Path

import numpy as np
import pandas as pd


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame of numbers and categories, without pickles."""
    arrays: dict[str, np.ndarray] = {"names": np.array([str(name) for name in frame.columns])}
    for i, name in enumerate(frame.columns):
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            arrays[f"codes_{i}"] = column.cat.codes.to_numpy()
            arrays[f"categories_{i}"] = np.array(column.cat.categories.tolist())
        else:
            arrays[f"values_{i}"] = column.to_numpy()
    np.savez(path, allow_pickle=False, **arrays)


def read_frame(path: Path) -> pd.DataFrame:
    """Read what :func:`write_frame` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return pd.DataFrame(
            {
                str(name): pd.Categorical.from_codes(arrays[f"codes_{i}"], arrays[f"categories_{i}"].tolist())
                if f"codes_{i}" in arrays
                else arrays[f"values_{i}"]
                for i, name in enumerate(arrays["names"])
            }
        )
