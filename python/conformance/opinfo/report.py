"""Adds up what units reported and holds it against the list of known differences, `differences.txt`."""

from __future__ import annotations

import fnmatch
import pathlib
from collections import Counter
from dataclasses import dataclass

from conformance.opinfo import FAILS, WORKS

#: One difference a line: op and dtypes as patterns of `fnmatch`, then the reason.
DIFFERENCES = pathlib.Path(__file__).with_name("differences.txt")

#: What must pass of the samples of units that work on a Mac.
FLOOR_PERCENT = 99.5


@dataclass(frozen=True)
class Difference:
    """A listed difference."""

    op: str
    dtypes: tuple[str, ...]
    reason: str

    def covers(self, result: dict) -> bool:
        """Whether a unit's failures are this one."""
        return fnmatch.fnmatchcase(result["op"], self.op) and any(fnmatch.fnmatchcase(result["dtype"], dtype) for dtype in self.dtypes)


def differences(text: str | None = None) -> list[Difference]:
    """The list; lines that start with `#` are comments."""
    lines = (DIFFERENCES.read_text() if text is None else text).splitlines()
    found = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            op, dtypes, reason = line.split(maxsplit=2)
            found.append(Difference(op, tuple(dtypes.split(",")), reason))
    return found


class Report:
    """The results of a run."""

    def __init__(self, results: list[dict], known: list[Difference]) -> None:
        self.results = sorted(results, key=lambda result: (result["op"], result["dtype"]))
        self.known = known
        self.works = [result for result in self.results if result["expectation"] == WORKS]

    def reason(self, result: dict) -> str | None:
        """Why a unit may fail, or `None` if nothing says so."""
        return next((difference.reason for difference in self.known if difference.covers(result)), None)

    @property
    def unexplained(self) -> list[dict]:
        """Failed units that work on a Mac and are not listed."""
        return [result for result in self.works if result["failed"] and self.reason(result) is None]

    @property
    def stale(self) -> list[Difference]:
        """Listed differences of which every unit passes."""
        return [
            difference
            for difference in self.known
            if (covered := [result for result in self.works if difference.covers(result)]) and not any(result["failed"] for result in covered)
        ]

    @property
    def percent(self) -> float:
        """What passed of the samples of units that work on a Mac; skipped samples do not count, listed failures do."""
        passed, failed = (sum(result[key] for result in self.works) for key in ("passed", "failed"))
        return 100.0 * passed / max(passed + failed, 1)

    def op_lines(self) -> list[str]:
        """One line an op: passed, failed, skipped with reasons; then the texts of failures."""
        lines = []
        for op in dict.fromkeys(result["op"] for result in self.results):
            own = [result for result in self.results if result["op"] == op]
            skipped = Counter()
            for result in own:
                skipped.update(result["skipped"])
            passed, failed = (sum(result[key] for result in own if result["expectation"] == WORKS) for key in ("passed", "failed"))
            beyond = [result for result in own if result["expectation"] == FAILS]
            parts = [f"{op}: {passed} passed, {failed} failed"]
            parts += [f"{count} skipped ({reason})" for reason, count in sorted(skipped.items())]
            if beyond:
                dtypes = " ".join(result["dtype"] for result in beyond)
                raised = sum(result["failed"] for result in beyond)
                parts.append(f"fails on a Mac: {dtypes} ({raised} of {raised + sum(result['passed'] for result in beyond)} fail here)")
            lines.append(", ".join(parts))
            for result in own:
                if result["failed"] and result["expectation"] == WORKS:
                    listed = self.reason(result)
                    lines.append(f"    {result['dtype']} {'listed: ' + listed if listed else 'FAILED'}")
                    lines += [f"        {text}" for text in result["texts"]]
        return lines

    def summary_lines(self) -> list[str]:
        """The totals."""
        passed, failed = (sum(result[key] for result in self.works) for key in ("passed", "failed"))
        skipped = Counter()
        for result in self.results:
            skipped.update(result["skipped"])
        beyond = [result for result in self.results if result["expectation"] == FAILS]
        more = [result for result in beyond if result["passed"] and not result["failed"]]
        bad = [result for result in self.works if result["failed"]]
        return [
            f"{len(self.works)} units (op and dtype) that work on a Mac: {passed} samples passed, {failed} failed: {self.percent:.2f} %",
            *(f"  {count} samples skipped: {reason}" for reason, count in skipped.most_common()),
            f"  {len(bad)} units with failures, {len(self.unexplained)} of them not in {DIFFERENCES.name}",
            f"{len(beyond)} units that fail on a Mac, {len(more)} of them work here",
        ]
