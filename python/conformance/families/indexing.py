"""Selecting, putting, filling, gathering and scattering by index, with duplicates where the operation orders them away."""

import random
from collections.abc import Callable, Iterator

import torch

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.inputs import PLAIN, Domain, draw
from conformance.memory import ErrorBuffer, Operand, Output, i64, pack, padded, scalar, to_device, u32

NDIM_MAX = 16
# Integer types that kernels by element size move, whatever the values are.
BY_BITS = {"8bit": torch.uint8, "16bit": torch.int16, "32bit": torch.int32, "64bit": torch.int64}
INDEX = {"long": torch.int64, "int": torch.int32}
SHAPE = (4, 23, 7)
DIM = 1


def _no_errors(buffer: ErrorBuffer) -> Check:
    return Check(lambda: torch.tensor(buffer.count()), torch.tensor(0))


def _advanced_sizes(x: torch.Tensor, picked: torch.Tensor) -> list[torch.Tensor]:
    """Sizes and strides for `x[picked]`, a selection of whole rows: innermost dimension first, strides in bytes."""
    shape = (picked.numel(), *x.shape[1:])
    size = x.element_size()
    dense = [stride * size for stride in torch.empty(shape).stride()]
    rows = [0, *(stride * size for stride in x.stride()[1:])]
    index = [8, *([0] * (x.dim() - 1))]
    sizes = [i64(*reversed(shape)), i64(*reversed(dense)), i64(*reversed(rows)), i64(*reversed(index))]
    return [*sizes, i64(x.shape[0]), i64(x.stride(0) * size)]


def _index_select(library: Library) -> Iterator[Case]:
    for bits, dtype in BY_BITS.items():
        x = draw(dtype, SHAPE, Domain(0, 120, False))
        picked = torch.randint(-SHAPE[0], SHAPE[0], (9,))
        want = x[picked]
        output, errors = Output(want.shape, dtype), ErrorBuffer.empty()
        sizes, dense, rows, index, index_sizes, index_strides = _advanced_sizes(x, picked)
        arguments = [output.device, to_device(x), [to_device(picked)], sizes, dense, rows, index, index_sizes, index_strides]
        arguments += [u32(x.dim(), 1, want.numel(), 0), errors.device]
        yield Case([Launch(f"index_select_{bits}", arguments, (want.numel(),))], [Check(output, want), _no_errors(errors)])


def _index_put(name: str, kinds: Callable[[Library], list[tuple[str, torch.dtype]]], accumulates: bool, is_serial: bool) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind, dtype in kinds(library):
            x = draw(dtype, SHAPE, Domain(0, 9, False))
            count = 12 if accumulates or is_serial else SHAPE[0]
            picked = torch.randint(0, SHAPE[0], (count,)) if count > SHAPE[0] else torch.randperm(SHAPE[0])
            values = draw(dtype, (count, *SHAPE[1:]), Domain(0, 9, False))
            if accumulates:
                wide = torch.complex64 if dtype == torch.complex32 else dtype
                want = x.to(wide).index_put((picked,), values.to(wide), accumulate=True).to(dtype)
            else:
                want = x.clone()
                for place, value in zip(picked.tolist(), values):
                    want[place] = value
            output, errors = Output(SHAPE, dtype, initial=x), ErrorBuffer.empty()
            sizes, dense, rows, index, index_sizes, index_strides = _advanced_sizes(x, picked)
            arguments = [output.device, to_device(values), [to_device(picked)], sizes, rows, dense, index, index_sizes, index_strides]
            arguments += [u32(x.dim(), 1, values.numel(), 0), errors.device]
            launch = Launch(f"{name}_{kind}", arguments, (1,) if is_serial else (values.numel(),))
            tolerance = EXACT
            if accumulates and (dtype.is_floating_point or dtype.is_complex):
                # Sums of up to a dozen numbers, each addition rounded to the dtype, in any order.
                tolerance = Tolerance(12 * rounded(Tolerance(1e-7), dtype).relative, 1e-5)
            yield Case([launch], [Check(output, want, tolerance), _no_errors(errors)])

    return Family(name, "indexing", cases)


def _accumulate_kinds(library: Library) -> list[tuple[str, torch.dtype]]:
    return [(kind, dtype) for kind, dtype in METAL.items() if library.has(f"index_put_accumulate_{kind}")]


