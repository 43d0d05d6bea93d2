"""Ufuncs on operands of any kind: promotion, broadcasting, and the node that results.

in:   a ufunc name and operands (Python scalars, NumPy scalars, arrays)
out:  a scalar if no operand is an array with axes, else a new array (or the given `out`)

NumPy itself says which types a ufunc takes (`resolve_dtypes`, with Python scalars weak), so promotion is never written
down a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from weft.ir.dtypes import NP_BOOL, DType, ScalarType, dtype_of
from weft.ir.exprs import Const, Expr, Index, Value, const, const_index, index, op
from weft.ir.nodes import Elementwise, Reduce, View
from weft.ir.ops import OPS, ORDERS, narrows
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import chosen_from, harmless, note_chosen_by_all, note_made
from weft.numpy_rules.complex_orders import order_of_parts
from weft.numpy_rules.memory_order import OrderRule, iteration_order
from weft.numpy_rules.powers import as_base, fast_powers, take_fast_ways
from weft.numpy_rules.values import Array, Masked, Never, Operand, Scalar

# Python's bool is not weak: it counts as NumPy's.
_PYTHON_TYPES: dict[DType, type | np.dtype[Any]] = {
    DType.BOOL: np.dtype(bool), DType.INT64: int, DType.FLOAT64: float, DType.COMPLEX128: complex,
}  # fmt: skip
_ONE = const_index(1)
_KINDS = "biufc"  # a Python number of an earlier kind becomes one of a later one
_OVERFLOWING = ("add", "subtract", "multiply", "negative", "absolute")


def apply_ufunc(
    build: Builder,
    name: str,
    operands: Sequence[Operand],
    *,
    out: Array | Masked | None = None,
    dtype: DType | None = None,
    operator: bool = False,
    words: str = "",
) -> Operand:
    """`np.name(*operands, out=out, dtype=dtype)`; with `where` too, if `out` is masked.

    `operator`: it was written as one. `words` is what warnings call it, where that is not its name.
    """
    parts = [part for part in operands if isinstance(part, Scalar | Array)]
    if len(parts) != len(operands):
        raise build.error("E210", f"np.{name} is not compiled for this kind of operand", "pass arrays or numbers")
    types = resolve(name, tuple(type_key(part) for part in parts), dtype)
    if types is None:
        return build.leave(f"np.{name} has no loop for these types")
    if any(dtype_of(t) is None for t in types):
        raise build.error("E211", f"np.{name} gives a type that Weft does not have here")
    loop = [dtype_of(t) or DType.FLOAT64 for t in types]
    if name == "power" and loop[0].kind in "iu" and not _guard_exponent(build, parts[1], loop[1]):
        return Never()
    for part, target in zip(parts, loop, strict=False):
        if not guard_fits(build, part, target):
            return Never()
    fast = fast_powers(build, parts) if operator and name == "power" else []
    if out is None and all(isinstance(part, Scalar) or part.rank == 0 for part in parts):
        for test, _ in fast:
            build.guard(op("logical_not", (test,), NP_BOOL), "this power is another function")
        return _scalar(build, name, parts, loop, words or name, lone=operator and _is_scalar_math(parts))
    parts = [
        Scalar(narrowed(build, part.expr, target)) if isinstance(part, Scalar) else part
        for part, target in zip(parts, loop, strict=False)
    ]
    result = _array(build, name, parts, loop, out, words or name, fast)
    if out is None and isinstance(result, Array) and not fast:
        _note_chosen(build, name, parts, loop, words or name, result)
    return result


def _is_scalar_math(parts: Sequence[Scalar | Array]) -> bool:
    """Whether NumPy has an operator of its own for these scalars; else it goes through the ufunc, and warns as that.

    It has where one of the types holds the other; bool has none, unless it stands on the right of another.
    """
    scalars = [part.type for part in parts if isinstance(part, Scalar)]
    if len(scalars) < len(parts):
        return False
    own = [type_.dtype for type_ in scalars if not type_.python]
    if own[0] is DType.BOOL and (scalars[0].dtype is DType.BOOL or len(own) < len(parts)):
        return False
    if len(own) == 2:
        return np.promote_types(own[0].numpy, own[1].numpy) in (own[0].numpy, own[1].numpy)
    return all(_KINDS.index(type_.dtype.kind) <= _KINDS.index(own[0].kind) for type_ in scalars if type_.python)


@lru_cache(maxsize=1024)
def resolve(name: str, keys: tuple[Any, ...], dtype: DType | None) -> tuple[np.dtype[Any], ...] | None:
    """The operand and result types of the loop NumPy would choose; None where it would raise."""
    ufunc: np.ufunc = getattr(np, name)
    operands = (*keys, *[None] * ufunc.nout)
    try:
        if dtype is None:
            return ufunc.resolve_dtypes(operands)
        return ufunc.resolve_dtypes(operands, signature=(*[None] * ufunc.nin, dtype.numpy))
    except TypeError:
        return None


def type_key(operand: Scalar | Array) -> Any:
    """What NumPy's type resolution takes for an operand: a dtype, or a Python type for a weak scalar."""
    if isinstance(operand, Array):
        return operand.dtype.numpy
    return _PYTHON_TYPES[operand.type.dtype] if operand.type.python else operand.type.dtype.numpy


