"""A million mixed ops in one process: nothing may be left of them in the allocator's counters or in resident memory.

Usage: python soak.py [ops]

Ops are drawn at random: arithmetic, products, views, copies, indexing, sparse and random ops, training steps, kernels from
source, streams, events, foreign memory, and calls that raise. The seed is printed. After a tenth of them, when caches are
full, counters are taken; the program fails if the same counters at the end show more.
"""

import gc
import os
import pathlib
import pickle
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

#: Ops a run has, unless it is told otherwise.
OPS = 1_000_000

#: Bytes that resident memory may grow by in a run: what the C library's heap and Python's keep of blocks cut up at random.
RESIDENT_GROWTH_MAX = 16 << 20

SOURCE = """
kernel void scale(device float* x [[buffer(0)]], constant float& k [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] *= k; }
kernel void out_of_range(device int* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = int(i); }
"""


@dataclass(frozen=True)
class Counters:
    """What a process holds."""

    allocated: int
    driver: int
    resident: int
    files: int
    threads: int

    @staticmethod
    def now() -> "Counters":
        """After everything that can be freed was freed."""
        gc.collect()
        torch.mps.synchronize()
        torch.mps.empty_cache()
        resident = int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        files, threads = (len(os.listdir(f"/proc/self/{folder}")) for folder in ("fd", "task"))
        return Counters(torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory(), resident, files, threads)

    def growth_since(self, before: "Counters") -> list[str]:
        """What is more than it was."""
        limits = {"allocated": 0, "driver": 0, "resident": RESIDENT_GROWTH_MAX, "files": 0, "threads": 0}
        grown = {name: getattr(self, name) - getattr(before, name) for name in limits}
        return [f"{name} grew by {grown[name]}" for name, limit in limits.items() if grown[name] > limit]


