"""Python's built-in functions on numbers, arrays and tuples of known length.

in:   operands of any kind
out:  what Python gives; ints are guarded to fit int64
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from weft.analysis.ranges import index_bounds
from weft.ir.dtypes import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, ScalarType
from weft.ir.exprs import Const, Expr, Index, const, const_index, op
from weft.numpy_rules.arguments import Given, PythonRaises, is_none, static_int, static_value
from weft.numpy_rules.arrays import arithmetic, as_data, number, scalar_of, steady
from weft.numpy_rules.builder import Builder, NeedText
from weft.numpy_rules.classes import class_of, require_method
from weft.numpy_rules.elementwise import apply_ufunc
from weft.numpy_rules.math_functions import to_int
from weft.numpy_rules.registry import numpy_rule, rule_named
from weft.numpy_rules.rounding import MOST_DIGITS, decimal_round
from weft.numpy_rules.scalars import compare, convert, int_expr, python_unary, truth
from weft.numpy_rules.type_conversions import python_cast
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Either,
    Iteration,
    Operand,
    Range,
    Scalar,
    Static,
    Text,
    Tuple,
)


@numpy_rule(
    "builtins.abs", samples=("abs(f8[3, 4])", "abs(v(-3))", "abs(v(-2.5))", "abs(v(np.int32(-3)))", "abs(c8[3])")
)
def lower_abs(build: Builder, x: Operand, /) -> Operand:
    """`abs(x)`: of Python numbers Python's, else the ufunc."""
    data = number(build, x)
    if isinstance(data, Scalar) and data.type.python:
        return python_unary(build, "absolute", data)
    return apply_ufunc(build, "absolute", (as_data(build, data),), operator=True)


# -- conversions ------------------------------------------------------------------------------------------------------


@numpy_rule("builtins.int", samples=("int(v(2.7))", "int(v(-2.7))", "int(v(np.float32(3.5)))", "int(v(True))", "int()"))
def lower_int(build: Builder, x: Operand | int = 0, /) -> Operand:
    """Towards zero; beyond int64, and for inf and nan, Python takes over."""
    if isinstance(x, int):
        return Scalar(const_index(x))
    if isinstance(x, Character):
        return _digit(build, x)
    data = scalar_of(build, x)
    kind = data.type.dtype.kind
    if kind == "c":
        raise PythonRaises("int() argument must not be complex")
    if kind in "biu":
        return Scalar(int_expr(build, data.expr))
    value = python_number_expr(build, data, PY_FLOAT)
    if isinstance(value, Const) and not isinstance(value.value, complex) and abs(value.value) < 1 << 63:
        return Scalar(const_index(int(value.value)))
    return to_int(build, op("trunc", (value,), PY_FLOAT))


def python_number_expr(build: Builder, data: Scalar, type_: ScalarType) -> Expr:
    """A scalar converted to a Python float or complex."""
    if data.type.python:
        return convert(build, data.expr, type_)
    return python_cast(data.expr, type_)


@numpy_rule("builtins.float", samples=("float(v(3))", "float(v(np.float32(0.1)))", "float(f8[()])", "float(v(True))"))
def lower_float(build: Builder, x: Operand | float = 0.0, /) -> Operand:
    """A Python float."""
    if isinstance(x, int | float):
        return Scalar(const(float(x), PY_FLOAT))
    if isinstance(x, Static) and isinstance(x.value, str):
        try:
            return Scalar(const(float(x.value), PY_FLOAT))
        except ValueError:
            raise PythonRaises("could not convert string to float") from None
    data = scalar_of(build, x)
    if data.type.dtype.kind == "c":
        raise PythonRaises("float() argument must not be complex")
    return Scalar(python_number_expr(build, data, PY_FLOAT))


@numpy_rule("builtins.complex", samples=("complex(v(2.5), v(1))", "complex(v(3))", "complex(v(1j))"))
def lower_complex(build: Builder, real: Operand | int = 0, imag: Given = None) -> Operand:
    """A Python complex number of one or two parts."""
    first = Scalar(const_index(real)) if isinstance(real, int) else scalar_of(build, real)
    if imag is None or is_none(imag):
        return Scalar(python_number_expr(build, first, PY_COMPLEX))
    second = scalar_of(build, imag)
    if "c" in (first.type.dtype.kind, second.type.dtype.kind):
        raise build.error("E270", "complex() of two complex numbers is not compiled", "write a + 1j * b")
    parts = [steady(build, python_number_expr(build, part, PY_FLOAT)) for part in (first, second)]
    return Scalar(build.let(op("complex", parts, PY_COMPLEX), "z"))


