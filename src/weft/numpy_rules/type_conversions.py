"""Conversions by calling a type, and the parts of complex numbers: np.float32(x), x.real, x.item().

in:   a number or an array
out:  a NumPy scalar for a number or a 0-d array, a new array otherwise; Python numbers have Python parts
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.ir.dtypes import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, const, const_index, op
from weft.numpy_rules.arguments import Flag, Given, PythonRaises, is_none, static_bool, static_dtype
from weft.numpy_rules.arrays import (
    as_array,
    as_data,
    convert_array,
    copy_array,
    guard_assignable,
    map_array,
    read_scalar,
    scalar_of,
    ufunc,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, fill
from weft.numpy_rules.registry import Rule, numpy_rule
from weft.numpy_rules.scalars import int_expr
from weft.numpy_rules.values import Array, Growing, Operand, Scalar, Static

PYTHON_TYPES = {"b": PY_BOOL, "i": PY_INT, "u": PY_INT, "f": PY_FLOAT, "c": PY_COMPLEX}


# -- np.float32(x) ----------------------------------------------------------------------------------------------------


def _type_rule(dtype: DType) -> Rule:
    def lower(build: Builder, x: Operand | int = 0, /) -> Operand:
        if isinstance(x, int):
            return Scalar(cast(const_index(x), dtype))
        return convert_type(build, x, dtype)

    return lower


def convert_type(build: Builder, operand: Operand, dtype: DType) -> Operand:
    """`np.<dtype>(operand)`."""
    data = as_data(build, operand)
    if isinstance(data, Array) and data.rank > 0:
        return convert_array(build, data, dtype)
    if isinstance(data, Array):
        data = read_scalar(build, data)
    if not data.type.python and data.type.dtype.kind == "c" and dtype.kind in "iuf":
        raise build.error("E216", "discarding the imaginary part is not compiled", "write .real first")
    guard_assignable(build, data, dtype)
    expr = cast(data.expr, dtype)
    warn = build.warn_site("cast") if data.type.dtype.kind in "fc" and dtype.kind in "iuf" else -1
    return Scalar(expr if isinstance(expr, Const) else build.let(expr, "c", warn=warn))


def _register_types() -> None:
    for dtype in DType:
        rule = _type_rule(dtype)
        rule.__doc__ = f"`np.{dtype.value}(x)`."
        names = sorted(f"numpy.{name}" for name, target in vars(np).items() if target is dtype.numpy.type)
        main = f"numpy.{dtype.value}"
        numpy_rule(main, samples=(f"{dtype.value}(3)", f"{dtype.value}(u1[2, 3])", f"{dtype.value}()"))(rule)
        aliases = [name for name in names if name != main]
        if aliases:
            numpy_rule(*aliases)(rule)


_register_types()


# -- parts of complex numbers -----------------------------------------------------------------------------------------


@numpy_rule("numpy.real", samples=("real(f8[3])", "real(c16[3, 2])", "real(2.5)", "real(True)"))
def lower_real(build: Builder, val: Operand, /) -> Operand:
    """Of a real array the array itself."""
    return real_part(build, val)


@numpy_rule("ndarray.real", "scalar.real", samples=("real(f8[3])", "real(c8[3, 2])"))
def lower_real_attribute(build: Builder, val: Operand, /) -> Operand:
    """`x.real`."""
    return real_part(build, val)


def real_part(build: Builder, operand: Operand) -> Operand:
    """The real part: of real numbers they themselves."""
    data = as_data(build, operand)
    if isinstance(data, Array):
        return data if data.dtype.kind != "c" else _array_part(build, "real", data)
    if data.type == PY_BOOL:
        return Scalar(int_expr(build, data.expr))
    return data if data.type.dtype.kind != "c" else _scalar_part(build, "real", data)


@numpy_rule("numpy.imag", samples=("imag(f8[3])", "imag(c8[3, 2])", "imag(2.5)"))
def lower_imag(build: Builder, val: Operand, /) -> Operand:
    """Of a real array zeros."""
    return imaginary_part(build, val)


@numpy_rule("ndarray.imag", "scalar.imag", samples=("imag(c16[3, 2])",))
def lower_imag_attribute(build: Builder, val: Operand, /) -> Operand:
    """`x.imag`."""
    return imaginary_part(build, val)


def imaginary_part(build: Builder, operand: Operand) -> Operand:
    """The imaginary part: zero for real numbers."""
    data = as_data(build, operand)
    if isinstance(data, Array):
        if data.dtype.kind == "c":
            return _array_part(build, "imag", data)
        zeros = fill(build, data.shape, data.dtype, const_index(0), "imag")
        build.ledger.snapshots[zeros.view.container] = zeros.view.container  # read-only in NumPy
        return zeros
    if data.type.dtype.kind == "c":
        return _scalar_part(build, "imag", data)
    if data.type.python:
        return Scalar(const(0.0, PY_FLOAT) if data.type == PY_FLOAT else const_index(0))
    return Scalar(cast(const_index(0), data.type.dtype))


@numpy_rule(
    "numpy.angle",
    samples=("angle(c16[5])", "angle(c8[4, 3], deg=True)", "angle(f8[5])", "angle(i4[2, 3], True)", "angle(c16[2, 0])",
             "angle(f4[3])", "angle(v(1 - 2j))", "angle(v(-2.5), deg=True)", "angle(3)"),
)  # fmt: skip
def lower_angle(build: Builder, z: Operand, deg: Flag = False) -> Operand:
    """The angle from the positive real axis, in radians or degrees."""
    data = as_data(build, z)
    dtype = data.dtype if isinstance(data, Array) else data.type.dtype
    across = imaginary_part(build, data) if dtype.kind == "c" else Scalar(const_index(0))
    found = ufunc(build, "arctan2", across, real_part(build, data) if dtype.kind == "c" else data)
    if static_bool(build, deg, "deg"):
        found = ufunc(build, "multiply", found, Scalar(const(180 / np.pi, PY_FLOAT)))
    return found


def _real_dtype(dtype: DType) -> DType:
    return DType.FLOAT32 if dtype is DType.COMPLEX64 else DType.FLOAT64


def _scalar_part(build: Builder, name: str, data: Scalar) -> Scalar:
    type_ = PY_FLOAT if data.type.python else ScalarType(_real_dtype(data.type.dtype))
    return Scalar(build.let(op(name, (data.expr,), type_), name[0]))


def _array_part(build: Builder, name: str, array: Array) -> Array:
    """A copy that stands for NumPy's view: neither it nor the array may be written after (the builder refuses)."""
    dtype = _real_dtype(array.dtype)
    part = map_array(build, array, dtype, lambda x: op(name, (x,), ScalarType(dtype)), name)
    build.ledger.snapshots[part.view.container] = array.view.container
    return part


