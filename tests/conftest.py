"""Fixtures that all tests share."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Compiling a kernel takes seconds, the first time: no example is held to a deadline.
settings.register_profile("energyboost", deadline=None)
settings.load_profile("energyboost")

DATA = Path(os.environ.get("ENERGYBOOST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


@pytest.fixture(scope="session")
def seed():
    """The seed of a test's random numbers. Every test passes for any: set ENERGYBOOST_SEED to try another."""
    return int(os.environ.get("ENERGYBOOST_SEED", "0"))


@pytest.fixture
def rng(seed):
    """Random numbers for a test."""
    return np.random.default_rng(seed)


@pytest.fixture
def data_file():
    """A function from the name of a public table to its path; where there is none, the test is skipped."""

    def find(name):
        path = DATA / name
        if not path.is_file():
            pytest.skip(f"there is no {path}: set ENERGYBOOST_DATA to the folder of public tables that holds {name}")
        return path

    return find
