"""The questions that a fitted table answers, on a model small enough to enumerate every answer."""

import numpy as np
import pandas as pd
import pytest

from energyboost import DataError, ParameterError, between, gt, isin, le, missing, not_missing
from energyboost.density import TableDensity
from energyboost.model.energy import Energy
from energyboost.sampling import marginal
from energyboost.sampling.boosted import Boosted
from energyboost.tables import Schema, encode
from tests import exact
from tests.chance import contradicted
from tests.ensembles import Domain, random_baseline, random_tree

# a: 1, 2, 4; b: u, v; c: missing (code 0), 0, 10, 20; d: low, mid, high
DOMAIN = Domain((3, 2, 4, 3), (True, False, True, True))
A, B, C, D = np.array([1, 2, 4]), np.array(["u", "v"]), np.array([np.nan, 0.0, 10.0, 20.0]), ["low", "mid", "high"]
N_CELLS = 72


def table_of(codes):
    return pd.DataFrame(
        {
            "a": A[codes[:, 0]],
            "b": B[codes[:, 1]],
            "c": C[codes[:, 2]],
            "d": pd.Categorical.from_codes(codes[:, 3], D, ordered=True),
        }
    )


@pytest.fixture(scope="module")
def energy():
    rng = np.random.default_rng(5)
    energy = Energy(DOMAIN, random_baseline(rng, DOMAIN), 4, 16)
    for _ in range(4):
        energy.add(random_tree(rng, DOMAIN, 12, scale=0.8))
        energy.log_z.append(exact.log_z(energy, energy.n_trees))
        energy.log_z_error.append(1e-9)
    return energy


@pytest.fixture(scope="module")
def known(energy):
    every = exact.cells(DOMAIN)
    schema = Schema.infer(table_of(every))
    assert np.array_equal(encode(schema, table_of(every)), every)
    rng = np.random.default_rng(0)
    pool = every[rng.choice(N_CELLS, 20_000, p=exact.probabilities(energy))]
    return TableDensity(schema, Boosted(energy, pool, pool[:16]))


@pytest.fixture(scope="module")
def probability(energy):
    return exact.probabilities(energy).reshape(DOMAIN.sizes)


def codes_of(known, rows):
    return encode(known.schema, rows)


# --- missing cells --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", ["a", "b", "c"])
def test_one_unknown_cell_is_summed_out_exactly(known, probability, gap):
    rows = table_of(exact.cells(DOMAIN)[5::13]).astype({"a": float, "b": object})
    codes = exact.cells(DOMAIN)[5::13]
    rows[gap] = None if gap == "b" else np.nan
    found = known.conditional(rows, "d")
    index = [codes[:, j] for j in range(3)]
    index["abc".index(gap)] = slice(None)
    for i in range(len(rows)):
        at = tuple(k if isinstance(k, slice) else k[i] for k in index)
        # a missing cell is one whose value is not known: the level for missing counts as a value, as any other
        expected = probability[at].sum(axis=0) if gap != "c" else probability[codes[i, 0], codes[i, 1]].sum(axis=0)
        np.testing.assert_allclose(found.proba[i], expected / expected.sum(), rtol=1e-5)
    assert (found.error == 0).all()
    np.testing.assert_allclose(known.conditional(rows.drop(columns=gap), "d").proba, found.proba, rtol=1e-12)


def test_several_unknown_cells_are_averaged_over_and_the_error_is_told(known, probability):
    rows = pd.DataFrame({"a": [1, 2, 4, 1], "b": ["u", "v", None, "u"]})
    found = known.conditional(rows, "d")
    expected = np.stack(
        [
            probability[0, 0].sum(axis=0),
            probability[1, 1].sum(axis=0),
            probability[2].sum(axis=(0, 1)),
            probability[0, 0].sum(axis=0),
        ]
    )
    expected /= expected.sum(axis=1, keepdims=True)
    assert (found.error > 0).tolist() == [False, False, True, False]  # only c is unknown beside d in the others
    gap = np.abs(found.proba.cumsum(axis=1) - expected.cumsum(axis=1)).max(axis=1)
    assert (gap <= 6 * found.error + 1e-6).all()
    assert found.error.max() < 0.02


def test_a_row_of_gaps_gives_the_marginal(known, probability):
    rows = pd.DataFrame({"a": [np.nan] * 3})
    found = known.conditional(rows, "d")
    expected = probability.sum(axis=(0, 1, 2))
    assert (np.abs(found.proba.cumsum(axis=1) - expected.cumsum()).max(axis=1) <= 6 * found.error).all()
    assert 0 < found.error.max() < 0.01
    # the control: the baseline's distribution of d is another
    assert (
        np.abs(exact.probabilities(known.model.energy, 0).reshape(DOMAIN.sizes).sum(axis=(0, 1, 2)) - expected).max()
        > 0.05
    )