class Work:
    """Calls by name, each with the number of ops that it counts for."""

    def __init__(self) -> None:
        self.x, self.y = torch.randn(17, 24, device="mps"), torch.randn(17, 24, device="mps")
        self.index = torch.randint(0, 17, (9,), device="mps")
        self.sparse = torch.eye(6, device="mps").to_sparse()
        self.kernels = torch.mps.compile_shader(SOURCE)
        self.stream = torch.Stream("mps")
        self.generator = torch.Generator("mps")
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 3)
        ).to("mps")
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.images, self.labels = torch.randn(4, 2, 6, 6, device="mps"), torch.tensor([0, 1, 2, 0], device="mps")

    def arithmetic(self) -> int:
        """Unboxed, boxed, in place, with `out`."""
        z = self.x + self.y * 2.0
        z.clamp_(-1, 1).atan()
        torch.sub(self.x, 1, out=torch.empty(0, device="mps"))
        return 6

    def products(self) -> int:
        """Products and reductions, also in halves."""
        (self.x @ self.y.t()).softmax(-1).sum().item()
        self.x.half().mm(self.y.half().t())
        with torch.autocast("mps"):
            F.linear(self.x, self.y)
        return 12

    def sizes(self) -> int:
        """Allocations of random size: pools, heaps, and large blocks now and then."""
        torch.empty(random.randrange(1, 1 << random.choice([6, 10, 16, 22])), device="mps").fill_(1.0)
        return 2

    def views(self) -> int:
        """Views keep their storage, copies do not."""
        z = self.x.view(24, 17).t()[2:5].unsqueeze(0).expand(2, 3, 24)
        z.contiguous().unbind(0)[0].clone().as_strided((2, 2), (1, 2))
        return 9

    def copies(self) -> int:
        """There and back, pinned and not, converting."""
        host = self.x.to("cpu", torch.float64)
        host.float().pin_memory().to("mps", non_blocking=True).copy_(self.y)
        self.x.tolist()
        return 6

    def indexing(self) -> int:
        """Gathers, scatters, sorts; sizes that depend on the data."""
        rows = self.x[self.index]
        rows[rows > 0] = 0
        rows.sort(-1)
        self.index.unique().nonzero()
        torch.cat([rows, self.x]).index_add_(0, self.index, rows)
        return 10

    def sparse_tensors(self) -> int:
        """COO tensors."""
        (self.sparse + self.sparse).coalesce().to_dense()
        torch.sparse.mm(self.sparse, self.x[:6])
        return 5

    def random_numbers(self) -> int:
        """The default generator, one of our own, saved state."""
        torch.rand(5, device="mps", generator=self.generator)
        torch.randperm(9, device="mps")
        torch.mps.set_rng_state(torch.mps.get_rng_state())
        torch.multinomial(torch.ones(4, device="mps"), 2).bernoulli(0.5)
        return 7

    def training(self) -> int:
        """A step of a small network."""
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(self.images), self.labels).backward()
        self.optimizer.step()
        return 30

    def gradients(self) -> int:
        """Graphs that are kept, differentiated twice, and transforms."""
        leaf = self.x.detach().requires_grad_()
        [gradient] = torch.autograd.grad(leaf.tanh().sum(), leaf, create_graph=True)
        gradient.square().sum().backward()
        torch.func.vmap(torch.func.grad(lambda row: row.sin().sum()))(self.x)
        return 20

    def launches(self) -> int:
        """Kernels from source, now and then a library that nobody has seen."""
        self.kernels.scale(self.x.clone(), 0.5)
        if random.randrange(2000) == 0:
            torch.mps.compile_shader(SOURCE + f"// {random.random()}").scale(self.x.clone(), 0.5)
        return 2

    def streams(self) -> int:
        """Work on another stream, waits between streams, times."""
        first, last = torch.mps.event.Event(enable_timing=True), torch.mps.event.Event(enable_timing=True)
        first.record()
        with self.stream:
            self.kernels.scale(self.y.clone(), 1.0)
        torch.accelerator.current_stream().wait_stream(self.stream)
        last.record()
        last.synchronize()
        first.elapsed_time(last)
        return 6

    def exchange(self) -> int:
        """DLPack, pickles, copies of modules' state."""
        torch.from_dlpack(self.x).add(1)
        pickle.loads(pickle.dumps(self.index))
        self.model.state_dict()
        torch.frombuffer(bytearray(16), dtype=torch.float32).to("mps")
        return 6

    def errors(self) -> int:
        """Calls that raise, in Python's checks, in the device's, in the CPU's kernels and in launches."""
        wrong: list[Callable[[], object]] = [
            lambda: self.x @ self.x,
            lambda: self.x + self.y.cpu(),
            lambda: self.x.double(),
            lambda: torch.mode(self.x),
            lambda: self.kernels.scale(),
            lambda: torch.empty(1 << 55, device="mps"),
            lambda: torch.mps.compile_shader("kernel void"[: random.randrange(8, 11)]) if random.randrange(500) == 0 else self.x @ self.x,
        ]
        try:
            random.choice(wrong)()
        except (RuntimeError, NotImplementedError, TypeError, SyntaxError):
            return 1
        raise AssertionError("a wrong call did not raise")


#: How often each kind of call is drawn.
WEIGHTS = {
    "arithmetic": 30, "products": 12, "sizes": 12, "views": 15, "copies": 8, "indexing": 6, "sparse_tensors": 3, "random_numbers": 5,
    "training": 3, "gradients": 3, "launches": 10, "streams": 3, "exchange": 3, "errors": 4,
}  # fmt: skip


def run(work: Work, ops: int) -> None:
    """Draws calls until they count for so many ops."""
    calls = [getattr(work, name) for name in WEIGHTS]
    weights = list(WEIGHTS.values())
    done = 0
    while done < ops:
        for call in random.choices(calls, weights, k=50):
            done += call()


def soak(ops: int) -> tuple[Counters, Counters]:
    """Counters after a tenth of the ops and after all of them."""
    work = Work()
    for name in WEIGHTS:
        getattr(work, name)()
    run(work, ops // 10)
    before = Counters.now()
    run(work, ops - ops // 10)
    return before, Counters.now()


def main() -> int:
    """The program."""
    ops = int(sys.argv[1]) if len(sys.argv) > 1 else OPS
    seed = random.SystemRandom().randrange(2**31)
    print(f"{ops} ops, seed {seed}")
    random.seed(seed)
    torch.manual_seed(seed)
    # Small ops do not gain from OpenMP's threads, which turn in circles while they wait.
    torch.set_num_threads(1)
    start = time.monotonic()
    before, after = soak(ops)
    print(f"after a tenth: {before}\nat the end:    {after}\n{time.monotonic() - start:.0f} s")
    grown = after.growth_since(before)
    print(*grown or ["no leak"], sep="\n")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
