"""Conditions on columns of every kind: what they leave of each code, and that decoded values fulfil them."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energyboost import DataError, NRGBoost, ParameterError, between, ge, gt, isin, le, lt, missing, not_missing
from energyboost.tables import Schema, read_values
from energyboost.where import restrictions
from tests.chance import FALSE_ALARM

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "whole": np.where(RNG.random(4000) < 0.3, 0, RNG.integers(0, 5000, 4000)),
        "cents": (RNG.gamma(2, 30, 4000)).round(2),
        "real": RNG.standard_normal(4000),
        "single": RNG.standard_normal(4000).astype(np.float32),
        "gaps": np.where(RNG.random(4000) < 0.2, np.nan, RNG.integers(0, 9, 4000) / 2),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 3000, 4000), unit="D"),
        "moment": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.random(4000) * 1e9, unit="s"),
        "grade": pd.Categorical(RNG.choice(["low", "mid", "high"], 4000), ["low", "mid", "high"], ordered=True),
        "city": RNG.choice(["Oslo", "Rome", "Bern"], 4000),
    }
)
SCHEMA = Schema.infer(TABLE, max_bins=30)
NUMBERS = ["whole", "cents", "real", "single", "gaps"]


def restricted(name, condition):
    found = restrictions(SCHEMA, {name: condition})
    assert list(found) == [SCHEMA.index_of(name)]
    return found[SCHEMA.index_of(name)]


def decoded(name, restriction, rng, n=200):
    """Values of every code that fits."""
    codec = SCHEMA.columns[SCHEMA.index_of(name)].codec
    codes = np.repeat(np.flatnonzero(restriction.part), n)
    uniforms = rng.random(len(codes))
    uniforms[::n], uniforms[1::n] = 0, 1 - 2.0**-53
    return restriction.decoder(codec.decode)(codes, uniforms)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NUMBERS), st.data())
def test_values_fulfil_ranges_and_parts_are_their_shares(name, data):
    known = TABLE[name].dropna().astype(float)
    ends = st.one_of(st.floats(known.min(), known.max()), st.sampled_from(known.tolist()))
    low, high = sorted([data.draw(ends), data.draw(ends)])
    strict = data.draw(st.booleans())
    if strict:
        condition, fits = (gt(low), lambda y: y > low) if data.draw(st.booleans()) else (lt(high), lambda y: y < high)
    else:
        condition, fits = between(low, high), lambda y: (y >= low) & (y <= high)
    rng, j = np.random.default_rng(0), SCHEMA.index_of(name)
    codec = SCHEMA.columns[j].codec
    every = codec.decode(np.repeat(np.arange(codec.n_codes), 2000), rng.random(2000 * codec.n_codes))
    share = (fits(every.values) & ~every.missing).reshape(-1, 2000).mean(axis=1)
    try:
        restriction = restricted(name, condition)
    except DataError:
        assert (share < 0.01).all()
        return
    values = decoded(name, restriction, rng)
    assert fits(values.values).all()
    assert not values.missing.any()
    again = codec.encode(values)
    assert np.array_equal(again, np.repeat(np.flatnonzero(restriction.part), 200))
    bound = np.sqrt(np.log(2 * len(share) * 60 / FALSE_ALARM) / 4000)  # Hoeffding
    assert np.abs(restriction.part - share).max() < bound


@pytest.mark.parametrize(
    ("name", "condition", "fits"),
    [
        ("day", between("2021-01-01", "2021-06-30"), lambda y: (y >= "2021-01-01") & (y <= "2021-06-30")),
        ("day", ge(dt.datetime(2024, 1, 1)), lambda y: y >= "2024-01-01"),
        ("day", lt(pd.Timestamp("2020-02-01")), lambda y: y < "2020-02-01"),
        (
            "moment",
            between("2025-01-01T12:00", "2026-01-01"),
            lambda y: (y >= "2025-01-01T12:00") & (y <= "2026-01-01"),
        ),
        ("whole", 0, lambda y: y == 0),
        ("whole", 1234, lambda y: y == 1234),
        ("cents", 17.35, lambda y: y == 17.35),
        ("real", 0.123456789, lambda y: y == 0.123456789),
        ("gaps", isin(0.5, 4.0), lambda y: y.isin([0.5, 4.0])),
        ("gaps", not_missing(), lambda y: y.notna()),
        ("gaps", missing(), lambda y: y.isna()),
        ("grade", gt("low"), lambda y: y > "low"),
        ("grade", between("low", "mid"), lambda y: y <= "mid"),
        ("city", isin("Oslo", "Bern"), lambda y: y.isin(["Oslo", "Bern"])),
    ],
)
def test_sampled_rows_fulfil_conditions_of_every_kind(model, name, condition, fits):
    rows = model.sample(500, where={name: condition}, random_state=0)
    assert len(rows) == 500
    assert fits(rows[name]).all()
    assert rows.dtypes.equals(TABLE.dtypes)
    others = [other for other in TABLE if other != name]
    assert (rows[others].nunique() > 1).all()


@pytest.fixture(scope="module")
def model():
    return NRGBoost(n_trees=5, max_leaves=16, pool_size=3000, max_bins=30, random_state=0).fit(TABLE)


def test_conditions_hold_together(model):
    where = {"whole": between(100, 2000), "city": "Rome", "gaps": missing(), "day": ge("2023-01-01")}
    rows = model.sample(300, where=where, random_state=0)
    assert len(rows) == 300
    assert rows["whole"].between(100, 2000).all()
    assert (rows["city"] == "Rome").all()
    assert rows["gaps"].isna().all()
    assert (rows["day"] >= "2023-01-01").all()


@pytest.mark.parametrize(
    ("name", "condition", "message"),
    [
        ("whole", 0.5, r"column 'whole' is never 0.5; it has values from 0 to 499\d"),
        ("cents", 17.355, r"column 'cents' is never 17.355"),
        ("whole", isin(5, 2000), r"column 'whole' is a .*: 5 has no code of its own, .* use between"),
        ("whole", "many", r"column 'whole' was a number .* and is a string"),
        ("day", "soon", r"column 'day' holds datetimes"),
        ("day", gt("2200-01-01"), r"column 'day': no value is above '2200-01-01'; it has values from 2020-01-01"),
        ("real", float("nan"), r"column 'real': nan is no value; ask for missing cells by missing\(\)"),
        ("city", "Paris", r"column 'city' has no level 'Paris'; it has the levels 'Bern', 'Oslo', 'Rome'"),
    ],
)
def test_conditions_that_no_value_fulfils_say_what_there_is(name, condition, message):
    with pytest.raises(DataError, match=message):
        restrictions(SCHEMA, {name: condition})


def test_a_float_of_a_whole_number_is_that_number():
    assert np.array_equal(restricted("whole", 0.0).part, restricted("whole", 0).part)
    assert read_values(SCHEMA, 0, [0.0]).values[0] == 0
    assert le(3).restrict(SCHEMA, 0).part.sum() > 1


@pytest.mark.parametrize(
    "several", [[0, 1], (0, 1), {0, 1}, range(2), np.array([0, 1])], ids=lambda x: type(x).__name__
)
def test_several_values_at_once_are_refused_with_what_to_say_instead(several):
    with pytest.raises(ParameterError, match=r"column 'whole' a \w+: say isin\(\.\.\.\) for one of some"):
        restrictions(Schema.infer(TABLE), {"whole": several})
