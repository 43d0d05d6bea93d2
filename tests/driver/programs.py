"""Functions in files of their own, and compilers with a fault in them.

A function's file is part of its key in the cache: kernels of a faulty compiler are never found by another test.
"""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import weft
from weft.driver.pipelines import cpu_pipeline
from weft.ir.exprs import Const, Expr, Op, const, op
from weft.ir.nodes import Elementwise, Program, Tasklet
from weft.passes.base import Pass, Session, rewrite_nodes
from weft.passes.expand_elementwise import ExpandElementwise
from weft.runtime.dispatcher import Counters


def load(folder: Path, text: str) -> Any:
    """The text as a module."""
    path = folder / "programs.py"
    path.write_text("import numpy as np\nimport weft\n" + textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(f"programs_{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checked(function: Any, fallback: str = "error", **options: Any) -> Any:
    """The program with `verify=True`."""
    chosen: Any = {"verify": True, "fallback": fallback, **options}
    return weft.program(function, **chosen)


class Rewrite:
    """A pass that does something wrong to every expression."""

    name: ClassVar[str] = "rewrite"

    def run(self, program: Program, session: Session) -> Program:
        def rule(node: Any) -> tuple[Any, ...] | None:
            if not isinstance(node, Tasklet):
                return None
            lets = tuple(replace(let, expr=self.wrong(let.expr)) for let in node.lets)
            return (replace(node, lets=lets),)

        return replace(program, body=rewrite_nodes(program.body, rule))

    def wrong(self, expr: Expr) -> Expr:
        if not isinstance(expr, Op):
            return self.leaf(expr)
        args = [self.wrong(arg) for arg in expr.args]
        return self.operation(op(expr.name, args, expr.type))

    def leaf(self, expr: Expr) -> Expr:
        return expr

    def operation(self, expr: Op) -> Expr:
        return expr


class SwapSubtractions(Rewrite):
    name: ClassVar[str] = "swap-subtractions"

    def operation(self, expr: Op) -> Expr:
        return op(expr.name, expr.args[::-1], expr.type) if expr.name == "subtract" else expr


class NudgeConstants(Rewrite):
    name: ClassVar[str] = "nudge-constants"

    def everywhere(self, program: Program) -> Program:
        """Before any pass."""

        def rule(node: Any) -> tuple[Any, ...] | None:
            return (replace(node, expr=self.wrong(node.expr)),) if isinstance(node, Elementwise) else None

        return replace(program, body=rewrite_nodes(program.body, rule))

    def leaf(self, expr: Expr) -> Expr:
        is_float = isinstance(expr, Const) and isinstance(expr.value, float)
        return const(expr.value * (1 + 2.0**-30), expr.type) if is_float else expr  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True)
class NoSnapshots:
    """Elementwise operations that overwrite what they still have to read."""

    name: ClassVar[str] = "expand-elementwise"

    def run(self, program: Program, session: Session) -> Program:
        return ExpandElementwise().run(program, replace(session, kinds=frozenset()))


def add_pass(monkeypatch: pytest.MonkeyPatch, wrong: Pass) -> None:
    """Have the compiler run this pass: in the place of the one of that name, else after all."""
    usual = cpu_pipeline()
    steps = tuple(wrong if step.name == wrong.name else step for step in usual)
    steps = steps if wrong in steps else (*steps, wrong)
    monkeypatch.setattr("weft.driver.compiler.cpu_pipeline", lambda *_: steps)


class Fake:
    """What stands in for a dispatcher: any function as the compiled one."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call

    def counters(self) -> Counters:
        return Counters(0, 0, 0, 0, 0, 0, 0, 0, 0, ())
