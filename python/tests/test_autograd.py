"""Gradients on the device; transforms are in test_functional.py."""

import copy

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
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(4))).to("mps")
    x = torch.randn(3, 4, device="mps", requires_grad=True)
    [expected] = torch.autograd.grad(model(x).sum(), x)
    for is_reentrant in (False, True):
        for run in (lambda: checkpoint(model, x, use_reentrant=is_reentrant), lambda: checkpoint_sequential(model, 2, x, use_reentrant=is_reentrant)):
            x.grad = None
            run().sum().backward()
            torch.testing.assert_close(x.grad, expected)


def test_a_checkpoint_computes_again_with_other_random_numbers():
    # PyTorch saves the state of accelerators whose module has `_initialized`, and `torch.mps` has none: so it is on a Mac.
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(1000, device="mps", requires_grad=True)
    y = checkpoint(torch.nn.functional.dropout, x, use_reentrant=True)
    y.sum().backward()
    assert not torch.equal(x.grad, y) and set(x.grad.tolist()) == {0.0, 2.0}


def test_double_backward_through_a_model():
    model, x = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 3), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(12, 2)), torch.randn(4, 2, 6)
    found = []
    for device in ("cpu", "mps"):
        own = copy.deepcopy(model).to(device)
        leaf = x.to(device).requires_grad_()
        [gradient] = torch.autograd.grad(own(leaf).square().sum(), leaf, create_graph=True)
        (gradient.flatten(1).norm(dim=1) - 1).square().sum().backward()
        found.append([parameter.grad.cpu() for parameter in own.parameters() if parameter.grad is not None])
    assert len(found[0]) == 4
    torch.testing.assert_close(found[1], found[0], rtol=1e-3, atol=1e-4)


def test_hessian_products_and_vectorized_jacobians():
    x = torch.randn(5, device="mps")
    _, product = torch.autograd.functional.vhp(lambda y: y.pow(4).sum(), x, torch.ones_like(x))
    torch.testing.assert_close(product, 12 * x**2)
    rows = torch.autograd.functional.jacobian(lambda y: y.exp(), x, vectorize=True)
    torch.testing.assert_close(rows, x.exp().diag())


def test_anomaly_mode():
    x = torch.zeros(3, device="mps", requires_grad=True)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="returned nan values"):
        with torch.autograd.detect_anomaly():
            (x / x).sqrt().sum().backward()
