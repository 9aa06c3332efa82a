"""Numbers beside tensors (`x * 0.5`): values, dtypes and gradients as on the CPU, in every thread and for every pair of dtypes."""

import operator
import threading

import pytest
import torch

import snippets

OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "add_": lambda x, n: x.clone().add_(n), "sub_": lambda x, n: x.clone().sub_(n),
    "mul_": lambda x, n: x.clone().mul_(n), "div_": lambda x, n: x.clone().div_(n),
    "alpha": lambda x, n: torch.add(x, n, alpha=3), "reversed": lambda x, n: n - x,
}  # fmt: skip
NUMBERS = [0.1, -3, 2**53 + 1, 1e300, -0.0, float("nan"), float("inf"), 5e-324, 16777217, True]
TENSORS = {
    "float32": torch.tensor([1.5, -2.25, 0.0, -0.0, float("inf"), 1e-40, 3e38]),
    "no dimensions": torch.tensor(1.5),
    "strided": torch.arange(12.0).reshape(3, 4).t()[1:, ::2],
    "empty": torch.empty(0, 3),
    "float16": torch.tensor([1.5, -2.25], dtype=torch.float16),
    "bfloat16": torch.tensor([1.5, -2.25], dtype=torch.bfloat16),
    "int32": torch.tensor([3, -4], dtype=torch.int32),
    "complex64": torch.tensor([1 + 2j, -3j]),
}


def _outcome(function, tensor, number):
    try:
        result = function(tensor, number)
    except (RuntimeError, TypeError) as error:
        return type(error)
    return result.dtype, result.cpu()


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kind", TENSORS)
def test_results_are_those_of_the_cpu(name, kind):
    for number in NUMBERS:
        expected = _outcome(OPERATORS[name], TENSORS[kind], number)
        given = _outcome(OPERATORS[name], TENSORS[kind].to("mps"), number)
        if isinstance(expected, type):
            assert given is expected, number
        else:
            assert given[0] == expected[0], number
            torch.testing.assert_close(given[1], expected[1], rtol=0, atol=0, equal_nan=True)


def test_a_default_dtype_of_double_changes_nothing():
    torch.set_default_dtype(torch.float64)
    try:
        for value in (torch.tensor([1.5], dtype=torch.float32), torch.tensor(1.5, dtype=torch.float32)):
            assert (value.to("mps") * 0.1).dtype == torch.float32
            assert (value.to("mps") + 3).item() == 4.5
    finally:
        torch.set_default_dtype(torch.float32)


def test_gradients():
    x = torch.randn(7)
    found = []
    for device in ("cpu", "mps"):
        leaf = x.clone().to(device).requires_grad_()
        ((leaf * 0.3 + 2) / 7 - 0.1).square().sum().backward()
        found.append(leaf.grad.cpu())
    torch.testing.assert_close(found[1], found[0])


def test_results_do_not_share_the_number():
    x = torch.zeros((), device="mps")
    results = [x + number for number in (1.0, 2.0, 3.0)]
    assert [result.item() for result in results] == [1.0, 2.0, 3.0]
    saved = torch.ones(3, device="mps", requires_grad=True) * 4.0
    torch.ones(3, device="mps") * 5.0
    assert saved.grad_fn._saved_other.item() == 4.0


def test_numbers_take_no_memory_of_the_device():
    code = """
        import torch
        x = torch.ones(4, device="mps")
        before = torch.mps.current_allocated_memory()
        x.mul_(0.5).add_(1)
        print(torch.mps.current_allocated_memory() == before, x.tolist())
    """
    assert snippets.output(code) == "True [1.5, 1.5, 1.5, 1.5]"


def test_threads_have_numbers_of_their_own():
    wrong = []

    def work(index):
        x = torch.ones(64, device="mps")
        for step in range(300):
            if (x * float(index * 1000 + step))[0].item() != index * 1000 + step:
                wrong.append((index, step))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
