"""Making, filling, moving and joining tensors."""

import math
import re
from collections.abc import Callable, Iterator

import torch

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.families.unary import chosen
from conformance.inputs import PLAIN, Domain, draw
from conformance.memory import Operand, Output, f32, i32, i64, pack, padded, scalar, to_device, u32

BY_BITS = {"8bit": torch.uint8, "16bit": torch.int16, "32bit": torch.int32, "64bit": torch.int64}
SHAPE = (4, 23, 7)


def _kinds(library: Library, pattern: str) -> list[str]:
    return [kind for kind in METAL if library.has(pattern.format(kind)) and kind != "float8_e4m3fn"]


def _fill(library: Library) -> Iterator[Case]:
    for kind in _kinds(library, "fill_scalar_dense_{}"):
        dtype, value = METAL[kind], 1
        want = torch.ones(SHAPE, dtype=dtype) if dtype != torch.complex32 else torch.ones(SHAPE, dtype=torch.complex64).to(dtype)
        output = Output(SHAPE, dtype)
        launch = Launch(f"fill_scalar_dense_{kind}", [output.device, scalar(value, dtype), u32(want.numel())], (want.numel(),))
        yield Case([launch], [Check(output, want)])
        output = Output(SHAPE, dtype, "strided")
        arguments = [output.device, scalar(value, dtype), i64(*reversed(SHAPE)), i64(*output.byte_strides()), u32(3)]
        yield Case([Launch(f"fill_scalar_strided_{kind}", arguments, (4 * 23, 7))], [Check(output, want)])


def _arange(library: Library) -> Iterator[Case]:
    for kind in _kinds(library, "arange_{}_i32"):
        dtype = METAL[kind]
        count, start, step = 100, 3, 1 if dtype in (torch.uint8, torch.int8) else 2
        want = torch.arange(start, start + step * count, step).to(dtype)
        wide = torch.float32 if dtype.is_floating_point else torch.int64
        numbers = to_device(torch.tensor([start, step], dtype=wide))
        for index, letter in (("i32", "i"), ("i64", "q")):
            output = Output((count,), dtype)
            launch = Launch(f"arange_{kind}_{index}", [output.device, numbers, pack(f"2{letter}", 1, 0)], (count,))
            yield Case([launch], [Check(output, want)], f"{wide}")


def _eye(library: Library) -> Iterator[Case]:
    for kind in _kinds(library, "eye_{}"):
        dtype, (rows, columns) = METAL[kind], (9, 13)
        wide = torch.complex64 if dtype == torch.complex32 else dtype
        want = torch.eye(rows, columns, dtype=wide).to(dtype)
        output = Output((rows, columns), dtype)
        launch = Launch(f"eye_{kind}", [output.device, i64(columns), i64(1)], (columns, rows))
        yield Case([launch], [Check(output, want)])
        output = Output((rows, columns), dtype, initial=torch.zeros((rows, columns), dtype=wide).to(dtype))
        launch = Launch(f"eye_diag_{kind}", [output.device, i64(columns + 1)], (rows,))
        yield Case([launch], [Check(output, want)])


def _triangle(name: str, reference: Callable) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in _kinds(library, name + "_int_{}"):
            dtype, shape = METAL[kind], (3, 11, 9)
            x = draw(dtype, shape, PLAIN)
            for k in (-2, 0, 3):
                bits = x.view(torch.int32) if dtype == torch.complex32 else x
                want = reference(bits, k).view(dtype)
                source, output = Operand(x, "inner"), Output(shape, dtype)
                strides = [i32(*reversed(memory.strides)) for memory in (output, source)]
                sizes = u32(*reversed(shape))
                arguments = [output.device, source.device, *strides, sizes, i32(k, 3)]
                threads = (9, 11, 3)
                yield Case([Launch(f"{name}_int_{kind}", arguments, threads)], [Check(output, want)], f"k={k}")
                output = Output(shape, dtype, "inner", initial=x)
                arguments = [output.device, i32(*reversed(output.strides)), sizes, i32(k, 3)]
                yield Case([Launch(f"{name}_inplace_int_{kind}", arguments, threads)], [Check(output, want)], f"k={k}")

    return Family(name, "factories", cases)