# -- Python numbers from NumPy's --------------------------------------------------------------------------------------


@numpy_rule("ndarray.item", "scalar.item", samples=("item(f8[()])",))
def lower_item(build: Builder, a: Operand, position: Given = None, /) -> Operand:
    """`a.item()`: a Python number; of a 0-d array or a scalar."""
    if not is_none(position):
        raise build.error("E216", "a.item(k) is not compiled", "write a[k].item()")
    data = as_data(build, a)
    if isinstance(data, Array) and data.rank > 0:
        for extent in data.shape:
            build.guard_equal(extent, const_index(1), "can only convert an array of size 1 to a Python scalar")
        zero = const_index(0)
        data = Scalar(build.read(data.view, (zero,) * data.rank, data.dtype))
    return python_number(build, scalar_of(build, data))


def python_number(build: Builder, data: Scalar) -> Scalar:
    """The Python number of a scalar's value."""
    kind = data.type.dtype.kind
    if data.type.python:
        return data
    if kind in "iu":
        return Scalar(int_expr(build, data.expr))
    return Scalar(python_cast(data.expr, PYTHON_TYPES[kind]))


def python_cast(expr: Expr, type_: ScalarType) -> Expr:
    """A NumPy expression as a Python number of a type that holds it."""
    if isinstance(expr, Const):
        return const(_CONVERTERS[type_](expr.value), type_)
    return expr if expr.type == type_ else op("cast", (expr,), type_)


