"""Arrays with a border: `np.pad`; and differences of neighbours: `np.gradient`.

in:   an array, and per axis how many elements come before and after it
out:  a new array, filled block by block: the borders of an axis run along those of the axes before it

    np.pad(a, 1, mode="edge")  ->  t[1:-1, 1:-1] = a;  t[0, 1:-1] = t[1, 1:-1];  t[-1, 1:-1] = t[-2, 1:-1];
                                   t[:, 0] = t[:, 1];  t[:, -1] = t[:, -2]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index, python_const
from weft.ir.nodes import Layout, View
from weft.numpy_rules.arguments import Given, PythonRaises, is_none, static_axis, static_int, static_value
from weft.numpy_rules.arrays import as_array, ufunc
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import broadcast_to, initialise, new_array
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.memory_order import copied_order
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.scalars import as_index, python_binary
from weft.numpy_rules.values import Array, Operand, Scalar, Tuple

ZERO, ONE, BACK = const_index(0), const_index(1), const_index(-1)
_MODES = ("constant", "edge", "wrap", "reflect", "symmetric")
_Pair: TypeAlias = tuple[Index, Index]


# -- borders ----------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.pad",
    samples=(
        "pad(f8[5], 2)",
        "pad(f8[4, 3], ((1, 2), (0, 1)))",
        "pad(f8[5], (1, 2), mode='edge')",
        "pad(i8[4, 3], v(1), mode='wrap')",
        "pad(f8[5], 1, constant_values=v(3.0))",
    ),
)
def lower_pad(
    build: Builder,
    array: Operand,
    pad_width: Operand,
    mode: Operand | str = "constant",
    *,
    constant_values: Given = None,
) -> Operand:
    """A new array with borders."""
    given, kind = as_array(build, array), static_value(build, mode, "mode")
    pairs = _pairs(build, pad_width, given.rank)
    value = _fill(build, constant_values, given.dtype)
    if kind not in _MODES or pairs is None or value is None or not given.rank:
        words = "np.pad is compiled for borders of a known kind and one number of the array's type"
        raise build.error("E287", words, f"give the mode as a constant: {', '.join(_MODES)}")
    for extent, pair in zip(given.shape, pairs, strict=True):
        _guard_pair(build, extent, pair, kind)
    shape = tuple(extent + before + after for extent, (before, after) in zip(given.shape, pairs, strict=True))
    target = new_array(build, shape, given.dtype, "pad", [given.view], _padded_order)
    initialise(build, Array(_inside(target.view, given.shape, pairs, 0), given.dtype), given)
    for axis, (before, after) in enumerate(pairs):
        line = _inside(target.view, given.shape, pairs, axis + 1)
        extent = given.shape[axis]
        for start, width, is_end in ((ZERO, before, False), (before + extent, after, True)):
            border = Array(narrow_axis(line, axis, start, width, ONE), given.dtype)
            source = _source(build, line, axis, (before, extent, width), kind, is_end=is_end)
            initialise(build, border, value if source is None else Array(source, given.dtype))
    return target


def _source(
    build: Builder, line: View, axis: int, sizes: tuple[Index, Index, Index], kind: str, *, is_end: bool
) -> View | None:
    """What a border repeats of the elements inside, which are from `first` on; None where it is made of one number."""
    first, extent, width = sizes
    last = first + extent - 1
    match kind:
        case "constant":
            return None
        case "edge":
            one = narrow_axis(line, axis, last if is_end else first, ONE, ONE)
            return broadcast_to(build, one, (*line.shape[:axis], width, *line.shape[axis + 1 :]))
        case "wrap":
            return narrow_axis(line, axis, first if is_end else last - width + 1, width, ONE)
        case _:
            skipped = 1 if kind == "reflect" else 0
            start = last - skipped if is_end else first + width - 1 + skipped
            return narrow_axis(line, axis, start, width, BACK)


def _pairs(build: Builder, operand: Operand, rank: int) -> list[_Pair] | None:
    """How much comes before and after each axis: one number, one pair, or a pair for each."""
    items = operand.items if isinstance(operand, Tuple) else (operand,)
    nested = [item for item in items if isinstance(item, Tuple)]
    found = [_pair(build, item) for item in (nested if len(nested) == len(items) else [operand])]
    pairs = [pair for pair in found if pair is not None]
    if not pairs or len(pairs) < len(found) or len(pairs) not in (1, rank):
        return None
    return pairs if len(pairs) == rank else pairs * rank


def _pair(build: Builder, operand: Operand) -> _Pair | None:
    items = operand.items if isinstance(operand, Tuple) else (operand,)
    found = [as_index(build, item) for item in items]
    widths = [width for width in found if width is not None]
    if len(widths) < len(found) or len(widths) not in (1, 2):
        return None
    return widths[0], widths[-1]


def _fill(build: Builder, operand: Given, dtype: DType) -> Scalar | None:
    """The number that a border is made of, if it is one of the array's type or needs no cast worth a word."""
    if is_none(operand):
        return Scalar(ZERO)
    if not isinstance(operand, Scalar) or (operand.type.dtype is not dtype and operand.expr is not ZERO):
        return None
    return Scalar(build.let(operand.expr)) if operand.expr is not ZERO else operand


