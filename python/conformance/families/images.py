"""Upsampling, grid sampling, pooling, padding, and unfolding of images."""

import math
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.inputs import Domain, draw
from conformance.memory import ErrorBuffer, Output, i32, i64, pack, padded, scalar, to_device, u32

SMALL = Domain(-2, 2, False)
FLOATS = ("float", "half", "bfloat")
LOOSE = Tolerance(2e-5, 2e-5)
aten = torch.ops.aten


def _scales(source, target, align_corners: bool) -> list[float]:
    """Ratio of input to output for each spatial dimension, innermost first."""
    ratios = []
    for size, wanted in zip(reversed(source[2:]), reversed(target[2:])):
        ratios.append((size - 1) / (wanted - 1) if align_corners and wanted > 1 else size / wanted)
    return ratios


def _upsample_params(source: tuple[int, ...], target: tuple[int, ...], align_corners: bool) -> torch.Tensor:
    count = len(source)
    strides = [torch.empty(shape, device="meta").stride() for shape in (source, target)]
    longs = [*strides[0], *source, *strides[1], *target]
    size = 4 * count * 8 + (count - 2) * 4 + 1
    layout = f"{4 * count}q{count - 2}f?{-size % 8}x"
    return pack(layout, *longs, *_scales(source, target, align_corners), align_corners)


class Upsample:
    """One form of upsampling: names of the kernels, ATen's function, shapes."""

    def __init__(self, name: str, forward: Callable, backward: Callable | None, source, target, corners=(False,)):
        self.name, self.forward, self.backward = name, forward, backward
        self.source, self.target, self.corners = source, target, corners


def _size(target) -> list[int]:
    return list(target[2:])


LINE, LINE_OUT = (2, 3, 13), (2, 3, 29)
PLANE, PLANE_OUT = (2, 3, 9, 11), (2, 3, 17, 14)
SMALLER = (2, 3, 5, 7)
VOLUME, VOLUME_OUT = (2, 2, 5, 6, 7), (2, 2, 8, 9, 10)
BOTH = (False, True)

UPSAMPLES = [
    Upsample("nearest1d", lambda x, o, c: aten.upsample_nearest1d(x, _size(o)), None, LINE, LINE_OUT),
    Upsample("nearest2d", lambda x, o, c: aten.upsample_nearest2d(x, _size(o)), lambda g, o, i, c: aten.upsample_nearest2d_backward(g, _size(o), i), PLANE, PLANE_OUT),
    Upsample("nearest_3d", lambda x, o, c: aten.upsample_nearest3d(x, _size(o)), lambda g, o, i, c: aten.upsample_nearest3d_backward(g, _size(o), i), VOLUME, VOLUME_OUT),
    Upsample("nearest_exact1d", lambda x, o, c: aten._upsample_nearest_exact1d(x, _size(o)), None, LINE, LINE_OUT),
    Upsample("nearest_exact2d", lambda x, o, c: aten._upsample_nearest_exact2d(x, _size(o)), lambda g, o, i, c: aten._upsample_nearest_exact2d_backward(g, _size(o), i), PLANE, PLANE_OUT),
    Upsample("nearest_exact_3d", lambda x, o, c: aten._upsample_nearest_exact3d(x, _size(o)), lambda g, o, i, c: aten._upsample_nearest_exact3d_backward(g, _size(o), i), VOLUME, VOLUME_OUT),
    Upsample("linear1d", lambda x, o, c: aten.upsample_linear1d(x, _size(o), c), None, LINE, LINE_OUT, BOTH),
    Upsample("bilinear2d", lambda x, o, c: aten.upsample_bilinear2d(x, _size(o), c), lambda g, o, i, c: aten.upsample_bilinear2d_backward(g, _size(o), i, c), PLANE, PLANE_OUT, BOTH),
    Upsample("bilinear2d_aa", lambda x, o, c: aten._upsample_bilinear2d_aa(x, _size(o), c), lambda g, o, i, c: aten._upsample_bilinear2d_aa_backward(g, _size(o), i, c), PLANE, SMALLER, BOTH),
    Upsample("bicubic2d", lambda x, o, c: aten.upsample_bicubic2d(x, _size(o), c), lambda g, o, i, c: aten.upsample_bicubic2d_backward(g, _size(o), i, c), PLANE, PLANE_OUT, BOTH),
    Upsample("bicubic2d_aa", lambda x, o, c: aten._upsample_bicubic2d_aa(x, _size(o), c), lambda g, o, i, c: aten._upsample_bicubic2d_aa_backward(g, _size(o), i, c), PLANE, SMALLER, BOTH),
    Upsample("trilinear", lambda x, o, c: aten.upsample_trilinear3d(x, _size(o), c), lambda g, o, i, c: aten.upsample_trilinear3d_backward(g, _size(o), i, c), VOLUME, VOLUME_OUT, BOTH),
]


