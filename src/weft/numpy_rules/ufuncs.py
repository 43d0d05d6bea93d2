"""Ufuncs and the element-wise functions around them: np.add, np.add.outer, np.where, np.sinc, np.clip,
np.round.

in:   operands of any kind; `out` and `dtype` as NumPy takes them
out:  a NumPy scalar if no operand has axes, else a new array (or `out`)

Every ufunc the table of operations knows is registered under all of NumPy's names for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import Expr, const, op, python_const
from weft.ir.nodes import Layout, full_view
from weft.ir.ops import OPS
from weft.numpy_rules.arguments import Flag, Given, PythonRaises, is_none, static_dtype, static_int
from weft.numpy_rules.arrays import (
    as_array,
    as_data,
    bool_expr,
    common_dtype,
    copy_array,
    data_dtype,
    map_array,
    number,
    numpy_scalar,
    read_scalar,
    ufunc,
    where_mask,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import (
    apply_ufunc,
    broadcast_shapes,
    cast,
    guard_fits,
    initialise,
    map_elements,
    narrowed,
    permute,
    scalar_expr,
    store,
)
from weft.numpy_rules.indexing import insert_axis
from weft.numpy_rules.picking import lower_nonzero
from weft.numpy_rules.reductions import accumulate, reduce_with
from weft.numpy_rules.registry import Rule, numpy_rule
from weft.numpy_rules.reshaping import is_contiguous
from weft.numpy_rules.values import Array, Masked, Operand, Scalar, Static, Tuple

UFUNCS = tuple(name for name in OPS if isinstance(getattr(np, name, None), np.ufunc))
"""The ufuncs Weft compiles."""


def _out(build: Builder, out: Given) -> Array | None:
    """The array given as `out`, also as a tuple of one."""
    if isinstance(out, Tuple) and len(out.items) == 1:
        out = out.items[0]
    if is_none(out):
        return None
    if not isinstance(out, Array):
        raise PythonRaises("return arrays must be of ArrayType")
    return out


def _call(
    build: Builder, name: str, operands: Sequence[Operand], out: Given, dtype: Given, where: Operand | bool
) -> Operand:
    parts = [as_data(build, operand) for operand in operands]
    target, mask = _out(build, out), where_mask(build, where)
    if mask is not None and (target is None or target.rank == 0):
        raise build.error("E217", "'where' is compiled only with an array as 'out'", "give the array for the results")
    into = target if mask is None or target is None else Masked(target, mask)
    return apply_ufunc(build, name, parts, out=into, dtype=static_dtype(build, dtype))


def _unary_rule(name: str) -> Rule:
    def lower(build: Builder, x: Operand, /, out: Given = None, *, where: Flag = True, dtype: Given = None) -> Operand:
        return _call(build, name, (x,), out, dtype, where)

    return lower


def _binary_rule(name: str) -> Rule:
    def lower(
        build: Builder,
        x1: Operand,
        x2: Operand,
        /,
        out: Given = None,
        *,
        where: Flag = True,
        dtype: Given = None,
    ) -> Operand:
        return _call(build, name, (x1, x2), out, dtype, where)

    return lower


_INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert")


def _ufunc_samples(name: str) -> tuple[str, ...]:
    """Calls that test a ufunc: one per kind of type it takes."""
    if name in _INTEGERS:
        call = f"{name}(i8[3, 4]%7)" if OPS[name].arity == 1 else f"{name}(i8[3, 4], i8[4]%7)"
        narrow = f"{name}(u1[5])" if OPS[name].arity == 1 else f"{name}(u1[5], 3)"
        return (call, narrow)
    if OPS[name].arity == 2:
        left = "f8[3, 4]+0.5" if name == "power" else "f8[3, 4]"
        return (f"{name}({left}, f8[4])", f"{name}(f4[5]+0.5, 2.0)", f"{name}(2.5, np.float64(1.5))")
    domain = {"arccosh": "+1.5", "arcsin": "/9", "arccos": "/9", "arctanh": "/9"}.get(name, "+0.5")
    return (
        f"{name}(f8[3, 4]{domain})",
        f"{name}(f4[5]{domain})",
        f"{name}(0.5)" if name != "arccosh" else "arccosh(2)",
    )


def _register_ufuncs() -> None:
    names: dict[int, list[str]] = {}
    for alias, target in sorted(vars(np).items()):
        names.setdefault(id(target), []).append(alias)
    for name in UFUNCS:
        rule = _unary_rule(name) if OPS[name].arity == 1 else _binary_rule(name)
        rule.__doc__ = f"`np.{name}`."
        aliases = [f"numpy.{alias}" for alias in names[id(getattr(np, name))] if alias != name]
        numpy_rule(f"numpy.{name}", samples=_ufunc_samples(name))(rule)
        if aliases:
            numpy_rule(*aliases)(rule)
    for twin, name in (("degrees", "rad2deg"), ("radians", "deg2rad")):  # ufuncs of their own in NumPy
        numpy_rule(f"numpy.{twin}", samples=(f"{twin}(f8[3, 4])", f"{twin}(2)"))(_unary_rule(name))


_register_ufuncs()


# -- methods of ufuncs: `np.add.outer(a, b)` comes as ("ufunc.outer", Static(np.add), a, b) ----------------------------


def ufunc_name(build: Builder, operand: Operand) -> str:
    """The name of a ufunc operand that Weft compiles."""
    target: Any = operand.value if isinstance(operand, Static) else None
    name = getattr(target, "__name__", "")
    if not isinstance(target, np.ufunc) or name not in UFUNCS:
        raise build.error("E215", f"np.{name or 'this ufunc'} is not compiled", "write it with basic operations")
    return name


@numpy_rule("ufunc.outer", samples=("add.outer(f8[3], f8[2, 4])", "subtract.outer(i4[3], f8[2])"))
def lower_ufunc_outer(build: Builder, function: Operand, a: Operand, b: Operand, /) -> Operand:
    """`np.add.outer(a, b)`: the axes of a, then those of b."""
    name = ufunc_name(build, function)
    left, right = as_data(build, a), as_data(build, b)
    if OPS[name].arity != 2:
        raise PythonRaises("outer is defined for binary ufuncs only")
    if isinstance(left, Array) and isinstance(right, Array):
        view = left.view
        for _ in range(right.rank):
            view = insert_axis(view, view.rank)
        left = Array(view, left.dtype)
    return apply_ufunc(build, name, (left, right))


@numpy_rule("ufunc.reduce", samples=("minimum.reduce(f8[3, 4], 1)", "add.reduce(i4[3, 4])"))
def lower_ufunc_reduce(
    build: Builder, function: Operand, a: Operand, axis: Operand | int = 0, dtype: Given = None, keepdims: Flag = False
) -> Operand:
    """`np.add.reduce(a)`: along the first axis unless told otherwise."""
    name = ufunc_name(build, function)
    return reduce_with(build, name, a, axis, dtype, keepdims)


@numpy_rule(
    "ufunc.accumulate",
    samples=(
        "add.accumulate(f8[3, 4], 1)",
        "multiply.accumulate(i4[5])",
        "maximum.accumulate(f8[5])",
        "minimum.accumulate(i4[4, 3], axis=1)",
        "maximum.accumulate(u1[4, 3, 2], axis=1)",
        "minimum.accumulate(b1[4, 3])",
    ),
)
def lower_ufunc_accumulate(
    build: Builder, function: Operand, array: Operand, axis: Operand | int = 0, dtype: Given = None
) -> Operand:
    """`np.add.accumulate(a)`; of one axis, which may be called None."""
    if not isinstance(axis, int) and is_none(axis) and as_array(build, array).rank != 1:
        raise PythonRaises("accumulate does not allow multiple axes")
    return accumulate(build, ufunc_name(build, function), array, axis, dtype)


# -- where, clip, round -----------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.where",
    samples=(
        "where(b1[3, 4], f8[3, 4], 0)",
        "where(f8[4], i4[3, 4], f4[4])",
        "where(b1[5], 1, 2.5)",
        "where(True, 1, 2)",
        "where(f8[3, 4])",
    ),
)
def lower_where(build: Builder, condition: Operand, x: Given = None, y: Given = None, /) -> Operand:
    """Always an array, also of numbers; with a condition alone, `np.nonzero`."""
    if x is None or y is None:
        if x is not y:
            raise PythonRaises("either both or neither of x and y should be given")
        return lower_nonzero(build, condition)
    parts = [as_data(build, operand) for operand in (condition, x, y)]
    dtype = common_dtype(build, parts[1:])
    for part in parts[1:]:
        if not guard_fits(build, part, dtype):
            raise PythonRaises("Python integer out of bounds")
    shape = broadcast_shapes(build, [part.shape for part in parts if isinstance(part, Array)])
    numbers = [Scalar(narrowed(build, part.expr, dtype)) if isinstance(part, Scalar) else part for part in parts[1:]]
    parts = [parts[0], *numbers]

    def body(args: Sequence[Expr]) -> Expr:
        return op("select", (bool_expr(build, args[0]), cast(args[1], dtype), cast(args[2], dtype)), ScalarType(dtype))

    return map_elements(build, parts, shape, dtype, body, name="where")


@numpy_rule("numpy.sinc", samples=("sinc(f8[5])", "sinc(f4[4, 3])", "sinc(i4[4])", "sinc(v(0.5))", "sinc(v(0))"))
def lower_sinc(build: Builder, x: Operand) -> Operand:
    """`sin(y) / y` of `y = pi * x`, or of a tiny number in the place of 0."""
    data = as_data(build, x)
    if data_dtype(data).kind not in "biuf":
        raise build.error("E279", "np.sinc is compiled for real numbers only", "write it out")
    if isinstance(data, Scalar):
        data = numpy_scalar(data)
    turned = ufunc(build, "multiply", Scalar(python_const(math.pi)), data)
    dtype = data_dtype(turned)
    type_, tiny = ScalarType(dtype), const(float(np.finfo(dtype.value).eps), ScalarType(dtype))

    def body(y: Expr) -> Expr:
        return op("select", (op("equal", (y, const(0.0, type_)), NP_BOOL), tiny, y), type_)

    if isinstance(turned, Scalar):
        angle: Array | Scalar = Scalar(build.let(body(turned.expr), "y"))
    else:
        angle = map_array(build, turned, dtype, body)
    return ufunc(build, "divide", ufunc(build, "sin", angle), angle)


@numpy_rule(
    "numpy.clip",
    "ndarray.clip",
    samples=(
        "clip(f8[3, 4], -1.0, 2.0)",
        "clip(f4[5], f4[5], None)",
        "clip(u1[6], -5, 100)",
        "clip(i4[3, 4], i4[4], 2)",
        "clip(0.5, 1, 2)",
        "clip(f8[4], max=0.0)",
    ),
)
def lower_clip(
    build: Builder,
    a: Operand,
    a_min: Given = None,
    a_max: Given = None,
    out: Given = None,
    *,
    min: Given = None,
    max: Given = None,
) -> Operand:
    """`minimum(maximum(a, a_min), a_max)`, in the common type of all three (a Python number is an array first)."""
    data = as_data(build, a)
    if isinstance(data, Scalar):
        data = numpy_scalar(data)
    low = _clip_bound(build, data, a_min if is_none(min) else min, lower=True)
    high = _clip_bound(build, data, a_max if is_none(max) else max, lower=False)
    target = _out(build, out)
    if data_dtype(data) is DType.BOOL:
        raise build.error("E216", "np.clip of bools is not compiled", "use logical operations")
    if low is None or high is None:
        name, bound = ("maximum", low) if high is None else ("minimum", high)
        if bound is None:
            return apply_ufunc(build, "positive", (data,), out=target)
        return apply_ufunc(build, name, (data, bound), out=target)
    return _clip_both(build, (data, low, high), target)


def _clip_bound(build: Builder, data: Array | Scalar, bound: Given, *, lower: bool) -> Array | Scalar | None:
    """None where there is no bound, or a Python int that no element can pass."""
    if bound is None or is_none(bound):
        return None
    part = as_data(build, bound)
    dtype = data_dtype(data)
    if isinstance(part, Scalar) and part.type.python and part.type.dtype is DType.INT64 and dtype.kind in "iu":
        literal = getattr(part.expr, "constant", None)
        first, last = dtype.bounds
        if literal is not None and (literal <= first if lower else literal >= last):
            return None
    return part


def _clip_both(build: Builder, parts: Sequence[Array | Scalar], out: Array | None) -> Operand:
    dtype = common_dtype(build, parts)
    for part in parts:
        if not guard_fits(build, part, dtype):
            raise PythonRaises("Python integer out of bounds")
    type_ = ScalarType(dtype)

    def body(args: Sequence[Expr]) -> Expr:
        x, low, high = (cast(arg, dtype) for arg in args)
        return op("minimum", (op("maximum", (x, low), type_), high), type_)

    if out is None and all(isinstance(part, Scalar) or part.rank == 0 for part in parts):
        return Scalar(build.let(body([scalar_expr(build, part) for part in parts]), "clip"))
    shape = broadcast_shapes(build, [part.shape for part in parts if isinstance(part, Array)])
    if out is None:
        return map_elements(build, parts, shape, dtype, body, name="clip")
    return _into(build, out, map_elements(build, parts, shape, dtype, body, name="clip"))


def _into(build: Builder, out: Array, result: Array | Scalar) -> Array:
    """Store a result in the array given as `out`."""
    if not np.can_cast(data_dtype(result).numpy, out.dtype.numpy, "same_kind"):
        raise PythonRaises("the result cannot be cast to the output")
    if isinstance(result, Array) and out.rank < result.rank:
        raise PythonRaises("non-broadcastable output operand")
    store(build, out, result)
    return out


@numpy_rule(
    "numpy.round",
    "numpy.around",
    "ndarray.round",
    "scalar.round",
    samples=("round(f8[3, 4])", "round(f8[5], 2)", "round(f4[5], -1)", "round(i4[5], 1)", "round(2.5)"),
)
def lower_round(build: Builder, a: Operand, decimals: Operand | int = 0, out: Given = None) -> Operand:
    """Half to even; with decimals by scaling, as NumPy does."""
    places = static_int(build, decimals, "decimals")
    data = as_data(build, a)
    target = _out(build, out)
    kind = data_dtype(data).kind
    if kind in "bc" or (kind in "iu" and places < 0):
        raise build.error("E216", "np.round is not compiled for this type", "convert to float first")
    if kind in "iu":
        result: Array | Scalar = numpy_scalar(data) if isinstance(data, Scalar) else copy_array(build, data)
    else:
        result = _round_float(build, data, places)
    if isinstance(data, Array) and data.rank == 0 and isinstance(result, Array):
        result = read_scalar(build, result)
    return result if target is None else _into(build, target, result)


def _round_float(build: Builder, data: Array | Scalar, places: int) -> Array | Scalar:
    if places == 0:
        return ufunc(build, "rint", data)
    scale = number(build, Static(10.0 ** abs(places)))
    first, last = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    whole = ufunc(build, "rint", ufunc(build, first, data, scale))
    if not isinstance(data, Array) or data.rank < 2:
        return ufunc(build, last, whole, scale)
    # NumPy makes this array itself: in Fortran order where the input is, else in C order, whatever its steps.
    container = build.container(data.view.container)
    if container.layout is Layout.STRIDED:
        raise build.error("E216", "np.round is not compiled for arrays of any strides", "copy the array first")
    turned = permute(data.view, tuple(reversed(range(data.rank))))
    is_whole = container.layout is Layout.F and data.view == full_view(container)
    fortran = is_whole or (container.layout is Layout.C and is_contiguous(build, turned))
    made = Array(build.alloc(data.shape, data.dtype, "round", fortran=fortran), data.dtype)
    initialise(build, made, ufunc(build, last, whole, scale))
    return made
