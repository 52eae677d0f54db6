"""Frames in, codes out, and back: the only part that knows pandas, polars, pyarrow or narwhals."""

from energyboost.tables.codecs import Categories, Cells, Codec, OrderedLevels
from energyboost.tables.encoder import (
    Encoded,
    Unseen,
    decode,
    decode_column,
    encode,
    encode_query,
    encode_values,
    frame_of,
    levels,
    numbers_to_values,
    read_values,
)
from energyboost.tables.fill import fill
from energyboost.tables.frames import ColumnType, open_table, take_rows
from energyboost.tables.numeric import Levels, Numbers, QuantileBins
from energyboost.tables.schema import Column, Schema

__all__ = [
    "Categories",
    "Cells",
    "Codec",
    "Column",
    "ColumnType",
    "Encoded",
    "Levels",
    "Numbers",
    "OrderedLevels",
    "QuantileBins",
    "Schema",
    "Unseen",
    "decode",
    "decode_column",
    "encode",
    "encode_query",
    "encode_values",
    "fill",
    "frame_of",
    "levels",
    "numbers_to_values",
    "open_table",
    "read_values",
    "take_rows",
]