def _upsample(form: Upsample) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in (*FLOATS, "uchar"):
            for corners in form.corners:
                name = f"upsample_{form.name}_{kind}"
                if not library.has(name):
                    continue
                dtype = METAL[kind]
                x = draw(dtype, form.source, Domain(0, 255, False) if kind == "uchar" else SMALL)
                wide = x.double() if kind != "uchar" else x.double()
                want = form.forward(wide, form.target, corners)
                want = want.round().to(dtype) if kind == "uchar" else want.to(dtype)
                output = Output(form.target, dtype)
                arguments = [to_device(x), output.device, _upsample_params(form.source, form.target, corners)]
                tolerance = Tolerance(0, 1) if kind == "uchar" else rounded(LOOSE, dtype)
                yield Case([Launch(name, arguments, (math.prod(_size(form.target)),))], [Check(output, want, tolerance)])

    return Family(f"upsample_{form.name}", "images", cases)


def _upsample_backward(form: Upsample) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in FLOATS:
            for corners in form.corners:
                for suffix in ("", "_u32", "_u64"):
                    name = f"upsample_{form.name}_backward_{kind}{suffix}"
                    if not library.has(name):
                        continue
                    dtype = METAL[kind]
                    grad = draw(dtype, form.target, SMALL)
                    want = form.backward(grad.double(), form.target, list(form.source), corners).to(dtype)
                    output = Output(form.source, dtype, initial=torch.zeros(form.source, dtype=dtype))
                    arguments = [output.device, to_device(grad), _upsample_params(form.source, form.target, corners)]
                    threads: tuple[int, ...] = (math.prod(_size(form.target)),)
                    if suffix:
                        threads = (form.source[3], form.source[2], form.source[0] * form.source[1])
                    # Up to a hundred gradients meet in one element, each addition rounded to the dtype.
                    tolerance = Tolerance(30 * rounded(Tolerance(1e-6), dtype).relative, 3e-5 + rounded(Tolerance(), dtype, 5).absolute)
                    yield Case([Launch(name, arguments, threads)], [Check(output, want, tolerance)])

    return Family(f"upsample_{form.name}_backward", "images", cases)


MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
INPUT, GRID = (2, 3, 9, 11), (2, 7, 6, 2)
INPUT3, GRID3 = (2, 2, 5, 6, 7), (2, 4, 3, 5, 3)


def _grid_params(output: tuple[int, ...], source: tuple[int, ...], grid: tuple[int, ...], corners: bool, letter: str) -> list:
    strides = [torch.empty(shape, device="meta").stride() for shape in (output, source, grid)]
    values = [output, strides[0], source, strides[1], grid, strides[2]]
    layout = "i" + ("4x" if letter == "q" else "") + f"{6 * len(source)}{letter}?"
    layout += "7x" if letter == "q" else "3x"
    return [layout, len(source) - 2, *(each for value in values for each in value), corners]


def _letters(library: Library, pattern: str) -> Iterator[tuple[str, str]]:
    for index, letter in (("i32", "i"), ("i64", "q")):
        if library.has(pattern.format(index)):
            yield index, letter


