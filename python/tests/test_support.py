"""Which ops the device has: exactly those of the wheel's native_functions.yaml."""

import pathlib

import pytest
import torch
import torchgen
import yaml

import snippets

YAML = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"

COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")

#: Upstream registers the fallback with a warning as this op's kernel, in no file of the wheel.
ALWAYS_FALLS_BACK = {"embedding_renorm_"}


@pytest.fixture(scope="module")
def entries():
    """Backends and composites by op, with those of the op that a structured one delegates to."""
    listed = yaml.load(YAML.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    kernels, delegates = {}, {}
    for entry in listed:
        name = entry["func"].split("(")[0]
        # No `dispatch` at all means a composite of differentiable ops; an empty one means no kernel.
        keys = entry.get("dispatch", {} if "structured_delegate" in entry else {"CompositeImplicitAutograd": name})
        kernels[name] = {key.strip() for group in keys for key in group.split(",")}
        if "structured_delegate" in entry:
            delegates[name] = entry["structured_delegate"]
    assert len(kernels) > 2_500
    return {name: own | kernels[delegates[name]] if name in delegates else own for name, own in kernels.items()}


def _has(name, key):
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key)


def test_every_op_of_the_real_backend_is_here(entries):
    expected = {name for name, keys in entries.items() if "MPS" in keys}
    missing = {name for name in expected if not any(_has(name, key) for key in ("MPS", *COMPOSITES))}
    assert not missing
    assert len(expected) > 900


def test_no_other_op_is_here(entries):
    absent = {name for name, keys in entries.items() if not keys & {"MPS", *COMPOSITES}}
    assert {name for name in absent if any(_has(name, key) for key in COMPOSITES[:2])} == set()
    assert {name for name in absent if _has(name, "MPS")} == ALWAYS_FALLS_BACK
    assert len(absent) > 250


def test_sparse_ops(entries):
    for backend in ("SparseMPS", "SparseCsrMPS"):
        host = backend.replace("MPS", "CPU")
        here = {name for name in entries if _has(name, backend)}
        assert here == {name for name, keys in entries.items() if backend in keys and host in keys}, backend


def test_the_list_of_the_doctor_is_the_same(entries):
    from openmps.doctor import has_mps_kernel

    for name, keys in entries.items():
        if name in ALWAYS_FALLS_BACK:
            continue
        expected = bool(keys & {"MPS", *COMPOSITES})
        assert has_mps_kernel(f"aten::{name}") == expected, name


_CALL_ALL = """
    import torch
    x = torch.ones(2, 2, device="mps")
    def tell(call):
        try:
            call()
            print("works")
        except Exception as error:
            print(type(error).__name__, str(error).split(".")[0])
    tell(lambda: torch.mode(x))
    tell(lambda: torch.special.airy_ai(x))
    tell(lambda: torch.ones(2, dtype=torch.float64, device="mps"))
    tell(lambda: x.double())
    tell(lambda: torch.linalg.eig(x))
"""


def test_without_the_variable_what_is_missing_raises():
    lines = snippets.output(_CALL_ALL).splitlines()
    missing = "is not currently implemented for the MPS device"
    double = "TypeError Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64"
    assert lines == [
        f"NotImplementedError The operator 'aten::mode' {missing}",
        "NotImplementedError The operator 'aten::special_airy_ai",  # .out
        double,
        double,
        f"NotImplementedError The operator 'aten::linalg_eig' {missing}",
    ]


def test_with_the_variable_it_runs_and_warns_once():
    outcome = snippets.run(_CALL_ALL, PYTORCH_ENABLE_MPS_FALLBACK="1")
    words = [line.split()[0] for line in outcome.stdout.splitlines()]
    assert words == ["works", "works", "TypeError", "TypeError", "works"]
    assert outcome.stderr.count("UserWarning") == 1
    text = "UserWarning: The operator 'aten::mode' is not currently supported on the MPS backend and will fall back to run on the CPU."
    assert f"{text} This may have performance implications." in outcome.stderr


def test_ops_that_only_the_real_backend_has():
    aten = torch.ops.aten
    x, weight, bias = (torch.randn(*shape, device="mps") for shape in ((2, 4, 7, 7), (6, 4, 3, 3), (6,)))
    expected = torch.conv2d(x.cpu(), weight.cpu(), bias.cpu(), stride=2, padding=1)
    given = aten._mps_convolution(x.requires_grad_(), weight, bias, [1, 1], [2, 2], [1, 1], 1)
    torch.testing.assert_close(given.detach().cpu(), expected, rtol=1e-5, atol=1e-5)
    [gradient] = torch.autograd.grad(given.sum(), x)
    leaf = x.detach().cpu().requires_grad_()
    [wanted] = torch.autograd.grad(torch.conv2d(leaf, weight.cpu(), stride=2, padding=1).sum(), leaf)
    torch.testing.assert_close(gradient.cpu(), wanted, rtol=1e-5, atol=1e-5)
    up = torch.randn(4, 5, 3, 3, device="mps")
    expected = torch.conv_transpose2d(x.detach().cpu(), up.cpu(), stride=2, padding=1, output_padding=1)
    given = aten._mps_convolution_transpose(x.detach(), up, [1, 1], [1, 1], [2, 2], [1, 1], 1)
    torch.testing.assert_close(given.cpu(), expected, rtol=1e-5, atol=1e-5)


