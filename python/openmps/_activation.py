"""Decides whether the device appears in this process, and makes it appear.

Guarantees: :func:`autoload` never raises (an exception would make ``import torch`` fail) and prints nothing when it
succeeds; every other outcome has a reason, which :func:`activate` raises and ``import openmps`` warns with.
Leaves out what is installed into torch: that is in ``_names``, ``_streams`` and ``_storage``.
"""

import atexit
import glob
import os
import platform
import sys
import threading
import warnings
from dataclasses import dataclass

#: The release of torch that the C++ part of this package was built for. Its hooks, guards and generators are C++ classes
#: that gain virtual functions in nearly every minor release: another one must not even be loaded.
TORCH_RELEASE = (2, 15)


class ActivationError(RuntimeError):
    """The device cannot be activated; the text says why."""


@dataclass(frozen=True)
class _Refusal:
    """Why the device stays away. ``is_expected`` says that the user wanted it so or that torch is better off without."""

    reason: str
    is_expected: bool


_lock = threading.Lock()
_active = False
#: What the last attempt to activate ended with; None while there was none or the device is active.
_refusal: _Refusal | None = None


def is_active() -> bool:
    """Whether this package serves ``device="mps"`` in this process."""
    return _active


def activate() -> None:
    """Activates the device now. Does nothing when it is active already.

    ``OPENMPS_ACTIVATE`` unset counts as a wish to have it here only as far as ``import torch`` would have it too: a GPU that
    torch can use still needs ``OPENMPS_ACTIVATE=1``, so that no library takes it away from its user.

    Raises:
        ActivationError: with the reason, when the device stays inactive.
    """
    refusal = _try_activate()
    if refusal is not None:
        raise ActivationError(refusal.reason)


def autoload() -> None:
    """The entry point that torch calls at the end of ``import torch``."""
    try:
        refusal = _try_activate()
    except BaseException as error:  # Whatever it is, torch itself must stay usable.
        refusal = _remember(_Refusal(f"{type(error).__name__}: {error}", is_expected=False))
    if refusal is not None and not refusal.is_expected:
        _warn(refusal)


def activate_on_import() -> None:
    """What ``import openmps`` does: activates unless an attempt was made already, and warns with the reason if it may not."""
    attempted = _active or _refusal is not None
    if attempted and (_refusal is None or not _refusal.is_expected):
        return  # Active, or autoload has warned.
    refusal = _refusal if attempted else _try_activate()
    if refusal is not None:
        _warn(refusal)


def _warn(refusal: _Refusal) -> None:
    text = f"openmps: device 'mps' stays unavailable: {refusal.reason}"
    try:
        warnings.warn(text, stacklevel=3)
    except Warning:
        # Warnings are errors here (python -W error), but an error would take torch away as well.
        print(text, file=sys.stderr)


def _remember(refusal: _Refusal) -> _Refusal:
    global _refusal
    _refusal = refusal
    return refusal


def _try_activate() -> _Refusal | None:
    global _active, _refusal
    with _lock:
        if _active:
            return None
        import torch

        refusal = _decide(torch)
        if refusal is not None:
            return _remember(refusal)
        try:
            _install(torch)
        except Exception as error:
            return _remember(_Refusal(f"{type(error).__name__}: {error}", is_expected=False))
        _active, _refusal = True, None
        return None


def _decide(torch) -> _Refusal | None:
    """Why the device should not be activated here, or None. Touches no GPU."""
    if torch._C._has_mps:
        return _Refusal("this build of torch has an MPS backend of its own", is_expected=True)
    wish = os.environ.get("OPENMPS_ACTIVATE", "")
    if wish not in ("", "0", "1"):
        return _Refusal(f"OPENMPS_ACTIVATE is {wish!r}, expected 0 or 1", is_expected=False)
    if wish == "0":
        return _Refusal("OPENMPS_ACTIVATE=0", is_expected=True)
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return _Refusal(f"built for Linux on x86-64, this is {sys.platform} on {platform.machine()}", is_expected=False)
    release = _release(torch.__version__)
    if release != TORCH_RELEASE:
        built_for = ".".join(map(str, TORCH_RELEASE))
        return _Refusal(f"built for torch {built_for}, this is torch {torch.__version__}", is_expected=False)
    if wish != "1" and (gpu := _usable_gpu(torch)) is not None:
        return _Refusal(f"{gpu} is visible, and torch is to use that; set OPENMPS_ACTIVATE=1 to have 'mps' instead", is_expected=True)
    return None


def _release(version: str) -> tuple[int, ...]:
    """Major and minor number of a version such as ``2.15.0+cu132`` or ``2.16.0a0+git1234``."""
    major, minor = version.split("+")[0].split(".")[:2]
    return int(major), int(minor)


def _usable_gpu(torch) -> str | None:
    """The kind of GPU that this build of torch can use and that is visible here, found without initialising its driver.

    Device nodes answer for nearly every machine. Where there is an NVIDIA node, NVML counts the devices that
    ``CUDA_VISIBLE_DEVICES`` leaves; when NVML does not answer, the node counts as a device, so that in doubt nobody loses CUDA.
    """
    if torch.version.cuda is not None and _has_nvidia_node():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            device_count = torch.cuda._device_count_nvml()
        return None if device_count == 0 else "an NVIDIA GPU"
    if torch.version.hip is not None and os.path.exists("/dev/kfd"):
        return "an AMD GPU"
    if torch.xpu._is_compiled() and glob.glob("/dev/dri/renderD*"):
        return "an Intel GPU"
    return None


def _has_nvidia_node() -> bool:
    # /dev/nvidiactl is the driver's control node; /dev/dxg is how the Windows Subsystem for Linux shows GPUs,
    # /dev/nvhost-gpu how Tegra does.
    return any(os.access(node, os.R_OK | os.W_OK) for node in ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu"))


def _install(torch) -> None:
    """Loads the native parts and completes torch with them. What torch sees of it comes last."""
    from openmps import _convolution, _matmul, _names, _plugin, _storage, _streams

    plugin = _plugin.load()
    plugin.activate(torch.version.git_version or "")
    stream_base = _streams.make_base(torch)
    _names.install(torch, stream_base)
    _storage.install(torch)
    _convolution.install(torch)
    _streams.rebind(torch)
    torch._C._has_mps = True
    _clear_caches(torch)
    if "PYTORCH_MPS_PREFER_METAL" in os.environ:
        _matmul.install(torch)
    if os.environ.get("OPENMPS_MULTITHREADED_BACKWARD") != "1":
        torch._C._set_multithreading_enabled(False)
    atexit.register(_finish, plugin, os.getpid())


def _clear_caches(torch) -> None:
    """Forgets the answers of ``torch.backends.mps`` from before the device was there."""
    for function in vars(torch.backends.mps).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def _finish(plugin, process_id: int) -> None:
    """Leaves no thread of ours in the middle of something when the interpreter goes.

    torch's autograd worker may still own the last graph, whose captured context variables need the interpreter lock to
    die; during finalization that aborts the process. A process forked from the one that activated has none of the
    threads, and waiting for them would never end.
    """
    if os.getpid() != process_id:
        return
    import torch

    from openmps import _openmps

    # Other threads than the one that activated may have used the worker; only a backward that runs there drains it.
    torch._C._set_multithreading_enabled(True)
    plugin.drain_autograd()
    _openmps.wait_for_idle_streams()
