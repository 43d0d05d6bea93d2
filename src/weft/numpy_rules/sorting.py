"""Sorting: NumPy sorts a copy, whose elements are then written to the array or become a list; few numbers are compared.

a.sort(axis=0)       ->  call numpy.sort(a[:, :], axis=0) -> (sort.7), then a[...] = sort.7
sorted(a)            ->  call numpy.sort(a[:], kind="stable") -> (sort.7), then the list of sort.7
sorted([x, y])       ->  wrong = y < x; [select(wrong, y, x), select(wrong, x, y)]
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.dtypes import NP_BOOL, ScalarType
from weft.ir.exprs import const_index, op
from weft.numpy_rules.arguments import Given, PythonRaises, is_none, static_bool
from weft.numpy_rules.arrays import copy_array, empty_array
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import apply_ufunc, cast, store
from weft.numpy_rules.reductions import lower_any
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.scalars import negate
from weft.numpy_rules.shapes import lower_flip
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Array, Growing, Operand, Scalar, Static, Tuple


@numpy_rule("ndarray.sort")
def lower_sort(build: Builder, a: Array, *args: Operand, **keywords: Operand) -> Operand:
    """All its parameters are those of np.sort, but for an axis of None."""
    return _in_place(build, "numpy.sort", a, args, keywords, keywords.get("axis", args[0] if args else Static(-1)))


@numpy_rule("ndarray.partition")
def lower_partition(build: Builder, a: Array, kth: Operand, *args: Operand, **keywords: Operand) -> Operand:
    """The same with np.partition."""
    axis = keywords.get("axis", args[0] if args else Static(-1))
    return _in_place(build, "numpy.partition", a, (kth, *args), keywords, axis)


def _in_place(
    build: Builder, name: str, a: Array, args: tuple[Operand, ...], keywords: dict[str, Operand], axis: Operand
) -> Operand:
    if is_none(axis):
        raise PythonRaises("an axis is needed to sort in place")
    result = call_numpy(build, name, (a, *args), keywords)
    if not isinstance(result, Array):
        raise PythonRaises("there is nothing to sort in a number")
    store(build, a, result)
    return Static(None)


_FEW = 6  # numbers that are sorted where they stand


@numpy_rule(
    "builtins.sorted",
    samples=(
        "sorted([v(3.5), v(-1.0), v(2.5)])", "sorted((v(7), v(2)))", "sorted([v(7), v(2), v(2), v(9)], reverse=True)",
        "sorted(i4[4], reverse=True)",
    ),
)  # fmt: skip
def lower_sorted(build: Builder, iterable: Operand, /, *, reverse: Given = None) -> Operand:
    """Numbers of one type. Python's order of NaNs depends on where they stand: then Python sorts."""
    backwards = reverse is not None and static_bool(build, reverse, "reverse")
    if isinstance(iterable, Tuple) and len(iterable.items) <= _FEW and _is_of_one_type(iterable):
        return _exchanged(build, [x for x in iterable.items if isinstance(x, Scalar)], backwards=backwards)
    numbers, type_ = _numbers(build, iterable)
    _check_ordered(build, numbers)
    if backwards:  # equal numbers stay in their order, which zeros of two signs show
        numbers = _flipped(build, numbers)
    result = call_numpy(build, "numpy.sort", (numbers,), {"kind": Static("stable")})
    assert isinstance(result, Array)
    return Growing(copy_array(build, _flipped(build, result)) if backwards else result, numbers.shape[0], type_)


def places_in_order(build: Builder, numbers: Array, *, backwards: bool) -> Operand:
    """Where numbers stand, as Python sorts them: equal ones stay in their order, backwards as well."""
    _check_ordered(build, numbers)
    given = _flipped(build, numbers) if backwards else numbers
    places = call_numpy(build, "numpy.argsort", (given,), {"kind": Static("stable")})
    assert isinstance(places, Array)
    if not backwards:
        return places
    return apply_ufunc(build, "subtract", (Scalar(numbers.shape[0] - 1), _flipped(build, places)))


def _check_ordered(build: Builder, numbers: Array) -> None:
    """Whether any two numbers can be compared: else the order depends on the way it is found."""
    if numbers.dtype.kind == "c":
        raise _unfit(build)
    if numbers.dtype.kind == "f":
        found = lower_any(build, apply_ufunc(build, "not_equal", (numbers, numbers)))
        assert isinstance(found, Scalar)
        build.guard(negate(found.expr), "a NaN among what is sorted")


def _is_of_one_type(numbers: Tuple) -> bool:
    first, *_ = (*numbers.items, None)
    if not isinstance(first, Scalar) or first.type.dtype.kind == "c":
        return False
    return all(isinstance(x, Scalar) and x.type == first.type for x in numbers.items)


def _exchanged(build: Builder, items: list[Scalar], *, backwards: bool) -> Tuple:
    """A few numbers: neighbours change places where they must, so equal ones stay in their order."""
    type_ = items[0].type
    values = [build.let(item.expr, "x") for item in items]
    if type_.dtype.kind == "f":
        for value in values:
            build.guard(build.let(op("equal", (value, value), NP_BOOL), "is"), "a NaN among what is sorted")
    for end in range(len(values) - 1, 0, -1):
        for place in range(end):
            left, right = values[place : place + 2]
            wrong = build.let(op("less", (left, right) if backwards else (right, left), NP_BOOL), "wrong")
            values[place] = build.let(op("select", (wrong, right, left), type_), "x")
            values[place + 1] = build.let(op("select", (wrong, left, right), type_), "x")
    return Tuple(tuple(Scalar(value) for value in values), is_list=True)


def _unfit(build: Builder) -> Exception:
    """Python does not compare its complex numbers, and those of NumPy with a NaN depend on where they stand."""
    return build.error("E275", "sorted() is compiled for real numbers of one type only", "sort an array with np.sort")


def _flipped(build: Builder, array: Array) -> Array:
    flipped = lower_flip(build, array)
    assert isinstance(flipped, Array)
    return flipped


def _numbers(build: Builder, iterable: Operand) -> tuple[Array, ScalarType]:
    match iterable:
        case Growing(buffer=buffer, count=count, type=type_, form="number"):
            return Array(replace(buffer.view, shape=(count,)), buffer.dtype), type_
        case Array() if iterable.rank == 1:
            return iterable, ScalarType(iterable.dtype)
        case Tuple(items=(Scalar(type=type_), *_) as items) if all(
            isinstance(item, Scalar) and item.type == type_ for item in items
        ):
            buffer = empty_array(build, (const_index(len(items)),), type_.dtype, name="list")
            was_dirty = build.dirty
            for position, item in enumerate(items):
                assert isinstance(item, Scalar)
                build.write(buffer.view.at((const_index(position),)), cast(item.expr, buffer.dtype))
            build.dirty = was_dirty  # nobody has seen the buffer
            return buffer, type_
        case _:
            raise _unfit(build)
