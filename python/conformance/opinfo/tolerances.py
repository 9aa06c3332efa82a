"""Tolerances of upstream's comparison of "mps" with "cpu".

Most are the defaults of PyTorch's `assertEqual` for the dtype, or what the op database itself says. What is listed here are
the exceptions that upstream's test has for gradients and half precision, where they concern an op whose result depends on
the order of a sum.
"""

import torch
from torch.testing._internal.common_device_type import precisionOverride, toleranceOverride

from conformance.opinfo.units import FORWARD_TEST, TEST_CLASS, Unit, entries

_HALVES = (torch.float16, torch.bfloat16)

#: Ops whose halves are summed in another order.
_PRODUCTS = {
    "__rmatmul__", "addbmm", "addmm", "addmm.decomposed", "addmv", "baddbmm", "corrcoef", "cov", "linalg.multi_dot", "matmul", "mv",
    "nn.functional.linear", "nn.functional.conv_transpose1d", "nn.functional.conv_transpose2d", "nn.functional.conv_transpose3d",
}  # fmt: skip


def of(unit: Unit) -> tuple[float | None, float | None]:
    """Absolute and relative tolerance; `None` for the default of the dtype."""
    if unit.op in _PRODUCTS and unit.dtype in _HALVES:
        return (5e-2, 5e-2) if unit.dtype == torch.float16 else (5e-2, 1e-1)
    for decorator in entries()[unit.op].get_decorators(TEST_CLASS, FORWARD_TEST, "mps", unit.dtype, {}):
        if isinstance(decorator, toleranceOverride) and unit.dtype in decorator.d:
            return tuple(decorator.d[unit.dtype])
        if isinstance(decorator, precisionOverride) and unit.dtype in decorator.d:
            return decorator.d[unit.dtype], 0.0
    return None, None
