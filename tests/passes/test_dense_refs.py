"""Refs that are bound to whole dense arrays become dense, and mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.harness import load
from tests.conftest import Golden
from tests.ir.samples import SAMPLES
from weft.interp import Returned, interpret
from weft.ir.nodes import Program, Storage
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.verifier import verify
from weft.passes.dense_refs import dense_refs

SWAP = """\
weft-ir 1
program smooth
slot param 0: py_int
slot param 1: array float64 rank 2 layout C written
slot param 2: array float64 rank 2 layout C written
warning "add" line 3
warning "multiply" line 3
scalar slot 0 = %steps.1: py_int
size %n.2: py_int in [0, 1099511627776]
size %m.3: py_int in [0, 1099511627776]
size %k.4: py_int in [0, 1099511627776]
size %l.5: py_int in [0, 1099511627776]
size %x.6: py_int in [0, 1099511627776]
size %y.7: py_int in [0, 1099511627776]
size %z.8: py_int in [0, 1099511627776]
size %w.9: py_int in [0, 1099511627776]
array A: f8[%n.2, %m.3] argument slot 1 C written
array B: f8[%k.4, %l.5] argument slot 2 C written
array X: f8[%x.6, %y.7] ref S may alias (A, B) written
array Y: f8[%z.8, %w.9] ref S may alias (A, B) written
{
  site 0 f0@(0) {steps: %steps.1, A: slot 1, B: slot 2}
  guard logical_and(equal(%n.2, %k.4), equal(%m.3, %l.5)) else site 0 "shapes differ"
  guard greater_equal(%m.3, 2) else site 0 "slices clip"
  for %t.10: py_int in 0:%steps.1 carry (X = A[:, :], Y = B[:, :]) {
    map (%i.11: py_int, %j.12: py_int) in [0:%x.6, 1:%y.7 - 1] parallel {
      tasklet {
        %l.13: f8 = X[%i.11, %j.12 - 1]
        %r.14: f8 = X[%i.11, %j.12 + 1]
        %s.15: f8 = add(%l.13, %r.14) warn 0
        %p.16: f8 = multiply(0.5:f8, %s.15) warn 1
        write Y[%i.11, %j.12] = %p.16
      }
    }
    continue Y[:, :], X[:, :]
  }
  return X[:, :]
}
"""


def parsed(text: str) -> Program:
    program = parse_program(text)
    verify(program)
    return program


def layouts(program: Program) -> dict[str, str]:
    return {c.name: c.layout.value for c in program.containers.values() if c.storage is Storage.REF}


def smooth(steps: int, a: Any, b: Any) -> Any:
    for _ in range(steps):
        b[:, 1:-1] = 0.5 * (a[:, :-2] + a[:, 2:])
        a, b = b, a
    return a


def test_swapped_buffers_are_dense(golden: Golden) -> None:
    before = parsed(SWAP)
    after = dense_refs(before)
    verify(after)
    assert print_program(after) == golden
    assert dense_refs(after) is after


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_the_meaning_is_kept(steps: int) -> None:
    expected = smooth(steps, *arrays())
    for program in (parsed(SWAP), dense_refs(parsed(SWAP))):
        outcome = interpret(program, [steps, *arrays()])
        assert isinstance(outcome, Returned)
        np.testing.assert_array_equal(outcome.value, expected)


def arrays() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.random((5, 9)), rng.random((5, 9))


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_compiled_they_are_indexed_by_their_extents(steps: int) -> None:
    kernel = load(dense_refs(parsed(SWAP)))
    assert "WEFT_AT" not in kernel.file.source
    outcome = kernel(steps, *arrays())
    np.testing.assert_array_equal(outcome.value, smooth(steps, *arrays()))
    assert outcome.live == 0


def test_warnings_go_through_refs() -> None:
    kernel = load(dense_refs(parsed(SWAP)))
    a, b = arrays()
    a[2, 3] = a[2, 5] = 1e308
    assert kernel(1, a, b).warnings == {0: 2, 1: 0}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("continue Y[:, :], X[:, :]", "continue X[:, :], Y[:, :]", {"X": "C", "Y": "C"}),
        ("Y = B[:, :]", "Y = A[0:1, :]", {"X": "S", "Y": "S"}),  # swapped, so both
        ("continue Y[:, :], X[:, :]", "continue X[:, :], Y[0:1, :]", {"X": "C", "Y": "S"}),
        ("Y = B[:, :]", "Y = B[$1, $0] over [%l.5, %k.4]", {"X": "S", "Y": "S"}),
        ("X = A[:, :]", 'X = ""[0, 0] over [0, 0]', {"X": "C", "Y": "C"}),
    ],
)
def test_one_view_that_is_not_whole_spoils_it(old: str, new: str, expected: dict[str, str]) -> None:
    text = SWAP.replace(old, new)
    assert text != SWAP
    assert layouts(dense_refs(parse_program(text))) == expected


def test_two_orders_do_not_go_together() -> None:
    text = SWAP.replace("slot param 2: array float64 rank 2 layout C", "slot param 2: array float64 rank 2 layout F")
    text = text.replace("argument slot 2 C", "argument slot 2 F")
    assert layouts(dense_refs(parsed(text))) == {"X": "S", "Y": "S"}
    both = text.replace("slot param 1: array float64 rank 2 layout C", "slot param 1: array float64 rank 2 layout F")
    both = both.replace("argument slot 1 C", "argument slot 1 F")
    after = dense_refs(parsed(both))
    assert layouts(after) == {"X": "F", "Y": "F"}
    a, b = (np.asfortranarray(array) for array in arrays())
    np.testing.assert_array_equal(load(after)(3, a, b).value, smooth(3, *arrays()))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_stay_sound(name: str) -> None:
    verify(dense_refs(parse_program(SAMPLES[name])))


def test_the_verifier_refuses_what_is_not_dense() -> None:
    text = SWAP.replace("ref S", "ref C").replace("continue Y[:, :], X[:, :]", "continue Y[0:1, :], X[:, :]")
    with pytest.raises(Exception, match="X is dense in C order, but gets a view that is not"):
        verify(parse_program(text))
