"""The memory format that torch's tracer expects of a convolution's result on mps.

A build without Metal compiles out the device's own rule ("channels last if the input or the weight is", `Convolution.cpp`:
``mps_conv_use_channels_last``), predicts contiguous results, and Inductor's generated code then refuses the real ones.
oneDNN's rule, which every build has, says the same, so fake mps tensors are asked by it.
"""


def install(torch) -> None:
    """Lets ``torch._C._conv_determine_backend_memory_format`` answer for mps as a build with Metal does."""
    original = torch._C._conv_determine_backend_memory_format

    def determine(input, weight, backend):
        if input.device.type == "mps":
            backend = torch._C._ConvBackend.Mkldnn
        return original(input, weight, backend)

    torch._C._conv_determine_backend_memory_format = determine
