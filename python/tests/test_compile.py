"""torch.compile: Inductor writes Metal kernels for the device, which then run like any other."""

import pytest
import torch
import torch.nn.functional as F

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()


def test_pointwise_and_reduction():
    def function(x, y):
        return (x.sin() * y).softmax(-1) + F.layer_norm(x, x.shape[1:])

    x, y = torch.randn(8, 300), torch.randn(300)
    actual = torch.compile(function)(x.to("mps"), y.to("mps"))
    assert actual.device.type == "mps"
    # Another order of sums over 300 terms of size one.
    torch.testing.assert_close(actual.cpu(), function(x, y), rtol=1e-5, atol=1e-5)


def test_gradients():
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    x, labels = torch.randn(8, 16), torch.arange(8) % 4
    F.cross_entropy(model(x), labels).backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model.to("mps")
    compiled = torch.compile(lambda x, labels: F.cross_entropy(model(x), labels))
    compiled(x.to("mps"), labels.to("mps")).backward()
    for parameter, theirs in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), theirs, rtol=1e-4, atol=1e-5)


def test_index_errors_surface_at_synchronization():
    gather = torch.compile(lambda x, index: x[index] * 2)
    x = torch.randn(10, device="mps")
    good = torch.tensor([1, 3, 9], device="mps")
    torch.testing.assert_close(gather(x, good), x[good] * 2)
    gather(x, torch.tensor([1, 3, 11], device="mps"))
    with pytest.raises(torch.AcceleratorError, match=r"Index 11 out of range \[0, 10\)"):
        torch.mps.synchronize()
    torch.testing.assert_close(gather(x, good), x[good] * 2)
