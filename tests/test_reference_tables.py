"""Real tables, where they are to be had: what is learned must hold for rows left out."""

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from energyboost import NRGBoost


def test_house_prices_are_predicted_and_rows_drawn(data_file):
    """20 trees of a quarter of California: far better than a guess, if far from the best there is."""
    with np.load(data_file("california_housing.npz"), allow_pickle=False) as arrays:
        table = pd.DataFrame(dict(arrays))
    train, test = train_test_split(table, train_size=5000, test_size=2000, random_state=0)
    model = NRGBoost(n_trees=20, max_leaves=128, learning_rate=0.3, random_state=0).fit(train)
    assert r2_score(test["MedHouseVal"], model.predict(test, "MedHouseVal")) > 0.6
    assert model.score(test) > model.score_samples(test, n_trees=0).mean() + 2
    rows = model.sample(2000, random_state=0)
    assert rows.dtypes.equals(table.dtypes)
    assert abs(rows["Latitude"].corr(rows["Longitude"]) - table["Latitude"].corr(table["Longitude"])) < 0.1


def test_a_table_of_labels_is_predicted(data_file):
    table = pd.read_csv(data_file("adult_train.csv.gz"), nrows=6000)
    train, test = train_test_split(table, test_size=1500, random_state=0)
    model = NRGBoost(n_trees=15, max_leaves=128, learning_rate=0.3, random_state=0).fit(train)
    seen_before = [test[c].isin(train[c]) for c in test.select_dtypes(exclude="number")]
    known = test[np.logical_and.reduce(seen_before)]
    share = (test["income"] == "<=50K").mean()
    assert (model.predict(known, "income") == known["income"]).mean() > share + 0.03
