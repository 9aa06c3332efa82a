"""Factorizations and solves: Cholesky in blocks, inverses of small matrices, QR, small triangular systems."""

import itertools
import math
from collections.abc import Callable, Iterator

import torch

from conformance.cases import Case, Check, Family, Launch, Library, Tolerance
from conformance.inputs import Domain, draw
from conformance.memory import Output, i64, pack, padded, to_device, u32

BATCH = 2
SMALL = Domain(-1, 1, False)


def _positive_definite(size: int) -> torch.Tensor:
    a = draw(torch.float32, (BATCH, size, size), SMALL)
    return a @ a.mT + size * torch.eye(size)


def _cholesky(upper: bool) -> Family:
    letter = "U" if upper else "L"

    def cases(library: Library) -> Iterator[Case]:
        for size in (24, 80):
            block = 32
            a = _positive_definite(size)
            # The kernels work on columns: the lower factor stands in memory's upper triangle, and the other way round.
            want = torch.linalg.cholesky(a.double()).to(torch.float32)
            want = want if upper else want.mT.contiguous()
            output, info = Output(a.shape, torch.float32, initial=a), Output((BATCH,), torch.int32, initial=torch.zeros(BATCH, dtype=torch.int32))
            blocks = math.ceil(size / block)
            launches = []
            for k in range(blocks):
                sizes = [u32(size), u32(block), u32(k)]
                launches.append(Launch(f"factorDiagonalBlock{letter}_float", [output.device, info.device, *sizes], (BATCH * 256, 1, 1), (256, 1, 1)))
                rest = blocks - k - 1
                if rest:
                    unused = u32(0)
                    shared = [output.device, unused, *sizes]
                    launches.append(Launch(f"applyTRSM{letter}_float", shared, (BATCH * 256, rest, 1), (256, 1, 1)))
                    pairs = rest * (rest + 1) // 2
                    launches.append(Launch(f"applySYRK{letter}_float", shared, (BATCH * 16, pairs * 16, 1), (16, 16, 1)))

            def factor(output=output) -> torch.Tensor:
                values = output.read()
                return values.tril() if upper else values.triu()

            checks = [Check(factor, want, Tolerance(2e-5, 2e-5)), Check(info, torch.zeros(BATCH, dtype=torch.int32))]
            yield Case(launches, checks, f"{size} rows")

    return Family(f"cholesky {'upper' if upper else 'lower'}", "linear algebra", cases)


def _small_inverse(library: Library) -> Iterator[Case]:
    for size in range(1, 5):
        name = f"luInvSmall_{size}"
        if not library.has(name):
            continue
        a = draw(torch.float32, (50, size, size), SMALL) + 3 * torch.eye(size)
        output, info = Output(a.shape, torch.float32), Output((50,), torch.int32, initial=torch.zeros(50, dtype=torch.int32))
        params = i64(*a.stride(), *a.stride())
        launch = Launch(name, [to_device(a), output.device, info.device, params], (50,))
        want = torch.linalg.inv(a.double()).to(torch.float32)
        yield Case([launch], [Check(output, want, Tolerance(1e-4, 1e-5)), Check(info, torch.zeros(50, dtype=torch.int32))])


def _geqrf(library: Library) -> Iterator[Case]:
    for rows, columns in ((20, 13), (13, 20), (40, 40)):
        a = draw(torch.float32, (BATCH, rows, columns), SMALL)
        rank = min(rows, columns)
        want, want_tau = torch.geqrf(a.double())
        output, tau = Output(a.shape, torch.float32, initial=a), Output((BATCH, rank), torch.float32)
        work = Output((BATCH, rows), torch.float32)
        params = pack("i48I", 1, *padded(a.shape, 16), *padded(a.stride(), 16), *padded((rank, 1), 16))
        launch = Launch("geqrf_float", [output.device, tau.device, params, work.device], (BATCH * 256,), (256,))
        tolerance = Tolerance(2e-4, 2e-5)
        yield Case([launch], [Check(output, want.to(torch.float32), tolerance), Check(tau, want_tau.to(torch.float32), tolerance)], f"{rows}x{columns}")


def _triangular(is_general: bool) -> Callable[[Library], Iterator[Case]]:
    def cases(library: Library) -> Iterator[Case]:
        # The special kernels work on whole tiles of columns.
        columns = 77 if is_general else 96
        for size in (16, 32, 64):
            name = f"triangular_solve_small_{'general_' if is_general else ''}{size}"
            if not library.has(name):
                continue
            # The special kernels are for lower triangles with ones on the diagonal, as factorizations have them.
            for flags in itertools.product((False, True), repeat=3) if is_general else [(False, False, True)]:
                upper, transposed, unit = flags
                b_columns, x_columns = (bool(flag) for flag in torch.randint(0, 2, (2,)))
                a = draw(torch.float32, (BATCH, size, size), SMALL) / size + 2 * torch.eye(size)
                b = draw(torch.float32, (BATCH, size, columns), SMALL)
                side = a.double().mT if transposed else a.double()
                want = torch.linalg.solve_triangular(side, b.double(), upper=upper != transposed, unitriangular=unit).to(torch.float32)
                want = want.mT.contiguous() if x_columns else want
                output = Output(tuple(want.shape), torch.float32)
                params = pack("3I6?2x", BATCH, size, columns, upper, transposed, False, unit, b_columns, x_columns)
                arguments = [to_device(a), to_device(b.mT.contiguous() if b_columns else b), output.device, params]
                group = 4 * size
                yield Case([Launch(name, arguments, (BATCH * group,), (group,))], [Check(output, want, Tolerance(2e-6, 2e-5))], f"{size} {flags}")

    return cases


def _triangular_of_any_size(library: Library) -> Iterator[Case]:
    if not library.has("triangular_solve_float"):
        return
    for upper, transposed, unit in itertools.product((False, True), repeat=3):
        size, columns = 45, 7
        a = draw(torch.float32, (BATCH, size, size), SMALL) / size + 2 * torch.eye(size)
        b = draw(torch.float32, (BATCH, size, columns), SMALL)
        side = a.double().mT if transposed else a.double()
        want = torch.linalg.solve_triangular(side, b.double(), upper=upper != transposed, unitriangular=unit).to(torch.float32)
        output = Output(tuple(want.shape), torch.float32)
        params = pack("3I6?2x", BATCH, size, columns, upper, transposed, False, unit, False, False)
        # A threadgroup for each right-hand side; it holds the solution, and a sum of each SIMD-group.
        memory = {0: size * 4, 1: 32 * 4}
        launch = Launch("triangular_solve_float", [to_device(a), to_device(b), output.device, params], (BATCH * columns * 128,), (128,), memory)
        yield Case([launch], [Check(output, want, Tolerance(2e-6, 2e-5))], f"{upper} {transposed} {unit}")


FAMILIES = [
    _cholesky(False),
    _cholesky(True),
    Family("inverse of small matrices", "linear algebra", _small_inverse),
    Family("geqrf", "linear algebra", _geqrf),
    Family("triangular solve, unit lower", "linear algebra", _triangular(False)),
    Family("triangular solve", "linear algebra", _triangular(True)),
    Family("triangular solve of any size", "linear algebra", _triangular_of_any_size),
]
