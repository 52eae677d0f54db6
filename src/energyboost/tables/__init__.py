"""Frames in, codes out, and back: the only part that knows pandas, polars, pyarrow or narwhals."""

from energyboost.tables.categories import FrequentCategories, NumberCategories
from energyboost.tables.codecs import Categories, Cells, Codec, OrderedLevels
from energyboost.tables.decoder import decode, decode_column, decode_frame_columns, frame_of, levels, numbers_to_values
from energyboost.tables.encoder import Encoded, encode, encode_query, encode_values
from energyboost.tables.frames import ColumnType
from energyboost.tables.left_out import LeftOut
from energyboost.tables.numeric import Levels, QuantileBins
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
    "NumberCategories",
    "Options",
    "OrderedLevels",
    "QuantileBins",
    "Schema",
    "decode",
    "decode_column",
    "decode_frame_columns",
    "encode",
    "encode_query",
    "encode_values",
    "frame_of",
    "levels",
    "numbers_to_values",
]
