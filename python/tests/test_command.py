"""The command as it is installed: found without torch, and with its compiler beside it."""

import subprocess
import sys

import openmps_command
import torch

SOURCE = "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = val; }"


def command(*arguments, **options):
    # Isolated, so that nothing but the module itself can be found.
    code = f"import sys; sys.path.insert(0, {str(openmps_command.PROGRAM.parents[2])!r}); import openmps_command as c; c.main()"
    return subprocess.run([sys.executable, "-I", "-c", code, *arguments], capture_output=True, text=True, **options)


def test_the_command_finds_its_compiler(tmp_path):
    source = tmp_path / "full.metal"
    source.write_text(SOURCE)
    result = command("check", str(source))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("kernel full\n  device float* out [[buffer(0)]]: read_write\n")


def test_what_the_command_compiles_pytorch_loads(tmp_path):
    source, library = tmp_path / "full.metal", tmp_path / "full.metallib"
    source.write_text(SOURCE)
    result = command("compile", str(source), "-o", str(library))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    for place in (library, str(library), library.read_bytes()):
        loaded = torch.mps.load_metallib(place)
        assert "full" in dir(loaded)
        out = torch.zeros(5, device="mps")
        loaded.full(out, 2.5)
        assert out.tolist() == [2.5] * 5


def test_status_and_messages_pass_through(tmp_path):
    result = command("check", str(tmp_path / "missing.metal"))
    assert result.returncode == 1
    assert result.stderr.endswith("missing.metal: No such file or directory (os error 2)\n")
    assert command("nonsense").returncode == 2