def test_missing_is_never_predicted(known, probability):
    rows = table_of(exact.cells(DOMAIN)[::5]).drop(columns="c")
    found = known.conditional(rows, "c")
    codes = exact.cells(DOMAIN)[::5]
    share = probability[codes[:, 0], codes[:, 1], 1:, codes[:, 3]]
    np.testing.assert_allclose(found.proba, share / share.sum(axis=1, keepdims=True), rtol=1e-5)
    assert found.levels.tolist() == [0.0, 10.0, 20.0]


def test_staged_predictions_count_gaps_at_every_stage(known):
    rows = table_of(exact.cells(DOMAIN)[::7]).astype({"a": float})
    rows.loc[3, "a"] = np.nan
    staged = list(known.staged_predict_proba(rows, "d", stages=[0, 1, 4]))
    for stage, found in zip([0, 1, 4], staged, strict=True):
        np.testing.assert_allclose(found, known.predict_proba(rows, "d", n_trees=stage), rtol=1e-6)
        p = exact.probabilities(known.model.energy, stage).reshape(DOMAIN.sizes)
        code = codes_of(known, table_of(exact.cells(DOMAIN)[::7]))[3]
        expected = p[:, code[1], code[2]].sum(axis=0)
        np.testing.assert_allclose(found[3], expected / expected.sum(), rtol=1e-5)


def test_unseen_labels_are_refused_or_not_known(known):
    rows = pd.DataFrame({"a": [1, 2], "b": ["u", "w"], "c": [0.0, 10.0]})
    with pytest.raises(DataError, match=r"column 'b', row 1: level 'w' did not occur in training"):
        known.predict(rows, "d")
    marginal_ = known.predict_proba(rows, "d", unseen="marginalize")
    rows.loc[1, "b"] = None
    np.testing.assert_allclose(known.predict_proba(rows, "d"), marginal_, rtol=1e-12)


def test_wide_planes_go_by_chains(known, probability, monkeypatch):
    monkeypatch.setattr(marginal, "MOST_CELLS", 5)
    rows = pd.DataFrame({"b": ["u"], "c": [0.0]})
    found = known.conditional(rows, "d")
    expected = probability[:, 0, 1].sum(axis=0)
    expected = np.cumsum(expected / expected.sum())
    assert 0 < found.error[0] < 0.02
    assert np.abs(found.proba.cumsum(axis=1) - expected).max() <= 6 * found.error[0]


# --- joint ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [["d"], ["a", "b"], ["d", "a"], ["b", "d", "a"], ["a", "b", "c", "d"]], ids=str)
def test_a_joint_distribution_is_the_models_own(known, probability, targets):
    codes = exact.cells(DOMAIN)[[3, 40, 71]]
    found = known.joint(table_of(codes), targets)
    columns = ["abcd".index(name) for name in targets]
    for i, row in enumerate(codes):
        index = tuple(slice(None) if j in columns else row[j] for j in range(4))
        expected = np.transpose(probability[index], np.argsort(np.argsort(columns)))
        if "c" in targets:
            expected = np.delete(expected, 0, axis=targets.index("c"))
        np.testing.assert_allclose(found.proba[i], expected / expected.sum(), rtol=1e-5, atol=1e-12)
    assert found.targets == tuple(targets)
    assert len(found) == 3


def test_a_joint_sums_out_other_gaps_and_adds_up_to_the_conditional(known):
    rows = pd.DataFrame({"c": [0.0, 20.0]})
    joint = known.joint(rows, ["a", "b"])
    np.testing.assert_allclose(joint.proba.sum(axis=2), known.joint(rows, ["a"]).proba, rtol=1e-5)
    frame = joint.to_frame()
    assert list(frame) == ["row", "a", "b", "probability"]
    assert frame.groupby("row")["probability"].sum().tolist() == pytest.approx([1, 1])
    best = frame.loc[frame.groupby("row")["probability"].idxmax()]
    assert joint.mode()["a"].tolist() == best["a"].tolist()
    assert joint.mode()["b"].tolist() == best["b"].tolist()


def test_a_joint_that_is_too_large_or_of_nothing_is_refused(known, monkeypatch):
    from energyboost import density

    rows = table_of(exact.cells(DOMAIN)[:2])
    monkeypatch.setattr(density, "MOST_COMBINATIONS", 10)
    with pytest.raises(DataError, match=r"'a' x 'c' with what is missing in row 0 has 12 combinations .* more than 10"):
        known.joint(rows, ["a", "c"])
    for targets in ("a", [], ["a", "a"]):
        with pytest.raises(ParameterError, match="targets"):
            known.joint(rows, targets)


# --- rows under conditions ------------------------------------------------------------------------------------------

