"""The references: C functions compiled here and now, and PoCL through OpenCL's C interface where it is installed."""

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

from kernels.case import C_HEADER, Case

# Vectors of 512 bits where the CPU has them; pragmas say which sums may be taken in another order.
C_FLAGS = ["-O3", "-march=native", "-fopenmp-simd", "-fveclib=libmvec", "-mprefer-vector-width=512", "-fPIC", "-shared"]
#: What each column's C is compiled with besides: products and sums fuse as in Metal, and all that fast math allows.
C_MATH = {"C": ["-fno-math-errno", "-ffp-contract=fast"], "fast C": ["-ffast-math"]}
C_TYPES = {"float": ctypes.c_float, "uint": ctypes.c_uint32, "int": ctypes.c_int32}

# What the machine can do: the triad of STREAM, and as many fused multiply-adds as fit into registers.
LIMITS = """
void limit_triad(float* restrict y, const float* restrict a, const float* restrict b, long begin, long end) {
    for (long i = begin; i < end; i++) y[i] = a[i] + 0.5f * b[i];
}
void limit_fma(float* restrict y, long turns) {
    float sum[160];
    for (int i = 0; i < 160; i++) sum[i] = i;
    for (long t = 0; t < turns; t++)
        for (int i = 0; i < 160; i++) sum[i] = __builtin_fmaf(sum[i], 0.999f, 0.001f);
    for (int i = 0; i < 160; i++) y[i] = sum[i];
}
"""
FMA_ACCUMULATORS = 160
# Shares units between threads as a C program does, by OpenMP. Compiled by g++, whose library for it every machine that builds the project has.
PARALLEL = """
extern "C" void parallel(void (*run)(void*, long, long), void* arguments, long units, int threads) {
    #pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) run(arguments, units * part / threads, units * (part + 1) / threads);
}
"""


def compile_c(cases: list[Case]) -> dict[str, ctypes.CDLL]:
    """All C functions as one shared object for each of C_MATH."""
    text = C_HEADER + LIMITS + "".join(case.c_function() for case in cases if case.c)
    with tempfile.TemporaryDirectory() as folder:
        source, parallel = Path(folder) / "host.c", Path(folder) / "parallel.cpp"
        source.write_text(text)
        parallel.write_text(PARALLEL)
        subprocess.run(["g++", "-O2", "-fopenmp", "-fPIC", "-shared", parallel, "-o", Path(folder) / "parallel.so"], check=True)
        libraries = {}
        # The other libraries find its function.
        ctypes.CDLL(str(Path(folder) / "parallel.so"), mode=ctypes.RTLD_GLOBAL)
        for name, flags in C_MATH.items():
            target = Path(folder) / f"{name}.so"
            subprocess.run(["clang-22", *C_FLAGS, *flags, "-Wno-pass-failed", source, "-o", target, "-lm", "-lmvec"], check=True)
            libraries[name] = ctypes.CDLL(str(target))
        return libraries


def run_c(library: ctypes.CDLL, case: Case, arguments: list, threads: int) -> Callable[[], object]:
    """A call of the case's C function on `threads` threads."""
    function = getattr(library, f"{case.name}_parallel")
    function.restype = None
    function.argtypes = [
        ctypes.c_void_p if isinstance(argument, torch.Tensor) else C_TYPES[parameter.type]
        for parameter, argument in zip(case.parameters, arguments, strict=True)
    ] + [ctypes.c_long, ctypes.c_int]
    plain = [argument.data_ptr() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    return lambda: function(*plain, case.units, threads)


class PoCL:
    """A device of PoCL: builds kernels and runs them on host memory."""

    def __init__(self):
        self.api = ctypes.CDLL("libOpenCL.so.1")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer"):
            getattr(self.api, name).restype = ctypes.c_void_p
        platforms = (ctypes.c_void_p * 8)()
        count = ctypes.c_uint32()
        self._check(self.api.clGetPlatformIDs(8, platforms, ctypes.byref(count)), "clGetPlatformIDs")
        self.device = ctypes.c_void_p()
        cpu = ctypes.c_uint64(2)
        self._check(self.api.clGetDeviceIDs(ctypes.c_void_p(platforms[0]), cpu, 1, ctypes.byref(self.device), None), "clGetDeviceIDs")
        error = ctypes.c_int32()
        self.context = ctypes.c_void_p(self.api.clCreateContext(None, 1, ctypes.byref(self.device), None, None, ctypes.byref(error)))
        self._check(error.value, "clCreateContext")
        self.queue = ctypes.c_void_p(self.api.clCreateCommandQueue(self.context, self.device, ctypes.c_uint64(0), ctypes.byref(error)))
        self._check(error.value, "clCreateCommandQueue")

    @staticmethod
    def _check(status: int, what: str) -> None:
        if status != 0:
            raise RuntimeError(f"{what} failed with {status}")

    def _kernel(self, case: Case) -> ctypes.c_void_p:
        text = case.opencl().encode()
        error = ctypes.c_int32()
        source = ctypes.c_char_p(text)
        program = ctypes.c_void_p(self.api.clCreateProgramWithSource(self.context, 1, ctypes.byref(source), None, ctypes.byref(error)))
        built = self.api.clBuildProgram(program, 1, ctypes.byref(self.device), b"-cl-fast-relaxed-math", None, None)
        if built != 0:
            log = ctypes.create_string_buffer(1 << 16)
            self.api.clGetProgramBuildInfo(program, self.device, 0x1183, ctypes.c_size_t(len(log)), log, None)
            raise RuntimeError(f"{case.name}: {log.value.decode(errors='replace')}\n{case.opencl()}")
        kernel = ctypes.c_void_p(self.api.clCreateKernel(program, case.name.encode(), ctypes.byref(error)))
        self._check(error.value, "clCreateKernel")
        return kernel

    def runner(self, case: Case, arguments: list) -> Callable[[], object]:
        """A call that runs the case's kernel on the memory of `arguments` and waits."""
        kernel = self._kernel(case)
        error = ctypes.c_int32()
        for index, (parameter, argument) in enumerate(zip(case.parameters, arguments, strict=True)):
            if isinstance(argument, torch.Tensor):
                # CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR: a device that is the host works in place.
                size = ctypes.c_size_t(argument.numel() * argument.element_size())
                memory = self.api.clCreateBuffer(self.context, ctypes.c_uint64(9), size, ctypes.c_void_p(argument.data_ptr()), ctypes.byref(error))
                self._check(error.value, "clCreateBuffer")
                value = ctypes.c_void_p(memory)
            else:
                value = C_TYPES[parameter.type](argument)
            self._check(self.api.clSetKernelArg(kernel, index, ctypes.c_size_t(ctypes.sizeof(value)), ctypes.byref(value)), "clSetKernelArg")
        launch = case.opencl_launch or (case.threads, case.group)
        dimensions = len(launch[0])
        threads, group = ((ctypes.c_size_t * dimensions)(*sizes) for sizes in launch)

        def run() -> None:
            status = self.api.clEnqueueNDRangeKernel(self.queue, kernel, dimensions, None, threads, group, 0, None, None)
            self._check(status, "clEnqueueNDRangeKernel")
            self._check(self.api.clFinish(self.queue), "clFinish")

        return run


def pocl() -> PoCL | None:
    """PoCL, if it is installed."""
    try:
        return PoCL()
    except (OSError, RuntimeError):
        return None
