"""The command ``openmps``: replaces this process by the program that the package brings.

It is a module of its own because importing the package ``openmps`` imports torch, which the command does not need; only
``openmps doctor`` does, which is written in Python.
"""

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "openmps" / "_native" / "openmps"


def main() -> None:
    """Runs the program with this process's arguments; does not return."""
    if sys.argv[1:2] == ["doctor"]:
        from openmps import doctor

        sys.exit(doctor.main(sys.argv[2:]))
    try:
        os.execv(PROGRAM, ["openmps", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"openmps: error: {PROGRAM}: {error.strerror}")


if __name__ == "__main__":
    main()
