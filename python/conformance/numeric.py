"""Runs families of kernels on random inputs and compares with ATen: ``python -m conformance.numeric [FAMILY...]``.

Options: ``--seed N`` repeats a run, ``--library 1`` takes the library for Metal 4, ``--thorough`` runs every layout of every
dtype, ``--list`` names the families, ``--theme NAME`` selects by theme.
"""

import argparse
import importlib
import itertools
import os
import pkgutil
import random
import sys
import time
import warnings
import zlib
from dataclasses import dataclass

import torch

from conformance import command, families, wheels
from conformance.cases import Case, Family, Library, Output, Verdict
from conformance.progress import Progress

COMPLAINTS_SHOWN = 3


@dataclass
class Report:
    """What became of a family."""

    family: Family
    runs: int
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        """Whether it ran and nothing was wrong."""
        return self.runs > 0 and not self.verdict.complaints

    def line(self) -> str:
        """One line for people."""
        word = "ok  " if self.is_right else "FAIL"
        errors = f"largest error {self.verdict.absolute:.1e} absolute, {self.verdict.relative:.1e} relative"
        return f"{word} {self.family.theme:14s} {self.family.name:36s} {self.runs:4d} runs, {errors}"


def all_families() -> list[Family]:
    """Every family, by theme."""
    found = []
    for module in sorted(pkgutil.iter_modules(families.__path__), key=lambda module: module.name):
        found += importlib.import_module(f"{families.__name__}.{module.name}").FAMILIES
    names = [family.name for family in found]
    doubles = {name for name in names if names.count(name) > 1}
    assert not doubles, f"families of the same name: {doubles}"
    return found


def execute(loaded, library: Library, case: Case, verdict: Verdict) -> None:
    """Runs the launches and judges the outputs; an exception is a complaint."""
    where = " + ".join(dict.fromkeys(launch.kernel for launch in case.launches)) + (f" ({case.note})" if case.note else "")
    try:
        for launch in case.launches:
            if launch.threadgroup_bytes:
                command.run(library.path, launch, [check.output.device for check in case.checks if isinstance(check.output, Output)])
                continue
            options = {} if launch.group is None else {"group_size": list(launch.group)}
            getattr(loaded, launch.kernel)(*launch.args, threads=list(launch.threads), **options)
        torch.mps.synchronize()
        for check in case.checks:
            actual = check.output.read() if isinstance(check.output, Output) else check.output()
            verdict.judge(actual, check.expected, check.tolerance, where)
    except (RuntimeError, ValueError) as error:
        verdict.complaints.append(f"{where}: {error}")


def run_family(loaded, library: Library, family: Family, seed: int, runs_max: int | None = None) -> Report:
    """The cases of a family, all or the first ``runs_max``, with random numbers that depend on the seed and the family alone."""
    own = seed ^ zlib.crc32(family.name.encode())
    torch.manual_seed(own)
    random.seed(own)
    verdict, runs = Verdict(), 0
    try:
        for case in itertools.islice(family.cases(library), runs_max):
            execute(loaded, library, case, verdict)
            runs += 1
    except NotImplementedError as error:
        verdict.complaints.append(f"ATen has no reference: {error}")
    if runs == 0:
        verdict.complaints.append("the library has none of its kernels")
    return Report(family, runs, verdict)


def load(name: str):
    """A library by its short name, and the names in it."""
    path = wheels.library(name)
    loaded = torch.mps.load_metallib(str(path))
    return loaded, Library(frozenset(dir(loaded)), path)


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="conformance.numeric")
    parser.add_argument("family", nargs="*")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    parser.add_argument("--library", default="0", choices=["0", "1"])
    parser.add_argument("--theme")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    wanted = [
        family
        for family in all_families()
        if (not options.family or family.name in options.family) and options.theme in (None, family.theme)
    ]
    missing = set(options.family) - {family.name for family in wanted}
    if missing:
        parser.error(f"no such family: {', '.join(sorted(missing))}; --list names them")
    if options.list:
        print(*(f"{family.theme:14s} {family.name}" for family in wanted), sep="\n")
        return 0
    warnings.filterwarnings("ignore", "ComplexHalf support is experimental")
    loaded, library = load(options.library)
    library.is_thorough = options.thorough
    print(f"{len(wanted)} families of library {options.library}, --seed {options.seed}", flush=True)
    start = time.monotonic()
    reports = []
    progress = Progress(len(wanted), "families")
    for family in wanted:
        report = run_family(loaded, library, family, options.seed)
        reports.append(report)
        progress.clear()
        print(report.line(), flush=True)
        for complaint in report.verdict.complaints[:COMPLAINTS_SHOWN]:
            print(f"       {complaint}", flush=True)
        if len(report.verdict.complaints) > COMPLAINTS_SHOWN:
            print(f"       and {len(report.verdict.complaints) - COMPLAINTS_SHOWN} more", flush=True)
        progress.step(family.name)
    progress.clear()
    right = sum(report.is_right for report in reports)
    runs = sum(report.runs for report in reports)
    print(f"{right} of {len(reports)} families right, {runs} runs, {time.monotonic() - start:.0f} s")
    return 0 if right == len(reports) else 1


if __name__ == "__main__":
    sys.exit(main())
