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
    torch._dynamo.utils.counters.clear()


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


def _random(*shape):
    return torch.randn(*shape)


def _indices(high, *shape):
    return torch.randint(0, high, shape)


def _reductions(x):
    return x.sum(), x.sum(0), x.mean(1), x.prod(1), x.amax(0), x.amin(1), (x > 0).any(1), (x > 0).all(0)


def _activations(x):
    return F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), x.sigmoid(), x.tanh(), F.softplus(x), F.leaky_relu(x), F.mish(x)


def _special_functions(x):
    positive = x.abs() + 0.5
    return (
        x.erf(), x.exp().log1p(), x.expm1(), positive.lgamma(), positive.digamma(), torch.special.i0(x), torch.special.i1(x),
        torch.special.bessel_j0(x), torch.special.zeta(positive + 2, positive), torch.special.entr(positive), x.sinc(),
    )  # fmt: skip


def _integer_operations(x, y):
    return x + y, x * y, x // y, x % y, x & y, x | y, x ^ y, x << 1, x >> 1, -x, x.abs(), ~x


def _embedding_mean(table, index):
    return F.embedding(index, table).relu().mean(1)


def _accumulate(x, index, values):
    return x.clone().index_put((index,), values, accumulate=True)


def _gather_scatter(x, index):
    return x.gather(0, index), x.scatter_add(0, index, x[: index.shape[0]])


def _masked_attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    future = torch.ones(scores.shape[-2:], device=q.device).triu(1).bool()
    return scores.masked_fill(future, float("-inf")).softmax(-1) @ v


def _pooling(x):
    return F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1)


def _upsampling(x):
    return F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear")


def _convolution(x, weight):
    zeros = torch.zeros(weight.shape[0], device=x.device)
    return F.batch_norm(F.conv2d(x, weight, padding=1), zeros, zeros + 1).relu()


def _qkv():
    return [_random(2, 4, 16, 8) for _ in range(3)]


# Name, function, what makes its arguments; each is compiled for mps and compared with the same function on the CPU, uncompiled.
_PROGRAMS = [
    ("softmax", lambda x: x.softmax(-1), lambda: [_random(33, 1000)]),
    ("log_softmax over rows", lambda x: x.log_softmax(0), lambda: [_random(33, 100)]),
    ("layer norm of a long row", lambda x: F.layer_norm(x, x.shape[1:]), lambda: [_random(8, 1500)]),
    ("group norm", lambda x: F.group_norm(x, 4), lambda: [_random(2, 8, 5, 5)]),
    ("rms norm", lambda x: F.rms_norm(x, (64,)), lambda: [_random(4, 64)]),
    ("welford", lambda x: (*torch.var_mean(x, dim=1), x.std(), x.var(0)), lambda: [_random(20, 3000)]),
    ("arg reductions", lambda x: (x.argmax(1), x.argmin(0), x.argmax(), x.max(1), x.min(0)), lambda: [_random(20, 3000)]),
    ("reductions", _reductions, lambda: [_random(20, 300).clamp(0.9, 1.1)]),
    ("reduction of a million", lambda x: x.square().sum(), lambda: [_random(1 << 20)]),
    ("scans", lambda x: (x.cumsum(1), x.cumprod(1), x.cummax(1), x.logcumsumexp(1)), lambda: [_random(7, 33)]),
    ("sort and topk", lambda x: (*x.sort(1), x.topk(3)[0]), lambda: [_random(7, 100)]),
    ("activations", _activations, lambda: [_random(100, 7)]),
    ("special functions", _special_functions, lambda: [_random(100)]),
    ("integers", _integer_operations, lambda: [torch.randint(-100, 100, (50,)), torch.randint(1, 10, (50,))]),
    ("where and clamp", lambda x: torch.where(x > 0, x, x * 0.1).clamp(-1, 1), lambda: [_random(100)]),
    ("pad and cat", lambda x: F.pad(torch.cat([x, x * 2]), (1, 2, 3, 4)), lambda: [_random(5, 6)]),
    ("arange", lambda x: torch.arange(x.shape[0], device=x.device) * x, lambda: [_random(10)]),
    ("triangle", lambda x: x.tril().masked_fill(x < 0, -1.0), lambda: [_random(10, 10)]),
    ("index", lambda x, index: x[index] * 2, lambda: [_random(50, 3), _indices(50, 20)]),
    ("accumulating index_put", _accumulate, lambda: [_random(50, 3), _indices(50, 20), _random(20, 3)]),
    ("gather and scatter", _gather_scatter, lambda: [_random(50, 3), _indices(50, 20, 3)]),
    ("embedding", _embedding_mean, lambda: [_random(50, 8), _indices(50, 4, 5)]),
    ("embedding bag", lambda table, index: F.embedding_bag(index, table), lambda: [_random(50, 8), _indices(50, 4, 5)]),
    ("one hot", lambda index: F.one_hot(index, 10), lambda: [_indices(10, 16)]),
    ("bucketize", lambda x, edges: torch.bucketize(x, edges), lambda: [_random(30), torch.tensor([-1.0, 0.0, 1.0])]),
    ("cross entropy", F.cross_entropy, lambda: [_random(16, 10), _indices(10, 16)]),
    ("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), _qkv),
    ("attention by hand", _masked_attention, _qkv),
    ("convolution", _convolution, lambda: [_random(2, 3, 16, 16), _random(8, 3, 3, 3)]),
    ("pooling", _pooling, lambda: [_random(2, 3, 16, 16)]),
    ("upsampling", _upsampling, lambda: [_random(2, 3, 8, 8)]),
    ("half", lambda x: x.float().softmax(-1) + x * 2, lambda: [_random(8, 100).half()]),
]


@pytest.mark.parametrize(("function", "arguments"), [pytest.param(*rest, id=name) for name, *rest in _PROGRAMS])
def test_program(function, arguments):
    arguments = arguments()
    expected = function(*arguments)
    actual = torch.compile(function, fullgraph=True)(*(argument.to("mps") for argument in arguments))
    on_cpu = torch.utils._pytree.tree_map(lambda tensor: tensor.cpu(), actual)
    # Float32 with other orders of sums than the CPU's.
    torch.testing.assert_close(on_cpu, expected, rtol=1e-4, atol=1e-4)


def test_bfloat16_rounds_once_an_operation():
    x = _random(8, 100).bfloat16()
    compiled = torch.compile(lambda x: (x * 2 + 1).relu())(x.to("mps"))
    # Fused, the product is not rounded on its own: one bfloat16 step at most.
    torch.testing.assert_close(compiled.cpu(), (x * 2 + 1).relu(), rtol=2**-7, atol=2**-7)


def test_one_compilation_serves_every_size():
    def function(x):
        return F.layer_norm(x, x.shape[1:]).cumsum(0) * x.shape[0] + x.softmax(0)

    compiled = torch.compile(function, dynamic=True, fullgraph=True)
    for shape in [(17, 29), (5, 100), (64, 3)]:
        x = _random(*shape)
        torch.testing.assert_close(compiled(x.to("mps")).cpu(), function(x), rtol=1e-4, atol=1e-4)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        pytest.param(torch.rand_like, 0.5, 12**-0.5, id="rand"),
        pytest.param(torch.randn_like, 0.0, 1.0, id="randn"),
        pytest.param(lambda x: F.dropout(torch.ones_like(x), 0.5), 1.0, 1.0, id="dropout"),
        pytest.param(lambda x: torch.randint_like(x, 10), 4.5, 8.25**0.5, id="randint"),
    ],
)
def test_random_numbers_follow_the_seed(draw, mean, deviation):
    compiled = torch.compile(draw)
    like = torch.empty(100_000, device="mps")
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(compiled(like).cpu())
    assert draws[0].equal(draws[1])
    assert not draws[0].equal(draws[2])
    # Five standard errors.
    assert abs(draws[0].mean().item() - mean) < 5 * deviation / 100_000**0.5
    assert abs(draws[0].std().item() - deviation) < 0.02


