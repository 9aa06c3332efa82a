"""torch.autocast("mps"): the lists are in the wheel, here is one op of each kind."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_kinds_of_ops(dtype):
    x = torch.randn(4, 8, device="mps")
    linear = torch.nn.Linear(8, 8, device="mps")
    with torch.autocast("mps", dtype=dtype):
        lowered = linear(x)
        assert lowered.dtype == dtype
        assert (x @ x.t()).dtype == dtype
        assert torch.softmax(lowered, -1).dtype == torch.float32
        assert F.mse_loss(lowered, x).dtype == torch.float32
        assert torch.addcmul(x, lowered, lowered).dtype == torch.float32
        assert (lowered + lowered).dtype == dtype
    assert linear(x).dtype == torch.float32


def test_default_is_float16():
    assert torch.get_autocast_dtype("mps") == torch.float16
    with torch.autocast("mps"):
        assert torch.mm(torch.ones(2, 2, device="mps"), torch.ones(2, 2, device="mps")).dtype == torch.float16


def test_other_dtypes_disable_it():
    text = "MPS Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
    with pytest.warns(UserWarning, match=text), torch.autocast("mps", dtype=torch.float32):
        assert torch.mm(torch.ones(2, 2, device="mps"), torch.ones(2, 2, device="mps")).dtype == torch.float32


def test_gradients_come_back_in_float32():
    linear = torch.nn.Linear(8, 8, device="mps")
    with torch.autocast("mps", dtype=torch.bfloat16):
        loss = linear(torch.randn(4, 8, device="mps")).float().sum()
    loss.backward()
    assert linear.weight.grad.dtype == torch.float32