def _grid_sampler(mode: str, dims: int) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        source, places = (INPUT, GRID) if dims == 2 else (INPUT3, GRID3)
        shape = (*source[:2], *places[1:-1])
        for padding in PADDINGS:
            for kind in FLOATS:
                for index, letter in _letters(library, f"grid_sampler_{dims}d_{mode}_{padding}_{{}}_{kind}"):
                    for corners in BOTH:
                        dtype = METAL[kind]
                        # Coordinates that every dtype represents, and not on the ties that rounding decides.
                        x, grid = draw(dtype, source, SMALL), draw(dtype, places, Domain(-1.3, 1.3, False))
                        want = aten.grid_sampler(x.double(), grid.double(), MODES[mode], PADDINGS[padding], corners).to(dtype)
                        output = Output(shape, dtype)
                        arguments = [output.device, to_device(x), to_device(grid), pack(*_grid_params(shape, source, places, corners, letter))]
                        tolerance = Tolerance(2e-4, 2e-4) if kind == "float" else rounded(Tolerance(2e-2, 2e-2), dtype)
                        # In a plane one thread takes a place in all channels.
                        threads = (math.prod(places[:-1]) if dims == 2 else math.prod(shape),)
                        launch = Launch(f"grid_sampler_{dims}d_{mode}_{padding}_{index}_{kind}", arguments, threads)
                        yield Case([launch], [Check(output, want, tolerance)], f"align_corners={corners}")

    return Family(f"grid_sampler_{dims}d_{mode}", "images", cases)



def _strides(shape) -> list[int]:
    return padded(torch.empty(shape, device="meta").stride(), 5)


KERNEL, STRIDE, PADDING = (3, 2), (2, 2), (1, 1)


