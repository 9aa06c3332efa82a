"""Seeds, states and the generator object. The streams themselves are checked against Philox's vectors in Rust."""

import pytest
import torch
import torch.nn.functional as F

import snippets


def test_manual_seed_repeats(seed):
    torch.mps.manual_seed(seed)
    first = torch.rand(100, device="mps")
    torch.mps.manual_seed(seed)
    assert torch.equal(torch.rand(100, device="mps"), first)
    assert not torch.equal(torch.rand(100, device="mps"), first)


def test_torch_manual_seed_includes_the_device(seed):
    torch.manual_seed(seed)
    first = torch.randn(10, device="mps")
    torch.manual_seed(seed)
    assert torch.equal(torch.randn(10, device="mps"), first)


def test_state_round_trip():
    torch.rand(7, device="mps")
    state = torch.mps.get_rng_state()
    assert (state.dtype, state.shape, state.device.type) == (torch.uint8, (44,), "cpu")
    first = torch.randn(1000, device="mps")
    torch.mps.set_rng_state(state)
    assert torch.equal(torch.mps.get_rng_state(), state)
    assert torch.equal(torch.randn(1000, device="mps"), first)


def test_state_after_manual_seed():
    torch.mps.manual_seed(0x1122334455667788)
    state = torch.mps.get_rng_state()
    assert state[:28].view(torch.int32).tolist() == [1, 1, 1, 1, 1, 0x55667788, 0x11223344]
    seed, offset = state[28:].clone().view(torch.int64).tolist()
    assert (seed, offset) == (0x1122334455667788, 0)


def test_negative_seeds_wrap():
    torch.mps.manual_seed(-1)
    assert torch.mps._get_default_mps_generator().initial_seed() == 2**64 - 1


def test_seed_is_new_each_time():
    assert torch.mps.seed() is None
    generator = torch.mps._get_default_mps_generator()
    first = generator.initial_seed()
    torch.mps.seed()
    assert generator.initial_seed() != first


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        (torch.zeros(44), TypeError, "RNG state must be a torch.ByteTensor"),
        (torch.zeros(16, dtype=torch.uint8), RuntimeError, "RNG state is wrong size"),
        (torch.zeros(5056, dtype=torch.uint8), RuntimeError, "RNG state is wrong size"),
    ],
)
def test_bad_states_are_refused(state, error, text):
    before = torch.mps.get_rng_state()
    with pytest.raises(error, match=text):
        torch.mps.set_rng_state(state)
    assert torch.equal(torch.mps.get_rng_state(), before)


def test_strided_state_needs_the_setter_that_clones(seed):
    torch.mps.manual_seed(seed)
    spread = torch.zeros(88, dtype=torch.uint8)
    spread[::2] = torch.mps.get_rng_state()
    with pytest.raises(RuntimeError, match="RNG state must be contiguous"):
        torch.mps._get_default_mps_generator().set_state(spread[::2])
    torch.mps.set_rng_state(spread[::2])


def test_own_generator(seed):
    generator = torch.Generator(device="mps")
    assert generator.device == torch.device("mps:0")
    assert generator.initial_seed() == 67280421310721
    generator.manual_seed(seed)
    first = torch.randn(5, generator=generator, device="mps")
    default = torch.mps.get_rng_state()
    other = torch.Generator("mps").manual_seed(seed)
    assert torch.equal(torch.randn(5, generator=other, device="mps"), first)
    assert torch.equal(torch.mps.get_rng_state(), default)


def test_clone_continues_alone(seed):
    generator = torch.Generator("mps").manual_seed(seed)
    torch.rand(3, device="mps", generator=generator)
    clone = generator.clone_state() if hasattr(generator, "clone_state") else torch.Generator("mps")
    clone.set_state(generator.get_state())
    first = torch.rand(3, device="mps", generator=generator)
    assert torch.equal(torch.rand(3, device="mps", generator=clone), first)


