"""The kernels of crates/openmps-msl/tests/kernels: one behaviour of the Metal standard library each, executed.

Their comment headers say how to run them and what must come out; README.md there explains the keys.
"""

import pathlib
import re

import numpy as np
import pytest
import torch

_FOLDER = pathlib.Path(__file__).parents[2] / "crates" / "openmps-msl" / "tests" / "kernels"
_INPUT_NAMES = "abcdefgh"


def _header(source):
    """The keys of the leading comment; `in` is a list."""
    keys = {"in": []}
    for line in source.splitlines():
        match = re.match(r"// (\w+): (.*)", line)
        if not match:
            break
        if match[1] == "in":
            keys["in"].append(match[2])
        else:
            keys[match[1]] = match[2]
    return keys


def _executable_kernels():
    """The files that state a result and need no threadgroup memory from the dispatch, which PyTorch's call cannot give."""
    for path in sorted(_FOLDER.glob("*.metal")):
        keys = _header(path.read_text())
        if "out" in keys and "threadgroup" not in keys:
            yield pytest.param(path, keys, id=path.stem)


@pytest.mark.parametrize(("path", "keys"), list(_executable_kernels()))
def test_kernel(path, keys):
    threads = int(keys.get("threads", "1"))
    names = {"np": np, "n": threads}
    library = torch.mps.compile_shader(path.read_text())
    inputs = []
    for name, expression in zip(_INPUT_NAMES, keys["in"]):
        names[name] = eval(expression, names)  # noqa: S307 - our own files
        inputs.append(torch.from_numpy(np.ascontiguousarray(names[name]).copy()).to("mps"))
    initial = np.ascontiguousarray(eval(keys["out"], names))  # noqa: S307
    out = torch.from_numpy(initial.copy()).to("mps")

    library.test(out, *inputs, threads=threads, group_size=int(keys.get("group", threads)))

    got = out.cpu().numpy()
    with np.errstate(all="ignore"):
        expected = np.asarray(eval(keys["expect"], names)).reshape(initial.shape).astype(initial.dtype)  # noqa: S307
    tolerance = float(keys.get("tolerance", "0"))
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