@numpy_rule("builtins.bool", samples=("bool(v(3))", "bool(v(0.0))", "bool(v(np.float32(2)))", "bool()"))
def lower_bool(build: Builder, x: Operand | bool = False, /) -> Operand:
    """The truth of an object."""
    return Scalar(const(x, PY_BOOL)) if isinstance(x, bool) else Scalar(as_bool(build, x))


def as_bool(build: Builder, operand: Operand) -> Expr:
    """The truth of an operand as a Python bool."""
    match number(build, operand):
        case Tuple(items=items):
            return const(bool(items), PY_BOOL)
        case Static(value=value):
            return const(bool(value), PY_BOOL)
        case other:
            return python_cast(truth(build, scalar_of(build, other)), PY_BOOL)


@numpy_rule(
    "builtins.round",
    samples=(
        "round(v(2.5))", "round(v(-3.5))", "round(v(7))", "round(v(np.float64(1.5)))", "round(v(2.675), 2)",
        "round(v(-0.001), 2)", "round(v(0.5), 0)", "round(v(7), 2)", "round(v(True), 1)",
        "round(v(np.float32(2.45)), 1)", "round(v(np.float64(2.675)), 2)",
    ),
)  # fmt: skip
def lower_round(build: Builder, number: Operand, ndigits: Given = None) -> Operand:
    """Half to even, a Python int; with digits a number of the same type, of a NumPy float as np.round gives it."""
    require_method(number, "__round__")
    data = scalar_of(build, number)
    is_whole = data.type.dtype.kind in "biu"
    if not is_none(ndigits):
        digits = static_int(build, ndigits, "the digits of round()")
        if not 0 <= digits <= MOST_DIGITS or (is_whole and not data.type.python) or data.type.dtype.kind == "c":
            raise build.error("E270", "round(x, digits) of such a number is not compiled", "use np.round")
        if not is_whole:
            return _round_to(build, data, digits)
    if is_whole:
        return Scalar(int_expr(build, data.expr))
    return to_int(build, op("rint", (python_number_expr(build, data, PY_FLOAT),), PY_FLOAT))


def _round_to(build: Builder, data: Scalar, digits: int) -> Operand:
    if data.type.python:
        return Scalar(decimal_round(build, data.expr, digits))
    entry = rule_named("numpy.round")
    assert entry is not None
    return entry.lower(build, data, Scalar(const_index(digits)))


# -- arithmetic -------------------------------------------------------------------------------------------------------


@numpy_rule("builtins.divmod", samples=("divmod(v(7), v(3))", "divmod(v(-7.5), v(2.0))", "divmod(i4[4], 3)"))
def lower_divmod(build: Builder, x: Operand, y: Operand, /) -> Operand:
    """`(x // y, x % y)`."""
    return Tuple(tuple(arithmetic(build, name, x, y, words="divmod") for name in ("floor_divide", "remainder")))


@numpy_rule("builtins.pow", samples=("pow(v(2), v(5))", "pow(v(2.5), v(2.0))", "pow(f8[3]+0.5, 2)"))
def lower_pow(build: Builder, base: Operand, exp: Operand) -> Operand:
    """`base ** exp`."""
    return arithmetic(build, "power", base, exp)


@numpy_rule("builtins.sum", samples=("sum((v(1), v(2.5), 3))", "sum([f8[3], f8[3]])", "sum((), 2.5)"))
def lower_sum(build: Builder, iterable: Operand, /, start: Operand | int = 0) -> Operand:
    """Of a tuple or list of known length, one after the other."""
    total: Operand = Scalar(const_index(start)) if isinstance(start, int) else start
    for item in _items(build, iterable, "np.sum"):
        total = arithmetic(build, "add", total, item)
    return total


def _items(build: Builder, operand: Operand, instead: str) -> tuple[Operand, ...]:
    if isinstance(operand, Tuple):
        return operand.items
    if isinstance(operand, Dict):
        return tuple(Scalar(const_index(key)) if type(key) is int else Static(key) for key in operand.keys)
    if isinstance(operand, Array | Range):
        raise build.error("E271", "Python would take the elements one by one", f"use {instead}")
    raise PythonRaises("object is not iterable")


