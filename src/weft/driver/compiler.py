"""From a function and the objects of a call to a kernel in memory.

in:   the function, its arguments, options
out:  `Compiled`: the library, its `KernelInfo`, constants; from the disk cache where it has a fitting entry

This module loads the compiler; a call that finds its kernel on disk does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from weft.codegen.module import COptions, emit_c
from weft.driver.dump import Dump
from weft.driver.kernels import GoesToPython
from weft.driver.options import compile_timeout_s, wants_sanitizers
from weft.driver.pipelines import cpu_pipeline
from weft.frontend.inputs import UnusualValue
from weft.frontend.lower import Lowered, lower_program
from weft.frontend.source import SourceUnavailable, read_function
from weft.ir.nodes import Program
from weft.ir.verifier import verify
from weft.runtime.compile import compile_c
from weft.runtime.files import NATIVE_DIRECTORY
from weft.runtime.toolchain import BuildOptions, Toolchain
from weft.support.abi import KernelInfo
from weft.support.errors import CompileError
from weft.support.spans import Span


@dataclass(frozen=True, slots=True)
class Stage:
    """The program after one step of the compiler."""

    name: str
    program: Program


@dataclass(frozen=True, slots=True)
class Generated:
    """C text with its tables; constants and static values are still Python objects."""

    source: str
    info: KernelInfo
    objects: tuple[Any, ...]
    stages: tuple[Stage, ...]


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


def generate(
    function: FunctionType,
    arguments: Sequence[Any],
    dump: Dump | None = None,
    *,
    any_strides: bool = False,
    strict: bool = False,
    lenient: bool = False,
) -> Generated:
    """The C text for calls like this one; every step verified."""
    lowered = lower(function, arguments, any_strides=any_strides, lenient=lenient)
    stages = [Stage("array", lowered.program)]
    program = lowered.program
    for step in cpu_pipeline():
        program = step.run(program)
        verify(program)
        stages.append(Stage(step.name, program))
    module = emit_c(program, options=COptions(header=abi_header(), strict=strict))
    if dump is not None:
        dump.write(stages, module.source)
    return Generated(module.source, module.info, lowered.objects, tuple(stages))


def abi_header() -> str:
    """The text of weft_abi.h."""
    return (NATIVE_DIRECTORY / "weft_abi.h").read_text(encoding="utf-8")


def build_options(*, fast: bool) -> BuildOptions:
    """How generated code is compiled."""
    return BuildOptions(fast=fast, sanitize=wants_sanitizers())


def compile_text(source: str, toolchain: Toolchain, output: Path, *, fast: bool) -> Path:
    """The shared library of a C text."""
    return compile_c(toolchain, source, output, timeout_s=compile_timeout_s(), build=build_options(fast=fast))
