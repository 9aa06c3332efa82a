"""Scaled dot-product attention: one query at a time in one pass and in two, and blocks of queries; with masks and causal."""

import math
import re
from collections.abc import Iterator

import torch
from torch.nn import functional

from conformance.cases import ROUNDING, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.families.unary import chosen
from conformance.inputs import Domain, draw
from conformance.memory import Output, f32, pack, to_device, u32

SMALL = Domain(-1, 1, False)
BATCH, HEADS, KV_HEADS = 2, 4, 2
# Blocks of keys that the first of two passes makes.
BLOCKS = 32


def _attention(q, k, v, mask, is_causal: bool, scale: float) -> torch.Tensor:
    """ATen's result in double; key and value heads are repeated for the query heads that share them."""
    k, v = (each.double().repeat_interleave(HEADS // KV_HEADS, 1) for each in (k, v))
    mask = mask.double() if mask is not None and mask.dtype != torch.bool else mask
    if is_causal and mask is not None:
        # ATen takes one of the two: the triangle goes into the mask.
        seen = torch.ones(mask.shape[-2:], dtype=torch.bool).tril()
        mask = mask & seen if mask.dtype == torch.bool else mask.masked_fill(~seen, -math.inf)
        is_causal = False
    return functional.scaled_dot_product_attention(q.double(), k, v, mask, is_causal=is_causal, scale=scale)


def _mask(kind: str, shape: tuple[int, ...]) -> torch.Tensor | None:
    if kind == "none":
        return None
    if kind in ("bool", "bool_"):
        mask = torch.rand(shape) < 0.7
        mask[..., 0] = True
        return mask
    return draw(METAL[kind], shape, Domain(-2, 2, False))


VECTOR = re.compile(r"sdpa_vector(_2pass_1)?_(float|half|bfloat)_(\d+)_(\d+)_mask(none|bool|float|half|bfloat)(_causal)?$")


def _vector_case(match: re.Match) -> Case:
    dtype, size, value_size = METAL[match[2]], int(match[3]), int(match[4])
    queries, keys, scale = 3, 301, 1 / math.sqrt(size)
    q = draw(dtype, (BATCH, HEADS, queries, size), SMALL)
    k, v = draw(dtype, (BATCH, KV_HEADS, keys, size), SMALL), draw(dtype, (BATCH, KV_HEADS, keys, value_size), SMALL)
    mask, is_causal = _mask(match[5], (BATCH, HEADS, queries, keys)), bool(match[6])
    want = _attention(q, k, v, mask, is_causal, scale).to(dtype)
    output = Output(want.shape, dtype)
    head = u32(q.stride(1), k.stride(1), v.stride(1), 0)
    sequence = u32(q.stride(2), k.stride(2), v.stride(2), 0)
    batch = u32(q.stride(0), k.stride(0), v.stride(0), HEADS)
    masks = u32(*reversed(mask.stride())) if mask is not None else u32(0, 0, 0, 0)
    common = [u32(HEADS // KV_HEADS), u32(keys), head, sequence, f32(scale)]
    common += [u32(0) if mask is None else to_device(mask), masks, batch]
    operands = [to_device(q), to_device(k), to_device(v)]
    tolerance = rounded(Tolerance(5e-6, 2e-6), dtype)
    if not match[1]:
        arguments = [*operands, output.device, *common]
        launch = Launch(match[0], arguments, (BATCH * HEADS * 1024, queries, 1), (1024, 1, 1))
        return Case([launch], [Check(output, want, tolerance)])
    partials = Output((BATCH * HEADS * queries * BLOCKS * value_size,), dtype)
    sums, maxima = (Output((BATCH * HEADS * queries * BLOCKS,), torch.float32) for _ in range(2))
    arguments = [*operands, partials.device, sums.device, maxima.device, *common]
    first = Launch(match[0], arguments, (BATCH * HEADS * 256, queries, BLOCKS), (256, 1, 1))
    arguments = [partials.device, sums.device, maxima.device, output.device]
    second = Launch(f"sdpa_vector_2pass_2_{match[2]}_{value_size}", arguments, (BATCH * HEADS * 1024, queries, 1), (1024, 1, 1))
    # Partial results, larger than their sum where they cancel, are rounded to the dtype between the passes.
    tolerance = rounded(tolerance, dtype)
    partial = 0.1 * ROUNDING[dtype] if dtype != torch.float32 else 0.0
    return Case([first, second], [Check(output, want, Tolerance(2 * tolerance.relative, tolerance.absolute + partial))])


def _vector(is_two_pass: bool, library: Library) -> Iterator[Case]:
    found = [match for match in map(VECTOR.match, sorted(library.names)) if match and bool(match[1]) == is_two_pass]
    for match in chosen(found, library.is_thorough, False, 16):
        yield _vector_case(match)


PREFILL = re.compile(
    r"prefill_attention_(float32|float16|bfloat16)_bq(\d+)_bk(\d+)_bd(\d+)_wm(\d+)_wn(\d+)_hm(\d)_dc(\d)_mask(float32|float16|bfloat16|bool_)$"
)
NAMES = {"float32": "float", "float16": "half", "bfloat16": "bfloat", "bool_": "bool"}


def _prefill_case(match: re.Match) -> Case:
    dtype, size = METAL[NAMES[match[1]]], int(match[4])
    rows, columns = int(match[2]), int(match[5]) * int(match[6])
    has_mask, is_causal = match[7] == "1", match[8] == "1"
    queries = keys = 77
    scale = 1 / math.sqrt(size)
    q = draw(dtype, (BATCH, HEADS, queries, size), SMALL)
    k, v = (draw(dtype, (BATCH, KV_HEADS, keys, size), SMALL) for _ in range(2))
    mask = _mask(NAMES[match[9]], (BATCH, HEADS, queries, keys)) if has_mask else None
    want = _attention(q, k, v, mask, is_causal, scale).to(dtype)
    output = Output(want.shape, dtype)
    strides = [stride for each in (q, k, v, want) for stride in each.stride()[:3]]
    params = pack("6i2f12q", BATCH, HEADS, size, queries, keys, HEADS // KV_HEADS, scale, 1.0, *strides)
    mask_params = pack("4q", *(mask.stride() if mask is not None else (0, 0, 0, 0)))
    arguments = [to_device(q), to_device(k), to_device(v), output.device, params, mask_params, u32(0) if mask is None else to_device(mask)]
    threads = (math.ceil(queries / rows) * 32, HEADS * columns, BATCH)
    launch = Launch(match[0], arguments, threads, (32, columns, 1))
    # Probabilities are rounded to the dtype before they meet the values.
    return Case([launch], [Check(output, want, rounded(rounded(Tolerance(1e-5, 5e-6), dtype), dtype))])


def _prefill(library: Library) -> Iterator[Case]:
    found = [match for match in map(PREFILL.match, sorted(library.names)) if match]
    for match in chosen(found, library.is_thorough, False, 14):
        yield _prefill_case(match)


FAMILIES = [
    Family("sdpa_vector", "attention", lambda library: _vector(False, library)),
    Family("sdpa_vector in two passes", "attention", lambda library: _vector(True, library)),
    Family("prefill_attention", "attention", _prefill),
]
