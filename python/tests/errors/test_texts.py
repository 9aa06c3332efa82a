"""Every text of the MPS backend, with what provokes it: one row a text.

`PROVOKED` holds the rows that run here. `ELSEWHERE` says which file has the test of a text that needs a process of its own or
a story around it; the text must stand in that file. `UNREACHABLE` says why nothing can provoke a text here. A text that the
plug-in's C++ code raises and that no row has fails `test_every_text_of_the_plugin_has_a_row`.
"""

import pathlib
import re

import pytest
import torch

CHECKOUT = pathlib.Path(__file__).parents[3]
CSRC = CHECKOUT / "crates/openmps-torch/csrc"

_FLOAT64 = "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use float32 instead."


def _x(*shape, dtype=torch.float32):
    return torch.ones(*(shape or (3,)), dtype=dtype, device="mps")


def _complex():
    return _x(dtype=torch.complex64)


def _integers():
    return _x(dtype=torch.int32)


def _elapsed(first_timed=True, second_timed=True, record=()):
    events = [torch.mps.Event(enable_timing=first_timed), torch.mps.Event(enable_timing=second_timed)]
    for index in record:
        events[index].record()
        torch.mps.synchronize()
    return events[0].elapsed_time(events[1])


def _state_of(size, dtype=torch.uint8):
    torch.mps.set_rng_state(torch.zeros(size, dtype=dtype))


def _pack(weight, inner_tiles=2):
    return torch.ops.aten._convert_weight_to_int4pack(weight.to("mps"), inner_tiles)


def _packed_product(x=None, weight=None, group=32, scales=None):
    x = torch.ones(3, 32) if x is None else x
    weight = torch.ones(1, 1, 32, 1, dtype=torch.int32) if weight is None else weight
    scales = torch.ones(1, 8, 2) if scales is None else scales
    return torch.ops.aten._weight_int4pack_mm(x.to("mps"), weight.to("mps"), group, scales.to("mps"))