def test_a_generator_of_another_device():
    with pytest.raises(RuntimeError, match="Expected a 'mps' device type for generator but found 'cpu'"):
        torch.rand(3, device="mps", generator=torch.Generator())


def test_the_cpu_generator_is_not_advanced(seed):
    torch.manual_seed(seed)
    expected = torch.rand(4)
    torch.manual_seed(seed)
    torch.rand(10, device="mps")
    torch.nn.functional.dropout(torch.ones(10, device="mps"))
    torch.randperm(10, device="mps")
    torch.multinomial(torch.ones(4, device="mps"), 2)
    torch.empty(3, device="mps").exponential_()
    assert torch.equal(torch.rand(4), expected)


def test_fork_rng_restores():
    before = torch.mps.get_rng_state()
    with torch.random.fork_rng(device_type="mps"):
        torch.rand(10, device="mps")
        assert not torch.equal(torch.mps.get_rng_state(), before)
    assert torch.equal(torch.mps.get_rng_state(), before)


def _moments(values: torch.Tensor) -> tuple[float, float]:
    values = values.cpu().double()
    return values.mean().item(), values.var().item()


# Means of n samples are within 6 standard errors except once in 10^9 runs; the bounds below are wider than that for n = 200000.
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_distributions_have_their_moments(dtype):
    n = 200000
    uniform = torch.rand(n, device="mps", dtype=dtype)
    assert uniform.min() >= 0 and uniform.max() <= 1
    mean, variance = _moments(uniform)
    assert abs(mean - 0.5) < 0.01 and abs(variance - 1 / 12) < 0.01
    mean, variance = _moments(torch.randn(n, device="mps", dtype=dtype))
    assert abs(mean) < 0.02 and abs(variance - 1) < 0.03
    mean, _ = _moments(torch.full((n,), 0.25, device="mps", dtype=dtype).bernoulli())
    assert abs(mean - 0.25) < 0.01


def test_more_distributions():
    n = 200000
    mean, variance = _moments(torch.empty(n, device="mps").exponential_(2.0))
    assert abs(mean - 0.5) < 0.01 and abs(variance - 0.25) < 0.02
    mean, variance = _moments(torch.normal(3.0, 2.0, (n,), device="mps"))
    assert abs(mean - 3) < 0.05 and abs(variance - 4) < 0.1
    integers = torch.randint(-3, 5, (n,), device="mps")
    assert integers.min() == -3 and integers.max() == 4
    counts = torch.bincount((integers + 3).cpu(), minlength=8)
    assert (counts - n / 8).abs().max() < n / 100
    assert torch.equal(torch.randperm(1000, device="mps").sort().values.cpu(), torch.arange(1000))


def test_dropout_keeps_the_expected_share():
    kept = F.dropout(torch.ones(200000, device="mps"), 0.3)
    assert abs((kept != 0).float().mean().item() - 0.7) < 0.01
    assert torch.allclose(kept[kept != 0], torch.tensor(1 / 0.7, device="mps"))


def test_default_generator_starts_unseeded():
    code = "import torch; print(torch.mps._get_default_mps_generator().initial_seed())"
    assert snippets.output(code) != snippets.output(code)


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: torch.randn(3, generator=g), lambda g: torch.rand(3, generator=g), lambda g: torch.randint(9, (3,), generator=g),
        lambda g: torch.empty(3, 2).t().exponential_(generator=g), lambda g: torch.bernoulli(torch.full((3,), 0.5), generator=g),
        lambda g: torch.multinomial(torch.ones(3), 1, generator=g), lambda g: torch._standard_gamma(torch.ones(3), generator=g),
    ],
)  # fmt: skip
def test_cpu_tensors_do_not_draw_from_the_device_generator(draw):
    with pytest.raises(RuntimeError, match="Passed CPU tensor to MPS op"):
        draw(torch.Generator("mps"))
