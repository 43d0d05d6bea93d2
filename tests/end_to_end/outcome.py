"""Run a program as Python and as Weft runs it, on equal arguments, and compare all that can be seen of both.

in:   a function and a maker of its arguments (called once per run, so that aliasing and strides are the same in both)
out:  nothing, or an AssertionError that says where the two differ

Compared are the result (type, dtype, shape, bits, order of strides, which argument it is or shares memory with), the
arguments afterwards, the exception with its words, and the warnings other than Weft's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

import weft

MakeArguments: TypeAlias = Callable[[], Sequence[Any]]

OWN_WARNINGS = (weft.FallbackWarning, weft.PerformanceWarning)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call left behind."""

    result: Any
    error: BaseException | None
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    warnings: frozenset[tuple[str, str]] = frozenset()
    own_warnings: tuple[warnings.WarningMessage, ...] = ()


def run(function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any] | None = None) -> Outcome:
    """Call the function and keep whatever comes of it."""
    arguments, keywords = tuple(arguments), dict(keywords or {})
    result, error = None, None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function(*arguments, **keywords)
        except Exception as caught:  # noqa: BLE001 - every exception is an outcome
            error = caught
    own = tuple(item for item in seen if issubclass(item.category, OWN_WARNINGS))
    others = frozenset((item.category.__name__, str(item.message)) for item in seen if item not in own)
    return Outcome(result, error, arguments, keywords, others, own)


def assert_same_outcome(actual: Outcome, expected: Outcome, ulps: float = 0.0, where: str = "") -> None:
    """Everything that can be seen of two calls is the same."""
    if actual.error is not None and expected.error is None:
        raise AssertionError(f"{where}: {actual.error!r}, Python gives {expected.result!r}") from actual.error
    assert describe_error(actual.error) == describe_error(expected.error), where
    assert_same(actual.result, expected.result, ulps, f"{where} result")
    assert_same(actual.arguments, expected.arguments, ulps, f"{where} arguments")
    assert_same(dict(actual.keywords), dict(expected.keywords), ulps, f"{where} keywords")
    assert relations(actual) == relations(expected), f"{where}: the result is or shares another argument"
    too_many, too_few = sorted(actual.warnings - expected.warnings), sorted(expected.warnings - actual.warnings)
    assert actual.warnings == expected.warnings, f"{where}: warnings {too_many}, without {too_few}"


def describe_error(error: BaseException | None) -> str:
    """Type and words, to compare and to read."""
    return "no exception" if error is None else f"{type(error).__module__}.{type(error).__qualname__}: {error}"


def relations(outcome: Outcome) -> list[tuple[bool, bool]]:
    """For every array in the result and every argument: is it the same object, may they share memory?"""
    arrays = [item for item in flatten(outcome.result) if isinstance(item, np.ndarray)]
    given = [item for item in flatten((*outcome.arguments, *outcome.keywords.values())) if isinstance(item, np.ndarray)]
    # An empty array shares nothing, whatever its address.
    return [(one is other, one.size > 0 and np.may_share_memory(one, other)) for one in arrays for other in given]


def flatten(value: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts."""
    if isinstance(value, dict):
        return flatten(list(value.values()))
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def assert_same(actual: Any, expected: Any, ulps: float = 0.0, where: str = "") -> None:
    """Two values are the same: type, and all that is inside."""
    assert type(actual) is type(expected), f"{where}: {actual!r} is a {type(actual)}, Python gives {expected!r}"
    match expected:
        case np.ndarray() | np.generic():
            assert_same_array(actual, expected, ulps, where)
        case bool() | int() | str() | None:
            assert actual == expected, where
        case float() | complex():
            assert_same_array(np.asarray(actual), np.asarray(expected), ulps, where)
        case tuple() | list():
            assert len(actual) == len(expected), where
            for number, (one, other) in enumerate(zip(actual, expected, strict=True)):
                assert_same(one, other, ulps, f"{where}[{number}]")
        case dict():
            assert list(actual) == list(expected), where
            for key, other in expected.items():
                assert_same(actual[key], other, ulps, f"{where}[{key!r}]")
        case _ if not hasattr(expected, "__name__") and has_attributes(expected):
            assert_same(attributes(actual), attributes(expected), ulps, f"vars({where})")
        case _:
            assert actual is expected or actual == expected or repr(actual) == repr(expected), where


def has_attributes(value: Any) -> bool:
    """Whether an object of a class written in Python has attributes of its own."""
    return hasattr(value, "__dict__") or hasattr(type(value), "__slots__")


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object, in its dict or in slots."""
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ()) if hasattr(value, name)]
    return {**{name: getattr(value, name) for name in slots}, **getattr(value, "__dict__", {})}


