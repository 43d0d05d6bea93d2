"""What a NumPy function gives for arguments of certain types: NumPy itself is asked, with small arrays.

in:   the function and its arguments as `Probe`s: types, symbolic extents, objects that are known
out:  the `Answer`: the result as nested tuples of arrays and numbers with their types; each extent as a function of the
      arguments, where that can be seen

    solve(f8[n, k], f8[m])  ->  f8[n]       n, k, m = 5, 7, 9 raise, so do two equal ones; 5, 5, 5 do not

The arguments get as many different extents as NumPy accepts. An extent of the result that is that of an argument, with
these numbers and with others, is taken to be the same. All that is learned here is an assumption: it is checked
whenever the call is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from weft.ir.exprs import Index, const_index
from weft.support.numpy_calls import NUMPY_ERRORS, flatten
from weft.support.records import record

_AnyArray: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
_EXTENTS = ((5, 7, 9, 10, 12, 14), (14, 12, 10, 9, 7, 5))  # the larger one becomes the smaller one
_INTS = ((2, 3, 4), (4, 2, 3))  # below all extents, so that they may be indices
_SMALL = (3, 2, 1)  # what np.cross and the like take
_TAKEN = 8  # a known extent up to here is what it is


@record
class ArrayProbe:
    """An array argument; `order` are its axes from slowest to fastest."""

    dtype: np.dtype[Any]
    shape: tuple[Index, ...]
    order: tuple[int, ...]


@record
class IntProbe:
    """A Python int known at run time: an extent of the result may be that number."""

    value: Index


@record
class Known:
    """An object that stands for itself."""

    value: Any


@record
class Several:
    """A tuple or list; with a class, what that gives when it is called with the items."""

    items: tuple[Probe, ...]
    is_list: bool = False
    cls: type | None = None


Probe: TypeAlias = ArrayProbe | IntProbe | Known | Several


@record
class ArrayAnswer:
    """An array: its extents where they are known, its axes from slowest to fastest (none: C order)."""

    dtype: np.dtype[Any]
    shape: tuple[Index | None, ...]
    order: tuple[int, ...] = ()


@record
class NumberAnswer:
    """A number of that class."""

    cls: type


@record
class TupleAnswer:
    """A tuple or list; `cls` is the class of a named tuple."""

    items: tuple[Answer, ...]
    is_list: bool = False
    cls: type | None = None


Answer: TypeAlias = ArrayAnswer | NumberAnswer | TupleAnswer


class Refused(Exception):  # noqa: N818  (an answer)
    """NumPy takes no such arguments, whatever their sizes; `__cause__` says why."""


class Unfit(Exception):  # noqa: N818  (an answer)
    """The result is nothing that compiled code can hold."""


def ask(function: Callable[..., Any], args: Sequence[Probe], keywords: Mapping[str, Probe]) -> Answer:
    """What the function gives. Where it refuses arrays of length 1, it is asked about longer ones: it may yet raise."""
    probes = [*args, *keywords.values()]
    problem: Exception | None = None
    for low, high in _all_assignments(probes):
        try:
            first = _try(function, args, keywords, low)
        except NUMPY_ERRORS as raised:
            problem = problem or raised
            continue
        try:
            second = _try(function, args, keywords, high) if high else None
        except NUMPY_ERRORS:
            second = None
        return _answer(first, second, (low, high))
    raise Refused from problem


def _extents(probes: Sequence[Probe]) -> list[Index]:
    """All extents, in order."""
    found: dict[Index, None] = {}
    for probe in probes:
        match probe:
            case ArrayProbe(shape=shape):
                found.update(dict.fromkeys(shape))
            case Several(items=items):
                found.update(dict.fromkeys(_extents(items)))
            case IntProbe() | Known():
                pass
    return list(found)


def _ints(probes: Sequence[Probe]) -> list[Index]:
    """The ints that are known at run time only, in order."""
    found: dict[Index, None] = {}
    for probe in probes:
        match probe:
            case IntProbe(value=value):
                found[value] = None
            case Several(items=items):
                found.update(dict.fromkeys(_ints(items)))
            case ArrayProbe() | Known():
                pass
    return list(found)


def _given(extent: Index) -> int | None:
    constant = extent.constant
    return constant if constant is not None and 0 < constant <= _TAKEN else None


_Sizes: TypeAlias = Mapping[Index, int]


def _all_assignments(probes: Sequence[Probe]) -> Iterator[tuple[_Sizes, _Sizes]]:
    """First with the extents that are known, then as if none was, of which nothing is learned about extents."""
    extents, ints = _extents(probes), _ints(probes)
    unknown = [extent for extent in extents if _given(extent) is None]
    yield from _assignments(unknown, ints)
    if len(unknown) < len(extents):
        yield from ((low, {}) for low, _ in _assignments(extents, ints))


def _assignments(extents: list[Index], ints: list[Index]) -> Iterator[tuple[_Sizes, _Sizes]]:
    """Numbers for all of them, twice: extents differ first, then more and more of them are equal, at last all small.

    Where the second numbers are missing, nothing is to be learned of extents.
    """
    low, high = ({value: numbers[k % 3] for k, value in enumerate(ints)} for numbers in _INTS)
    many = len(extents) > len(_EXTENTS[0])
    ways = [(0,) * len(extents)] if many else sorted(_partitions(len(extents)), key=lambda groups: -len(set(groups)))
    for groups in ways:
        first, second = (dict(zip(extents, (n[group] for group in groups), strict=True)) for n in _EXTENTS)
        yield {**low, **first}, {} if many else {**high, **second}
    for number in _SMALL:
        yield {**low, **dict.fromkeys(extents, number)}, {}


def _partitions(count: int) -> Iterator[tuple[int, ...]]:
    """All ways to put things into groups, as the number of the group of each."""
    if count == 0:
        yield ()
        return
    for groups in _partitions(count - 1):
        for group in range(max(groups, default=-1) + 2):
            yield (*groups, group)


def _try(function: Callable[..., Any], args: Sequence[Probe], keywords: Mapping[str, Probe], sizes: _Sizes) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        given = [_example(probe, sizes) for probe in args]
        named = {name: _example(probe, sizes) for name, probe in keywords.items()}
        result = function(*given, **named)
    _require_fresh(flatten(result), flatten([*given, *named.values()]))
    return result


def _require_fresh(results: Sequence[Any], given: Sequence[Any]) -> None:
    """Arrays of the result have memory of their own: none of an argument, of each other, or of nobody."""
    arrays = [cast("_AnyArray", result) for result in results if isinstance(result, np.ndarray)]
    others = [cast("_AnyArray", argument) for argument in given if isinstance(argument, np.ndarray)]
    for number, array in enumerate(arrays):
        shared = any(np.shares_memory(array, other) for other in (*arrays[:number], *others))
        if shared or not array.flags.writeable:
            raise Unfit("gives a view of something")


def _example(probe: Probe, sizes: _Sizes) -> Any:
    match probe:
        case ArrayProbe(dtype=dtype, shape=shape, order=order):
            extents = [sizes.get(extent, extent.constant or 1) for extent in shape]
            return example_array(dtype, extents, order)
        case IntProbe(value=value):
            return sizes[value]
        case Known(value=value):
            return value
        case Several(items=items, is_list=is_list, cls=cls):
            values = [_example(item, sizes) for item in items]
            if cls is not None:
                return cls(*values)
            return values if is_list else tuple(values)


def example_array(dtype: np.dtype[Any], shape: Sequence[int], order: Sequence[int]) -> Any:
    """An array that most functions accept: a vector that ascends from 0 to at most 1, triangular matrices of ones.

    Square ones are regular, and positive definite to those who look at the lower half only.
    """
    rank = len(shape)
    if rank == 0:
        return np.ones((), dtype)
    if rank == 1:
        ascending = np.arange(shape[0])
        return (ascending / max(shape[0], 1) if dtype.kind in "fc" else np.minimum(ascending, 1)).astype(dtype)
    stored = np.empty([shape[axis] for axis in order], dtype)
    array = stored.transpose([list(order).index(axis) for axis in range(rank)])
    rows, columns = shape[-2:]
    array[...] = np.tri(rows, columns) if rows > columns else np.tri(columns, rows).T
    return array


# ---- reading the result ---------------------------------------------------------------------------------------------


def _answer(first: Any, second: Any, sizes: tuple[_Sizes, _Sizes]) -> Answer:
    if isinstance(first, tuple | list):
        items = cast("Sequence[Any]", first)
        others: Sequence[Any] = cast("Sequence[Any]", second) if isinstance(second, tuple | list) else ()
        if len(others) != len(items):
            others = [None] * len(items)
        cls = cast("type[Any]", type(items))
        inner = tuple(_answer(item, other, sizes) for item, other in zip(items, others, strict=True))
        return TupleAnswer(inner, isinstance(first, list), cls if hasattr(cls, "_fields") else None)
    if type(first) is np.ndarray:
        return _array_answer(first, second, sizes)
    kind = cast("type[Any]", type(first))
    if kind in (bool, int, float, complex) or isinstance(first, np.generic):
        return NumberAnswer(kind)
    raise Unfit(f"gives {_article(kind.__name__)}")


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _array_answer(first: Any, second: Any, sizes: tuple[_Sizes, _Sizes]) -> ArrayAnswer:
    order: tuple[int, ...] = ()
    if not first.flags.c_contiguous:
        order = tuple(sorted(range(first.ndim), key=lambda axis: -abs(first.strides[axis])))
        order = () if order == tuple(range(first.ndim)) else order
    alike = isinstance(second, np.ndarray) and second.ndim == first.ndim
    others: Sequence[int] = cast("Any", second).shape if alike else [-1] * first.ndim
    shape = tuple(_extent(*pair, sizes) for pair in zip(first.shape, others, strict=True))
    return ArrayAnswer(first.dtype, shape, order)


def _extent(first: int, second: int, sizes: tuple[_Sizes, _Sizes]) -> Index | None:
    """What an extent is: that of an argument, the same for all sizes, or unknown."""
    for symbol, number in sizes[0].items():
        if number == first and sizes[1].get(symbol) == second:
            return symbol
    return const_index(first) if first == second else None
