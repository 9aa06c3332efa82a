"""Values of random ops, bit by bit, against Apple's compiled kernels in torch's macOS wheel, which is downloaded once."""

import pytest
from conformance import numeric, random_values


@pytest.fixture(scope="module")
def library():
    return numeric.load("0")[0]


@pytest.mark.parametrize("draw", random_values.DRAWS, ids=lambda draw: draw.name)
def test_values_are_those_of_the_real_kernels(draw, library, seed):
    differences = [text for dtype in draw.dtypes if (text := random_values.difference(draw, library, dtype))]
    assert not differences, "\n".join(differences)


def test_a_difference_is_told(library, seed):
    [draw] = [draw for draw in random_values.DRAWS if draw.name == "bernoulli_"]
    other = random_values.Draw("wrong", draw.dtypes, lambda dtype, source: draw.op(dtype, source) * 0, draw.kernel)
    assert "differ, first at" in random_values.difference(other, library, draw.dtypes[0])
