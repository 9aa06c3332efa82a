"""Fresh random inputs for every test, reproducible: the seed is printed with a failure.

``OPENMPS_TEST_SEED=<n>`` repeats a run.
"""

import os
import random

import pytest
import torch


@pytest.fixture(autouse=True)
def seed():
    """Seeds Python's and torch's generators with a new number, and gives it to the test."""
    value = int(os.environ.get("OPENMPS_TEST_SEED") or random.SystemRandom().randrange(2**31))
    print(f"OPENMPS_TEST_SEED={value}")
    random.seed(value)
    torch.manual_seed(value)
    return value
