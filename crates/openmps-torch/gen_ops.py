"""Generates the op tables of the plug-in from the installed wheel's native_functions.yaml.

Usage: gen_ops.py OUTPUT_FOLDER

autogen_op_list.inc     ops that get the boxed redispatch: the real MPS backend has a kernel (its own
                        or its structured delegate's) and the CPU has one too
autogen_fast_ops_N.cpp  unboxed wrappers for ops whose arguments and results are simple: name, C++ type and the
                        CPU's function

Nothing is typed by hand that the yaml knows: kernels, device checks, signatures, wrapper names. What the real backend's
kernels refuse is in refusals.py.
"""

from __future__ import annotations

import pathlib
import re
import sys

import torchgen
from torchgen import local
from torchgen.api import cpp, native
from torchgen.api.types import CppSignatureGroup
from torchgen.gen import parse_native_yaml
from torchgen.model import DeviceCheckType, DispatchKey, NativeFunction, SchemaKind

from refusals import ALERTS, DTYPES, REFUSALS, Alert, Refusal

YAML = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native"

# Written in C++: Factories.cpp, Copy.cpp, Views.cpp, Cdist.cpp.
OWN_KERNELS = {
    "empty.memory_format", "empty_strided",
    "copy_", "_copy_from", "_copy_from_and_resize", "_local_scalar_dense", "record_stream",
    "as_strided", "view", "_reshape_alias", "unfold", "view_as_real", "view_as_complex",
    "_cdist_backward",
}  # fmt: skip

# RandomOps.cpp, RandomSampling.cpp: they draw from the MPS generator, so none may reach a CPU kernel.
RANDOM_KERNELS = {
    "uniform_", "normal_", "log_normal_", "exponential_", "cauchy_", "geometric_",
    "bernoulli_.float", "bernoulli_.Tensor", "bernoulli.out",
    "random_", "random_.from", "random_.to",
    "normal.Tensor_float", "normal.Tensor_float_out", "normal.float_Tensor",
    "normal.float_Tensor_out", "normal.Tensor_Tensor", "normal.Tensor_Tensor_out",
    "randperm.generator_out", "multinomial", "multinomial.out", "native_dropout",
    "_standard_gamma", "_sample_dirichlet", "poisson", "binomial",
}  # fmt: skip

# Composite kernels of the CPU build that cannot run on MPS tensors (they ask USE_MPS or read a
# DispatchStub), although every tensor in them may. `convolution` itself calls `_convolution`, which
# is what traces hold.
NEEDED_COMPOSITES = {
    "_convolution", "convolution_backward", "kaiser_window", "kaiser_window.periodic",
    "kaiser_window.beta",
}  # fmt: skip

# Nothing to redispatch: test ops, files, and pinning, which the hooks answer.
SKIPPED = {"_pin_memory", "is_pinned", "from_file", "_foobar"}

# NoCheck ops that take CPU tensors next to MPS tensors on purpose (indices, weights, lists).
MIXED_DEVICES = re.compile(
    r"^(index_put|_index_put_impl|_unsafe_index|copy_|_foreach|_fused|_amp"
    r"|resize|scatter|gather|put_|take|embedding|_embedding"
    r"|repeat_interleave|_local|is_set_to|segment|bucketize|searchsorted|_ctc|ctc|cudnn"
    r"|convolution)"
)

# Collectives have no MPS kernels upstream; over host memory gloo's CPU ones just work.
COLLECTIVES = [
    "allgather_", "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_",
    "allreduce_", "allreduce_coalesced_", "alltoall_", "alltoall_base_", "barrier", "broadcast_",
    "gather_", "monitored_barrier_", "recv_", "recv_any_source_", "reduce_", "reduce_scatter_",
    "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "scatter_", "send",
]  # fmt: skip

# Unboxed although they write into an argument that they may resize, or are composite: often called.
FAST = """
add.out sub.out mul.out div.out mm.out addmm.out bmm.out _convolution convolution_backward
""".split()

# Argument types that name a device or own memory: the boxed redispatch knows what to do with them.
BOXED_TYPES = {"Device", "Layout", "MemoryFormat", "Storage", "Generator"}

# Ops that change more than bytes or a second argument, and those whose result has another layout.
BOXED_NAMES = re.compile(r"^(resize_|set_|_to_sparse|_amp)")

# Translation units over which the fast ops are spread, for parallel compilation.
FAST_UNITS = 4