def assert_same_array(actual: Any, expected: Any, ulps: float, where: str) -> None:
    """dtype, shape, order of strides, flags, numbers."""
    assert actual.dtype == expected.dtype, f"{where}: dtype {actual.dtype}, NumPy gives {expected.dtype}"
    assert actual.shape == expected.shape, f"{where}: shape {actual.shape}, NumPy gives {expected.shape}"
    assert stride_order(actual) == stride_order(expected), (
        f"{where}: strides {actual.strides}, NumPy gives {expected.strides}"
    )
    assert actual.flags.writeable == expected.flags.writeable, f"{where}: writeable {actual.flags.writeable}"
    if isinstance(expected, np.ma.MaskedArray):
        assert_same_array(np.ma.getmaskarray(actual), np.ma.getmaskarray(expected), 0.0, f"{where}.mask")
        actual, expected = actual.data, expected.data
    if not same_numbers(np.asarray(actual), np.asarray(expected), ulps):
        raise AssertionError(f"{where}:\n{actual!r}\nNumPy gives\n{expected!r}")


def stride_order(array: Any) -> tuple[int, ...]:
    """The axes longer than 1, from the slowest to the fastest, negative steps marked; nothing for empty arrays."""
    if array.size == 0:
        return ()
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    signs = [-1 if array.strides[axis] < 0 else 1 for axis in axes]
    ordered = sorted(zip(axes, signs, strict=True), key=lambda item: (-abs(array.strides[item[0]]), item[0]))
    return tuple(sign * (axis + 1) for axis, sign in ordered)


def same_numbers(actual: np.ndarray, expected: np.ndarray, ulps: float) -> bool:
    """The same bits (any NaN for a NaN), or within so many units in the last place."""
    if expected.dtype.kind in "fc":
        if ulps:
            return close_numbers(actual, expected, ulps)
        parts = (np.real, np.imag) if expected.dtype.kind == "c" else (np.asarray,)
        return all(same_bits(part(actual), part(expected)) for part in parts)
    if expected.dtype.kind in "OVMm":
        return repr(actual.tolist()) == repr(expected.tolist())
    return bool(np.array_equal(actual, expected))


def same_bits(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Equal, zeros of the same sign, NaN where NaN."""
    numbers = ~np.isnan(expected)
    return bool(
        np.array_equal(actual, expected, equal_nan=True)
        and np.array_equal(np.signbit(actual)[numbers], np.signbit(expected)[numbers])
    )


def close_numbers(actual: np.ndarray, expected: np.ndarray, ulps: float) -> bool:
    """Within `ulps` times epsilon of each number."""
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True):
        return False
    error = np.abs(actual[finite] - expected[finite])
    return bool(np.all(error <= ulps * np.finfo(expected.dtype).eps * np.abs(expected[finite])))


def stats_of(program: Any) -> dict[str, int]:
    """The counters that tell who did the work."""
    return {name: getattr(program.stats, name) for name in ("native_calls", "fallback_calls", "resumes")}


def assert_native(program: Any, calls: int = 1) -> None:
    """The last `calls` calls, all there were, ran in compiled code from beginning to end."""
    counters = stats_of(program)
    assert counters["native_calls"] >= calls, counters
    assert counters["fallback_calls"] == counters["resumes"] == 0, counters


def check(function: Callable[..., Any], *makers: MakeArguments, ulps: float = 0.0, **options: Any) -> Any:
    """Compile the function, run it on every set of arguments, compare with Python; the program, for its counters."""
    chosen: Any = {"fallback": "error", **options}
    program = weft.program(function, **chosen)
    for number, make in enumerate(makers):
        expected = run(function, make())
        assert_same_outcome(run(program, make()), expected, ulps, f"{function.__name__}, arguments {number}:")
    return program
