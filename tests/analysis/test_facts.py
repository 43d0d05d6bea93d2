"""What is known of computed integers."""

from __future__ import annotations

import pytest

from weft.analysis.facts import Constraint, limits_of
from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Index, Value, const_index, index, op
from weft.ir.nodes import Let

X, N, V = Value(1, "x", PY_INT), Value(2, "n", PY_INT, low=0), Value(3, "v", PY_INT)
x, n, v = index(X), index(N), index(V)


@pytest.mark.parametrize(
    ("name", "by", "limits"),
    [
        ("minimum", n, [x - v, n - v]),
        ("maximum", n, [v - x, v - n]),
        ("remainder", n, [v, n - 1 - v]),
        ("remainder", -n, []),
        ("floor_divide", const_index(3), [x - v * 3, v * 3 + 2 - x]),
        ("floor_divide", const_index(-3), []),
        ("floor_divide", n, []),
        ("add", n, []),
    ],
)
def test_limits(name: str, by: Index, limits: list[Index]) -> None:
    assert list(limits_of(Let(V, op(name, (x, by), PY_INT)))) == [Constraint(limit) for limit in limits]


def test_numbers_of_arrays_have_none() -> None:
    """A remainder by 0 is 0 there."""
    type_ = ScalarType(DType.INT64)
    left, right, result = (Value(number, "a", type_) for number in (4, 5, 6))
    assert not list(limits_of(Let(result, op("remainder", (left, right), type_))))
