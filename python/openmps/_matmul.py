"""``PYTORCH_MPS_PREFER_METAL``: matrix products by Metal kernels of this package instead of the CPU's library.

mm, addmm, bmm and baddbmm with their in-place and out forms; matmul, linear, einsum and the rest call these. The variable
counts when it is set, whatever its text. Arguments are judged by torch's own meta functions, so errors are its texts.
"""

import pathlib
from functools import cache

#: The kernel's type by dtype's name; other dtypes raise what the CPU raises.
_METAL_TYPES = {
    "float32": "float", "float16": "half", "bfloat16": "bfloat", "uint8": "uchar", "int8": "char", "int16": "short",
    "int32": "int", "int64": "long", "complex64": "float2", "complex32": "half2",
}  # fmt: skip

_TILE = 16

#: Keeps the registrations alive.
_libraries: list = []


@cache
def _library():
    import torch

    return torch.mps.compile_shader(pathlib.Path(__file__).with_suffix(".metal").read_text())


def install(torch) -> None:
    """Registers the kernels with the dispatcher, over those that call the CPU's library."""
    library = torch.library.Library("aten", "IMPL", "MPS")
    for name, function in _kernels(torch).items():
        library.impl(name, function, allow_override=True)
    _libraries.append(library)


def _kernels(torch) -> dict:
    """Functions by the name of the op."""
    kernels = {}
    for name, has_self in (("mm", False), ("bmm", False), ("addmm", True), ("baddbmm", True)):
        packet = getattr(torch.ops.aten, name)
        product = _with_self(torch, packet) if has_self else _without_self(torch, packet)
        kernels[name] = product
        kernels[f"{name}.out"] = _with_out(product)
        if has_self:
            kernels[f"{name}_"] = _in_place(product)
    return kernels


def _without_self(torch, packet):
    def product(a, b):
        return _product(torch, packet, None, a, b, 1, 1)

    return product


def _with_self(torch, packet):
    def product(self, a, b, *, beta=1, alpha=1):
        return _product(torch, packet, self, a, b, beta, alpha)

    return product


def _with_out(product):
    def kernel(*arguments, out, **keywords):
        result = product(*arguments, **keywords)
        if out.dtype != result.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
        if out.shape != result.shape:
            out.resize_(result.shape)
        return out.copy_(result)

    return kernel


def _in_place(product):
    def kernel(self, *arguments, **keywords):
        result = product(self, *arguments, **keywords)
        if result.shape != self.shape:
            raise RuntimeError(f"Bad in-place call: input tensor size {list(self.shape)} and output tensor size {list(result.shape)} should match")
        return self.copy_(result)

    return kernel


def _product(torch, packet, self, a, b, beta, alpha):
    tensors = [tensor for tensor in (self, a, b) if tensor is not None]
    _check(torch, packet, self is not None, tensors, beta, alpha)
    keywords = {} if self is None else {"beta": beta, "alpha": alpha}
    shape = packet(*(torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors), **keywords).shape
    out = torch.empty(shape, dtype=a.dtype, device="mps")
    if out.numel():
        _launch(torch, out, self if beta != 0 else None, a, b, beta, alpha)
    return out


def _check(torch, packet, has_self, tensors, beta, alpha) -> None:
    """Raises what torch raises for tensors of different devices or dtypes, and for dtypes without a product."""
    names = (["self"] if has_self else []) + (["mat1", "mat2"] if "addmm" == packet._qualified_op_name[6:] else ["self", "mat2"])
    for name, tensor in zip(names, tensors, strict=True):
        if tensor.device.type != "mps":
            method = f"wrapper_MPS_{packet._qualified_op_name[6:]}"
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got {name} is on {tensor.device}, different from other tensors "
                f"on mps:0 (when checking argument in method {method})"
            )
    dtypes = {tensor.dtype for tensor in tensors}
    if len(dtypes) > 1 or str(tensors[0].dtype).removeprefix("torch.") not in _METAL_TYPES:
        rank = max(tensor.dim() for tensor in tensors)
        packet(*(torch.empty((1,) * rank, dtype=tensor.dtype) for tensor in tensors))


def _launch(torch, out, self, a, b, beta, alpha) -> None:
    given = (out, a, b, out if self is None else self.expand(out.shape))
    batched = [tensor.unsqueeze(0) if tensor.dim() == 2 else tensor for tensor in given]
    result, a, b, term = (tensor.resolve_conj().resolve_neg() for tensor in batched)
    batch, rows, columns = result.shape
    kernel = getattr(_library(), f"matmul_{_METAL_TYPES[str(out.dtype).removeprefix('torch.')]}")
    kernel(
        result, a, b, term,
        [rows, columns, a.shape[2], int(self is not None)], list(a.stride()), list(b.stride()), list(term.stride()),
        _factor(out.dtype, alpha), _factor(out.dtype, beta),
        threads=[_rounded(columns), _rounded(rows), batch], group_size=[_TILE, _TILE, 1],
    )  # fmt: skip


def _rounded(count: int) -> int:
    """Whole tiles: all threads of a group load."""
    return -(-count // _TILE) * _TILE


def _factor(dtype, value) -> list:
    if dtype.is_complex:
        value = complex(value)
        return [value.real, value.imag]
    return [float(value)] if dtype.is_floating_point else [int(value)]
