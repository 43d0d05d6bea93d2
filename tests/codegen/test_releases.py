"""Memory is given back as soon as nothing needs it, and never before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.harness import Outcome, load
from tests.passes.graphs import SITE, graph
from weft.interp import Left, Returned, interpret

NAMES = ("T", "U", "V", "W")
ARRAYS = tuple(f"array {name}: f8[%n.1] transient C" for name in NAMES)


def step(number: int, target: str, source: str) -> str:
    """`target = source + 1`."""
    return f"""
    elementwise {target}[:] at (%p.{number}: py_int) {{
      %a.{number + 1}: f8 = {source}[:]
      yield add(%a.{number + 1}, 1.0:f8)
    }}"""


def run(body: str, *arrays: str, n: int = 5, turns: int = 4, allocations: int = -1) -> Outcome:
    """What a program gives, compared with the interpreter where there is memory for it."""
    program = graph(body, *ARRAYS, *arrays)
    given: list[Any] = [np.arange(1.0, n + 1), np.zeros(3), np.zeros((2, 3)), turns, 0.5]
    kernel = load(program)
    outcome = kernel(*(x.copy() if isinstance(x, np.ndarray) else x for x in given), allocations=allocations)
    if allocations < 0:
        expected = interpret(program, given, seed=1)
        assert isinstance(expected, Returned | Left)
        if isinstance(expected, Returned):
            np.testing.assert_array_equal(outcome.value, expected.value)
    return outcome


def chain(*more: str) -> str:
    lines = [SITE, "alloc T site 0", step(20, "T", "A"), "alloc U site 0", step(30, "U", "T"), *more]
    return "\n".join(
        [*lines, "alloc V site 0", step(40, "V", "U"), "alloc W site 0", step(50, "W", "V"), "return W[:]"]
    )


def test_no_more_than_what_is_needed_at_once() -> None:
    outcome = run(chain())
    assert (outcome.peak, outcome.live) == (2, 2)


@pytest.mark.parametrize("allocations", range(4))
def test_no_memory_anywhere(allocations: int) -> None:
    assert run(chain(), allocations=allocations).exit.frames


@pytest.mark.parametrize("n", [5, 1])
def test_what_a_site_shows_is_there_as_long_as_one_may_leave_through_it(n: int) -> None:
    shown = "site 1 f0@(1) {A: slot 0, T: T[:]}"
    guard = 'guard greater_equal(1*%n.1, 2): b1 else site 1 "short"'
    text = chain(shown).replace("alloc W site 0", f"alloc W site 0\n{guard}")
    outcome = run(text, n=n)
    if n == 1:
        np.testing.assert_array_equal(outcome.value[0][1], [2.0])
    else:
        assert outcome.peak == 3  # T waits for the guard, U for nothing


def loop(body: str, *, carry: str = "X = T[:]", after: str = "return X[:]", kind: str = "for") -> str:
    head = "for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5" if kind == "for" else "while"
    site = 'site 1 f0@(0, 0, 0) {A: slot 0}\nguard equal(1*%q.9, 1*%n.1): b1 else site 1 "sizes"'
    start = f"{SITE}\nalloc T site 0\n{step(20, 'T', 'A')}"
    return f"{start}\n{head} carry ({carry}) {{\n{site}\n{body}\n}}\n{after}"


REF = ("size %q.9: py_int in [0, 1000]", "array X: f8[%q.9] ref S may alias (T, U, V)")


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_a_carry_owns_what_it_is_first_bound_to(turns: int) -> None:
    two = f"alloc U site 1\n{step(30, 'U', 'X')}\nalloc V site 1\n{step(40, 'V', 'U')}\ncontinue V[:]"
    outcome = run(loop(two), *REF, turns=turns)
    assert (outcome.peak, outcome.live) == (2 if turns else 1, 1)


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_what_the_body_reads_stays(turns: int) -> None:
    two = f"alloc U site 1\n{step(30, 'U', 'T')}\nalloc V site 1\n{step(40, 'V', 'U')}\ncontinue V[:]"
    outcome = run(loop(two), *REF, turns=turns)
    assert outcome.peak == (3 if turns else 1)  # T, U and V: X is let go at once


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_a_carry_that_one_way_keeps(turns: int) -> None:
    kept = f"""
    alloc U site 1
    {step(30, "U", "X")}
    if less(1*%i.10, 2): b1 {{
      continue X[:]
    }} else {{
      yield
    }}
    alloc V site 1
    {step(40, "V", "U")}
    continue V[:]"""
    outcome = run(loop(kept), *REF, turns=turns)
    assert outcome.peak == (2 if turns else 1)


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_loops_that_are_left_from_inside(turns: int) -> None:
    inner = f"""
    alloc U site 1
    {step(30, "U", "X")}
    for %j.11: py_int from 0 to 2 in 0:3 carry (Y = U[:]) {{
      site 2 f0@(0, 0, 1) {{A: slot 0}}
      guard equal(1*%r.8, 1*%n.1): b1 else site 2 "sizes"
      alloc V site 2
      {step(40, "V", "Y")}
      if less(1*%k.5, 1*%j.11): b1 {{
        break out 1 V[:]
      }} else {{
        yield
      }}
      alloc W site 2
      {step(50, "W", "V")}
      continue W[:]
    }}
    continue Y[:]"""
    refs = (
        "size %q.9: py_int in [0, 1000]",
        "size %r.8: py_int in [0, 1000]",
        "array X: f8[%q.9] ref S may alias (T, U, V, W)",
        "array Y: f8[%r.8] ref S may alias (U, V, W)",
    )
    text = loop(inner)
    outcome = run(text, *refs, turns=turns)
    assert outcome.peak <= 3
    assert outcome.live == 1


def test_a_result_of_a_branch() -> None:
    text = f"""
  {SITE}
  if less(1*%k.5, 3): b1 -> (X) {{
    alloc T site 0
    {step(20, "T", "A")}
    yield T[:]
  }} else {{
    alloc U site 0
    {step(30, "U", "A")}
    yield U[:]
  }}
  guard equal(1*%q.9, 1*%n.1): b1 else site 0 "sizes"
  alloc V site 0
  {step(40, "V", "X")}
  alloc W site 0
  {step(50, "W", "V")}
  return W[:]
"""
    for turns in (2, 4):
        assert run(text, *REF, turns=turns).peak == 2
