"""What kind of numbers something has: iscomplexobj, isscalar, issubdtype, result_type and the like.

in:   arrays, numbers, dtypes and classes of numbers
out:  a Python bool or a dtype, known when the program is compiled: types are part of every variant
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.dtypes import PY_BOOL, ScalarType
from weft.ir.exprs import const
from weft.numpy_rules.arguments import Given, PythonRaises, is_none, static_value
from weft.numpy_rules.arrays import data_dtype
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.values import Array, Operand, Scalar, Static, Tuple

_WEAK: dict[str, Any] = {"b": True, "i": 0, "f": 0.0, "c": 0j}


def _known(value: bool) -> Scalar:
    return Scalar(const(bool(value), PY_BOOL))


def _is_complex(build: Builder, x: Operand) -> bool:
    if not isinstance(x, Array | Scalar):
        raise build.error(
            "E116", "only arrays and numbers are asked for their kind in compiled code", "make it an array"
        )
    return data_dtype(x).kind == "c"


@numpy_rule("numpy.iscomplexobj", samples=("iscomplexobj(c8[3])", "iscomplexobj(f8[3])", "iscomplexobj(v(1j))"))
def lower_iscomplexobj(build: Builder, x: Operand) -> Operand:
    """Whether the type is complex."""
    return _known(_is_complex(build, x))


@numpy_rule("numpy.isrealobj", samples=("isrealobj(c16[3])", "isrealobj(i4[0])", "isrealobj(v(2.5))"))
def lower_isrealobj(build: Builder, x: Operand) -> Operand:
    """Whether it is not."""
    return _known(not _is_complex(build, x))


@numpy_rule("numpy.isscalar", samples=("isscalar(v(2.5))", "isscalar(f4[3])", "isscalar('a')", "isscalar((1, 2))"))
def lower_isscalar(build: Builder, element: Operand) -> Operand:
    """Whether it is a number or a string, and no array."""
    match element:
        case Scalar():
            return _known(True)
        case Array() | Tuple():
            return _known(False)
        case Static(value=value):
            return _known(np.isscalar(value))
        case _:
            raise build.error("E116", "numpy.isscalar of this object is not compiled", "use isinstance")


def _asked(function: Any, *values: Any) -> Any:
    """What NumPy says of types; what it raises, it raises again in Python."""
    try:
        return function(*values)
    except TypeError as problem:
        raise PythonRaises(str(problem)) from None


@numpy_rule(
    "numpy.issubdtype",
    samples=("issubdtype(np.int32, np.integer)", "issubdtype(float, np.integer)", "issubdtype('u1', np.signedinteger)"),
)
def lower_issubdtype(build: Builder, arg1: Operand, arg2: Operand) -> Operand:
    """Whether a type is one of a class of types."""
    return _known(_asked(np.issubdtype, static_value(build, arg1, "a dtype"), static_value(build, arg2, "a dtype")))


@numpy_rule("numpy.promote_types", samples=("promote_types(np.int32, 'f4')", "promote_types(bool, np.uint8)"))
def lower_promote_types(build: Builder, type1: Operand, type2: Operand, /) -> Operand:
    """The type that holds the numbers of both."""
    given = static_value(build, type1, "a dtype"), static_value(build, type2, "a dtype")
    return Static(_asked(np.promote_types, *given))


@numpy_rule(
    "numpy.result_type",
    samples=("result_type(f4[3], v(2.5))", "result_type(i4[3], np.float32)", "result_type(u1[2], i8[2, 3], 1j)"),
)
def lower_result_type(build: Builder, /, *arrays_and_dtypes: Operand) -> Operand:
    """The type of what is computed of these, Python's numbers of any size."""
    return Static(_asked(np.result_type, *(_example(build, given) for given in arrays_and_dtypes)))


def _example(build: Builder, given: Operand) -> Any:
    """Something of the same type, as `result_type` looks at it."""
    match given:
        case Array(dtype=dtype):
            return dtype.numpy
        case Scalar(expr=expr):
            return _weak_or_dtype(expr.type)
        case _:
            return static_value(build, given, "a dtype")


def _weak_or_dtype(type_: ScalarType) -> Any:
    return _WEAK[type_.dtype.kind] if type_.python else type_.dtype.numpy


@numpy_rule(
    "numpy.can_cast",
    samples=("can_cast(np.int32, np.float32)", "can_cast('f8', 'f4', 'same_kind')", "can_cast(f8[2], int)"),
)
def lower_can_cast(build: Builder, from_: Operand, to: Operand, casting: Given = None) -> Operand:
    """Whether numbers of one type may become another."""
    if isinstance(from_, Scalar):
        raise PythonRaises("NumPy decides about numbers")
    rule = "safe" if casting is None or is_none(casting) else static_value(build, casting, "casting")
    return _known(_asked(np.can_cast, _example(build, from_), static_value(build, to, "a dtype"), rule))