#: Text, exception, provocation. `<…>` in a text stands for what depends on the run.
PROVOKED = [
    # Creating and converting
    (_FLOAT64, TypeError, lambda: torch.empty(2, dtype=torch.float64, device="mps")),
    (_FLOAT64, TypeError, lambda: torch.empty_strided([2], [1], dtype=torch.float64, device="mps")),
    (_FLOAT64, TypeError, lambda: _x().to(torch.float64)),
    (_FLOAT64, TypeError, lambda: _x().double()),
    (_FLOAT64, TypeError, lambda: torch.ones(2, dtype=torch.float64).to("mps")),
    ("Undefined type Double", RuntimeError, lambda: torch.empty(3, dtype=torch.float64).copy_(_x())),
    ("Undefined type ComplexDouble", RuntimeError, lambda: torch.empty(3, dtype=torch.complex128).copy_(_complex())),
    (
        "Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype.",
        TypeError,
        lambda: torch.empty(2, dtype=torch.complex128, device="mps").exp(),
    ),
    (
        "Trying to convert Float8_e5m2 to the MPS backend but it does not have support for that dtype.",
        TypeError,
        lambda: torch.empty(2, dtype=torch.float8_e5m2, device="mps").exp(),
    ),
    ("Undefined type Float8_e5m2", RuntimeError, lambda: _x().to(torch.float8_e5m2)),
    ("Undefined type Float8_e5m2", RuntimeError, lambda: torch.empty(2, dtype=torch.float8_e5m2, device="mps").float()),
    ("MPS supports tensors with dimensions <= 16, but got 17.", RuntimeError, lambda: torch.empty([1] * 17, device="mps")),
    ("Trying to create tensor with negative dimension -1: [-1]", RuntimeError, lambda: torch.empty(-1, device="mps")),
    ("Trying to create tensor with negative dimension -2: [3, -2]", RuntimeError, lambda: torch.empty(3, -2, device="mps")),
    ("Invalid buffer size: <n> GiB", RuntimeError, lambda: torch.empty(2**50, device="mps")),
    (
        "can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
        TypeError,
        lambda: _x().numpy(),
    ),
    # Copies
    ("Destination [3] doesn't match the broadcast shape [2, 3]", RuntimeError, lambda: _x().copy_(torch.ones(2, 3))),
    ("Destination [3] doesn't match the broadcast shape [2, 3]", RuntimeError, lambda: torch.ones(3).copy_(_x(2, 3))),
    ("_local_scalar_dense: Empty tensor not supported", RuntimeError, lambda: torch.ops.aten._local_scalar_dense(_x(0))),
    ("a Tensor with 0 elements cannot be converted to Scalar", RuntimeError, lambda: _x(0).item()),
    # Memory
    ("Invalid type for fraction argument, must be `float`", TypeError, lambda: torch.mps.set_per_process_memory_fraction(1)),
    ("Invalid fraction value: 2.5. Allowed range: 0~2", ValueError, lambda: torch.mps.set_per_process_memory_fraction(2.5)),
    ("invalid argument to setMemoryFraction()", RuntimeError, lambda: torch._C._mps_setMemoryFraction("1")),
    ("cannot pin 'MPSFloatType' only dense CPU tensors can be pinned", RuntimeError, lambda: _x().pin_memory()),
    (
        "getHostAliasStorage: expected an MPS storage, got device=cpu",
        ValueError,
        lambda: torch.mps._host_alias_storage(torch.ones(2).untyped_storage()),
    ),
    (
        "getHostAliasStorage: storage was not allocated by the MPSAllocator",
        RuntimeError,
        lambda: torch.mps._host_alias_storage(_x(0).untyped_storage()),
    ),
    # Streams, events and the guard
    ("stream_id=77 not found", RuntimeError, lambda: torch.mps.Stream(stream_id=77)),
    ("stream_id=-7 not found", RuntimeError, lambda: torch.mps.Stream(stream_id=-7)),
    ("Expected a MPS stream, but got one of cpu", RuntimeError, lambda: _x().record_stream(torch.Stream("cpu"))),
    (
        "stream's device type CPU doesn't match the current accelerator MPS",
        RuntimeError,
        lambda: torch.accelerator.set_stream(torch.Stream("cpu")),
    ),
    (
        "Event device type MPS does not match recording stream's device type CPU.",
        RuntimeError,
        lambda: torch.Event("mps").record(torch.Stream("cpu")),
    ),
    ("Invalid Event ID: 4000000", RuntimeError, lambda: torch._C._mps_recordEvent(4000000)),
    ("couldn't convert python object to boolean", RuntimeError, lambda: torch._C._mps_acquireEvent(1)),
    ("Events were not created with argument 'enable_timing=True'", RuntimeError, lambda: _elapsed(second_timed=False)),
    ("Events were not created with argument 'enable_timing=True'", RuntimeError, lambda: _elapsed(first_timed=False)),
    ("Both events must be recorded before calculating elapsed time", RuntimeError, lambda: _elapsed(record=[0])),
    ("End event <id> was not recorded after start event <id>", RuntimeError, lambda: _elapsed(record=[1, 0])),
    # Random numbers
    ("RNG state must be a torch.ByteTensor", TypeError, lambda: _state_of(44, torch.float32)),
    ("RNG state is wrong size", RuntimeError, lambda: _state_of(16)),
    (
        "RNG state must be contiguous",
        RuntimeError,
        lambda: torch.Generator("mps").set_state(torch.zeros(88, dtype=torch.uint8)[::2]),
    ),
    (
        "Expected a 'mps' device type for generator but found 'cpu'",
        RuntimeError,
        lambda: torch.rand(3, device="mps", generator=torch.Generator()),
    ),
    ("uniform_ expects to return a [from, to) range, but found from=3 > to=1", RuntimeError, lambda: _x().uniform_(3, 1)),
    (
        "uniform_ expects to-from <= std::numeric_limits<Half>::max(), but found to=60000 and from=-60000 which result in to-from to "
        "exceed the limit",
        RuntimeError,
        lambda: _x().half().uniform_(-60000, 60000),
    ),
    ("\"check_uniform_bounds\" not implemented for 'Int'", NotImplementedError, lambda: _integers().uniform_()),
    ("normal expects std >= 0.0, but found std -1", RuntimeError, lambda: _x().normal_(0, -1)),
    ("normal expects all elements of std >= 0.0", RuntimeError, lambda: torch.normal(0.0, -_x())),
    ("normal expects standard deviation to be non-complex", RuntimeError, lambda: torch.normal(0.0, _complex())),
    ("normal_kernel_mps not implemented for 'Int'", TypeError, lambda: _integers().normal_()),
    ("log_normal_ expects std > 0.0, but found std=0", RuntimeError, lambda: _x().log_normal_(0, 0)),
    ("geometric_ expects p to be in (0, 1), but got p=2", RuntimeError, lambda: _x().geometric_(2)),
    ("exponential_ expects lambda > 0.0, but found lambda=0", RuntimeError, lambda: _x().exponential_(0)),
    ("cauchy_ expects sigma > 0.0, but found sigma=0", RuntimeError, lambda: _x().cauchy_(0, 0)),
    (
        "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you specified int",
        RuntimeError,
        lambda: _integers().cauchy_(),
    ),
    ("bernoulli_ expects p to be in [0, 1], but got p=2", RuntimeError, lambda: _x().bernoulli_(2)),
    ("bernoulli is not implemented for complex types on MPS", NotImplementedError, lambda: _complex().bernoulli_(0.5)),
    ("bernoulli is not implemented for complex types on MPS", NotImplementedError, lambda: _complex().bernoulli_(_x())),
    (
        "bernoulli_mps_: probability and self tensor should be of the same shape",
        RuntimeError,
        lambda: _x().bernoulli_(_x(2)),
    ),
    ("bernoulli_mps_ expects p to be in [0, 1], but got p=2", RuntimeError, lambda: _x().bernoulli_(torch.tensor(2.0, device="mps"))),
    ("random_ expects 'from' to be less than 'to', but got from=3 >= to=3", RuntimeError, lambda: _x().random_(3, 3)),
    ("to - 1 is out of bounds for signed char", RuntimeError, lambda: _x(dtype=torch.int8).random_(0, 1000)),
    ("from is out of bounds for signed char", RuntimeError, lambda: _x(dtype=torch.int8).random_(-1000, 0)),
    ("random_mps handles only integral, floating-point and boolean types", RuntimeError, lambda: _complex().random_()),
    ("Failed to create function state object for: exponential_int", RuntimeError, lambda: _integers().exponential_()),
    ("Failed to create function state object for: geometric_float2", RuntimeError, lambda: _complex().geometric_(0.5)),
    ("n must be non-negative, got-1", RuntimeError, lambda: torch.ops.aten.randperm.generator_out(-1, generator=None, out=_integers())),
    (
        "Expected a 'mps:0' generator device but found 'cpu'",
        RuntimeError,
        lambda: torch.randperm(3, device="mps", generator=torch.Generator()),
    ),
    (
        "native_dropout_mps: input must be a floating-point or complex tensor, got Int",
        RuntimeError,
        lambda: torch.native_dropout(_integers(), 0.5, True),
    ),
    ("binomial only supports floating-point dtypes for count, got: Int", ValueError, lambda: torch.binomial(_integers(), _x())),
    ("binomial only supports floating-point dtypes for prob, got: Int", ValueError, lambda: torch.binomial(_x(), _integers())),
    ("Passed CPU tensor to MPS op", RuntimeError, lambda: torch.ones(3).uniform_(generator=torch.Generator("mps"))),
    # Devices of arguments
    (
        "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!",
        RuntimeError,
        lambda: _x() + torch.ones(3),
    ),
    (
        "slow_conv2d_forward_mps: input(device='cpu') and weight(device=mps:0')  must be on the same device",
        RuntimeError,
        lambda: torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), _x(1, 1, 2, 2)),
    ),
    (
        "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
        RuntimeError,
        lambda: torch.nn.functional.conv2d(_x(1, 1, 4, 4), torch.ones(1, 1, 2, 2)),
    ),
    (
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        RuntimeError,
        lambda: torch.ones(3)[torch.zeros(1, dtype=torch.int64, device="mps")],
    ),
    (
        'Attempted to set the storage of a tensor on device "mps:0" to a storage on different device "cpu".  This is no longer allowed; '
        "the devices must match.",
        RuntimeError,
        lambda: _x().set_(torch.ones(3).untyped_storage()),
    ),
    # Weights of four bits
    ("_convert_weight_to_int4pack_mps : expect weight to be 2D tensor.", RuntimeError, lambda: _pack(torch.zeros(8, dtype=torch.uint8))),
    ("_convert_weight_to_int4pack_mps : expect weight to be kByte.", RuntimeError, lambda: _pack(torch.zeros(8, 16))),
    (
        "_convert_weight_to_int4pack_mps : innerKTiles need to be 2, 4, or 8, got 3",
        RuntimeError,
        lambda: _pack(torch.zeros(8, 16, dtype=torch.uint8), 3),
    ),
    (
        "_convert_weight_to_int4pack: expects N divisible by 8 and K by 32, got 7 and 32",
        RuntimeError,
        lambda: _pack(torch.zeros(7, 16, dtype=torch.uint8)),
    ),
    ("_weight_int4pack_mm_mps : expect A to be 2D tensor.", RuntimeError, lambda: _packed_product(torch.ones(32))),
    (
        "_weight_int4pack_mm_mps : expect A to be either 32-bit or 16-bit float tensor.",
        RuntimeError,
        lambda: _packed_product(torch.ones(3, 32, dtype=torch.int32)),
    ),
    ("_weight_int4pack_mm_mps : expect A to be contiguous.", RuntimeError, lambda: _packed_product(torch.ones(32, 3).t())),
    (
        "_weight_int4pack_mm_mps : expect B to be int32 tensor.",
        RuntimeError,
        lambda: _packed_product(weight=torch.ones(1, 1, 32, 1)),
    ),
    (
        "_weight_int4pack_mm_mps : expect B to be contiguous.",
        RuntimeError,
        lambda: _packed_product(weight=_x(1, 1, 64, 1, dtype=torch.int32)[:, :, ::2]),
    ),
    (
        "_weight_int4pack_mm_mps : expect B to 4d tensor.",
        RuntimeError,
        lambda: _packed_product(weight=torch.ones(1, 32, dtype=torch.int32)),
    ),
    (
        "_weight_int4pack_mm_mps: expect qGroupSize to be 32, 64, 128 or 256, got 16",
        RuntimeError,
        lambda: _packed_product(group=16),
    ),
    (
        "_weight_int4pack_mm_mps: expect qScaleAndZeros to be 3d tensor with sizes [:, 8, 2]",
        RuntimeError,
        lambda: _packed_product(scales=torch.ones(1, 7, 2)),
    ),
    # Profiler, libraries, exchange
    ("Invalid Signpost trace mode: x", RuntimeError, lambda: torch.mps.profiler.start("x")),
    ("expected bytes or path, got int", TypeError, lambda: torch.mps.load_metallib(3)),
    ("Failed to load metallib: <description>", RuntimeError, lambda: torch.mps.load_metallib(b"12345678")),
    ("Failed to load metallib from '/none': <description>", RuntimeError, lambda: torch.mps.load_metallib("/none")),
    ("Failed to create function state object for: f", RuntimeError, lambda: torch.mps.compile_shader("").f),
    ("program_source:1:<place>", SyntaxError, lambda: torch.mps.compile_shader("kernel void f( {}")),
    ("stream must be ``int`` or ``none``", TypeError, lambda: _x().__dlpack__(stream="x")),
]  # fmt: skip