class Wheel:
    """The wheel's functions and which backends have kernels for them."""

    def __init__(self) -> None:
        parsed = parse_native_yaml(str(YAML / "native_functions.yaml"), str(YAML / "tags.yaml"))
        self.functions = list(parsed.native_functions)
        self._indices = parsed.backend_indices
        self.by_name = {str(f.func.name): f for f in self.functions}

    def has_kernel(self, key: DispatchKey, function: NativeFunction) -> bool:
        if self._indices[key].get_kernel(function) is not None:
            return True
        if function.structured_delegate is None:
            return False
        delegate = self.by_name[str(function.structured_delegate)]
        return self._indices[key].get_kernel(delegate) is not None

    def names_with(self, mps: DispatchKey, cpu: DispatchKey) -> list[str]:
        return [
            str(f.func.name)
            for f in self.functions
            if self.has_kernel(mps, f) and self.has_kernel(cpu, f)
        ]


def device_check(function: NativeFunction) -> str:
    if str(function.func.name) == "_convolution":
        return "Convolution"
    if str(function.func.name).startswith("set_."):
        return "Storage"
    if function.root_name == "index":
        return "Indices"
    if function.device_check != DeviceCheckType.NoCheck:
        return "SameDevice"
    return "None" if MIXED_DEVICES.match(str(function.func.name)) else "AllowCpuScalars"


def wrapper_name(function: NativeFunction) -> str:
    """The name of the wrapper that torchgen would have made; error texts quote it."""
    if function.structured or function.structured_delegate is not None:
        return f"wrapper_MPS_{native.name(function.func)}"
    return f"wrapper_MPS_{function.func.name.overload_name}_{cpp.name(function.func)}"


def is_about(row: Refusal | Alert, function: NativeFunction) -> bool:
    """Whether one of the row's ops is this one and has the argument."""
    names = row.ops.split()
    is_named = str(function.func.name) in names or function.func.name.name.base in names
    return is_named and argument_index(row, function) is not None


def argument_index(row: Refusal | Alert, function: NativeFunction) -> int | None:
    """Where the tensor is whose dtype decides; for alerts about any dtype the first tensor."""
    for index, argument in enumerate(function.func.schema_order_arguments()):
        if argument.name == row.argument or (row.argument is None and argument.type.is_tensor_like()):
            return index
    return None


def refusal_row(row: Refusal | Alert, function: NativeFunction) -> str:
    """The initializer of a Refusal of Refusals.h."""
    if isinstance(row, Alert):
        groups, error, text = (["floats", "complex"] if row.argument else ["any"]), "Alert", row.caller
    else:
        groups, error, text = row.dtypes, row.error, row.text
    names = [name for group in groups for name in DTYPES[group]]
    bits = " | ".join(f"1ULL << static_cast<int>(at::ScalarType::{name})" for name in names) or "~0ULL"
    quoted = text.replace('"', '\\"')
    return f'{{{argument_index(row, function)}, RefusalError::{error}, {bits}, {f"&{row.when}" if row.when else "nullptr"}, "{quoted}"}}'


class RefusalTables:
    """The rows of each op, as C++ arrays that ops point to."""

    def __init__(self) -> None:
        self.definitions: list[str] = []
        self.used: set[str] = set()

    def of(self, function: NativeFunction) -> str:
        """The initializer of the op's Refusals."""
        rows = [row for row in [*REFUSALS, *ALERTS] if is_about(row, function)]
        if not rows:
            return "{nullptr, 0}"
        for row in rows:
            self.used.update(name for name in row.ops.split() if name in (str(function.func.name), function.func.name.name.base))
        symbol = f"kRefusals{len(self.definitions)}"
        self.definitions.append(
            f"constexpr Refusal {symbol}[] = {{\n    " + ",\n    ".join(refusal_row(row, function) for row in rows) + "};"
        )
        return f"{{{symbol}, {len(rows)}}}"


def op_row(wheel: Wheel, name: str, refusals: RefusalTables) -> str:
    function = wheel.by_name[name]
    return f'    {{"{name}", DeviceCheck::{device_check(function)}, "{wrapper_name(function)}", {refusals.of(function)}}},'


def table(symbol: str, rows: list[str]) -> str:
    return f"constexpr GeneratedOp {symbol}[] = {{\n" + "\n".join(rows) + "\n};\n"


def op_list(wheel: Wheel, fast: set[str], refusals: RefusalTables) -> str:
    elsewhere = OWN_KERNELS | RANDOM_KERNELS | SKIPPED | fast
    dense = [n for n in wheel.names_with(DispatchKey.MPS, DispatchKey.CPU) if n not in elsewhere]
    dense += sorted(n for n in NEEDED_COMPOSITES if n in wheel.by_name and n not in fast)
    sparse = wheel.names_with(DispatchKey.SparseMPS, DispatchKey.SparseCPU)
    compressed = wheel.names_with(DispatchKey.SparseCsrMPS, DispatchKey.SparseCsrCPU)
    unchecked = '    {{"{}", DeviceCheck::None, "", {{nullptr, 0}}}},'
    rows = [op_row(wheel, n, refusals) for n in dense]
    return "\n".join(
        [
            *refusals.definitions,
            table("kDenseOps", rows),
            table("kSparseOps", [unchecked.format(n) for n in sparse]),
            table("kCompressedOps", [unchecked.format(n) for n in compressed]),
            table("kCollectiveOps", [unchecked.format(n) for n in COLLECTIVES]),
        ]
    )


