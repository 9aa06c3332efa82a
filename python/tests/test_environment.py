"""The documented environment variables, each in a process of its own, with good and bad values."""

import pytest

import snippets

_ALLOCATE = """
    import torch
    try:
        print(torch.ones(16, device="mps").sum().item())
    except RuntimeError as error:
        print("RuntimeError", error)
    try:
        print(torch.mps.current_allocated_memory() >= 0)
    except RuntimeError as error:
        print("RuntimeError", error)
"""


@pytest.mark.parametrize("value", ["1", "0x1f", "garbage"])
def test_debug_allocator_takes_any_number(value):
    outcome = snippets.run(_ALLOCATE, PYTORCH_DEBUG_MPS_ALLOCATOR=value)
    assert (outcome.code, outcome.stdout) == (0, "16.0\nTrue\n")


@pytest.mark.parametrize(
    ("high", "low", "text"),
    [
        ("1.0", None, "invalid low watermark ratio 1.4"),
        ("2.5", None, "invalid high watermark ratio 2.5"),
        ("-1", None, "invalid high watermark ratio -1"),
        ("1.5", "1.6", "invalid low watermark ratio 1.6"),
        ("nan", None, "invalid high watermark ratio nan"),
        (None, "-0.5", "invalid low watermark ratio -0.5"),
    ],
)
def test_bad_watermarks_fail_at_every_use(high, low, text):
    output = snippets.output(
        _ALLOCATE, PYTORCH_MPS_HIGH_WATERMARK_RATIO=high, PYTORCH_MPS_LOW_WATERMARK_RATIO=low
    ).splitlines()
    assert output == [f"RuntimeError {text}"] * 2


@pytest.mark.parametrize(("high", "low"), [("0.0", None), ("1.0", "0.5"), ("0", "0"), ("2.0", "2.0"), ("junk", None)])
def test_good_watermarks(high, low):
    output = snippets.output(_ALLOCATE, PYTORCH_MPS_HIGH_WATERMARK_RATIO=high, PYTORCH_MPS_LOW_WATERMARK_RATIO=low)
    assert output.splitlines() == ["16.0", "True"]


def test_high_watermark_limits():
    code = """
        import torch
        try:
            torch.empty(60 << 20, dtype=torch.uint8, device="mps")
        except RuntimeError as error:
            print("max allowed: 32.00 MiB" in str(error))
    """
    output = snippets.output(
        code,
        PYTORCH_MPS_HIGH_WATERMARK_RATIO="0.5",
        PYTORCH_MPS_LOW_WATERMARK_RATIO="0.4",
        OPENMPS_RECOMMENDED_MAX_MEMORY=str(64 << 20),
    )
    assert output == "True"


_PROFILE = """
    import torch
    try:
        torch.mps.profiler.start()
        print((torch.ones(2, device="mps") + 1).sum().item())
        torch.mps.profiler.stop()
    except RuntimeError as error:
        print("RuntimeError", error)
"""


def test_log_profile_info_is_validated():
    text = "invalid log options 1024 passed to PYTORCH_MPS_LOG_PROFILE_INFO"
    outcome = snippets.run(_PROFILE, PYTORCH_MPS_LOG_PROFILE_INFO="1024")
    assert (outcome.code, outcome.stdout) == (0, f"RuntimeError {text}\n")
    assert outcome.stderr.count(text) == 1
    assert snippets.run(_PROFILE, PYTORCH_MPS_LOG_PROFILE_INFO="0x3ff").stdout == "4.0\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("64", "invalid profiling options 64 passed to PYTORCH_MPS_TRACE_SIGNPOSTS"),
        (str(1 << 19), f"invalid signpost types {1 << 19} passed to PYTORCH_MPS_TRACE_SIGNPOSTS"),
        # Event signposts cannot include the scheduling interval.
        (
            str(1 << 16 | 8 | 32),
            "the option 'INCLUDE_SCHEDULE_INTERVAL' only works for interval-based signposts",
        ),
    ],
)
def test_trace_signposts_is_validated(value, text):
    outcome = snippets.run(_PROFILE, PYTORCH_MPS_TRACE_SIGNPOSTS=value)
    assert (outcome.code, outcome.stdout) == (0, f"RuntimeError {text}\n")
    assert outcome.stderr.count(text) == 1


