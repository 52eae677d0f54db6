"""The space that a model is a density on, and how its codes are laid out."""

import math

import numpy as np
import pytest

from energyboost.kernels.arrays import LANES
from energyboost.model.domain import Domain
from energyboost.model.energy import columns_of


def test_codes_take_two_bytes_from_257_on():
    assert Domain((1, 256), (True, False)).code_dtype == np.uint8
    assert Domain((1, 257), (True, False)).code_dtype == np.uint16
    assert np.iinfo(Domain((65_536,), (True,)).code_dtype).max == 65_535


def test_the_volume_is_the_number_of_cells():
    assert Domain((2, 3, 5), (True,) * 3).log_volume == pytest.approx(math.log(30), rel=1e-15)


def test_sizes_and_flags_must_be_as_many():
    with pytest.raises(ValueError, match="2 sizes but 1 flags in `ordered`"):
        Domain((2, 3), (True,))


@pytest.mark.parametrize(("size", "shown"), [(0, "0"), (65_537, "65,537")])
def test_a_column_without_codes_or_with_too_many_is_refused(size, shown):
    with pytest.raises(ValueError, match=f"column 1 has {shown} codes; a column has 1 to 65,536"):
        Domain((2, size), (True, True))


def test_too_many_columns_are_refused():
    with pytest.raises(ValueError, match="65,537 columns; a domain has at most 65,536"):
        Domain((2,) * 65_537, (True,) * 65_537)


def test_columns_are_laid_end_to_end_in_whole_lanes():
    sizes = (1, LANES, LANES + 1, 300)
    columns = columns_of(Domain(sizes, (True, False, True, False)))
    assert columns.size.tolist() == list(sizes)
    assert columns.ordered.tolist() == [True, False, True, False]
    assert (columns.start % LANES == 0).all()
    lengths = np.diff(columns.start)
    assert (lengths >= columns.size).all()
    assert (lengths < columns.size + LANES).all()
    # the levels of unordered columns once more, by themselves
    assert columns.level_start.tolist() == [0, 0, LANES, LANES, LANES + 300]
