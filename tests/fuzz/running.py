"""Run random programs compiled and in CPython, and compare.

in:   cases (tests/fuzz/generator.py)
out:  a `Finding` per case that differs, and what ran where

All programs of a batch are lowered and optimised one by one as `weft.program` does it, then written into one C file,
compiled once and loaded once; each is installed in a `Host` of its own. What is compared, and how far floats may be
apart, is what `verify=True` compares (driver/comparison.py, driver/bounds.py); the lines of warnings on top.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import weft
from tests.fuzz.arguments import Inputs, make_arguments
from tests.fuzz.generator import Case
from tests.legality.harness import every_map_in_pieces
from weft.codegen.module import COptions, emit_module
from weft.driver.bounds import Bounds
from weft.driver.comparison import WARNINGS, Difference, Outcome, Place, compare_outcomes
from weft.driver.compiler import Stage, abi_header, lower, run_steps
from weft.driver.engine import native, toolchain_for
from weft.driver.graph_runs import Graphs
from weft.driver.host import Host
from weft.driver.kernels import GoesToPython, Kernel
from weft.driver.options import Options, compile_timeout_s, compiler_choice, wants_sanitizers
from weft.driver.pipelines import cpu_pipeline
from weft.driver.snapshots import Call
from weft.driver.stats import Stats
from weft.passes.base import Session
from weft.runtime.compile import compile_c
from weft.runtime.native import load_kernel
from weft.runtime.process import CompilerFailed
from weft.runtime.toolchain import BuildOptions
from weft.support.errors import CompileError

OPTIONS = Options(fallback="error", threads=1)
_LEAVE_OUT = ("simplify", "inline-producers", "fuse-maps")
_FILE = "<fuzz "  # how the names of all programs' files begin
_TRIALS = 64
# NumPy's vector loop warns of 1e300 ** inf and 0 ** -inf, its plain one does not: it depends on strides.
_POWERS = ("overflow encountered in power", "divide by zero encountered in power")
_SUMS = ("encountered in reduce", "encountered in matmul", "encountered in dot")
_OWN = (weft.FallbackWarning, weft.PerformanceWarning)


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference. `kind` is what must stay the same while the program is made smaller."""

    case: Case
    inputs: Inputs
    kind: str
    text: str
    raises: bool = False  # Python ends with an exception


@dataclass(frozen=True, slots=True)
class Build:
    """How hard the C compiler works; whether every parallel map, however short, runs in pieces on two threads."""

    level: int = 0
    pieces: bool = False

    @property
    def options(self) -> Options:
        return replace(OPTIONS, threads=2) if self.pieces else OPTIONS


PLAIN = Build()


@dataclass(slots=True)
class Report:
    """What came of some cases. `refused`: why whole programs were not compiled; `native`: which inputs ran whole."""

    build: Build
    findings: list[Finding] = field(default_factory=list[Finding])
    refused: list[tuple[Case, str]] = field(default_factory=list[tuple[Case, str]])
    native: list[tuple[Case, Inputs]] = field(default_factory=list[tuple[Case, Inputs]])
    calls: int = 0
    resumed: int = 0
    raised: int = 0
    missed: int = 0
    unread: int = 0  # warnings of what nobody reads: not given
    overlaps: int = 0  # assignments in which NumPy reads what it has just written: not as Python
    sensitive: int = 0  # warnings that depend on the last bits of a sum or a function


@dataclass(frozen=True, slots=True)
class Compiled:
    """A case on its way: the function and the stages of its compilation."""

    case: Case
    function: Any
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Warnings of Python's that the compiled program did not give."""

    item: Compiled
    inputs: Inputs
    missing: frozenset[tuple[str, str]]
    raises: bool


# ---- compiling ------------------------------------------------------------------------------------------------------


