"""Arrays on the stack: text form, rules, meaning, and what becomes of them in C and in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.harness import load
from weft.codegen.python import emit_python
from weft.interp import Returned, interpret
from weft.ir.parser import parse_program
from weft.ir.printer import print_program
from weft.ir.verifier import verify
from weft.support.errors import InternalError

ROTATE = """\
weft-ir 1
program rotate
slot param 0: array float64 rank 3 layout C
slot param 1: array float64 rank 2 layout C written
constant None
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
array A: f8[%n.1, 3, 3] argument slot 0 C
array R: f8[%m.2, 3] argument slot 1 C written
array T: f8[3, 3] stack C
array S: f8[3] stack C
array s: f8[] stack C
{
  map (%i.3: py_int) in [0:%n.1] parallel {
    alloc T
    alloc S
    alloc s
    matmul T[:, :] = A[%i.3, :, :] @ A[%i.3, :, :]
    reduce add S[:] = T[:, :] axes (1) initial 0.0:f8
    reduce maximum s[] = S[:] axes (0)
    map (%j.4: py_int) in [0:3] {
      tasklet {
        %x.5: f8 = S[%j.4]
        %y.6: f8 = s[]
        write R[%i.3, %j.4] = divide(%x.5, %y.6)
      }
    }
  }
  return constant 0
}
"""


def rotated(a: Any) -> Any:
    sums = (a @ a).sum(axis=2)
    return sums / sums.max(axis=1, keepdims=True)


def arrays(count: int = 40) -> tuple[Any, Any]:
    return np.random.default_rng(1).random((count, 3, 3)), np.zeros((count, 3))


def test_the_text_form_is_read_back() -> None:
    program = parse_program(ROTATE)
    verify(program)
    assert print_program(program) == ROTATE
    with_site = ROTATE.replace("alloc s\n", "alloc s site 3\n")
    assert print_program(parse_program(with_site)) == with_site


def test_the_interpreter_knows_them() -> None:
    a, r = arrays()
    assert isinstance(interpret(parse_program(ROTATE), [a, r], seed=5), Returned)
    np.testing.assert_allclose(r, rotated(a), rtol=1e-14)


def test_they_are_written_as_python() -> None:
    scope: dict[str, Any] = {}
    exec(emit_python(parse_program(ROTATE)), scope)
    a, r = arrays()
    scope["rotate"](a, r)
    np.testing.assert_allclose(r, rotated(a), rtol=1e-14)


@pytest.mark.parametrize("count", [2, 40_000])
def test_in_c_they_are_arrays_of_the_block(count: int) -> None:
    kernel = load(parse_program(ROTATE))
    assert "double T[9] __attribute__((aligned(64)));" in kernel.file.source
    assert "double s[1];" in kernel.file.source
    a, r = arrays(count)
    outcome = kernel(a, r)
    np.testing.assert_allclose(r, rotated(a), rtol=1e-14)
    assert outcome.live == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("f8[3] stack C", "f8[%n.1] stack C", "the extents of an array on the stack are constants"),
        ("f8[3] stack C", "f8[2049] stack C", "16392 bytes are too many for the stack"),
        ("f8[3] stack C", "f8[3] stack S", "an array on the stack is dense"),
        ("return constant 0", "alloc S\n  return S[:]", "a view of S, which is on the stack, leaves its region"),
        ("alloc S\n", "", "S is used before it is allocated"),
        ("alloc S\n", "alloc S\n    alloc S\n", "S is allocated twice"),
        (
            "array s: f8[] stack C\n{",
            "array s: f8[] stack C\narray X: f8[3] ref C may alias (S)\n{",
            "X: may alias S, which no view leaves",
        ),
        (
            "  return constant 0",
            "  alloc S\n  for %k.7: py_int in 0:2 carry (X = S[:]) {\n    continue X[:]\n  }\n  return constant 0",
            "a view of S, which is on the stack, leaves its region",
        ),
    ],
)
def test_rules(old: str, new: str, message: str) -> None:
    text = ROTATE.replace(old, new)
    if "X = S" in new:
        text = text.replace("array s: f8[] stack C\n{", "array s: f8[] stack C\narray X: f8[3] ref C may alias (R)\n{")
    with pytest.raises(InternalError) as caught:
        verify(parse_program(text))
    assert message in caught.value.message


def test_a_transient_still_needs_a_site() -> None:
    with pytest.raises(InternalError, match="memory is allocated inside a parallel map"):
        verify(
            parse_program(ROTATE.replace("f8[3] stack C", "f8[3] transient C").replace("alloc S\n", "alloc S site 0\n"))
        )
