"""Operators against the CPU on random input, and what the device refuses."""

import gc

import pytest
import torch
import torch.nn.functional as F

#: float32 results of the same ATen kernels over the same memory: rounding may differ only by the order of sums.
CLOSE = {"rtol": 1.3e-6, "atol": 1e-5}


def _same(function, *arguments):
    """Asserts that `function` gives on mps what it gives on cpu."""
    expected = function(*arguments)
    actual = function(*(a.to("mps") if isinstance(a, torch.Tensor) else a for a in arguments))
    expected = expected if isinstance(expected, tuple | list) else (expected,)
    actual = actual if isinstance(actual, tuple | list) else (actual,)
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.device.type == "mps"
        torch.testing.assert_close(ours.cpu(), theirs, **CLOSE)


_UNARY = "abs neg exp log1p sqrt sin tanh sigmoid relu gelu erf floor round sign square".split()


@pytest.mark.parametrize("name", _UNARY)
def test_unary(name):
    function = getattr(torch, name, None) or getattr(F, name)
    _same(function, torch.rand(7, 11) + 0.1)
    _same(function, torch.rand(8, 6).t() + 0.1)


_BINARY = "add sub mul div maximum minimum pow atan2 eq lt logical_and".split()


@pytest.mark.parametrize("name", _BINARY)
def test_binary(name):
    function = getattr(torch, name)
    _same(function, torch.rand(5, 7) + 0.5, torch.rand(5, 7) + 0.5)
    _same(function, torch.rand(5, 7) + 0.5, torch.rand(7) + 0.5)
    _same(lambda a: function(a, torch.tensor(2.0)), torch.rand(5, 7))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(1), lambda x: x.mean(), lambda x: x.var(0), lambda x: x.max(1), lambda x: x.argmin(0), lambda x: x.sort(1),
        lambda x: x.topk(3), lambda x: x.cumsum(1), lambda x: x.softmax(-1), lambda x: x.log_softmax(0), lambda x: x.norm(),
        lambda x: x.flip(0), lambda x: x.roll(2, 1), lambda x: torch.cat([x, x], 1), lambda x: torch.stack([x, x]),
        lambda x: x.split(3, 1), lambda x: x @ x.t(), lambda x: torch.einsum("ij,kj->ik", x, x), lambda x: x.tril(),
        lambda x: torch.where(x > 0, x, -x), lambda x: x.gather(1, x.argsort(1)), lambda x: x.unique(), lambda x: x.nonzero(),
        lambda x: F.layer_norm(x, x.shape[1:]), lambda x: F.pad(x, (1, 2)), lambda x: x.clamp(-0.5, 0.5), lambda x: x.repeat(2, 3),
        lambda x: x.masked_fill(x > 0, 0.0), lambda x: torch.linalg.qr(x).R.abs(), lambda x: torch.linalg.svdvals(x),
        lambda x: torch.fft.rfft(x).abs(), lambda x: F.one_hot(x.argmax(1), 9), lambda x: x.logsumexp(1),
    ],
)  # fmt: skip
def test_reductions_shapes_and_products(function):
    _same(function, torch.randn(6, 9))


@pytest.mark.parametrize(
    "make",
    [
        lambda: (torch.nn.Conv1d(3, 6, 3, padding=1, groups=3), (2, 3, 9)),
        lambda: (torch.nn.Conv2d(3, 6, 3, stride=2, padding=1), (2, 3, 9, 9)),
        lambda: (torch.nn.Conv2d(4, 4, 3, padding="same", dilation=2), (2, 4, 8, 8)),
        lambda: (torch.nn.Conv3d(3, 4, 3), (2, 3, 5, 5, 5)),
        lambda: (torch.nn.ConvTranspose2d(3, 6, 3, stride=2), (2, 3, 5, 5)),
        lambda: (torch.nn.BatchNorm2d(3), (4, 3, 5, 5)),
        lambda: (torch.nn.BatchNorm1d(3).eval(), (4, 3)),
        lambda: (torch.nn.GroupNorm(2, 4), (3, 4, 5)),
        lambda: (torch.nn.RMSNorm(6), (4, 6)),
        lambda: (torch.nn.MaxPool2d(2), (2, 3, 8, 8)),
        lambda: (torch.nn.AvgPool2d(3, 2, 1), (2, 3, 8, 8)),
        lambda: (torch.nn.AdaptiveAvgPool2d(2), (2, 3, 8, 8)),
        lambda: (torch.nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 4)),
        lambda: (torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), (2, 5, 16)),
    ],
)
def test_modules_forward_and_backward(make):
    module, shape = make()
    x = torch.randn(shape)
    results = []
    for device in ("cpu", "mps"):
        module.zero_grad()
        module.to(device)
        leaf = x.clone().to(device).requires_grad_()
        output = module(leaf)
        output.square().sum().backward()
        results.append([output.detach().cpu(), leaf.grad.cpu(), *(p.grad.detach().cpu() for p in module.parameters())])
    for ours, theirs in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent(kind):
    module = kind(4, 5, 2, batch_first=True)
    x = torch.randn(2, 6, 4)
    expected, _ = module(x)
    actual, _ = module.to("mps")(x.to("mps"))
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-5, atol=1e-5)
    actual.sum().backward()


