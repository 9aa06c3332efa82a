"""PYTORCH_MPS_PREFER_METAL: matrix products through Metal kernels, in a process of their own."""

import snippets

_PRODUCTS = """
    import warnings
    import torch
    warnings.simplefilter("ignore")  # Complex numbers of halves are experimental, PyTorch says.
    from openmps import _matmul

    launches = []
    launch = _matmul._launch
    _matmul._launch = lambda *arguments: launches.append(1) or launch(*arguments)

    def close(given, expected, dtype):
        assert given.device.type == "mps" and given.dtype == expected.dtype, (given.device, given.dtype)
        given = given.cpu()
        if dtype.is_complex or dtype.is_floating_point:
            wide = torch.complex64 if dtype.is_complex else torch.float32
            tolerance = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.complex32: 5e-2}.get(dtype, 1e-4)
            torch.testing.assert_close(given.to(wide), expected.to(wide), rtol=tolerance, atol=tolerance)
        else:
            assert torch.equal(given, expected)

    def make(shape, dtype):
        if dtype.is_complex:
            return torch.randn(*shape, dtype=torch.complex64).to(dtype)
        return torch.randn(*shape).to(dtype) if dtype.is_floating_point else torch.randint(0, 5, shape).to(dtype)

    def wide(tensor):
        return {torch.complex32: tensor.to(torch.complex64)}.get(tensor.dtype, tensor)

    dtypes = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.complex64, torch.complex32]
    for dtype in dtypes:
        a, b, c = make((33, 20), dtype), make((20, 17), dtype), make((17,), dtype)
        batch_a, batch_b, batch_c = make((3, 5, 20), dtype), make((3, 20, 9), dtype), make((3, 5, 9), dtype)
        m = [tensor.to("mps") for tensor in (a, b, c, batch_a, batch_b, batch_c)]
        close(torch.mm(m[0], m[1]), torch.mm(wide(a), wide(b)).to(dtype), dtype)
        close(torch.mm(m[1].t(), m[0].t()), torch.mm(wide(b).t(), wide(a).t()).to(dtype), dtype)
        close(torch.bmm(m[3], m[4]), torch.bmm(wide(batch_a), wide(batch_b)).to(dtype), dtype)
        factors = dict(beta=2, alpha=3)
        close(torch.addmm(m[2], m[0], m[1], **factors), torch.addmm(wide(c), wide(a), wide(b), **factors).to(dtype), dtype)
        close(torch.baddbmm(m[5], m[3], m[4], **factors), torch.baddbmm(wide(batch_c), wide(batch_a), wide(batch_b), **factors).to(dtype), dtype)
        out = torch.empty(0, dtype=dtype, device="mps")
        assert torch.mm(m[0], m[1], out=out) is out
        close(out, torch.mm(wide(a), wide(b)).to(dtype), dtype)
    assert len(launches) == 6 * len(dtypes), len(launches)

    # Layouts, empty sizes, NaN that beta = 0 ignores, gradients.
    x = torch.randn(2, 7, 6, device="mps").transpose(0, 1)
    w, v = torch.randn(4, 6, device="mps"), torch.randn(4, device="mps")
    torch.testing.assert_close(torch.nn.functional.linear(x, w, v).cpu(), torch.nn.functional.linear(x.cpu(), w.cpu(), v.cpu()), rtol=1e-4, atol=1e-5)
    assert torch.mm(torch.ones(3, 0, device="mps"), torch.ones(0, 2, device="mps")).tolist() == [[0.0, 0.0]] * 3
    assert torch.mm(torch.ones(0, 3, device="mps"), torch.ones(3, 2, device="mps")).shape == (0, 2)
    poisoned = torch.full((2, 2), float("nan"), device="mps")
    assert torch.addmm(poisoned, torch.ones(2, 2, device="mps"), torch.ones(2, 2, device="mps"), beta=0).tolist() == [[2.0, 2.0]] * 2
    target = torch.ones(2, 2, device="mps")
    assert target.addmm_(torch.eye(2, device="mps"), torch.eye(2, device="mps"), alpha=4) is target and target.tolist() == [[5.0, 1.0], [1.0, 5.0]]
    model = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
    data = torch.randn(4, 5)
    model(data).square().sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model.to("mps")(data.to("mps")).square().sum().backward()
    for parameter, gradient in zip(model.parameters(), expected):
        torch.testing.assert_close(parameter.grad.cpu(), gradient, rtol=1e-4, atol=1e-5)
    conj = torch.randn(3, 3, dtype=torch.complex64, device="mps").conj()
    torch.testing.assert_close((conj @ conj.t()).cpu(), conj.cpu() @ conj.cpu().t(), rtol=1e-4, atol=1e-5)

    def tell(call):
        try:
            print("no error", call())
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])

    ones = torch.ones(2, 3, device="mps")
    tell(lambda: torch.mm(ones, ones))
    tell(lambda: torch.mm(ones, ones.t().cpu()))
    tell(lambda: torch.mm(ones, ones.t().int()))
    tell(lambda: torch.mm(ones.bool(), ones.t().bool()))
    tell(lambda: torch.bmm(ones, ones))
    print("done")
"""


def test_products():
    lines = snippets.output(_PRODUCTS, PYTORCH_MPS_PREFER_METAL="0").splitlines()
    assert lines == [
        "RuntimeError a and b must have same reduction dim, but got [2, 3] X [2, 3].",
        "RuntimeError Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on mps:0 "
        "(when checking argument in method wrapper_MPS_mm)",
        "RuntimeError expected m1 and m2 to have the same dtype, but got: float != int",
        "NotImplementedError \"addmm_impl_cpu_\" not implemented for 'Bool'",
        "RuntimeError batch1 must be a 3D tensor",
        "done",
    ]


def test_without_the_variable_products_are_atens():
    code = "import torch; from openmps import _matmul; torch.ones(2, 2, device='mps') @ torch.ones(2, 2, device='mps'); print(_matmul._libraries)"
    assert snippets.output(code) == "[]"