WHERE = {
    "a value": ({"a": 2}, lambda r: r["a"] == 2),
    "a range": ({"a": between(1, 3)}, lambda r: r["a"].between(1, 3)),
    "a set": ({"b": isin("v"), "a": isin(1, 4)}, lambda r: (r["b"] == "v") & r["a"].isin([1, 4])),
    "missing": ({"c": missing()}, lambda r: r["c"].isna()),
    "not missing": ({"c": not_missing(), "a": gt(1)}, lambda r: r["c"].notna() & (r["a"] > 1)),
    "levels in order": ({"d": le("mid"), "c": 10.0}, lambda r: (r["d"] <= "mid") & (r["c"] == 10)),
}


@pytest.mark.parametrize("name", WHERE)
@pytest.mark.parametrize("how", [{}, {"start": "baseline"}, {"n_sweeps": 30}], ids=str)
def test_rows_drawn_under_conditions_are_the_models_given_them(known, probability, seed, name, how):
    where, fulfils = WHERE[name]
    rows = known.sample(20_000, where=where, random_state=seed, **how)
    assert fulfils(rows).all()
    inside = fulfils(table_of(exact.cells(DOMAIN))).to_numpy()
    expected = np.where(inside, probability.ravel(), 0)
    counts = np.bincount(exact.cell_numbers(DOMAIN, codes_of(known, rows)), minlength=N_CELLS)
    assert not contradicted(counts, expected / expected.sum())
    # the control: the condition on the baseline
    baseline = np.where(inside, exact.probabilities(known.model.energy, 0), 0)
    assert contradicted(counts, baseline / baseline.sum())


def test_conditions_that_no_pool_row_fulfils_are_fulfilled_all_the_same(known, probability, seed):
    poor = TableDensity(known.schema, Boosted(known.model.energy, exact.cells(DOMAIN)[:1], known.model.chains))
    rows = poor.sample(20_000, where={"a": 4, "b": "v"}, random_state=seed)
    counts = np.bincount(exact.cell_numbers(DOMAIN, codes_of(known, rows)), minlength=N_CELLS)
    expected = np.zeros(DOMAIN.sizes)
    expected[2, 1] = probability[2, 1]
    assert not contradicted(counts, expected.ravel() / expected.sum())


def test_rows_without_gaps_can_be_asked_for(known):
    assert known.sample(2000, random_state=0)["c"].isna().any()
    assert known.sample(2000, avoid_missing=True, random_state=0)["c"].notna().all()
    with pytest.raises(ParameterError, match="column 'c' cannot be missing in rows without gaps"):
        known.sample(200, avoid_missing=True, where={"c": missing()}, random_state=0)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"a": 3}, r"column 'a' is never 3; it has values from 1 to 4"),
        ({"a": between(5, 9)}, r"column 'a': no value is between 5 and 9; it has values from 1 to 4"),
        ({"b": "w"}, r"column 'b' has no level 'w'; it has the levels 'u', 'v'"),
        ({"b": between("u", "v")}, r"column 'b' has no order, .* isin\(...\); it has the levels 'u', 'v'"),
        ({"a": missing()}, r"column 'a' is never missing: no training row lacked it"),
        ({"d": isin("low", "huge")}, r"column 'd' has no level 'huge'; it has the levels 'low', 'mid', 'high'"),
        ({"d": gt("high")}, r"column 'd': no value is above 'high'"),
        ({"b": None}, r"column 'b': None is no value; ask for missing cells by missing\(\)"),
        ({"b": isin()}, r"column 'b': isin\(\) names no value; it has the levels"),
        ({"bb": 1}, r"unknown column 'bb'"),
        ([("a", 1)], r"where is a dict of column names to conditions"),
    ],
)
def test_conditions_that_cannot_be_are_refused(known, where, message):
    with pytest.raises(ValueError, match=message):
        known.sample(10, where=where)


# --- completing and imputing ----------------------------------------------------------------------------------------


def gappy(n=300, seed=1):
    rng = np.random.default_rng(seed)
    rows = table_of(exact.cells(DOMAIN)[rng.integers(0, N_CELLS, n)]).astype({"a": float, "b": object})
    rows.index = pd.Index(rng.permutation(n), name="id")
    for name in rows:
        rows.loc[rng.random(n) < 0.3, name] = None
    return rows


def assert_known_cells_stay(before, after):
    for name in before:
        kept = before[name].notna().to_numpy()
        assert before[name][kept].astype(object).tolist() == after[name][kept].astype(object).tolist()


@pytest.mark.parametrize("kind", ["mean", "median", "mode", "sample"])
def test_imputing_fills_every_gap_and_touches_nothing_else(known, kind):
    rows = gappy()
    full = known.impute(rows, kind=kind, random_state=0)
    assert full.notna().all().all()
    assert full.index.equals(rows.index)
    assert list(full) == list(rows)
    assert full.dtypes.to_dict() == table_of(exact.cells(DOMAIN)).astype({"b": object}).dtypes.to_dict()
    assert_known_cells_stay(rows, full)


