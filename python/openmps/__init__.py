"""PyTorch's MPS backend for machines without an Apple GPU.

Installing this package is enough: ``import torch`` finds it through the entry point group ``torch.backends`` and
``device="mps"``, ``torch.mps`` and ``torch.mps.compile_shader`` work. Nothing of this module need be imported.

>>> import torch
>>> torch.ones(2, device="mps").device
device(type='mps', index=0)

What decides whether the device appears, in this order:

- torch has an MPS backend of its own: nothing is done;
- ``OPENMPS_ACTIVATE=0``: nothing is done;
- the wheel of torch is another release than the one this package was built for: a warning, and nothing is done;
- a GPU that torch itself can use is visible and ``OPENMPS_ACTIVATE`` is not ``1``: nothing is done;
- else the device is activated.

``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` keeps torch from calling any plug-in. ``import openmps`` then activates late, and says in
a warning why if it does not. :func:`activate` does the same and raises instead.

``backward()`` runs on the thread that calls it, as the device's kernels finish before they return and a second thread
only costs time. ``OPENMPS_MULTITHREADED_BACKWARD=1`` keeps torch's own choice, a worker thread for each device.
"""

from openmps._activation import ActivationError, activate, autoload as _autoload, is_active

__all__ = ["ActivationError", "__version__", "activate", "is_active"]
__version__ = "0.1.0"


def _activate_on_import() -> None:
    # Importing torch calls _autoload through the entry point, unless that is switched off. While torch is still being
    # imported (it is the entry point that imports this module) there is nothing to do yet: the call follows.
    import torch

    from openmps import _activation

    if not getattr(torch.__spec__, "_initializing", False):
        _activation.activate_on_import()


_activate_on_import()
