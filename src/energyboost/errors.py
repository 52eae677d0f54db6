"""What energyboost raises when it refuses something, and how it warns; every refusal is a `ValueError`."""

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


class DataError(ValueError):
    """A table cannot be used: the message names the column, the first bad row, and a remedy."""


class ParameterError(ValueError):
    """A parameter has a value that cannot work: the message says which values do."""


class ModelFileError(ValueError):
    """A model file is damaged, incomplete, or not a model file."""


def warn(message: str) -> None:
    """Warn, and point at the line outside of this package from which it was called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
