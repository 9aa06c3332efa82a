"""What Metal's kernels refuse and a CPU would compute, and deterministic mode: each row of refusals.py, each dtype, to the letter."""

import pytest
import torch
import torch.nn.functional as F

from refusal_table import refusals

DTYPES = {
    "Bool": torch.bool, "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "UInt16": torch.uint16, "UInt32": torch.uint32, "UInt64": torch.uint64, "Half": torch.float16, "BFloat16": torch.bfloat16,
    "Float": torch.float32, "ComplexHalf": torch.complex32, "ComplexFloat": torch.complex64,
}  # fmt: skip


def _x(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=torch.uint8).to(dtype).to("mps")


def _index(*shape):
    return torch.zeros(shape, dtype=torch.int64, device="mps")


_aten = torch.ops.aten

#: A call for each op that a refusal names first, with a tensor of the dtype.
CALLS = {
    "Convolution is supported only": lambda d: _aten.convolution(
        _x(1, 1, 4, 4, dtype=d), _x(1, 1, 2, 2, dtype=d), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    ),
    "ConvTranspose 3D": lambda d: F.conv_transpose3d(_x(1, 1, 3, 3, 3, dtype=d), _x(1, 1, 2, 2, 2, dtype=d)),
    "MPS device does not support addr": lambda d: torch.addr(_x(3, 2, dtype=d), _x(3, dtype=d), _x(2, dtype=d)),
    "value cannot be converted": lambda d: torch.addr(_x(3, 2, dtype=d), _x(3, dtype=d), _x(2, dtype=d), alpha=0.1 + 0.3j),
    "Adaptive pool MPS: Input height": lambda d: F.adaptive_avg_pool2d(_x(1, 1, 4, 4, dtype=d), (2, 8)),
    "Adaptive pool MPS: output sizes": lambda d: F.adaptive_avg_pool2d(_x(1, 1, 2, 2, dtype=d), (3, 4)),
    "Adaptive pool MPS: input sizes": lambda d: F.adaptive_avg_pool2d(_x(1, 1, 5, 4, dtype=d), (2, 2)),
    "Max pooling for complex": lambda d: F.max_pool2d(_x(1, 1, 4, 4, dtype=d), 2, return_indices=True),
    "Adaptive max pooling": lambda d: F.adaptive_max_pool2d(_x(1, 1, 4, 4, dtype=d), 2),
    "Not implemented for complex": lambda d: F.avg_pool2d(_x(1, 1, 4, 4, dtype=d), 2),
    "grid_sampler_3d:": lambda d: F.grid_sample(_x(1, 1, 4, 4, 4, dtype=d), _x(1, 2, 2, 2, 3, dtype=d), mode="bicubic", align_corners=False),
    "grid_sampler_3d backward": lambda d: _aten.grid_sampler_3d_backward(
        _x(1, 1, 2, 2, 2, dtype=d), _x(1, 1, 4, 4, 4, dtype=d), _x(1, 2, 2, 2, 3, dtype=d), 2, 0, False, [True, True]
    ),
    "grid_sampler_2d is": lambda d: _aten.grid_sampler_2d(_x(1, 1, 4, 4, dtype=d), _x(1, 2, 2, 2, dtype=d), 0, 0, False),
    "_upsample_bilineard2d": lambda d: _aten._upsample_bilinear2d_aa(_x(1, 1, 4, 4, dtype=d), [2, 2], False),
    "_upsample_bicubic2d": lambda d: _aten._upsample_bicubic2d_aa(_x(1, 1, 4, 4, dtype=d), [2, 2], False),
    "Failed to create function state object for: upsample_bicubic2d": lambda d: _aten.upsample_bicubic2d(
        _x(1, 1, 4, 4, dtype=d), [8, 8], False
    ),
    "linalg_inv:": lambda d: _aten.linalg_inv_ex(_x(3, 3, dtype=d)),
    "geqrf:": lambda d: torch.geqrf(_x(3, 3, dtype=d)),
    "cholesky_inverse:": lambda d: torch.cholesky_inverse(_x(3, 3, dtype=d)),
    "linalg.lu_factor():": lambda d: torch.linalg.lu_factor_ex(_x(3, 3, dtype=d), pivot=False),
    "linalg.cross:": lambda d: torch.linalg.cross(_x(3, dtype=d), _x(3, dtype=d)),
    "index_reduce for MPS": lambda d: _x(3, dtype=d).index_reduce(0, _index(3), _x(3, dtype=d), "prod"),
    "scatter_reduce: reduce='mean'": lambda d: _x(3, dtype=d).scatter_reduce(0, _index(3), _x(3, dtype=d), "mean"),
    "kthvalue_mps": lambda d: torch.kthvalue(_x(3, dtype=d), 1),
    "median_mps": lambda d: torch.median(_x(3, dtype=d)),
    "aminmax": lambda d: torch.aminmax(_x(3, dtype=d)),
    "repeats has to be": lambda d: torch.repeat_interleave(_x(3), _x(3, dtype=d)),
    "bincount is not": lambda d: torch.bincount(_x(3, dtype=d)),
    '"linspace_mps"': lambda d: torch.linspace(0, 1, 3, dtype=d, device="mps"),
    "logspace is not": lambda d: torch.logspace(0, 1, 3, dtype=d, device="mps"),
    "std and var": lambda d: torch.var(_x(3, dtype=d)),
    "huber_loss for complex": lambda d: F.huber_loss(_x(3, dtype=d), _x(3, dtype=d)),
    "MPS doesn't know": lambda d: F.huber_loss(_x(3, dtype=d), _x(3, dtype=d)),
    "addcmul_mps": lambda d: torch.addcmul(_x(3, dtype=d), _x(3, dtype=d), _x(3, dtype=d)),
    "nextafter_mps": lambda d: torch.nextafter(_x(3, dtype=d), _x(3, dtype=d)),
    "gcd_mps": lambda d: torch.gcd(_x(3, dtype=d), _x(3, dtype=d)),
    "lcm_mps": lambda d: torch.lcm(_x(3, dtype=d), _x(3, dtype=d)),
    "MPS FFT": lambda d: torch.fft.fftn(_x(2, 2, 2, 2, 2, dtype=d)),
}

