"""`torch.func` on the device: every transform against the CPU's result."""

import copy

import pytest
import torch
import torch.nn.functional as F


def _on_both(function, *tensors):
    """The results on the CPU and on "mps", both as CPU tensors."""
    return [torch.utils._pytree.tree_map(torch.Tensor.cpu, function(*(tensor.to(device) for tensor in tensors))) for device in ("cpu", "mps")]


def _layer(x, w):
    return torch.tanh(x @ w).square().sum(0)


TRANSFORMS = {
    "grad": torch.func.grad(lambda x, w: _layer(x, w).sum()),
    "jacrev": torch.func.jacrev(_layer),
    "jacfwd": torch.func.jacfwd(_layer, argnums=1),
    "hessian": torch.func.hessian(lambda x, w: _layer(x, w).sum()),
    "vjp": lambda x, w: torch.func.vjp(_layer, x, w)[1](torch.ones_like(w[0])),
    "jvp": lambda x, w: torch.func.jvp(_layer, (x, w), (torch.ones_like(x), torch.ones_like(w))),
    "linearize": lambda x, w: torch.func.linearize(lambda x: _layer(x, w), x)[1](torch.ones_like(x)),
    "vmap": torch.func.vmap(lambda row, w: (row @ w).softmax(-1).cumsum(-1), in_dims=(0, None), out_dims=1),
    "vmap in chunks": torch.func.vmap(lambda row, w: torch.addmv(row, w, row), in_dims=(0, None), chunk_size=2),
    "functionalize": torch.func.functionalize(lambda x, w: x.clone().mul_(2).index_add_(1, torch.tensor([0, 0], device=x.device), x[:, :2]) @ w),
}


# The transforms of forward mode trace decompositions with `torch.jit.script`.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    expected, given = _on_both(TRANSFORMS[name], torch.randn(5, 4), torch.randn(4, 4))
    torch.testing.assert_close(given, expected, rtol=1e-4, atol=1e-5)


def test_gradients_of_single_samples():
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 3))
    images, labels = torch.randn(6, 1, 6, 6), torch.tensor([0, 1, 2, 0, 1, 2])

    def gradients(images, labels):
        own = copy.deepcopy(model).to(images.device)
        parameters = {name: value.detach() for name, value in own.named_parameters()}

        def loss(parameters, image, label):
            return F.cross_entropy(torch.func.functional_call(own, parameters, (image[None],)), label[None])

        return torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, images, labels)

    expected, given = _on_both(gradients, images, labels)
    torch.testing.assert_close(given, expected, rtol=1e-4, atol=1e-5)


def test_an_ensemble_is_one_call():
    models = [torch.nn.Linear(3, 2).to("mps") for _ in range(4)]
    parameters, _ = torch.func.stack_module_state(models)
    x = torch.randn(5, 3, device="mps")
    given = torch.func.vmap(lambda own: torch.func.functional_call(models[0], own, (x,)))(parameters)
    torch.testing.assert_close(given, torch.stack([model(x) for model in models]), rtol=1e-5, atol=1e-6)


def test_random_numbers_under_vmap():
    x = torch.zeros(3, 50, device="mps")
    with pytest.raises(RuntimeError, match="vmap: called random operation while in randomness error mode"):
        torch.func.vmap(torch.rand_like)(x)
    other = torch.func.vmap(torch.rand_like, randomness="different")(x)
    assert not torch.equal(other[0], other[1])
    same = torch.func.vmap(lambda row: F.dropout(row + 1), randomness="same")(x)
    assert torch.equal(same[0], same[1]) and set(same.unique().tolist()) == {0.0, 2.0}
