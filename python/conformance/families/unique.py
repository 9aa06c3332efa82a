"""`unique` of sorted values in its steps, and the first of equal indices that `coalesce` keeps."""

from collections.abc import Iterator

import torch

from conformance.cases import Case, Check, Family, Launch, Library
from conformance.dtypes import METAL
from conformance.memory import Output, to_device, u64

LENGTH = 5001


def _values(dtype: torch.dtype) -> torch.Tensor:
    """Values of which most occur several times."""
    if dtype == torch.bool:
        return torch.rand(LENGTH) < 0.5
    low = 0 if dtype == torch.uint8 else -100
    drawn = torch.randint(low, 120, (LENGTH,))
    return (drawn / 4).to(dtype) if dtype.is_floating_point else drawn.to(dtype)


def _unique(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        for bits in (32, 64):
            emit = f"unique_emit_{kind}_{bits}"
            if library.has(emit):
                yield _steps(kind, dtype, bits, emit)


def _steps(kind: str, dtype: torch.dtype, bits: int, emit: str) -> Case:
    # Indices of long tensors have 64 bits, and so have the sums over marks.
    index = torch.int32 if bits == 32 else torch.int64
    x = _values(dtype)
    ordered, order = torch.sort(x, stable=True)
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    marks = torch.cat([torch.ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]]).to(torch.int32)
    numbers = to_device(marks.cumsum(0).to(index))
    source = to_device(ordered)
    marked, found = Output((LENGTH,), torch.int32), Output((len(values),), dtype)
    starts, sizes = Output((len(values),), torch.int64), Output((len(values),), torch.int64)
    places = Output((LENGTH,), torch.int64)
    launches = [
        Launch(f"unique_mark_boundaries_{kind}", [source, marked.device], (LENGTH,)),
        Launch(emit, [source, marked.device, numbers, found.device, starts.device], (LENGTH,)),
        Launch("unique_counts", [starts.device, sizes.device, u64(len(values)), u64(LENGTH)], (len(values),)),
        Launch(f"unique_inverse_{bits}", [to_device(order), numbers, places.device], (LENGTH,)),
    ]
    first = counts.cumsum(0) - counts
    expected = [(marked, marks), (found, values), (starts, first), (sizes, counts), (places, inverse)]
    return Case(launches, [Check(output, want) for output, want in expected], f"{kind}, {bits} bits")


def _first_of_equal(library: Library) -> Iterator[Case]:
    name = "mark_unique_positions_and_count_kernel"
    if not library.has(name):
        return
    ordered = torch.randint(-50, 2**40, (700,)).repeat(3).sort().values
    is_first = torch.cat([torch.ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]])
    marked = Output(tuple(ordered.shape), torch.bool)
    count = Output((1,), torch.int32, initial=torch.zeros(1, dtype=torch.int32))
    want = is_first.sum().to(torch.int32).reshape(1)
    launch = Launch(name, [to_device(ordered), marked.device, count.device], (len(ordered),))
    yield Case([launch], [Check(marked, is_first), Check(count, want)])


FAMILIES = [
    Family("unique", "sorting", _unique),
    Family("first of equal indices", "sorting", _first_of_equal),
]
