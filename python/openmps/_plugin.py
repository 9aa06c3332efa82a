"""Loads the C++ plug-in and calls its few functions that are no dispatcher operators."""

import ctypes
import os
from collections.abc import Callable

_OBSERVER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)
_observers: list = []

_NATIVE = os.path.join(os.path.dirname(__file__), "_native")


class Plugin:
    """The loaded ``libopenmps_torch.so``."""

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        self._activate = library.openmps_torch_activate
        self._activate.argtypes = (ctypes.c_char_p,)
        self._activate.restype = ctypes.c_int
        self._error = library.openmps_torch_error
        self._error.argtypes = ()
        self._error.restype = ctypes.c_char_p
        self._observe_fallbacks = library.openmps_torch_observe_fallbacks
        self._observe_fallbacks.argtypes = (_OBSERVER,)
        self._observe_fallbacks.restype = None
        self._drain_autograd = library.openmps_torch_drain_autograd
        self._drain_autograd.argtypes = ()
        self._drain_autograd.restype = None

    def activate(self, torch_git_version: str) -> None:
        """Registers allocator, guard, hooks and operators with torch and makes mps the accelerator of this process.

        Raises:
            RuntimeError: with the plug-in's reason.
        """
        if self._activate(torch_git_version.encode()) != 0:
            raise RuntimeError(self._error().decode(errors="replace"))

    def observe_fallbacks(self, observer: Callable[[bytes, bytes | None], None] | None) -> None:
        """Calls ``observer`` for every op that the real backend lacks, with its name and None, and for every call that it
        refuses, with the op's name and the error's text; both run on the CPU then. None ends that."""
        callback = _OBSERVER(observer) if observer is not None else _OBSERVER()
        self._observe_fallbacks(callback)
        # The library holds a pointer that ctypes frees with the object; another thread may be in the last one.
        _observers.append(callback)

    def drain_autograd(self) -> None:
        """Waits, without the interpreter lock, until torch's autograd worker for this device has let go of its last graph."""
        self._drain_autograd()


def load() -> Plugin:
    """Loads the extension module, which holds the runtime, and then the plug-in, which links to it.

    Raises:
        ImportError: when the extension module is missing or does not load.
        OSError: when the plug-in is missing or does not load.
    """
    from openmps import _openmps

    # The compiler process, its headers and its precompiled header lie beside the plug-in.
    _openmps.set_native_directory(_NATIVE)
    return Plugin(os.path.join(_NATIVE, "libopenmps_torch.so"))
