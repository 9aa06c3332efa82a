"""Every optimizer of `torch.optim`, one tensor at a time, in lists and fused: three steps against the CPU's."""

import copy

import pytest
import torch

import snippets

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adagrad": {}, "Adadelta": {}, "Adamax": {}, "NAdam": {},
    "RAdam": {}, "RMSprop": {"momentum": 0.5, "centered": True}, "Rprop": {}, "ASGD": {}, "Adafactor": {}, "Muon": {}, "LBFGS": {}, "SparseAdam": {},
}  # fmt: skip

#: Those that have variants for lists of tensors, and fused ones for MPS.
IN_LISTS = set(OPTIMIZERS) - {"Muon", "LBFGS", "SparseAdam"}
FUSED = {"SGD", "Adam", "AdamW"}


def _steps(model, name, x, **options):
    optimizer = getattr(torch.optim, name)(model.parameters(), **OPTIMIZERS[name], **options)

    def loss():
        optimizer.zero_grad()
        value = model(x).square().mean()
        value.backward()
        if name == "SparseAdam":
            for parameter in model.parameters():
                parameter.grad = parameter.grad.to_sparse()
        return value

    for _ in range(3):
        optimizer.step(loss)
    return [parameter.detach().cpu() for parameter in model.parameters()]


VARIANTS = [
    *((name, {}) for name in OPTIMIZERS),
    *((name, {"foreach": True}) for name in sorted(IN_LISTS)),
    *((name, {"fused": True}) for name in sorted(FUSED)),
]


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=lambda value: value if isinstance(value, str) else " ".join(value) or "default")
def test_steps_as_on_the_cpu(name, options):
    model, x = torch.nn.Linear(4, 3, bias=name != "Muon"), torch.randn(8, 4)
    expected = _steps(copy.deepcopy(model), name, x)
    given = _steps(model.to("mps"), name, x.to("mps"), **options)
    # Muon iterates in bfloat16.
    tolerance = 1e-2 if name == "Muon" else 1e-4
    torch.testing.assert_close(given, expected, rtol=tolerance, atol=tolerance / 10)


def test_what_the_real_backend_has_no_fused_step_for():
    parameter = torch.nn.Parameter(torch.ones(3, device="mps"))
    parameter.grad = torch.ones(3, device="mps")
    with pytest.raises(NotImplementedError, match="The operator 'aten::_fused_adagrad_' is not currently implemented for the MPS device"):
        torch.optim.Adagrad([parameter], fused=True).step()


def test_state_moves_with_a_checkpoint(tmp_path):
    code = f"""
        import torch
        model = torch.nn.Linear(3, 2).to("mps")
        optimizer = torch.optim.AdamW(model.parameters())
        model(torch.ones(1, 3, device="mps")).sum().backward()
        optimizer.step()
        torch.save([model.state_dict(), optimizer.state_dict()], {str(tmp_path / "state.pt")!r})
    """
    snippets.output(code)
    weights, state = torch.load(tmp_path / "state.pt", map_location="cpu")
    model = torch.nn.Linear(3, 2)
    model.load_state_dict(weights)
    model.to("mps")
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.load_state_dict(state)
    assert all(value["exp_avg"].device.type == "mps" for value in optimizer.state.values())
    model(torch.ones(1, 3, device="mps")).sum().backward()
    optimizer.step()
