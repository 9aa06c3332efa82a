"""Availability and device queries: torch.mps, torch.backends.mps, torch.accelerator."""

import re

import pytest
import torch

import snippets


def test_availability():
    assert torch.mps.is_available() is True
    assert torch.mps.device_count() == 1
    assert torch.backends.mps.is_built() is True
    assert torch.backends.mps.is_available() is True


def test_macos_version():
    assert torch.backends.mps.is_macos13_or_newer() is True
    assert torch.backends.mps.is_macos13_or_newer(3) is True
    assert torch.backends.mps.is_macos_or_newer(14, 0) is True
    assert torch.backends.mps.is_macos_or_newer(15, 0) is True
    with pytest.raises(TypeError):
        torch.backends.mps.is_macos_or_newer("15", 0)


def test_unknown_macos_versions_warn():
    with pytest.warns(UserWarning, match=re.escape("Checking for unexpected MacOS 99.1 returning false")):
        assert torch.backends.mps.is_macos_or_newer(99, 1) is False
    with pytest.warns(UserWarning, match=re.escape("Checking for unexpected MacOS 27.0 returning false")):
        assert torch.backends.mps.is_macos_or_newer(27, 0) is False
    with pytest.warns(UserWarning, match=re.escape("Can't check whether running on 15.9+ returning one for 15.1+")):
        assert torch.backends.mps.is_macos_or_newer(15, 9) is True


def test_name_and_cores():
    assert isinstance(torch.backends.mps.get_name(), str) and torch.backends.mps.get_name()
    assert isinstance(torch.backends.mps.get_core_count(), int) and torch.backends.mps.get_core_count() > 0


def test_device_identity():
    assert torch.device("mps").index is None
    assert torch.ones(1, device="mps").device == torch.device("mps:0")
    assert torch.empty(2, device="mps:1").device == torch.device("mps:0")
    assert torch.ones(1, device="mps").is_mps
    assert torch.ones(1, device="mps").type() == "torch.mps.FloatTensor"
    assert torch.get_device_module("mps") is torch.mps


def test_accelerator():
    accelerator = torch.accelerator
    assert accelerator.is_available()
    assert accelerator.current_accelerator() == torch.device("mps")
    assert accelerator.device_count() == 1
    assert accelerator.current_device_index() == 0
    accelerator.set_device_index(0)
    assert accelerator.current_stream().stream_id == 0
    accelerator.synchronize()
    torch.ones(1, device="mps")
    accelerator.empty_cache()
    assert accelerator.memory_allocated() == torch.mps.current_allocated_memory()
    assert accelerator.memory_reserved() >= accelerator.memory_allocated()
    free, total = accelerator.get_memory_info()
    assert 0 <= free <= total == torch.mps.recommended_max_memory()


def test_advertised_dtypes():
    names = """uint8 int8 int16 int32 int64 float16 float32 bfloat16 bool complex32 complex64 float8_e4m3fn uint16 uint32
        uint64""".split()
    assert torch.accelerator.get_device_capability()["supported_dtypes"] == {getattr(torch, name) for name in names}


def test_synchronize_returns_nothing():
    torch.ones(8, device="mps").mul_(2)
    assert torch.mps.synchronize() is None


def test_default_device():
    code = """
        import torch
        torch.set_default_device("mps")
        print(torch.ones(2).device, torch.nn.Linear(2, 2).weight.device, torch.get_default_device())
        torch.set_default_device(None)
        with torch.device("mps"):
            print(torch.zeros(1).device)
    """
    assert snippets.output(code).splitlines() == ["mps:0 mps:0 mps:0", "mps:0"]


def test_numpy_is_refused_with_the_usual_words():
    with pytest.raises(TypeError) as caught:
        torch.ones(2, device="mps").numpy()
    assert str(caught.value) == (
        "can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    )


def test_dlpack_device():
    device_type, index = torch.ones(1, device="mps").__dlpack_device__()
    assert (int(device_type), index) == (8, 0)


_ANSWERS = """
    import torch
    print(torch.backends.mps.get_name(), torch.backends.mps.get_core_count(), torch.mps.recommended_max_memory(), torch._C._mps_maxBufferLength())
    print(torch.backends.mps.is_macos_or_newer(15, 1), torch.backends.mps.is_macos_or_newer(26, 0))
    for size in (4 << 30, 10 << 30):
        try:
            torch.empty(size, dtype=torch.uint8, device="mps")
        except RuntimeError as error:
            print(error)
    held = []
    try:
        for _ in range(6):
            held.append(torch.empty(3 << 30, dtype=torch.uint8, device="mps"))
    except RuntimeError as error:
        print(len(held), error)
    print(torch.accelerator.get_memory_info()[1])
    library = torch.mps.compile_shader("kernel void version(device int* out) { out[0] = __METAL_VERSION__; }")
    out = torch.zeros(1, dtype=torch.int32, device="mps")
    library.version(out, threads=1)
    print(out.item())
"""


def test_a_mac_of_your_choice():
    lines = snippets.output(_ANSWERS, OPENMPS_DEVICE="m1-8gb").splitlines()
    assert lines[0] == "Apple M1 8 5726633984 4294967296"
    assert lines[1] == "True False"
    assert lines[2:4] == ["Invalid buffer size: 4.00 GiB", "Invalid buffer size: 10.00 GiB"]
    assert lines[4].startswith("3 MPS backend out of memory (MPS allocated: 9.00 GiB, other allocations: 0 bytes, max allowed: 9.07 GiB)")
    assert lines[5:] == ["5726633984", "320"]


def test_another_version_of_macos():
    lines = snippets.output(_ANSWERS, OPENMPS_DEVICE="M2-Max-96GB@26.0").splitlines()
    assert lines[0] == "Apple M2 Max 38 77309411328 57982058496"
    assert lines[1] == "True True" and lines[-1] == "400"


def test_an_unknown_mac_is_refused_with_the_known_ones():
    outcome = snippets.run("import torch; print(torch.backends.mps.is_available())", OPENMPS_DEVICE="m9-8gb")
    assert outcome.stdout == "False\n"
    assert "OPENMPS_DEVICE is 'm9-8gb', expected one of m1-8gb, m1-16gb, m1-pro-16gb" in outcome.stderr
    outcome = snippets.run("import torch; print(torch.backends.mps.is_available())", OPENMPS_DEVICE="m5-16gb@15.2")
    assert "expected a version of macOS from 26.0 to 27.0 behind '@': 26.0, 26.2, 26.4, 27.0" in outcome.stderr
