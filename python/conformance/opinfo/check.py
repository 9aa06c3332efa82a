"""Runs one unit: every sample, forward and gradient, on "mps" and on "cpu"."""

import random
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from unittest import mock

import torch
from torch.testing._internal.common_utils import TestCase
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from conformance.opinfo import SKIPPED, tolerances
from conformance.opinfo.units import Unit, dtype_name, entries, expectation, has_gradient

#: Failed samples of a unit whose texts are kept; the count is exact.
TEXTS_MAX = 5

#: What the CPU often has no kernels for.
HALVES = (torch.float16, torch.bfloat16)

#: Seeds among which a random op gives two different results.
SEEDS = 10

#: Characters of a text that are kept.
TEXT_LENGTH_MAX = 400


@dataclass
class Outcome:
    """What became of a unit's samples."""

    unit: Unit
    expectation: str
    passed: int = 0
    failed: int = 0
    skipped: Counter = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def fail(self, where: str, error: BaseException | str) -> None:
        """Counts a failed sample, with its text."""
        self.failed += 1
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        if len(self.texts) < TEXTS_MAX:
            self.texts.append(f"{where}: {' '.join(text.split())}"[:TEXT_LENGTH_MAX])

    def as_json(self) -> dict:
        """What `report` reads."""
        return {**vars(self), "unit": None, "op": self.unit.op, "dtype": dtype_name(self.unit.dtype), "skipped": dict(self.skipped)}


class SkipSample(Exception):
    """A sample that says nothing about "mps"."""


class _Comparison(TestCase):
    """PyTorch's `assertEqual` outside of its runner."""

    def runTest(self) -> None:  # noqa: N802
        """Needed to make an instance."""


