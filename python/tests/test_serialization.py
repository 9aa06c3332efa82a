"""Saving, loading, pickling, copying; storages; safetensors through the host's view of a storage."""

import copy
import io
import pickle

import pytest
import safetensors
import safetensors.torch
import torch


def _round_trip(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


def test_save_and_load():
    x = torch.randn(3, 4, device="mps")
    back = _round_trip({"x": x, "view": x[1:, ::2]})
    assert back["x"].device == x.device and torch.equal(back["x"], x)
    assert torch.equal(back["view"], x[1:, ::2])
    assert back["view"].untyped_storage().data_ptr() == back["x"].untyped_storage().data_ptr()


@pytest.mark.parametrize("location", ["mps", "mps:0", torch.device("mps"), torch.device("mps", 0)])
def test_map_to_the_device(location):
    x = torch.arange(10)
    back = _round_trip(x, map_location=location)
    assert back.device.type == "mps" and torch.equal(back.cpu(), x)


def test_map_to_the_cpu():
    back = _round_trip(torch.arange(10, device="mps"), map_location="cpu")
    assert back.device.type == "cpu" and torch.equal(back, torch.arange(10))


def test_load_mapped_file(tmp_path):
    x = torch.randn(1000)
    torch.save(x, tmp_path / "x.pt")
    assert torch.equal(torch.load(tmp_path / "x.pt", map_location="mps", mmap=True).cpu(), x)


def test_state_dict():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).to("mps")
    other = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).to("mps")
    other.load_state_dict(_round_trip(model.state_dict()))
    for ours, theirs in zip(other.state_dict().values(), model.state_dict().values(), strict=True):
        assert ours.device.type == "mps" and torch.equal(ours, theirs)


def test_pickle_and_deepcopy():
    x = torch.randn(3, device="mps", requires_grad=True)
    for back in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert back.device == x.device and back.requires_grad and torch.equal(back, x)
        assert back.data_ptr() != x.data_ptr()


def test_untyped_storage():
    storage = torch.UntypedStorage(16, device="mps")
    assert (storage.device, storage.nbytes()) == (torch.device("mps:0"), 16)
    assert torch.UntypedStorage(device="mps").nbytes() == 0
    assert torch.UntypedStorage(4, device=torch.device("mps", 0)).device.type == "mps"
    assert torch.UntypedStorage(8).device.type == "cpu"
    assert torch.UntypedStorage(8, device="cpu").nbytes() == 8
    assert torch.UntypedStorage(8, device="meta").device.type == "meta"
    assert torch.UntypedStorage([1, 2, 3], device="mps").cpu().tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError):
        torch.UntypedStorage(-1, device="mps")


def test_storage_moves():
    host = torch.arange(4.0).untyped_storage()
    device = host.mps()
    assert device.device.type == "mps" and device.mps() is device
    assert device.cpu().tolist() == host.tolist()
    tensor = torch.empty(0, device="mps").set_(device, 0, (4,))
    tensor[0] = 5
    assert torch.equal(tensor.cpu(), torch.tensor([5.0, 1, 2, 3]))
    assert tensor.untyped_storage().data_ptr() == device.data_ptr()


def test_host_alias_is_the_same_memory():
    tensor = torch.arange(4.0, device="mps")
    alias = torch.mps._host_alias_storage(tensor.untyped_storage())
    assert alias.device.type == "cpu" and alias.nbytes() == 16 and not alias.resizable()
    view = torch.empty(0).set_(alias, 0, (4,))
    torch.mps.synchronize()
    view[1] = 9
    assert tensor[1].item() == 9
    tensor[2] = 7
    torch.mps.synchronize()
    assert view.tolist() == [0, 9, 7, 3]


def test_host_alias_keeps_the_memory():
    alias = torch.mps._host_alias_storage(torch.full((1000,), 3.0, device="mps").untyped_storage())
    torch.full((1000,), 5.0, device="mps")
    assert torch.empty(0).set_(alias, 0, (1000,)).sum().item() == 3000


def test_host_alias_errors():
    with pytest.raises(ValueError, match="^getHostAliasStorage: expected an MPS storage, got device=cpu$"):
        torch.mps._host_alias_storage(torch.ones(2).untyped_storage())
    with pytest.raises(RuntimeError, match="^getHostAliasStorage: storage was not allocated by the MPSAllocator$"):
        torch.mps._host_alias_storage(torch.UntypedStorage(0, device="mps"))
    with pytest.raises(TypeError):
        torch.mps._host_alias_storage(torch.ones(2, device="mps"))


def test_safetensors(tmp_path):
    tensors = {"a": torch.randn(5, 7), "b": torch.randint(0, 9, (11,)), "c": torch.randn(3).bfloat16()}
    path = tmp_path / "model.safetensors"
    safetensors.torch.save_file({name: tensor.to("mps") for name, tensor in tensors.items()}, path)
    loaded = safetensors.torch.load_file(path, device="mps")
    for name, tensor in tensors.items():
        assert loaded[name].device.type == "mps" and torch.equal(loaded[name].cpu(), tensor)
    with safetensors.safe_open(path, framework="pt", device="mps") as file:
        assert torch.equal(file.get_slice("a")[1:3].cpu(), tensors["a"][1:3])


def test_safetensors_bytes_through_the_alias(tmp_path):
    # What a bulk loader does: read the file's bytes straight into device memory.
    tensor = torch.randn(64)
    path = tmp_path / "x.safetensors"
    safetensors.torch.save_file({"x": tensor}, path)
    data = path.read_bytes()
    target = torch.zeros(64, device="mps")
    torch.mps.synchronize()
    alias = torch.empty(0, dtype=torch.uint8).set_(torch.mps._host_alias_storage(target.untyped_storage()), 0, (256,))
    alias.copy_(torch.frombuffer(bytearray(data[-256:]), dtype=torch.uint8))
    torch.mps.synchronize()
    assert torch.equal(target.cpu(), tensor)
