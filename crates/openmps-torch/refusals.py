"""What the kernels of the real backend refuse and ATen's CPU kernels would compute, and what they call nondeterministic.

Facts of the macOS build of torch 2.15: the texts, exception classes and conditions are those of its compiled code. `gen_ops.py`
makes tables of C++ from this, `python/tests/errors/test_refusals.py` provokes each row.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Names for sets of `c10::ScalarType`.
DTYPES = {
    "bool": ["Bool"],
    "integers": ["Byte", "Char", "Short", "Int", "Long", "UInt16", "UInt32", "UInt64"],
    "uint8": ["Byte"],
    "narrow integers": ["Byte", "Char", "Short"],
    "int64": ["Long"],
    "halves": ["Half", "BFloat16"],
    "floats": ["Half", "BFloat16", "Float"],
    "complex": ["ComplexHalf", "ComplexFloat"],
    "complex64": ["ComplexFloat"],
    "any": [],
}


@dataclass(frozen=True)
class Refusal:
    """One text of one or several ops."""

    ops: str
    """Names; one without overload means every overload that has the argument."""
    argument: str
    """The tensor whose dtype decides."""
    dtypes: tuple[str, ...]
    """Keys of `DTYPES`."""
    error: str
    """The exception's class in Python."""
    text: str
    """`{dtype}` stands for the scalar type, `{count}` for the number of dimensions in a list."""
    when: str | None = None
    """A further condition, a function of Refusals.cpp."""


@dataclass(frozen=True)
class Alert:
    """Ops that `torch.use_deterministic_algorithms(True)` refuses, by the name that the text begins with."""

    ops: str
    caller: str
    argument: str | None = None
    """The tensor that has to be floating or complex."""
    when: str | None = None


_ADAPTIVE = (
    " Non-divisible input sizes are not implemented on MPS device yet. For now, you can manually transfer tensor to cpu in this case. "
    "Please refer to [this issue](https://github.com/pytorch/pytorch/issues/96056)"
)
_NUMBERS = ("bool", "integers")
_POOLS = "_adaptive_avg_pool2d adaptive_avg_pool2d.out"

REFUSALS = [
    Refusal("_convolution", "input", (*_NUMBERS, "complex"), "RuntimeError", "Convolution is supported only for Floating types"),
    Refusal(
        "_convolution", "input", ("halves",), "RuntimeError",
        "ConvTranspose 3D with BF16 or FP16 types is not supported on MPS", "isTransposedInThreeDimensions",
    ),
    Refusal("addr", "vec1", _NUMBERS, "RuntimeError", "MPS device does not support addr for non-float input"),
    Refusal("addr", "vec1", ("any",), "RuntimeError", "value cannot be converted to type double without overflow", "hasComplexFactor"),
    Refusal(
        _POOLS, "self", ("any",), "RuntimeError",
        "Adaptive pool MPS: Input height and width must both be greater than, or equal to, or lesser than output height and width",
        "poolsInOppositeDirections",
    ),
    Refusal(
        _POOLS, "self", ("any",), "RuntimeError",
        "Adaptive pool MPS: output sizes must be divisible by input sizes." + _ADAPTIVE, "growsUnevenly",
    ),
    Refusal(
        _POOLS, "self", ("any",), "RuntimeError",
        "Adaptive pool MPS: input sizes must be divisible by output sizes." + _ADAPTIVE, "shrinksUnevenly",
    ),
    Refusal("max_pool2d_with_indices", "self", ("complex",), "NotImplementedError", "Max pooling for complex is not supported for MPS"),
    Refusal("adaptive_max_pool2d", "self", ("complex",), "NotImplementedError", "Adaptive max pooling for complex is not supported for MPS"),
    Refusal("avg_pool2d avg_pool3d", "self", ("complex",), "NotImplementedError", "Not implemented for complex"),
    Refusal("grid_sampler_3d", "input", ("any",), "RuntimeError", "grid_sampler_3d: Unsupported Bicubic interpolation", "isBicubic"),
    Refusal(
        "grid_sampler_3d_backward", "input", ("any",), "NotImplementedError",
        "grid_sampler_3d backward on MPS only supports bilinear and nearest interpolation", "isBicubic",
    ),
    Refusal("grid_sampler_2d", "input", ("complex",), "NotImplementedError", "grid_sampler_2d is not supported for complex on MPS"),
    Refusal(
        "_upsample_bilinear2d_aa", "self", _NUMBERS, "RuntimeError",
        "_upsample_bilineard2d_aa_out_mps only supports floating-point dtypes",
    ),
    Refusal(
        "_upsample_bicubic2d_aa", "self", _NUMBERS, "RuntimeError", "_upsample_bicubic2d_aa_out_mps only supports floating-point dtypes"
    ),
    Refusal(
        "upsample_bicubic2d", "self", ("uint8",), "RuntimeError", "Failed to create function state object for: upsample_bicubic2d_uchar"
    ),
    Refusal("linalg_inv_ex", "A", ("complex",), "RuntimeError", "linalg_inv: not supported for complex types yet!"),
    Refusal("geqrf", "self", ("complex",), "RuntimeError", "geqrf: MPS currently supports float32 only"),
    Refusal("cholesky_inverse", "self", ("complex",), "RuntimeError", "cholesky_inverse: MPS only supports float type!"),
    Refusal(
        "linalg_lu_factor_ex", "A", ("any",), "RuntimeError", "linalg.lu_factor(): MPS doesn't allow pivot == False.", "isWithoutPivot"
    ),
    Refusal("linalg_cross", "self", ("bool",), "NotImplementedError", "linalg.cross: not implemented for 'Bool'"),
    Refusal("index_reduce", "self", ("int64",), "RuntimeError", "index_reduce for MPS does not support torch.long dtype"),
    Refusal("index_reduce", "self", ("complex64",), "RuntimeError", "index_reduce for MPS does not support torch.cfloat dtype"),
    Refusal(
        "scatter_reduce", "self", ("bool",), "NotImplementedError", "scatter_reduce: reduce='mean' not implemented for 'Bool'", "isMean"
    ),
    Refusal("kthvalue", "self", ("bool", "complex"), "NotImplementedError", "kthvalue_mps not implemented for {dtype}"),
    Refusal("median", "self", ("complex",), "NotImplementedError", "median_mps not implemented for {dtype}"),
    Refusal("aminmax", "self", ("complex",), "RuntimeError", "aminmax not implemented for {dtype}"),
    Refusal("repeat_interleave.Tensor", "repeats", ("narrow integers",), "RuntimeError", "repeats has to be Long or Int tensor"),
    Refusal("bincount", "self", ("bool",), "NotImplementedError", "bincount is not supported for Bool"),
    Refusal("linspace.out", "out", ("bool",), "NotImplementedError", "\"linspace_mps\" not implemented for 'Bool'"),
    Refusal("logspace.out", "out", _NUMBERS, "NotImplementedError", "logspace is not implemented for integral dtypes on MPS"),
    Refusal("var std var_mean std_mean", "self", _NUMBERS, "TypeError", "std and var only support floating point and complex dtypes"),
    Refusal("huber_loss", "self", ("complex",), "NotImplementedError", "huber_loss for complex is not supported for MPS"),
    Refusal("huber_loss smooth_l1_loss", "self", ("int64",), "NotImplementedError", "MPS doesn't know how to do square_i64"),
    Refusal("addcmul", "self", ("bool",), "NotImplementedError", "addcmul_mps not implemented for 'Bool'"),
    Refusal("nextafter", "self", _NUMBERS, "TypeError", "nextafter_mps not implemented for non-floating types"),
    Refusal("gcd", "self", ("floats",), "NotImplementedError", "gcd_mps not implemented for {dtype}"),
    Refusal("lcm", "self", ("floats",), "NotImplementedError", "lcm_mps not implemented for {dtype}"),
    Refusal(
        "_fft_c2c _fft_c2r _fft_r2c", "self", ("any",), "RuntimeError",
        "MPS FFT only supports transforming up to 4 dimensions, but got {count} dimensions", "hasMoreThanFourDimensions",
    ),
]  # fmt: skip