def _guard_pair(build: Builder, extent: Index, pair: _Pair, kind: str) -> None:
    least = extent - 1 if kind == "reflect" else extent
    for width in pair:
        build.guard_nonnegative(width, "index can't contain negative values")
        if kind not in ("constant", "edge"):
            build.guard_nonnegative(least - width, "a border wider than what it repeats")
    if kind != "constant":
        build.guard_nonnegative(least - 1, "a border of nothing")


def _padded_order(build: Builder, views: Sequence[View], rank: int) -> tuple[int, ...]:
    """By rows, unless the array is stored by columns without gaps, and not by rows as well."""
    (view,), columns = views, tuple(reversed(range(rank)))
    container = build.container(view.container)
    is_whole = all(axis.offset is ZERO for axis in view.axes) and len(set(view.shape) - set(container.shape)) == 0
    if rank == 1 or container.layout is Layout.STRIDED or not is_whole or copied_order(build, views, rank) != columns:
        return tuple(range(rank))
    for extent in view.shape:
        build.guard_nonnegative(extent - 2, "whether this array is stored by rows is known only at run time here")
    return columns


def _inside(view: View, shape: Sequence[Index], pairs: Sequence[_Pair], whole: int) -> View:
    """A padded array without its borders, but for those of the first axes."""
    for axis in range(whole, len(shape)):
        view = narrow_axis(view, axis, pairs[axis][0], shape[axis], ONE)
    return view


# -- differences ------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.gradient",
    samples=("gradient(f8[4, 3])", "gradient(f8[4, 3], 0.5, axis=0)", "gradient(f8[5], v(0.5))", "gradient(i8[5])"),
)
def lower_gradient(
    build: Builder, f: Operand, /, *varargs: Operand, axis: Given = None, edge_order: Operand | int = 1
) -> Operand:
    """Half the difference of the two neighbours; at the ends the difference to the one there is."""
    array = as_array(build, f)
    if array.dtype.kind in "iu":
        converted = new_array(build, array.shape, DType.FLOAT64, "f", [array.view], copied_order)
        initialise(build, converted, array)
        array = converted
    plain = [item for item in varargs if isinstance(item, Scalar) and item.type.python]
    axes = [static_axis(build, axis, array.rank)] if isinstance(axis, Scalar) else list(range(array.rank))
    if not (isinstance(axis, Scalar) or is_none(axis)) or static_int(build, edge_order, "edge_order") != 1:
        raise build.error(
            "E288", "np.gradient is compiled for one axis or all of them", "take one axis after the other"
        )
    if len(plain) < len(varargs) or array.dtype.kind not in "fc" or len(plain) not in (0, 1, len(axes)):
        raise build.error(
            "E288", "np.gradient is compiled for spacings that are numbers", "give a number for each axis"
        )
    if not array.rank:
        raise PythonRaises("a number has no gradient")
    even = plain or [Scalar(python_const(1.0))]
    spacings = even if len(even) == len(axes) else even * len(axes)
    for number in axes:
        build.guard_nonnegative(array.shape[number] - 2, "at least two elements are required to compute a gradient")
    found = [_gradient(build, array, n, spacing) for n, spacing in zip(axes, spacings, strict=True)]
    return found[0] if len(found) == 1 else Tuple(tuple(found))


def _gradient(build: Builder, array: Array, axis: int, spacing: Scalar) -> Array:
    target = new_array(build, array.shape, array.dtype, "gradient", [array.view], copied_order)
    extent = array.shape[axis]

    def part(of: Array, start: Index, length: Index) -> Array:
        return Array(narrow_axis(of.view, axis, start, length, ONE), of.dtype)

    def put(start: Index, length: Index, low: Index, high: Index, *, both: bool) -> None:
        step = python_binary(build, "multiply", Scalar(python_const(2.0)), spacing) if both else spacing
        change = ufunc(build, "subtract", part(array, high, length), part(array, low, length))
        initialise(build, part(target, start, length), as_array(build, ufunc(build, "divide", change, step)))

    put(ONE, extent - 2, ZERO, const_index(2), both=True)
    put(ZERO, ONE, ZERO, ONE, both=False)
    put(extent - 1, ONE, extent - 2, extent - 1, both=False)
    return target