def _max_pool(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        if not library.has(f"max_pool_{kind}"):
            continue
        for dilation in ((1, 1), (2, 1)):
            shape = (2, 3, 13, 10)
            x = draw(dtype, shape, Domain(0, 90, False))
            wide = x.double() if not dtype.is_floating_point else x.float()
            want, indices = functional.max_pool2d(wide, KERNEL, STRIDE, PADDING, dilation, return_indices=True)
            output, places = Output(want.shape, dtype), Output(want.shape, torch.int64)
            arrays = [padded(shape, 5), _strides(shape), padded(want.shape, 5), _strides(want.shape), padded(want.shape, 5), _strides(want.shape)]
            arrays += [padded(each, 3) for each in (KERNEL, STRIDE, PADDING, dilation)]
            params = pack("2i42i??2x", 4, 2, *(each for array in arrays for each in array), True, False)
            launch = Launch(f"max_pool_{kind}", [to_device(x), output.device, places.device, params], (want.numel(),))
            yield Case([launch], [Check(output, want.to(dtype)), Check(places, indices)])


def _max_pool_backward(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        dtype, shape = METAL[kind], (2, 3, 13, 10)
        x = draw(torch.float64, shape, SMALL)
        _, indices = functional.max_pool2d(x, KERNEL, STRIDE, PADDING, return_indices=True)
        grad = draw(dtype, tuple(indices.shape), SMALL)
        want = aten.max_pool2d_with_indices_backward(grad.double(), x, KERNEL, STRIDE, PADDING, (1, 1), False, indices).to(dtype)
        output = Output(shape, dtype, initial=torch.zeros(shape, dtype=dtype))
        arrays = [padded(shape, 5), _strides(shape), padded(grad.shape, 5), _strides(grad.shape), _strides(grad.shape)]
        params = pack("27i", 4, 2, *(each for array in arrays for each in array))
        launch = Launch(f"max_pool_backward_{kind}", [output.device, to_device(grad), to_device(indices), params], (grad.numel(),))
        yield Case([launch], [Check(output, want, Tolerance(4 * rounded(Tolerance(1e-6), dtype).relative, 1e-5 if kind == "float" else 2e-2))])


def _max_unpool(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        if not library.has(f"max_unpool_{kind}"):
            continue
        shape, pooled = (2, 3, 8, 10), (2, 3, 4, 5)
        _, indices = functional.max_pool2d(torch.rand(shape), 2, 2, return_indices=True)
        x = draw(dtype, pooled, Domain(0, 90, False))
        want = functional.max_unpool2d(x.double(), indices, 2, 2, output_size=shape[2:]).to(dtype)
        output, errors = Output(shape, dtype, initial=torch.zeros(shape, dtype=dtype)), ErrorBuffer.empty()
        arrays = [padded(pooled, 5), _strides(pooled), padded(shape, 5), _strides(shape), _strides(pooled)]
        params = pack("27i", 4, 2, *(each for array in arrays for each in array))
        launch = Launch(f"max_unpool_{kind}", [output.device, to_device(x), to_device(indices), params, errors.device], (x.numel(),))
        yield Case([launch], [Check(output, want)])


def _avg_params(source, pooled, include_pad: bool, divisor: int | None, windows=(KERNEL, STRIDE, PADDING)) -> torch.Tensor:
    arrays = [padded(source, 5), _strides(source), padded(pooled, 5), _strides(pooled)]
    arrays += [padded(each, 3) for each in windows]
    flat = [each for array in arrays for each in array]
    return pack("2i29ii??2x", len(source), len(windows[0]), *flat, divisor or 0, include_pad, divisor is not None)


def _avg_pool(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        for include_pad, divisor in ((True, None), (False, None), (True, 5)):
            dtype, shape = METAL[kind], (2, 3, 13, 10)
            x = draw(dtype, shape, SMALL)
            want = functional.avg_pool2d(x.double(), KERNEL, STRIDE, PADDING, False, include_pad, divisor).to(dtype)
            output = Output(want.shape, dtype)
            arguments = [to_device(x), output.device, _avg_params(shape, want.shape, include_pad, divisor)]
            tolerance = Tolerance(8 * rounded(Tolerance(1e-7), dtype).relative, 1e-6 if kind == "float" else 2e-2)
            yield Case([Launch(f"avg_pool_{kind}", arguments, (want.numel(),))], [Check(output, want, tolerance)])


def _avg_pool_backward(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        dtype, shape = METAL[kind], (2, 3, 13, 10)
        pooled = tuple(functional.avg_pool2d(torch.empty(shape), KERNEL, STRIDE, PADDING).shape)
        grad = draw(dtype, pooled, SMALL)
        want = aten.avg_pool2d_backward(grad.double(), torch.empty(shape, dtype=torch.float64), KERNEL, STRIDE, PADDING, False, True, None)
        output = Output(shape, dtype, initial=torch.zeros(shape, dtype=dtype))
        # The backward kernel always walks three dimensions.
        volumes = [(*each[:2], 1, *each[2:]) for each in (shape, pooled)]
        params = _avg_params(*volumes, True, None, ((1, *KERNEL), (1, *STRIDE), (0, *PADDING)))
        arguments = [output.device, to_device(grad), params]
        tolerance = Tolerance(8 * rounded(Tolerance(1e-7), dtype).relative, 1e-5 if kind == "float" else 2e-2)
        yield Case([Launch(f"avg_pool_backward_{kind}", arguments, (grad.numel(),))], [Check(output, want.to(dtype), tolerance)])


UNFOLD = {"kernel": (3, 2), "dilation": (1, 2), "padding": (1, 0), "stride": (2, 1)}


def _im2col(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        for index in ("u32", "u64"):
            if not library.has(f"im2col_{kind}_{index}"):
                continue
            shape = (2, 3, 9, 8)
            x = draw(dtype, shape, SMALL)
            wide = x.to(torch.complex64) if dtype.is_complex else x.double()
            want = functional.unfold(wide, UNFOLD["kernel"], UNFOLD["dilation"], UNFOLD["padding"], UNFOLD["stride"]).to(dtype)
            output = Output(want.shape, dtype)
            (kh, kw), (dh, dw), (ph, pw), (sh, sw) = UNFOLD.values()
            wide_letter = "I" if index == "u32" else "Q"
            length = want.shape[2]
            columns = (shape[3] + 2 * pw - dw * (kw - 1) - 1) // sw + 1
            strides = [pack(f"4{wide_letter}", *reversed(torch.empty(shape, device="meta").stride()))]
            strides.append(pack(f"4{wide_letter}", *reversed(want.stride()), columns))
            sizes = (i32 if index == "u32" else i64)(*reversed(shape))
            # Widths come before heights.
            arguments = [to_device(x), output.device, u32(kw, kh, dw, dh), i32(pw, ph, sw, sh), *strides, sizes]
            yield Case([Launch(f"im2col_{kind}_{index}", arguments, (length, shape[1], shape[0]))], [Check(output, want)], f"{columns} columns")


def _col2im(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        for index in ("u32", "u64"):
            if not library.has(f"col2im_kernel_{kind}_{index}") or dtype == torch.bool:
                continue
            image = (2, 3, 9, 8)
            (kh, kw), (dh, dw), (ph, pw), (sh, sw) = UNFOLD.values()
            rows = (image[2] + 2 * ph - dh * (kh - 1) - 1) // sh + 1
            columns = (image[3] + 2 * pw - dw * (kw - 1) - 1) // sw + 1
            col = draw(dtype, (2, 3 * kh * kw, rows * columns), SMALL)
            wide = col.to(torch.complex64) if dtype.is_complex else col.double()
            want = functional.fold(wide, image[2:], (kh, kw), (dh, dw), (ph, pw), (sh, sw)).to(dtype)
            output = Output(want.shape, dtype)
            letter = "I" if index == "u32" else "Q"
            arguments = [to_device(col), output.device, pack(letter, col.stride(0)), u32(3), u32(*image[2:]), u32(kh, kw), u32(ph, pw)]
            arguments += [u32(sh, sw), u32(dh, dw), u32(rows, columns), pack(letter, want.stride(0)), pack(f"2{letter}", col.stride(1), col.stride(2))]
            tolerance = Tolerance(8 * rounded(Tolerance(1e-7), dtype).relative, 1e-6 if kind == "float" else 2e-2) if dtype.is_floating_point or dtype.is_complex else EXACT
            launch = Launch(f"col2im_kernel_{kind}_{index}", arguments, (image[3], image[2], 6))
            yield Case([launch], [Check(output, want, tolerance)])


def _constant_pad(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        for index, letter in (("u32", "I"), ("u64", "Q")):
            if not library.has(f"constant_pad_nd_{kind}_{index}") or dtype == torch.float8_e4m3fn:
                continue
            shape, pads = (3, 4, 7), (2, 1, 1, 3)
            x = draw(dtype, shape, SMALL)
            bits = x.view(torch.int32) if dtype == torch.complex32 else x
            value = 1
            if dtype == torch.complex32:
                want = functional.pad(bits, pads, value=int(torch.tensor([1 + 0j], dtype=dtype).view(torch.int32))).view(dtype)
            else:
                want = functional.pad(x, pads, value=value)
            output = Output(want.shape, dtype)
            # Innermost dimension first.
            arrays = [[*reversed(want.shape)], [*reversed(shape)], [*reversed(x.stride())], [*reversed(want.stride())], [2, 1, 0]]
            flat = [each for array in arrays for each in padded(array, 16)]
            params = pack(f"80{letter}I" + ("4x" if letter == "Q" else ""), *flat, 3)
            arguments = [to_device(x), output.device, params, scalar(value, dtype)]
            threads = (want.shape[2], want.shape[0] * want.shape[1])
            yield Case([Launch(f"constant_pad_nd_{kind}_{index}", arguments, threads)], [Check(output, want)])


def _pad(mode: str, dims: int, letter_of: dict) -> Family:
    word = {"reflect": "reflection", "replicate": "replication"}[mode]

    def cases(library: Library) -> Iterator[Case]:
        shape = {1: (2, 3, 9), 2: (2, 3, 7, 9), 3: (2, 3, 5, 6, 7)}[dims]
        pads = {1: (2, 3), 2: (2, 3, 1, 2), 3: (2, 3, 1, 2, 2, 1)}[dims]
        for kind, dtype in METAL.items():
            for index, letter in letter_of.items():
                name = f"{word}_pad{dims}d_forward_{kind}_{index}"
                if not library.has(name):
                    continue
                x = draw(dtype, shape, SMALL)
                wide = x.to(torch.complex64) if dtype.is_complex else x.double()
                want = functional.pad(wide, pads, mode=mode).to(dtype)
                output = Output(want.shape, dtype)
                yield Case([Launch(name, [to_device(x), output.device, _pad_params(shape, tuple(want.shape), pads, letter)], _pad_threads(want.shape))], [Check(output, want)])
                if library.has(f"{word}_pad{dims}d_backward_{kind}_{index}") and dtype.is_floating_point:
                    yield _pad_backward(f"{word}_pad{dims}d_backward_{kind}_{index}", shape, tuple(want.shape), pads, letter, mode, dtype)

    return Family(f"{word}_pad{dims}d", "images", cases)


def _pad_params(source, target, pads, letter: str) -> torch.Tensor:
    """`PadParams`: spatial sizes and left pads innermost first; strides of up to three spatial dimensions, then of channels and batches."""
    spatial = [[*reversed(shape[2:])] for shape in (source, target)]
    arrays = [padded(spatial[0], 3), padded(spatial[1], 3), padded(pads[::2], 3)]
    for shape in (source, target):
        strides = torch.empty(shape, device="meta").stride()
        arrays.append([*padded([*reversed(strides[2:])], 3), strides[1], strides[0]])
    return pack(f"20{letter}", *(each for array in arrays for each in array), source[1])


def _pad_threads(shape) -> tuple[int, int, int]:
    spatial = [1, 1, *shape[2:]]
    return spatial[-1], spatial[-2], math.prod(shape[2:-2]) * shape[0] * shape[1]


def _pad_backward(name: str, source, target, pads, letter: str, mode: str, dtype: torch.dtype) -> Case:
    grad = draw(dtype, target, SMALL)
    x = torch.zeros(source, dtype=torch.float64, requires_grad=True)
    functional.pad(x, pads, mode=mode).backward(grad.double())
    output = Output(source, dtype, initial=torch.zeros(source, dtype=dtype))
    arguments = [to_device(grad), output.device, _pad_params(source, target, pads, letter)]
    tolerance = Tolerance(30 * rounded(Tolerance(1e-7), dtype).relative, 1e-5 if dtype == torch.float32 else 0.1)
    return Case([Launch(name, arguments, _pad_threads(source))], [Check(output, x.grad.to(dtype), tolerance)])


INDEX = {"i32": "i", "i64": "q"}

FAMILIES = [_upsample(form) for form in UPSAMPLES]
FAMILIES += [_upsample_backward(form) for form in UPSAMPLES if form.backward]
FAMILIES += [_grid_sampler("bilinear", 2), _grid_sampler("nearest", 2), _grid_sampler("bicubic", 2)]
FAMILIES += [_grid_sampler("bilinear", 3), _grid_sampler("nearest", 3)]
FAMILIES += [
    Family("max_pool", "images", _max_pool),
    Family("max_pool_backward", "images", _max_pool_backward),
    Family("max_unpool", "images", _max_unpool),
    Family("avg_pool", "images", _avg_pool),
    Family("avg_pool_backward", "images", _avg_pool_backward),
    Family("im2col", "images", _im2col),
    Family("col2im", "images", _col2im),
    Family("constant_pad_nd", "images", _constant_pad),
    *(_pad("reflect", dims, INDEX) for dims in (1, 2, 3)),
    *(_pad("replicate", dims, INDEX) for dims in (2, 3)),
]