@pytest.mark.parametrize("function", [F.conv1d, F.conv2d, F.conv3d, F.conv_transpose2d])
@pytest.mark.parametrize("channels_last", ["neither", "input", "weight", "both"])
def test_convolutions_have_the_predicted_memory_format(function, channels_last):
    spatial = {F.conv1d: 1, F.conv3d: 3}.get(function, 2)
    x, weight = _random(2, 8, *[6] * spatial).to("mps"), _random(8, 8, *[3] * spatial).to("mps")
    memory_format = {2: torch.channels_last, 3: torch.channels_last_3d}.get(spatial, torch.contiguous_format)
    if channels_last in ("input", "both"):
        x = x.contiguous(memory_format=memory_format)
    if channels_last in ("weight", "both"):
        weight = weight.contiguous(memory_format=memory_format)
    gradients = []
    for run in (function, torch.compile(function)):
        leaves = [tensor.detach().requires_grad_() for tensor in (x, weight)]
        result = run(*leaves, padding=1)
        result.square().sum().backward()
        gradients.append((result.detach(), *(leaf.grad for leaf in leaves)))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


class _Block(torch.nn.Module):
    """A transformer block."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(_masked_attention(q, k, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


def test_transformer_block_trains_like_the_uncompiled_one():
    block = _Block(32, 4)
    x = _random(2, 12, 32)
    losses = {}
    for device, wrap in (("cpu", lambda module: module), ("mps", torch.compile)):
        model = _Block(32, 4)
        model.load_state_dict(block.state_dict())
        model.to(device)
        run, optimizer = wrap(model), torch.optim.AdamW(model.parameters(), lr=1e-3)
        losses[device] = []
        for _ in range(4):
            loss = run(x.to(device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[device].append(loss.item())
    # Adam divides by small numbers: four steps amplify float32's differences.
    assert losses["mps"] == pytest.approx(losses["cpu"], rel=1e-3)
    assert losses["cpu"][-1] < losses["cpu"][0]
