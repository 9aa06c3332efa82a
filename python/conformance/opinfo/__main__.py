"""``python -m conformance.opinfo [OP...] [OPTIONS]``: PyTorch's op database on "mps" against "cpu".

An interrupted run goes on where it stopped; ``--fresh`` starts anew.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from conformance.opinfo import report
from conformance.opinfo.units import Unit, all_units, dtype_name, entries, expectation, tenth
from conformance.progress import Progress

STATE = pathlib.Path(__file__).parents[3] / "build/conformance/opinfo.jsonl"

#: Seconds between two lines of progress.
PROGRESS_INTERVAL = 10


class Run:
    """Units that are still to do, results so far, and the file that keeps them."""

    def __init__(self, units: list[Unit], state: pathlib.Path | None) -> None:
        self.numbers = {unit: number for number, unit in enumerate(all_units())}
        self.wanted = {(unit.op, dtype_name(unit.dtype)): unit for unit in units}
        self.results: dict[tuple[str, str], dict] = {}
        self.state = state
        self.lock = threading.Lock()
        if state is not None and state.exists():
            for line in state.read_text().splitlines():
                self._take(json.loads(line))
        self.left: Iterator[Unit] = iter([unit for key, unit in self.wanted.items() if key not in self.results])
        self.last_progress = time.monotonic()
        self.progress = Progress(len(self.wanted) - len(self.results), "units")

    def _take(self, result: dict) -> None:
        key = (result["op"], result["dtype"])
        if key in self.wanted:
            self.results[key] = result

    def next_unit(self) -> Unit | None:
        """A unit for a worker that has nothing to do."""
        with self.lock:
            return next(self.left, None)

    def finish(self, result: dict) -> None:
        """Keeps a result and tells how far the run is."""
        with self.lock:
            self._take(result)
            if self.state is not None:
                with self.state.open("a") as file:
                    file.write(json.dumps(result) + "\n")
            self.progress.step(result["op"])
            if self.progress.is_shown:
                if self.progress.done == self.progress.total:
                    self.progress.clear()
            elif time.monotonic() - self.last_progress > PROGRESS_INTERVAL:
                self.last_progress = time.monotonic()
                print(f"{len(self.results)} of {len(self.wanted)} units", flush=True)


def _start_worker() -> subprocess.Popen:
    command = [sys.executable, "-m", "conformance.opinfo.worker"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)


def _died(unit: Unit, status: int) -> dict:
    outcome = {"op": unit.op, "dtype": dtype_name(unit.dtype), "expectation": expectation(unit, is_gradient=False)}
    return {**outcome, "passed": 0, "failed": 1, "skipped": {}, "texts": [f"the process ended with status {status}"], "seconds": 0.0}


def _drive_worker(run: Run) -> None:
    """Feeds one worker process until no unit is left; a process that ends is a result and is replaced."""
    worker = None
    while (unit := run.next_unit()) is not None:
        worker = worker or _start_worker()
        worker.stdin.write(f"{run.numbers[unit]}\n")
        line = worker.stdout.readline()
        if line:
            run.finish(json.loads(line))
        else:
            run.finish(_died(unit, worker.wait()))
            worker = None
    if worker is not None:
        worker.stdin.close()
        worker.wait()


def _selected(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Unit]:
    units = all_units()
    if options.tenth is not None:
        units = tenth(units, options.tenth)
    missing = [name for name in options.op if name not in entries()]
    if missing:
        parser.error(f"no such op in PyTorch's database: {', '.join(missing)}; --list names them")
    return [
        unit
        for unit in units
        if (not options.op or unit.op in options.op) and (not options.dtype or dtype_name(unit.dtype) in options.dtype)
    ]


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="./dev conformance opinfo", description='PyTorch\'s op database on "mps" against "cpu"')
    parser.add_argument("op", nargs="*", help="entries of the database (add, var_mean.unbiased); all without")
    parser.add_argument("--dtype", action="append", help="only this dtype; may be given again")
    parser.add_argument("--tenth", type=int, metavar="SEED", help="a random tenth of the units")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="start anew; without it an interrupted run goes on")
    parser.add_argument("--summary", action="store_true", help="no line for each op, only failures that are not listed and totals")
    parser.add_argument("--list", action="store_true", help="print the units and what is expected of a Mac, run nothing")
    options = parser.parse_args()
    units = _selected(options, parser)
    if options.list:
        print(*(f"{unit}: {expectation(unit, is_gradient=False)}" for unit in units), sep="\n")
        return 0
    is_whole = not options.op and not options.dtype and options.tenth is None
    if is_whole:
        STATE.parent.mkdir(parents=True, exist_ok=True)
        if options.fresh:
            STATE.unlink(missing_ok=True)
    run = Run(units, STATE if is_whole else None)
    print(f"{len(units)} units, {len(run.results)} of them done earlier", flush=True)
    threads = [threading.Thread(target=_drive_worker, args=(run,)) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = report.Report(list(run.results.values()), report.differences())
    return _print(found, options, is_whole=is_whole)


def _print(found: report.Report, options: argparse.Namespace, *, is_whole: bool) -> int:
    if not options.summary:
        print(*found.op_lines(), sep="\n")
    print(*found.summary_lines(), sep="\n")
    for result in found.unexplained:
        print(f"FAILED {result['op']} {result['dtype']}: {result['texts'][0]}")
    problems = [f"{len(found.unexplained)} units fail and are not listed"] if found.unexplained else []
    if is_whole:
        problems += [f"listed, but nothing of it fails: {difference.op} {','.join(difference.dtypes)}" for difference in found.stale]
        if found.percent < report.FLOOR_PERCENT:
            problems.append(f"below the floor of {report.FLOOR_PERCENT} %")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
