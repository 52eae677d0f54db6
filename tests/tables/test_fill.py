"""Filling gaps: known cells stay to the bit, in every library and dtype, and whatever library the model is of."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from energyboost import NRGBoost

RNG = np.random.default_rng(0)
N = 160
HOLES = RNG.random((N, 12)) < 0.3


def pandas_table():
    whole = RNG.integers(0, 5, N)
    table = pd.DataFrame(
        {
            "nullable": pd.array(whole, dtype="Int64"),
            "flag": pd.array(RNG.random(N) < 0.5, dtype="boolean"),
            "text": pd.array(RNG.choice(["x", "y"], N), dtype="string"),
            "label": pd.Categorical(RNG.choice(["p", "q"], N), ["p", "q", "unused"]),
            "real": RNG.normal(size=N),
            "arrow": pd.Series(whole * 2, dtype="int64[pyarrow]"),
            "local": pd.date_range("2024-01-01", periods=N, freq="h", tz="America/New_York"),
            "naive": pd.date_range("2024-01-01", periods=N, freq="min").astype("datetime64[s]"),
            "span": pd.to_timedelta(RNG.integers(0, 9, N), unit="h"),
            "object": pd.Series(RNG.choice(["a", "b"], N), dtype=object),
            "str": pd.Series(RNG.choice(["a", "b"], N)),
            "count": RNG.integers(0, 9, N),
        }
    )
    return table


def with_holes(table):
    table = table.astype({"count": float})
    for j, name in enumerate(table):
        table.loc[HOLES[:, j], name] = None
    return table


def polars_table():
    return pl.DataFrame(
        {
            "price": pl.Series([Decimal(int(k)) / 4 for k in RNG.integers(0, 40, N)], dtype=pl.Decimal(10, 2)),
            "level": pl.Series(RNG.choice(["lo", "hi"], N), dtype=pl.Enum(["lo", "hi"])),
            "city": pl.Series(RNG.choice(["a", "b"], N), dtype=pl.Categorical),
            "day": pl.Series([dt.date(2024, 1, 1) + dt.timedelta(int(k)) for k in RNG.integers(0, 300, N)]),
            "local": pl.Series(pd.date_range("2024-01-01", periods=N, freq="h", tz="Asia/Tokyo")),
            "span": pl.Series([dt.timedelta(hours=int(k)) for k in RNG.integers(0, 9, N)]),
            "small": pl.Series(RNG.integers(0, 9, N), dtype=pl.Int16),
        }
    )


def polars_holes(table):
    return table.with_columns(
        pl.when(pl.Series(~HOLES[:, j])).then(pl.col(name)).otherwise(None).alias(name)
        for j, name in enumerate(table.columns)
    )


def fitted(table):
    return NRGBoost(n_trees=3, max_leaves=4, pool_size=500, random_state=0, n_jobs=1, max_bins=20).fit(table)


def assert_filled(before, after, n=1):
    """Same columns, dtypes and known cells; both polars."""
    assert after.columns == before.columns
    assert len(after) == n * len(before)
    for name in before.columns:
        own, new = before[name], after[name][::n]
        assert new.null_count() == 0, name
        known = own.is_not_null()
        assert new.filter(known).to_list() == own.filter(known).to_list(), name


@pytest.fixture(scope="module")
def of_pandas():
    table = pandas_table()
    return table, with_holes(table)


@pytest.mark.parametrize("ask", ["impute", "complete"])
@pytest.mark.parametrize("index", ["plain", "all alike", "two levels"])
def test_pandas_frames_of_every_dtype_are_filled(of_pandas, ask, index):
    table, holes = of_pandas
    model = fitted(table)
    holes = holes.copy()
    if index == "all alike":
        holes.index = np.zeros(N, int)
    elif index == "two levels":
        holes.index = pd.MultiIndex.from_arrays([range(N), np.arange(N) % 3], names=["i", "k"])
    n = 1 if ask == "impute" else 2
    full = model.impute(holes) if ask == "impute" else model.complete(holes, 2, random_state=0)
    assert full.dtypes.equals(table.dtypes)
    assert full.index.equals(holes.index.repeat(n))
    assert full.notna().all().all()
    for name in table:
        known = holes[name].notna().to_numpy()
        assert full[name][::n][known].tolist() == holes[name][known].tolist(), name


def test_cells_may_be_drawn_missing(of_pandas):
    _, holes = of_pandas
    model = fitted(holes)
    full = model.complete(holes.drop(columns=["label", "nullable"]), 2, random_state=0)
    assert full.dtypes.equals(holes[list(full)].dtypes)
    for name in ("label", "nullable", "text", "local"):
        assert full[name].isna().any()
    assert model.impute(holes, kind="sample", random_state=0).notna().all().all()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize("trained_on", ["polars", "pyarrow", "pandas"])
def test_known_cells_stay_whatever_library_the_model_is_of(library, trained_on):
    table = polars_table()
    make = {"polars": lambda t: t, "pyarrow": lambda t: t.to_arrow(), "pandas": lambda t: t.to_pandas()}
    model = fitted(make[trained_on](table.drop("price", "day") if trained_on == "pandas" else table))
    query = polars_holes(table)
    if trained_on == "pandas":
        query = query.drop("price", "day")
    full = model.impute(make[library](query))
    if library == "pyarrow":
        assert full.schema.types == make[library](query).schema.types
        full = pl.from_arrow(full)
    else:
        assert full.schema == query.schema
    assert_filled(query, full)
    twice = model.complete(make[library](query), 2, random_state=0, avoid_missing=True)
    assert_filled(query, twice if library == "polars" else pl.from_arrow(twice), 2)


def test_columns_may_be_named_by_numbers():
    table = pd.DataFrame({0: RNG.normal(size=N), 1: RNG.choice(["x", "y"], N)})
    model = fitted(table)
    assert model.impute(table).equals(table)
    holes = table.copy()
    holes.loc[::3, 0] = np.nan
    full = model.impute(holes)
    assert list(full.columns) == [0, 1]
    assert full.columns.dtype == table.columns.dtype
    assert full.notna().all().all()
    assert model.complete(holes[[1]], random_state=0).notna().all().all()


@pytest.mark.parametrize(
    "query",
    [
        pd.DataFrame({"d": pd.array([9, None], dtype="Int64"), "c": ["a", "b"]}),
        pd.DataFrame({"d": pd.array([9, None], dtype="int64[pyarrow]"), "c": ["a", "b"]}),
        pl.DataFrame({"d": [9, None], "c": ["a", "b"]}),
        pa.table({"d": [9, None], "c": ["a", "b"]}),
    ],
    ids=["nullable", "arrow", "polars", "pyarrow"],
)
def test_whole_numbers_make_room_for_fractions(query):
    table = pd.DataFrame({"d": RNG.normal(10, 2, N), "c": RNG.choice(["a", "b"], N)})
    model = fitted(table)
    full = model.impute(query)
    values = full["d"].to_pylist() if isinstance(full, pa.Table) else list(full["d"])
    assert values[0] == 9
    assert values[1] == pytest.approx(model.predict(pd.DataFrame({"c": ["b"]}), "d")[0])


def test_a_column_that_was_always_missing_stays_so():
    table = pd.DataFrame({"a": RNG.normal(size=N), "b": np.full(N, np.nan), "c": RNG.choice(["x", "y"], N)})
    model = fitted(table)
    holes = table.copy()
    holes.loc[::4, "a"] = np.nan
    for kind in ("mean", "median", "mode", "sample"):
        with pytest.warns(UserWarning, match=r"nothing is known of columns .*\['b'\] stay as they are"):
            full = model.impute(holes, kind=kind, random_state=0)
        assert full["a"].notna().all()
        assert full["b"].isna().all()
