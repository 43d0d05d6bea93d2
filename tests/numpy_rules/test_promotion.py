"""Types of results: every pair of operand types through ufuncs, reductions and products, against NumPy."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.numpy_rules.samples import Bench, RunTime
from weft.interp import Left, Returned
from weft.numpy_rules.registry import all_rules
from weft.support.errors import CompileError

OPERANDS: dict[str, Any] = {
    **{text: np.array([1, 2, 1], text) for text in ("b1", "i1", "u1", "i8", "u8", "f4", "f8", "c8")},
    "np.int8": RunTime(np.int8(2)),
    "np.uint64": RunTime(np.uint64(2)),
    "np.float32": RunTime(np.float32(2)),
    "bool": RunTime(True),
    "int": RunTime(2),
    "float": RunTime(1.5),
    "complex": RunTime(1.5 + 1j),
}
BINARY = ("add", "subtract", "multiply", "divide", "floor_divide", "maximum", "less", "arctan2", "logical_and", "power")
UNARY = ("negative", "absolute", "sqrt", "sign", "square", "isnan", "floor", "invert", "exp", "logical_not")
REDUCTIONS = ("sum", "prod", "max", "mean", "var", "any", "cumsum", "argmax")
# float16; extremes of complex numbers
REFUSALS = ("E211", "E231", "E240")


def plain(value: Any) -> Any:
    return value.value if isinstance(value, RunTime) else value


def agree(name: str, *args: Any) -> None:
    """Same type, dtype and value; where NumPy raises, ours leaves; a refusal is allowed only by its code."""
    function = getattr(np, name.partition(".")[2])
    bench = Bench()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = function(*map(plain, args))
    except (TypeError, ValueError, OverflowError):
        expected = None
    try:
        outcome = bench.run(all_rules()[name].lower(bench.build, *map(bench.operand, args)))
    except CompileError as refused:
        if refused.code not in REFUSALS:
            raise
        return
    if expected is None:
        assert isinstance(outcome, Left)
        return
    assert isinstance(outcome, Returned), outcome
    assert type(outcome.value) is type(expected)
    assert outcome.value.dtype == expected.dtype
    np.testing.assert_allclose(outcome.value, expected, rtol=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufuncs_promote_as_numpy(name: str):
    for left, right in product(OPERANDS.values(), OPERANDS.values()):
        agree(f"numpy.{name}", left, right)


@pytest.mark.parametrize("name", UNARY)
def test_unary_ufuncs_promote_as_numpy(name: str):
    for operand in OPERANDS.values():
        agree(f"numpy.{name}", operand)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_have_the_type_of_numpys(name: str):
    for operand in OPERANDS.values():
        agree(f"numpy.{name}", operand)


@pytest.mark.parametrize("name", ["matmul", "dot", "outer", "vdot", "inner"])
def test_products_promote_as_numpy(name: str):
    for left, right in product(OPERANDS.values(), OPERANDS.values()):
        agree(f"numpy.{name}", left, right)


def test_where_promotes_as_numpy():
    chosen = np.array([True, False, True])
    for left, right in product(OPERANDS.values(), OPERANDS.values()):
        agree("numpy.where", chosen, left, right)


def test_comparisons_of_signed_and_unsigned_are_exact():
    signed, unsigned = np.array([-1, 5, 7]), np.array([2**64 - 1, 5, 2**63], np.uint64)
    for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
        agree(f"numpy.{name}", signed, unsigned)
        agree(f"numpy.{name}", unsigned, signed)


def test_clip_promotes_as_numpy():
    for operand, low in product(OPERANDS.values(), OPERANDS.values()):
        if plain(operand).__class__ is bool or getattr(plain(operand), "dtype", None) == np.bool:
            continue
        agree("numpy.clip", operand, low, RunTime(2))