_CONVERTERS: dict[ScalarType, Callable[..., bool | float | complex]] = {
    PY_BOOL: bool, PY_FLOAT: float, PY_COMPLEX: complex,
}  # fmt: skip


@numpy_rule("ndarray.conj", "ndarray.conjugate", samples=("conj(c16[3, 2])", "conj(f8[3])"))
def lower_conj(build: Builder, a: Operand, /) -> Operand:
    """`a.conj()`: of a real array the array itself."""
    array = as_array(build, a)
    if array.dtype.kind != "c":
        return array
    return map_array(build, array, array.dtype, lambda x: op("conjugate", (x,), ScalarType(array.dtype)), "conj")


@numpy_rule("scalar.conjugate", "scalar.conj")
def lower_scalar_conjugate(build: Builder, a: Operand, /) -> Operand:
    """`x.conjugate()`."""
    data = scalar_of(build, a)
    if data.type.dtype.kind == "c":
        return Scalar(build.let(op("conjugate", (data.expr,), data.type), "c"))
    return data


@numpy_rule("scalar.copy")
def lower_scalar_copy(build: Builder, a: Operand, /) -> Operand:
    """`x.copy()` of a NumPy scalar, which is what a program gets from `v[i]`."""
    return scalar_of(build, a)


@numpy_rule("scalar.is_integer")
def lower_is_integer(build: Builder, a: Operand, /) -> Operand:
    """`x.is_integer()`."""
    data = scalar_of(build, a)
    if data.type.dtype.kind in "biu":
        return Scalar(const(True, PY_BOOL))
    if data.type.dtype.kind == "c":
        raise PythonRaises("complex numbers have no is_integer")
    whole = op("equal", (op("floor", (data.expr,), data.type), data.expr), PY_BOOL)
    finite = op("isfinite", (data.expr,), PY_BOOL)
    return Scalar(op("logical_and", (whole, finite), PY_BOOL))


# -- types themselves -------------------------------------------------------------------------------------------------


@numpy_rule("numpy.dtype", samples=("dtype(np.float32)", "dtype('i4')"))
def lower_dtype(build: Builder, dtype: Operand, /) -> Operand:
    """A dtype object, known at compile time."""
    return Static((static_dtype(build, dtype) or DType.FLOAT64).numpy)


@numpy_rule("numpy.finfo")
def lower_finfo(build: Builder, dtype: Operand, /) -> Operand:
    """The limits of a float type, known at compile time."""
    kind = static_dtype(build, dtype)
    if kind is None or kind.kind not in "fc":
        raise PythonRaises("data type not inexact")
    return Static(np.finfo(kind.value))


@numpy_rule("numpy.iinfo")
def lower_iinfo(build: Builder, dtype: Operand, /) -> Operand:
    """The limits of an integer type, known at compile time."""
    kind = static_dtype(build, dtype)
    if kind is None or kind.kind not in "iu":
        raise PythonRaises("Invalid integer data type")
    return Static(np.iinfo(kind.value))


@numpy_rule("ndarray.tolist", samples=("tolist(f8[4])", "tolist(i2[3])", "tolist(c8[2])", "tolist(b1[3])"))
def lower_tolist(build: Builder, a: Operand, /) -> Operand:
    """A list of Python numbers, of an array of one axis."""
    array = as_array(build, a)
    if array.rank != 1 or array.dtype is DType.UINT64:
        raise build.error("E271", "tolist is compiled for arrays of one axis only, not for uint64", "use the array")
    type_ = PYTHON_TYPES[array.dtype.kind]
    return Growing(copy_array(build, array, type_.dtype), array.shape[0], type_)
