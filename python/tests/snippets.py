"""Runs a piece of Python in a process of its own: for environment variables, exits, and what a user sees on stderr."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass

#: Seconds after which a snippet counts as hanging.
_TIMEOUT = 240


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


def run(code: str, *arguments: str, **environment: str | None) -> Outcome:
    """Runs `code` with these variables added to the environment; None takes one away."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("OPENMPS_", "PYTORCH_", "MTL_"))}
    # Compiled kernels may come from the cache that the other tests fill.
    for kept in ("OPENMPS_CACHE_DIR",):
        if kept in os.environ:
            variables[kept] = os.environ[kept]
    for name, value in environment.items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = value
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env=variables,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    return Outcome(process.returncode, process.stdout, process.stderr)


def output(code: str, *arguments: str, **environment: str | None) -> str:
    """What `code` prints; it must succeed and leave stderr empty."""
    return run(code, *arguments, **environment).expect_success()