# -- smallest and largest ---------------------------------------------------------------------------------------------


@numpy_rule(
    "builtins.min", samples=("min(v(3), v(2))", "min(v(2.5), v(1.5), v(2.0))", "min((v(3), v(2)))", "min(v(2), v(2.5))")
)
def lower_min(build: Builder, first: Operand, /, *others: Operand) -> Operand:
    """One of the operands: a later one only if it is smaller."""
    return _extreme(build, "less", (first, *others))


@numpy_rule("builtins.max", samples=("max(v(3), v(2))", "max(v(0.0), v(np.float64(1.5)))", "max([v(3), v(2), 5])"))
def lower_max(build: Builder, first: Operand, /, *others: Operand) -> Operand:
    """One of the operands: a later one only if it is larger."""
    return _extreme(build, "greater", (first, *others))


def _extreme(build: Builder, test: str, operands: Sequence[Operand]) -> Operand:
    name = "min" if test == "less" else "max"
    items = operands if len(operands) > 1 else _items(build, operands[0], f"np.{name}")
    if not items:
        raise PythonRaises(f"{name}() iterable argument is empty")
    chosen: Operand = number(build, items[0])
    for item in items[1:]:
        chosen = _choose(build, test, chosen, number(build, item))
    return chosen


def _choose(build: Builder, test: str, old: Operand, new: Operand) -> Operand:
    if isinstance(old, Either):
        raise build.error("E272", "min and max of several numbers of different types are not compiled", "convert them")
    left, right = scalar_of(build, new), scalar_of(build, old)
    if left.type == right.type == PY_INT:
        return _int_extreme(build, test, int_expr(build, right.expr), int_expr(build, left.expr))
    better = _test(build, test, left, right)
    if isinstance(better, Const):
        return new if better.value else old
    if left.type == right.type:
        pair = steady(build, left.expr), steady(build, right.expr)
        return Scalar(build.let(op("select", (better, *pair), left.type), "m"))
    tag = build.let(op("cast", (better,), PY_INT), "tag", low=0, high=1)
    return Either(tag, (right, left))


def _test(build: Builder, test: str, left: Scalar, right: Scalar) -> Expr:
    python = left.type.python and right.type.python
    result = compare(build, test, left, right) if python else apply_ufunc(build, test, (left, right))
    if not isinstance(result, Scalar):
        raise PythonRaises("these numbers cannot be compared")
    return result.expr


def _int_extreme(build: Builder, test: str, old: Index, new: Index) -> Scalar:
    (low, high), (other_low, other_high) = index_bounds(old), index_bounds(new)
    if build.proves_nonnegative(new - old):
        return Scalar(old if test == "less" else new)
    if build.proves_nonnegative(old - new):
        return Scalar(new if test == "less" else old)
    if test == "less":
        expr = op("minimum", (old, new), PY_INT)
        return Scalar(build.let_index(expr, "m", low=min(low, other_low), high=min(high, other_high)))
    expr = op("maximum", (old, new), PY_INT)
    return Scalar(build.let_index(expr, "m", low=max(low, other_low), high=max(high, other_high)))


# -- sequences and types ----------------------------------------------------------------------------------------------


@numpy_rule("builtins.len", samples=("len(f8[3, 4])", "len((1, 2))"))
def lower_len(build: Builder, obj: Operand, /) -> Operand:
    """A Python int."""
    match obj:
        case Tuple(items=items) | Dict(items=items):
            return Scalar(const_index(len(items)))
        case Iteration(kind="keys" | "values" | "items", items=(inner,)):
            return lower_len(build, inner)
        case Array() if obj.rank:
            return Scalar(obj.shape[0])
        case Text(codes=codes):
            return Scalar(codes.shape[0])
        case Static(value=str(), slot=slot) if slot >= 0 and not build.texts_are_known:
            raise NeedText(slot)
        case Static(value=value) if isinstance(value, str | bytes):
            return Scalar(const_index(len(value)))
        case Static() | Array() | Scalar():
            raise PythonRaises("object has no len()")
        case _:
            raise build.error("E273", "len() of this object is not compiled")


