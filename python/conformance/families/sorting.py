"""Sorting: within a threadgroup, by merging blocks, by radix; and the first k of each."""

import math
import random
from collections.abc import Iterator

import torch

from conformance.cases import Case, Check, Family, Launch, Library
from conformance.dtypes import METAL
from conformance.inputs import ANY, Domain, draw
from conformance.memory import Output, i32, i64, pack, to_device

# Elements that one thread of a sorting kernel holds.
PER_THREAD = 4
UNSIGNED = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def _values(kind: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Floats without equal values, so that indices are determined; integers with many."""
    dtype = METAL[kind]
    if dtype.is_floating_point:
        rows, length = shape
        distinct = torch.stack([torch.randperm(length) for _ in range(rows)]) - length // 2
        return (distinct.to(torch.float32) / 4).to(dtype)
    return draw(dtype, shape, Domain(-100, 100))


def _bool(value: bool) -> torch.Tensor:
    return pack("?xxx", value)


class _Sorted:
    """A check of values and indices: sorted as ATen sorts, and each index names its value."""

    def __init__(self, x: torch.Tensor, descending: bool, count: int | None = None):
        want = torch.sort(x, dim=1, descending=descending, stable=True)
        count = x.shape[1] if count is None else count
        self.x, self.want = x, want.values[:, :count].contiguous()
        self.values, self.indices = Output((x.shape[0], count), x.dtype), Output((x.shape[0], count), torch.int64)

    def checks(self) -> list[Check]:
        def gathered() -> torch.Tensor:
            return self.x.gather(1, self.indices.read())

        def distinct() -> torch.Tensor:
            return torch.tensor([row.unique().numel() for row in self.indices.read()])

        rows, count = self.want.shape
        return [Check(self.values, self.want), Check(gathered, self.want), Check(distinct, torch.full((rows,), count))]


def _kinds(library: Library, pattern: str) -> list[str]:
    return [kind for kind in METAL if library.has(pattern.format(kind))]


def _block_sort(library: Library) -> Iterator[Case]:
    for kind in _kinds(library, "sort_block_{}_tptg32"):
        for group in (32, 64, 128, 256, 512, 1024):
            for suffix in ("", "_stable"):
                name = f"sort_block_{kind}_tptg{group}{suffix}"
                if not library.has(name) or (group > 32 and random.random() < 0.5 and not library.is_thorough):
                    continue
                length = group * PER_THREAD - 3
                x, descending = _values(kind, (3, length)), random.random() < 0.5
                judge = _Sorted(x, descending)
                checks = judge.checks()
                if suffix:
                    checks.append(Check(judge.indices, torch.sort(x, dim=1, descending=descending, stable=True).indices))
                arguments = [to_device(x), judge.values.device, judge.indices.device, i32(length), i64(1, length), _bool(descending)]
                yield Case([Launch(name, arguments, (group, 3, 1), (group, 1, 1))], checks)


def _block_select(prefix: str) -> "callable":
    def cases(library: Library) -> Iterator[Case]:
        for kind in _kinds(library, prefix + "_{}_tptg32"):
            for group in (32, 128, 1024):
                name = f"{prefix}_{kind}_tptg{group}"
                if not library.has(name):
                    continue
                length, count = group * PER_THREAD - 5, 17
                x, descending = _values(kind, (3, length)), random.random() < 0.5
                judge = _Sorted(x, descending, count)
                arguments = [to_device(x), judge.values.device, judge.indices.device, i32(length), i64(1, length), _bool(descending), i32(0, count)]
                yield Case([Launch(name, arguments, (group, 3, 1), (group, 1, 1))], judge.checks())

    return cases


def _merge(kind: str, group: int, topk: int | None, narrow: str, keyed: bool) -> Case:
    tile = group * PER_THREAD
    length, rows = 3 * tile - 50, 2
    blocks = math.ceil(length / tile)
    x, descending = _values(kind, (rows, length)), random.random() < 0.5
    judge = _Sorted(x, descending, topk)
    index = torch.int16 if narrow else torch.int32
    key = UNSIGNED[x.dtype.itemsize] if keyed else x.dtype
    buffers = [(Output((rows, length), key), Output((rows, length), index)) for _ in range(2)]
    word = "_fkey" if keyed else ""
    flags, threads, shape = _bool(descending), (group * blocks, rows, 1), (group, 1, 1)
    first = [to_device(x), buffers[0][0].device, buffers[0][1].device, i32(length), i64(1, length), flags]
    launches = [Launch(f"mb_sort_block{word}_{kind}_tptg{group}{narrow}", first, threads, shape)]
    # With four blocks or fewer, two merges: pairs of blocks, then the two runs. Keys of floats are merged as the integers they are.
    middle_kind = {torch.uint8: "uchar", torch.int16: "ushort", torch.int32: "uint"}[key] if keyed else kind
    middle = [buffers[0][0].device, buffers[0][1].device, buffers[1][0].device, buffers[1][1].device, i32(length, 2, blocks, 0)]
    middle.append(_bool(False) if keyed else flags)
    launches.append(Launch(f"mb_merge_{middle_kind}_tptg{group}{narrow}", middle, threads, shape))
    last = [buffers[1][0].device, buffers[1][1].device, judge.values.device, judge.indices.device, i32(length, 4, blocks, 0), flags]
    last += [i32(0, topk)] if topk else []
    launches.append(Launch(f"mb_merge_final{'_topk' if topk else ''}{word}_{kind}_tptg{group}{narrow}", last, threads, shape))
    return Case(launches, judge.checks())


def _merge_cases(topk: int | None, keyed: bool) -> "callable":
    def cases(library: Library) -> Iterator[Case]:
        word = "_fkey" if keyed else ""
        for group in (256, 512) if keyed else (32, 128):
            for kind in _kinds(library, f"mb_sort_block{word}_{{}}_tptg{group}"):
                for narrow in ("", "_u16"):
                    case = _merge(kind, group, topk, narrow, keyed)
                    if all(library.has(launch.kernel) for launch in case.launches):
                        yield case

    return cases


def _radix(kind: str, topk: int | None) -> Case:
    """Count, scan and scatter for every digit; the last scatter writes wide indices."""
    dtype = METAL[kind]
    bits = 4 if dtype.itemsize == 1 else 8
    group, per_thread = 512, 8 if bits == 4 else 4
    suffix = f"_{bits}bit" + ("_tptg512" if dtype.itemsize == 2 else "")
    tile = group * per_thread
    rows, length = 2, 2 * tile + 300
    blocks, passes = math.ceil(length / tile), dtype.itemsize * 8 // bits
    x, descending = _values(kind, (rows, length)), random.random() < 0.5
    judge = _Sorted(x, descending, topk)
    keys = [Output((rows, length), dtype) for _ in range(2)]
    indices = [Output((rows, length), torch.int32) for _ in range(2)]
    histograms = Output((rows, 2**bits * blocks), torch.int32)
    source = to_device(x)
    launches = []
    for digit in range(passes):
        dims = i32(length, blocks, digit * bits, 0)
        launches.append(Launch(f"radix_count_{kind}{suffix}", [source, histograms.device, dims, _bool(descending)], (group * blocks, rows, 1), (group, 1, 1)))
        launches.append(Launch("radix_scan", [histograms.device, i32(2**bits * blocks)], (1024, rows, 1), (1024, 1, 1)))
        is_last = digit == passes - 1
        word = "_final_topk" if is_last and topk else "_final" if is_last else ""
        target = [judge.values.device, judge.indices.device] if is_last else [keys[digit % 2].device, indices[digit % 2].device]
        arguments = [source, indices[(digit + 1) % 2].device, *target, histograms.device, dims, pack("??xx", descending, digit == 0)]
        arguments += [i32(0, topk)] if is_last and topk else []
        launches.append(Launch(f"radix_scatter{word}_{kind}{suffix}", arguments, (group * blocks, rows, 1), (group, 1, 1)))
        source = keys[digit % 2].device
    return Case(launches, judge.checks())


def _radix_cases(topk: int | None) -> "callable":
    def cases(library: Library) -> Iterator[Case]:
        for kind in ("char", "uchar", "half", "bfloat", "short", "float", "int"):
            case = _radix(kind, topk)
            if all(library.has(launch.kernel) for launch in case.launches):
                yield case

    return cases


FAMILIES = [
    Family("sort in a block", "sorting", _block_sort),
    Family("sort in a block by key", "sorting", _block_select("sort_block_fkey")),
    Family("topk in a block", "sorting", _block_select("sort_block_topk")),
    Family("sort by merging", "sorting", _merge_cases(None, False)),
    Family("sort by merging keys", "sorting", _merge_cases(None, True)),
    Family("topk by merging", "sorting", _merge_cases(19, False)),
    Family("topk by merging keys", "sorting", _merge_cases(19, True)),
    Family("radix sort", "sorting", _radix_cases(None)),
    Family("radix topk", "sorting", _radix_cases(23)),
]
