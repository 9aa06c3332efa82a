"""Fresh random inputs for every test, reproducible: the seed is printed with a failure.

``OPENMPS_TEST_SEED=<n>`` repeats a run.
"""

import os
import random
import tempfile

import pytest

# Read when torch is imported: traces of tests do not lie about. The folder goes with the process.
_TRACES = tempfile.TemporaryDirectory()
os.environ["OPENMPS_TRACE_DIR"] = _TRACES.name

import torch  # noqa: E402


@pytest.fixture(autouse=True)
def seed():
    """Seeds Python's and torch's generators with a new number, and gives it to the test."""
    value = int(os.environ.get("OPENMPS_TEST_SEED") or random.SystemRandom().randrange(2**31))
    print(f"OPENMPS_TEST_SEED={value}")
    random.seed(value)
    torch.manual_seed(value)
    return value