def _reduce_params(x: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    arrays = [x.stride(), x.shape, source.stride(), source.shape]
    flat = [value for array in arrays for value in padded(array, NDIM_MAX)]
    return pack(f"2i{4 * NDIM_MAX}II", x.dim(), DIM, *flat, 1)


def _index_add(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        for index_kind, index_dtype in INDEX.items():
            if not library.has(f"index_add_{kind}_{index_kind}"):
                continue
            x, source = draw(dtype, SHAPE, Domain(0, 9, False)), draw(dtype, (4, 40, 7), Domain(0, 9, False))
            picked = torch.randint(0, SHAPE[DIM], (40,))
            output = Output(SHAPE, dtype, initial=x)
            if dtype == torch.bool:
                want = x.int().index_add(DIM, picked, source.int()).bool()
            else:
                wide = torch.complex64 if dtype == torch.complex32 else dtype
                want = x.to(wide).index_add(DIM, picked, source.to(wide), alpha=2 if dtype != torch.bool else 1).to(dtype)
            arguments = [output.device, to_device(picked.to(index_dtype)), to_device(source), _reduce_params(x, source), scalar(2 if dtype != torch.bool else 1, dtype)]
            tolerance = EXACT
            if dtype.is_floating_point or dtype.is_complex:
                tolerance = Tolerance(12 * rounded(Tolerance(1e-7), dtype).relative, 1e-4)
            yield Case([Launch(f"index_add_{kind}_{index_kind}", arguments, (source.numel(),))], [Check(output, want, tolerance)])


def _index_reduce(operation: str) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind, dtype in METAL.items():
            for index_kind, index_dtype in INDEX.items():
                name = f"index_reduce_{operation}_{kind}_{index_kind}"
                if not library.has(name):
                    continue
                is_product = operation == "prod"
                domain = Domain(1, 2, False) if is_product else Domain(0, 9, False)
                x, source = draw(dtype, SHAPE, domain), draw(dtype, (4, 40, 7), domain)
                picked = torch.randint(0, SHAPE[DIM], (40,))
                output = Output(SHAPE, dtype, initial=x)
                # The mean's kernel only adds; the host divides.
                want = x.index_add(DIM, picked, source) if operation == "mean" else x.index_reduce(DIM, picked, source, operation)
                arguments = [output.device, to_device(picked.to(index_dtype)), to_device(source), _reduce_params(x, source)]
                tolerance = EXACT
                if dtype.is_floating_point and operation in ("mean", "prod"):
                    tolerance = Tolerance(12 * rounded(Tolerance(1e-7), dtype).relative, 1e-4)
                yield Case([Launch(name, arguments, (source.numel(),))], [Check(output, want, tolerance)])

    return Family(f"index_reduce_{operation}", "indexing", cases)


def _index_select_dim(library: Library) -> Iterator[Case]:
    for bits, dtype in BY_BITS.items():
        for index_kind, index_dtype in INDEX.items():
            x = draw(dtype, SHAPE, Domain(0, 120, False))
            picked = torch.randint(0, SHAPE[DIM], (11,))
            want = x.index_select(DIM, picked)
            index, source = to_device(picked.to(index_dtype)), to_device(x)
            output = Output(want.shape, dtype)
            launch = Launch(
                f"index_select_dim_{bits}_{index_kind}",
                [output.device, index, source, _reduce_params(x, want)],
                (want.numel(),),
            )
            yield Case([launch], [Check(output, want)])
            output = Output(want.shape, dtype)
            params = u32(SHAPE[2], SHAPE[1], 11, 1)
            launch = Launch(f"index_select_dim_dense_{bits}_{index_kind}", [output.device, index, source, params], (SHAPE[2], 11, SHAPE[0]))
            yield Case([launch], [Check(output, want)])


def _index_copy(library: Library) -> Iterator[Case]:
    for name in sorted(library.names):
        parts = name.removeprefix("index_copy_").split("_") if name.startswith("index_copy_") else []
        if len(parts) != 4 or parts[1] not in METAL or (parts[1] != "float" and random.random() < 0.5 and not library.is_thorough):
            continue
        variant, kind, index_kind, _ = parts
        dtype = METAL[kind]
        x, source = draw(dtype, SHAPE, PLAIN), draw(dtype, (4, 9, 7), PLAIN)
        picked = torch.randperm(SHAPE[DIM])[:9]
        want = x.clone()
        want[:, picked] = source
        layout = "strided" if variant == "strided" else "dense"
        output, memory = Output(SHAPE, dtype, layout, initial=x), Operand(source, layout)
        arguments = [output.device, memory.device, to_device(picked.to(INDEX[index_kind])), i64(SHAPE[DIM])]
        if variant == "dense":
            arguments, threads = [*arguments, i64(7), i64(9)], (7, 9, 4)
        else:
            arguments += [i64(output.strides[DIM]), i64(memory.strides[DIM]), i64(4, 7)]
            arguments += [i64(output.strides[0], output.strides[2]), i64(memory.strides[0], memory.strides[2]), u32(2), i64(28), i64(1)]
            threads = (9 * 28,)
        yield Case([Launch(name, arguments, threads)], [Check(output, want)])


def _index_fill(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        if not library.has(f"index_fill_dense_{kind}"):
            continue
        x, value = draw(dtype, SHAPE, PLAIN), 1
        picked = torch.randperm(SHAPE[DIM])[:9]
        want = x.clone()
        want[:, picked] = value
        indices, fill = to_device(picked - SHAPE[DIM]), scalar(value, dtype)
        output = Output(SHAPE, dtype, initial=x)
        arguments = [output.device, indices, fill, i64(SHAPE[DIM]), i64(7), i64(28)]
        yield Case([Launch(f"index_fill_dense_{kind}", arguments, (9 * 28,))], [Check(output, want)])

        output = Output(SHAPE, dtype, "strided", initial=x)
        arguments = [output.device, indices, fill, i64(SHAPE[DIM]), i64(output.strides[DIM]), i64(4, 7)]
        arguments += [i64(output.strides[0], output.strides[2]), u32(2), i64(28), i64(1)]
        yield Case([Launch(f"index_fill_strided_{kind}", arguments, (9 * 28,))], [Check(output, want)])


def _placed(x: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """ATen's ``scatter``, which knows no complex halves: their bits are placed."""
    if x.dtype == torch.complex32:
        return x.view(torch.int32).scatter(DIM, index, source.view(torch.int32)).view(x.dtype)
    return x.scatter(DIM, index, source)


def _scatter_dense(name: str, dtype: torch.dtype, kind: str, index_kind: str, reduce: str | None) -> Case:
    domain = Domain(1, 2, False) if reduce == "prod" else Domain(0, 9, False)
    x, source = draw(dtype, SHAPE, domain), draw(dtype, (4, 15, 7), domain)
    if reduce is None:
        # Each place is written once, so that the order does not matter.
        index = torch.stack([torch.stack([torch.randperm(SHAPE[DIM])[:15] for _ in range(7)], 1) for _ in range(4)])
        want = _placed(x, index, source)
    else:
        index = torch.randint(0, SHAPE[DIM], (4, 15, 7))
        wide = {torch.complex32: torch.complex64, torch.bool: torch.int32}.get(dtype, dtype)
        want = x.to(wide).scatter_reduce(DIM, index, source.to(wide), reduce).to(dtype) if not dtype.is_complex else x.to(wide).scatter_add(DIM, index, source.to(wide)).to(dtype)
    output, errors = Output(SHAPE, dtype, initial=x), ErrorBuffer.empty()
    arguments = [output.device, to_device(source), to_device(index.to(INDEX[index_kind]))]
    arguments += [i64(7), i64(15), i64(SHAPE[DIM]), i64(0), errors.device]
    launches = [Launch(f"{name}_dense_{kind}_{index_kind}", arguments, (source.numel(),))]
    if reduce in ("amin", "amax") and dtype == torch.int64:
        # Signed minima and maxima are found among unsigned numbers: the host flips the sign bits before and after.
        flip = Launch("scatter_signbit_xor_long", [output.device, i64(0)], (x.numel(),))
        launches = [flip, *launches, flip]
    tolerance = EXACT
    if (dtype.is_floating_point or dtype.is_complex) and reduce in ("sum", "prod"):
        tolerance = Tolerance(10 * rounded(Tolerance(1e-7), dtype).relative, 1e-5)
    return Case(launches, [Check(output, want, tolerance), _no_errors(errors)])


def _scatter_strided(name: str, dtype: torch.dtype, kind: str, index_kind: str, reduce: str | None, suffix: str) -> Case:
    domain = Domain(1, 2, False) if reduce == "prod" else Domain(0, 9, False)
    x, source = draw(dtype, SHAPE, domain), draw(dtype, (4, 15, 7), domain)
    index = torch.stack([torch.stack([torch.randperm(SHAPE[DIM])[:15] for _ in range(7)], 1) for _ in range(4)])
    wide = {torch.complex32: torch.complex64, torch.bool: torch.int32}.get(dtype, dtype)
    if reduce is None:
        want = _placed(x, index, source)
    elif dtype.is_complex:
        want = x.to(wide).scatter_add(DIM, index, source.to(wide)).to(dtype)
    else:
        want = x.to(wide).scatter_reduce(DIM, index, source.to(wide), reduce).to(dtype)
    output, errors = Output(SHAPE, dtype, "strided", initial=x), ErrorBuffer.empty()
    memory, places = Operand(source, "inner"), Operand(index.to(INDEX[index_kind]), "strided")
    arguments = [output.device, memory.device, places.device, i64(4, 15, 7), i64(*output.strides), i64(*memory.strides)]
    arguments += [i64(*places.strides), u32(3, DIM, 0, 0), i64(SHAPE[DIM]), i64(0), errors.device]
    tolerance = EXACT
    if (dtype.is_floating_point or dtype.is_complex) and reduce in ("sum", "prod"):
        tolerance = rounded(Tolerance(2e-7), dtype)
    launches = [Launch(f"{name}{suffix}_{kind}_{index_kind}", arguments, (source.numel(),))]
    if reduce in ("amin", "amax") and dtype == torch.int64:
        span = Launch("scatter_signbit_xor_long", [output.device, i64(0)], (output.device.numel() // 8,))
        launches = [span, *launches, span]
    return Case(launches, [Check(output, want, tolerance), _no_errors(errors)])


def _scatter(name: str, reduce: str | None) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        strided = "" if reduce is None else "_strided"
        for kind, dtype in METAL.items():
            for index_kind in INDEX:
                is_wanted = library.is_thorough or kind == "float" or random.random() < 0.5
                if dtype == torch.float8_e4m3fn or not is_wanted:
                    continue
                if library.has(f"{name}_dense_{kind}_{index_kind}"):
                    yield _scatter_dense(name, dtype, kind, index_kind, reduce)
                if library.has(f"{name}{strided}_{kind}_{index_kind}"):
                    yield _scatter_strided(name, dtype, kind, index_kind, reduce, strided)

    return Family(name, "indexing", cases)


def _gather(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        for index_kind, index_dtype in INDEX.items():
            if not library.has(f"gather_dense_{kind}_{index_kind}") or dtype == torch.float8_e4m3fn:
                continue
            x = draw(dtype, SHAPE, PLAIN)
            index = torch.randint(0, SHAPE[DIM], (4, 15, 7))
            bits = x.view(torch.int32) if dtype == torch.complex32 else x
            want = bits.gather(DIM, index).view(dtype)
            output, errors = Output(want.shape, dtype), ErrorBuffer.empty()
            arguments = [output.device, to_device(x), to_device(index.to(index_dtype)), i64(7), i64(15), i64(SHAPE[DIM]), i64(0), errors.device]
            yield Case([Launch(f"gather_dense_{kind}_{index_kind}", arguments, (want.numel(),))], [Check(output, want), _no_errors(errors)])

            output, errors = Output(want.shape, dtype, "inner"), ErrorBuffer.empty()
            memory, places = Operand(x, "strided"), Operand(index.to(index_dtype), "strided")
            arguments = [output.device, memory.device, places.device, i64(*want.shape), i64(*output.strides), i64(*memory.strides)]
            arguments += [i64(*places.strides), u32(3, DIM, 0, 0), i64(SHAPE[DIM]), i64(0), errors.device]
            yield Case([Launch(f"gather_strided_{kind}_{index_kind}", arguments, (want.numel(),))], [Check(output, want), _no_errors(errors)])


def _masked_fill(library: Library) -> Iterator[Case]:
    for bits, dtype in BY_BITS.items():
        x, mask, value = draw(dtype, SHAPE, Domain(0, 100, False)), torch.rand(SHAPE) < 0.4, 5
        want, fill = x.masked_fill(mask, value), scalar(value, dtype)
        output = Output(SHAPE, dtype, initial=x)
        yield Case([Launch(f"masked_fill_scalar_dense_{bits}", [output.device, to_device(mask), fill], (x.numel(),))], [Check(output, want)])
        output, memory = Output(SHAPE, dtype, "strided", initial=x), Operand(mask, "inner")
        arguments = [output.device, memory.device, fill, i64(*SHAPE), i64(*output.strides), i64(*memory.strides), u32(3)]
        yield Case([Launch(f"masked_fill_scalar_strided_{bits}", arguments, (x.numel(),))], [Check(output, want)])
        row = torch.rand(SHAPE[2]) < 0.4
        output = Output(SHAPE, dtype, initial=x)
        arguments = [output.device, to_device(row), fill, u32(SHAPE[2])]
        yield Case([Launch(f"masked_fill_scalar_broadcast_{bits}", arguments, (x.numel(),))], [Check(output, x.masked_fill(row, value))])


def _unfold_backward(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        if not library.has(f"unfold_backward_{kind}"):
            continue
        shape, size, step = (3, 29, 4), 7, 3
        windows = (shape[DIM] - size) // step + 1
        grad = draw(dtype, (3, windows, 4, size), PLAIN)
        wide = torch.float64 if dtype.is_floating_point else dtype
        want = torch.ops.aten.unfold_backward(grad.to(wide), list(shape), DIM, size, step).to(dtype)
        output = Output(shape, dtype)
        arguments = [to_device(grad), output.device, i64(*grad.stride()), i64(*shape), i64(*output.strides), u32(DIM, size, step, 3)]
        tolerance = rounded(Tolerance(5e-7, 1e-6), dtype) if dtype.is_floating_point else EXACT
        yield Case([Launch(f"unfold_backward_{kind}", arguments, (want.numel(),))], [Check(output, want, tolerance)])


def _searchsorted(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        for index_kind in INDEX:
            if not library.has(f"searchsorted_{kind}_{index_kind}"):
                continue
            for right in (False, True):
                boundaries = torch.sort(draw(dtype, (3, 50), Domain(-30, 30, False)), dim=1).values
                x = draw(dtype, (3, 40), Domain(-40, 40, False))
                want = torch.searchsorted(boundaries, x, right=right).to(INDEX[index_kind])
                output = Output(x.shape, INDEX[index_kind])
                sizes = [i64(40), i64(50), i64(120), i64(int(right)), i64(0)]
                launch = Launch(f"searchsorted_{kind}_{index_kind}", [to_device(x), to_device(boundaries), output.device, *sizes], (120, 1), (120, 1))
                yield Case([launch], [Check(output, want)])
                order = torch.stack([torch.randperm(50) for _ in range(3)])
                shuffled = torch.empty_like(boundaries).scatter_(1, order, boundaries)
                output = Output(x.shape, INDEX[index_kind])
                arguments = [to_device(x), to_device(shuffled), output.device, *sizes, to_device(order)]
                launch = Launch(f"searchsorted_{kind}_{index_kind}_sorter", arguments, (120, 1), (120, 1))
                yield Case([launch], [Check(output, want)])


FAMILIES = [
    Family("index_select", "indexing", _index_select),
    _index_put("index_put", lambda library: list(BY_BITS.items()), accumulates=False, is_serial=False),
    _index_put("index_put_serial", lambda library: list(BY_BITS.items()), accumulates=False, is_serial=True),
    _index_put("index_put_accumulate", _accumulate_kinds, accumulates=True, is_serial=False),
    Family("index_add", "indexing", _index_add),
    *(_index_reduce(operation) for operation in ("amax", "amin", "mean", "prod")),
    Family("index_select_dim", "indexing", _index_select_dim),
    Family("index_copy", "indexing", _index_copy),
    Family("index_fill", "indexing", _index_fill),
    _scatter("scatter_set", None),
    _scatter("scatter_add", "sum"),
    _scatter("scatter_prod", "prod"),
    _scatter("scatter_amax", "amax"),
    _scatter("scatter_amin", "amin"),
    Family("gather", "indexing", _gather),
    Family("masked_fill", "indexing", _masked_fill),
    Family("unfold_backward", "indexing", _unfold_backward),
    Family("searchsorted", "indexing", _searchsorted),
]
