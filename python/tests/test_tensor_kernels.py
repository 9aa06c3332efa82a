"""Kernels with Metal 4's tensor operations, from a library that Apple's compiler made (downloaded from PyPI, 0.4 MB)."""

import pytest
import torch

from conformance import tensor_kernels, wheels

KERNELS = [
    "attn_mpp_1tile",
    "attn_mpp_flash",
    "attn_mpp_split_half",
    "attn_mpp_split_bfloat_d64",
    "attn_mpp_combine_half",
    "attn_mpp_combine_bfloat_d64",
]


@pytest.fixture(scope="module")
def library():
    return torch.mps.load_metallib(wheels.library("mtlattn-mpp"))


@pytest.mark.parametrize("kernel", KERNELS)
def test_attention_on_tensors(library, kernel):
    (make,) = tensor_kernels.runs("mtlattn", [kernel])
    run = make()
    assert tensor_kernels.error(run, library) <= run.tolerance
