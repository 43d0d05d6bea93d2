"""Python functions with loops, lowered and run through passes: what is left of the loops, and that they mean the same.

Guards are taken out: the arguments of these tests satisfy them. Numbers are whole, so sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from tests.end_to_end.outcome import assert_same, run
from weft.driver.compiler import lower
from weft.driver.kernels import slot_objects
from weft.interp import Returned, interpret
from weft.ir.nodes import Alloc, Guard, Loop, Map, Node, Program, Reduce, Site
from weft.ir.printer import print_program
from weft.ir.traverse import all_nodes
from weft.ir.verifier import verify
from weft.passes.base import Pass, Session, rewrite_nodes
from weft.passes.expand_elementwise import ExpandElementwise

SIZES = (0, 1, 2, 5)


def vector(n: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    """Whole numbers from -9 to 9; for unsigned types from 0."""
    low = 0 if np.dtype(dtype).kind in "bu" else -9
    return np.random.default_rng(seed + n).integers(low, 10, n).astype(dtype)


def matrix(n: int, m: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + n).integers(-9, 10, (n, m)).astype(np.float64)


def unguarded(function: Callable[..., Any], arguments: Sequence[Any]) -> Program:
    """The program of a function at the level of maps, without guards."""
    assert isinstance(function, FunctionType)
    program = ExpandElementwise().run(lower(function, tuple(arguments)).program, Session())
    needed = {node.site for node in all_nodes(program.body) if isinstance(node, Alloc)}
    body = rewrite_nodes(program.body, lambda node: () if _is_exit(node, needed) else None)
    made = replace(program, body=body)
    verify(made)
    return made


def _is_exit(node: Node, needed: set[int]) -> bool:
    return isinstance(node, Guard) or (isinstance(node, Site) and node.number not in needed)


def through(program: Program, *steps: Pass) -> tuple[Program, Session]:
    """A program after some passes, each verified."""
    session = Session()
    for step in steps:
        program = step.run(program, session)
        verify(program)
    return program, session


def count(program: Program, kind: type[Loop | Map | Reduce]) -> int:
    return sum(isinstance(node, kind) for node in all_nodes(program.body))


def reasons(session: Session, *, done: bool = False) -> list[str]:
    return [record.text for record in session.records if record.done is done]


def body_text(program: Program) -> str:
    """The text of the body."""
    text = print_program(program)
    return text[text.index("\n{") + 1 :]


def assert_agrees(function: Callable[..., Any], program: Program, make: Callable[[], Sequence[Any]]) -> None:
    """The program gives what Python gives, in several orders of its maps."""
    expected = run(function, make())
    assert expected.error is None
    for seed in range(3):
        arguments = make()
        assert isinstance(function, FunctionType)
        slots = slot_objects(function, program.slots, arguments)
        assert slots is not None
        outcome = interpret(program, slots, seed=seed)
        assert isinstance(outcome, Returned)
        where = f"{function.__name__}, seed {seed}:"
        assert_same(outcome.value, expected.result, where=f"{where} result")
        assert_same(tuple(arguments), expected.arguments, where=f"{where} arguments")