_EQUAL = """
    import torch
    lib = torch.mps.compile_shader('''
    kernel void f(device bool* out, device const float* x, uint i [[thread_position_in_grid]]) { out[i] = x[i] == x[i]; }
    kernel void version(device int* out) { out[0] = __METAL_VERSION__; }
    ''')
    x = torch.tensor([1.0, float("nan")], device="mps")
    out = torch.zeros(2, dtype=torch.bool, device="mps")
    lib.f(out, x)
    number = torch.zeros(1, dtype=torch.int32, device="mps")
    lib.version(number, threads=1)
    print(out.tolist(), number.item())
"""


def test_nan_is_honoured_without_fast_math():
    assert snippets.output(_EQUAL).split("] ")[0] == "[True, False"
    assert snippets.output(_EQUAL, PYTORCH_MPS_FAST_MATH="0").split("] ")[0] == "[True, False"


def test_fast_math_compiles():
    assert snippets.output(_EQUAL, PYTORCH_MPS_FAST_MATH="1").startswith("[True, ")


@pytest.mark.parametrize(("value", "version"), [("3.1", 310), ("3.2", 320), ("4.0", 400)])
def test_metal_version(value, version):
    assert snippets.output(_EQUAL, PYTORCH_MPS_METAL_VERSION=value).endswith(f" {version}")


def test_unknown_metal_version_warns():
    outcome = snippets.run(_EQUAL, PYTORCH_MPS_METAL_VERSION="5")
    assert outcome.code == 0
    assert outcome.stdout == snippets.run(_EQUAL).stdout
    assert outcome.stderr.count("Ignoring PYTORCH_MPS_METAL_VERSION=5, expected 3.1, 3.2 or 4.0") == 1


@pytest.mark.parametrize("value", ["0", "1"])
def test_prefer_metal_gives_equal_products(value):
    code = """
        import torch
        a, b = torch.randn(37, 53), torch.randn(53, 29)
        torch.testing.assert_close((a.to("mps") @ b.to("mps")).cpu(), a @ b)
    """
    assert snippets.output(code, PYTORCH_MPS_PREFER_METAL=value) == ""


_UNSUPPORTED = """
    import torch
    x = torch.eye(3, device="mps")
    try:
        print(torch.linalg.eigvals(x).cpu().real.tolist(), x.device)
    except NotImplementedError as error:
        print(error)
"""


def test_fallback_off():
    import torch

    expected = (
        "The operator 'aten::{}' is not currently implemented for the MPS device. If you want this op to be considered for "
        "addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that resulted in "
        f"missing op as well as commit hash {torch.version.git_version}. As a temporary fix, you can set the environment "
        "variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this will be slower than "
        "running natively on MPS."
    )
    for value in (None, "0"):
        assert snippets.output(_UNSUPPORTED, PYTORCH_ENABLE_MPS_FALLBACK=value) in (
            expected.format("linalg_eigvals"),
            expected.format("_linalg_eigvals"),
        )


def test_fallback_on_warns_once():
    code = _UNSUPPORTED + "\n    torch.linalg.eigvals(x); torch.mode(x)\n"
    outcome = snippets.run(code, PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout == "[1.0, 1.0, 1.0] mps:0\n"
    assert outcome.stderr.count("is not currently supported on the MPS backend and will fall back to run on the CPU.") == 1


def test_nonsense_fallback_leaves_torch_usable():
    # Upstream aborts the process while it loads; here the device stays away and says why.
    outcome = snippets.run("import torch; print(torch.ones(1).item())", PYTORCH_ENABLE_MPS_FALLBACK="yes")
    assert (outcome.code, outcome.stdout) == (0, "1.0\n")
    assert "PYTORCH_ENABLE_MPS_FALLBACK" in outcome.stderr and "'yes'" in outcome.stderr


def test_capture_variable():
    code = "import torch; print(torch.mps.profiler.is_metal_capture_enabled())"
    assert snippets.output(code, MTL_CAPTURE_ENABLED="1") == "True"
    assert snippets.output(code, MTL_CAPTURE_ENABLED="0") == "False"
    assert snippets.output(code) == "False"
