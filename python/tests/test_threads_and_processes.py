"""Threads, forked and spawned processes, DataLoader workers."""

import concurrent.futures

import pytest
import torch

import snippets


def test_many_threads_compute():
    def work(index):
        x = torch.full((500,), float(index), device="mps")
        for _ in range(20):
            x = x + 1
        return x.sum().item()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(32))) == [500 * (index + 20) for index in range(32)]


def test_threads_with_streams_and_gradients():
    def work(index):
        stream = torch.mps.Stream()
        with torch.mps.stream(stream):
            x = torch.full((64, 64), 0.5, device="mps", requires_grad=True)
            (x @ x).sum().backward()
            stream.synchronize()
            return x.grad.sum().item()

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(24))) == [2 * 64**3 * 0.5] * 24


def test_threads_share_a_kernel():
    lib = torch.mps.compile_shader(
        "kernel void add(device float* x, constant float& y, uint i [[thread_position_in_grid]]) { x[i] += y; }"
    )

    def work(index):
        x = torch.zeros(1000, device="mps")
        for _ in range(10):
            lib.add(x, float(index))
        return x.sum().item()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == [10000.0 * index for index in range(16)]


def test_fork_marks_the_child():
    code = """
        import os, torch
        torch.mps.is_available()
        assert not torch.mps._is_in_bad_fork()
        child = os.fork()
        if child == 0:
            torch.manual_seed(1)  # Skips the device.
            good = torch.mps._is_in_bad_fork() and torch.rand(2).shape == (2,)
            os._exit(0 if good else 1)
        print(os.waitpid(child, 0)[1], torch.mps._is_in_bad_fork())
    """
    assert snippets.output(code) == "0 False"


def test_child_of_a_busy_parent_exits_normally():
    code = """
        import os, sys, torch
        x = torch.ones(1000, device="mps", requires_grad=True)
        x.sum().backward()
        torch.mps.synchronize()
        child = os.fork()
        if child == 0:
            sys.exit(7)  # Runs the exit handlers.
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert snippets.output(code) == "7"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_data_loader_workers(method, tmp_path):
    code = """
        import sys, torch
        from torch.utils.data import DataLoader, TensorDataset
        if __name__ == "__main__":
            torch.ones(1, device="mps")
            data = TensorDataset(torch.arange(64.0).view(32, 2))
            total = 0.0
            for (batch,) in DataLoader(data, 4, num_workers=2, multiprocessing_context=sys.argv[1]):
                total += batch.to("mps", non_blocking=True).sum().item()
            print(total)
    """
    assert snippets.output_fresh(code, method) == "2016.0"


def test_data_loader_does_not_pin():
    data = torch.utils.data.TensorDataset(torch.randn(8, 2))
    text = "'pin_memory' argument is set as true but not supported on MPS now"
    with pytest.warns(UserWarning, match=text):
        for (batch,) in torch.utils.data.DataLoader(data, 4, pin_memory=True):
            assert not batch.is_pinned()


def test_forked_before_first_use():
    code = """
        import torch, torch.multiprocessing as processes
        def work(queue):
            queue.put(torch.ones(4, device="mps").sum().item())
        if __name__ == "__main__":
            context = processes.get_context("fork")
            queue = context.SimpleQueue()
            process = context.Process(target=work, args=(queue,))
            process.start(); process.join()
            print(process.exitcode, queue.get())
    """
    assert snippets.output(code) == "0 4.0"


def test_kernels_use_as_many_threads_as_ops():
    code = """
        import pathlib, time, torch
        lib = torch.mps.compile_shader(
            "kernel void work(device float* x, uint i [[thread_position_in_grid]]) "
            "{ for (uint n = 0; n < 1000; n++) x[i] = x[i] * 0.5f + 1.0f; }"
        )
        def workers():
            x = torch.zeros(100000, device="mps")
            lib.work(x)
            assert torch.all(x == 2).item()
            names = [path.read_text().strip() for path in pathlib.Path("/proc/self/task").glob("*/comm")]
            return sorted(name for name in names if name.startswith("openmps-cpu-"))
        for count in (1, 3):
            torch.set_num_threads(count)
            # A worker names itself when it first runs, which may be after the launch that started it.
            while len(found := workers()) < count - 1:
                time.sleep(0.01)
            print(found)
    """
    lines = ["[]", "['openmps-cpu-1', 'openmps-cpu-2']"]
    assert snippets.output_fresh(code, OMP_NUM_THREADS="3").splitlines() == lines


def test_idle_workers_leave_the_cpus_to_ops():
    """After a launch, workers sleep: what they take while ATen works is a small part of the time."""
    code = """
        import pathlib, time, torch
        torch.set_num_threads(3)
        lib = torch.mps.compile_shader(
            "kernel void work(device float* x, uint i [[thread_position_in_grid]]) "
            "{ for (uint n = 0; n < 1000; n++) x[i] = x[i] * 0.5f + 1.0f; }"
        )
        def workers():
            tasks = pathlib.Path("/proc/self/task").iterdir()
            return [task for task in tasks if (task / "comm").read_text().startswith("openmps-cpu-")]
        def spent():
            return sum(int((task / "schedstat").read_text().split()[0]) for task in workers()) / 1e9
        x = torch.zeros(100000, device="mps")
        lib.work(x)
        torch.mps.synchronize()
        # A worker names itself when it first runs, which may be after the launch that started it.
        while len(workers()) < 2:
            time.sleep(0.01)
        a = torch.rand(300, 300, device="mps")
        before, start = spent(), time.perf_counter()
        while time.perf_counter() < start + 1:
            torch.mm(a, a)
        print(spent() - before < 0.1)
    """
    assert snippets.output_fresh(code, OMP_NUM_THREADS="3") == "True"


#: Runs a kernel until its vector code is asked for, with a hundred thousand threads a launch.
_HOT = """
        import os, sys, torch
        lib = torch.mps.compile_shader('''kernel void sum(device float* out, constant uint& turns, uint i [[thread_position_in_grid]]) {
          float total = 0;
          for (uint turn = 0; turn < turns; turn++) total = total * 0.999f + float(i + turn) / 3;
          out[i] = total;
        }''')
        out = torch.zeros(100_000, device="mps")
        def launch():
            lib.sum(out, 300, threads=100_000)
            return out.cpu()
        first = launch()
        same = all(launch().equal(first) for _ in range(20))
"""


def test_child_of_a_parent_that_compiles_a_hot_kernel_exits_normally(tmp_path):
    code = (
        _HOT
        + """
        child = os.fork()
        if child == 0:
            sys.exit(7)  # Runs the exit handlers.
        same = same and all(launch().equal(first) for _ in range(40))
        print(same, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    )
    assert snippets.output(code, OPENMPS_ENGINE="auto", OPENMPS_CACHE_DIR=str(tmp_path)) == "True 7"


def test_program_ends_though_a_hot_kernel_is_compiled(tmp_path):
    code = (
        _HOT
        + """
        print(same)
    """
    )
    assert snippets.output(code, OPENMPS_ENGINE="auto", OPENMPS_CACHE_DIR=str(tmp_path)) == "True"
