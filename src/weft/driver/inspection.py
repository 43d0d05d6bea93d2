"""Looking inside a program: graphs, C text, assembly text."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from weft.driver.annotations import check_annotations
from weft.driver.compiler import Generated, Stage, build_options, generate
from weft.driver.engine import Engine, toolchain_for
from weft.driver.graph import Graph
from weft.driver.options import Options, compiler_choice
from weft.ir.printer import print_program
from weft.runtime.compile import disassemble
from weft.runtime.dispatcher import signature_of
from weft.support.errors import WeftError


def graph_of_call(function: FunctionType, options: Options, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Graph:
    """The graph for these arguments, at the array level."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = tuple(bound.arguments[name] for name in signature_of(function).names)
    check_annotations(function, arguments)
    return Graph.of_call(function, arguments, options)


def stages(engine: Engine) -> tuple[Stage, ...]:
    """The newest variant after each step of the compiler."""
    return generated(engine).stages


def generated(engine: Engine) -> Generated:
    """All that the compiler makes of the newest variant, and what its passes have to say."""
    _require_variant(engine)
    options = engine.options
    return generate(
        engine.function, engine.specimens[-1], strict=options.strict, lenient=options.fallback == "warn",
        without=options.without,
    )  # fmt: skip


def graph_text(engine: Engine, stage: str) -> str:
    """The text of one stage."""
    found = {made.name: made.program for made in stages(engine)}
    if stage not in found:
        raise WeftError(f"no stage '{stage}'; stages: {', '.join(found)}")
    return print_program(found[stage])


def source(engine: Engine) -> str:
    """The C text of the newest variant."""
    _require_variant(engine)
    return engine.sources[-1]


def assembly(engine: Engine) -> str:
    """The assembly text of the newest variant."""
    return assembly_of(source(engine), fast=engine.options.fast)


def assembly_of(text: str, *, fast: bool) -> str:
    """The assembly text of a C text."""
    return disassemble(text, toolchain_for(compiler_choice()), build=build_options(fast=fast))


def _require_variant(engine: Engine) -> None:
    name = engine.function.__qualname__
    if engine.sources:
        return
    if engine.stats.reasons:
        raise WeftError(f"{name} runs in Python: {engine.stats.reasons[0]}")
    raise WeftError(f"{name} has not been compiled yet: call it first")
