"""Launches by ``openmps run``: for kernels with dynamic threadgroup memory, whose length a call from Python cannot give."""

import pathlib
import subprocess
import tempfile

import numpy as np
import openmps
import torch

from conformance.cases import Launch

_PROGRAM = pathlib.Path(openmps.__file__).parent / "_native" / "openmps"


def run(library: pathlib.Path, launch: Launch, outputs: list[torch.Tensor]) -> None:
    """Runs the launch in a process of its own; those of its arguments that are among ``outputs`` get what it wrote.

    Raises RuntimeError with the program's words when it fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        written = {}
        command = [_PROGRAM, "run", library, launch.kernel, "--grid", _sizes(launch.threads)]
        command += ["--group", _sizes(launch.group)] if launch.group else []
        for index, tensor in enumerate(launch.args):
            np.save(folder / f"{index}.npy", tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy())
            command += ["--arg", f"{index}={folder / f'{index}.npy'}"]
            if any(tensor is output for output in outputs):
                written[index] = folder / f"{index}.out.npy"
                command += ["--out", f"{index}={written[index]}"]
        for index, length in launch.threadgroup_bytes.items():
            command += ["--threadgroup", f"{index}={length}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        for index, path in written.items():
            launch.args[index].copy_(torch.from_numpy(np.load(path).view(np.uint8)))


def _sizes(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))
