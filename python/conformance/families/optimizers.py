"""Fused optimizers over several tensors, and the steps of automatic mixed precision: arguments behind arrays of addresses."""

import itertools
import math
import struct
from collections.abc import Iterator

import torch

from conformance.cases import Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.inputs import Domain, draw
from conformance.memory import Output, f32, i32, pack, padded, to_device

# What the host's `MetadataArguments` holds at most, and elements that one threadgroup updates.
TENSORS_MAX = 32
CHUNK = 65536
SIZES = (1000, 7, 70000)
GROUP = 256
SMALL = Domain(-1, 1, False)


def _metadata() -> tuple[torch.Tensor, int]:
    """Sizes of the tensors, then which tensor and which chunk each threadgroup takes; and how many threadgroups."""
    pairs = [(index, chunk) for index, size in enumerate(SIZES) for chunk in range(math.ceil(size / CHUNK))]
    tensors, chunks = zip(*pairs)
    words = padded(SIZES, TENSORS_MAX) + padded(tensors, TENSORS_MAX) + padded(chunks, TENSORS_MAX)
    return pack(f"{3 * TENSORS_MAX}Q", *words), len(pairs)


def _pointers(groups: list[list[torch.Tensor]]) -> torch.Tensor:
    """An argument buffer: arrays of addresses, each padded to the same length."""
    words = [padded([tensor.data_ptr() for tensor in group], TENSORS_MAX) for group in groups]
    flat = list(itertools.chain.from_iterable(words))
    return to_device(torch.frombuffer(bytearray(struct.pack(f"<{len(flat)}Q", *flat)), dtype=torch.uint8))


def _adam_reference(p, g, m, v, maximum, step: int, decoupled: bool, maximize: bool) -> list[torch.Tensor]:
    lr, beta1, beta2, decay, eps = HYPER
    p, g, m, v = (each.double().clone() for each in (p, g, m, v))
    g = -g if maximize else g
    if decoupled:
        p = p * (1 - lr * decay)
    else:
        g = g + decay * p
    m, v = m + (1 - beta1) * (g - m), beta2 * v + (1 - beta2) * g * g
    corrected = v
    results = [m, v]
    if maximum is not None:
        corrected = torch.maximum(maximum.double(), v)
        results.append(corrected)
    denominator = corrected.sqrt() / math.sqrt(1 - beta2**step) + eps
    return [p - lr / (1 - beta1**step) * m / denominator, *results]


HYPER = (0.01, 0.9, 0.99, 0.1, 1e-6)


def _adam(name: str, decoupled: bool, amsgrad: bool) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kernel in sorted(library.names):
            kinds = kernel.removeprefix(f"{name}_").split("_") if kernel.startswith(f"{name}_") else []
            if len(kinds) != 2 or any(kind not in METAL for kind in kinds):
                continue
            dtype, state = METAL[kinds[0]], METAL[kinds[1]]
            step, maximize = 3, False
            tensors = [[draw(dtype, (size,), SMALL) for size in SIZES] for _ in range(2)]
            tensors += [[draw(dtype, (size,), SMALL) for size in SIZES]]
            tensors += [[draw(dtype, (size,), Domain(0.1, 1, False)) for size in SIZES] for _ in range(2 if amsgrad else 1)]
            outputs = [[Output((each.numel(),), dtype, initial=each) for each in group] for group in tensors]
            steps = [torch.tensor([float(step)], dtype=state).to("mps") for _ in SIZES]
            groups = [[output.device for output in group] for group in outputs] + [steps]
            metadata, count = _metadata()
            lr, beta1, beta2, decay, eps = HYPER
            null = torch.empty(0, device="mps")
            arguments = [_pointers(groups), metadata, *map(f32, (lr, beta1, beta2, decay, eps)), pack("B3x", maximize), null, null]
            checks = []
            # The decay is added to the gradient in the dtype.
            tolerance = rounded(Tolerance(2e-5, 2e-6), dtype) if decoupled else rounded(Tolerance(2e-5, 2e-6), dtype, 2)
            for index in range(len(SIZES)):
                parts = [group[index] for group in tensors]
                want = _adam_reference(*parts[:4], parts[4] if amsgrad else None, step, decoupled, maximize)
                written = [outputs[0][index], *(outputs[place][index] for place in range(2, len(outputs)))]
                checks += [Check(output, value.to(dtype), tolerance) for output, value in zip(written, want)]
            launch = Launch(kernel, arguments, (count * GROUP,), (GROUP,))
            yield Case([launch], checks, reached=[groups])

    return Family(name, "optimizers", cases)