def test_a_gap_is_filled_by_the_mean_or_the_likeliest_level_given_what_is_known(known, probability):
    rows = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"], "c": [np.nan, np.nan], "d": ["low", "high"]})
    share = probability[[0, 1], [0, 1], 1:, [0, 2]]
    means = share @ np.array([0, 10, 20]) / share.sum(axis=1)
    assert known.impute(rows)["c"].tolist() == np.rint(means).tolist()  # whole, as all values are
    modes = np.array([0.0, 10.0, 20.0])[share.argmax(axis=1)]
    assert known.impute(rows, kind="mode")["c"].tolist() == modes.tolist()
    rows = rows.assign(c=[0.0, 10.0], b=None)
    expected = B[probability[[0, 1], :, [1, 2], [0, 2]].argmax(axis=1)]
    assert known.impute(rows)["b"].tolist() == expected.tolist()


def test_columns_come_back_in_the_order_of_training_and_others_behind(known):
    rows = gappy(30)[["d", "b"]].assign(note=1)
    for ask in (known.impute, known.complete):
        with pytest.warns(UserWarning, match="column 'note', which was not there in training"):
            filled = ask(rows)
        assert list(filled) == ["a", "b", "c", "d", "note"]
        assert filled.index.equals(rows.index)
        assert filled[["a", "b", "d"]].notna().all().all()


def test_several_imputations_differ_where_cells_were_missing(known):
    rows = gappy()
    several = known.impute(rows, n=3, random_state=0)
    assert len(several) == 3
    for one in several:
        assert_known_cells_stay(rows, one)
    assert not several[0].equals(several[1])
    assert several[1].equals(known.impute(rows, n=3, random_state=0)[1])
    with pytest.raises(ParameterError, match='would be all alike: use kind="sample"'):
        known.impute(rows, n=2, kind="mean")


def test_completed_rows_are_drawn_given_the_known_cells(known, probability, seed):
    rows = pd.DataFrame({"a": [2.0], "d": ["mid"]})
    drawn = known.complete(rows, 20_000, random_state=seed)
    assert (drawn["a"] == 2).all()
    assert (drawn["d"] == "mid").all()
    codes = codes_of(known, drawn[["a", "b", "c", "d"]].assign(a=drawn["a"].astype(int)))
    expected = np.zeros(DOMAIN.sizes)
    expected[1, :, :, 1] = probability[1, :, :, 1]
    counts = np.bincount(exact.cell_numbers(DOMAIN, codes), minlength=N_CELLS)
    assert not contradicted(counts, expected.ravel() / expected.sum())
    independent = np.zeros(DOMAIN.sizes)
    independent[1, :, :, 1] = np.outer(probability.sum(axis=(0, 2, 3)), probability.sum(axis=(0, 1, 3)))
    assert contradicted(counts, independent.ravel() / independent.sum())


def test_completing_draws_several_rows_for_each_in_their_order(known):
    rows = gappy(20)
    drawn = known.complete(rows, 3, random_state=0)
    assert drawn.index.tolist() == np.repeat(rows.index, 3).tolist()
    assert_known_cells_stay(rows.iloc[np.repeat(np.arange(20), 3)], drawn)


# --- odd cells ------------------------------------------------------------------------------------------------------


def test_explaining_names_the_oddest_cells_and_what_was_likelier(known, probability):
    codes = exact.cells(DOMAIN)[[0, 17, 60]]
    frame = known.explain(table_of(codes), top=2)
    assert list(frame) == ["row", "column", "value", "surprise", "likelier", "its_surprise"]
    assert frame["row"].tolist() == [0, 0, 1, 1, 2, 2]
    for i, row in enumerate(codes):
        given = [exact.conditional(DOMAIN, probability.ravel(), row, j) for j in range(4)]
        if row[2]:  # c is there: given that it is
            given[2][0] = 0
            given[2] /= given[2].sum()
        surprise = [-np.log(given[j][row[j]]) for j in range(4)]
        oddest = np.argsort(surprise)[::-1][:2]
        told = frame[frame["row"] == i]
        assert told["column"].tolist() == ["abcd"[j] for j in oddest]
        np.testing.assert_allclose(told["surprise"], np.sort(surprise)[::-1][:2], rtol=1e-4)
        likelier = [int(given[j].argmax()) for j in oddest]
        names = [
            [A.astype(str), B, np.array(["missing", "0.0", "10.0", "20.0"]), D][j][k]
            for j, k in zip(oddest, likelier, strict=True)
        ]
        assert told["likelier"].tolist() == names
    assert (frame["surprise"] >= frame["its_surprise"]).all()
