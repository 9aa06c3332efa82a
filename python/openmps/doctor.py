"""What of a program would fail on a Mac: ``openmps doctor PROGRAM`` and, in Python, :func:`diagnose` and :func:`observe`.

Ops that the real backend lacks raise here as they do there, so a program stops at the first one. While it is observed they
run on the CPU instead, and each is noted with the line that called it; what else ends the program is noted as well. Saved
programs (``torch.export``, TorchScript) are read and not run.
Leaves out: dtypes and arguments that Metal's kernels refuse and the CPU's take, which is written in no file of the wheel.
"""

import argparse
import contextlib
import importlib
import json
import linecache
import os
import pathlib
import re
import runpy
import sys
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import torch

from openmps import _plugin

#: The real backend raises NotImplementedError for the op; with ``PYTORCH_ENABLE_MPS_FALLBACK=1`` it runs on the CPU.
FAILS = "fails"
#: The real backend runs the op on the CPU, always, with a warning.
FALLS_BACK = "falls back"
#: The program itself ended with an error here, and would there.
RAISES = "raises"
#: A kernel of the real backend refuses the dtype or another argument of a call.
REFUSES = "refuses"

#: What no Mac can hold.
_WIDE = (torch.float64, torch.complex128)

#: Ops that the real backend registers for the CPU.
_ALWAYS_ON_CPU = frozenset({"aten::embedding_renorm_"})

#: Composed of other ops, though registered like those that call their overload with out arguments.
_COMPOSED_WITHOUT_OUT = frozenset({"aten::narrow_copy"})

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OURS = os.path.dirname(__file__) + os.sep
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep


@dataclass(frozen=True)
class Place:
    """A line of the program."""

    file: str
    line: int
    function: str

    @property
    def code(self) -> str:
        """The text of the line."""
        return linecache.getline(self.file, self.line).strip()


@dataclass
class Finding:
    """An op and the line that calls it, or an error and the line where it was raised."""

    outcome: str
    #: ``aten::mode.values``; the class of the exception if the program raised.
    subject: str
    place: Place | None
    calls: int = 1
    message: str = ""

    def as_json(self) -> dict:
        """Plain data; ``code`` is the text of the line."""
        place = {"file": None, "line": None, "function": None, "code": None}
        if self.place is not None:
            place = {**asdict(self.place), "code": self.place.code}
        return {"outcome": self.outcome, "subject": self.subject, **place, "calls": self.calls, "message": self.message}


class Report:
    """What was found; iterates over :class:`Finding` in the order of their first call."""

    def __init__(self) -> None:
        self._findings: dict[tuple, Finding] = {}
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Finding]:
        return iter(list(self._findings.values()))

    def __len__(self) -> int:
        return len(self._findings)

    def __bool__(self) -> bool:
        """A report is true even if nothing was found; ask :attr:`is_clean`."""
        return True

    @property
    def is_clean(self) -> bool:
        """Whether nothing would fail or fall back."""
        return not self._findings

    def add(self, outcome: str, subject: str, place: Place | None, message: str = "") -> None:
        """Notes a call; the same op on the same line is one finding."""
        with self._lock:
            key = (outcome, subject, place)
            if key in self._findings:
                self._findings[key].calls += 1
            else:
                self._findings[key] = Finding(outcome, subject, place, message=message)

    def as_json(self) -> dict:
        """Plain data."""
        return {"clean": self.is_clean, "findings": [finding.as_json() for finding in self]}

    def __str__(self) -> str:
        if self.is_clean:
            return "nothing found that would fail on a Mac"
        return "\n".join(_text(finding) for finding in self)


def _text(finding: Finding) -> str:
    place = finding.place
    where = f"{place.file}:{place.line}: " if place else ""
    meaning = {
        FAILS: f"{finding.subject} is not implemented for MPS: it raises NotImplementedError (PYTORCH_ENABLE_MPS_FALLBACK=1: runs on the CPU)",
        FALLS_BACK: f"{finding.subject} has no MPS kernel and always runs on the CPU",
        REFUSES: f"{finding.subject} refuses these arguments: {finding.message}",
        RAISES: f"{finding.subject}: {finding.message}",
    }[finding.outcome]
    times = f" [{finding.calls} calls]" if finding.calls > 1 else ""
    code = f"\n    {place.code}" if place and place.code else ""
    return f"{where}{meaning}{times}{code}"


