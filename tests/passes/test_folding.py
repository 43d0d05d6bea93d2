"""Folding: what is known of an expression is what the interpreter computes, and the rest stays."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import Golden
from tests.passes.graphs import changed, graph
from weft.interp.scalars import compile_expr
from weft.ir.dtypes import NP_BOOL, PY_FLOAT, PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Value, const, const_index, index, op
from weft.ir.nodes import Pack, Return
from weft.ir.op_types import fault_in
from weft.ir.ops import OPS
from weft.ir.printer import print_expr
from weft.passes.folding import Folding
from weft.passes.propagate_values import PropagateValues

FOLDED = """
  return tuple(
    logical_and(greater_equal(1*%n.1, 0): b1, less(add(2.0:py_float, 0.5:py_float), %x.6): b1): b1,
    select(true:b1, %x.6, 1.0:py_float), select(isnan(%x.6): b1, %x.6, %x.6),
    multiply(1.0:py_float, %x.6), subtract(%x.6, 0.0:py_float), subtract(%x.6, -0.0:py_float),
    add(%x.6, 0.0:py_float), divide(%x.6, 1.0:py_float), cast(%x.6): py_float,
    logical_not(logical_not(isinf(%x.6): b1)), less(1*%n.1, 1001): b1, equal(1*%n.1, %n.1 + 1): b1,
    minimum(%n.1 + 1, %n.1 + 3): py_int, maximum(%n.1 + 1, 0): py_int, minimum(1*%n.1, 1*%m.2): py_int,
    add_overflows(1*%n.1, 7): b1, multiply_overflows(1*%k.5, 4611686018427387904): b1,
    positive(%n.1*%m.2): py_int, positive(%n.1 + 1): py_int,
    select(isnan(%x.6): b1, isinf(%x.6): b1, isnan(%x.6): b1), select(isnan(%x.6): b1, isinf(%x.6): b1, false:b1),
    select(isnan(%x.6): b1, isnan(%x.6): b1, isinf(%x.6): b1), select(isnan(%x.6): b1, true:b1, isinf(%x.6): b1),
       select(isnan(%x.6): b1, false:b1, isinf(%x.6): b1)
  )
"""


def test_what_is_known_is_put_to_use(golden: Golden) -> None:
    text = " ".join(line.strip() for line in FOLDED.splitlines())
    made, _ = changed(PropagateValues(), graph(text))
    (end,) = made.body.nodes
    assert isinstance(end, Return)
    assert isinstance(end.value, Pack)
    assert "\n".join(print_expr(item) for item in end.value.items if isinstance(item, Expr)) == golden


STAYS: list[Expr] = [
    op("divide", (const(1.0, PY_FLOAT), const(0.0, PY_FLOAT)), PY_FLOAT),
    op("add", (const(1e308, PY_FLOAT), const(1e308, PY_FLOAT)), PY_FLOAT),
    op("multiply", (const(1e-300, PY_FLOAT), const(1e-300, PY_FLOAT)), PY_FLOAT),
    op("exp", (const(1.0, PY_FLOAT),), PY_FLOAT),
    op("floor_divide", (const_index(7), const_index(0)), PY_INT),
    op("floor_divide", (const(7.5, PY_FLOAT), const(2.0, PY_FLOAT)), PY_FLOAT),
    op("add", (const(2**63 - 1, ScalarType(DType.INT64)), const(1, ScalarType(DType.INT64))), ScalarType(DType.INT64)),
    op("cast", (const(2.5, PY_FLOAT),), ScalarType(DType.INT32)),
    op("cast", (const(1e300, PY_FLOAT),), ScalarType(DType.FLOAT32)),
    op("divide", (const_index(2**60 + 1), const_index(3)), PY_FLOAT),
    op("logical_or", (Value(1, "p", ScalarType(DType.BOOL, python=True)), const(False, NP_BOOL)), NP_BOOL),
    op("positive", (index(Value(1, "n", PY_INT)) * index(Value(2, "m", PY_INT)),), PY_INT),
]


ZERO_OR_ONE = Value(1, "is", PY_INT, low=0, high=1)
CHOSEN = [(ZERO_OR_ONE, 0, 0, 1), (ZERO_OR_ONE, 1, 1, 0)]
OTHERWISE = [
    (ZERO_OR_ONE, 0, 1, 0), (ZERO_OR_ONE, 0, 0, 2), (ZERO_OR_ONE, 2, 0, 1), (Value(1, "n", PY_INT, low=0), 0, 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("value", "to", "chosen", "other"), CHOSEN + OTHERWISE)
def test_a_number_that_says_which_of_two_it_is(value: Value, to: int, chosen: int, other: int) -> None:
    is_it = op("equal", (index(value), const_index(to)), NP_BOOL)
    expr = op("select", (is_it, const_index(chosen), const_index(other)), PY_INT)
    found = Folding({}).expr(expr)
    assert (found == index(value)) is ((value, to, chosen, other) in CHOSEN)


@pytest.mark.parametrize("expr", STAYS, ids=lambda expr: f"{expr.name}-{expr.type.text}")
def test_what_may_warn_raise_wrap_or_look_different_stays(expr: Expr) -> None:
    assert Folding().expr(expr) is expr


NUMBERS = {
    "b": (False, True),
    "i": (-7, -1, 0, 2, 100),
    "u": (0, 1, 3, 200),
    "f": (-2.5, -0.0, 0.0, 1.0, 3.0, 1e30, float("inf")),
}


@pytest.mark.parametrize("name", sorted(OPS))
def test_numbers_are_those_of_the_interpreter(name: str) -> None:
    for dtype in DType:
        for expr in _on_numbers(name, dtype):
            found = Folding().expr(expr)
            if isinstance(found, Const | Index):
                with np.errstate(all="ignore"):
                    expected, actual = compile_expr(expr)({}), compile_expr(found)({})
                assert found.type == expr.type
                assert expected.tobytes() == actual.tobytes(), (expr, found)


def _on_numbers(name: str, dtype: DType) -> list[Expr]:
    type_ = ScalarType(dtype)
    numbers = NUMBERS.get(dtype.kind, ())
    if name in ("select", "complex"):
        return []
    if OPS[name].arity == 1:
        operands = [(const(number, type_),) for number in numbers]
    else:
        operands = [(const(a, type_), const(b, type_)) for a in numbers for b in numbers]
    results = [ScalarType(other) for other in DType]
    made = [op(name, args, result) for args in operands for result in results]
    return [expr for expr in made if fault_in(expr) is None and _is_computed(expr)]


def _is_computed(expr: Expr) -> bool:
    """Whether NumPy has the operation on these types."""
    try:
        with np.errstate(all="ignore"):
            compile_expr(expr)({})
    except Exception:  # noqa: BLE001 - TypeError, InternalError: not an operation of these types
        return False
    return True