def function_of(case: Case) -> FunctionType:
    """The function of a case; its source can be found as that of a function in a file."""
    name = file_name(case)
    linecache.cache[name] = (len(case.source), None, case.source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "fuzzed"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of candidates that make no sense
        exec(compile(case.source, name, "exec"), names)
    return names["program"]


def reading_first(case: Case) -> FunctionType:
    """The function with a copy made of everything that is stored into elements."""
    tree = ast.parse(case.source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Subscript) for target in node.targets):
            node.value = ast.Call(ast.Name("_copied", ast.Load()), [node.value], [])
    names: dict[str, Any] = {"__name__": "fuzzed", "_copied": _copied}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(ast.fix_missing_locations(tree), file_name(case), "exec"), names)
    return names["program"]


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def file_name(case: Case) -> str:
    """What stands for the file of a program."""
    return f"{_FILE}{case.seed}/{case.number} {hashlib.sha256(case.source.encode()).hexdigest()[:8]}>"


def prepare(case: Case, report: Report) -> Compiled | None:
    """Everything before C."""
    function = function_of(case)
    try:
        lowered = lower(function, make_arguments(case.params, case.inputs[0]))
        stages = run_steps(lowered.program, cpu_pipeline(()), Session())
    except (CompileError, GoesToPython) as problem:
        report.refused.append((case, str(getattr(problem, "message", problem))))
    except Exception as problem:  # noqa: BLE001 - whatever goes wrong in the compiler is a finding
        kind = f"compiler {type(problem).__name__}"
        report.findings.append(Finding(case, case.inputs[0], kind, f"{type(problem).__name__}: {problem}"))
    else:
        return Compiled(case, function, tuple(stages))
    return None


def compile_batch(batch: Sequence[Compiled], folder: Path, build: Build) -> list[Kernel]:
    """The kernels of all programs, out of one C file."""
    with every_map_in_pieces() if build.pieces else nullcontext():
        file = emit_module(
            [item.stages[-1].program for item in batch],
            symbols=[f"fuzz_{number}" for number in range(len(batch))],
            options=COptions(header=abi_header()),
        )
    flags = BuildOptions(sanitize=wants_sanitizers(), level=build.level)
    toolchain = toolchain_for(compiler_choice())
    library = compile_c(toolchain, file.source, folder / "batch.so", timeout_s=compile_timeout_s(), build=flags)
    return [
        Kernel(info, load_kernel(library, info.symbol), info.constants, tuple(arg.value for arg in info.args), "")
        for info in file.infos
    ]


def check_cases(cases: Sequence[Case], build: Build = PLAIN, note: Callable[[int], None] | None = None) -> Report:
    """Compile and compare; `note` is told the number of each program before it runs."""
    report = Report(build)
    batch = [item for case in cases if (item := prepare(case, report)) is not None]
    doubts: list[Doubt] = []
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
        for item, kernel in _compiled(batch, Path(folder), report):
            if note is not None:
                note(item.case.number)
            Check(item, kernel, report, doubts).run()
    if doubts:
        _settle(doubts, report)
    for case in cases:
        linecache.cache.pop(file_name(case), None)
    return report