#: Files of the checkout and the texts that their tests provoke.
ELSEWHERE = {
    "python/tests/errors/test_kernel_errors.py": [
        "Passed CPU tensor to MPS op",
        "Empty list/tuple can not be an argument to metal kernel",
        "Unexpected argument types",
        "Unsupported argument type",
        "Unable to cast Python instance of type",
        "Unexpected caster arg type",
        "Unsupported cast instruction",
        "incompatible function arguments",
        "Number of threads is undefined or has wrong dimension",
        "vec.size() > 0 && vec.size() < 4",
        "!group_size.has_value() || threads->size() == group_size->size()",
        "Threadgroup size exceeds 1024 limit",
        "MPS 1D dispatch of 4294967296 threads exceeds 2^32",
        "threads exceeds 2^32 along one axis",
    ],
    "crates/openmps/src/stream/tests.rs": ["MPS command buffer execution failed: "],
    "python/tests/test_kernel_arguments.py": ["index 7 is out of bounds for dimension 0 with size 3"],
    "python/tests/test_environment.py": [
        "invalid low watermark ratio 1.4",
        "invalid high watermark ratio 2.5",
        "invalid log options 1024 passed to PYTORCH_MPS_LOG_PROFILE_INFO",
        "invalid profiling options 64 passed to PYTORCH_MPS_TRACE_SIGNPOSTS",
        "invalid signpost types",
        "the option 'INCLUDE_SCHEDULE_INTERVAL' only works for interval-based signposts",
        "Ignoring PYTORCH_MPS_METAL_VERSION=5, expected 3.1, 3.2 or 4.0",
        "is not currently implemented for the MPS device. If you want this op to be considered for ",
        "is not currently supported on the MPS backend and will fall back to run on the CPU.",
    ],
    "python/tests/test_support.py": ["This may have performance implications."],
    "python/tests/test_memory.py": ["MPS backend out of memory (MPS allocated: 16.00 MiB, other allocations: 0 bytes, max allowed: 32.00 MiB). "],
    "python/tests/test_device.py": ["Checking for unexpected MacOS 99.1 returning false", "Can't check whether running on 15.9+ returning one for 15.1+"],
    "python/tests/test_events.py": ["Non-default streams are not yet supported.", "Both events must be recorded before calculating elapsed time."],
    "python/tests/test_profiler.py": ["Tracing Signposts is already enabled ", "Failed to start capture of "],
    "python/tests/test_autocast.py": ["MPS Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."],
    "python/tests/test_threads_and_processes.py": ["'pin_memory' argument is set as true but not supported on MPS now"],
    "python/tests/test_profile_log.py": [
        "There are no MPS operations logged for profiling",
        "There are no CPU Fallbacks logged for profiling",
        "There are no copies logged for profiling",
        " MPS Operations Profiling: ",
        " CPU Fallback Profiling: Total ",
        " MPS Copy Profiling: ",
        "CPU Fallback::",
        "High watermark memory allocation limit: 1.70 GiB",
        "Low watermark memory allocation limit: 1.40 GiB",
        "Initializing heap allocator on unified device memory of size ",
        "Attempting to release cached buffers (MPS allocated: ",
        "Allocated shared heap #1 of size ",
        "Allocated shared buffer #1 of size ",
        "Reusing shared buffer #1 of size ",
        "Released buffer of size ",
        "Released heap #1 of size ",
    ],
    "crates/openmps/src/memory/tests/texts.rs": [
        "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes). Tried to allocate 2.00 GiB on shared ",
        "Allocated shared scalar buffer #2 of size ",
        "Garbage collected 1008.00 MiB from shared pool (target: 592.00 MiB, #heaps: 1)",
        "Low watermark memory allocation limit: unlimited",
    ],
}  # fmt: skip

