"""Ctrl-C, exceptions inside callbacks and threads, memory that runs out in the middle of an op: the state stays right and the next op works."""

import concurrent.futures
import gc
import signal

import pytest
import snippets
import torch

_COUNT = "kernel void count(device float* x, uint i [[thread_position_in_grid]]) { for (int n = 0; n < 20000; n++) x[i] += 1; }"

#: Interrupts the main thread while kernels are queued, while ops run and while it waits.
_INTERRUPTED = f"""
    import os, signal, threading, time, torch
    lib = torch.mps.compile_shader("{_COUNT}")
    x = torch.zeros(100000, device="mps")
    interrupted = 0
    for delay in (0.02, 0.05, 0.1, 0.2):
        timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while True:
                lib.count(x, threads=64)
                y = torch.randn(64, 64, device="mps")
                (y @ y).sum().item()
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
        torch.mps.synchronize()
    print(interrupted, torch.ones(4, device="mps").sum().item())
    x.zero_()
    lib.count(x, threads=3)
    print(x[:4].tolist())
    leaf = torch.arange(3.0, device="mps", requires_grad=True)
    (leaf * leaf).sum().backward()
    print(leaf.grad.tolist())
"""


def test_ctrl_c_while_kernels_and_ops_run():
    lines = snippets.output(_INTERRUPTED).splitlines()
    assert lines == ["4 4.0", "[20000.0, 20000.0, 20000.0, 0.0]", "[0.0, 2.0, 4.0]"]


def test_ctrl_c_while_another_process_compiles():
    code = """
        import os, signal, threading, torch
        source = "kernel void f(device float* x) { x[0] = " + " + ".join(f"float({n})" for n in range(40)) + "; }"
        threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            for number in range(1000):
                torch.mps.compile_shader(source + f"// {number}")
        except KeyboardInterrupt:
            print("interrupted")
        x = torch.zeros(1, device="mps")
        torch.mps.compile_shader(source).f(x)
        print(x.item())
    """
    assert snippets.output(code).splitlines() == ["interrupted", "780.0"]


def test_a_signal_handler_may_use_the_device():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(torch.ones(3, device="mps").sum().item()))
    try:
        x = torch.zeros(100, device="mps")
        for _ in range(5):
            signal.raise_signal(signal.SIGUSR1)
            x += 1
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [3.0] * 5 and x.sum().item() == 500


class _Failure(Exception):
    pass


def _fail(*_):
    raise _Failure


def _goes_on():
    leaf = torch.arange(4.0, device="mps", requires_grad=True)
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [0, 2, 4, 6]


def test_an_exception_in_a_hook_of_a_tensor():
    leaf = torch.ones(3, device="mps", requires_grad=True)
    hook = leaf.register_hook(_fail)
    with pytest.raises(_Failure):
        (leaf * 2).sum().backward()
    hook.remove()
    (leaf * 2).sum().backward()
    assert leaf.grad.tolist() == [2.0] * 3
    _goes_on()


def test_an_exception_in_a_function_of_the_user():
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            raise _Failure

    with pytest.raises(_Failure):
        Broken.apply(torch.ones(3, device="mps", requires_grad=True)).sum().backward()
    _goes_on()


def test_an_exception_in_modes_and_blocks():
    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise _Failure

    with pytest.raises(_Failure), Mode():
        torch.ones(3, device="mps")
    stream = torch.mps.Stream()
    with pytest.raises(_Failure), torch.mps.stream(stream):
        torch.ones(3, device="mps").mul_(2)
        raise _Failure
    assert torch.mps.current_stream() == torch.mps.default_stream()
    state = torch.mps.get_rng_state()
    with pytest.raises(_Failure), torch.random.fork_rng(device_type="mps"):
        torch.rand(3, device="mps")
        raise _Failure
    assert torch.equal(torch.mps.get_rng_state(), state)
    _goes_on()


def test_an_exception_in_an_observer_of_the_doctor(monkeypatch):
    from openmps import doctor

    monkeypatch.setattr(doctor, "_calling_place", _fail)
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    with doctor.observe():
        assert torch.mode(torch.ones(3, device="mps")).values.item() == 1
    _goes_on()


def test_threads_that_end_with_exceptions():
    def work(index):
        x = torch.full((1000,), float(index), device="mps")
        if index % 3 == 0:
            raise _Failure
        return x.sum().item()

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(work, index) for index in range(24)]
    for index, future in enumerate(futures):
        if index % 3 == 0:
            assert isinstance(future.exception(), _Failure)
        else:
            assert future.result() == 1000.0 * index
    _goes_on()


_SMALL = {"OPENMPS_RECOMMENDED_MAX_MEMORY": str(64 << 20), "PYTORCH_MPS_HIGH_WATERMARK_RATIO": "1.0", "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0.8"}

#: Each takes more than there is while it runs, although its operands fit.
_OUT_OF_MEMORY = """
    import gc, torch
    x = torch.ones(9 << 20, device="mps", requires_grad=True)
    keep = torch.arange(1000, device="mps")
    state = torch.mps.get_rng_state()

    def tell(name, call):
        before = torch.mps.current_allocated_memory()
        try:
            call()
            print(name, "fits")
        except RuntimeError as error:
            text = str(error)
            print(name, type(error).__name__, text.startswith("MPS backend out of memory (MPS allocated: "))
            del error
        gc.collect()
        print(torch.mps.current_allocated_memory() == before, keep.sum().item(), torch.ones(4, device="mps").sum().item())

    tell("binary", lambda: x.detach() + x.detach())
    tell("sort", lambda: x.detach().sort())
    tell("cat", lambda: torch.cat([x.detach(), x.detach()]))
    tell("list", lambda: torch._foreach_add([x.detach()], 1.0))
    tell("backward", lambda: (x * 1.0).sum().backward())
    tell("copy", lambda: torch.ones(9 << 20).to("mps"))
    tell("random", lambda: torch.rand(9 << 20, device="mps"))
    print(x.grad is None, torch.equal(torch.mps.get_rng_state(), state), x.detach().sum().item() == 9 << 20)
    del x
    print(torch.ones(6 << 20, device="mps").add(1).sum().item() == 12 << 20)
"""


def test_memory_that_runs_out_in_the_middle_of_an_op():
    lines = snippets.output(_OUT_OF_MEMORY, **_SMALL).splitlines()
    names = ["binary", "sort", "cat", "list", "backward", "copy", "random"]
    assert lines[: 2 * len(names) : 2] == [f"{name} RuntimeError True" for name in names]
    assert set(lines[1 : 2 * len(names) : 2]) == {"True 499500 4.0"}
    assert lines[2 * len(names) :] == ["True True True", "True"]


def test_memory_that_runs_out_for_a_kernel_call():
    code = """
        import torch
        lib = torch.mps.compile_shader("kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }")
        x = torch.zeros(8 << 20, device="mps")
        for _ in range(3):
            lib.f(x)
            try:
                torch.empty(12 << 20, device="mps")
            except RuntimeError as error:
                print(str(error)[:25])
        print(x.sum().item() == 24 << 20)
    """
    assert snippets.output(code, **_SMALL).splitlines() == ["MPS backend out of memory"] * 3 + ["True"]


def test_collected_cycles_give_memory_back():
    torch.mps.empty_cache()
    gc.collect()
    before = torch.mps.current_allocated_memory()
    for _ in range(3):
        holder = [torch.ones(1 << 20, device="mps")]
        holder.append(holder)
        del holder
    gc.collect()
    assert torch.mps.current_allocated_memory() == before
