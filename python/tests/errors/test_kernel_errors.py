"""Every text of compile_shader, load_metallib, library attributes and kernel calls; after each the device goes on."""

import re

import pytest
import torch

_SOURCE = "kernel void f(device float* x, constant float& y, uint i [[thread_position_in_grid]]) { x[i] += y; }"


@pytest.fixture(scope="module")
def lib():
    return torch.mps.compile_shader(_SOURCE)


@pytest.fixture(autouse=True)
def _goes_on(lib):
    yield
    x = torch.zeros(3, device="mps")
    lib.f(x, 2.0)
    assert x.tolist() == [2.0] * 3


def _text(error, call):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    return str(caught.value)


def _x():
    return torch.zeros(4, device="mps")


def test_missing_kernel(lib):
    assert _text(RuntimeError, lambda: lib.nope) == "Failed to create function state object for: nope"
    assert _text(RuntimeError, lambda: hasattr(lib, "nope")) == "Failed to create function state object for: nope"


@pytest.mark.parametrize("value", [None, "text", 1j, object(), b"bytes", {1: 2}, {1}, range(3)])
def test_unsupported_argument(lib, value):
    assert _text(RuntimeError, lambda: lib.f(_x(), value)) == "Unsupported argument type"


def test_lists(lib):
    assert _text(RuntimeError, lambda: lib.f(_x(), [])) == "Empty list/tuple can not be an argument to metal kernel"
    assert _text(RuntimeError, lambda: lib.f(_x(), ())) == "Empty list/tuple can not be an argument to metal kernel"
    assert _text(RuntimeError, lambda: lib.f(_x(), ["a"])) == "Unexpected argument types"
    assert _text(RuntimeError, lambda: lib.f(_x(), [[1]])) == "Unexpected argument types"
    for mixed in ([1, 2.5], [1.5, "a"], [1, None], [torch.ones(1, device="mps"), 3]):
        assert _text(RuntimeError, lambda: lib.f(_x(), mixed)).startswith("Unable to cast Python instance of type <class ")  # noqa: B023
    assert "Metal passes at most 4096 by value" in _text(RuntimeError, lambda: lib.f(_x(), [1] * 513))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, [2**63], 10**30])
def test_integers_that_do_not_fit(lib, value):
    assert _text(RuntimeError, lambda: lib.f(_x(), value)).startswith("Unable to cast Python instance of type <class ")


def test_cpu_tensors(lib):
    assert _text(RuntimeError, lambda: lib.f(torch.zeros(4), 1.0)) == "Passed CPU tensor to MPS op"
    assert _text(RuntimeError, lambda: lib.f(_x(), torch.zeros(1))) == "Passed CPU tensor to MPS op"
    assert _text(RuntimeError, lambda: lib.f(_x(), [torch.zeros(1)])) == "Passed CPU tensor to MPS op"
    assert _text(RuntimeError, lambda: lib.f(torch.zeros(4, device="meta"), 1.0)) == "Passed meta tensor to MPS op"


def test_casts(lib):
    assert _text(RuntimeError, lambda: lib.f(_x(), 1, arg_casts=3)) == "Unexpected caster arg type int"
    assert _text(RuntimeError, lambda: lib.f(_x(), 1, arg_casts=["fp16"])) == "Unexpected caster arg type list"
    assert _text(RuntimeError, lambda: lib.f(_x(), 1, arg_casts="fp64")) == "Unsupported cast instruction fp64"
    assert _text(RuntimeError, lambda: lib.f(_x(), 1, arg_casts={1: "fp64"})) == "Unsupported cast instruction "


def test_keywords(lib):
    for call in (lambda: lib.f(_x(), 1.0, thread=3), lambda: lib.f(_x(), 1.0, error_buf_idx="x")):
        text = _text(TypeError, call)
        assert text.startswith("__call__(): incompatible function arguments. The following argument types are supported:")
    assert "error_buf_idx is 31" in _text(RuntimeError, lambda: lib.f(_x(), 1.0, error_buf_idx=31))
    assert "error_buf_idx is -1" in _text(RuntimeError, lambda: lib.f(_x(), 1.0, error_buf_idx=-1))


def test_undefined_threads(lib):
    text = "Number of threads is undefined or has wrong dimension"
    assert _text(RuntimeError, lambda: lib.f()) == text
    assert _text(RuntimeError, lambda: lib.f(1.0, 2.0)) == text


_UNNAMED = (
    "Expected {} to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement "
    "request to PyTorch.)"
)


def test_ranks(lib):
    for sizes in ([], (), [1, 2, 3, 4]):
        assert _text(RuntimeError, lambda: lib.f(_x(), 1.0, threads=sizes)) == (  # noqa: B023
            _UNNAMED.format("vec.size() > 0 && vec.size() < 4")
        )
        assert _text(RuntimeError, lambda: lib.f(_x(), 1.0, group_size=sizes)) == (  # noqa: B023
            _UNNAMED.format("vec.size() > 0 && vec.size() < 4")
        )
    for threads, group in (((4, 1), 2), (4, (2, 1)), (None, (2, 1))):
        assert _text(RuntimeError, lambda: lib.f(_x(), 1.0, threads=threads, group_size=group)) == (  # noqa: B023
            _UNNAMED.format("!group_size.has_value() || threads->size() == group_size->size()")
        )