def guard_fits(build: Builder, operand: Scalar | Array, target: DType) -> bool:
    """A Python int must fit the integer type it is converted to: otherwise NumPy raises OverflowError."""
    if not isinstance(operand, Scalar) or not operand.type.python or operand.type.dtype is not DType.INT64:
        return True
    if target.kind not in "iu" or target is DType.INT64:
        return True
    low, high = target.bounds
    value = operand.expr
    polynomial = value if isinstance(value, Index) else index(build.let(value))
    literal = polynomial.constant
    if literal is not None and not low <= literal <= high:
        build.leave("Python integer out of bounds for the array's type")
        return False
    build.guard_nonnegative(polynomial - low, "Python integer out of bounds for the array's type")
    if high < (1 << 63):
        build.guard_nonnegative(high - polynomial, "Python integer out of bounds for the array's type")
    return True


def _guard_exponent(build: Builder, exponent: Scalar | Array, loop: DType) -> bool:
    """Integers to negative integer powers raise ValueError."""
    if loop.kind == "u":
        return True
    if isinstance(exponent, Array) and exponent.rank > 0:
        _guard_exponents(build, exponent)
        return True
    expr = scalar_expr(build, exponent)
    polynomial = expr if isinstance(expr, Index) else build.let_index(expr, "e")
    if polynomial.constant is not None and polynomial.constant < 0:
        build.leave("integers to negative integer powers are not allowed")
        return False
    build.guard_nonnegative(polynomial, "integers to negative integer powers are not allowed")
    return True


def _guard_exponents(build: Builder, exponents: Array) -> None:
    """The same for every element of an array."""
    if exponents.dtype.kind in "bu":
        return
    zero = const(0, ScalarType(exponents.dtype))
    fitting = map_elements(
        build, (exponents,), exponents.shape, DType.BOOL, lambda args: op("greater_equal", (args[0], zero), NP_BOOL)
    )
    output = build.alloc((), DType.BOOL, "all")
    node = Reduce(
        op="logical_and",
        output=output,
        input=fitting.view,
        axes=tuple(range(fitting.rank)),
        initial=const(True, NP_BOOL),
        id=build.new_id(),
        span=build.span,
    )
    build.emit(node)
    build.guard(build.read(output, (), DType.BOOL), "integers to negative integer powers are not allowed")


def cast(expr: Expr, dtype: DType) -> Expr:
    """The expression as a NumPy value of `dtype` (astype); constants are converted now."""
    target = ScalarType(dtype)
    if expr.type == target:
        return expr
    literal = expr.value if isinstance(expr, Const) else expr.constant if isinstance(expr, Index) else None
    if literal is not None:
        if dtype.kind in "iu" and not isinstance(literal, float | complex):
            bits = dtype.itemsize * 8
            wrapped = int(literal) & ((1 << bits) - 1)
            if dtype.kind == "i" and wrapped >> (bits - 1):
                wrapped -= 1 << bits
            return const(wrapped, target)
        if not (isinstance(literal, complex) and dtype.kind != "c") and not (
            isinstance(literal, float) and dtype.kind in "iu"
        ):
            with np.errstate(all="ignore"):
                return const(dtype.numpy.type(literal).item(), target)
    return op("cast", (expr,), target)


def narrowed(build: Builder, expr: Expr, dtype: DType) -> Expr:
    """A number in a narrower type of floats: where it gets infinite, NumPy warns of a cast, whatever it is for.

    In any other type it stays as it is.
    """
    source = expr.type.dtype
    if not narrows(source, dtype):
        return expr
    made = cast(expr, dtype)
    if isinstance(made, Const) and isinstance(expr, Const) and np.isfinite(made.value) == np.isfinite(expr.value):
        return made
    return build.let(op("cast", (expr,), ScalarType(dtype)), "x", warn=build.warn_site("cast"))


