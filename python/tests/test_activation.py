"""`import torch` alone makes the device work, quietly, and nothing makes `import torch` fail."""

import doctest
import importlib.metadata
import types

import pytest
import torch

import openmps
import snippets
from openmps import _activation

_USE = """
    import torch
    print((torch.ones(2, device="mps") + 1).tolist(), torch.accelerator.current_accelerator())
"""


def test_importing_torch_is_enough():
    assert snippets.output_fresh(_USE) == "[2.0, 2.0] mps"


def test_entry_point_is_declared():
    (entry,) = importlib.metadata.entry_points(group="torch.backends", name="openmps")
    assert entry.value == "openmps:_autoload"


def test_here_it_is_active():
    assert openmps.is_active()
    assert openmps.__version__ == importlib.metadata.version("openmps")
    openmps.activate()
    assert torch.backends.mps.is_available()


def test_cuda_side_of_torch_is_untouched():
    code = """
        import torch
        print(torch.version.cuda, torch.cuda.is_available(), torch.cuda.has_magma, torch.backends.cudnn.is_available())
    """
    without = snippets.output_fresh(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert snippets.output_fresh(code) == without


def test_autoload_off_leaves_torch_untouched():
    code = """
        import sys, torch
        print(torch._C._has_mps, torch.mps.is_available(), hasattr(torch._C, "_mps_compileShader"), "openmps" in sys.modules)
        try:
            torch.ones(2, device="mps")
        except NotImplementedError as error:
            print(str(error).split(" with")[0])
        try:
            torch.mps.compile_shader("")
        except RuntimeError as error:
            print(error)
    """
    assert snippets.output_fresh(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").splitlines() == [
        "False False False False",
        "Could not run 'aten::empty.memory_format'",
        "MPS is not available",
    ]


def test_late_activation_by_import():
    code = """
        import torch
        assert not torch.backends.mps.is_available()
        assert not torch.mps.is_available()
        old_stream = torch.mps.Stream
        import openmps
        assert openmps.is_active() and torch.backends.mps.is_available() and torch.mps.is_available()
        assert torch.mps.Stream is not old_stream and torch.mps.current_stream() == torch.mps.default_stream()
        x = torch.ones(3, device="mps", requires_grad=True)
        (x * x).sum().backward()
        print(x.grad.tolist(), torch.accelerator.current_accelerator())
    """
    assert snippets.output_fresh(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "[2.0, 2.0, 2.0] mps"


def test_importing_openmps_first():
    code = """
        import openmps, torch
        print(openmps.is_active(), torch.ones(1, device="mps").item())
    """
    assert snippets.output_fresh(code) == "True 1.0"
    assert snippets.output_fresh(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "True 1.0"


def test_switched_off_by_environment():
    quiet = "import torch; print(torch._C._has_mps, torch.mps.is_available())"
    assert snippets.output_fresh(quiet, OPENMPS_ACTIVATE="0") == "False False"
    asked = """
        import openmps
        try:
            openmps.activate()
        except openmps.ActivationError as error:
            print(error)
    """
    outcome = snippets.run_fresh(asked, OPENMPS_ACTIVATE="0")
    assert outcome.code == 0 and outcome.stdout == "OPENMPS_ACTIVATE=0\n"
    assert "UserWarning: openmps: device 'mps' stays unavailable: OPENMPS_ACTIVATE=0" in outcome.stderr


def test_unknown_wish_warns_and_stays_inactive():
    outcome = snippets.run_fresh("import torch; print(torch.mps.is_available())", OPENMPS_ACTIVATE="yes")
    assert (outcome.code, outcome.stdout) == (0, "False\n")
    assert "openmps: device 'mps' stays unavailable: OPENMPS_ACTIVATE is 'yes', expected 0 or 1" in outcome.stderr


def test_a_failing_plugin_never_breaks_torch():
    # What a damaged installation does: the module that loads the plug-in raises.
    code = """
        import sys
        sys.modules["openmps._plugin"] = None
        import torch
        print(torch.ones(1).item(), torch.mps.is_available())
    """
    outcome = snippets.run_fresh(code)
    assert (outcome.code, outcome.stdout) == (0, "1.0 False\n")
    assert outcome.stderr.count("openmps: device 'mps' stays unavailable: ") == 1


def _fake_torch(*, has_mps=False, version="2.15.0+cu132", cuda="13.2", hip=None, devices=0, xpu=False):
    return types.SimpleNamespace(
        __version__=version,
        _C=types.SimpleNamespace(_has_mps=has_mps),
        version=types.SimpleNamespace(cuda=cuda, hip=hip),
        cuda=types.SimpleNamespace(_device_count_nvml=lambda: devices),
        xpu=types.SimpleNamespace(_is_compiled=lambda: xpu),
    )


def test_torch_with_its_own_mps_is_left_alone():
    refusal = _activation._decide(_fake_torch(has_mps=True))
    assert refusal.is_expected and refusal.reason == "this build of torch has an MPS backend of its own"


@pytest.mark.parametrize("version", ["2.14.1", "2.16.0a0+git1234", "3.15.0"])
def test_another_release_of_torch_is_refused(version):
    refusal = _activation._decide(_fake_torch(version=version))
    assert not refusal.is_expected
    assert refusal.reason == f"built for torch 2.15, this is torch {version}"


@pytest.mark.parametrize(
    ("node", "devices", "cuda", "is_refused"),
    [
        (True, 1, "13.2", True),
        (True, -1, "13.2", True),  # NVML does not answer: in doubt CUDA stays.
        (True, 0, "13.2", False),  # CUDA_VISIBLE_DEVICES hides every device.
        (False, 1, "13.2", False),
        (True, 1, None, False),  # A CPU wheel has no use for the GPU.
    ],
)
def test_a_usable_nvidia_gpu_keeps_the_device_away(monkeypatch, node, devices, cuda, is_refused):
    monkeypatch.delenv("OPENMPS_ACTIVATE", raising=False)
    monkeypatch.setattr(_activation, "_has_nvidia_node", lambda: node)
    refusal = _activation._decide(_fake_torch(devices=devices, cuda=cuda))
    assert (refusal is not None) == is_refused
    if is_refused:
        assert refusal.is_expected
        assert refusal.reason.startswith("an NVIDIA GPU is visible")
    monkeypatch.setenv("OPENMPS_ACTIVATE", "1")
    assert _activation._decide(_fake_torch(devices=devices, cuda=cuda)) is None


def test_every_missing_name_is_there():
    names = """_MPSStreamBase _mps_setStream _mps_getCurrentStream _mps_compileShader _mps_loadMetalllib
        _mps_loadMetallibFromPath _mps_ShaderLibrary _mps_PrecompiledShaderLibrary _mps_MetalKernel _mps_isCaptureEnabled
        _mps_isCapturing _mps_startCapture _mps_stopCapture _mps_get_name _mps_get_core_count _mps_host_alias_storage
        _mps_allocator_waitForEvents""".split()
    assert [name for name in names if not hasattr(torch._C, name)] == []
    assert torch._C._has_mps is True


def test_backward_runs_on_the_calling_thread():
    code = """
        import threading, torch
        threads = []
        x = torch.ones(2, device="mps", requires_grad=True)
        y = x * 2
        y.register_hook(lambda grad: threads.append(threading.get_ident()))
        y.sum().backward()
        print(threads == [threading.get_ident()])
    """
    assert snippets.output(code) == "True"
    assert snippets.output(code, OPENMPS_MULTITHREADED_BACKWARD="1") == "False"


@pytest.mark.parametrize("multithreaded", ["0", "1"])
def test_exit_right_after_backward_does_not_abort(multithreaded):
    # Without the drain at exit, a script that ends within milliseconds of backward() aborts more often than not.
    code = """
        import torch
        x = torch.randn(16, 16, device="mps", requires_grad=True)
        (x @ x).relu().sum().backward()
    """
    assert snippets.output_fresh(code, OPENMPS_MULTITHREADED_BACKWARD=multithreaded) == ""
    for _ in range(8):
        assert snippets.output(code, OPENMPS_MULTITHREADED_BACKWARD=multithreaded) == ""


def test_exit_with_work_queued_does_not_abort():
    code = """
        import threading, torch
        lib = torch.mps.compile_shader("kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }")
        x = torch.zeros(100000, device="mps")
        threading.Thread(target=lambda: lib.f(x)).start()
        with torch.mps.stream(torch.mps.Stream()):
            for _ in range(50):
                lib.f(x)
    """
    for _ in range(8):
        assert snippets.output(code) == ""


def test_examples_in_the_documentation():
    assert doctest.testmod(openmps).failed == 0
    assert doctest.testmod(openmps).attempted > 0
