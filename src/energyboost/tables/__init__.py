"""Frames in, codes out, and back: the only part that knows pandas, polars, pyarrow or narwhals."""

from energyboost.tables.arrange import take_columns, take_rows, with_column
from energyboost.tables.categories import FrequentCategories, NumberCategories
from energyboost.tables.codecs import Categories, Cells, Codec, OrderedLevels
from energyboost.tables.decoder import decode, decode_column, decode_frame_columns, frame_of, levels, numbers_to_values
from energyboost.tables.encoder import Encoded, Unseen, encode, encode_query, encode_values, read_values
from energyboost.tables.fill import fill
from energyboost.tables.frames import ColumnType, Name, Table, open_table
from energyboost.tables.left_out import LeftOut
from energyboost.tables.numeric import Levels, Numbers, QuantileBins
from energyboost.tables.overrides import Options
from energyboost.tables.schema import Column, Schema

__all__ = [
    "Categories",
    "Cells",
    "Codec",
    "Column",
    "ColumnType",
    "Encoded",
    "FrequentCategories",
    "LeftOut",
    "Levels",
    "Name",
    "NumberCategories",
    "Numbers",
    "Options",
    "OrderedLevels",
    "QuantileBins",
    "Schema",
    "Table",
    "Unseen",
    "decode",
    "decode_column",
    "decode_frame_columns",
    "encode",
    "encode_query",
    "encode_values",
    "fill",
    "frame_of",
    "levels",
    "numbers_to_values",
    "open_table",
    "read_values",
    "take_columns",
    "take_rows",
    "with_column",
]
