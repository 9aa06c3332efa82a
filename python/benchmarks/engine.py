"""How fast the engine runs kernels: against C, PoCL, ATen, and the machine's own limits.

Each kernel is written in Metal, and the same work is done by a C function (clang -O3 -march=native, with libmvec; once more with -ffast-math), by the
kernel in OpenCL C on PoCL where that is installed (Debian package pocl-opencl-icd) and by ATen's op on the CPU where there is one. All are measured in turn.
A figure is how many times faster the engine is than the reference: the median of the pairs, and the quartiles. Results are
compared before anything is measured. Kernels are compiled with fast math, as PoCL's kernels are; ATen's ops are not, and
`--safe-math` is what `torch.mps.compile_shader` does without PYTORCH_MPS_FAST_MATH=1.

Usage: engine.py [--engine scalar|vector] [--safe-math] [--all-cores] [--large] [--samples N] [--library] [KERNEL...]
`--large` takes working sets beyond the caches, `--library` measures kernels of PyTorch's own Metal library against ATen's ops.
"""

import argparse
import math
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor

SAMPLE_SECONDS = 0.004
# A sample of a kernel that takes longer is one call, and there are fewer of them.
SLOW_SECONDS = 0.1
SLOW_SAMPLES = 3
# OpenMP's threads keep their cores busy for a while after an op; the next function shall find all cores idle.
PAUSE_SECONDS = 0.02
# Launches of a kernel before it is measured under `auto`: it becomes hot, and its vector code is made in the background.
WARM_SECONDS = 1.5


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="engine.py")
    parser.add_argument("kernel", nargs="*")
    parser.add_argument("--engine", choices=["auto", "scalar", "vector"], default="auto")
    parser.add_argument("--safe-math", action="store_true")
    parser.add_argument("--all-cores", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--library", action="store_true")
    parser.add_argument("--samples", type=int, default=9)
    return parser.parse_args()


class Machine:
    """The limits of the machine: calls that reach them, to be measured beside a kernel, since neighbours on the host move them from second to second."""

    def __init__(self, library, pool, threads: int):
        import ctypes

        import torch
        from kernels.host import FMA_ACCUMULATORS

        count = 1 << 23
        a, b, y = torch.rand(count), torch.rand(count), torch.zeros(count)
        library.limit_triad.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2
        library.limit_fma.argtypes = [ctypes.c_void_p, ctypes.c_long]
        bounds = [count * part // threads for part in range(threads + 1)]
        ranges = list(zip(bounds[:-1], bounds[1:], strict=True))
        plain = [tensor.data_ptr() for tensor in (y, a, b)]
        # The calls have addresses only.
        self._tensors = (a, b, y)
        turns = 1 << 16
        outs = [torch.zeros(FMA_ACCUMULATORS) for _ in range(threads)]

        def triad():
            list(pool.map(lambda part: library.limit_triad(*plain, *part), ranges))

        def fma():
            list(pool.map(lambda out: library.limit_fma(out.data_ptr(), turns), outs))

        #: The triad and multiply-adds in registers, and what a call of each moves (bytes) and computes (operations).
        self.calls = {"bandwidth": triad, "arithmetic": fma}
        self.work = {"bandwidth": 12 * count, "arithmetic": 2 * FMA_ACCUMULATORS * turns * threads}

    def describe(self) -> str:
        """Both limits now, the best of some calls."""
        from timing import seconds_per_call

        best = {name: self.work[name] / min(seconds_per_call(call, 1) for _ in range(9)) for name, call in self.calls.items()}
        return f"limits: {best['bandwidth'] / 1e9:.1f} GB/s, {best['arithmetic'] / 1e9:.0f} Gflop/s"

    def share(self, case, times: dict[str, list[float]]) -> str:
        """The part of the nearer limit that the case reaches: the median of the pairs, with the quartiles."""
        shares = [
            ratio([own / work for own in times["ours"]], [limit / self.work[name] for limit in times[name]])
            for name, work in case_work(case).items()
        ]
        return max(shares)[1] if shares else f"{'-':>7}"


def case_work(case) -> dict[str, float]:
    """What a call of the case moves and computes, by the limit that it counts against."""
    return {name: work for name, work in (("bandwidth", case.bytes), ("arithmetic", case.flops)) if work}


def on_device(case, kernel):
    """The case's arguments on the device, and a call that runs the kernel and waits."""
    import torch

    given = [argument.to("mps") if isinstance(argument, torch.Tensor) else argument for argument in case.arguments]
    threads, group = list(case.threads), list(case.group)

    def run() -> None:
        kernel(*given, threads=threads, group_size=group)
        torch.mps.synchronize()

    return given, run


def measured(functions: dict, samples: int) -> dict[str, list[float]]:
    """Seconds per call of each, in turn."""
    from timing import calls_for, seconds_per_call

    calls = {name: calls_for(function, SAMPLE_SECONDS) for name, function in functions.items()}
    if max(seconds_per_call(function, 1) for function in functions.values()) > SLOW_SECONDS:
        samples = min(samples, SLOW_SAMPLES)
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(samples):
        for name, function in functions.items():
            time.sleep(PAUSE_SECONDS)
            times[name].append(seconds_per_call(function, calls[name]))
    return times


def ratio(ours: list[float], theirs: list[float]) -> tuple[float, str]:
    """How many times faster ours is: the median of the pairs, and its text with the quartiles."""
    pairs = sorted(b / a for a, b in zip(ours, theirs, strict=True))
    middle = statistics.median(pairs)
    low, high = pairs[len(pairs) // 4], pairs[-1 - len(pairs) // 4]
    return middle, f"{middle:7.2f} ({low:.2f}-{high:.2f})"


def checked(case, name: str, results: list, expected) -> None:
    """Ends the program when an output is wrong."""
    import torch

    actual = results[case.outputs[0]]
    actual = actual.cpu() if actual.device.type != "cpu" else actual
    size = max(1.0, float(expected.float().abs().max()))
    error = (actual.reshape(-1).double() - expected.reshape(-1).double()).abs()
    # Of chaotic kernels a few values may differ: the mean error counts where the tolerance is that of a share.
    worst = float(error.mean()) if case.name == "mandelbrot" else float(error.max())
    if not math.isfinite(worst) or worst > case.tolerance * size:
        index = int(error.argmax())
        sys.exit(f"{case.name}: {name} is wrong by {worst}: {actual.reshape(-1)[index]} at {index}, expected {expected.reshape(-1)[index]}")
    torch.mps.synchronize()


def fresh(case) -> list:
    """The arguments with outputs of their own."""
    return [argument.clone() if index in case.outputs else argument for index, argument in enumerate(case.arguments)]


def run_case(case, kernel, machine: Machine, *, libraries, opencl, pool, threads: int, samples: int) -> dict[str, list[float]]:
    """Checks and measures one kernel, its references and the machine's limits."""
    import torch
    from kernels.host import run_c

    given, run = on_device(case, kernel)
    functions, results = {"ours": run}, {}
    for name, library in libraries.items() if case.c else ():
        own = fresh(case)
        functions[name], results[name] = run_c(library, case, own, min(threads, case.units)), own
    if opencl is not None:
        own = fresh(case)
        functions["PoCL"], results["PoCL"] = opencl.runner(case, own), own
    for function in functions.values():
        function()
    expected = case.expected() if case.expected else results["C"][case.outputs[0]]
    for name, own in {**results, "the engine": given}.items():
        checked(case, name, own, expected.clone())
    if case.aten is not None:
        functions["ATen"] = case.aten
    functions |= {name: machine.calls[name] for name in case_work(case)}
    end = time.perf_counter() + (WARM_SECONDS if os.environ.get("OPENMPS_ENGINE", "auto") == "auto" else 0)
    while time.perf_counter() < end:
        run()
    torch.mps.synchronize()
    return measured(functions, samples)


def table(cases: list, machine: Machine, *, compiled, libraries, opencl, pool, threads: int, samples: int) -> dict[str, list[float]]:
    """Prints a line a kernel; returns the ratios by reference."""
    ratios: dict[str, list[float]] = {}
    print(f"{'kernel':24}{'us':>10}   {'of limit':22}{'times faster than C':22}{'than fast C':22}{'than PoCL':22}{'than ATen':22}")
    for case in cases:
        kernel = getattr(compiled(case), case.name)
        times = run_case(case, kernel, machine, libraries=libraries, opencl=opencl, pool=pool, threads=threads, samples=samples)
        columns = [f"{machine.share(case, times):22}"]
        for reference in ("C", "fast C", "PoCL", "ATen"):
            if reference in times:
                value, text = ratio(times["ours"], times[reference])
                ratios.setdefault(reference, []).append(value)
            columns.append(f"{text if reference in times else '-':22}")
        ours = statistics.median(times["ours"]) * 1e6
        print(f"{case.name:24}{ours:10.1f}   {''.join(columns)}{case.note}".rstrip(), flush=True)
    return ratios


def dispatch_line(samples: int) -> str:
    """The time of an empty kernel, with its wait."""
    import torch
    from timing import absolute, calls_for, seconds_per_call

    kernel = torch.mps.compile_shader("kernel void none() {}").none

    def run() -> None:
        kernel(threads=1)
        torch.mps.synchronize()

    calls = calls_for(run, SAMPLE_SECONDS)
    return absolute("empty kernel, with its wait", [seconds_per_call(run, calls) for _ in range(samples)], unit="us", scale=1e6, limit="<= 5 us")


def main() -> None:
    """The program."""
    options = arguments()
    threads = len(os.sched_getaffinity(0)) if options.all_cores else 1
    # Read when libraries load: ours and ATen's threads, PoCL's, and the engine.
    os.environ |= {"OMP_NUM_THREADS": str(threads), "POCL_MAX_PTHREAD_COUNT": str(threads), "POCL_CPU_MAX_CU_COUNT": str(threads)}
    if options.engine != "auto":
        os.environ["OPENMPS_ENGINE"] = options.engine
    os.environ["PYTORCH_MPS_FAST_MATH"] = "0" if options.safe_math else "1"
    import torch
    from kernels import elementwise, host, matrices, rows, torch_library
    from timing import machine as machine_line

    torch.manual_seed(1)
    print(machine_line())
    if options.library:
        torch_library.run(options.kernel, measured, ratio, options.samples)
        return
    scale = 4 if options.large else 2
    cases = [case for theme in (elementwise, rows, matrices) for case in theme.cases(scale) if not options.kernel or case.name in options.kernel]
    unknown = set(options.kernel) - {case.name for case in cases}
    if unknown:
        sys.exit(f"no such kernel: {', '.join(sorted(unknown))}")
    libraries, opencl = host.compile_c(cases), host.pocl()
    with ThreadPoolExecutor(threads) as pool:
        machine = Machine(libraries["C"], pool, threads)
        print(f"# engine {options.engine}, {'safe' if options.safe_math else 'fast'} math, {threads} threads, {machine.describe()}", end="")
        print("" if opencl else ", PoCL is not installed")
        ratios = table(
            cases, machine, compiled=lambda case: torch.mps.compile_shader(case.metal()), libraries=libraries, opencl=opencl, pool=pool,
            threads=threads, samples=options.samples,
        )
    for reference, values in ratios.items():
        print(f"geometric mean over {len(values)} kernels: {statistics.geometric_mean(values):.2f} times faster than {reference}, least {min(values):.2f}")
    print(dispatch_line(options.samples))


if __name__ == "__main__":
    main()