ALERTS = [
    Alert("embedding_dense_backward", "embedding_dense_backward_mps"),
    Alert("_embedding_bag_dense_backward", "_embedding_bag_dense_backward_mps"),
    Alert("_embedding_bag_backward", "_embedding_bag_dense_backward_mps", None, "isDenseBag"),
    Alert("_embedding_bag_per_sample_weights_backward", "_embedding_bag_per_sample_weights_backward_mps"),
    Alert("grid_sampler_2d_backward", "grid_sampler_2d_backward_mps"),
    Alert("grid_sampler_3d_backward", "grid_sampler_3d_backward_mps"),
    Alert("max_pool2d_with_indices_backward", "max_pool2d_indices_backward"),
    Alert("adaptive_max_pool2d_backward", "adaptive_max_pool2d_backward"),
    Alert("max_pool3d_with_indices_backward", "max_pool3d_backward"),
    Alert("avg_pool3d_backward", "avg_pool3d_backward"),
    Alert("upsample_bicubic2d_backward", "upsample_bicubic2d_backward"),
    Alert("_upsample_bilinear2d_aa_backward", "upsample_bilinear2d_aa_backward"),
    Alert("_upsample_bicubic2d_aa_backward", "upsample_bicubic2d_aa_backward"),
    Alert("upsample_nearest3d_backward", "upsample_nearest_3d_backward"),
    Alert("_upsample_nearest_exact3d_backward", "upsample_nearest_exact_3d_backward"),
    Alert("upsample_trilinear3d_backward", "upsample_trilinear_backward"),
    Alert("kthvalue", "kthvalue MPS"),
    Alert("_index_put_impl_", "index_put_with_accumulate_mps", "self", "accumulates"),
    Alert("index_reduce", "index_reduce_mps", "self", "isMeanOrProduct"),
    Alert("scatter_add scatter.reduce scatter.reduce_out scatter_.reduce", "scatter_reduce_mps", "self"),
    Alert("scatter.value_reduce scatter.value_reduce_out scatter_.value_reduce", "scatter_reduce_mps", "self"),
    Alert("scatter_reduce", "scatter_reduce_mps", "self", "isSumOrMeanOrProduct"),
]
