"""Losses, embeddings, distances and histograms."""

import math
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from conformance.cases import Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.inputs import Domain, draw
from conformance.memory import ErrorBuffer, Output, i32, i64, pack, padded, to_device, u32

FLOATS = ("float", "half", "bfloat")
SMALL = Domain(-2, 2, False)
INDEX = {"int": torch.int32, "long": torch.int64}
aten = torch.ops.aten


def _nll(library: Library) -> Iterator[Case]:
    batch, classes, area = 3, 6, 20
    for kind in FLOATS:
        dtype = METAL[kind]
        x, weight = draw(dtype, (batch, classes, area), SMALL), draw(dtype, (classes,), Domain(0.5, 2, False))
        target = torch.randint(0, classes, (batch, area))
        target[0, :3] = -100
        want = functional.nll_loss(x.double(), target, weight.double(), ignore_index=-100, reduction="none")
        used = torch.where(target == -100, 0.0, weight.double()[target.clamp_min(0)])
        output, weights, errors = Output((batch, area), dtype), Output((batch, area), dtype), ErrorBuffer.empty()
        params = pack("6q?7x", classes, area, classes * area, area, -100, 0, True)
        arguments = [to_device(x), to_device(target), to_device(weight), output.device, weights.device, params, errors.device]
        tolerance = rounded(Tolerance(1e-6, 1e-6), dtype)
        launch = Launch(f"nllnd_loss_forward_{kind}", arguments, (batch * area,))
        yield Case([launch], [Check(output, want.to(dtype), tolerance), Check(weights, used.to(dtype), tolerance)])


def _nll_backward(library: Library) -> Iterator[Case]:
    batch, classes, area = 3, 6, 20
    for kind in FLOATS:
        for reduction in ("none", "mean", "sum"):
            dtype = METAL[kind]
            x = torch.zeros(batch, classes, area, dtype=torch.float64, requires_grad=True)
            weight, target = draw(dtype, (classes,), Domain(0.5, 2, False)), torch.randint(0, classes, (batch, area))
            grad = draw(dtype, (batch, area) if reduction == "none" else (1,), SMALL)
            functional.nll_loss(x, target, weight.double(), reduction=reduction).backward(grad.double() if reduction == "none" else grad.double()[0])
            total = weight.double()[target].sum().to(dtype).reshape(1)
            output, errors = Output(x.shape, dtype, initial=torch.zeros(x.shape, dtype=dtype)), ErrorBuffer.empty()
            params = pack("6q?7x??6x", classes, area, classes * area, area, -100, 0, True, reduction != "none", reduction == "mean")
            arguments = [output.device, to_device(grad), to_device(target), to_device(weight), to_device(total), params, errors.device]
            tolerance = rounded(rounded(Tolerance(2e-6, 1e-6), dtype), dtype)
            launch = Launch(f"nllnd_loss_backward_{kind}", arguments, (batch * area,))
            yield Case([launch], [Check(output, x.grad.to(dtype), tolerance)], reduction)


def _embedding_params(grad: torch.Tensor, indices: torch.Tensor, padding: int, by_frequency: bool, letter: str) -> torch.Tensor:
    arrays = [padded(indices.shape, 16), padded(grad.stride()[:-1], 16), padded(indices.stride(), 16)]
    flat = [value for array in arrays for value in array]
    counts = [grad.stride(-1), indices.dim(), grad.shape[-1]]
    gap = "" if letter == "Q" else "4x"
    return pack(f"48{letter}3{letter}{gap}q?7x", *flat, *counts, padding, by_frequency)


