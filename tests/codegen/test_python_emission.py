from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.conftest import Golden
from tests.ir.samples import SAMPLES, sample
from tests.ir.strategies import FLOATS, INDICES, INTEGERS, booleans, floats, integers
from weft.codegen.python import emit_python
from weft.interp import Left, Returned, interpret
from weft.ir.exprs import Expr
from weft.ir.nodes import Program
from weft.ir.parser import parse_program
from weft.ir.printer import print_expr


def compiled(program: Program) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    text = emit_python(program)
    exec(compile(text, "<emitted>", "exec"), namespace)
    return namespace[[name for name in namespace if callable(namespace[name])][-1]]


def arguments(name: str) -> list[Any]:
    random = np.random.default_rng(2)
    given_: dict[str, list[Any]] = {
        "jacobi": [4, random.random(9), random.random(9)],
        "maps": [random.random((5, 4)).T, np.zeros((4, 5)), 2.0],
        "histogram": [random.integers(0, 4, 50), 4],
        "library": [random.random((3, 4)), random.random((4, 2))],
        "swap": [3, np.zeros(3), np.zeros(3)],
        "control": [np.array([1, -1, 5, 7, 9]), 8, 100],
        "refs": [np.arange(4, dtype=np.float32), np.arange(3, dtype=np.float32), False],
        "methods": [None, np.float64(1.5), (3, 4), 3, "fast"],
        "literals": [None],
        "scalars_only": [],
        "leaving_loops": [np.arange(6).reshape(2, 3), 4],
        "elements": [random.random((3, 4)), random.random(4), np.array([1, 0, 3])],
        "calls": [random.random((3, 4)), np.array([2.0, 1.0, 2.0])],
        "no_array": [np.arange(3, dtype=np.int32), False],
    }
    return given_[name]


def copied(slots: list[Any]) -> list[Any]:
    return [slot.copy() if isinstance(slot, np.ndarray) else slot for slot in slots]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_says_what_the_interpreter_says(name: str) -> None:
    program, slots = sample(name), arguments(name)
    mine, theirs = copied(slots), copied(slots)

    outcome = interpret(program, mine)
    result = compiled(program)(*theirs)

    assert isinstance(outcome, Returned)
    if program.writebacks:
        result, writebacks = result
        assert writebacks == outcome.writebacks
    same(result, outcome.value)
    same(theirs, mine)


def same(left: Any, right: Any) -> None:
    if type(right).__name__ == "_Missing":
        assert type(left) is object
        return
    assert type(left) is type(right)
    if isinstance(right, list | tuple):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            same(a, b)
    else:
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    ("shape", "key", "result"), [((2, 3), 4, (1, 4)), ((2, 3), 0, (0, 0)), ((2, 3), 9, (-1, 6)), ((2, 0), 0, (-1, 0))]
)
def test_several_loops_are_left_at_once(shape: tuple[int, int], key: int, result: tuple[int, int]) -> None:
    program, slots = sample("leaving_loops"), [np.arange(shape[0] * shape[1]).reshape(shape), key]

    assert compiled(program)(*slots) == result
    assert interpret(program, slots) == Returned(result)


def test_a_failed_guard_raises_with_the_live_names() -> None:
    program = sample("control")
    slots = [np.array([1, -1, 5, 7, 9]), 8, 2]
    outcome = interpret(program, slots)
    assert isinstance(outcome, Left)

    with pytest.raises(Exception, match='site 1: over the "limit"') as caught:
        compiled(program)(*slots)

    error: Any = caught.value
    assert type(error).__name__ == "GuardFailed"
    assert (error.site, error.reason) == (outcome.site, outcome.reason)
    assert error.frames == [frame.live for frame in outcome.frames]


def test_the_text_reads_like_numpy(golden: Golden) -> None:
    assert emit_python(sample("jacobi")) == golden


def test_maps_read_like_loops(golden: Golden) -> None:
    assert emit_python(sample("maps")) == golden


def test_nothing_but_numpy_is_imported() -> None:
    for name in SAMPLES:
        imports = [line for line in emit_python(sample(name)).splitlines() if line.startswith(("import", "from"))]
        assert imports == ["import numpy as np"]


