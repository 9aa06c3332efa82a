"""Convolutions: direct, depthwise over lines, in three dimensions with SIMD-group matrices; and layout changes around them."""

import math
import re
from collections.abc import Iterator

import torch
from torch.nn import functional

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.inputs import Domain, draw
from conformance.memory import Output, pack, to_device, u32

SMALL = Domain(-1, 1, False)
FLOATS = ("float", "half", "bfloat")
SUMS = Tolerance(3e-6, 2e-5)


def _params(x, weight, out, stride, padding, dilation, groups: int, has_bias: bool) -> list[int]:
    """`Conv2DParams` without its last padding, for images of channels first."""
    return [x[0], x[1], out[1], x[2], x[3], out[2], out[3], weight[2], weight[3], *stride, *padding, *dilation, x[1] // groups, out[1] // groups, has_bias]


def _direct(library: Library) -> Iterator[Case]:
    for name in sorted(library.names):
        match = re.fullmatch(r"conv2d_r(\d+)_(i32|i64)_(float|half|bfloat)", name)
        if not match:
            continue
        dtype, groups = METAL[match[3]], 2
        stride, padding, dilation = (2, 1), (1, 2), (1, 2)
        x, weight, bias = draw(dtype, (2, 4, 13, 15), SMALL), draw(dtype, (6, 2, 3, 3), SMALL), draw(dtype, (6,), SMALL)
        want = functional.conv2d(x.double(), weight.double(), bias.double(), stride, padding, dilation, groups).to(dtype)
        output = Output(want.shape, dtype)
        params = pack("17i?3x", *_params(x.shape, weight.shape, want.shape, stride, padding, dilation, groups, True))
        # One thread makes that many outputs of a row.
        rows = int(match[1])
        threads = 2 * 6 * want.shape[2] * math.ceil(want.shape[3] / rows)
        arguments = [to_device(x), to_device(weight), to_device(bias), output.device, params]
        yield Case([Launch(name, arguments, (threads,))], [Check(output, want, rounded(SUMS, dtype))])


def _depthwise(layout: str) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in FLOATS:
            dtype, channels = METAL[kind], 12
            stride, padding, dilation = 1, 2, 1
            x, weight, bias = draw(dtype, (2, channels, 61), SMALL), draw(dtype, (channels, 1, 5), SMALL), draw(dtype, (channels,), SMALL)
            want = functional.conv1d(x.double(), weight.double(), bias.double(), stride, padding, dilation, channels).to(dtype)
            shape = (2, channels, 1, 61)
            out = (2, channels, 1, want.shape[2])
            params = pack("17i?3x", *_params(shape, (channels, 1, 1, 5), out, (1, stride), (0, padding), (1, dilation), channels, True))
            expected = want if layout == "ncl" else want.transpose(1, 2).contiguous()
            output = Output(expected.shape, dtype)
            # One thread makes eight outputs of a line. The layout is that of the output; inputs have their channels first.
            threads = (math.ceil(want.shape[2] / 8), channels, 2)
            arguments = [to_device(x), to_device(weight), output.device, params, to_device(bias)]
            yield Case([Launch(f"conv1d_depthwise_{layout}_{kind}", arguments, threads)], [Check(output, expected, rounded(SUMS, dtype))])

    return Family(f"conv1d_depthwise_{layout}", "convolution", cases)


def _conv3d(library: Library) -> Iterator[Case]:
    for name in sorted(library.names):
        match = re.fullmatch(r"conv3d_simd_(float|half|bfloat)_(\d+)_(\d+)_(\d+)_(\d+)", name)
        if not match:
            continue
        dtype, (rows, columns, high, wide) = METAL[match[1]], map(int, match.groups()[1:])
        x, weight, bias = draw(dtype, (1, 16, 5, 6, 7), SMALL), draw(dtype, (24, 16, 3, 3, 3), SMALL), draw(dtype, (24,), SMALL)
        want = functional.conv3d(x.double(), weight.double(), bias.double(), padding=1).to(dtype)
        source, kernel = x.permute(0, 2, 3, 4, 1).contiguous(), weight.permute(2, 3, 4, 1, 0).contiguous()
        expected = want.permute(0, 2, 3, 4, 1).contiguous()
        output = Output(expected.shape, dtype)
        plane = _params((1, 16, 6, 7), (24, 16, 3, 3), (1, 24, 6, 7), (1, 1), (1, 1), (1, 1), 1, True)
        params = pack("17i?3x6i?3x", *plane, 5, 5, 3, 1, 1, 1, False)
        group = 32 * high * wide
        # Tiles of output channels, tiles of a plane's pixels, planes.
        threads = (math.ceil(24 / columns) * group, math.ceil(6 * 7 / rows), 5)
        arguments = [to_device(source), to_device(kernel), output.device, params, to_device(bias)]
        yield Case([Launch(name, arguments, threads, (group, 1, 1))], [Check(output, expected, rounded(SUMS, dtype))])


def _weights(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        dtype = METAL[kind]
        weight = draw(dtype, (6, 5, 2, 3, 4), SMALL)
        want = weight.permute(2, 3, 4, 1, 0).contiguous()
        output = Output(want.shape, dtype)
        params = u32(6, 5, 3, 4, *weight.stride())
        # One thread copies a row of a filter.
        launch = Launch(f"conv_weight_to_dhwio_{kind}", [to_device(weight), output.device, params], (6, 5, 2 * 3))
        yield Case([launch], [Check(output, want, EXACT)])


FAMILIES = [
    Family("conv2d", "convolution", _direct),
    _depthwise("ncl"),
    _depthwise("nlc"),
    Family("conv3d", "convolution", _conv3d),
    Family("conv_weight_to_dhwio", "convolution", _weights),
]