def _frexp(library: Library) -> Iterator[Case]:
    for kind in ("float", "half", "bfloat"):
        dtype = METAL[kind]
        x = draw(dtype, (5, 6, 29), PLAIN)
        want = torch.frexp(x.float())
        mantissa, exponent = Output(x.shape, dtype), Output(x.shape, torch.int32)
        launch = Launch(f"frexp_dense_{kind}", [mantissa.device, exponent.device, to_device(x)], (x.numel(),))
        yield Case([launch], [Check(mantissa, want.mantissa.to(dtype)), Check(exponent, want.exponent)])
        source = Operand(x, "strided")
        mantissa, exponent = Output(x.shape, dtype, "inner"), Output(x.shape, torch.int32, "strided")
        strides = [i64(*memory.byte_strides()) for memory in (mantissa, exponent, source)]
        arguments = [mantissa.device, exponent.device, source.device, i64(29, 6, 5), *strides, u32(3)]
        launch = Launch(f"frexp_strided_{kind}", arguments, (x.numel(),))
        yield Case([launch], [Check(mantissa, want.mantissa.to(dtype)), Check(exponent, want.exponent)])


def _cross(library: Library) -> Iterator[Case]:
    for kind in _kinds(library, "cross_dense_{}"):
        dtype = METAL[kind]
        a, b = draw(dtype, (5, 3, 7), Domain(-5, 5, False)), draw(dtype, (5, 3, 7), Domain(-5, 5, False))
        wide = torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else torch.int64
        x, y = (each.to(torch.complex64).to(wide) if dtype.is_complex else each.to(wide) for each in (a, b))
        want = torch.linalg.cross(x, y, dim=1).to(dtype)
        tolerance = Tolerance(rounded(Tolerance(4e-7), dtype).relative * 2, 1e-5 if dtype in (torch.float32, torch.complex64) else 0.2)
        tolerance = tolerance if dtype.is_floating_point or dtype.is_complex else EXACT
        output = Output(a.shape, dtype)
        launch = Launch(f"cross_dense_{kind}", [output.device, to_device(a), to_device(b), u32(7)], (35,))
        yield Case([launch], [Check(output, want, tolerance)])


def _flip(library: Library) -> Iterator[Case]:
    for bits, dtype in BY_BITS.items():
        x = draw(dtype, SHAPE, Domain(0, 120, False))
        want = x.flip(0, 2)
        # The host turns the strides of flipped dimensions around and starts at their ends; here the output starts at its end.
        output = Output(SHAPE, dtype)
        sizes = u32(*reversed(SHAPE))
        source = to_device(want)
        strides = [i32(*(stride * dtype.itemsize for stride in reversed(x.stride())))] * 2
        arguments = [output.device, source, sizes, *strides, u32(3)]
        yield Case([Launch(f"flip_{bits}", arguments, (x.numel(),))], [Check(output, want)])


def _cat(library: Library) -> Iterator[Case]:
    found = [match for match in (re.fullmatch(r"cat_(int32_t|int64_t)_(\w+)_(\w+)", name) for name in sorted(library.names)) if match]
    found = [match for match in found if match[2] in METAL and match[3] in METAL and "float8_e4m3fn" not in match.groups()]
    for match in chosen(found, library.is_thorough, False, 40):
        letter = {"int32_t": "i", "int64_t": "q"}[match[1]]
        source, target = METAL[match[2]], METAL[match[3]]
        # The kernel's name has the operand's type first.
        first, second = draw(source, (3, 4, 5), Domain(0, 9, False)), draw(source, (3, 6, 5), Domain(0, 9, False))
        wide = torch.complex64 if source.is_complex else torch.float64
        want = torch.cat([first.to(wide), second.to(wide)], 1)
        want = want.to(target)
        output = Output(want.shape, target)
        shared = pack(f"2i32{letter}", 3, 1, *padded(output.strides, 16), *padded(want.shape, 16))
        launches, offset = [], 0
        for x in (first, second):
            memory = Operand(x, "inner")
            params = pack(f"34{letter}", offset, 0, *padded(memory.strides, 16), *padded(x.shape, 16))
            launches.append(Launch(match[0], [memory.device, output.device, shared, params], (x.numel(),)))
            offset += x.shape[1]
        yield Case(launches, [Check(output, want)])


