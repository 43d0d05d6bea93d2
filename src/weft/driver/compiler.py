"""From a function and the objects of a call to a kernel in memory.

in:   the function, its arguments, options
out:  `Compiled`: the library, its `KernelInfo`, constants; from the disk cache where it has a fitting entry

This module loads the compiler; a call that finds its kernel on disk does not need it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

from weft.codegen.module import CModule, COptions, emit_c
from weft.driver.dump import Dump
from weft.driver.kernels import GoesToPython, TooLittle
from weft.driver.options import compile_timeout_s, wants_sanitizers
from weft.driver.pipelines import cpu_pipeline
from weft.driver.worth import is_too_little
from weft.frontend.inputs import UnusualValue
from weft.frontend.liveness import statements
from weft.frontend.lower import Lowered, lower_program
from weft.frontend.source import SourceUnavailable, read_function
from weft.ir.nodes import Program
from weft.ir.verifier import verify
from weft.passes.base import Pass, Session
from weft.runtime.cache import Cache
from weft.runtime.compile import Parts, compile_c
from weft.runtime.files import NATIVE_DIRECTORY
from weft.runtime.toolchain import BuildOptions, Toolchain
from weft.support.abi import KernelInfo, Remark
from weft.support.errors import CompileError
from weft.support.memos import forget
from weft.support.records import record
from weft.support.spans import Span


@record
class Stage:
    """The program after one step of the compiler."""

    name: str
    program: Program


@record
class Generated:
    """C text with its tables; constants and static values are still Python objects."""

    module: CModule
    objects: tuple[Any, ...]
    stages: tuple[Stage, ...]
    session: Session

    @property
    def source(self) -> str:
        """The C text of the kernel itself."""
        return self.module.source

    @property
    def info(self) -> KernelInfo:
        """What its caller must know."""
        return self.module.info


def lower(
    function: FunctionType, arguments: Sequence[Any], *, any_strides: bool = False, lenient: bool = False
) -> Lowered:
    """The program at the array level; raises CompileError."""
    try:
        source = read_function(function)
    except SourceUnavailable as problem:
        place = Span.from_code(function.__code__)
        raise CompileError("E300", f"no source: {problem}", place, "define the function in a file") from None
    try:
        lowered = lower_program(function, source, arguments, any_strides=any_strides, lenient=lenient)
    except UnusualValue as problem:
        raise GoesToPython(str(problem)) from None
    verify(lowered.program)
    return lowered


def generate(  # noqa: PLR0913 - the options of a program, one by one
    function: FunctionType,
    arguments: Sequence[Any],
    dump: Dump | None = None,
    *,
    any_strides: bool = False,
    strict: bool = False,
    lenient: bool = False,
    without: Collection[str] = (),
    is_piece: bool = False,
) -> Generated:
    """The C text for calls like this one; every step verified."""
    lowered = lower(function, arguments, any_strides=any_strides, lenient=lenient)
    if is_piece and is_too_little(lowered.program):
        raise TooLittle
    session = Session()
    try:
        stages = run_steps(lowered.program, cpu_pipeline(without), session)
        module = emit_kernel(stages[-1].program, strict=strict)
    finally:
        forget()
    if dump is not None:
        dump.write(stages, module.source, module.units)
    info = module.info._replace(remarks=_remarks(session, function), statements=_statement_count(function))
    return Generated(replace(module, info=info), lowered.objects, tuple(stages), session)


def _statement_count(function: FunctionType) -> int:
    tree = read_function(function).tree
    return sum(1 for _ in statements(tree)) if isinstance(tree, ast.FunctionDef) else 1


def _remarks(session: Session, function: FunctionType) -> tuple[Remark, ...]:
    """What the user asked for and did not get. A file is named only where it is not the program's own."""
    own = function.__code__.co_filename
    return tuple(
        Remark(record.text, record.span.line, "" if record.span.file == own else record.span.file)
        for record in session.records
        if record.wish and record.span is not None
    )


def run_steps(program: Program, steps: Iterable[Pass], session: Session) -> list[Stage]:
    """The program after each pass, verified, from the one given."""
    stages = [Stage("array", program)]
    for step in steps:
        before = program
        program = step.run(program, session)
        if program is not before:
            verify(program)
        stages.append(Stage(step.name, program))
    return stages


def emit_kernel(program: Program, *, strict: bool) -> CModule:
    """The C text of a program at the level of maps, with its tables."""
    return emit_c(program, options=COptions(header=abi_header(), strict=strict, apart=True))


def abi_header() -> str:
    """The text of weft_abi.h."""
    return (NATIVE_DIRECTORY / "weft_abi.h").read_text(encoding="utf-8")


def build_options(*, fast: bool) -> BuildOptions:
    """How generated code is compiled."""
    return BuildOptions(fast=fast, sanitize=wants_sanitizers())


def compile_module(module: CModule, toolchain: Toolchain, output: Path, *, cache: Cache, fast: bool) -> Path:
    """The shared library of a program's C text; what it has in common with others is kept in the cache."""
    parts = Parts(module.units, module.pieces, cache)
    build = build_options(fast=fast)
    return compile_c(toolchain, module.source, output, parts=parts, timeout_s=compile_timeout_s(), build=build)
