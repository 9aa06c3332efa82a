"""The table of what Metal's kernels refuse, read from the plug-in's sources: :data:`refusals` is its module."""

import importlib.util
import pathlib
import sys

_FILE = pathlib.Path(__file__).parents[2] / "crates/openmps-torch/refusals.py"
_SPEC = importlib.util.spec_from_file_location("refusals", _FILE)
refusals = importlib.util.module_from_spec(_SPEC)
sys.modules["refusals"] = refusals  # Dataclasses look their module up.
_SPEC.loader.exec_module(refusals)


def is_refusal(error: Exception) -> bool:
    """Whether the device raises this where a CPU computes, or raises something else."""
    return any(str(error).startswith(row.text.partition("{")[0]) for row in refusals.REFUSALS)
