"""Programs that look parallel or fusible and are not: every stage of the compiler against CPython.

in:   themes of programs: plain functions, each with a maker of its arguments by size and element type
out:  for each program and each set of arguments, compared with what CPython leaves behind (result, arguments,
      exception and its words, which array is which):
      - every stage of the pipeline, interpreted in random order of iterations under two seeds, conflicts reported;
        where a guard fails, Python goes on from the site, as it does after a compiled kernel
      - the C code, all programs of a theme in one module, on one thread and on two, with every parallel loop cut into
        small pieces however short it is; both must give the same bits

    THEME = Theme("overlaps")

    @THEME.trap(lambda n, t: (numbers(n, t),))
    def prefix(a):
        # Each element needs the one before it.
        for i in range(1, len(a)):
            a[i] += a[i - 1]

A `trap` is illegal to transform, or legal only with care; a `control` is plainly parallel or fusible. Both must be
right; what a program was made into is not looked at here. Arguments are made anew for each run, so aliases and strides
are the same in all of them. Everything is compared bit by bit: floating-point sums are over whole numbers, exact in any
order (factorisations cannot be; they have a bound).

Where written arguments are read-only or overlap in part, the dispatcher leaves the call to Python; the stages are not
asked then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import mkdtemp
from types import FunctionType
from typing import Any, TypeAlias, TypeVar
from unittest import mock

import numpy as np

from tests.end_to_end.outcome import (
    MakeArguments,
    Outcome,
    assert_same,
    assert_same_outcome,
    describe_error,
    relations,
    run,
)
from weft import codegen
from weft.codegen import support_machine
from weft.codegen.module import COptions, emit_module
from weft.driver.compiler import Generated, abi_header, build_options, generate
from weft.driver.engine import native, toolchain_for
from weft.driver.fingerprints import identity_key, same_array, type_key
from weft.driver.graph_runs import resumed
from weft.driver.host import Host
from weft.driver.kernels import Kernel, slot_objects
from weft.driver.options import Options, compiler_choice
from weft.driver.stats import Stats
from weft.interp import Left, interpret
from weft.ir.nodes import Program
from weft.runtime.compile import compile_c
from weft.runtime.native import load_kernel
from weft.runtime.process import CompilerFailed
from weft.support.abi import ArgKind, KernelInfo

F = TypeVar("F", bound=Callable[..., Any])
Make: TypeAlias = Callable[[int, Any], Sequence[Any]]

VECTOR = (0, 1, 2, 7, 41)  # sizes of programs on vectors
MATRIX = (0, 1, 2, 5, 9)  # of programs on matrices
SEEDS = (0, 1)
SMALL_PIECES = """
static inline int64_t weft_grain(int64_t count, double points)
{
    return count / 7 + 1;
}
"""


# ---- what is tested -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Input:
    """One set of arguments."""

    name: str
    make: MakeArguments


@dataclass(frozen=True, slots=True)
class Case:
    """A program and what it is run with.

    `ulps`: how far floating-point results may be from CPython's, where the order of a sum is free and its terms round.
    `native`: some input runs in compiled code from beginning to end.
    """

    theme: str
    function: Any  # a plain Python function; typed so, it would look like a method
    inputs: tuple[Input, ...]
    control: bool
    ulps: float
    native: bool

    @property
    def name(self) -> str:
        return f"{self.theme}-{self.function.__name__}"


@dataclass(frozen=True, slots=True)
class Theme:
    """Programs of one kind."""

    name: str
    cases: list[Case] = field(default_factory=list)

    def trap(
        self,
        make: Make | None = None,
        *,
        sizes: Sequence[int] = VECTOR,
        dtypes: Sequence[Any] = (np.float64, np.int64),
        more: Sequence[MakeArguments] = (),
        ulps: float = 0.0,
        native: bool = True,
        control: bool = False,
    ) -> Callable[[F], F]:
        """Note a program: `make(size, dtype)` gives arguments, `more` are further sets of them.

        All sizes are used with the first element type, one of the middle with the others.
        """
        inputs: list[Input] = []
        if make is not None:
            wanted = [(size, dtypes[0]) for size in sizes] + [(sizes[-2], dtype) for dtype in dtypes[1:]]
            for size, dtype in wanted:
                name = f"{size} {np.dtype(dtype).name}"
                inputs.append(Input(name, lambda size=size, dtype=dtype: make(size, dtype)))
        inputs += [Input(f"more {number}", maker) for number, maker in enumerate(more)]

        def note(function: F) -> F:
            self.cases.append(Case(self.name, function, tuple(inputs), control, ulps, native))
            return function

        return note

    def control(self, make: Make | None = None, **options: Any) -> Callable[[F], F]:
        """Note a program that is parallel or fusible."""
        return self.trap(make, control=True, **options)


@dataclass(frozen=True, slots=True)
class Variant:
    """A program compiled for one kind of arguments, and the inputs that are of that kind."""

    case: Case
    generated: Generated
    inputs: tuple[Input, ...]

    @property
    def program(self) -> Program:
        """What becomes C."""
        return self.generated.stages[-1].program


@cache
def variants_of(case: Case) -> tuple[Variant, ...]:
    """The programs the dispatcher would have compiled for the inputs of a case."""
    groups: dict[Any, list[Input]] = {}
    for item in case.inputs:
        arguments = item.make()
        key = (tuple(type_key(argument) for argument in arguments), identity_key(arguments))
        groups.setdefault(key, []).append(item)
    return tuple(
        Variant(case, generate(case.function, tuple(items[0].make())), tuple(items)) for items in groups.values()
    )


@cache
def expected_of(case: Case, item: Input) -> Outcome:
    """What CPython leaves behind."""
    return run(case.function, item.make())


# ---- the stages, interpreted ----------------------------------------------------------------------------------------


def check_stages(case: Case) -> None:
    """Every stage of every variant gives what CPython gives, in any order of its maps."""
    for variant in variants_of(case):
        before: Program | None = None
        for stage in variant.generated.stages:
            if stage.program is not before:  # a pass with nothing to do gives the same object
                check_program(variant, stage.program, stage.name)
            before = stage.program


def check_program(variant: Variant, program: Program, name: str) -> None:
    """One program on all inputs of a variant."""
    for item in variant.inputs:
        if is_left_to_python(variant.generated.info, item.make()):
            continue
        for seed in SEEDS:
            actual = run(interpreted(variant.case.function, program, seed), item.make())
            expected = expected_of(variant.case, item)
            where = f"{variant.case.name}, input {item.name}, stage {name}, seed {seed}:"
            assert_same_state(actual, expected, variant.case.ulps, where)


def assert_same_state(actual: Outcome, expected: Outcome, ulps: float, where: str) -> None:
    """As for compiled code, but the interpreter gives no warnings, and views where Python gives an argument itself."""
    if actual.error is not None and expected.error is None:
        raise AssertionError(f"{where} {actual.error!r}, Python gives {expected.result!r}") from actual.error
    assert describe_error(actual.error) == describe_error(expected.error), where
    assert_same(actual.result, expected.result, ulps, f"{where} result")
    assert_same(actual.arguments, expected.arguments, ulps, f"{where} arguments")
    shared = [[pair[1] for pair in relations(outcome)] for outcome in (actual, expected)]
    assert shared[0] == shared[1], f"{where} the result shares memory with other arguments"


def is_left_to_python(info: KernelInfo, arguments: Sequence[Any]) -> bool:
    """Whether the dispatcher does not run a kernel: a written array is read-only, or shares a part with another."""
    arrays = [(k, arguments[k]) for k, spec in enumerate(info.args[: len(arguments)]) if spec.kind is ArgKind.ARRAY]
    written = [info.args[k].written for k in range(len(arguments))]
    overlap = any(
        (written[j] or written[k]) and not same_array(a, b) and np.shares_memory(a, b)
        for k, b in arrays
        for j, a in arrays
        if j < k
    )
    return overlap or any(written[k] and not array.flags.writeable for k, array in arrays)


def interpreted(function: FunctionType, program: Program, seed: int) -> Callable[..., Any]:
    """A function that interprets the program, and goes on in Python where a guard fails."""

    def call(*arguments: Any) -> Any:
        slots = slot_objects(function, program.slots, arguments)
        assert slots is not None
        outcome = interpret(program, slots, seed=seed)
        assert not outcome.writebacks
        return resumed(function, program, outcome, slots) if isinstance(outcome, Left) else outcome.value

    return call


# ---- compiled -------------------------------------------------------------------------------------------------------


@contextmanager
def every_map_in_pieces() -> Iterator[None]:
    """Generated code uses threads for the shortest of parallel maps, and cuts them into pieces."""
    modules = [import_module(f"weft.codegen.{found.name}") for found in iter_modules(codegen.__path__)]
    thresholds = [module for module in modules if hasattr(module, "PARALLEL_POINTS")]
    assert thresholds
    assert "grain" in support_machine.MACHINE_FUNCTIONS
    with ExitStack() as stack:
        for module in thresholds:
            stack.enter_context(mock.patch.object(module, "PARALLEL_POINTS", 1))
        stack.enter_context(mock.patch.dict(support_machine.MACHINE_FUNCTIONS, grain=SMALL_PIECES))
        yield


def compile_variants(variants: Sequence[Variant], folder: Path) -> list[Kernel]:
    """The kernels of several variants, out of one C file."""
    with every_map_in_pieces():
        file = emit_module([variant.program for variant in variants], options=COptions(header=abi_header()))
    toolchain, build = toolchain_for(compiler_choice()), build_options(fast=False)
    library = compile_c(toolchain, file.source, folder / "module.so", build=build)
    return [
        Kernel(
            info, load_kernel(library, info.symbol), info.constants, tuple(arg.value for arg in info.args), file.source
        )
        for info in file.infos
    ]


def hosted(case: Case, kernels: Sequence[Kernel], threads: int) -> Host:
    """A program with the kernels of a module; it compiles nothing itself."""

    def no_kernel_fits(params: tuple[Any, ...]) -> Any:
        assert any(isinstance(p, np.ndarray) and not p.flags.writeable for p in params), f"no kernel fits {params}"
        return case.function(*params)

    host = Host(native(), case.function, Options(fallback="error", threads=threads), Stats(), no_kernel_fits)
    for kernel in kernels:
        host.install(kernel)
    return host


def check_theme(theme: Theme, folder: Path) -> list[str]:
    """Compile all programs of a theme into one module and run them; what is wrong, program by program."""
    problems: list[str] = []
    variants: dict[Case, tuple[Variant, ...]] = {}
    for case in theme.cases:
        try:
            variants[case] = variants_of(case)
        except Exception as problem:  # noqa: BLE001 - the others are still worth a run
            problems.append(f"{case.name}: {problem!r}")
    for case, kernels in compile_cases(variants, folder).items():
        try:
            if isinstance(kernels, CompilerFailed):
                raise AssertionError(f"{case.name}: {kernels}\n{kernels.output}")
            check_compiled(case, kernels)
        except AssertionError as problem:
            problems.append(str(problem))
    return problems


def compile_cases(cases: dict[Case, tuple[Variant, ...]], folder: Path) -> Mapping[Case, list[Kernel] | CompilerFailed]:
    """The kernels of each case; where the module of them all is no C, each in one of its own to find the culprit."""
    try:
        kernels = iter(compile_variants([variant for found in cases.values() for variant in found], folder))
    except CompilerFailed:
        return {case: _compile_alone(found, folder) for case, found in cases.items()}
    return {case: [next(kernels) for _ in found] for case, found in cases.items()}


def _compile_alone(variants: Sequence[Variant], folder: Path) -> list[Kernel] | CompilerFailed:
    try:
        return compile_variants(variants, Path(mkdtemp(dir=folder)))
    except CompilerFailed as problem:
        return problem


def check_compiled(case: Case, kernels: Sequence[Kernel]) -> int:
    """The kernels give what CPython gives on one thread and on two; how many parallel regions there were."""
    one, two = (hosted(case, kernels, threads) for threads in (1, 2))
    untroubled = False
    for item in case.inputs:
        expected = expected_of(case, item)
        where = f"{case.name}, input {item.name},"
        before = _counts(one)
        first, second = run(one.call, item.make()), run(two.call, item.make())
        assert_same_outcome(first, expected, case.ulps, f"{where} 1 thread:")
        assert_same_outcome(second, expected, case.ulps, f"{where} 2 threads:")
        assert_same_outcome(second, first, where=f"{where} 2 threads and 1:")
        calls, resumes = _counts(one)
        untroubled |= calls > before[0] and resumes == before[1]
    assert untroubled or not case.native, f"{case.name}: no input runs in compiled code from beginning to end"
    two.refresh_stats()
    return two.stats.parallel_regions


def _counts(host: Host) -> tuple[int, int]:
    host.refresh_stats()
    return host.stats.native_calls, host.stats.resumes
