"""Maps whose iterations meet are reported, whatever the order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.samples import sample
from weft.interp import ConflictError, Returned, interpret
from weft.ir.nodes import Program
from weft.ir.parser import parse_program

HEAD = """\
weft-ir 1
program conflicts
slot param 0: array float64 rank 1 layout C written
slot param 1: array float64 rank 1 layout C written
size %n.1: py_int
size %m.2: py_int
array A: f8[%n.1] argument slot 0 C written
array B: f8[%m.2] argument slot 1 C written
array T: f8[2] transient C
array M: f8[1, %n.1] alias of A C
"""


def mapped(body: str) -> Program:
    return parse_program(
        f"{HEAD}{{\n  site 0 f0@() {{}}\n  map (%i.3: py_int) in [0:%n.1] {{\n{body}\n  }}\n  return missing\n}}\n"
    )


MEETING = [
    ("write B[0] = 1.0:f8", r"writes B\[0\], which iteration \(%i.3 = \d\) writes as B\[0\]"),
    ("%a.4: f8 = A[0]\nwrite A[%i.3] = %a.4", r"A\[0\]"),
    ("%a.4: f8 = A[%n.1 - 1 - %i.3]\nwrite A[%i.3] = %a.4", r"(reads|writes) A\[\d\], which iteration"),
    ("write B[0] resolve add = 1.0:f8\nwrite B[0] = 1.0:f8", r"writes B\[0\]"),
    ("write B[0] = 1.0:f8\nwrite B[0] resolve add = 1.0:f8", r"writes B\[0\]"),
    ("write B[0] resolve add = 1.0:f8\n%a.4: f8 = B[0]", r"B\[0\]"),
    ("write A[%i.3] = 0.0:f8\n%a.4: f8 = M[0, 0]", r"(A\[0\].*M\[0, 0\]|M\[0, 0\].*A\[0\])"),
    ("reduce add B[0] = A[:] axes (0)", r"writes view of B at \[\]"),
    (
        "reduce add B[0] = elements at (%j.4: py_int) over [%n.1] {\n%a.5: f8 = A[%j.4]\nyield %a.5\n} axes (0)",
        r"writes view of B at \[\]",
    ),
    (
        "reduce add A[:] = elements at (%j.4: py_int, %k.5: py_int) over [%n.1, 2] {\n%a.6: f8 = A[0]\nyield %a.6\n}"
        " axes (1)",
        r"reduce \(%j.4\): iteration .* (reads|writes) (view of )?A",
    ),
    ("%a.4: f8 = A[%i.3]\nelementwise B[:] at (%j.5: py_int) {\nyield %a.4\n}", r"view of B at \[\d\]"),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("body", "message"), MEETING)
def test_iterations_that_meet_are_reported(body: str, message: str, seed: int) -> None:
    with pytest.raises(ConflictError, match=message):
        interpret(mapped(body), [np.ones(5), np.ones(5)], seed=seed)


APART = [
    "reduce add B[%i.3] = elements at (%j.4: py_int) over [%n.1] {\n%a.5: f8 = B[%i.3]\nyield %a.5\n} axes (0)",
    "write B[%i.3] = 1.0:f8",
    "%a.4: f8 = A[0]\nwrite B[%i.3] = %a.4",
    "%a.4: f8 = A[%i.3]\nwrite A[%i.3] = add(%a.4, 1.0:f8)",
    "write B[0] resolve add = 1.0:f8",
    "write B[%i.3] = 1.0:f8\nwrite B[%i.3] = 2.0:f8",
    "alloc T site 0\nwrite T[0] = 1.0:f8\n%t.4: f8 = T[0]\nwrite B[%i.3] = %t.4",
    "map (%j.4: py_int) in [0:1] {\n%a.5: f8 = A[0]\nwrite B[%i.3] = %a.5\n}",
    "for %j.4: py_int in 0:3 {\nwrite B[%i.3] = 1.0:f8\ncontinue\n}",
]


@pytest.mark.parametrize("body", APART)
def test_iterations_that_keep_apart_are_fine(body: str) -> None:
    assert isinstance(interpret(mapped(body), [np.ones(5), np.ones(5)]), Returned)


def test_an_inner_map_may_conflict_with_itself() -> None:
    body = "map (%j.4: py_int) in [0:2] {\nwrite B[%i.3] = 1.0:f8\n}"

    with pytest.raises(ConflictError, match=r"map \(%j.4\)"):
        interpret(mapped(body), [np.ones(5), np.ones(5)])


def test_an_inner_map_may_conflict_with_another_iteration_outside() -> None:
    body = "map (%j.4: py_int) in [0:2] {\nwrite B[%j.4] = 1.0:f8\n}"

    with pytest.raises(ConflictError, match=r"map \(%i.3\)"):
        interpret(mapped(body), [np.ones(5), np.ones(5)])


def test_arguments_that_share_memory_are_seen() -> None:
    x = np.ones(6)

    with pytest.raises(ConflictError, match=r"(A\[\d\].*B\[\d\]|B\[\d\].*A\[\d\])"):
        interpret(mapped("%a.4: f8 = A[%i.3]\nwrite B[%i.3] = %a.4"), [x[:-1], x[1:]])


def test_the_order_of_an_illegal_map_decides_its_result() -> None:
    """Run in order this map would be a running sum, and a wrong loop-to-map would go unseen."""
    text = "map (%j.4: py_int) in [1:%n.1] {\n%a.5: f8 = A[%j.4 - 1]\nwrite A[%j.4] = add(%a.5, 1.0:f8)\n}"
    program = parse_program(f"{HEAD}{{\n{text}\nreturn missing\n}}\n")
    serial = np.arange(8.0)
    results: list[list[float]] = []
    for seed in range(5):
        A = np.zeros(8)
        interpret(program, [A, np.ones(1)], seed=seed, check=False)
        results.append(A.tolist())

    assert any(result != serial.tolist() for result in results)
    assert len({tuple(result) for result in results}) > 1


def test_the_seed_decides_the_order() -> None:
    results: list[list[float]] = []
    for _ in range(2):
        A = np.zeros(8)
        interpret(
            mapped("%a.4: f8 = A[0]\nwrite A[0] = add(multiply(%a.4, 2.0:f8), cast(%i.3): f8)"),
            [A, A],
            seed=3,
            check=False,
        )
        results.append(A.tolist())

    assert results[0] == results[1]


def test_a_legal_map_gives_the_same_under_every_seed() -> None:
    A = np.random.default_rng(0).random((4, 5))
    results = [np.zeros((4, 5)) for _ in range(4)]
    for seed, B in enumerate(results):
        interpret(sample("maps"), [A, B, 2.0], seed=seed)

    assert all(np.array_equal(B, results[0]) for B in results)
