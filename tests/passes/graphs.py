"""Graphs as text for the passes that simplify: two vectors, a matrix, an int and a float come in.

`changed` gives what a pass makes of a graph; `assert_same_outcomes` runs both, on sizes that pass the guards and on
others: a graph returns where the other does, the same, and leaves where the other leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from weft.interp import Left, Outcome, Returned, interpret
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
slot param 3: py_int
slot param 4: py_float
warning "add" line 1
warning "scalar multiply" line 2
scalar slot 3 = %k.5: py_int in [-8, 8]
scalar slot 4 = %x.6: py_float
size %n.1: py_int in [0, 1000]
size %m.2: py_int in [0, 1000]
size %r.3: py_int in [0, 1000]
size %c.4: py_int in [0, 1000]
array A: f8[%n.1] argument slot 0 C written
array B: f8[%m.2] argument slot 1 C written
array P: f8[%r.3, %c.4] argument slot 2 C written
"""
SITE = "site 0 f0@(0) {A: slot 0, B: slot 1, P: slot 2, k: %k.5, x: %x.6}"


def graph(body: str, *arrays: str) -> Program:
    """A graph from the text of its body and of the containers it has of its own."""
    text = "".join(f"{line}\n" for line in arrays)
    made = parse_program(f"{HEAD}{text}{{\n{body.strip()}\n}}\n")
    verify(made)
    return made


def changed(step: Pass, before: Program) -> tuple[Program, Session]:
    """What a pass makes of a graph, verified, and what it has to say; doing it again changes nothing."""
    session = Session()
    made = step.run(before, session)
    verify(made)
    assert step.run(made, Session()) is made
    assert parse_program(print_program(made)) == made
    return made, session


def shown(given: Program) -> str:
    """The text of a graph less what came in."""
    text = print_program(given)
    own = [line for line in text.splitlines() if line.startswith("array ") and " argument " not in line]
    return "\n".join([*own, text[text.index("\n{") + 1 :]])


def words(session: Session, *, done: bool) -> list[str]:
    return [record.text for record in session.records if record.done is done]


def arguments() -> Iterator[list[Any]]:
    rng = np.random.default_rng(5)
    for n, m, k in product((0, 1, 2, 5), (0, 2, 5), (-3, 0, 4)):
        yield [rng.uniform(1, 2, n), rng.uniform(1, 2, m), rng.uniform(1, 2, (n + 1, m)), k, 2.5]


def assert_same_outcomes(before: Program, after: Program) -> None:
    """Both return the same, or both leave; for some arguments they return."""
    returned = False
    for given in arguments():
        for seed in range(2):
            (first, mine), (second, theirs) = (_run(program, given, seed) for program in (before, after))
            assert type(first) is type(second), (given, first, second)
            if isinstance(first, Returned) and isinstance(second, Returned):
                returned = True
                for a, b in zip(_arrays(mine, first), _arrays(theirs, second), strict=True):
                    np.testing.assert_array_equal(a, b)
            assert isinstance(first, Returned | Left)
    assert returned


def _run(program: Program, given: list[Any], seed: int) -> tuple[Outcome, list[Any]]:
    mine = [item.copy() if isinstance(item, np.ndarray) else item for item in given]
    return interpret(program, mine, seed=seed), mine


def _arrays(given: list[Any], outcome: Returned) -> list[Any]:
    return [*given, *(outcome.value if isinstance(outcome.value, tuple) else (outcome.value,))]