def _repeat(library: Library) -> Iterator[Case]:
    for kind, dtype in (("int32_t", torch.int32), ("int64_t", torch.int64)):
        repeats = torch.randint(0, 5, (37,)).to(dtype)
        total = int(repeats.sum())
        want = torch.repeat_interleave(repeats.long()).to(dtype)
        output = Output((total,), dtype)
        arguments = [to_device(repeats), to_device(repeats.long().cumsum(0)), output.device, i64(1)]
        yield Case([Launch(f"repeat_interleave_{kind}", arguments, (37,))], [Check(output, want)])


def _bytes(library: Library) -> Iterator[Case]:
    data = torch.randint(0, 256, (1000,), dtype=torch.uint8)
    output = Output((1000,), torch.uint8)
    launch = Launch("contiguous_byte_copy", [output.device, to_device(data), u32(1000), i64(0)], (math.ceil(1000 / 16),))
    yield Case([launch], [Check(output, data)])


def _renorm(library: Library) -> Iterator[Case]:
    for kind in ("float", "half", "bfloat"):
        dtype = METAL[kind]
        norm = draw(dtype, (100,), Domain(0.1, 5, False))
        want = torch.where(norm.double() > 2, 2 / (norm.double() + 1e-7), 1.0).to(dtype)
        output = Output((100,), dtype)
        launch = Launch(f"renorm_{kind}", [to_device(norm), output.device, f32(2.0)], (100,))
        yield Case([launch], [Check(output, want, rounded(Tolerance(3e-7), dtype))])


def _linspace(library: Library) -> Iterator[Case]:
    for kind in _kinds(library, "linspace_{}_i32"):
        dtype, steps = METAL[kind], 51
        if not dtype.is_floating_point:
            continue
        start, end = -2.0, 3.0
        want = torch.linspace(start, end, steps, dtype=torch.float64).to(dtype)
        output = Output((steps,), dtype)
        arguments = [output.device, f32(start, (end - start) / (steps - 1), end), i32(steps, 1, 0, 0)]
        launch = Launch(f"linspace_{kind}_i32", arguments, (steps,))
        yield Case([launch], [Check(output, want, rounded(Tolerance(5e-7, 5e-7), dtype))])


def _unpack_pivots(library: Library) -> Iterator[Case]:
    for permutation in ("int", "long"):
        for pivot in ("int", "long"):
            name = f"unpack_pivots_{permutation}_{pivot}"
            if not library.has(name):
                continue
            batch, size = 3, 9
            pivots = torch.stack([torch.stack([torch.randint(row, size, ()) for row in range(size)]) for _ in range(batch)]) + 1
            initial = torch.arange(size).expand(batch, size).contiguous()
            want = initial.clone()
            for index in range(batch):
                for row, other in enumerate((pivots[index] - 1).tolist()):
                    want[index, [row, other]] = want[index, [other, row]]
            output = Output((batch, size), METAL[permutation], initial=initial.to(METAL[permutation]))
            arguments = [output.device, to_device(pivots.to(METAL[pivot])), u32(size, size, size)]
            yield Case([Launch(name, arguments, (batch,))], [Check(output, want.to(METAL[permutation]))])


FAMILIES = [
    Family("fill", "factories", _fill),
    Family("arange", "factories", _arange),
    Family("linspace", "factories", _linspace),
    Family("eye", "factories", _eye),
    _triangle("tril", torch.tril),
    _triangle("triu", torch.triu),
    Family("frexp", "factories", _frexp),
    Family("cross", "factories", _cross),
    Family("flip", "factories", _flip),
    Family("cat", "factories", _cat),
    Family("repeat_interleave", "factories", _repeat),
    Family("byte copy", "factories", _bytes),
    Family("renorm", "factories", _renorm),
    Family("unpack_pivots", "factories", _unpack_pivots),
]
