"""Programs the fuzzer found, made small: each differed from Python once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

FOUND = Table()


@FOUND.parametrize()
def test_found(row: Row) -> None:
    row.check()


@FOUND.add(lambda: (np.int64(1), np.uint64(0)), lambda: (np.uint8(1), np.int8(0)), lambda: (np.int64(1), np.int32(0)))
def scalars_with_a_third_common_type_warn_as_arrays(x, y):
    return x // y


@FOUND.add(lambda: (np.int32(1), 0.0), lambda: (np.float32(1), 0.0), lambda: (np.bool_(True), np.int16(0)))
def numbers_too_wide_for_a_scalar_warn_as_arrays(x, y):
    return x // y


@FOUND.add(lambda: (np.zeros(2, np.float32), np.array([1e300, 1.0])))
def a_ufunc_casts_under_its_own_name(a, b):
    np.add(b, 1, out=a)
    a += b


@FOUND.add(lambda: (np.ones(2, np.float32), 1e308), lambda: (np.float32(3), 1e308), lambda: (np.ones(2), 1e308))
def a_python_float_too_large_warns_of_a_cast(a, x):
    return a + x, a < x, np.maximum(a, x), np.where(a > 0, a, x)


@FOUND.add(lambda: (np.zeros(3, np.float32), 1e308), lambda: (np.zeros(3, np.float32), np.float64(1e308)))
def a_number_too_large_to_store_warns_of_a_cast(a, x):
    a[0] = x
    a[1:] = x


@FOUND.add(
    lambda: (np.array([0.0, 1.0]), np.array([0.0, 1.0])),
    lambda: (np.array([0, 1]), np.array([0, 1])),
    lambda: (np.float64(0.0), np.float64(0.0)),
    lambda: (np.int64(3), np.int64(0)),
    lambda: (3, np.array([0.0, 1.0])),
)
def divmod_warns_under_its_own_name(x, y):
    return divmod(x, y)


@FOUND.add(lambda: (np.zeros(2, np.complex64), np.array([1e300, 1.0])))
def floats_stored_in_smaller_complex_numbers_warn(a, b):
    a[...] = b


@FOUND.add(
    lambda: (np.zeros(2, np.int32), np.array([3, 2**40])),
    lambda: (np.zeros(2, np.int32), np.array([3, -4])),
    lambda: (np.zeros(2, np.uint8), np.array([3, -4])),
    lambda: (np.zeros(2, np.int64), np.array([3, 2**63 + 1], np.uint64)),
)
def integers_of_numpy_must_fit_signed_types(a, b):
    for i in range(len(a)):
        a[i] = b[i]
        a[i] += b[i]
    a[:] = b[0]


@FOUND.add(lambda: (np.arange(8.0).reshape(4, 2)[:, ::-1],))
def a_gather_from_what_is_swapped_with_it(b):
    v = b
    w = b
    for _ in range(3):
        w = v[np.arange(1)]
        v, w = w, v
    return v, w


@FOUND.add(
    lambda: (np.asfortranarray(np.arange(36.0).reshape(6, 6))[::-2, 3:],),
    lambda: (np.asfortranarray(np.arange(36.0).reshape(6, 6)),),
    lambda: (np.arange(36.0).reshape(6, 6).T[1:],),
)
def what_is_rounded_to_places_lies_in_c_order(a):
    return np.round(a / 7, 1), np.round(a)


@FOUND.add(lambda: (np.arange(3.0), 2), lambda: (np.arange(8)[::2], 3), lambda: (np.arange(3.0), 0))
def a_whole_view_stays_a_view_when_swapped(a, n):
    w = a[:]
    for _ in range(n):
        a, w = w, a
    return a, w


@FOUND.add(lambda: (np.arange(3.0), True), lambda: (np.arange(3.0), False))
def a_whole_view_or_the_array(a, view):
    w = a
    if view:
        w = a[:]
    return w, a if view else a[:]


@FOUND.add(lambda: (0, np.empty(0)), lambda: (3, np.arange(3.0)), lambda: (2, np.arange(3.0)))
def a_view_of_what_may_be_an_argument(n, b):
    a = b + 7
    if a.shape[0] == n:
        a, b = b, a
    return a[:]


@FOUND.add(lambda: (np.arange(4.0)[::-1],), lambda: (np.arange(4.0),))
def a_row_turned_in_place_through_a_view(b):
    w = b[None]
    b = w[-1, ::-1]
    w[...] = b


@FOUND.add(
    lambda: (np.array([0.0, -0.0, 2.0]), np.array([-np.inf, -np.inf, 1.0])),
    lambda: (np.float32(0), np.float32(-np.inf)),
)
def zero_to_the_power_of_minus_infinity_divides_by_zero(x, y):
    return x**y, np.power(x, y)


@FOUND.add(lambda: (np.array([-6, 5]),), lambda: (np.arange(4)[::2],), lambda: (np.arange(0),), need="compiled")
def what_a_guard_says_does_not_hold_above_it(a):
    a *= a[::-1]
    for _ in enumerate(a):
        w = a[None]
        w[:] = w[-100:]
    return a * 0.5


@FOUND.add(lambda: (f8(5), 4), lambda: (f8(5), 9))
def a_copy_of_a_copy(a, n):
    v = np.ceil(a).astype(np.float64)
    if np.count_nonzero(v) == n:
        v[...] = v + 1
        a = v.astype(np.float64) * a
    return v, v[:-1], a


# ---- still different ------------------------------------------------------------------------------------------------


def logaddexp_of_nan_warns(a):
    return np.logaddexp(a.real, 1.0)


@pytest.mark.xfail(reason="not as in NumPy yet", strict=True)
@pytest.mark.parametrize("function", [logaddexp_of_nan_warns])
def test_still_different(function: Any) -> None:
    Row(function, (lambda: (np.array([1 + 1j, complex("nan"), 2]),),), 0.0, "native").check()


@FOUND.add(
    lambda: (np.array([-1.5, 2.0, -np.inf, -0.0]), 0.5),
    lambda: (np.array([-1.5, 2.0], np.float32), 0.5),
    lambda: (np.array([1e200, 0.0]), 2),
    lambda: (np.array([1e200, 0.0]), 2.0),
    lambda: (np.array([1e200, 0.0]), -1),
    lambda: (np.array([1e200, 0.0]), -1.0),
    lambda: (np.array([1e200, 0.0]), 3),
    lambda: (np.array([1e200, 0.0]), np.float64(0.5)),
    lambda: (np.array([3, 4]), 0.5),
    lambda: (np.array([-4.0 + 0j, 2j]), 0.5),
)
def a_power_known_at_run_time_may_be_another_function(a, p):
    b = a * 1.0
    b **= p
    c = a * 1.0
    c[c > 1] **= p
    return a**p, b, c


@FOUND.add(
    lambda: (np.array(-4.0), 0.5),
    lambda: (np.array(-4.0), 0.25),
    lambda: (np.float64(-4.0), 0.5),
    lambda: (np.array([True, False]), 2),
    lambda: (np.array([True, False]), 3),
    need="compiled",
)
def a_power_of_another_type(a, p):
    return a**p


@FOUND.add(lambda: (np.array([1e200, -1.0]),), lambda: (np.array([0.0, 4.0], np.float32),))
def a_power_known_now_is_chosen_by_its_type(a):
    return a**2, a**2.0, a**-1, a**-1.0, a**0.5, a**1, a**1.0


@FOUND.add(lambda: (np.array([True, False]),), lambda: (np.array([3, -2], np.int8),))
def a_square_of_bools_is_an_int8(a):
    return a**2, a**3, a**2.0


@FOUND.add(lambda: (f8(4),))
def a_slice_beyond_an_axis_of_length_one(c):
    d = c[:, None]
    d[0, :100] = 5.0
    d[1, -100:] += 1
    return d, d[:, -7:3], d[::-1, 5:], d[0, 100::-1], d[1, :-100], d[2, -100::-1]


@FOUND.add(lambda: (np.array([np.nan]),), lambda: (np.array([2.0]),))
def a_comparison_with_nan_is_no_warning_of_what_follows(a):
    chosen = a[a >= -1]
    return np.cumsum(chosen[::-1])


@FOUND.add(lambda: (f8(6, 5), np.arange(10)[::-2]), lambda: (f8(3, 2) * np.inf, np.arange(3)))
def a_sum_in_a_sum_in_a_loop(d, b):
    last = 0.0
    out = np.zeros(d.shape[0])
    for i in range(d.shape[0]):
        out[i] = np.mean(np.floor(d[-2, 1:]) - np.sum(b)) / d[i, 0]
    return out, last


@FOUND.add(lambda: (f8(5), f8(5), f8(5), 2.0), lambda: (f8(5), f8(5), f8(5), 7))
def a_number_that_may_be_an_integer_in_a_loop(a, b, c, x):
    for _ in range(len(c)):
        c[:] = np.maximum(c[::-1] <= c, min(len(c), x)) % np.copy(c / a.shape[0])
    return c


LARGEST = 2**63 - 1


@FOUND.add(*(lambda k=k, n=n: (f8(7), f8(n), k) for k in (2, -3, LARGEST, -LARGEST - 1) for n in (8, 3)), need="right")
def places_beyond_every_range(x, y, k):
    for i in range(len(x)):
        if i < k:
            y[i + 1] = x[i]
        else:
            y[i] = 3.0
    for i in range(len(x)):
        if i <= k:
            x[i] = x[i] * 2.0
    for i in range(len(x)):
        if i != k:
            x[i] += 1.0
    for i in range(1, len(x)):
        if i + 3 < k or k - i > 2:
            x[i] = -1.0


@FOUND.add(
    *(lambda k=k, n=n: (f8(7) - 3, f8(3), n, k) for k in (-2, LARGEST, LARGEST - 4, -LARGEST - 1) for n in (5, 7, 0))
)
def places_of_stores_beyond_int64(x, y, n, k):
    for i in range(n):
        if x[i] > 0.0:
            y[i + k] = x[i]
    s = 0.0
    for i in range(n):
        if x[i] > 0.0:
            s += y[2 * i - k]
    return s


NANS: Any = np.array([complex(a, b) for a in (0.0, 2.0, np.nan, np.inf) for b in (0.0, 1.0, np.nan)])


@FOUND.add(
    lambda: (NANS, NANS[::-1]),
    lambda: (NANS.astype(np.complex64), NANS.astype(np.complex64)),
    lambda: (NANS, NANS.astype(np.complex64)),
    lambda: (NANS, NANS.real.astype(np.float32)),
    lambda: (NANS.astype(np.complex64), NANS.real.astype(np.float32)),
    lambda: (NANS.astype(np.complex64)[:2], NANS.real[:6]),
    lambda: (NANS, np.arange(4)),
)
def complex_numbers_are_in_order_by_their_parts(z, w):
    out = np.zeros((len(z), len(w), 8), np.bool_)
    for i in range(len(z)):
        for j in range(len(w)):
            out[i, j, 0] = z[i] < w[j]
            out[i, j, 1] = z[i] <= w[j]
            out[i, j, 2] = z[i] > w[j]
            out[i, j, 3] = w[j] >= z[i]
            out[i, j, 4] = w[j] < z[i]
            out[i, j, 5] = z[i] > 2
            out[i, j, 6] = 2.0 >= z[i]  # noqa: SIM300 - the number may be on either side
            out[i, j, 7] = z[i] < True
    return out


@FOUND.add(
    *(lambda value=value: (np.array([value, 1.0]), np.ones(3, np.int32)) for value in (np.nan, np.inf, -1e300, -7.0)),
    lambda: (np.array([1e300, 1.0]), np.ones(3, np.float32)),
)
def numbers_in_arrays_without_axes_warn_when_they_are_cast(x, b):
    b[0] = np.where(x[0] < 0, x[0], 2 * x[0])
    for i in range(2):
        b[i] = np.where(x[i] > 5, x[i], x[0])
    b[2] = np.asarray(x[0])
    c = np.zeros((), b.dtype)
    c[...] = np.asarray(x[0])
    return c


@FOUND.add(*(lambda value=value: (np.array([value, 1.0]), np.ones(3, np.int32)) for value in (np.nan, 1e300, -7.0)))
def one_number_for_many_places_warns_when_it_is_cast(x, b):
    np.put(b, [0, 1], x[:1])
    b.flat[1:] = x[:1]
    b.put(0, np.asarray(x[0]))
    c = np.zeros((2, 2), b.dtype)
    c.flat = x[:1]  # pyright: ignore[reportAttributeAccessIssue]
    np.fill_diagonal(c, x[:1])
    return c


ODD_PAIRS = [
    (a, b) for a in (np.nan, complex(0, np.nan), complex(1, np.nan), 2) for b in (np.nan, complex(1, np.nan), 1)
]


@FOUND.add(*(lambda a=a, b=b: (np.array([2j, a, 1]), np.array([1, b, 3j]), 1) for a, b in ODD_PAIRS))
def complex_numbers_in_order_warn_of_nan_in_arrays_only(x, y, n):
    m = np.abs(y) < 9
    counted = 0
    for i in range(len(x)):
        if x[i] > y[i]:
            counted += 1
    return (
        (x < y).sum(),
        np.where(x >= y, x * 2, y),
        x[m] <= y[m],
        x[x > n],
        np.less(x[1], y[1]),
        counted,
        n > y,
        x >= 2j,
    )


@FOUND.add(
    *(
        lambda value=value: (np.array([2j, value, 1]),)
        for value in (complex(1, 800), 1 - 1e308j, complex(np.inf, np.inf), complex(1.7e308, 1e308))
    ),
    ulps=4,
)
def functions_of_large_complex_numbers_warn_of_overflow(x):
    return np.sin(x), np.cos(x), np.sign(x)
