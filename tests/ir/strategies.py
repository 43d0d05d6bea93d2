"""Random expressions, for properties that hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Value, const, const_index, index, op

F8 = ScalarType(DType.FLOAT64)
F4 = ScalarType(DType.FLOAT32)
I8 = ScalarType(DType.INT64)
INDICES = tuple(Value(number, name, PY_INT, 0, 5) for number, name in ((1, "i"), (2, "n"), (3, "odd name")))
FLOATS = tuple(Value(number, name, F8) for number, name in ((11, "x"), (12, "y")))
INTEGERS = (Value(21, "k", I8), Value(22, "lambda", I8))
VALUES = (*INDICES, *FLOATS, *INTEGERS)

polynomials = st.recursive(
    st.integers(-9, 9).map(const_index) | st.sampled_from(INDICES).map(index),
    lambda inner: st.tuples(inner, inner, st.sampled_from("+-*")).map(
        lambda t: t[0] + t[1] if t[2] == "+" else t[0] - t[1] if t[2] == "-" else t[0] * t[1]
    ),
    max_leaves=5,
)


def _binary(names: tuple[str, ...], operand: st.SearchStrategy[Expr], type_: ScalarType) -> st.SearchStrategy[Expr]:
    return st.builds(lambda name, x, y: op(name, (x, y), type_), st.sampled_from(names), operand, operand)


def _cast(operand: st.SearchStrategy[Expr], type_: ScalarType) -> st.SearchStrategy[Expr]:
    return operand.map(lambda x: op("cast", (x,), type_))


def floats(depth: int = 3) -> st.SearchStrategy[Expr]:
    """Expressions of type float64."""
    leaf = st.sampled_from(FLOATS) | st.floats(width=64).map(lambda x: const(x, F8))
    if depth == 0:
        return leaf
    inner = floats(depth - 1)
    return (
        leaf
        | _binary(("add", "subtract", "multiply", "divide", "maximum", "fmin"), inner, F8)
        | st.builds(lambda name, x: op(name, (x,), F8), st.sampled_from(("negative", "absolute", "sqrt")), inner)
        | st.builds(lambda c, x, y: op("select", (c, x, y), F8), booleans(depth - 1), inner, inner)
        | _cast(integers(depth - 1), F8)
        | _cast(_cast(inner, F4), F8)
    )


def integers(depth: int = 3) -> st.SearchStrategy[Expr]:
    """Expressions of type int64: they wrap."""
    leaf = st.sampled_from(INTEGERS) | st.integers(-(2**63), 2**63 - 1).map(lambda x: const(x, I8))
    if depth == 0:
        return leaf
    inner = integers(depth - 1)
    names = ("add", "subtract", "multiply", "floor_divide", "remainder", "bitwise_xor", "minimum")
    return leaf | _binary(names, inner, I8) | _cast(polynomials, I8) | _cast(booleans(depth - 1), I8)


def booleans(depth: int = 3) -> st.SearchStrategy[Expr]:
    """Expressions of type bool."""
    leaf = st.booleans().map(lambda x: const(x, NP_BOOL))
    if depth == 0:
        return leaf
    inner = booleans(depth - 1)
    names = ("less", "less_equal", "equal", "not_equal")
    return (
        _binary(names, floats(depth - 1), NP_BOOL)
        | _binary(names, integers(depth - 1), NP_BOOL)
        | _binary(("logical_and", "logical_or", "logical_xor"), inner, NP_BOOL)
        | inner.map(lambda x: op("logical_not", (x,), NP_BOOL))
    )
