"""Calling NumPy for a compiled program, or for its interpreter.

in:   a dotted name, arguments, and the types the results must have
out:  the results one by one, as arrays that are dense in C order; None where something else came of it

What such functions promise is that nothing is lost by a call that is thrown away: they give fresh results, and neither
change nor keep their arguments. So a program that gets None lets Python repeat the statement.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from traceback import walk_tb
from types import CodeType, FunctionType
from typing import Any, NamedTuple, cast

from weft.support.errors import InternalError

# What NumPy raises for the arguments it is given. Anything else comes from outside, a signal's handler for one; so does
# what code of the user raises (below).
NUMPY_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError, Warning)


_SEQUENCES = (tuple, list)
_NOTHING: Mapping[str, Any] = {}
_LIBRARIES = ("numpy", "scipy", "weft")


class ResultType(NamedTuple):
    """What one result must be.

    An array of `dtype` and rank `ndim`, whose axes in `order` (none: as they are) lie in C order; or, with an `ndim` of
    -1, a number: NumPy's scalar of that dtype, or "py_bool", "py_int", "py_float", "py_complex".
    """

    dtype: str
    ndim: int = -1
    order: tuple[int, ...] = ()


def resolve(name: str) -> Callable[..., Any]:
    """The object of a dotted name that begins with a module."""
    module, *parts = name.split(".")
    found: Any = import_module(module)
    for part in parts:
        found = getattr(found, part)
    return found


def flatten(result: Any) -> list[Any]:
    """The arrays and numbers in tuples and lists, in order."""
    if isinstance(result, _SEQUENCES):
        return [leaf for item in cast("Sequence[Any]", result) for leaf in flatten(item)]
    return [result]


def checker(types: Sequence[ResultType]) -> Callable[[Any], tuple[Any, ...] | None]:
    """A function that takes what NumPy gave: the results as arrays, numbers without axes; None if one has another type.

    All that can be done beforehand is: it runs with every call.
    """
    checks = [_number_check(type_) if type_.ndim < 0 else _array_check(type_) for type_ in types]
    count, first = len(checks), checks[0] if checks else None

    def check(result: Any) -> tuple[Any, ...] | None:
        if first is not None and count == 1 and not isinstance(result, _SEQUENCES):
            array = first(result)
            return None if array is None else (array,)
        found = [] if result is None and not count else flatten(result)
        if len(found) != count:
            return None
        arrays = tuple([check_one(leaf) for check_one, leaf in zip(checks, found, strict=True)])
        return None if any(array is None for array in arrays) else arrays

    return check


def _number_check(type_: ResultType) -> Callable[[Any], Any]:
    import numpy as np

    python: dict[str, type] = {"py_bool": bool, "py_int": int, "py_float": float, "py_complex": complex}
    expected = python.get(type_.dtype) or np.dtype(type_.dtype).type

    def check(leaf: Any) -> Any:
        if type(leaf) is not expected or (expected is int and not -(1 << 63) <= leaf < 1 << 63):
            return None
        return np.asarray(leaf)

    return check


def _array_check(type_: ResultType) -> Callable[[Any], Any]:
    import numpy as np

    array_class, dtype, ndim, order = np.ndarray, np.dtype(type_.dtype), type_.ndim, type_.order

    def check(leaf: Any) -> Any:
        if type(leaf) is not array_class or leaf.ndim != ndim or (leaf.dtype is not dtype and leaf.dtype != dtype):
            return None
        array: Any = leaf.transpose(order) if order else leaf
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            return array
        return np.array(array, order="C") if _descends(array) else None

    return check


def _descends(array: Any) -> bool:
    """Whether the axes lie in memory in C order, with gaps perhaps."""
    steps = [abs(stride) for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1]
    return all(outer >= inner for outer, inner in pairwise(steps))


def calls_at(
    function: FunctionType,
    name: str,
    line: int,
    keywords: Sequence[str],
    types: Sequence[ResultType],
    *,
    changes: bool = False,
) -> Callable[[tuple[Any, ...]], tuple[Any, ...] | None]:
    """A function that makes the call as if it stood on a line of `function`: warnings are given there.

    It takes the arguments, those of the keywords last. A call that `changes` something cannot be thrown away: a result
    of another type than expected is an error of ours.
    """
    target = resolve(name)
    code = _call.__code__.replace(
        co_filename=function.__code__.co_filename,
        co_name=function.__name__,
        co_qualname=function.__qualname__,
        co_firstlineno=line - 1,  # the call stands on its second line
    )
    stand_in = FunctionType(code, function.__globals__)
    positional, check = -len(keywords) or None, _insisting(name, checker(types)) if changes else checker(types)

    def call(given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        named = dict(zip(keywords, given[positional:], strict=True)) if keywords else _NOTHING
        try:
            result = stand_in(target, given[:positional], named)
        except NUMPY_ERRORS as error:
            if _comes_from_outside(error, code):
                raise
            return None
        return check(result)

    return call


def _comes_from_outside(error: BaseException, stand_in: CodeType) -> bool:
    """Whether code of the user raised an error: a signal's handler, which may run at any time, even after a draw."""
    for frame, _ in walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if frame.f_code is not stand_in and package not in _LIBRARIES and package not in sys.stdlib_module_names:
            return True
    return False


def _insisting(name: str, check: Callable[[Any], tuple[Any, ...] | None]) -> Callable[[Any], tuple[Any, ...]]:
    def insist(result: Any) -> tuple[Any, ...]:
        arrays = check(result)
        if arrays is None:
            raise InternalError(f"{name} gave {type(result).__name__}, which the compiled program did not expect")
        return arrays

    return insist


def _call(target: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    return target(*args, **keywords)
