"""What energyboost raises when it refuses something; every one of them is a `ValueError`."""


class DataError(ValueError):
    """A table cannot be used: the message names the column, the first bad row, and a remedy."""


class ParameterError(ValueError):
    """A parameter has a value that cannot work: the message says which values do."""


class ModelFileError(ValueError):
    """A model file is damaged, incomplete, or not a model file."""
