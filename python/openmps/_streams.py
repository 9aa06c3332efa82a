"""``torch._C._MPSStreamBase`` and the rebinding of ``torch.mps.Stream``.

torch imports ``torch.mps.streams`` before this package is asked, and finding no base class makes a dummy that refuses to be
instantiated. The module is therefore executed again once the real base class is there.
"""

import importlib

from openmps import _openmps

#: ``c10::DeviceType::MPS``.
_DEVICE_TYPE_MPS = 13


def make_base(torch) -> type:
    """The class for ``torch._C._MPSStreamBase``: a ``torch.Stream`` chosen by the id of a stream of the runtime."""

    class _MPSStreamBase(torch.Stream):
        """A stream of the MPS device: ``stream_id`` 0 is the default one, 1 to 32 are the pool's.

        Without ``stream_id`` (or with -1) the next stream of the pool is taken, round-robin.
        """

        def __new__(cls, *, stream_id: int = -1):
            if not isinstance(stream_id, int):
                raise TypeError(f"{cls.__name__}(): argument 'stream_id' must be int, not {type(stream_id).__name__}")
            if stream_id == -1:
                stream_id = _openmps.stream_from_pool()
            elif not _openmps.is_stream(stream_id):
                raise RuntimeError(f"stream_id={stream_id} not found")
            return super().__new__(cls, stream_id=stream_id, device_index=0, device_type=_DEVICE_TYPE_MPS)

        def __reduce__(self):
            raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    _MPSStreamBase.__module__ = "torch._C"
    _MPSStreamBase.__qualname__ = "_MPSStreamBase"
    return _MPSStreamBase


def get_current(stream_base: type):
    """``torch._C._mps_getCurrentStream``: the calling thread's stream."""
    return stream_base(stream_id=_openmps.current_stream_id())


def set_current(torch, stream) -> None:
    """``torch._C._mps_setStream``: makes `stream` the calling thread's stream."""
    if not isinstance(stream, torch.Stream) or stream.device.type != "mps":
        raise TypeError(f"_mps_setStream(): expected a stream of device mps, got {stream!r}")
    _openmps.set_current_stream_id(stream.stream_id)


def rebind(torch) -> None:
    """Derives ``torch.mps.Stream`` from the real base class, in ``torch.mps.streams`` and in ``torch.mps``."""
    streams = importlib.reload(torch.mps.streams)
    for name in streams.__all__:
        setattr(torch.mps, name, getattr(streams, name))