@contextlib.contextmanager
def observe() -> Iterator[Report]:
    """Notes every op that the real backend lacks, or refuses the arguments of, while the block runs; such ops run on the CPU
    instead of raising.

    All threads of the process are observed. Blocks may not overlap.
    """
    report = Report()

    def note(name: bytes, refusal: bytes | None) -> None:
        operator = name.decode()
        place = _calling_place(sys._getframe(1))
        if refusal is not None:
            report.add(REFUSES, operator, place, refusal.decode())
        else:
            report.add(FALLS_BACK if operator in _ALWAYS_ON_CPU else FAILS, operator, place)

    plugin = _plugin.load()
    plugin.observe_fallbacks(note)
    try:
        yield report
    finally:
        plugin.observe_fallbacks(None)


def diagnose(function, *arguments, **keywords) -> Report:
    """Runs ``function(*arguments, **keywords)``, a module or any other callable on "mps", and tells what a Mac would lack.

    >>> import torch
    >>> from openmps.doctor import diagnose
    >>> [finding.subject for finding in diagnose(torch.mode, torch.ones(3, device="mps"))]
    ['aten::mode']

    An exception of the function is a finding, too, and not raised.
    """
    with observe() as report:
        try:
            function(*arguments, **keywords)
        except Exception as error:
            _add_error(report, error)
    return report


def _add_error(report: Report, error: BaseException) -> None:
    message = " ".join(str(error).split())
    report.add(RAISES, type(error).__name__, _raising_place(error), message)


def _is_foreign(file: str) -> bool:
    in_library = file.startswith(_STANDARD_LIBRARY) and "site-packages" not in file
    return file.startswith((_TORCH, _OURS, "<")) or in_library


def _calling_place(frame) -> Place | None:
    """The innermost line that is neither torch's, nor this package's, nor the standard library's."""
    while frame is not None and _is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _raising_place(error: BaseException) -> Place | None:
    own = [entry for entry in traceback.extract_tb(error.__traceback__) if not _is_foreign(entry.filename)]
    return Place(own[-1].filename, own[-1].lineno or 0, own[-1].name) if own else None


def has_mps_kernel(operator: str) -> bool:
    """Whether the real backend runs the op (``aten::add.Tensor``): by a kernel, or by a composition of ops.

    The list is the wheel's ``native_functions.yaml``, as it was registered with the dispatcher.
    """

    def has(name: str, key: str) -> bool:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)

    if not operator.startswith("aten::"):
        return True  # Not the backend's: libraries register their own.
    if has(operator, "MPS"):
        return True
    if any(has(operator, f"Composite{kind}") for kind in ("ImplicitAutograd", "ExplicitAutograd")):
        return True
    if not has(operator, "CompositeExplicitAutogradNonFunctional"):
        return False
    if operator in _COMPOSED_WITHOUT_OUT:
        return True
    # Allocates and calls the overload with out arguments.
    out = _out_overload(operator)
    return out is None or has(out, "MPS") or has(out, "CompositeExplicitAutograd")


def _out_overload(operator: str) -> str | None:
    """The overload that writes into given tensors, or None for one that does so itself."""
    name, _, overload = operator.removeprefix("aten::").partition(".")
    schema = getattr(getattr(torch.ops.aten, name), overload or "default")._schema
    base = name if name.endswith("__") else name.removesuffix("_")
    packet = getattr(torch.ops.aten, base)
    own = [argument.name for argument in schema.arguments]
    for candidate in packet.overloads():
        arguments = getattr(packet, candidate)._schema.arguments
        outs = [argument.name for argument in arguments if argument.is_out]
        if outs and [argument.name for argument in arguments if not argument.is_out] == own:
            return f"aten::{base}.{candidate}"
    return None


def _note_static(report: Report, operator: str, place: Place | None) -> None:
    if operator in _ALWAYS_ON_CPU:
        report.add(FALLS_BACK, operator, place)
    elif not has_mps_kernel(operator):
        report.add(FAILS, operator, place)