#: Texts that the code or the real backend has and no program can meet here.
UNREACHABLE = {
    "only strided tensors are supported on MPS": "PyTorch sends other layouts to other kernels",
    "dst is undefined": "Python has no undefined tensors",
    "src is undefined": "Python has no undefined tensors",
    "copies between ": "there is no third device with memory",
    " have to go through the CPU": "as above",
    "another accelerator of this torch build could not be told to step back (cuda: ": "an activation that fails, for a torch of another build",
    "the MPS hooks could not be installed": "as above",
    "Cannot convert a float64 Tensor to MPS as the MPS framework doesn't support float64. Please use float32 instead.": "as above",
    "float64 is not supported on MPS": "the result of such an op is refused before",
    "Expected a MPS device, but got ": "a guard is asked for its own device only",
    "MPSGuardImpl initialized with non-MPS DeviceType: ": "as above",
    "Event device index ": "the device has one index",
    " does not match recording stream's device index ": "as above",
    "Both events must be recorded before calculating elapsed time.": "torch.Event checks that itself",
    "Timing-enabled MPS events must commit when recorded": "an internal check; recording commits here",
    "MPS event timing failed because the GPU work for an event did not complete": "the clock cannot fail",
    "getHostAliasStorage: storage is not backed by a shared (unified) MTLBuffer": "all memory is shared",
    "MPS backend is only supported on devices with unified memory": "all memory is shared",
    "CommitAndContinue is called but it is disabled globally!": "work starts when it is encoded",
    "failed to create OS signpost log for events profiler": "traces take the place of signposts",
    "failed to create OS signpost log for intervals profiler": "traces take the place of signposts",
    "Cannot install SIGINT handler for MPSProfiler.": "the system call cannot fail with these arguments",
    "Skipping device ": "there is one device",
    "The MPS backend is supported on MacOS 1": "the announced version is never too old",
    "PyTorch code is not compiled with MPS enabled": "the device is there, or nothing of it is",
    "Dispatch dimensions must be less than 3 and non-empty": "checked before, with another text",
    "size and group_size must have same number of dimensions": "checked before, with another text",
    "Failed to create metal library, error: ": "what is no diagnostic names the limit that was met",
    "Failed to created pipeline state object, error: ": "see test_kernels.py; depends on the engine",
    "MPSGraph does not support tensor dims larger than INT_MAX": "there is no graph",
    "Unaligned blit request": "the CPU copies any byte",
}


