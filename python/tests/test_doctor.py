"""The doctor: scripts, saved programs and callables, with the lines that a Mac would stop at."""

import json
import subprocess
import sys

import pytest
import torch
from openmps import doctor

SCRIPT = """\
import sys, torch
x = torch.rand(4, 4, device="mps", requires_grad=True)
print("arguments", sys.argv[1:])
for _ in range(3):
    m = torch.mode(x)
y = torch.nn.functional.multi_margin_loss(x, torch.tensor([0, 1, 2, 3], device="mps"))
y.backward()
"""


def run(*arguments, cwd):
    command = [sys.executable, "-c", "import openmps_command as c; c.main()", "doctor", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_a_script_runs_to_its_end_and_every_line_is_told(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = run("train.py", "--epochs", "2", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "arguments ['--epochs', '2']"
    assert "train.py:5: aten::mode is not implemented for MPS: it raises NotImplementedError" in lines[1]
    assert lines[1].endswith("[3 calls]")
    assert lines[2] == "    m = torch.mode(x)"
    assert any("train.py:6: aten::multi_margin_loss" in line for line in lines)
    assert any("train.py:7: aten::multi_margin_loss_backward" in line for line in lines), "gradients count for the line of backward()"


def test_json_is_alone_on_standard_output(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = run("--json", "train.py", cwd=tmp_path)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    first = found["findings"][0]
    assert found["clean"] is False
    assert (first["outcome"], first["subject"], first["line"], first["calls"]) == ("fails", "aten::mode", 5, 3)
    assert first["code"] == "m = torch.mode(x)" and first["file"].endswith("train.py") and first["function"] == "<module>"
    assert "arguments []" in done.stderr


@pytest.mark.parametrize(
    ("text", "subject", "line"),
    [
        ("import torch\nx = torch.ones(2, device='mps')\nx.double()\n", "TypeError", 3),
        ("import torch\nx = torch.ones(2, device='mps')\nx + torch.ones(2)\n", "RuntimeError", 3),
    ],
)
def test_what_raises_here_raises_there(tmp_path, text, subject, line):
    (tmp_path / "p.py").write_text(text)
    report = doctor.diagnose_script(str(tmp_path / "p.py"), [])
    [finding] = report
    assert (finding.outcome, finding.subject, finding.place.line) == ("raises", subject, line)


def test_a_clean_script(tmp_path):
    (tmp_path / "p.py").write_text("import sys, torch\ntorch.ones(2, device='mps').sum().item()\nsys.exit(3)\n")
    done = run("p.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "nothing found that would fail on a Mac\n")


def test_what_cannot_be_examined_is_an_error(tmp_path):
    torch.save({"weight": torch.ones(2)}, tmp_path / "state.pt")
    for name, text in (("missing.py", "no such file"), ("nomodule:f", "No module named 'nomodule'"), ("state.pt", "holds no TorchScript module")):
        done = run(name, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("openmps doctor: error: ") and text in done.stderr


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.special.airy_ai(x) + torch.mode(x).values.to(torch.float64).sum().float()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_saved_programs_are_read(tmp_path):
    exported = torch.export.export(Model(), (torch.ones(3, 3),))
    torch.export.save(exported, tmp_path / "model.pt2")
    torch.jit.trace(Model(), torch.ones(3, 3)).save(tmp_path / "model.pt")
    found = [(f.outcome, f.subject) for f in doctor.diagnose_exported(torch.export.load(tmp_path / "model.pt2"))]
    assert ("fails", "aten::special_airy_ai") in found and ("fails", "aten::mode") in found
    assert any(outcome == "raises" and subject == "TypeError" for outcome, subject in found), "float64"
    report = doctor.diagnose_scripted(torch.jit.load(tmp_path / "model.pt"))
    assert [(f.outcome, f.subject) for f in report] == [("fails", "aten::special_airy_ai"), ("fails", "aten::mode")]
    assert all(f.place is not None and f.place.file == __file__ for f in report)


def test_a_callable():
    x = torch.rand(5, device="mps")
    report = doctor.diagnose(lambda: torch.mode(x))
    [finding] = report
    assert finding.subject == "aten::mode" and finding.place.file == __file__
    assert doctor.diagnose(torch.add, x, 1).is_clean
    embedding = torch.nn.Embedding(4, 2, max_norm=0.1, device="mps")
    with pytest.warns(UserWarning, match="embedding_renorm_"):
        [finding] = doctor.diagnose(embedding, torch.tensor([1, 2], device="mps"))
    assert finding.outcome == doctor.FALLS_BACK
    with pytest.raises(NotImplementedError):
        torch.mode(x)


def test_a_function_by_name(tmp_path):
    (tmp_path / "models.py").write_text("import torch\ndef example():\n    torch.linalg.eig(torch.rand(2, 2, device='mps'))\n")
    done = run("models:example", cwd=tmp_path)
    assert done.returncode == 1
    assert "models.py:3: aten::linalg_eig" in done.stdout


def test_refused_arguments_are_told_and_the_program_goes_on():
    x = torch.ones(1, 1, 4, dtype=torch.int64, device="mps")
    with doctor.observe() as report:
        assert torch.conv1d(x, x[..., :2]).tolist() == [[[2, 2, 2]]]
        assert torch.nn.functional.linear(x, x[0]).tolist() == [[[4]]]
        torch.use_deterministic_algorithms(True)
        assert torch.kthvalue(torch.ones(3, device="mps"), 1).values.item() == 1
        torch.use_deterministic_algorithms(False)
    found = [(finding.outcome, finding.subject, finding.message) for finding in report]
    assert found == [
        ("refuses", "aten::_convolution", "Convolution is supported only for Floating types"),
        ("refuses", "aten::linear", "MPS device does not support linear for non-float inputs"),
        ("refuses", "aten::kthvalue.values", "kthvalue MPS does not have a deterministic implementation"),
    ]
    with pytest.raises(RuntimeError, match="Convolution is supported only for Floating types"):
        torch.conv1d(x, x[..., :2])
    assert "test_doctor.py:" in str(report) and "aten::_convolution refuses these arguments: Convolution is" in str(report)
