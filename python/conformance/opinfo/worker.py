"""A process that runs units: reads their numbers from standard input, writes one line of JSON for each."""

import json
import os
import sys

import torch

from conformance.opinfo import check
from conformance.opinfo.units import all_units


def main() -> None:
    """The program."""
    torch.set_num_threads(1)
    units = all_units()
    # What ops print belongs to standard error; the pipe is for results.
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        results.write(json.dumps(check.run(units[int(line)]).as_json()) + "\n")
        results.flush()


if __name__ == "__main__":
    main()