def scalar_expr(build: Builder, operand: Scalar | Array) -> Expr:
    """A scalar, or the element of a 0-d array, as an expression."""
    if isinstance(operand, Scalar):
        return operand.expr
    return build.read(operand.view, (), operand.dtype)


def _scalar(
    build: Builder, name: str, parts: Sequence[Scalar | Array], loop: Sequence[DType], words: str, *, lone: bool
) -> Operand:
    """An operation that gives a NumPy scalar; `lone`: an operator on NumPy scalars, which warns in words of its own."""
    args = [cast(narrowed(build, scalar_expr(build, x), to), to) for x, to in zip(parts, loop, strict=False)]
    args[0] = as_base(*args) if lone and name == "power" else args[0]
    by_parts = lone and loop[0].kind == "c" and name in ORDERS
    expr = order_of_parts(name, *args) if by_parts else operation(name, args, loop[-1])
    overflows = lone and name in _OVERFLOWING and loop[0].kind in "iu"
    warn = build.warn_site(f"scalar {words}" if lone else words) if overflows or may_warn(name, loop) else -1
    return Scalar(build.let(expr, name[:3], warn=warn))


def operation(name: str, args: Sequence[Expr], result: DType) -> Expr:
    """The ufunc on operands of the types its loop takes."""
    if name == "absolute" and result.kind == "u":
        return args[0]
    if len(args) == 2 and {args[0].type.dtype, args[1].type.dtype} == {DType.INT64, DType.UINT64}:
        return _mixed_comparison(name, args[0], args[1])
    return op(name, args, ScalarType(result))


def _mixed_comparison(name: str, left: Expr, right: Expr) -> Expr:
    """int64 with uint64, exactly, as NumPy's own loops for this pair: a negative number is less than any unsigned."""
    signed_first = left.type.dtype is DType.INT64
    signed = left if signed_first else right
    negative = op("less", (signed, const(0, signed.type)), NP_BOOL)
    both = op(name, (cast(left, DType.UINT64), cast(right, DType.UINT64)), NP_BOOL)
    if name in ("less", "less_equal"):
        outcome = signed_first
    elif name in ("greater", "greater_equal"):
        outcome = not signed_first
    else:
        outcome = name == "not_equal"
    if outcome:
        return op("logical_or", (negative, both), NP_BOOL)
    return op("logical_and", (op("logical_not", (negative,), NP_BOOL), both), NP_BOOL)


def may_warn(name: str, loop: Sequence[DType]) -> bool:
    """Whether a loop of these types can give a RuntimeWarning."""
    if loop[0].kind in "fc":
        return bool(OPS[name].warns) or (loop[0].kind == "c" and name in ORDERS)
    return name in ("floor_divide", "remainder", "divide", "fmod", "reciprocal") and loop[0].kind in "iu"


def _array(
    build: Builder,
    name: str,
    parts: Sequence[Scalar | Array],
    loop: Sequence[DType],
    out: Array | Masked | None,
    words: str,
    fast: Sequence[tuple[Expr, str]],
) -> Operand:
    """An array operation; where a test in `fast` holds, its function of the first operand."""
    masks: list[Array] = []
    if isinstance(out, Masked):
        masks, out = [out.mask], out.array
    shape = broadcast_shapes(build, [part.shape for part in (*parts, *masks) if isinstance(part, Array)])
    warn = build.warn_site(words) if may_warn(name, loop) else -1
    body = _body(name, loop, masked=bool(masks))
    if out is None:
        result = map_elements(build, parts, shape, loop[-1], body, name=name, warn=warn)
        take_fast_ways(build, fast, lambda other: _body(other, (loop[0], loop[-1]), masked=False))
        return result
    if not np.can_cast(loop[-1].numpy, out.dtype.numpy, "same_kind"):
        return build.leave(f"np.{name}: the result cannot be cast to the output")
    if out.rank < len(shape):
        return build.leave("non-broadcastable output operand")
    broadcast_to(build, View("", shape, ()), out.shape)
    result = map_elements(build, (*parts, *masks), out.shape, loop[-1], body, name=name, warn=warn)
    take_fast_ways(build, fast, lambda other: _body(other, (loop[0], loop[-1]), masked=bool(masks)))
    if masks:
        store_where(build, out, masks[0], result, words)
    else:
        store(build, out, result, words)
    return out


