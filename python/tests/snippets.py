"""Runs a piece of Python in a process of its own: for environment variables, exits, and what a user sees on stderr.

Importing torch takes seconds, so :func:`run` forks its processes from one that has imported torch and nothing of openmps;
each then calls the plug-ins as the last lines of ``import torch`` do. :func:`run_fresh` starts an interpreter, for what
depends on how torch is imported.
"""

import atexit
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass

#: Seconds after which a snippet counts as hanging.
_TIMEOUT = 240
#: Variables that would change what snippets do, unless a test sets them itself.
_FOREIGN = ("OPENMPS_", "PYTORCH_", "MTL_", "TORCH_")
_KEPT = ("OPENMPS_CACHE_DIR", "OPENMPS_TRACE_DIR")

_PARENT = """
import json, os, signal, sys
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    os._exit(0)
# A shell ignores SIGINT for what it starts in the background, and Python would then, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.clear()
os.environ.update(request["environment"])
for number, path in enumerate([os.devnull, request["stdout"], request["stderr"]]):
    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
sys.stdin = open(os.devnull)
sys.argv = ["-c", *request["arguments"]]
if torch._is_device_backend_autoload_enabled():
    torch._import_device_backends()
exec(compile(request["code"], "<string>", "exec"), {"__name__": "__main__"})
"""


@dataclass(frozen=True)
class Outcome:
    """How a snippet ended."""

    code: int
    stdout: str
    stderr: str

    def expect_success(self) -> str:
        """Asserts exit code 0 and an empty stderr; returns stdout without the last line break."""
        assert self.code == 0, f"exit code {self.code}\n{self.stdout}\n{self.stderr}"
        assert self.stderr == "", self.stderr
        return self.stdout.rstrip("\n")


class _Parent:
    """The process that has imported torch, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None

    def answer(self, request: dict) -> int:
        """The exit code of a child that serves `request`."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            atexit.register(self.end)
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], _TIMEOUT)[0]:
            self.end()
            raise TimeoutError(f"no end after {_TIMEOUT} s:\n{request['code']}")
        return int(self._process.stdout.readline())

    def end(self) -> None:
        """Kills the process with its children."""
        if self._process is not None:
            os.killpg(self._process.pid, 9)
            self._process.communicate()
            self._process = None


_parent = _Parent()


def _environment(changes: dict[str, str | None]) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN) or name in _KEPT}
    variables.update({name: value for name, value in changes.items() if value is not None})
    return variables


def run(code: str, *arguments: str, **environment: str | None) -> Outcome:
    """Runs `code`, after ``import torch``, with these variables added to the environment; None leaves one out."""
    with tempfile.TemporaryDirectory() as folder:
        stdout, stderr = pathlib.Path(folder, "stdout"), pathlib.Path(folder, "stderr")
        exit_code = _parent.answer({
            "code": textwrap.dedent(code),
            "arguments": arguments,
            "environment": _environment(environment),
            "stdout": str(stdout),
            "stderr": str(stderr),
        })
        return Outcome(exit_code, stdout.read_text(), stderr.read_text())


def run_fresh(code: str, *arguments: str, **environment: str | None) -> Outcome:
    """Runs `code` in an interpreter that has imported nothing."""
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env=_environment(environment),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    return Outcome(process.returncode, process.stdout, process.stderr)


def output(code: str, *arguments: str, **environment: str | None) -> str:
    """What `code` prints under :func:`run`; it must succeed and leave stderr empty."""
    return run(code, *arguments, **environment).expect_success()


def output_fresh(code: str, *arguments: str, **environment: str | None) -> str:
    """What `code` prints under :func:`run_fresh`; it must succeed and leave stderr empty."""
    return run_fresh(code, *arguments, **environment).expect_success()