ERRORS = {"RuntimeError": RuntimeError, "NotImplementedError": NotImplementedError, "TypeError": TypeError}


def _rows():
    for row in refusals.REFUSALS:
        for group in row.dtypes:
            for name in refusals.DTYPES[group] or ["Float"]:
                yield pytest.param(row, name, id=f"{row.ops.split()[0]}-{name}-{row.text[:20]}")


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize(("row", "name"), list(_rows()))
def test_refused(row, name):
    [call] = [call for start, call in CALLS.items() if row.text.startswith(start)]
    with pytest.raises(ERRORS[row.error]) as caught:
        call(DTYPES[name])
    assert type(caught.value) is ERRORS[row.error]
    text = row.text.replace("{dtype}", name).replace("{count}", "5")
    assert str(caught.value).splitlines()[0] == text
    assert (_x(3) * 2).tolist() == [2.0] * 3


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_linear_of_integers(dtype, mode):
    integers, floats = _x(2, 3, dtype=dtype), _x(4, 3)
    with mode():
        for text, call in {
            "inputs": lambda: F.linear(integers, floats),
            "weights": lambda: F.linear(floats, integers),
            "bias": lambda: F.linear(floats, floats, _x(4, dtype=dtype)),
        }.items():
            with pytest.raises(RuntimeError) as caught:
                call()
            assert str(caught.value) == f"MPS device does not support linear for non-float {text}"
        assert F.linear(floats, floats, _x(4)).tolist() == [[4.0] * 4] * 4


def test_what_is_not_refused_computes():
    assert F.adaptive_avg_pool2d(_x(1, 1, 4, 6), (2, 3)).shape == (1, 1, 2, 3)
    assert F.adaptive_avg_pool2d(_x(1, 1, 2, 3), (4, 6)).shape == (1, 1, 4, 6)
    assert F.adaptive_avg_pool2d(_x(1, 1, 5, 7), 1).shape == (1, 1, 1, 1)
    assert F.conv2d(_x(1, 1, 4, 4, dtype=torch.complex64), _x(1, 1, 2, 2, dtype=torch.complex64)).real.sum().item() == 36
    assert F.conv_transpose2d(_x(1, 1, 3, 3, dtype=torch.float16), _x(1, 1, 2, 2, dtype=torch.float16)).sum().item() == 36
    complex_ones = [_x(*shape, dtype=torch.complex64) for shape in ((3, 2), (3,), (2,))]
    assert torch.addr(*complex_ones, beta=2.0, alpha=3).sum().item() == 30
    assert F.grid_sample(_x(1, 1, 4, 4, 4), 0 * _x(1, 2, 2, 2, 3), mode="nearest", align_corners=False).sum().item() == 8
    assert F.grid_sample(_x(1, 1, 4, 4), 0 * _x(1, 2, 2, 2), mode="bicubic", align_corners=False).sum().item() == pytest.approx(4)
    assert torch.fft.fftn(_x(2, 2, 2, 2)).shape == (2, 2, 2, 2)
    assert torch.repeat_interleave(_x(2), torch.tensor([1, 2], device="mps")).tolist() == [1, 1, 1]


def _grown(size, mode, spatial=2, **options):
    return F.interpolate(_x(1, 1, *[4] * spatial).requires_grad_(), size=size, mode=mode, **options).sum().backward()