def _note_chosen(
    build: Builder, name: str, parts: Sequence[Scalar | Array], loop: Sequence[DType], words: str, result: Array
) -> None:
    """What is computed of elements that one mask chose is chosen by it as well."""

    def make(mask: Array) -> Array:
        sources = [chosen_from(build, part) if isinstance(part, Array) else None for part in parts]
        whole = [part if source is None else source.array for part, source in zip(parts, sources, strict=True)]
        warn = build.warn_site(words) if may_warn(name, loop) else -1
        return map_elements(build, (*whole, mask), mask.shape, loop[-1], _body(name, loop, masked=True), warn=warn)

    note_chosen_by_all(build, result, [part for part in parts if isinstance(part, Array)], make)


def _body(name: str, loop: Sequence[DType], *, masked: bool) -> Callable[[Sequence[Expr]], Expr]:
    """The operation on elements of its operands; where a mask, given last, is false, on numbers that do not warn."""

    def body(args: Sequence[Expr]) -> Expr:
        casted = [cast(arg, target) for arg, target in zip(args[:-1] if masked else args, loop, strict=False)]
        if masked:
            other = const_index(0 if name == "arctanh" else 1)
            casted = [harmless(arg, args[-1], cast(other, arg.type.dtype)) for arg in casted]
        return operation(name, casted, loop[-1])

    return body


def map_elements(
    build: Builder,
    parts: Sequence[Scalar | Array],
    shape: tuple[Index, ...],
    dtype: DType,
    body: Callable[[Sequence[Expr]], Expr],
    *,
    name: str = "t",
    warn: int = -1,
) -> Array:
    """A new array of `shape` with `body(elements)` at every point; arrays among `parts` are broadcast to it."""
    views = [broadcast_to(build, part.view, shape) if isinstance(part, Array) else None for part in parts]
    scalars: list[Expr] = []
    inputs: list[tuple[Value, View]] = []
    for part, view in zip(parts, views, strict=True):
        if isinstance(part, Array):
            assert view is not None
            element = build.value(view.container.partition(".")[0].lower(), ScalarType(part.dtype))
            inputs.append((element, view))
            scalars.append(element)
        else:
            expr = part.expr
            scalars.append(expr if isinstance(expr, Const | Index) else build.let(expr))
    output = new_array(build, shape, dtype, name, [p.view for p in parts if isinstance(p, Array)])
    params = coordinates(build, shape)
    build.emit(
        Elementwise(
            output=output.view,
            params=params,
            inputs=tuple(inputs),
            expr=body(scalars),
            warn=warn,
            id=build.new_id(),
            span=build.span,
        )
    )
    note_made(build, output)
    return output


def coordinates(build: Builder, shape: tuple[Index, ...]) -> tuple[Value, ...]:
    """Fresh values for the coordinates of a point."""
    type_ = index(0).type
    return tuple(
        Value(build.new_id(), f"p{axis}", type_, 0, None, const_index(0), extent - 1)
        for axis, extent in enumerate(shape)
    )


def new_array(
    build: Builder,
    shape: tuple[Index, ...],
    dtype: DType,
    name: str,
    like: Sequence[View] = (),
    order: OrderRule = iteration_order,
) -> Array:
    """A new array, its axes in memory ordered as in the inputs it comes from (NumPy's order "K")."""
    axes = order(build, like, len(shape))
    base = build.alloc(tuple(shape[axis] for axis in axes), dtype, name)
    return Array(permute(base, tuple(axes.index(axis) for axis in range(len(shape)))), dtype)


def permute(view: View, axes: tuple[int, ...]) -> View:
    """`np.transpose(view, axes)`: axis d of the result is axis `axes[d]` of the view."""
    position = {axis: number for number, axis in enumerate(axes)}
    moved = tuple(
        type(axis)(axis.offset, tuple((position[number], step) for number, step in axis.terms)) for axis in view.axes
    )
    return View(view.container, tuple(view.shape[axis] for axis in axes), moved)