@pytest.mark.parametrize("masked", ["not", "causal", "bool", "float"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float16, 2e-2), (torch.bfloat16, 5e-2)])
def test_attention(masked, dtype, tolerance):
    inputs = [torch.randn(2, 3, 17, 8).to(dtype) for _ in range(3)]
    mask = {"bool": torch.rand(17, 17) < 0.7, "float": torch.randn(17, 17).to(dtype)}.get(masked)
    if masked == "bool":
        mask.fill_diagonal_(True)  # A row that may attend to nothing has no defined result.
    results = []
    for device in ("cpu", "mps"):
        leaves = [tensor.clone().to(device).requires_grad_() for tensor in inputs]
        moved = None if mask is None else mask.to(device)
        output = F.scaled_dot_product_attention(*leaves, attn_mask=moved, is_causal=masked == "causal")
        output.float().square().sum().backward()
        results.append([output.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)])
    for ours, theirs in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap has no rule for fused attention, on the CPU neither.
def test_attention_of_other_kinds():
    q = torch.randn(2, 4, 9, 8, device="mps", requires_grad=True)
    assert F.scaled_dot_product_attention(q, q, q, dropout_p=0.3).shape == q.shape
    assert F.scaled_dot_product_attention(q, q[:, :2], q[:, :2], enable_gqa=True).shape == q.shape
    expected = F.scaled_dot_product_attention(q, q, q)
    torch.testing.assert_close(torch.func.vmap(F.scaled_dot_product_attention)(q, q, q), expected, **CLOSE)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        torch.testing.assert_close(F.scaled_dot_product_attention(q, q, q), expected, **CLOSE)


def test_attention_is_differentiable_twice():
    inputs = [torch.randn(1, 2, 5, 8) for _ in range(3)]
    results = []
    for device, backend in (("cpu", torch.nn.attention.SDPBackend.MATH), ("mps", torch.nn.attention.SDPBackend.FLASH_ATTENTION)):
        leaves = [tensor.to(device).requires_grad_() for tensor in inputs[:2]] + [inputs[2].to(device)]
        with torch.nn.attention.sdpa_kernel(backend):
            output = F.scaled_dot_product_attention(*leaves, scale=0.7)
        first = torch.autograd.grad(output.square().sum(), leaves[:2], create_graph=True)
        second = torch.autograd.grad(sum(gradient.square().sum() for gradient in first), leaves[:2])
        results.append([tensor.detach().cpu() for tensor in (output, *first, *second)])
    for ours, theirs in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