@numpy_rule("builtins.ord", samples=('ord("a")',))
def lower_ord(build: Builder, c: Operand, /) -> Operand:
    """The code point of a character."""
    match c:
        case Character(code=code):
            return Scalar(build.let_index(op("cast", (code,), PY_INT), "code", low=0, high=sys.maxunicode))
        case Static(value=str() as text) if len(text) == 1:
            return Scalar(const_index(ord(text)))
        case _:
            raise build.error("E110", "ord() of this object is not compiled", "take one character")


def _digit(build: Builder, letter: Character) -> Operand:
    """`int(letter)` of one of the ten digits; Python knows about the others."""
    code = build.let_index(op("cast", (letter.code,), PY_INT), "code", low=0, high=sys.maxunicode)
    value = code - ord("0")
    build.guard_nonnegative(value, "invalid literal for int()")
    build.guard_nonnegative(const_index(9) - value, "invalid literal for int()")
    return Scalar(value)


@numpy_rule("builtins.str")
def lower_str(build: Builder, value: Operand | None = None, /) -> Operand:
    """The text of a string or int that is known now."""
    match value:
        case None:
            return Static("")
        case Static(value=str() as text):
            return Static(text)
        case Scalar(expr=Index(constant=int() as number)):
            return Static(str(number))
        case _:
            raise build.error("E110", "str() of values is not compiled", "move it out of the program")


@numpy_rule("builtins.tuple", samples=("tuple([1, v(2.5)])", "tuple()"))
def lower_tuple(build: Builder, iterable: Operand | tuple[()] = (), /) -> Operand:
    """A tuple of the same items."""
    return Tuple(()) if isinstance(iterable, tuple) else Tuple(_items(build, iterable, "the array itself"))


@numpy_rule("builtins.list", samples=("list((1, v(2.5)))", "list()"))
def lower_list(build: Builder, iterable: Operand | tuple[()] = (), /) -> Operand:
    """A list of the same items."""
    items = () if isinstance(iterable, tuple) else _items(build, iterable, "the array itself")
    return Tuple(items, is_list=True)


@numpy_rule("builtins.any", samples=("any((v(0), v(2.5)))", "any(())", "any([v(0), False])"))
def lower_any(build: Builder, iterable: Operand, /) -> Operand:
    """Whether some item is true; the items are numbers, so asking them all changes nothing."""
    return _combine(build, "logical_or", iterable, "np.any")


@numpy_rule("builtins.all", samples=("all((v(0), v(2.5)))", "all(())", "all([v(1), True])"))
def lower_all(build: Builder, iterable: Operand, /) -> Operand:
    """Whether every item is true."""
    return _combine(build, "logical_and", iterable, "np.all")


def _combine(build: Builder, name: str, iterable: Operand, instead: str) -> Operand:
    decided = name == "logical_or"
    result: Expr | None = None
    for item in _items(build, iterable, instead):
        value = as_bool(build, item)
        if isinstance(value, Const):
            if bool(value.value) is decided:
                return Scalar(const(decided, PY_BOOL))
            continue
        result = value if result is None else op(name, (result, value), PY_BOOL)
    return Scalar(const(not decided, PY_BOOL) if result is None else build.let(result, "b"))


@numpy_rule("builtins.hasattr", samples=('hasattr(f8[3], "shape")', 'hasattr(v(1), "shape")'))
def lower_hasattr(build: Builder, obj: Operand, name: Operand, /) -> Operand:
    """Known at compile time for modules, arrays and numbers."""
    wanted: Any = static_value(build, name, "the name")
    match obj:
        case Static(value=ModuleType() as module):
            owner: object = module
        case Array() | Scalar():
            owner = class_of(obj)
        case _:
            owner = None
    if owner is None or not isinstance(wanted, str):
        raise build.error("E274", "hasattr() of this object is not compiled")
    return Scalar(const(hasattr(owner, wanted), PY_BOOL))


@numpy_rule("builtins.isinstance")
def lower_isinstance(build: Builder, obj: Operand, classinfo: Operand, /) -> Operand:
    """Known at compile time: every operand has one class."""
    cls = class_of(obj)
    if cls is None:
        raise build.error("E274", "isinstance() of this object is not compiled")
    classes: Any = static_value(build, classinfo, "the class")
    try:
        return Scalar(const(issubclass(cls, classes), PY_BOOL))
    except TypeError:
        raise PythonRaises("isinstance() arg 2 must be a type") from None