def broadcast_shapes(build: Builder, shapes: Sequence[tuple[Index, ...]]) -> tuple[Index, ...]:
    """NumPy's broadcast shape. Extents that are not known to be 1 are assumed equal, under a guard."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Index] = []
    for axis in range(-rank, 0):
        extents = [shape[axis] for shape in shapes if len(shape) >= -axis]
        wide = [extent for extent in extents if extent is not _ONE]
        chosen = next((extent for extent in wide if extent.constant is not None), wide[0] if wide else _ONE)
        for extent in wide:
            build.match_extents(extent, chosen)
        result.append(chosen)
    return tuple(result)


def broadcast_to(build: Builder, view: View, shape: tuple[Index, ...]) -> View:
    """The view stretched to `shape`: new leading axes, 1-long axes repeated."""
    lead = len(shape) - view.rank
    if lead < 0:
        raise build.error("E213", "an array has more axes than the place it goes to")
    kept: dict[int, int] = {}
    for axis, extent in enumerate(view.shape):
        target = shape[lead + axis]
        if extent is not _ONE or target is _ONE:
            build.match_extents(extent, target)
            kept[axis] = lead + axis
    axes = tuple(
        type(axis)(axis.offset, tuple((kept[number], step) for number, step in axis.terms if number in kept))
        for axis in view.axes
    )
    return View(view.container, shape, axes)


def store(build: Builder, target: Array, value: Scalar | Array, words: str = "cast") -> None:
    """`target[...] = value`, with NumPy's unsafe cast; the value is read before the target is written.

    `words`: what warnings of the cast are about; a ufunc casts under its own name.
    """
    refuse_readonly(build, target)
    if target.rank == 0:
        expr = scalar_expr(build, value)
        if isinstance(value, Array) and cast_warns(value.dtype, target.dtype):
            expr = build.let(cast(expr, target.dtype), "x", warn=build.warn_site(words))
        build.write(target.view.at(()), cast(narrowed(build, expr, target.dtype), target.dtype))
        return
    if isinstance(value, Array):
        build.use_site()  # a later pass may need memory here, where the two overlap
    node = _assignment(build, target, value, words)
    build.mark_written(target.view.container)
    build.emit(node)


def store_where(build: Builder, target: Array, mask: Array, value: Scalar | Array, words: str = "cast") -> None:
    """`target[mask] = value[mask]` with the mask and the value broadcast to the target."""
    refuse_readonly(build, target)
    build.use_site()  # a later pass may need memory here
    old, chosen = build.value("x", ScalarType(target.dtype)), build.value("m", NP_BOOL)
    plain = _assignment(build, target, value, words)
    node = replace(
        plain,
        inputs=(*plain.inputs, (old, target.view), (chosen, broadcast_to(build, mask.view, target.shape))),
        expr=op("select", (chosen, plain.expr, old), old.type),
    )
    build.mark_written(target.view.container)
    build.emit(node)


def refuse_readonly(build: Builder, target: Array) -> None:
    """NumPy raises; but what Python would be handed to raise it on is a view that can be written."""
    if target.readonly:
        raise build.error("E139", "this view is read-only", "take a copy of it first")


def initialise(build: Builder, target: Array, value: Scalar | Array, words: str = "cast") -> None:
    """The same for a view of an array that was made in this very statement, so that nobody can see the write."""
    build.emit(_assignment(build, target, value, words))


def _assignment(build: Builder, target: Array, value: Scalar | Array, words: str = "cast") -> Elementwise:
    inputs: tuple[tuple[Value, View], ...] = ()
    if isinstance(value, Array):
        element = build.value("x", ScalarType(value.dtype))
        inputs = ((element, broadcast_to(build, value.view, target.shape)),)
        expr = cast(element, target.dtype)
    else:
        raw = narrowed(build, value.expr, target.dtype)
        expr = cast(raw if isinstance(raw, Const | Index) else build.let(raw), target.dtype)
    return Elementwise(
        output=target.view,
        params=coordinates(build, target.shape),
        inputs=inputs,
        expr=expr,
        warn=build.warn_site(words) if isinstance(value, Array) and cast_warns(value.dtype, target.dtype) else -1,
        id=build.new_id(),
        span=build.span,
    )


def cast_warns(source: DType, target: DType) -> bool:
    """Whether a cast can give a RuntimeWarning."""
    return narrows(source, target) or (source.kind in "fc" and target.kind in "iu")


def fill(build: Builder, shape: tuple[Index, ...], dtype: DType, value: Expr, name: str = "t") -> Array:
    """A new array with one value everywhere."""
    return map_elements(build, (Scalar(value),), shape, dtype, lambda args: cast(args[0], dtype), name=name)