def is_simple(function: NativeFunction) -> bool:
    """Whether the op changes nothing but the bytes of its arguments and returns fresh tensors or its first argument."""
    if function.func.kind() not in (SchemaKind.functional, SchemaKind.inplace) or BOXED_NAMES.match(str(function.func.name)):
        return False
    types = {str(argument.type).rstrip("?") for argument in function.func.schema_order_arguments()}
    returns = function.func.returns
    if function.func.kind() == SchemaKind.functional and (not returns or any(value.annotation for value in returns)):
        return False
    return not types & BOXED_TYPES and all(str(value.type) == "Tensor" for value in returns)


def fast_names(wheel: Wheel) -> list[str]:
    """The ops that get unboxed wrappers, of those that this wheel has for both backends."""
    elsewhere = OWN_KERNELS | RANDOM_KERNELS | SKIPPED
    known = [name for name in wheel.names_with(DispatchKey.MPS, DispatchKey.CPU) if name not in elsewhere]
    simple = [name for name in known if is_simple(wheel.by_name[name])]
    return simple + [name for name in FAST if name in {*known, *NEEDED_COMPOSITES}]


def cpp_type(function: NativeFunction) -> str:
    """The C++ pointer type of at::cpu::<function> whose argument order is the schema's."""
    group = CppSignatureGroup.from_native_function(function, method=False, fallback_binding=False)
    with local.parametrize(
        use_const_ref_for_mutable_tensors=function.use_const_ref_for_mutable_tensors,
        use_ilistref_for_tensor_lists=function.part_of_structured_group,
    ):
        return (group.faithful_signature or group.signature).ptr_type()


def fast_unit(wheel: Wheel, unit: int, names: list[str], used: set[str]) -> str:
    headers, rows, refusals = set(), [], RefusalTables()
    for index, name in enumerate(names):
        function = wheel.by_name[name]
        is_out = function.func.kind() == SchemaKind.out
        target = cpp.name(function.func, faithful_name_for_out_overloads=is_out)
        kernel = {
            SchemaKind.out: "OutKernel",
            SchemaKind.inplace: "InplaceKernel",
            SchemaKind.functional: "FunctionalKernel",
        }[function.func.kind()]
        base = function.root_name
        home = "compositeexplicitautograd" if name in NEEDED_COMPOSITES else "cpu"
        headers.add(f"#include <ATen/ops/{base}_{home}_dispatch.h>")
        rows.append(
            f'constexpr FastOp kOp{index}{{"{name}", DeviceCheck::{device_check(function)}, '
            f'"{wrapper_name(function)}", {refusals.of(function)}}};\n'
            f"using Type{index} = {cpp_type(function)};\n"
            f"constexpr Type{index} kFunction{index} = &at::{home}::{target};"
        )
        rows.append(f"using Kernel{index} = {kernel}<kOp{index}, Type{index}, kFunction{index}>;")
    body = "\n".join(
        f"  library.impl(kOp{i}.name, &Kernel{i}::call);" for i in range(len(names))
    )
    used |= refusals.used
    return "\n".join(
        [
            '#include "FastOps.h"',
            *sorted(headers),
            "namespace openmps {",
            "namespace {",
            *refusals.definitions,
            *rows,
            "} // namespace",
            f"void registerFastOps{unit}(torch::Library& library) {{",
            body,
            "}",
            "} // namespace openmps",
            "",
        ]
    )


def write(path: pathlib.Path, text: str) -> None:
    text = f"// Generated by gen_ops.py from {YAML.name}/native_functions.yaml; do not edit.\n" + text
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wheel = Wheel()
    fast = fast_names(wheel)
    refusals = RefusalTables()
    write(folder / "autogen_op_list.inc", op_list(wheel, set(fast), refusals))
    used = refusals.used
    for unit in range(FAST_UNITS):
        write(folder / f"autogen_fast_ops_{unit}.cpp", fast_unit(wheel, unit, fast[unit::FAST_UNITS], used))
    unknown = {name for row in [*REFUSALS, *ALERTS] for name in row.ops.split()} - used
    if unknown:
        sys.exit(f"refusals.py names ops that have no kernel here, or not the argument: {', '.join(sorted(unknown))}")


if __name__ == "__main__":
    main()
