"""Copies between host and device and on the device: all dtypes, strides, offsets, overlaps of layouts."""

import random

import pytest
import torch
from test_creation import DTYPES


def _random(shape, dtype):
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if dtype.is_complex:
        return torch.randn(shape, dtype=torch.complex64).to(dtype)
    if dtype.is_floating_point:
        return (torch.randn(shape) * 10).to(dtype)
    return torch.randint(0, 120, shape).to(dtype)


def _bits(tensor):
    """The elements as bytes, so that comparison works for every dtype and distinguishes NaNs and zeros."""
    return tensor.contiguous().view(-1).view(torch.uint8)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex32, torch.float8_e4m3fn], ids=str)
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("non_blocking", [False, True])
def test_there_and_back(dtype, non_blocking):
    source = torch.randint(0, 255, (random.randrange(1, 5000) * dtype.itemsize,), dtype=torch.uint8)
    source = source.remainder(2) if dtype == torch.bool else source
    source = source.view(dtype)
    device = source.to("mps", non_blocking=non_blocking)
    back = device.to("cpu", non_blocking=non_blocking)
    torch.mps.synchronize()
    assert (device.dtype, device.device.type, back.device.type) == (dtype, "mps", "cpu")
    assert torch.equal(_bits(back), _bits(source))


def _layouts(base):
    """Views of a 4-dimensional tensor with strides of every kind."""
    yield base
    yield base.transpose(0, 3)
    yield base.permute(2, 0, 3, 1)
    yield base[1:, ::2, :, 1::3]
    yield base[..., 2]
    yield base[:1].expand(3, *base.shape[1:])
    yield base.to(memory_format=torch.channels_last)
    yield base[1, 1, 1, 1]
    yield base[:0]
    yield base.as_strided((3, 4), (5, 2), 7)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_strided_to_the_device_and_back(dtype):
    base = _random((4, 6, 5, 7), dtype)
    for view, device_view in zip(_layouts(base), _layouts(base.to("mps")), strict=True):
        assert torch.equal(view.to("mps").cpu(), view)
        assert torch.equal(device_view.cpu(), view)
        assert view.to("mps").stride() == view.clone().stride()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_strided_into_strided(dtype):
    base = _random((4, 6, 5, 7), dtype)
    for kind in ("host to device", "device to host", "device to device"):
        sources = _layouts(base if kind.startswith("host") else base.to("mps"))
        for index, source in enumerate(sources):
            expected = torch.zeros(7, 7, 7, 7, 3, dtype=dtype)
            target = expected.to("cpu" if kind.endswith("host") else "mps")
            place = (*(slice(0, size) for size in source.shape), *([0] * (4 - source.dim())), 1)
            expected[place] = source.cpu()
            target[place].copy_(source)
            assert torch.equal(target.cpu(), expected), (kind, index)


_CONVERSIONS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
                torch.bool, torch.complex64]  # fmt: skip


@pytest.mark.parametrize("source_dtype", _CONVERSIONS, ids=str)
@pytest.mark.parametrize("target_dtype", _CONVERSIONS, ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_conversion(source_dtype, target_dtype):
    source = _random((33,), source_dtype)
    if source_dtype.is_complex and not target_dtype.is_complex:
        source = source.real.to(source_dtype)
    if source_dtype.is_signed and not target_dtype.is_signed:
        source = source.abs().to(source_dtype)  # A negative float has no unsigned value in C++.
    expected = source.to(target_dtype)
    assert torch.equal(source.to("mps").to(target_dtype).cpu(), expected)
    assert torch.equal(source.to("mps", target_dtype).cpu(), expected)
    target = torch.zeros(33, dtype=target_dtype)
    assert torch.equal(target.copy_(source.to("mps")), expected)


def test_storage_offsets():
    base = torch.arange(100.0)
    device = base.to("mps")
    for offset in (1, 3, 64, 99):
        assert torch.equal(device[offset:].cpu(), base[offset:])
        assert device[offset:].data_ptr() == device.data_ptr() + 4 * offset
    device[7:].copy_(torch.zeros(93))
    assert device.sum().item() == base[:7].sum().item()


def test_broadcast_and_resize():
    target = torch.zeros(3, 4, device="mps")
    target.copy_(torch.arange(4.0))
    assert torch.equal(target.cpu(), torch.arange(4.0).expand(3, 4))
    with pytest.raises(RuntimeError):
        target.copy_(torch.zeros(2, 4))


def test_conj_and_neg_views():
    source = torch.randn(50, dtype=torch.complex64)
    device = source.to("mps")
    assert torch.equal(device.conj().cpu().resolve_conj(), source.conj().resolve_conj())
    assert torch.equal(device.conj().imag.cpu().resolve_neg(), source.conj().imag.resolve_neg())
    target = torch.zeros(50, dtype=torch.complex64, device="mps")
    target.copy_(source.conj())
    assert torch.equal(target.cpu(), source.conj().resolve_conj())


def test_views_share_memory():
    x = torch.arange(12.0, device="mps")
    x.view(3, 4).t()[1, 2] = 100
    assert x[9].item() == 100
    alias = x.detach()
    alias.zero_()
    assert x.sum().item() == 0


def test_setitem_and_getitem():
    x = torch.randn(20, 20)
    device = x.to("mps")
    index = torch.randint(0, 20, (10,))
    assert torch.equal(device[index.to("mps")].cpu(), x[index])
    device[3:5] = 7
    device[:, 2] = torch.arange(20.0)
    device[device > 2] = -1
    x[3:5] = 7
    x[:, 2] = torch.arange(20.0)
    x[x > 2] = -1
    assert torch.equal(device.cpu(), x)


def test_non_blocking_into_pinned():
    source = torch.randn(10000, device="mps")
    pinned = torch.empty(10000).pin_memory()
    pinned.copy_(source, non_blocking=True)
    torch.mps.synchronize()
    assert torch.equal(pinned, source.cpu())


def test_large_copies():
    source = torch.randint(0, 255, ((33 << 20) + 7,), dtype=torch.uint8)
    device = source.to("mps")
    assert torch.equal((device + 0).cpu(), source)