def _sgd(name: str, has_momentum: bool) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in ("float", "half", "bfloat"):
            for nesterov, first in ((False, True), (False, False), (True, False)) if has_momentum else ((False, False),):
                dtype = METAL[kind]
                decay, lr, momentum, dampening = 0.1, 0.05, 0.9, 0.0
                tensors = [[draw(dtype, (size,), SMALL) for size in SIZES] for _ in range(3 if has_momentum else 2)]
                outputs = [[Output((each.numel(),), dtype, initial=each) for each in group] for group in tensors]
                groups = [[output.device for output in group] for group in outputs]
                metadata, count = _metadata()
                null = torch.empty(0, device="mps")
                flag = pack("B3x", 0)
                arguments = [_pointers(groups), metadata, f32(decay)]
                if has_momentum:
                    arguments += [f32(momentum), f32(lr), f32(dampening), pack("B3x", nesterov), flag, pack("B3x", first)]
                else:
                    arguments += [f32(lr), flag]
                arguments += [null, null]
                checks = []
                # The decay is added to the gradient in the dtype.
                tolerance = rounded(Tolerance(2e-6, 2e-6), dtype, 2)
                for index in range(len(SIZES)):
                    p, g = tensors[0][index].double(), tensors[1][index].double()
                    g = g + decay * p
                    if has_momentum:
                        buffer = g if first else momentum * tensors[2][index].double() + (1 - dampening) * g
                        checks.append(Check(outputs[2][index], buffer.to(dtype), tolerance))
                        g = g + momentum * buffer if nesterov else buffer
                    checks.append(Check(outputs[0][index], (p - lr * g).to(dtype), tolerance))
                launch = Launch(f"{name}_{kind}", arguments, (count * GROUP,), (GROUP,))
                yield Case([launch], checks, f"nesterov={nesterov}, first={first}", [groups])

    return Family(name, "optimizers", cases)


def _unscale(library: Library) -> Iterator[Case]:
    for kind in ("float", "half", "bfloat"):
        for has_infinity in (False, True):
            dtype, scale = METAL[kind], 0.125
            tensors = [draw(dtype, (size,), SMALL) for size in SIZES]
            if has_infinity:
                tensors[1][3] = math.inf
            tolerance = rounded(Tolerance(1e-7), dtype)
            wanted = [(each.double() * scale).to(dtype) for each in tensors]
            outputs = [Output((each.numel(),), dtype, initial=each) for each in tensors]
            found = Output((1,), torch.float32, initial=torch.zeros(1))
            metadata, count = _metadata()
            arguments = [_pointers([[output.device for output in outputs]]), metadata, found.device, f32(scale)]
            checks = [Check(output, want, tolerance) for output, want in zip(outputs, wanted)]
            checks.append(Check(found, torch.tensor([float(has_infinity)])))
            launch = Launch(f"ampNonFiniteCheckAndUnscale_{kind}", arguments, (count * GROUP,), (GROUP,))
            yield Case([launch], checks, reached=[outputs])
            single, found = Output((SIZES[1],), dtype, initial=tensors[1]), Output((1,), torch.float32, initial=torch.zeros(1))
            launch = Launch(f"ampNonFiniteCheckAndUnscaleSingle_{kind}", [single.device, found.device, f32(scale)], (SIZES[1],))
            yield Case([launch], [Check(single, wanted[1], tolerance), Check(found, torch.tensor([float(has_infinity)]))])


def _update_scale(library: Library) -> Iterator[Case]:
    for kind in ("float",):
        for tracker, found in ((0, 0.0), (2, 0.0), (1, 1.0)):
            scale, growth = torch.tensor([1024.0]), torch.tensor([tracker], dtype=torch.int32)
            want_scale, want_growth = scale.clone(), growth.clone()
            torch._amp_update_scale_(want_scale, want_growth, torch.tensor([found]), 2.0, 0.5, 3)
            outputs = [Output((1,), torch.float32, initial=scale), Output((1,), torch.int32, initial=growth)]
            infinity = Output((1,), torch.float32, initial=torch.tensor([found]))
            arguments = [outputs[0].device, outputs[1].device, infinity.device, f32(2.0), f32(0.5), i32(3)]
            launch = Launch(f"ampUpdateScale_{kind}", arguments, (1,))
            yield Case([launch], [Check(outputs[0], want_scale), Check(outputs[1], want_growth)])


FAMILIES = [
    _adam("fused_adam", decoupled=False, amsgrad=False),
    _adam("fused_adamw", decoupled=True, amsgrad=False),
    _adam("fused_adam_amsgrad", decoupled=False, amsgrad=True),
    _adam("fused_adamw_amsgrad", decoupled=True, amsgrad=True),
    _sgd("fused_sgd", has_momentum=False),
    _sgd("fused_sgd_momentum", has_momentum=True),
    Family("amp unscale", "optimizers", _unscale),
    Family("amp update_scale", "optimizers", _update_scale),
]