def _grid(dimensions):
    grid = torch.zeros(1, *[2] * dimensions, dimensions, device="mps")
    F.grid_sample(_x(1, 1, *[4] * dimensions).requires_grad_(), grid, align_corners=False).sum().backward()


def _bag(weights=None):
    table = torch.ones(4, 2, device="mps", requires_grad=weights is None)
    F.embedding_bag(_index(3), table, _index(1), mode="sum", per_sample_weights=weights).sum().backward()


def _pooled(pool, spatial, *arguments):
    pool(_x(1, 1, *[4] * spatial).requires_grad_(), *arguments).sum().backward()


#: A call for each row of alerts, by the first op of the row.
ALERT_CALLS = {
    "embedding_dense_backward": lambda: F.embedding(_index(3), _x(4, 2).requires_grad_()).sum().backward(),
    "_embedding_bag_dense_backward": lambda: _aten._embedding_bag_dense_backward(
        _x(1, 2), _index(3), _index(3), _index(1), _index(1), 4, False, 0, None
    ),
    "_embedding_bag_backward": _bag,
    "_embedding_bag_per_sample_weights_backward": lambda: _bag(_x(3).requires_grad_()),
    "grid_sampler_2d_backward": lambda: _grid(2),
    "grid_sampler_3d_backward": lambda: _grid(3),
    "max_pool2d_with_indices_backward": lambda: _pooled(lambda *a: F.max_pool2d(*a, return_indices=True)[0], 2, 2),
    "adaptive_max_pool2d_backward": lambda: _pooled(F.adaptive_max_pool2d, 2, 2),
    "max_pool3d_with_indices_backward": lambda: _pooled(F.max_pool3d, 3, 2),
    "avg_pool3d_backward": lambda: _pooled(F.avg_pool3d, 3, 2),
    # F.interpolate itself takes other ways in this mode.
    "upsample_bicubic2d_backward": lambda: _aten.upsample_bicubic2d(_x(1, 1, 4, 4).requires_grad_(), [8, 8], False).sum().backward(),
    "_upsample_bilinear2d_aa_backward": lambda: _grown(2, "bilinear", antialias=True),
    "_upsample_bicubic2d_aa_backward": lambda: _grown(2, "bicubic", antialias=True),
    "upsample_nearest3d_backward": lambda: _grown(8, "nearest", 3),
    "_upsample_nearest_exact3d_backward": lambda: _grown(8, "nearest-exact", 3),
    "upsample_trilinear3d_backward": lambda: (
        _aten.upsample_trilinear3d(_x(1, 1, 4, 4, 4).requires_grad_(), [8, 8, 8], False).sum().backward()
    ),
    "kthvalue": lambda: torch.kthvalue(_x(3), 1),
    "_index_put_impl_": lambda: _aten._index_put_impl_(_x(3), [_index(2)], _x(2), True),
    "index_reduce": lambda: _x(3).index_reduce(0, _index(3), _x(3), "prod"),
    "scatter_add": lambda: _x(3).scatter_add(0, _index(3), _x(3)),
    "scatter.value_reduce": lambda: _x(3).scatter(0, _index(3), 2.0, reduce="add"),
    "scatter_reduce": lambda: _x(3).scatter_reduce(0, _index(3), _x(3), "sum"),
}


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("row", refusals.ALERTS, ids=[row.ops.split()[0] for row in refusals.ALERTS])
def test_deterministic_mode_raises(row):
    with pytest.raises(RuntimeError) as caught:
        ALERT_CALLS[row.ops.split()[0]]()
    start = f"{row.caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. "
    assert str(caught.value).startswith(start)


@pytest.mark.usefixtures("deterministic")
def test_deterministic_mode_leaves_the_rest():
    x = _x(3)
    assert x.scatter_reduce(0, _index(3), 5 * x, "amax").tolist() == [5, 1, 1]
    assert _x(3, dtype=torch.int32).scatter_add(0, _index(3), _x(3, dtype=torch.int32)).tolist() == [4, 1, 1]
    assert _aten._index_put_impl_(_x(3), [_index(1)], 4 * _x(1), False).tolist() == [4, 1, 1]
    F.conv2d(_x(1, 1, 4, 4).requires_grad_(), _x(1, 1, 2, 2)).sum().backward()
    _aten.upsample_bilinear2d(_x(1, 1, 4, 4).requires_grad_(), [8, 8], False).sum().backward()


def test_deterministic_mode_may_only_warn():
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with pytest.warns(UserWarning, match="kthvalue MPS does not have a deterministic implementation"):
            assert torch.kthvalue(_x(3), 1).values.item() == 1
    finally:
        torch.use_deterministic_algorithms(False)
