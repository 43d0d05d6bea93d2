"""The functions that pass over NaN, averages and areas: results, types, warnings and errors as NumPy gives them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from tests.numpy_rules.samples import FORMS
from tests.selection import every
from tests.semantics.cases import agree, choices

NAN, INF = np.nan, np.inf
SHORT: Any = np.float32(0.3)
ROWS = {
    "numbers": [[1.0, NAN, 3.0], [NAN, 2.5, -0.0], [4.0, NAN, 0.5], [-1.0, 2.0, 6.5]],
    "empty slices": [[NAN, NAN, NAN], [1.0, NAN, 2.0], [NAN, NAN, 3.0], [NAN, NAN, NAN]],
    "infinite": [[INF, NAN, 1.0], [-INF, 2.0, 1.0], [INF, -INF, NAN], [-INF, NAN, -INF]],
    "nothing": [[NAN, NAN, NAN]] * 4,
    "large": [[1e308, NAN, 1e308], [1e308, 1.0, 1e308], [-1e308, 1.0, -1e308], [1e200, 1e200, NAN]],
    "one": [[NAN, 2.0, 3.0]],
    "zeros": [[-0.0, NAN, 0.0], [NAN, -0.0, -0.0]],
}


def matrix(name: str, dtype: str = "d", form: str = "c") -> np.ndarray:
    """Rows in a type: of integers the NaN are 7, complex numbers have some in the imaginary part only."""
    rows = np.array(ROWS[name])
    kind = np.dtype(dtype).kind
    with np.errstate(all="ignore"):
        if kind in "biu":
            rows = np.nan_to_num(rows, nan=7.0, posinf=9.0, neginf=1.0) % 100
        if kind == "c":
            rows = rows + 1j * np.where(np.isnan(rows), 1.0, rows[::-1])
        return FORMS[form](rows.astype(dtype))


def makers(*arrays: Callable[[], np.ndarray]) -> list[Callable[[], tuple[Any, ...]]]:
    return [lambda make=make: (make(),) for make in arrays]


GROUPS = {
    "rows": [lambda name=name: matrix(name) for name in ROWS],
    "forms": [lambda form=form: matrix("numbers", "d", form) for form in FORMS if form != "c"],
    "nothing": [lambda shape=shape: np.zeros(shape) for shape in ((0, 3), (3, 0), (0, 0))],
    **{
        dtype: [lambda name=name, dtype=dtype: matrix(name, dtype) for name in ("numbers", "empty slices", "infinite")]
        for dtype in "fFDlB?"
    },
}


def name_of(value: Any) -> str:
    return getattr(value, "__name__", value)


def sums(k, a):
    if k == 0:
        return np.nansum(a)
    elif k == 1:
        return np.nansum(a, axis=0), np.nansum(a, axis=(0, 1)), np.nansum(a[0])
    elif k == 2:
        return np.nansum(a, -1, keepdims=True)
    elif k == 3:
        return np.nanmean(a)
    elif k == 4:
        return np.nanmean(a, axis=0)
    elif k == 5:
        return np.nanmean(a, axis=1, keepdims=True)
    return np.nanmean(a, axis=(1, 0), keepdims=True)


def moments(k, a):
    if k == 0:
        return np.nanvar(a)
    elif k == 1:
        return np.nanvar(a, axis=0, keepdims=True)
    elif k == 2:
        return np.nanstd(a, axis=1)
    elif k == 3:
        return np.nanstd(a, axis=(0, 1), ddof=1)
    elif k == 4:
        return np.nanvar(a, 1, ddof=2)
    return np.nanstd(a, keepdims=True)


def extremes(k, a):
    if k == 0:
        return np.nanmax(a)
    elif k == 1:
        return np.nanmax(a, axis=0)
    elif k == 2:
        return np.nanmin(a, axis=1, keepdims=True)
    elif k == 3:
        return np.nanmin(a, axis=(0, 1))
    return np.nanmin(a, 0), np.nanmax(a, -1)


def cleaned(k, a):
    if k == 0:
        return np.nan_to_num(a), np.nan_to_num(a[0]), np.nan_to_num(a[0, 0])
    elif k == 1:
        return np.nan_to_num(a, nan=-1.0, posinf=2, neginf=SHORT)
    elif k == 2:
        return np.nan_to_num(a, True, 3, neginf=-INF)
    return np.nan_to_num(a, nan=NAN, posinf=a.size)


@pytest.mark.parametrize(
    ("function", "group"), every(4, itertools.product((sums, moments, extremes, cleaned), GROUPS)), ids=name_of
)
def test_nan_is_passed_over(function: Callable[..., Any], group: str) -> None:
    cases = {"sums": 7, "moments": 6, "extremes": 5, "cleaned": 4}[function.__name__]
    agree(function, *choices(cases, *makers(*GROUPS[group])), ulps=8)


def test_numbers_that_are_usual_need_no_python() -> None:
    for function, cases in ((sums, 7), (moments, 4), (extremes, 5), (cleaned, 4)):
        agree(function, *choices(cases, *makers(lambda: matrix("numbers"))), need="native", ulps=8)


def of_more_axes(k, a):
    if k == 0:
        return np.nanmean(a, axis=0), np.nanmean(a, axis=(0, 2), keepdims=True)
    elif k == 1:
        return np.nanmax(a, axis=1), np.nanmin(a, 2, keepdims=True), np.nanmax(a, axis=())
    elif k == 2:
        return np.nanvar(a, axis=1), np.nanstd(a, axis=(1, 2), ddof=1)
    elif k == 3:
        return np.nanmax([np.nan, np.nan]), np.nanmean([1.0, np.nan])
    elif k == 4:
        return np.nansum(np.nan), np.nanmean(3.5), np.nan_to_num(np.inf)
    return np.nan_to_num(a, posinf=3), np.nansum(a, 2)


def test_nan_functions_of_more_axes() -> None:
    """In any order in memory, which the results have as well."""

    def made(order: tuple[int, ...], nothing: int) -> tuple[np.ndarray]:
        a = np.arange(60.0).reshape(5, 4, 3).transpose(order)
        a[a % 7 == 1] = NAN
        a[:nothing] = NAN
        a[nothing, nothing, nothing] = -INF
        return (a,)

    orders = ((0, 1, 2), (2, 1, 0), (1, 2, 0))
    agree(of_more_axes, *choices(6, *[lambda o=o, n=n: made(o, n) for o in orders for n in (0, 1, 2)]), ulps=8)


def test_slices_of_nan_do_not_leave_compiled_code() -> None:
    for function, cases in ((sums, 7), (moments, 6), (extremes, 5), (cleaned, 4)):
        agree(function, *choices(cases, *makers(*GROUPS["rows"])), need="native", ulps=8)


def in_expressions(k, a, m):
    """Of what is computed, of what a mask chose, of rows in a loop, and what follows."""
    if k == 0:
        return np.nanmean(a * 2 + m), np.nansum(a[m]), np.nanmax(a[m] * 3)
    elif k == 1:
        return (a - np.nanmean(a, axis=0)) / np.nanstd(a, axis=0)
    elif k == 2:
        means = np.zeros(a.shape[0])
        for i in range(a.shape[0]):
            means[i] = np.nanmean(a[i]) + np.nanmin(a[i])
        return means
    elif k == 3:
        return np.nanstd(a[m]), np.nan_to_num(a[m]).sum()
    elif k == 4:
        with np.errstate(all="ignore"):
            return np.nanmean(a.T, axis=0)
    a[0, 0] = 5.0
    first = np.nanmean(a, axis=1)
    a[0, 0] = 6.0
    return first, np.nansum(a * 1e308 * 10)


def test_nan_functions_of_expressions() -> None:
    def mask() -> np.ndarray:
        return np.arange(12).reshape(4, 3) % 5 != 1

    names = ("numbers", "empty slices", "infinite", "large")
    agree(in_expressions, *choices(6, *[lambda name=name: (matrix(name), mask()) for name in names]), ulps=8)


def test_nan_functions_of_many_elements() -> None:
    """On threads, in parts."""

    def make(rows: int, columns: int) -> np.ndarray:
        rng = np.random.default_rng(rows)
        a = rng.random((rows, columns))
        a[3:, 3:][rng.random((rows - 3, columns - 3)) < 0.2] = NAN
        return a

    arrays = [lambda shape=shape: make(*shape) for shape in ((600, 500), (20000, 7), (5, 40000))]
    for function, cases in ((sums, 7), (moments, 4), (extremes, 5), (cleaned, 4)):
        agree(function, *choices(cases, *makers(*arrays)), need="native", ulps=256)


def areas(k, y, x, t):
    if k == 0:
        return np.trapezoid(y), np.trapezoid(y[0])
    elif k == 1:
        return np.trapezoid(y, dx=2), np.trapezoid(y, axis=0, dx=SHORT)
    elif k == 2:
        return np.trapezoid(y, x)
    elif k == 3:
        return np.trapezoid(y, x=t, axis=0)
    elif k == 4:
        return np.trapezoid(y, y * 2, axis=-2)
    return np.trapezoid(y, t)


def averages(k, y, x, t):
    if k == 0:
        return np.average(y), np.average(y, axis=(0, 1)), np.average(y, -1, keepdims=True)
    elif k == 1:
        return np.average(y, weights=y), np.average(y, 0, y * y)
    elif k == 2:
        return np.average(y, axis=1, weights=x)
    elif k == 3:
        return np.average(y, axis=0, weights=t, keepdims=True), np.average(x, weights=x)
    elif k == 4:
        return np.average(y, weights=x)
    return np.average(y, axis=0, weights=x)


def ordinates(dtype: str, form: str = "c", shape: tuple[int, int] = (4, 3)) -> tuple[np.ndarray, ...]:
    values = np.arange(1, 1 + shape[0] * shape[1]).reshape(shape) * 3 % 7
    x, t = np.array([1, 4, 5, 9, 3, 2] * 2)[: shape[1]], np.array([2.0, 0.5, 1.0, 6.0, 2.5] * 2)[: shape[0]]
    return FORMS[form](values.astype(dtype)), FORMS[form](x.astype(dtype)), t


KINDS = {
    **{dtype: [lambda dtype=dtype: ordinates(dtype)] for dtype in "dfFDlhB?"},
    "forms": [lambda form=form: ordinates("d", form) for form in FORMS if form != "c"],
    "short": [lambda shape=shape: ordinates("d", "c", shape) for shape in ((1, 1), (1, 3), (0, 3), (3, 0), (2, 2))],
}


@pytest.mark.parametrize(("function", "kind"), every(4, itertools.product((areas, averages), KINDS)), ids=name_of)
def test_areas_and_averages(function: Callable[..., Any], kind: str) -> None:
    agree(function, *choices(6, *KINDS[kind]), ulps=8)


def test_odd_averages() -> None:
    """Weights that sum up to zero raise, what is infinite warns."""

    def row(*numbers: float) -> tuple[np.ndarray, ...]:
        y = np.array([numbers, numbers[::-1]])
        return y, y[0].copy(), np.array([1.0, -1.0])

    made = [lambda: row(1.0, -1.0), lambda: row(INF, -INF), lambda: row(NAN, 1.0), lambda: row(1e308, 1e308, 1e308)]
    agree(averages, *choices(6, *made), ulps=8)
    agree(areas, *choices(6, *made), ulps=8)


def warns(a):
    mean = np.nanmean(a, axis=0)
    most = np.nanmax(a, axis=0)
    spread = np.nanstd(a, axis=0, ddof=1)
    return mean, most, spread, np.nanvar(a, axis=1)


def test_warnings_are_given_once_at_their_place() -> None:
    def seen(function: Any) -> list[tuple[str, str, int]]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(matrix("empty slices"))
        return [(str(w.message), w.filename, w.lineno) for w in found]

    program: Any = weft.program(warns, fallback="error")
    assert seen(program) == seen(warns)
    assert len(seen(program)) == 4
    assert program.stats.resumes == 0


def cleaned_in_place(k, a):
    if k == 0:
        np.nan_to_num(a, copy=False)
        return a
    elif k == 1:
        b = np.nan_to_num(a[::2], copy=False, nan=-1, posinf=3.0)
        return b, b[0] + a[0]
    for _ in range(2):
        np.nan_to_num(a, False, nan=2.5, neginf=a[0].real)
    b = np.nan_to_num(a, copy=False)
    return b, a


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4"])
def test_numbers_are_put_in_their_place(dtype: str) -> None:
    def line() -> tuple[Any, ...]:
        return (np.array([1, NAN, 3, INF, -INF, NAN], dtype),)

    def parts() -> tuple[Any, ...]:
        return ((np.array([1, 2, 3, 4, 5, 6]) + 1j * np.array([1, NAN, 3, INF, -INF, NAN])).astype(dtype),)

    def strided() -> tuple[Any, ...]:
        return (np.array([[1, NAN], [INF, 2], [-INF, NAN], [5, 6]], "c16").astype(dtype)[:, 1],)

    def whole() -> tuple[Any, ...]:
        return (np.arange(6, dtype=dtype),)

    def readonly() -> tuple[Any, ...]:
        (a,) = whole()
        a.flags.writeable = False
        return (a,)

    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        makers_ = [whole] if dtype == "i4" else [line, whole, strided, *([parts] if dtype[0] == "c" else [])]
        agree(cleaned_in_place, *choices(3, *makers_))
        agree(cleaned_in_place, *choices(3, readonly), need="right")


def test_numbers_are_put_in_their_place_by_python_where_there_is_no_array() -> None:
    def of_numbers(x):
        return np.nan_to_num(x, copy=False)

    agree(of_numbers, lambda: (NAN,), lambda: ([1.0, NAN],), need="right")