def _embedding(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        for index_kind, index_dtype in INDEX.items():
            for by_frequency in (False, True):
                name = f"embedding_dense_backward_{kind}_{index_kind}_32"
                if not library.has(name):
                    continue
                dtype, rows, size, padding = METAL[kind], 13, 8, 3
                indices, grad = torch.randint(0, rows, (4, 9)), draw(dtype, (4, 9, size), SMALL)
                want = aten.embedding_dense_backward(grad.double(), indices, rows, padding, by_frequency)
                # Gradients are summed in float32 for every dtype.
                output = Output((rows, size), torch.float32, initial=torch.zeros(rows, size))
                counts = Output((rows,), torch.int32, initial=torch.zeros(rows, dtype=torch.int32))
                params = _embedding_params(grad, indices, padding, by_frequency, "I")
                index = to_device(indices.to(index_dtype))
                first = Launch(f"embedding_dense_backward_count_{index_kind}_32", [index, counts.device, params], (36,))
                second = Launch(name, [to_device(grad), index, counts.device, output.device, params], (grad.numel(),))
                tolerance = rounded(Tolerance(1e-6, 1e-5), dtype)
                yield Case([first, second], [Check(output, want.float(), tolerance)], f"by_frequency={by_frequency}")


MODES = {"sum": 0, "mean": 1, "max": 2}


def _embedding_bag(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        for index_kind, index_dtype in INDEX.items():
            for mode, number in MODES.items():
                name = f"embedding_bag_{kind}_{index_kind}"
                if not library.has(name):
                    continue
                dtype, rows, size, bags = METAL[kind], 13, 6, 4
                weight, indices = draw(dtype, (rows, size), SMALL), torch.randint(0, rows, (20,))
                offsets = torch.tensor([0, 5, 5, 14])
                want = functional.embedding_bag(indices, weight.double(), offsets, mode=mode)
                output, errors = Output((bags, size), dtype), ErrorBuffer.empty()
                bag, sizes, maxima = Output((20,), index_dtype), Output((bags,), index_dtype), Output((bags, size), index_dtype)
                params = pack("2I2I2IIIIIIiq?7x", size, 1, size, 1, size, 1, 1, 20, bags, size, rows, number, -1, False)
                arguments = [to_device(weight), to_device(indices.to(index_dtype)), to_device(offsets.to(index_dtype)), u32(0)]
                arguments += [output.device, bag.device, sizes.device, maxima.device, params, errors.device]
                tolerance = Tolerance(8 * rounded(Tolerance(1e-7), dtype).relative, 1e-5 if kind == "float" else 5e-2)
                yield Case([Launch(name, arguments, (bags * size,))], [Check(output, want.to(dtype), tolerance)], mode)


def _cdist_backward(library: Library) -> Iterator[Case]:
    for name in sorted(library.names):
        parts = name.removeprefix("cdist_backward_").split("_") if name.startswith("cdist_backward_") else []
        if len(parts) != 3:
            continue
        # The kernel's number is no exponent: sums, maxima, and any other, here Euclid's.
        dtype, group, p = METAL[parts[0]], int(parts[2][2:]), {"p0": 1.0, "p1": math.inf, "p2": 2.0}[parts[1]]
        batch, points, others, size = 2, 5, 37, 40
        x1, x2 = draw(dtype, (batch, points, size), SMALL), draw(dtype, (batch, others, size), SMALL)
        a = x1.double().requires_grad_()
        distance = torch.cdist(a, x2.double(), p=p, compute_mode="donot_use_mm_for_euclid_dist")
        grad = draw(dtype, tuple(distance.shape), SMALL)
        distance.backward(grad.double())
        output = Output(x1.shape, dtype)
        params = pack("4qf4x", batch, points, others, size, p - 1)
        arguments = [to_device(x1), to_device(x2), to_device(grad), to_device(distance.detach().float()), output.device, params]
        tolerance = Tolerance(20 * rounded(Tolerance(1e-6), dtype).relative, 1e-4 if dtype == torch.float32 else 0.1)
        launch = Launch(name, arguments, (math.ceil(size / group) * group, points, batch), (group, 1, 1))
        yield Case([launch], [Check(output, a.grad.to(dtype), tolerance)])


def _histc(in_threadgroups: bool) -> Callable[[Library], Iterator[Case]]:
    where = "threadgroup" if in_threadgroups else "global"

    def cases(library: Library) -> Iterator[Case]:
        for kind in METAL:
            name = f"histc_atomic_{where}_{kind}"
            if not library.has(name) or not METAL[kind].is_floating_point:
                continue
            dtype, bins, count = METAL[kind], 16, 1000
            x = draw(dtype, (count,), Domain(-4, 4, False))
            edges = torch.linspace(-4, 4, bins + 1).to(dtype)
            # The kernel computes the bin in the dtype, whose roundings move a value across an edge; bin and edges are exact.
            place = ((x - edges[0]) * bins / (edges[-1] - edges[0])).long().clamp(0, bins - 1)
            want = torch.bincount(place, minlength=bins).to(torch.int32)
            output = Output((bins,), torch.int32, initial=torch.zeros(bins, dtype=torch.int32))
            arguments = [to_device(x), output.device, i64(1), u32(count), i64(bins), to_device(edges)]
            launch = Launch(name, arguments, (count,))
            if in_threadgroups:
                # 512 threads take what 1,000 values are; each threadgroup counts in its own memory first.
                launch = Launch(name, [*arguments, u32(512)], (512,), (128,), {0: bins * 4})
            yield Case([launch], [Check(output, want)])

    return cases


def _ctc(library: Library) -> Iterator[Case]:
    for kind in ("float", "half", "bfloat"):
        for target_kind, target_dtype in INDEX.items():
            name = f"ctc_loss_{kind}_{target_kind}_int32_t"
            if not library.has(name):
                continue
            dtype, steps, batch, labels, length = METAL[kind], 12, 3, 5, 4
            log_probs = draw(dtype, (steps, batch, labels), SMALL).double().log_softmax(2).to(dtype)
            targets = torch.randint(1, labels, (batch, length))
            inputs, lengths = [12, 10, 11], [4, 2, 3]
            want, alpha = aten._ctc_loss(log_probs.double(), targets, inputs, lengths, 0)
            loss = Output((batch,), dtype)
            log_alpha = Output(tuple(alpha.shape), dtype, initial=torch.full(alpha.shape, -math.inf).to(dtype))
            width = 2 * length + 1
            params = i32(0, steps, length, batch, 1, *log_probs.stride(), alpha.stride(0), alpha.stride(1), alpha.stride(2))
            arguments = [loss.device, log_alpha.device, to_device(log_probs), to_device(targets.to(target_dtype))]
            sizes = [torch.tensor(inputs), torch.tensor(lengths), torch.arange(batch) * length]
            arguments += [*(to_device(each.to(torch.int32)) for each in sizes), params]
            tolerance = rounded(rounded(Tolerance(1e-5, 1e-5), dtype), dtype)
            launch = Launch(name, arguments, (batch * 32,), (32,))
            yield Case([launch], [Check(loss, want.to(dtype), tolerance)], f"{width} states")


FAMILIES = [
    Family("nll_loss", "losses", _nll),
    Family("nll_loss_backward", "losses", _nll_backward),
    Family("embedding_dense_backward", "losses", _embedding),
    Family("embedding_bag", "losses", _embedding_bag),
    Family("cdist_backward", "losses", _cdist_backward),
    Family("histc", "losses", _histc(False)),
    Family("histc in threadgroups", "losses", _histc(True)),
    Family("ctc_loss", "losses", _ctc),
]
