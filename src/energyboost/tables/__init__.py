"""Frames in, codes out, and back: the only part that knows pandas, polars, pyarrow or narwhals."""

from energyboost.tables.codecs import Categories, Cells, Codec, OrderedLevels
from energyboost.tables.encoder import (
    Encoded,
    decode,
    decode_column,
    encode,
    encode_query,
    encode_values,
    levels,
    numbers_to_values,
)
from energyboost.tables.frames import ColumnType
from energyboost.tables.numeric import Levels, QuantileBins
from energyboost.tables.schema import Column, Schema

__all__ = [
    "Categories",
    "Cells",
    "Codec",
    "Column",
    "ColumnType",
    "Encoded",
    "Levels",
    "OrderedLevels",
    "QuantileBins",
    "Schema",
    "decode",
    "decode_column",
    "encode",
    "encode_query",
    "encode_values",
    "levels",
    "numbers_to_values",
]
