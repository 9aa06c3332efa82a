"""One kernel of the benchmark: written once for Metal and OpenCL C, with a C function and an ATen op that do the same."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

METAL_HEADER = """
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
#define BARRIER threadgroup_barrier(mem_flags::mem_threadgroup)
#define COUNT(place, value) atomic_fetch_add_explicit(place, value, memory_order_relaxed)
#define COUNTED(place) atomic_load_explicit(place, memory_order_relaxed)
#define RESET(place) atomic_store_explicit(place, 0u, memory_order_relaxed)
#define HIGH_PRODUCT(a, b) mulhi(a, b)
#define AS_FLOAT(a) float(a)
#define WIDEN(a) float(a)
"""
OPENCL_HEADER = """
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define COUNT(place, value) atomic_add(place, value)
#define COUNTED(place) *(place)
#define RESET(place) *(place) = 0
#define HIGH_PRODUCT(a, b) mul_hi(a, b)
#define AS_FLOAT(a) (float)(a)
/* OpenCL C has no bfloat: its bits are the upper half of a float's. */
typedef ushort bfloat;
#define WIDEN(a) _Generic((a), bfloat: as_float((uint)(a) << 16), float: (a))
"""
# Declarations in threadgroup memory; `LOCAL(type, name, count)` in a body.
LOCAL = re.compile(r"LOCAL\((\w+), (\w+), ([^)]*)\)")
LOCAL_COUNTERS = re.compile(r"LOCAL_COUNTERS\((\w+), (\w+)\)")
C_HEADER = """
#include <math.h>
#include <stdint.h>
typedef uint32_t uint;
/* The bits of a bfloat are the upper half of a float's; clang's own type is converted one by one. */
typedef uint16_t bfloat;
static inline float widened(bfloat a) { uint bits = (uint)a << 16; float f; __builtin_memcpy(&f, &bits, 4); return f; }
#define WIDEN(a) _Generic((a), bfloat: widened, float: same)(a)
static inline float same(float a) { return a; }
void parallel(void (*run)(void*, long, long), void* arguments, long units, int threads);
"""

# What a body may call a thread's place: in Metal an attribute of a parameter, in OpenCL C the start of the body. Kernels over a
# plane use the second form of each.
POSITIONS = {
    "gid": ("uint gid [[thread_position_in_grid]]", "uint gid = get_global_id(0);"),
    "lid": ("uint lid [[thread_position_in_threadgroup]]", "uint lid = get_local_id(0);"),
    "group": ("uint group [[threadgroup_position_in_grid]]", "uint group = get_group_id(0);"),
    "at": ("uint2 at [[thread_position_in_grid]]", "uint2 at = (uint2)(get_global_id(0), get_global_id(1));"),
    "place": ("uint2 place [[thread_position_in_threadgroup]]", "uint2 place = (uint2)(get_local_id(0), get_local_id(1));"),
    "tile": ("uint2 tile [[threadgroup_position_in_grid]]", "uint2 tile = (uint2)(get_group_id(0), get_group_id(1));"),
    "lane": ("uint lane [[thread_index_in_simdgroup]]", None),
    "simdgroup": ("uint simdgroup [[simdgroup_index_in_threadgroup]]", None),
}


@dataclass(frozen=True)
class Parameter:
    """A buffer that is read (`in`) or written (`out`, `counters`), or one number (`value`)."""

    kind: str
    type: str
    name: str

    def metal(self) -> str:
        """The declaration in Metal."""
        return {
            "in": f"device const {self.type}* {self.name}",
            "out": f"device {self.type}* {self.name}",
            "counters": f"device atomic_uint* {self.name}",
            "value": f"constant {self.type}& {self.name}",
        }[self.kind]

    def opencl(self) -> str:
        """The declaration in OpenCL C."""
        return {
            "in": f"__global const {self.type}* {self.name}",
            "out": f"__global {self.type}* {self.name}",
            "counters": f"__global uint* {self.name}",
            "value": f"{self.type} {self.name}",
        }[self.kind]


def parameters(text: str) -> tuple[Parameter, ...]:
    """From ``kind type name, …``."""
    return tuple(Parameter(*part.split()) for part in text.split(","))


@dataclass
class Case:
    """A kernel with its data. `arguments` are CPU tensors and numbers in the order of the parameters."""

    name: str
    parameters: tuple[Parameter, ...]
    positions: str
    body: str
    arguments: list
    threads: tuple[int, ...]
    group: tuple[int, ...]
    c: str = ""
    """The body of a C function over the units ``begin`` to ``end``, with the parameters' names."""
    units: int = 0
    aten: Callable[[], object] | None = None
    """Runs the op on CPU tensors of the same values."""
    expected: Callable[[], torch.Tensor] | None = None
    """What the (first) output must be; without one the C function's result."""
    tolerance: float = 1e-4
    opencl_body: str | None = None
    """What stands for `body` in OpenCL C: PoCL has no sub-groups, so threads that meet as a SIMD-group meet through local memory there."""
    opencl_positions: str = ""
    """With `opencl_body`: its positions."""
    opencl_launch: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """With `opencl_body`: threads, and threads of a group, where they are not those of the kernel in Metal."""
    bytes: int = 0
    """That must cross the memory bus."""
    flops: int = 0
    c_prelude: str = ""
    note: str = ""
    outputs: list[int] = field(init=False)

    def __post_init__(self):
        self.outputs = [index for index, parameter in enumerate(self.parameters) if parameter.kind in ("out", "counters")]

    def metal(self) -> str:
        """The kernel in Metal."""
        declared = [f"{parameter.metal()} [[buffer({index})]]" for index, parameter in enumerate(self.parameters)]
        declared += [POSITIONS[name][0] for name in self.positions.split()]
        body = LOCAL.sub(r"threadgroup \1 \2[\3]", LOCAL_COUNTERS.sub(r"threadgroup atomic_uint \1[\2]", self.body))
        return f"{METAL_HEADER}\nkernel void {self.name}({', '.join(declared)}) {{\n{body}\n}}\n"

    def opencl(self) -> str:
        """The kernel in OpenCL C."""
        text, positions = (self.body, self.positions) if self.opencl_body is None else (self.opencl_body, self.opencl_positions)
        declared = ", ".join(parameter.opencl() for parameter in self.parameters)
        starts = "\n".join(POSITIONS[name][1] for name in positions.split())
        body = LOCAL.sub(r"__local \1 \2[\3]", LOCAL_COUNTERS.sub(r"__local uint \1[\2]", text))
        return f"{OPENCL_HEADER}\n__kernel void {self.name}({declared}) {{\n{starts}\n{body}\n}}\n"

    def c_function(self) -> str:
        """The C function for a range of units, and NAME_parallel, which shares all units between threads."""
        declared = {
            "in": "const {0.type}* restrict {0.name}",
            "out": "{0.type}* restrict {0.name}",
            "counters": "uint* restrict {0.name}",
            "value": "{0.type} {0.name}",
        }
        arguments = [declared[parameter.kind].format(parameter) for parameter in self.parameters]
        names = [parameter.name for parameter in self.parameters]
        fields = " ".join(f"{argument.replace('restrict ', '')};" for argument in arguments)
        given = ", ".join(f"all->{name}" for name in names)
        return f"""{self.c_prelude}
void {self.name}({', '.join(arguments)}, long begin, long end) {{
{self.c}
}}
struct {self.name}_arguments {{ {fields} }};
static void {self.name}_part(void* arguments, long begin, long end) {{
    struct {self.name}_arguments* all = arguments;
    {self.name}({given}, begin, end);
}}
void {self.name}_parallel({', '.join(arguments)}, long units, int threads) {{
    struct {self.name}_arguments all = {{ {', '.join(names)} }};
    if (threads > 1) parallel({self.name}_part, &all, units, threads);
    else {self.name}({', '.join(names)}, 0, units);
}}
"""
