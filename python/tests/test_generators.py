"""Every random op with a generator of its own, a saved state, a forked state, and by how many blocks it advances."""

import math

import pytest
import torch
import torch.nn.functional as F

#: No multiple of four, so that the last block is partly used.
COUNT = 1003


def _empty(dtype=torch.float32, count=COUNT):
    return torch.empty(count, dtype=dtype, device="mps")


def _weights(rows=5, categories=7):
    return torch.linspace(0.1, 1, rows * categories, device="mps").reshape(rows, categories)


_quarter = math.ceil(COUNT / 4)

#: The op with a generator, and the blocks that it takes.
OPS = {
    "uniform_": (lambda g: _empty().uniform_(2, 3, generator=g), _quarter),
    "rand of halves": (lambda g: torch.rand(COUNT, dtype=torch.float16, device="mps", generator=g), _quarter),
    "randn": (lambda g: torch.randn(COUNT, device="mps", generator=g), _quarter),
    "normal of tensors": (lambda g: torch.normal(torch.zeros(COUNT, device="mps"), torch.ones(COUNT, device="mps"), generator=g), _quarter),
    "log_normal_": (lambda g: _empty().log_normal_(generator=g), _quarter),
    "exponential_": (lambda g: _empty().exponential_(generator=g), _quarter),
    "cauchy_": (lambda g: _empty().cauchy_(generator=g), _quarter),
    "geometric_": (lambda g: _empty(torch.int32).geometric_(0.3, generator=g), _quarter),
    "bernoulli_ of a number": (lambda g: _empty(torch.bool).bernoulli_(0.3, generator=g), _quarter),
    "bernoulli of a tensor": (lambda g: torch.bernoulli(torch.full((COUNT,), 0.3, device="mps"), generator=g), COUNT),
    "randint of int32": (lambda g: torch.randint(9, (COUNT,), dtype=torch.int32, device="mps", generator=g), _quarter),
    "randint of int64": (lambda g: torch.randint(9, (COUNT,), device="mps", generator=g), math.ceil(COUNT / 2)),
    "randperm of few": (lambda g: torch.randperm(300, device="mps", generator=g), math.ceil(299 / 4)),
    "randperm of some": (lambda g: torch.randperm(COUNT, device="mps", generator=g), _quarter),
    "randperm of many": (lambda g: torch.randperm(40_001, device="mps", generator=g), math.ceil(40_001 / 4) + 40_001),
    "multinomial with replacement": (
        lambda g: torch.multinomial(_weights(), 9, replacement=True, generator=g),
        math.ceil(5 * 9 / 4),
    ),
    "multinomial without replacement": (lambda g: torch.multinomial(_weights(), 3, generator=g), math.ceil(5 * 7 / 4)),
    "multinomial of one sample": (lambda g: torch.multinomial(_weights(), 1, replacement=True, generator=g), math.ceil(5 * 7 / 4)),
    "poisson": (lambda g: torch.poisson(torch.full((COUNT,), 4.0, device="mps"), generator=g), 32 * COUNT),
    "binomial": (
        lambda g: torch.binomial(torch.full((COUNT,), 9.0, device="mps"), torch.full((COUNT,), 0.3, device="mps"), generator=g),
        32 * COUNT,
    ),
    "_standard_gamma": (lambda g: torch._standard_gamma(torch.full((COUNT,), 2.0, device="mps"), generator=g), 32 * COUNT),
    "_sample_dirichlet": (lambda g: torch._sample_dirichlet(torch.ones(11, 5, device="mps"), generator=g), 32 * 55),
}


def _offset(state: torch.Tensor) -> int:
    return state[36:].clone().view(torch.int64).item()


@pytest.mark.parametrize("name", OPS)
def test_own_generators(name, seed):
    draw, blocks = OPS[name]
    default = torch.mps.get_rng_state()
    first, second = (torch.Generator("mps").manual_seed(seed) for _ in range(2))
    values = draw(first)
    assert torch.equal(values, draw(second)), "the seed decides"
    assert _offset(first.get_state()) == blocks
    assert not torch.equal(draw(first), values), "the stream goes on"
    assert torch.equal(torch.mps.get_rng_state(), default), "the default generator is another"
    torch.mps.manual_seed(seed)
    assert torch.equal(draw(None), values), "the default generator has the same stream"


@pytest.mark.parametrize("name", OPS)
def test_saved_and_forked_states(name, seed):
    draw, blocks = OPS[name]
    torch.mps.manual_seed(seed)
    torch.rand(7, device="mps")
    state = torch.mps.get_rng_state()
    with torch.random.fork_rng(device_type="mps"):
        forked = draw(None)
        assert _offset(torch.mps.get_rng_state()) == _offset(state) + blocks
    assert torch.equal(torch.mps.get_rng_state(), state)
    assert torch.equal(draw(None), forked)
    own = torch.Generator("mps")
    own.set_state(state)
    assert torch.equal(draw(own), forked)
    assert torch.equal(own.get_state(), torch.mps.get_rng_state())


def test_offsets_are_read_and_set(seed):
    generator = torch.Generator("mps").manual_seed(seed)
    torch.rand(40, device="mps", generator=generator)
    assert generator.get_offset() == 10
    following = torch.rand(40, device="mps", generator=generator)
    generator.set_offset(10)
    assert torch.equal(torch.rand(40, device="mps", generator=generator), following)
    generator.set_offset(13)  # No multiple of four is asked for.
    assert torch.equal(torch.rand(28, device="mps", generator=generator), following[12:])


def test_dropout_takes_a_block_an_element(seed):
    torch.mps.manual_seed(seed)
    first = F.dropout(torch.ones(COUNT, device="mps"), 0.4)
    assert _offset(torch.mps.get_rng_state()) == COUNT
    with torch.random.fork_rng(device_type="mps"):
        torch.mps.manual_seed(seed)
        assert torch.equal(F.dropout(torch.ones(COUNT, device="mps"), 0.4), first)
    assert _offset(torch.mps.get_rng_state()) == COUNT


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex32])
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_dropout_of_complex_numbers_decides_once_a_number(dtype, seed):
    torch.mps.manual_seed(seed)
    x = torch.complex(torch.ones(COUNT), torch.full((COUNT,), 2.0)).to(dtype).to("mps")
    values, mask = torch.native_dropout(x, 0.5, True)
    assert values.dtype == dtype and 0.3 < mask.float().mean().item() < 0.7
    parts = torch.view_as_real(values.cpu())
    assert torch.equal(parts, torch.view_as_real(x.cpu()) * 2 * mask.cpu()[:, None])
    torch.mps.manual_seed(seed)
    assert torch.equal(torch.native_dropout(torch.ones(COUNT, device="mps"), 0.5, True)[1], mask)


def test_nothing_is_drawn_for_nothing(seed):
    generator = torch.Generator("mps").manual_seed(seed)
    for draw in (
        lambda: torch.rand(0, device="mps", generator=generator),
        lambda: torch.randperm(0, device="mps", generator=generator),
        lambda: torch.poisson(torch.empty(0, device="mps"), generator=generator),
    ):
        assert draw().numel() == 0
    assert generator.get_offset() == 0


def test_graph_safe_states_are_not_supported():
    generator = torch.Generator("mps")
    with pytest.raises(RuntimeError):
        generator.graphsafe_get_state()
