"""Some conformance kernels as code for ARM servers, run by an emulator; `./dev conformance arm` runs all."""

import os
import pathlib
import random

from conformance import arm

_WORKSPACE = pathlib.Path(__file__).parents[2]
# The Rust tests build it.
_PROGRAM = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", _WORKSPACE / "target")) / "debug" / "examples" / "arm_objects"


def test_kernels_run_on_arm(seed):
    """One file in twenty, drawn anew each time."""
    sources = random.sample(arm.sources(), len(arm.sources()) // 20)

    outcome = arm.run(_PROGRAM, sources, seed)

    assert not outcome.failures, "\n".join(outcome.failures)
    for engine in ("scalar", "vector"):
        right = sum(count for (_, of, verdict), count in outcome.counts.items() if of == engine and verdict == "right")
        assert right >= len(sources), outcome.counts