def _compiled(batch: Sequence[Compiled], folder: Path, report: Report) -> Iterator[tuple[Compiled, Kernel]]:
    """Each program with its kernel; where the whole is no C, halves are tried until the culprits are alone."""
    if not batch:
        return
    try:
        kernels = compile_batch(batch, folder, report.build)
    except Exception as problem:  # noqa: BLE001 - code generation fails, or the C compiler refuses its text
        if len(batch) > 1:
            for number, part in enumerate((batch[: len(batch) // 2], batch[len(batch) // 2 :])):
                inner = folder / str(number)
                inner.mkdir()
                yield from _compiled(part, inner, report)
            return
        told = problem.output if isinstance(problem, CompilerFailed) else str(problem)
        case = batch[0].case
        report.findings.append(Finding(case, case.inputs[0], f"C {type(problem).__name__}", f"{problem!r}\n{told}"))
        return
    yield from zip(batch, kernels, strict=True)


def _settle(doubts: Sequence[Doubt], report: Report) -> None:
    """A warning may be missing where nobody reads what it is about (docs/passes.md).

    So it must be there without the passes that leave such things out, or it is lost.
    """
    batch = [
        replace(doubt.item, stages=tuple(run_steps(doubt.item.stages[0].program, cpu_pipeline(_LEAVE_OUT), Session())))
        for doubt in doubts
    ]
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
        kernels = {id(item): kernel for item, kernel in _compiled(batch, Path(folder), report)}
    for doubt, item in zip(doubts, batch, strict=True):
        if id(item) not in kernels:
            continue
        got = Check(item, kernels[id(item)], Report(report.build), []).outcomes(doubt.inputs)[0]
        lost = sorted(doubt.missing - got.warnings)
        if lost:
            category, text = lost[0]
            told = f"Python warns '{category}: {text}', the compiled program does not"
            report.findings.append(_finding(item.case, doubt.inputs, Difference(WARNINGS, told), doubt.raises))
        else:
            report.unread += 1


# ---- running --------------------------------------------------------------------------------------------------------


class Check:
    """One program on all of its inputs."""

    def __init__(self, item: Compiled, kernel: Kernel, report: Report, doubts: list[Doubt]) -> None:
        self.item, self.report, self.doubts = item, report, doubts
        self.host = Host(native(), item.function, report.build.options, Stats(), self._in_python)
        self.host.install(kernel)
        self.graphs = Graphs(item.function, lambda params: list(item.stages))

    def _in_python(self, params: tuple[Any, ...]) -> Any:
        """No kernel fits: another variant's arguments."""
        self.report.missed += 1
        return self.item.function(*params)

    def run(self) -> None:
        """Until something differs."""
        for inputs in self.item.case.inputs:
            got, want, resumed = self.outcomes(inputs)
            raises = want.error is not None
            difference = self.difference(inputs, got, want, resumed)
            if difference is not None:
                self.report.findings.append(_finding(self.item.case, inputs, difference, raises))
                return
            if want.warnings - got.warnings and not self._warnings_are_open(inputs, got, resumed):
                self.doubts.append(Doubt(self.item, inputs, want.warnings - got.warnings, raises))
                return

    def outcomes(self, inputs: Inputs) -> tuple[Outcome, Outcome, bool]:
        """Compiled and in Python, on arguments made anew; whether Python had to go on."""
        report, case = self.report, self.item.case
        want = run(self.item.function, make_arguments(case.params, inputs), case)
        before = self.host.dispatcher.counters()
        got = run(self.host.call, make_arguments(case.params, inputs), case)
        after = self.host.dispatcher.counters()
        resumed = after.resumes > before.resumes
        report.calls += 1
        report.raised += want.error is not None
        report.resumed += resumed
        if after.calls > before.calls and not resumed:
            report.native.append((case, inputs))
        got, want = _without_open(got, inputs), _without_open(want, inputs)
        grown = _after_grown_products(case, (got, want))
        return replace(got, warnings=got.warnings - grown), replace(want, warnings=want.warnings - grown), resumed

    def difference(self, inputs: Inputs, got: Outcome, want: Outcome, resumed: bool) -> Difference | None:
        """The first difference; warnings that are missing do not count here."""
        allowed = self._allowed(inputs, resumed)
        with np.errstate(all="ignore"):
            found = compare_outcomes(got, replace(want, warnings=want.warnings & got.warnings), allowed)
            if found is None or (found.place == WARNINGS and self._warnings_are_open(inputs, got, resumed)):
                return None
            if found.place == WARNINGS or not self._numpy_reads_what_it_wrote(inputs, got, allowed):
                return found
        self.report.overlaps += 1
        return None

    def _warnings_are_open(self, inputs: Inputs, got: Outcome, resumed: bool) -> bool:
        """Whether warnings depend on last bits that are open: those of Python do on the last bits of the arguments."""
        bounds = self._allowed(inputs, resumed).bounds
        if bounds.is_exact():
            return False
        case, rng = self.item.case, np.random.default_rng(self.item.case.number)
        for _ in range(_TRIALS):
            arguments = [_with_other_bits(argument, rng) for argument in make_arguments(case.params, inputs)]
            with np.errstate(all="warn"):
                other = _without_open(run(self.item.function, arguments, case), inputs)
            if other.warnings == got.warnings:
                self.report.sensitive += 1
                return True
        return bounds.is_open()

    def _numpy_reads_what_it_wrote(self, inputs: Inputs, got: Outcome, allowed: Allowed) -> bool:
        """NumPy assigns a one-axis slice to an overlapping one with another step of the same sign element by element.

        So there the answer is that of Python when every value is copied before it is stored.
        """
        case = self.item.case
        want = run(reading_first(case), make_arguments(case.params, inputs), case)
        return compare_outcomes(got, replace(want, warnings=got.warnings), allowed) is None

    def _allowed(self, inputs: Inputs, resumed: bool) -> Allowed:
        call = Call(self.item.function, tuple(make_arguments(self.item.case.params, inputs)), {})
        return Allowed(Bounds(self.graphs, call, OPTIONS, everywhere=resumed, limit_s=60.0))


@dataclass(frozen=True, slots=True)
class Allowed:
    """The bounds of the promise; where a product of complex numbers overflows, NumPy's own formulas differ."""

    bounds: Bounds

    def permits(self, place: Place, got: Any, want: Any) -> Any:
        permitted = self.bounds.permits(place, got, want)
        return permitted | ~np.isfinite(want) if want.dtype.kind == "c" else permitted


def _finding(case: Case, inputs: Inputs, difference: Difference, raises: bool) -> Finding:
    return Finding(case, inputs, _kind(difference), f"{difference.place.text}: {difference.text}", raises)


def _kind(difference: Difference) -> str:
    """What sort of difference: the place, and of warnings and strides what is said about them."""
    text = difference.text
    if difference.place.kind == "warnings":
        return f"warnings {text.partition(' (line')[0]}"
    return f"{difference.place.kind} {text.split()[0] if text[:7] in ('strides', 'it is, ') else ''}".rstrip()


def run(function: Any, arguments: Sequence[Any], case: Case) -> Outcome:
    """Call, and keep all that comes of it; warnings with their lines in the program."""
    value, error = None, None
    seen: set[tuple[str, str]] = set()

    def note(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
        if not issubclass(category, _OWN):
            line = lineno if filename.startswith(_FILE) else _program_line()
            seen.add((category.__name__, f"{message} (line {line})"))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        try:
            value = function(*arguments)
        except Exception as problem:  # noqa: BLE001 - every exception is an outcome
            error = problem
    names = [param.name for param in case.params]
    return Outcome(value, error, dict(zip(names, arguments, strict=True)), {}, frozenset(seen))


def _without_open(outcome: Outcome, inputs: Inputs) -> Outcome:
    """The order of a sum is free, and with it whether infinities or NaNs meet first: whether it warns."""
    words = (*_SUMS, *_POWERS) if inputs.values == "special" else tuple("invalid value " + name for name in _SUMS)
    kept = frozenset(item for item in outcome.warnings if not any(word in item[1] for word in words))
    return replace(outcome, warnings=kept)


def _with_other_bits(argument: Any, rng: np.random.Generator) -> Any:
    """A floating-point argument, in place, with its last bits changed."""
    if isinstance(argument, np.ndarray) and argument.dtype.kind == "f" and argument.flags.writeable:
        steps = rng.integers(-2, 3, argument.shape) * np.finfo(argument.dtype).eps
        with np.errstate(all="ignore"):
            argument[...] = argument * (1 + steps)
    return argument


def _after_grown_products(case: Case, outcomes: Sequence[Outcome]) -> frozenset[tuple[str, str]]:
    """Where a complex product overflows, NumPy's own formulas differ, and with them what is invalid later."""
    if not any(param.kind.element.startswith("complex") for param in case.params):
        return frozenset()
    told = frozenset(item for outcome in outcomes for item in outcome.warnings)
    grown = any(text.startswith("overflow") for _, text in told)
    return frozenset(item for item in told if grown and item[1].startswith("invalid value"))


def _program_line() -> int:
    """Where the program is; many of NumPy's functions warn in their own files."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith(_FILE):
            return frame.f_lineno
        frame = frame.f_back
    return 0
