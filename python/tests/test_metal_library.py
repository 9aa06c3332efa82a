"""The conformance kernels of crates/openmps-suite/kernels: one behaviour of Metal each, executed."""

import pytest
import torch

from conformance import metal_kernels


def _executable_kernels():
    """Those that need no threadgroup memory from the dispatch, which PyTorch's call cannot give."""
    for path in metal_kernels.executable():
        if "threadgroup" not in metal_kernels.header(path):
            yield pytest.param(path, id=f"{path.parent.name}/{path.stem}")


@pytest.mark.parametrize("path", list(_executable_kernels()))
def test_kernel(path, seed):
    library = torch.mps.compile_shader(path.read_text())
    case = metal_kernels.case(path, seed)
    inputs = [torch.from_numpy(values).to("mps") for values in case.inputs]
    out = torch.from_numpy(case.initial.copy()).to("mps")

    library.test(out, *inputs, threads=case.threads, group_size=case.group)

    case.check(out.cpu().numpy())
