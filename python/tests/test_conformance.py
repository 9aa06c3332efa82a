"""The conformance tool itself, and a small sample of what it runs. The sample downloads torch's macOS wheel once."""

import io
import random

import pytest
import torch
from conformance import numeric, wheels
from conformance.cases import EXACT, Tolerance, Verdict
from conformance.memory import Output
from conformance.progress import Progress


def container(size, function_list=wheels.HEADER_BYTES):
    """A header as `wheels.embedded` reads it, filled up to `size` bytes."""
    header = wheels.MAGIC + bytes(12) + size.to_bytes(8, "little") + function_list.to_bytes(8, "little")
    return header.ljust(size, b"x")


def test_libraries_are_found_inside_other_data():
    first, second = container(100), container(93)
    assert wheels.embedded(b"image" + first + b"MTL" + second + b"MTLB") == [first, second]


@pytest.mark.parametrize("broken", [container(100)[:-1], container(88), container(100, function_list=96), b"MTLB"])
def test_what_only_looks_like_a_library_is_left_out(broken):
    assert wheels.embedded(broken) == []


def test_a_wheel_with_another_digest_is_refused_and_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFORMANCE_CACHE", str(tmp_path))
    path = tmp_path / "wheels" / wheels.WHEELS["mtlattn"].filename
    path.parent.mkdir()
    path.write_bytes(b"not the wheel")
    with pytest.raises(RuntimeError, match="SHA-256 is .*, expected 61d84ad3"):
        wheels.libraries("mtlattn")
    assert not path.exists()


# Fast families of every theme: their kernels compile in milliseconds each.
SAMPLE = ["abs", "add", "addcmul", "sum reduction", "argmax reduction", "softmax", "layer_norm", "cumsum decoupled"]
SAMPLE += ["histc in threadgroups", "unique", "sort in a block", "scatter_add", "index_put", "matmul", "uniform", "triu"]
RUNS_MAX = 6


@pytest.fixture(scope="module")
def library():
    return numeric.load("0")


def test_the_names_of_families_are_unique():
    names = [family.name for family in numeric.all_families()]
    assert len(names) == len(set(names)) >= 150


# torch warns at the first complex number of halves, of which the library has many kernels.
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("name", SAMPLE)
def test_results_of_real_kernels_are_atens(name, library, seed):
    [family] = [family for family in numeric.all_families() if family.name == name]
    report = numeric.run_family(*library, family, seed, runs_max=RUNS_MAX)
    assert report.is_right, "\n".join(report.verdict.complaints)


def test_pipelines_of_real_kernels_are_built(library, seed):
    loaded, _ = library
    for name in random.sample(dir(loaded), 40):
        assert getattr(loaded, name).thread_execution_width == 32, name


def test_a_wrong_result_is_seen():
    verdict = Verdict()
    expected = torch.tensor([1.0, float("nan"), 3.0])
    verdict.judge(torch.tensor([1.0, float("nan"), 3.0]), expected, EXACT, "equal")
    assert not verdict.complaints
    for wrong in ([1.0, 2.0, 3.0], [float("nan"), float("nan"), 3.0], [1.0, float("nan"), 3.1], [1.0, float("nan"), float("inf")]):
        verdict = Verdict()
        verdict.judge(torch.tensor(wrong), expected, Tolerance(1e-3), "wrong")
        assert len(verdict.complaints) == 1


@pytest.mark.parametrize("layout", ["dense", "inner", "strided"])
def test_writing_beside_an_output_is_seen(layout):
    output = Output((3, 4), torch.float32, layout, initial=torch.ones(3, 4))
    assert torch.equal(output.read(), torch.ones(3, 4))
    output.device[-1] = 0
    with pytest.raises(ValueError, match="wrote beside its output"):
        output.read()


def test_progress_is_for_terminals_alone():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream in (io.StringIO(), Terminal()):
        progress = Progress(4, "families", stream)
        for name in "abcd":
            progress.step(name)
        progress.clear()
        text = stream.getvalue()
        if stream.isatty():
            assert "] 4 of 4 families, 0 s left  d" in text and text.endswith("\r\x1b[K")
        else:
            assert text == ""