#: A line of a stack as Python prints it, and as TorchScript keeps it of a traced module.
_FRAMES = (
    re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)'),
    re.compile(r"^\s*(?P<file>\S+)\((?P<line>\d+)\): (?P<function>\S+)", re.MULTILINE),
)


def _innermost_place(stack_trace: str | None) -> Place | None:
    """The last line of the program; Python prints it last, TorchScript first."""
    for frames, last in zip(_FRAMES, (-1, 0), strict=True):
        found = [Place(file, int(line), function) for file, line, function in frames.findall(stack_trace or "")]
        if own := [place for place in found if not _is_foreign(place.file)] or found:
            return own[last]
    return None


def diagnose_exported(program: torch.export.ExportedProgram) -> Report:
    """Reads an exported program: its ops, and values in double precision."""
    report = Report()
    for node in program.graph.nodes:
        place = _innermost_place(node.stack_trace)
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            _note_static(report, str(node.target._schema.name) + _overload_suffix(node.target._schema.overload_name), place)
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dtype in _WIDE:
            report.add(RAISES, "TypeError", place, f"'{node.name}' is {value.dtype}, which MPS does not support")
    return report


def _overload_suffix(overload: str) -> str:
    return f".{overload}" if overload else ""


def diagnose_scripted(module: torch.jit.ScriptModule) -> Report:
    """Reads a TorchScript module: the ops of all its methods."""
    report = Report()
    graphs = [method.inlined_graph for _, child in module.named_modules() for method in _methods(child)]
    for graph in graphs:
        for node in _all_nodes(graph):
            schema = node.schema()
            if schema.startswith("aten::"):
                operator = schema.split("(")[0]
                with contextlib.suppress(RuntimeError):  # TorchScript's own, on lists and numbers.
                    _note_static(report, operator, _innermost_place(node.sourceRange()))
    return report


def _methods(module) -> list:
    names = getattr(module, "_c", module)._method_names()
    return [getattr(module, name) for name in names if hasattr(getattr(module, name, None), "inlined_graph")]


def _all_nodes(block) -> Iterator:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _all_nodes(inner)


def diagnose_script(path: str, arguments: list[str]) -> Report:
    """Runs a script as ``python path arguments`` would. What it prints is printed; how it exits does not matter."""
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [path, *arguments], os.path.dirname(os.path.abspath(path))
    try:
        with observe() as report:
            try:
                runpy.run_path(path, run_name="__main__")
            except SystemExit:
                pass
            except Exception as error:
                _add_error(report, error)
    finally:
        sys.argv, sys.path[0] = before
    return report


def _diagnose_named(name: str) -> Report:
    module, _, function = name.partition(":")
    sys.path.insert(0, os.getcwd())
    return diagnose(getattr(importlib.import_module(module), function))


class _UnusableError(Exception):
    """What was named cannot be examined; the text says why."""


def _diagnose_program(program: str, arguments: list[str]) -> Report:
    path = pathlib.Path(program)
    if not path.exists():
        if ":" in program:
            return _diagnose_named(program)
        raise _UnusableError(f"{program}: no such file")
    if path.suffix == ".pt2":
        return diagnose_exported(torch.export.load(program))
    if path.suffix in (".pt", ".pth"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # That TorchScript is old is no news to who has such a file.
                module = torch.jit.load(program, map_location="cpu")
            return diagnose_scripted(module)
        except RuntimeError as error:
            text = "holds no TorchScript module; for a pickled one name a function that runs it (module:function)"
            raise _UnusableError(f"{program}: {text}") from error
    return diagnose_script(program, arguments)


def main(arguments: list[str] | None = None) -> int:
    """The command. Exit status: 0 when nothing was found, 1 when something was, 2 when there is nothing to examine."""
    parser = argparse.ArgumentParser(prog="openmps doctor", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON on standard output; what a script prints goes to standard error")
    parser.add_argument("program", help="a script, a program of torch.export (.pt2), a TorchScript file (.pt), or module:function")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    try:
        with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
            report = _diagnose_program(options.program, options.arguments)
    except (_UnusableError, ImportError, AttributeError, OSError) as error:
        print(f"openmps doctor: error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.as_json(), indent=2) if options.json else report)
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
