"""What kernels are called with: memory of the device in a chosen layout, and structures of parameters.

Everything travels as bytes, so that no operation under test takes part in the preparation. Outputs are filled with a pattern,
have a margin behind them, and are read back with their gaps checked.
"""

import struct
from dataclasses import dataclass

import torch

PATTERN = 0xCD
MARGIN_BYTES = 64
ERROR_BUFFER_BYTES = 15364


def to_device(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a contiguous CPU tensor, on the device."""
    return tensor.reshape(-1).contiguous().view(torch.uint8).to("mps")


def pack(layout: str, *values) -> torch.Tensor:
    """A structure as the kernel's `constant T&`; `layout` as in `struct`, without implicit padding."""
    return to_device(torch.frombuffer(bytearray(struct.pack("<" + layout, *values)), dtype=torch.uint8))


def u32(*values: int) -> torch.Tensor:
    """`uint` values, one after the other."""
    return pack(f"{len(values)}I", *values)


def i32(*values: int) -> torch.Tensor:
    """`int` values."""
    return pack(f"{len(values)}i", *values)


def i64(*values: int) -> torch.Tensor:
    """`long` values, at least one."""
    values = values or (0,)
    return pack(f"{len(values)}q", *values)


def u64(*values: int) -> torch.Tensor:
    """`ulong` values."""
    return pack(f"{len(values)}Q", *values)


def f32(*values: float) -> torch.Tensor:
    """`float` values."""
    return pack(f"{len(values)}f", *values)


def scalar(value, dtype: torch.dtype) -> torch.Tensor:
    """One value of a dtype."""
    return to_device(torch.tensor([value], dtype=dtype))


def padded(values, count: int) -> list:
    """`values` with zeros behind them: arrays in structures have a fixed length."""
    return list(values) + [0] * (count - len(values))


def placements(shape: tuple[int, ...], layout: str) -> tuple[int, tuple[int, ...]]:
    """Elements that a tensor of this shape and layout spans, and its strides in elements.

    Layouts: `dense`; `inner` (rows with a gap behind them); `strided` (first dimension innermost, every second element).
    """
    order = list(range(len(shape)))
    if layout == "strided":
        order = order[1:] + order[:1]
    strides = [0] * len(shape)
    step = 2 if layout == "strided" else 1
    for position, dimension in enumerate(reversed(order)):
        strides[dimension] = step
        extent = shape[dimension] + (3 if layout == "inner" and position == 0 else 0)
        step *= extent
    return step, tuple(strides)


class Operand:
    """A tensor in device memory."""

    def __init__(self, values: torch.Tensor, layout: str = "dense"):
        self.values = values
        self.dtype = values.dtype
        span, self.strides = placements(tuple(values.shape), layout)
        if layout == "dense":
            self.device = to_device(values)
            return
        memory = torch.zeros(span * values.element_size(), dtype=torch.uint8).view(values.dtype)
        memory.as_strided(values.shape, self.strides).copy_(values)
        self.device = to_device(memory)

    def byte_strides(self) -> list[int]:
        """Strides in bytes, innermost dimension first, as elementwise kernels want them."""
        return [stride * self.dtype.itemsize for stride in reversed(self.strides)]


class Output:
    """Memory that a kernel writes: a tensor, gaps between its elements, and a margin."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, layout: str = "dense", initial: torch.Tensor | None = None):
        self.shape, self.dtype = tuple(shape), dtype
        span, self.strides = placements(self.shape, layout)
        memory = torch.full((span * dtype.itemsize + MARGIN_BYTES,), PATTERN, dtype=torch.uint8)
        if initial is not None:
            self._view(memory).copy_(initial)
        self.device = memory.to("mps")

    def byte_strides(self) -> list[int]:
        """As :meth:`Operand.byte_strides`."""
        return [stride * self.dtype.itemsize for stride in reversed(self.strides)]

    def read(self) -> torch.Tensor:
        """The tensor; raises ValueError when the kernel wrote beside it."""
        memory = self.device.cpu()
        result = self._view(memory).clone()
        # As bytes: a copy of booleans would turn the pattern into ones.
        dtype = torch.uint8 if self.dtype == torch.bool else self.dtype
        self._view(memory, dtype).copy_(self._view(torch.full_like(memory, PATTERN), dtype))
        if not bool((memory == PATTERN).all()):
            raise ValueError("the kernel wrote beside its output")
        return result

    def _view(self, memory: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
        whole = memory.numel() // self.dtype.itemsize * self.dtype.itemsize
        return memory[:whole].view(dtype or self.dtype).as_strided(self.shape, self.strides)


@dataclass
class ErrorBuffer:
    """`c10::metal::ErrorMessages`: a count and 30 records; a kernel that complains raises the count."""

    device: torch.Tensor

    @classmethod
    def empty(cls) -> "ErrorBuffer":
        """A buffer without messages."""
        return cls(torch.zeros(ERROR_BUFFER_BYTES, dtype=torch.uint8).to("mps"))

    def count(self) -> int:
        """Messages written."""
        return int.from_bytes(bytes(self.device[:4].cpu().tolist()), "little")