VIEWS = """\
weft-ir 1
program views
slot param 0: array float64 rank 2 written
slot param 1: array float64 rank 1
slot param 2: py_int
scalar slot 2 = %k.9: py_int
size %n.1: py_int
size %m.2: py_int
size %l.3: py_int
array A: f8[%n.1, %m.2] argument slot 0 S written
array b: f8[%l.3] argument slot 1 S
array R: f8[{shape}] transient C
{{
  site 0 f0@() {{}}
  alloc R site 0
  elementwise R[{whole}] at ({params}) {{
    %x.4: f8 = {view}
    yield %x.4
  }}
  return R[{whole}]
}}
"""


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("A[:, :]", lambda A, b: A),
        ("A[1:%n.1, 0]", lambda A, b: A[1:, 0]),
        ("A[$1, $0] over [%m.2, %n.1]", lambda A, b: A.T),
        ("A[2*$0, $1] over [2, %m.2]", lambda A, b: A[:4:2]),
        ("A[%n.1 - 1 - $0, $1] over [%n.1, %m.2]", lambda A, b: A[::-1]),
        ("A[$0, $0] over [%n.1]", lambda A, b: np.diag(A)),
        ("b[$0] over [%l.3, 4]", lambda A, b: np.broadcast_to(b[:, None], (5, 4))),
        ("b[$1] over [3, %l.3]", lambda A, b: np.broadcast_to(b, (3, 5))),
        ("b[0] over [2, 2]", lambda A, b: np.full((2, 2), b[0])),
        ("b[3]", lambda A, b: b[3]),
        ("b[$0 + $1] over [2, 3]", lambda A, b: np.lib.stride_tricks.sliding_window_view(b, 3)[:2]),
        ("A[$2, $0] over [%m.2, 2, %n.1]", lambda A, b: np.broadcast_to(A.T[:, None, :], (6, 2, 5))),
        ("b[%k.9*$0] over [2]", lambda A, b: b[:4:2]),
        ("b[1:1]", lambda A, b: b[1:1]),
    ],
)
def test_every_kind_of_view(view: str, expected: Callable[..., Any]) -> None:
    A, b = np.arange(30.0).reshape(5, 6), np.arange(5.0)
    wanted = expected(A, b)
    params = ", ".join(f"%p.{20 + axis}: py_int" for axis in range(wanted.ndim))
    shape = view.partition(" over ")[2].strip("[]")
    if not shape:
        shape = {"A[:, :]": "%n.1, %m.2", "A[1:%n.1, 0]": "%n.1 - 1", "b[1:1]": "0", "b[3]": ""}[view]
    text = VIEWS.format(shape=shape, view=view, params=params, whole=", ".join(":" for _ in range(wanted.ndim)))
    program = parse_program(text)

    outcome = interpret(program, [A, b, 2])
    assert isinstance(outcome, Returned)
    np.testing.assert_array_equal(outcome.value, wanted)
    np.testing.assert_array_equal(compiled(program)(A, b, 2), wanted)


EXPRESSION = """\
weft-ir 1
program expression
slot param 0: py_int
slot param 1: py_int
slot param 2: py_int
slot param 3: array float64 rank 1
slot param 4: array float64 rank 1
slot param 5: array int64 rank 1
slot param 6: array int64 rank 1
scalar slot 0 = %i.1: py_int in [0, 5]
scalar slot 1 = %n.2: py_int in [0, 5]
scalar slot 2 = %"odd name".3: py_int in [0, 5]
array X: f8[4] argument slot 3 S
array Y: f8[4] argument slot 4 S
array K: i8[4] argument slot 5 S
array L: i8[4] argument slot 6 S
array R: {type}[4] transient C
array S: {type}[4] transient C
{{
  site 0 f0@() {{}}
  alloc R site 0
  alloc S site 0
  elementwise R[:] at (%p.4: py_int) {{
    %x.11: f8 = X[:]
    %y.12: f8 = Y[:]
    %k.21: i8 = K[:]
    %lambda.22: i8 = L[:]
    yield {expr}
  }}
  map (%p.5: py_int) in [0:4] {{
    tasklet {{
      %x.31: f8 = X[%p.5]
      %y.32: f8 = Y[%p.5]
      %k.41: i8 = K[%p.5]
      %lambda.42: i8 = L[%p.5]
      write S[%p.5] = {expr2}
    }}
  }}
  return tuple(R[:], S[:])
}}
"""


@settings(deadline=None)  # a busy machine is no failure
@given(expr=floats() | integers() | booleans())
def test_every_expression_says_what_the_interpreter_says(expr: Expr) -> None:
    one = print_expr(expr)
    two = one.replace("%x.11", "%x.31").replace("%y.12", "%y.32").replace("%k.21", "%k.41")
    two = two.replace("%lambda.22", "%lambda.42")
    program = parse_program(EXPRESSION.format(type=expr.type.text, expr=one, expr2=two))
    assert len((*INDICES, *FLOATS, *INTEGERS)) == 7
    slots = [
        3, 0, 5, np.array([0.5, -0.0, np.nan, np.inf]), np.array([2.0, 0.0, -1e300, 3.0]),
        np.array([7, -7, 2**62, -(2**63)]), np.array([2, 0, 2**62, -1]),
    ]  # fmt: skip

    outcome = interpret(program, slots)
    assert isinstance(outcome, Returned)
    arrays, scalars = compiled(program)(*slots)

    np.testing.assert_array_equal(arrays, outcome.value[0])
    np.testing.assert_array_equal(scalars, outcome.value[1])
    np.testing.assert_array_equal(arrays, scalars)