def run(unit: Unit) -> Outcome:
    """Every sample of the unit."""
    start = time.monotonic()
    outcome = Outcome(unit, expectation(unit, is_gradient=False))
    wants_gradient = has_gradient(unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            samples = entries()[unit.op].sample_inputs("mps:0", unit.dtype, requires_grad=wants_gradient, set_seed=True)
            for index, sample in enumerate(samples):
                _run_sample(outcome, index, sample, wants_gradient)
        except Exception as error:  # noqa: BLE001: whatever a generator of samples raises is a result
            outcome.fail("making samples", error)
    outcome.seconds = time.monotonic() - start
    return outcome


def _run_sample(outcome: Outcome, index: int, sample, wants_gradient: bool) -> None:
    try:
        expected, reference = _on_cpu(outcome.unit, sample)
        # Views that a generator made under `no_grad` would give no gradient; the reference has leaves, too.
        sample = _transformed(sample, _as_leaf)
        actual = _forward(outcome.unit, sample, expected, reference)
        if wants_gradient:
            _gradient(outcome.unit, sample, reference, actual, expected)
        outcome.passed += 1
    except SkipSample as reason:
        outcome.skipped[str(reason)] += 1
    except Exception as error:  # noqa: BLE001: whatever an op raises is a result
        if outcome.expectation == SKIPPED:
            outcome.skipped["upstream does not compare it"] += 1
        else:
            outcome.fail(f"sample {index}", error)


def _to_cpu(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu").requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or (isinstance(value, str) and value.startswith("mps")):
        return torch.device("cpu")
    return value


def _call(unit: Unit, sample, seed: int):
    torch.manual_seed(seed)
    random.seed(seed)
    return entries()[unit.op](sample.input, *sample.args, **sample.kwargs)


def _as_leaf(value):
    return value.detach().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def _to_float32(value):
    if isinstance(value, torch.Tensor) and value.dtype in HALVES:
        return value.detach().float().requires_grad_(value.requires_grad)
    return torch.float32 if value in HALVES else value


def _transformed(sample, function):
    result = sample.transform(function)
    result.kwargs = tree_map(function, result.kwargs)
    return result


def _on_cpu(unit: Unit, sample):
    """The CPU's result and its sample; in float32 where the CPU has no kernel for halves, as upstream's test does it."""
    reference = _transformed(sample, _to_cpu)
    try:
        try:
            return _call(unit, reference, seed=0), reference
        except NotImplementedError:
            if unit.dtype not in HALVES:
                raise
            reference = _transformed(_transformed(sample, _to_cpu), _to_float32)
            return _call(unit, reference, seed=0), reference
    except Exception as error:
        raise SkipSample(f"no reference: the CPU raises {type(error).__name__}") from error


def _forward(unit: Unit, sample, expected, reference):
    actual = _call(unit, sample, seed=0)
    if not _may_give_cpu_tensors(sample):
        for leaf in tree_leaves(actual):
            assert not isinstance(leaf, torch.Tensor) or leaf.device.type == "mps", f"a result is on {leaf.device}"
    try:
        _compare(unit, actual, expected)
    except AssertionError:
        if _is_random(unit, reference):
            _compare_shapes(actual, expected)
            raise SkipSample("random: shapes and dtypes agree") from None
        raise
    return actual


def _may_give_cpu_tensors(sample) -> bool:
    # The CPU was asked for, or nothing in the call names "mps".
    leaves = tree_leaves((sample.input, sample.args, sample.kwargs))
    devices = {leaf.device.type for leaf in leaves if isinstance(leaf, torch.Tensor)}
    named = {torch.device(leaf).type for leaf in leaves if isinstance(leaf, torch.device) or leaf in ("cpu", "mps")}
    return "cpu" in devices | named or "mps" not in devices | named


def _is_random(unit: Unit, reference) -> bool:
    """Whether the CPU itself gives something else for another seed. Some entries set a seed, which is shifted here."""
    manual_seed, first = torch.manual_seed, None
    for shift in range(SEEDS):
        with mock.patch.object(torch, "manual_seed", lambda seed, shift=shift: manual_seed(seed + shift)):
            result = tree_map(_copied, _call(unit, reference, seed=0))
        first = result if shift == 0 else first
        try:
            _compare(unit, result, first)
        except AssertionError:
            return True
    return False


def _copied(value):
    # Some entries change their input in place and return it.
    return value.detach().to("cpu", copy=True) if isinstance(value, torch.Tensor) else value


def _compare(unit: Unit, actual, expected) -> None:
    atol, rtol = tolerances.of(unit)
    given = tree_map(_copied, actual)
    _Comparison().assertEqual(given, _rounded(expected, given), atol=atol, rtol=rtol, exact_device=False)


def _rounded(expected, given):
    """The reference, with what was raised to float32 in the dtype of the result that it stands for."""
    leaves, structure = tree_flatten(expected)
    results = tree_leaves(given)
    if len(leaves) != len(results):
        return expected
    for index, (leaf, result) in enumerate(zip(leaves, results, strict=True)):
        if isinstance(leaf, torch.Tensor) and isinstance(result, torch.Tensor) and leaf.dtype == torch.float32 and result.dtype in HALVES:
            leaves[index] = leaf.detach().to(result.dtype)
    return tree_unflatten(leaves, structure)


def _compare_shapes(actual, expected) -> None:
    ours, theirs = ([leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)] for value in (actual, expected))
    facts = [[(leaf.shape, leaf.dtype) for leaf in leaves] for leaves in (ours, theirs)]
    assert facts[0] == facts[1], f"shapes and dtypes {facts[0]}, expected {facts[1]}"


def _differentiable(value) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def _gradient(unit: Unit, sample, reference, actual, expected) -> None:
    if expectation(unit, is_gradient=True) == SKIPPED:
        return
    outputs, expected_outputs = (_differentiable(given.output_process_fn_grad(result)) for given, result in ((sample, actual), (reference, expected)))
    inputs, expected_inputs = (_differentiable((given.input, given.args, given.kwargs)) for given in (sample, reference))
    assert len(outputs) == len(expected_outputs), f"{len(outputs)} differentiable results, expected {len(expected_outputs)}"
    assert len(inputs) == len(expected_inputs), f"{len(inputs)} differentiable inputs, expected {len(expected_inputs)}"
    if not outputs or not inputs:
        return
    # Numbers that both dtypes have: the reference may be in float32 where the result is in halves.
    pairs = list(zip(expected_outputs, outputs, strict=True))
    seeds = [torch.rand_like(wanted, dtype=_seed_dtype(wanted)).to(given.dtype).to(wanted.dtype) for wanted, given in pairs]
    try:
        wanted = torch.autograd.grad(expected_outputs, expected_inputs, seeds, allow_unused=True)
    except Exception:  # noqa: BLE001: no reference for the gradient; the forward pass was compared
        return
    own_seeds = [seed.to("mps", output.dtype) for seed, output in zip(seeds, outputs, strict=True)]
    given = torch.autograd.grad(outputs, inputs, own_seeds, allow_unused=True)
    _compare(unit, list(given), list(wanted))


def _seed_dtype(output: torch.Tensor) -> torch.dtype:
    return torch.complex64 if output.is_complex() else torch.float32