def _lstm_results(call, arguments):
    """Outputs and all gradients, as CPU tensors; the random numbers are those of a seed."""
    torch.manual_seed(5)
    leaves = [[tensor.requires_grad_() for tensor in group] for group in arguments]
    outputs = call(leaves[0][0], leaves[1], leaves[2])[:3]
    loss = outputs[0].square().sum() + 3 * outputs[2].sum()
    flat = [tensor for group in leaves for tensor in group]
    torch.rand(7, device=flat[0].device)  # Backward is not the next to draw.
    return [tensor.detach().cpu() for tensor in (*outputs, *torch.autograd.grad(loss, flat))]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_layers_of_an_lstm(dropout):
    model = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    shape = (True, 2, dropout, True, True, True)
    groups = [[torch.randn(5, 6, 3)], [torch.randn(4, 5, 4), torch.randn(4, 5, 4)], [weight.detach() for weights in model.all_weights for weight in weights]]
    moved = [[tensor.to("mps") for tensor in group] for group in groups]
    given = _lstm_results(lambda *tensors: torch.ops.aten._lstm_mps(*tensors, *shape), moved)
    # Where dropout draws, the CPU has other numbers.
    reference = moved if dropout else groups
    expected = _lstm_results(lambda *tensors: torch.ops.aten.lstm.input(*tensors, *shape), [[tensor.detach() for tensor in group] for group in reference])
    torch.testing.assert_close(given, expected, rtol=1e-4, atol=1e-5)


def test_weights_of_four_bits():
    rows, columns, group = 16, 64, 32
    codes = torch.randint(0, 16, (rows, columns), dtype=torch.uint8)
    packed = torch.ops.aten._convert_weight_to_int4pack((codes[:, ::2] | codes[:, 1::2] << 4).to("mps"), 2)
    assert packed.shape == (rows // 8, columns // 32, 32, 1) and packed.dtype == torch.int32
    scales_and_zeros = torch.rand(columns // group, rows, 2)
    x = torch.randn(3, columns)
    scales, zeros = (scales_and_zeros[:, :, index].t().repeat_interleave(group, 1) for index in (0, 1))
    expected = x @ ((codes.float() - 8) * scales + zeros).t()
    given = torch.ops.aten._weight_int4pack_mm(x.to("mps"), packed, group, scales_and_zeros.to("mps"))
    torch.testing.assert_close(given.cpu(), expected, rtol=1e-5, atol=1e-4)
    with pytest.raises(RuntimeError, match="_convert_weight_to_int4pack_mps : innerKTiles need to be 2, 4, or 8, got 3"):
        torch.ops.aten._convert_weight_to_int4pack(torch.zeros(8, 16, dtype=torch.uint8, device="mps"), 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_where_the_cpu_has_no_kernel_for_them(dtype):
    x = torch.rand(5, 4).to(dtype)
    given = torch.special.bessel_j0(x.to("mps"))
    assert given.dtype == dtype
    assert torch.equal(given.cpu(), torch.special.bessel_j0(x.float()).to(dtype))
    assert torch.equal(torch.cdist(x.to("mps"), x.to("mps")).cpu(), torch.cdist(x.float(), x.float()).to(dtype))
    out = torch.empty(0, dtype=dtype, device="mps")
    assert torch.special.zeta(x.to("mps") + 2, x.to("mps"), out=out) is out
    assert torch.equal(out.cpu(), torch.special.zeta((x + 2).float(), x.float()).to(dtype))
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        torch.pow(torch.ones(2, dtype=torch.bool, device="mps"), torch.ones(2, dtype=torch.bool, device="mps"))


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, float("inf")])
def test_gradients_of_distances_between_halves(p):
    rows, columns, weights = torch.randn(5, 4).half(), torch.randn(6, 4).half(), torch.rand(5, 6).half()
    found = []
    for device, dtype in (("cpu", torch.float32), ("mps", torch.float16)):
        leaves = [tensor.to(device, dtype).requires_grad_() for tensor in (rows, columns)]
        gradients = torch.autograd.grad(torch.cdist(*leaves, p=p), leaves, weights.to(device, dtype))
        found.append([gradient.cpu().half() for gradient in gradients])
    torch.testing.assert_close(found[1], found[0], rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32])
def test_arange_of_unsigned_integers(dtype):
    assert torch.equal(torch.arange(2, 9, 3, dtype=dtype, device="mps").cpu(), torch.tensor([2, 5, 8], dtype=dtype))