class _Operators(torch.utils._python_dispatch.TorchDispatchMode):
    """Remembers which operators ran."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function._schema.name.removeprefix("aten::"))
        return function(*args, **(kwargs or {}))


def test_who_looks_at_operators_sees_those_of_a_mac():
    q = torch.randn(1, 2, 5, 8, device="mps")
    mask = torch.ones(5, 5, dtype=torch.bool, device="mps").tril()
    with _Operators() as operators:
        F.scaled_dot_product_attention(q, q, q, is_causal=True)
        F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    attention = "_scaled_dot_product_attention_math_for_mps"
    assert operators.names[0] == operators.names[-1] == attention and operators.names.count(attention) == 2
    with _Operators() as operators:
        F.scaled_dot_product_attention(q.requires_grad_(), q, q)
    assert "_safe_softmax" in operators.names and not any("attention" in name for name in operators.names)


def test_out_and_in_place():
    out = torch.empty(0, device="mps")
    torch.add(torch.ones(4, device="mps"), 1, out=out)
    assert out.tolist() == [2] * 4
    address = out.data_ptr()
    torch.mul(torch.ones(4, device="mps"), 3, out=out)
    assert out.data_ptr() == address and out.tolist() == [3] * 4
    target = torch.zeros(4, 4, device="mps")
    torch.mm(torch.eye(4, device="mps"), torch.eye(4, device="mps"), out=target.t())
    assert target.trace().item() == 4
    out.resize_(10)
    assert out.shape == (10,)


def test_foreach_and_fused_optimizers():
    for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        weights = {device: torch.nn.Parameter(torch.linspace(-1, 1, 10, device=device)) for device in ("cpu", "mps")}
        for weight in weights.values():
            steps = optimizer([weight], lr=0.1)
            for _ in range(3):
                steps.zero_grad()
                weight.square().sum().backward()
                steps.step()
        torch.testing.assert_close(weights["mps"].detach().cpu(), weights["cpu"].detach())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    a, b = torch.randn(16, 8).to(dtype), torch.randn(8, 4).to(dtype)
    assert torch.equal((a.to("mps") @ b.to("mps")).cpu(), a @ b)
    assert torch.equal(a.to("mps").softmax(-1).cpu(), a.softmax(-1))


def test_scalars_of_the_cpu_mix_and_tensors_do_not():
    x = torch.ones(3, device="mps")
    assert (x * torch.tensor(3.0)).tolist() == [3.0] * 3
    assert (x * torch.tensor(3.0, dtype=torch.float64)).dtype == torch.float32
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + torch.ones(3)


_MIXED = {
    "out= of add": lambda cpu, mps: torch.add(mps, 1, out=cpu),
    "out= of mm": lambda cpu, mps: torch.mm(mps, mps, out=cpu),
    "out= on the device": lambda cpu, mps: torch.add(cpu, 1, out=mps),
    "lists": lambda cpu, mps: torch.cat([mps, cpu]),
    "lists that begin with cpu": lambda cpu, mps: torch.stack([cpu, mps]),
    "where": lambda cpu, mps: torch.where(mps > 0, cpu, cpu),
    "lerp": lambda cpu, mps: torch.lerp(mps, mps, cpu),
    "masks": lambda cpu, mps: mps.masked_fill(cpu > 0, 1),
    "copysign": lambda cpu, mps: torch.copysign(mps, cpu),
    "index_fill": lambda cpu, mps: mps.index_fill(0, torch.tensor([0]), 1.0),
    "in place": lambda cpu, mps: mps.add_(cpu),
    "in place on the cpu": lambda cpu, mps: cpu.add_(mps),
    "foreach": lambda cpu, mps: torch._foreach_add([mps], [cpu]),
    "matrices": lambda cpu, mps: torch.addmm(mps, cpu, mps),
}


@pytest.mark.parametrize("function", _MIXED.values(), ids=_MIXED)
def test_mixed_devices_are_refused(function):
    """All memory is host memory, so without a check these would compute, and fail on a Mac only."""
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        function(torch.randn(3, 3), torch.randn(3, 3, device="mps"))


def test_indices_may_be_on_the_cpu_but_the_indexed_tensor_decides():
    cpu = torch.randn(5)
    mps, index = cpu.to("mps"), torch.tensor([3, 1])
    assert torch.equal(mps[index].cpu(), cpu[index])
    mps[index] = torch.tensor(2.0)
    assert mps[index].tolist() == [2.0, 2.0]
    for wrong in (index.to("mps"), mps > 0):
        with pytest.raises(RuntimeError, match=r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)"):
            cpu[wrong]


def test_set_takes_storage_of_its_own_device_only():
    cpu, mps = torch.ones(3), torch.ones(3, device="mps")
    text = 'Attempted to set the storage of a tensor on device "{}" to a storage on different device "{}".  This is no longer'
    for source in (cpu, cpu.untyped_storage()):
        with pytest.raises(RuntimeError, match=text.format("mps:0", "cpu")):
            torch.zeros(3, device="mps").set_(source)
    with pytest.raises(RuntimeError, match=text.format("mps:0", "cpu")):
        torch.zeros(3, device="mps").set_(cpu.untyped_storage(), 0, (3,), (1,))
    with pytest.raises(RuntimeError, match=text.format("cpu", "mps:0")):
        torch.zeros(3).set_(mps)
    shared = torch.zeros(0, device="mps").set_(mps)
    mps.add_(1)
    assert shared.tolist() == [2.0] * 3


def test_ops_that_upstream_lacks_are_refused():
    x = torch.randn(4, 4, device="mps")
    for call in (
        lambda: torch.mode(x),
        lambda: torch.linalg.eig(x),
        lambda: torch.special.airy_ai(x),
        lambda: F.adaptive_max_pool3d(torch.randn(1, 1, 4, 4, 4, device="mps"), 2),
    ):
        with pytest.raises(NotImplementedError, match="is not currently implemented for the MPS device"):
            call()
    assert (x + 1).device.type == "mps"


def test_index_out_of_range():
    x = torch.randn(4, device="mps")
    with pytest.raises((IndexError, RuntimeError)):
        print(x[torch.tensor([7], device="mps")])
    with pytest.raises(IndexError):
        x[5]
    assert (x * 0).sum().item() == 0


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
def test_sparse():
    indices = torch.tensor([[0, 1, 2], [2, 0, 1]])
    values = torch.randn(3)
    dense = torch.sparse_coo_tensor(indices, values, (3, 3)).to_dense()
    sparse = torch.sparse_coo_tensor(indices, values, (3, 3)).to("mps")
    assert sparse.device.type == "mps" and sparse.is_sparse
    torch.testing.assert_close((sparse @ torch.eye(3, device="mps")).cpu(), dense)


def _layouts(device, seed):
    """Tensors whose sizes, strides, offsets, types and flags have little in common, the same for each device."""
    torch.manual_seed(seed)
    bases = [torch.randn(2, 3, 4, 5), torch.randn(2, 3, 2, 4, 5), torch.randn(9, 9), torch.randn(1, 2, 1, 3, 1, 2, 2)]
    four, five, square, seven = (base.to(device) for base in bases)
    return [
        four, four.contiguous(memory_format=torch.channels_last), five, five.contiguous(memory_format=torch.channels_last_3d), seven,
        four[0, 0, 0, 0], four[:0], four[:, :0].transpose(0, 1), four[:1, :1, :1, :1], square.t(), square[2:7, 1::3],
        square[0].expand(4, 9), square[:1].expand(1, 9), seven.permute(6, 0, 5, 1, 4, 2, 3), square.half(), square.long(),
        torch.view_as_complex(square[:, :2].contiguous()), torch.view_as_complex(square[:, :2].contiguous()).conj(),
    ]  # fmt: skip


def test_one_call_leaves_nothing_for_the_next(seed):
    # Arguments of kernels stand in tensors that a thread uses again, with another shape and memory.
    ops = [
        lambda x: x + x, lambda x: x * 2, lambda x: x.neg(), lambda x: x.clone(), lambda x: torch.cat([x, x]) if x.dim() else -x,
        lambda x: x.reshape(-1).sum(), lambda x: torch.zeros_like(x).add_(x), lambda x: torch.where(x == x, x, x),
    ]  # fmt: skip
    pairs = list(zip(_layouts("cpu", seed), _layouts("mps", seed), strict=True))
    for at in torch.randperm(len(pairs) * len(ops)).tolist():
        (theirs, ours), op = pairs[at // len(ops)], ops[at % len(ops)]
        assert ours.stride() == theirs.stride()
        expected, actual = op(theirs), op(ours)
        assert actual.stride() == expected.stride() and actual.dtype == expected.dtype
        torch.testing.assert_close(actual.cpu(), expected, rtol=1e-3, atol=1e-3)


def test_memory_is_free_after_calls_that_raise_or_return_their_argument():
    def raises(x):
        with pytest.raises(RuntimeError):
            x + x.new_ones(x.numel() + 1)
        with pytest.raises(RuntimeError):
            torch.mm(x, x)

    ops = [
        raises, torch.conj_physical, torch.resolve_neg, lambda x: x.to(x.dtype), lambda x: x.add_(x), torch.detach,
        lambda x: F.dropout(x, 0.5, training=False), lambda x: x.expand(2, -1), torch.real,
        lambda x: torch.cat([x]), lambda x: x.contiguous(), lambda x: x[None].squeeze(0).sum(0, keepdim=True),
    ]  # fmt: skip
    torch.mps.synchronize()
    gc.collect()
    before = torch.mps.current_allocated_memory()
    for op in ops:
        for _ in range(3):
            x = torch.randn(1000, device="mps")
            result = op(x)
            again = op(x)
            del x
            if result is not None:
                torch.testing.assert_close(result.cpu() * 0, again.cpu() * 0)
            del result, again
        gc.collect()
        assert torch.mps.current_allocated_memory() == before, op