@pytest.mark.parametrize("threads", ["4", -1, 1.5, [1, -2], [None], b"12", 2**64])
def test_threads_of_wrong_types(lib, threads):
    assert _text(RuntimeError, lambda: lib.f(_x(), 1.0, threads=threads)).startswith("Unable to cast Python instance of type")


def test_group_over_the_limit(lib):
    text = "Threadgroup size exceeds 1024 limit"
    assert _text(ValueError, lambda: lib.f(_x(), 1.0, group_size=1025)) == text
    assert _text(ValueError, lambda: lib.f(_x(), 1.0, threads=(4, 4), group_size=(64, 32))) == text
    assert _text(ValueError, lambda: lib.f(_x(), 1.0, threads=(4, 4, 4), group_size=(2**40, 2**40, 1))) == text
    assert _text(ValueError, lambda: lib.f(_x(), 1.0, group_size=0)) == "Threadgroup size [0] has no threads"


def test_grids_over_32_bits(lib):
    assert _text(RuntimeError, lambda: lib.f(_x(), 1.0, threads=2**32)) == "MPS 1D dispatch of 4294967296 threads exceeds 2^32"
    assert _text(RuntimeError, lambda: lib.f(_x(), 1.0, threads=[1, 2**33])) == (
        "MPS 2D dispatch of 1x8589934592 threads exceeds 2^32 along one axis"
    )
    assert _text(RuntimeError, lambda: lib.f(_x(), 1.0, threads=[2**32, 1, 1])) == (
        "MPS 3D dispatch of 4294967296x1x1 threads exceeds 2^32 along one axis"
    )


def test_too_many_arguments(lib):
    assert "exceed Metal's limit of 31 buffers" in _text(RuntimeError, lambda: lib.f(*[_x()] * 32))


def test_arguments_are_checked_before_the_grid(lib):
    assert _text(RuntimeError, lambda: lib.f(_x(), None, group_size=5000)) == "Unsupported argument type"
    assert _text(RuntimeError, lambda: lib.f(_x(), None, threads=[])) == _UNNAMED.format("vec.size() > 0 && vec.size() < 4")


def test_missing_arguments_are_named(lib):
    def call():
        lib.f(_x())
        torch.mps.synchronize()

    with pytest.raises(RuntimeError, match=r"kernel 'f': nothing is bound at buffer index 1 \(argument 'y'\)"):
        call()


def test_syntax_errors_name_line_and_column():
    text = _text(SyntaxError, lambda: torch.mps.compile_shader("kernel void f(device float* x) {\n  x[0] = 1\n}\n"))
    assert re.match(r"program_source:2:11: error: expected ';'", text), text
    text = _text(SyntaxError, lambda: torch.mps.compile_shader("kernel void f(device float* x) { x[0] = unknown_name; }"))
    assert re.match(r"program_source:1:41: error: use of undeclared identifier 'unknown_name'", text), text
    with pytest.raises(SyntaxError) as caught:
        torch.mps.compile_shader("kernel int f(")
    assert caught.value.msg.startswith("program_source:1:")


def test_nonsense_sources():
    for source in ("}{", "#error stop", "kernel", "\u00b5", "#include <no/such/header.h>"):
        with pytest.raises(SyntaxError):
            torch.mps.compile_shader(source)


def test_source_must_be_text():
    with pytest.raises(TypeError):
        torch._C._mps_compileShader(b"kernel")
    with pytest.raises((TypeError, AttributeError)):
        torch.mps.compile_shader(None)


def test_load_metallib(tmp_path):
    load = torch.mps.load_metallib
    no_library = "not a Metal library: {}, expected MTLB or a universal binary's cb fe ba be"
    assert _text(RuntimeError, lambda: load(b"PK\x03\x04rest")) == (
        "Failed to load metallib: " + no_library.format("it starts with 50 4b 03 04")
    )
    assert _text(RuntimeError, lambda: load(bytearray())) == (
        "Failed to load metallib: " + no_library.format("it is empty")
    )
    assert _text(RuntimeError, lambda: load(b"MTLB" + bytes(100))).startswith("Failed to load metallib: ")
    missing = tmp_path / "missing.metallib"
    assert _text(RuntimeError, lambda: load(missing)).startswith(
        f"Failed to load metallib from '{missing}': No such file or directory"
    )
    (tmp_path / "x.metallib").write_bytes(b"no")
    assert _text(RuntimeError, lambda: load(str(tmp_path / "x.metallib"))) == (
        f"Failed to load metallib from '{tmp_path / 'x.metallib'}': " + no_library.format("it starts with the text 'no'")
    )
    assert _text(TypeError, lambda: load(3)) == "expected bytes or path, got int"


def test_classes_have_no_constructor():
    for name in ("_mps_ShaderLibrary", "_mps_PrecompiledShaderLibrary", "_mps_MetalKernel"):
        with pytest.raises(TypeError):
            getattr(torch._C, name)()


def test_textures_and_samplers_cannot_be_bound():
    lib = torch.mps.compile_shader(
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "kernel void look(texture2d<float> t, sampler s, device float* x) { x[0] = t.sample(s, float2(0)).x; }"
    )
    x = torch.zeros(1, device="mps")
    assert _text(RuntimeError, lambda: lib.look(x)) == (
        "kernel 'look' takes argument 't' of type texture2d<float, sample>, but a call from Python can only bind buffers; "
        "textures and samplers are bound from Rust"
    )
    assert x.item() == 0
