"""The conformance kernels of crates/openmps-suite/kernels: one behaviour of Metal each, executed.

Their comment headers say how to run them and what must come out; README.md there explains the keys.
"""

import pathlib
import re

import numpy as np
import pytest
import torch

_FOLDER = pathlib.Path(__file__).parents[2] / "crates" / "openmps-suite" / "kernels"
_INPUT_NAMES = "abcdefgh"


def _header(source):
    """The keys of the leading comment; `in` and `let` are lists."""
    keys = {"in": [], "let": []}
    for line in source.splitlines():
        match = re.match(r"// (\w+): (.*)", line)
        if not match:
            break
        if match[1] in ("in", "let"):
            keys[match[1]].append(match[2])
        else:
            keys[match[1]] = match[2]
    return keys


def _executable_kernels():
    """The files that state a result and need no threadgroup memory from the dispatch, which PyTorch's call cannot give."""
    for path in sorted(_FOLDER.rglob("*.metal")):
        keys = _header(path.read_text())
        if "out" in keys and "threadgroup" not in keys:
            yield pytest.param(path, keys, id=f"{path.parent.name}/{path.stem}")


@pytest.mark.parametrize(("path", "keys"), list(_executable_kernels()))
def test_kernel(path, keys, seed):
    threads = eval(keys.get("threads", "1"))  # noqa: S307 - our own files
    names = {"np": np, "n": threads, "rng": np.random.default_rng(seed)}
    library = torch.mps.compile_shader(path.read_text())
    inputs = []
    for name, expression in zip(_INPUT_NAMES, keys["in"]):
        names[name] = eval(expression, names)  # noqa: S307
        inputs.append(torch.from_numpy(np.ascontiguousarray(names[name]).copy()).to("mps"))
    initial = np.ascontiguousarray(eval(keys["out"], names))  # noqa: S307
    out = torch.from_numpy(initial.copy()).to("mps")

    library.test(out, *inputs, threads=threads, group_size=eval(keys.get("group", "threads"), {"threads": threads}))  # noqa: S307

    got = out.cpu().numpy()
    with np.errstate(all="ignore"):
        for line in keys["let"]:
            name, expression = line.split(" = ", 1)
            names[name] = eval(expression, names)  # noqa: S307
        expected = np.asarray(eval(keys["expect"], names)).reshape(initial.shape).astype(initial.dtype)  # noqa: S307
    tolerance = float(keys.get("tolerance", "0"))
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
