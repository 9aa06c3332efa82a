"""Bad input of every kind: the documented exception, and the next call works."""

import pytest
import torch
import torch.nn.functional as F

_FLOAT64 = "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."


def _x(*shape, dtype=torch.float32):
    return torch.ones(*shape, dtype=dtype, device="mps")


@pytest.fixture(autouse=True)
def _goes_on():
    yield
    torch.mps.synchronize()
    leaf = torch.arange(4.0, device="mps", requires_grad=True)
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [0, 2, 4, 6]


_CASES = {
    "devices: two tensors": (lambda: _x(3) + torch.ones(3), RuntimeError, "Expected all tensors to be on the same device"),
    "devices: product": (lambda: _x(3, 3) @ torch.ones(3, 3), RuntimeError, "same device"),
    "devices: linear": (lambda: F.linear(_x(2, 3), torch.ones(4, 3)), RuntimeError, "device"),
    "devices: convolution": (lambda: F.conv2d(_x(1, 1, 4, 4), torch.ones(1, 1, 2, 2)), RuntimeError, "should be the same"),
    "devices: cat": (lambda: torch.cat([_x(2), torch.ones(2)]), RuntimeError, "device"),
    "devices: out": (lambda: torch.add(_x(2), 1, out=torch.ones(2)), RuntimeError, "device"),
    "devices: module": (lambda: torch.nn.Linear(3, 2)(_x(2, 3)), RuntimeError, "device"),
    "sizes: broadcast": (lambda: _x(3) + _x(4), RuntimeError, "The size of tensor a (3) must match the size of tensor b (4)"),
    "sizes: product": (lambda: _x(2, 3) @ _x(2, 3), RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
    "sizes: view": (lambda: _x(6).view(4), RuntimeError, "shape '[4]' is invalid for input of size 6"),
    "sizes: negative": (lambda: torch.empty(-1, device="mps"), RuntimeError, "negative dimension"),
    "sizes: copy": (lambda: _x(3).copy_(torch.ones(4)), RuntimeError, ""),
    "sizes: cat": (lambda: torch.cat([_x(2, 3), _x(3, 2)]), RuntimeError, "Sizes of tensors must match"),
    "sizes: rank 17": (lambda: torch.empty([1] * 17, device="mps"), RuntimeError, "MPS supports tensors with dimensions <= 16"),
    "sizes: one larger than any memory": (lambda: torch.empty(2**50, device="mps"), RuntimeError, "Invalid buffer size: "),
    "sizes: overflow": (lambda: torch.empty(2**40, 2**40, device="mps"), RuntimeError, ""),
    "dtypes: float64": (lambda: torch.ones(2, dtype=torch.float64, device="mps"), TypeError, _FLOAT64),
    "dtypes: to float64": (lambda: _x(2).double(), TypeError, _FLOAT64),
    "dtypes: float64 module": (lambda: torch.nn.Linear(2, 2).double().to("mps"), TypeError, _FLOAT64),
    "dtypes: product": (lambda: _x(2, 2) @ _x(2, 2, dtype=torch.int32), RuntimeError, ""),
    "dtypes: embedding": (lambda: F.embedding(_x(2), _x(4, 3)), RuntimeError, ""),
    "dtypes: bitwise on floats": (lambda: _x(2) & _x(2), (RuntimeError, NotImplementedError), ""),
    "types: no number": (lambda: _x(2) + "1", TypeError, ""),
    "types: device name": (lambda: torch.ones(2, device="mpss"), RuntimeError, ""),
    "types: dimension": (lambda: _x(2, 2).sum(5), IndexError, "Dimension out of range"),
    "index: python": (lambda: _x(2)[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    "autograd: no graph": (lambda: _x(2).sum().backward(), RuntimeError, "does not require grad"),
    "autograd: leaf in place": (lambda: _x(2).requires_grad_().add_(1), RuntimeError, "a leaf Variable that requires grad"),
    "linear algebra: singular": (lambda: torch.linalg.inv(torch.zeros(3, 3, device="mps")), RuntimeError, "singular"),
    "linear algebra: not positive": (lambda: torch.linalg.cholesky(-torch.eye(3, device="mps")), RuntimeError, "cholesky"),
    "random: probability": (lambda: F.dropout(_x(2), 1.5), ValueError, "dropout probability has to be between 0 and 1"),
    "random: standard deviation": (lambda: _x(2).normal_(0, -1), RuntimeError, "std >= 0.0"),
    "random: range": (lambda: torch.randint(5, 5, (2,), device="mps"), RuntimeError, "from"),
    "random: generator": (
        lambda: torch.rand(2, device="mps", generator=torch.Generator()), RuntimeError, "Expected a 'mps' device type for generator"
    ),
    "memory: fraction": (lambda: torch.mps.set_per_process_memory_fraction(3.0), ValueError, "Allowed range: 0~2"),
    "events: unknown": (lambda: torch._C._mps_recordEvent(123456), RuntimeError, "Invalid Event ID: 123456"),
    "streams: unknown": (lambda: torch.mps.Stream(stream_id=77), RuntimeError, "stream_id=77 not found"),
    "profiler: mode": (lambda: torch.mps.profiler.start("x"), RuntimeError, "Invalid Signpost trace mode: x"),
    "shader: syntax": (lambda: torch.mps.compile_shader("kernel void f( {}"), SyntaxError, "program_source:1:"),
    "shader: name": (lambda: torch.mps.compile_shader("").f, RuntimeError, "Failed to create function state object for: f"),
    "metallib: bytes": (lambda: torch.mps.load_metallib(b"12345678"), RuntimeError, "Failed to load metallib: "),
    "unsupported op": (lambda: torch.mode(_x(3)), NotImplementedError, "is not currently implemented for the MPS device"),
    "sparse of csr": (lambda: _x(2, 2).to_sparse_csr(), (NotImplementedError, RuntimeError), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", _CASES)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_refused(name):
    call, error, text = _CASES[name]
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_kernels_that_go_astray_are_reported_or_harmless():
    lib = torch.mps.compile_shader("""
        kernel void over(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }
        kernel void divide(device int* x, device const int* y) { x[0] = x[0] / y[0] + x[0] % y[0]; }
    """)
    small = torch.zeros(4, device="mps")
    with pytest.raises(ValueError, match="Threadgroup size exceeds 1024 limit"):
        lib.over(small, group_size=4096)
    lib.divide(torch.ones(1, dtype=torch.int32, device="mps"), torch.zeros(1, dtype=torch.int32, device="mps"), threads=1)
    torch.mps.synchronize()