def _pattern(text):
    return "".join(".+" if part.startswith("<") and part.endswith(">") else re.escape(part) for part in re.split(r"(<[a-z]+>)", text))


@pytest.mark.parametrize(("text", "error", "provoke"), PROVOKED, ids=[row[0] for row in PROVOKED])
def test_provoked(text, error, provoke):
    with pytest.raises(error) as caught:
        provoke()
    assert type(caught.value) is error
    assert re.match(_pattern(text), str(caught.value)), str(caught.value)
    torch.mps.synchronize()
    assert (_x() * 2).tolist() == [2.0] * 3


@pytest.mark.parametrize("file", ELSEWHERE)
def test_elsewhere(file):
    source = (CHECKOUT / file).read_text()
    assert [text for text in ELSEWHERE[file] if text not in source] == []


#: A check of PyTorch's that raises, and the string literals of its text.
_CHECK = re.compile(r"TORCH_(?:CHECK|WARN)\w*\((?P<arguments>.*?)\);", re.DOTALL)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def test_every_text_of_the_plugin_has_a_row():
    sources = [re.sub(r'"\s+f?"', "", (CHECKOUT / file).read_text()) for file in ELSEWHERE]
    everything = "\n".join([*(row[0] for row in PROVOKED), *sources, *UNREACHABLE])
    raised = set()
    for path in sorted(CSRC.glob("*.cpp")) + sorted(CSRC.glob("*.h")):
        for check in _CHECK.finditer(path.read_text()):
            joined = re.sub(r'"\s+"', "", check["arguments"])
            literals = [literal.replace('\\"', '"') for literal in _LITERAL.findall(joined)]
            raised.update(literal for literal in literals if len(literal) > 12)
    assert len(raised) > 30
    missing = sorted(text for text in raised if text not in everything)
    assert missing == []
