"""Gradients on the device."""

import pytest
import torch


def test_gradients_match_the_cpu():
    x, w = torch.randn(8, 5), torch.randn(5, 3)
    gradients = []
    for device in ("cpu", "mps"):
        a, b = (tensor.clone().to(device).requires_grad_() for tensor in (x, w))
        (a @ b).tanh().pow(2).sum().backward()
        gradients.append((a.grad.cpu(), b.grad.cpu()))
    for ours, theirs in zip(gradients[1], gradients[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_in_place_on_a_clone():
    x = torch.zeros(4, device="mps", requires_grad=True)
    y = x.clone()
    y[1:3] = 5
    y.sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 1]


def test_double_backward():
    x = torch.randn(6, device="mps", requires_grad=True)
    (grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    grad.sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach())


def test_custom_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = torch.randn(5, device="mps", requires_grad=True)
    Square.apply(x).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


def test_checkpoint():
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(5, 5, device="mps", requires_grad=True)
    checkpoint(lambda y: torch.nn.functional.dropout(y.sin(), 0.5).cos(), x, use_reentrant=False).sum().backward()
    assert x.grad.isfinite().all()


def test_functional_transforms():
    x = torch.randn(5, 3)
    expected = torch.func.vmap(torch.func.grad(lambda row: row.sin().sum()))(x)
    actual = torch.func.vmap(torch.func.grad(lambda row: row.sin().sum()))(x.to("mps"))
    torch.testing.assert_close(actual.cpu(), expected)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_forward_mode():
    x = torch.randn(4, device="mps")
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        tangent = torch.autograd.forward_ad.unpack_dual(dual.sin()).tangent
    torch.testing.assert_close(tangent, x.cos())


def test_anomaly_mode():
    x = torch.zeros(3, device="mps", requires_grad=True)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="returned nan values"):
        with torch.autograd.detect_anomaly():
            (x / x).sqrt().sum().backward()
