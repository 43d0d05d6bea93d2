"""Programs as text, run through a pass: what it makes of them, what it says, and that they mean the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.interp import Returned, interpret
from weft.ir.nodes import Program
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.verifier import verify
from weft.passes.base import Pass, Session

HEAD = """\
weft-ir 1
program sample
slot param 0: array float64 rank 1 layout C written
slot param 1: array float64 rank 1 layout C written
slot param 2: array float64 rank 2 layout C written
warning "add" line 1
warning "multiply" line 2
size %n.1: py_int in [0, 1000000]
size %m.2: py_int in [0, 1000000]
size %r.3: py_int in [0, 1000000]
size %c.4: py_int in [0, 1000000]
array A: f8[%n.1] argument slot 0 C written
array B: f8[%m.2] argument slot 1 C written
array P: f8[%r.3, %c.4] argument slot 2 C written
array T: f8[%n.1] transient C
array U: f8[%n.1] transient C
array S: f8[] transient C
"""
OPENING = '  site 0 f0@() {A: slot 0, B: slot 1, P: slot 2}\n  guard equal(%n.1, %m.2): b1 else site 0 "sizes differ"\n'


def program(body: str, *, opening: str = OPENING, head: str = HEAD) -> Program:
    """A program from the text of its body."""
    made = parse_program(f"{head}{{\n{opening}{body}\n}}\n")
    verify(made)
    return made


def after(step: Pass, before: Program, session: Session | None = None) -> Program:
    """What a pass makes of it, verified."""
    made = step.run(before, session or Session())
    verify(made)
    return made


def body_text(given: Program) -> str:
    """The text of the body and of the transient containers, without the signature."""
    text = print_program(given)
    start = text.index("\n{")
    arrays = [line for line in text[:start].splitlines() if " transient " in line or " stack " in line]
    return "\n".join([*arrays, text[start + 1 :]])


def arguments(size: int = 6) -> list[Any]:
    """Two vectors and a square, the same every time."""
    rng = np.random.default_rng(7)
    return [rng.uniform(1, 2, size), rng.uniform(1, 2, size), rng.uniform(1, 2, (size, size))]


def meaning(given: Program, make: Callable[[], Sequence[Any]] = arguments, seed: int = 0) -> list[Any]:
    """The arguments after a run in random order, and the result."""
    values = list(make())
    outcome = interpret(given, values, seed=seed)
    assert isinstance(outcome, Returned)
    return [*values, outcome.value]


def assert_same_meaning(left: Program, right: Program) -> None:
    """Both programs give the same, in several orders of iterations and sizes."""
    for size in (1, 2, 6):
        for seed in range(3):
            for a, b in zip(
                meaning(left, lambda size=size: arguments(size), seed),
                meaning(right, lambda size=size: arguments(size), seed),
                strict=True,
            ):
                np.testing.assert_array_equal(a, b)
