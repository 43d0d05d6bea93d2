"""`verify=True`: Python beside the compiled code, and a comparison of all they leave behind.

Arguments are copied first. The compiled program runs on the user's own; Python runs on the copies; results, arguments
and exceptions must agree: exactly for integers and bools, within the bounds of floating-point sums for the rest.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numpy as np

from weft.support.errors import WeftError


class VerificationError(WeftError):
    """The compiled program and Python disagree."""


def verified(function: FunctionType, call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, checked against the function."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        memo: dict[int, Any] = {}
        copied_args, copied_kwargs = copy.deepcopy((args, kwargs), memo)
        expected, raised = _outcome(function, copied_args, copied_kwargs)
        result, problem = _outcome(call, args, kwargs)
        if (raised is None) != (problem is None) or type(raised) is not type(problem) or str(raised) != str(problem):
            raise VerificationError(
                f"{function.__qualname__}: Python gave {raised!r}, the compiled program {problem!r}"
            ) from problem
        names = list(inspect.signature(function).bind(*args, **kwargs).arguments)
        for name, got, want in zip(names, (*args, *kwargs.values()), (*copied_args, *copied_kwargs.values()),
                                   strict=True):  # fmt: skip
            _compare(function, f"argument '{name}'", got, want)
        if problem is not None:
            raise problem
        _compare(function, "the result", result, expected)
        return result

    return checked


def _outcome(call: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Exception | None]:
    try:
        return call(*args, **kwargs), None
    except Exception as problem:  # noqa: BLE001  (whatever the program raises is compared)
        return None, problem


def _compare(function: FunctionType, what: str, got: Any, want: Any) -> None:
    if _are_tuples(got, want) and len(got) == len(want):
        for number, (left, right) in enumerate(zip(got, want, strict=True)):
            _compare(function, f"{what}[{number}]", left, right)
        return
    if _is_number(want):
        found, wanted = cast("type[Any]", type(got)), cast("type[Any]", type(want))
        if found is not wanted:
            raise VerificationError(f"{function.__qualname__}: {what} is {found}, Python gave {wanted}")
        left, right = np.asarray(got), np.asarray(want)
        if left.dtype != right.dtype or left.shape != right.shape or not _close(left, right):
            raise VerificationError(f"{function.__qualname__}: {what} differs from Python's: {_first(left, right)}")


# Plain predicates, so that the operands stay `Any`: narrowed, their type parameters would be unknown.
def _are_tuples(got: object, want: object) -> bool:
    return isinstance(want, tuple) and isinstance(got, tuple)


def _is_number(want: object) -> bool:
    return isinstance(want, np.ndarray | np.generic | int | float | complex)


def _close(left: Any, right: Any) -> bool:
    if left.dtype.kind not in "fc":
        return bool(np.array_equal(left, right))
    if left.size == 0:
        return True
    bound = 64 * np.finfo(left.dtype).eps * max(left.size, 64)
    scale = np.max(np.abs(right[np.isfinite(right)]), initial=0.0)
    return bool(np.allclose(left, right, rtol=bound, atol=bound * scale, equal_nan=True))


def _first(left: Any, right: Any) -> str:
    if left.dtype != right.dtype or left.shape != right.shape:
        return f"{left.dtype}{left.shape} instead of {right.dtype}{right.shape}"
    different = np.argwhere(left != right)
    place = tuple(int(i) for i in different[0]) if len(different) else ()
    return f"{left[place]} instead of {right[place]} at {place}"
