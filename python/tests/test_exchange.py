"""What passes tensors on to others: export, DLPack, default devices, hooks, deterministic mode, sharing, foreach lists."""

import copy
from multiprocessing.reduction import ForkingPickler

import numpy
import pytest
import torch
import torch.multiprocessing  # noqa: F401: teaches `ForkingPickler` what tensors are
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export.passes import move_to_device_pass
from torch.utils.flop_counter import FlopCounterMode


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 5)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.convolution(x))).mean((2, 3)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_export_save_and_load(tmp_path):
    model, x = Model().eval().to("mps"), torch.randn(2, 3, 6, 6, device="mps")
    exported = torch.export.export(model, (x,))
    torch.testing.assert_close(exported.module()(x), model(x), rtol=1e-5, atol=1e-5)
    torch.export.save(exported, tmp_path / "model.pt2")
    loaded = torch.export.load(tmp_path / "model.pt2")
    torch.testing.assert_close(loaded.module()(x), model(x), rtol=1e-5, atol=1e-5)
    decomposed = loaded.run_decompositions()
    torch.testing.assert_close(decomposed.module()(x), model(x), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_export_of_every_size_and_to_another_device():
    model, x = Model().eval(), torch.randn(2, 3, 6, 6)
    exported = torch.export.export(model, (x,), dynamic_shapes={"x": {0: torch.export.Dim("batch", min=2)}}, strict=True)
    moved = move_to_device_pass(exported, "mps")
    x = torch.randn(5, 3, 6, 6)
    torch.testing.assert_close(moved.module()(x.to("mps")).cpu(), model(x), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_traced_modules(tmp_path):
    model, x = Model().eval().to("mps"), torch.randn(2, 3, 6, 6, device="mps")
    torch.jit.save(torch.jit.trace(model, x), tmp_path / "model.pt")
    for device in ("mps", "cpu"):
        loaded = torch.jit.load(tmp_path / "model.pt", map_location=device)
        given = loaded(x.to(device))
        assert given.device.type == device
        torch.testing.assert_close(given.to("mps"), model(x), rtol=1e-5, atol=1e-5)


def test_ops_of_a_library_with_a_kernel_for_the_device():
    with torch.library._scoped_library("openmps_tests", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "MPS")
        library.impl("twice", torch.empty_like, "Meta")
        twice = torch.ops.openmps_tests.twice.default
        assert twice(torch.ones(2, device="mps")).tolist() == [2.0, 2.0]
        with pytest.raises(NotImplementedError, match="Could not run 'openmps_tests::twice' with arguments from the 'CPU' backend"):
            twice(torch.ones(2))
        torch.library.opcheck(twice, (torch.ones(3, device="mps"),))


def test_dlpack():
    x = torch.arange(6.0, device="mps").view(2, 3)
    assert x.__dlpack_device__() == (8, 0)
    back = torch.from_dlpack(x)
    assert back.device == x.device and torch.equal(back, x)
    back[0, 0] = 7
    assert x[0, 0].item() == 7
    with pytest.raises(BufferError, match="require gradient"):
        torch.ones(2, device="mps", requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="conjugate bit"):
        torch.ones(2, dtype=torch.complex64, device="mps").conj().__dlpack__()
    with pytest.raises(BufferError, match="layout other than torch.strided"):
        torch.eye(2, device="mps").to_sparse().__dlpack__()


def test_numpy_refuses():
    with pytest.raises(TypeError, match="can't convert mps:0 device type tensor to numpy. Use Tensor.cpu"):
        torch.ones(2, device="mps").numpy()
    with pytest.raises(TypeError, match="can't convert mps:0 device type tensor to numpy"):
        numpy.asarray(torch.ones(2, device="mps"))


def test_default_device():
    torch.set_default_device("mps")
    try:
        assert torch.ones(2).device.type == torch.nn.Linear(2, 2).weight.device.type == "mps"
        assert torch.tensor([1, 2]).device.type == torch.randn(2).device.type == "mps"
        with torch.device("cpu"):
            assert torch.ones(2).device.type == "cpu"
        assert torch.get_default_device() == torch.device("mps", 0)
    finally:
        torch.set_default_device(None)
    with torch.device("mps"):
        assert torch.arange(3).device.type == "mps"
    assert torch.ones(2).device.type == "cpu"


def test_hooks():
    x = torch.ones(3, device="mps", requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(lambda gradient: seen.append(gradient.device.type) or gradient * 10)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    y.sum().backward()
    assert seen == ["mps", [20.0] * 3]
    module = torch.nn.Linear(3, 3).to("mps")
    module.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 0,))
    module.register_forward_hook(lambda module, inputs, output: output - module.bias)
    module.register_full_backward_hook(lambda module, given, wanted: seen.append(wanted[0].device.type))
    assert module(x).tolist() == [0.0] * 3
    module(x).sum().backward()
    assert seen.count("mps") == 2, "the hook of the module"
    with torch.autograd.graph.save_on_cpu():
        (torch.exp(x)).sum().backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.cpu(), lambda tensor: tensor.to("mps")):
        (torch.sin(x)).sum().backward()


def test_deterministic_mode():
    x = torch.randn(1, 1, 4, 4, device="mps", requires_grad=True)
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.isnan(torch.empty(3, device="mps")).all()
        first, second = (torch.zeros(3, device="mps").index_add_(0, torch.tensor([0, 0, 1], device="mps"), x.detach().flatten()[:3]) for _ in range(2))
        assert torch.equal(first, second)
    finally:
        torch.use_deterministic_algorithms(False)


def test_views_are_shared_and_copies_are_not():
    x = torch.arange(4.0, device="mps")
    twin, deep = x.view(2, 2), copy.deepcopy(x)
    x.add_(1)
    assert twin.flatten().tolist() == [1.0, 2.0, 3.0, 4.0] and deep.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert x.untyped_storage().data_ptr() == twin.untyped_storage().data_ptr()


def test_foreach_lists():
    lists = [[torch.randn(shape) for shape in ((3,), (2, 4), ())] for _ in range(2)]
    moved = [[tensor.to("mps") for tensor in tensors] for tensors in lists]
    for function in (torch._foreach_add, torch._foreach_mul, torch._foreach_maximum, torch._foreach_lerp):
        arguments = (0.5,) if function is torch._foreach_lerp else ()
        expected, given = function(*lists, *arguments), function(*moved, *arguments)
        for ours, theirs in zip(given, expected, strict=True):
            assert ours.device.type == "mps"
            torch.testing.assert_close(ours.cpu(), theirs)
    norms = torch._foreach_norm(moved[0])
    for ours, theirs in zip(norms, torch._foreach_norm(lists[0]), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)
    torch._foreach_zero_(moved[0])
    assert all(not tensor.any() for tensor in moved[0])
    clipped = [torch.nn.Parameter(torch.ones(4, device="mps"))]
    clipped[0].grad = torch.full((4,), 10.0, device="mps")
    assert torch.nn.utils.clip_grad_norm_(clipped, 1.0).item() == 20.0
    torch.testing.assert_close(clipped[0].grad.norm().item(), 1.0, rtol=1e-5, atol=0)


def test_nested_tensors():
    parts = [torch.ones(2), torch.ones(3)]
    with pytest.raises(RuntimeError, match="NestedTensorImpl storage must be either CUDA, CPU, XPU or privateuseone but got mps:0"):
        torch.nested.nested_tensor(parts, device="mps")
    with pytest.raises(NotImplementedError, match="Could not run 'aten::_to_copy' with arguments from the 'NestedTensorMPS' backend"):
        torch.nested.nested_tensor(parts).to("mps")
    jagged = torch.nested.nested_tensor_from_jagged(torch.arange(5.0, device="mps"), torch.tensor([0, 2, 5], device="mps"))
    assert (jagged * 2).values().tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    with pytest.raises(NotImplementedError, match="'aten::_jagged_to_padded_dense_forward' is not currently implemented for the MPS device"):
        jagged.to_padded_tensor(0.0)


def test_memory_is_not_shared_between_processes():
    x = torch.ones(3, device="mps")
    assert x.is_shared() and x.share_memory_() is x, "only the CPU has shared memory, and the rest counts as shared"
    for function in (x.untyped_storage()._share_fd_cpu_, x.untyped_storage()._share_filename_cpu_):
        with pytest.raises(RuntimeError, match="only available on CPU"):
            function()
    with pytest.raises(RuntimeError, match="_share_fd_: only available on CPU"):
        ForkingPickler.dumps(x)
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        x.pin_memory()
    assert not x.is_pinned() and torch.ones(2).pin_memory().is_pinned()


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_compressed_layouts_are_refused():
    x = torch.eye(3, device="mps")
    for convert in (x.to_sparse_csr, x.to_sparse_csc, lambda: x.to_sparse_bsr((1, 1))):
        with pytest.raises((NotImplementedError, RuntimeError)):
            convert()


def test_scaler_on_the_device():
    scaler = torch.amp.GradScaler("mps", init_scale=4.0)
    weight = torch.nn.Parameter(torch.ones(3, device="mps"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0] * 3
    scaler.step(optimizer)
    scaler.update()
    weight.grad.fill_(float("inf"))
    before = weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(weight.detach(), before) and scaler.get_scale() == 2.0


def test_sparse_gradients_train():
    embedding = torch.nn.Embedding(10, 4, sparse=True).to("mps")
    before = embedding.weight.detach().clone()
    embedding(torch.tensor([1, 2, 2], device="mps")).sum().backward()
    assert embedding.weight.grad.is_sparse and embedding.weight.grad.device.type == "mps"
    torch.optim.SGD(embedding.parameters(), lr=0.5).step()
    change = (before - embedding.weight).detach()
    assert change[1].tolist() == pytest.approx([0.5] * 4) and change[2].tolist() == pytest.approx([1.0] * 4) and not change[3:].any()


def test_modules_without_memory_get_some():
    lazy = torch.nn.LazyLinear(3).to("mps")
    assert lazy(torch.ones(2, 5, device="mps")).shape == (2, 3) and lazy.weight.device.type == "mps"
    with torch.device("meta"):
        empty = torch.nn.Linear(3, 3)
    assert empty.to_empty(device="mps").weight.device.type == "mps"
    with FakeTensorMode():
        assert (torch.ones(3, device="mps") + 1).device == torch.device("mps", 0)


def test_modes_and_subclasses_see_ops():
    class Subclass(torch.Tensor):
        pass

    x = torch.ones(3, 3, device="mps").as_subclass(Subclass)
    assert type(x + 1) is Subclass
    with FlopCounterMode(display=False) as counter:
        torch.nn.Linear(3, 3).to("mps")(torch.ones(3, 3, device="mps")).sum().backward()
    assert counter.get_total_flops() == 2 * 54
