"""Creating tensors: every dtype and factory, and the refusals."""

import pytest
import torch

#: What upstream's guard advertises; float8 has few operators anywhere and is copied only.
DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.bfloat16, torch.bool,
    torch.complex64, torch.uint16, torch.uint32, torch.uint64,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex32, torch.float8_e4m3fn], ids=str)
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_empty_and_zeros(dtype):
    tensor = torch.empty(3, 5, dtype=dtype, device="mps")
    assert (tensor.dtype, tensor.shape, tensor.stride(), tensor.device.type) == (dtype, (3, 5), (5, 1), "mps")
    assert bytes(torch.zeros(7, dtype=dtype, device="mps").cpu().view(torch.uint8).tolist()) == bytes(7 * dtype.itemsize)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_full_and_ones(dtype):
    assert torch.equal(torch.ones(9, dtype=dtype, device="mps").cpu(), torch.ones(9, dtype=dtype))
    assert torch.equal(torch.full((4, 2), 1, dtype=dtype, device="mps").cpu(), torch.full((4, 2), 1, dtype=dtype))


def test_factories_match_the_cpu():
    for make in (
        lambda device: torch.arange(3, 30, 4, device=device),
        lambda device: torch.arange(0.5, 3, 0.25, device=device),
        lambda device: torch.linspace(-1, 1, 11, device=device),
        lambda device: torch.logspace(0, 2, 5, device=device),
        lambda device: torch.eye(3, 5, device=device),
        lambda device: torch.tensor([[1, 2], [3, 4]], device=device),
        lambda device: torch.as_tensor([1.5, 2.5], device=device),
        lambda device: torch.tril_indices(4, 3, device=device),
        lambda device: torch.hann_window(8, device=device),
    ):
        torch.testing.assert_close(make("mps").cpu(), make("cpu"))


def test_like_factories_stay_on_the_device():
    source = torch.ones(2, 3, device="mps")
    for make in (torch.empty_like, torch.zeros_like, torch.ones_like, torch.rand_like, torch.randn_like):
        assert make(source).device == source.device
    assert source.new_zeros(3).device == source.device
    assert torch.zeros_like(source, device="cpu").device.type == "cpu"


def test_memory_formats():
    tensor = torch.empty(2, 3, 4, 5, device="mps", memory_format=torch.channels_last)
    assert tensor.is_contiguous(memory_format=torch.channels_last)
    strided = torch.empty_strided((3, 4), (1, 3), device="mps")
    assert strided.stride() == (1, 3) and strided.untyped_storage().nbytes() == 48


def test_empty_tensors_and_scalars():
    assert torch.empty(0, 3, device="mps").sum().item() == 0
    scalar = torch.tensor(3.0, device="mps")
    assert scalar.item() == 3 and float(scalar) == 3.0 and int(scalar) == 3 and bool(scalar)
    with pytest.raises(RuntimeError, match="a Tensor with 0 elements cannot be converted to Scalar"):
        torch.empty(0, device="mps").item()


def test_printing():
    assert repr(torch.arange(3, device="mps")) == "tensor([0, 1, 2], device='mps:0')"
    assert f"{torch.tensor(1.5, device='mps'):.2f}" == "1.50"


_FLOAT64 = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use float32 instead."
)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2, dtype=torch.float64, device="mps"),
        lambda: torch.empty_strided((2,), (1,), dtype=torch.float64, device="mps"),
        lambda: torch.ones(2, dtype=torch.float64, device="mps"),
        lambda: torch.ones(2, dtype=torch.float64).to("mps"),
        lambda: torch.ones(2, device="mps").double(),
        lambda: torch.ones(2, device="mps").to(torch.float64),
        lambda: torch.tensor([1.0], dtype=torch.float64, device="mps"),
    ],
)
def test_float64_is_refused(make):
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == _FLOAT64


def test_refused_shapes_and_layouts():
    with pytest.raises(RuntimeError, match=r"MPS supports tensors with dimensions <= 16, but got 17\."):
        torch.empty([1] * 17, device="mps")
    with pytest.raises(RuntimeError, match=r"Trying to create tensor with negative dimension -1: \[2, -1\]"):
        torch.empty(2, -1, device="mps")
    with pytest.raises(NotImplementedError):
        torch.empty(2, device="mps", layout=torch.sparse_csr)
    assert torch.empty([1] * 16, device="mps").dim() == 16


def test_deterministic_fill():
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(10, device="mps").isnan().all()
        assert (torch.empty(10, dtype=torch.int32, device="mps") == 2**31 - 1).all()
        assert torch.empty(10, dtype=torch.bool, device="mps").all()
    finally:
        torch.use_deterministic_algorithms(False)
