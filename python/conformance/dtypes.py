"""Metal's type names, as kernels of the torch library carry them, and torch's dtypes."""

import torch

METAL = {
    "float": torch.float32,
    "half": torch.float16,
    "bfloat": torch.bfloat16,
    "float2": torch.complex64,
    "half2": torch.complex32,
    "long": torch.int64,
    "int": torch.int32,
    "short": torch.int16,
    "char": torch.int8,
    "uchar": torch.uint8,
    "bool": torch.bool,
    "ushort": torch.uint16,
    "uint": torch.uint32,
    "ulong": torch.uint64,
    "float8_e4m3fn": torch.float8_e4m3fn,
}

METAL_NAME = {dtype: name for name, dtype in METAL.items()}

# c10::ScalarType, which cast kernels take at run time.
SCALAR_TYPE = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.complex32: 8,
    torch.complex64: 9,
    torch.bool: 11,
    torch.bfloat16: 15,
}

# Letters of `struct` for single values of these dtypes; bfloat16 and complex32 have none.
STRUCT = {
    torch.float32: "f",
    torch.float16: "e",
    torch.int64: "q",
    torch.int32: "i",
    torch.int16: "h",
    torch.int8: "b",
    torch.uint8: "B",
    torch.bool: "?",
}


def is_float(dtype: torch.dtype) -> bool:
    """Real floating point."""
    return dtype.is_floating_point


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype that ATen's reference is computed in: double for floats, else the dtype itself."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype
