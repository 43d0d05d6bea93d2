"""Whole arrays: operators and ufuncs with mixed dtypes, reductions, products, creation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compiling import PLAINLY
from tests.end_to_end.data import b1, c16, f4, f8, i4, i8, parts, u1, whole
from tests.end_to_end.outcome import assert_native, check
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_arrays(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- operators

OPERANDS: dict[str, Callable[[], Any]] = {
    "bool": lambda: b1(4),
    "uint8": lambda: u1(4) + np.uint8(1),
    "int32": lambda: i4(4) + np.int32(20),
    "int64": lambda: i8(4) - 30,
    "float32": lambda: parts(4, dtype=np.float32),
    "float64": lambda: -parts(4),
    "py_bool": lambda: True,
    "py_int": lambda: 3,
    "py_float": lambda: 0.7,
    "np_int8": lambda: np.int8(-5),
    "np_float32": lambda: np.float32(1.1),
}


def arithmetic(a, b):
    return a + b, a * b, a < b, a == b, a / b, a // b, a % b


def subtraction(a, b):
    return a - b, np.maximum(a, b), np.minimum(a, b)


@pytest.mark.parametrize("left", OPERANDS)
def test_operators_on_every_pair_of_types(left: str) -> None:
    for make in OPERANDS.values():
        check(arithmetic, lambda make=make: (OPERANDS[left](), make()))


@pytest.mark.parametrize("left", ["bool", "uint8", "float32", "py_int"])
def test_operators_that_refuse_some_types(left: str) -> None:
    for make in OPERANDS.values():
        check(subtraction, lambda make=make: (OPERANDS[left](), make()), fallback="warn")


@TABLE.add(lambda: (i4(4), 3), lambda: (u1(4), 3), lambda: (b1(4), True), lambda: (i8(4), i4(4)), lambda: (6, 3))
def bit_operators(a, b):
    return a & b, a | b, a ^ b


@TABLE.add(lambda: (i4(4), 3), lambda: (u1(4), 3), lambda: (i8(4), i8(4) % 5))
def shifts(a, b):
    return a << b, a >> b


@TABLE.add(lambda: (i4(4),), lambda: (f8(4),), lambda: (f4(4),))
def unary_operators(a):
    return -a, +a, abs(a)


@TABLE.add(lambda: (c16(4),), ulps=4)
def complex_numbers(a):
    return -a, abs(a), a * a[::-1], a + 1, a * 2.0, a.real + a.imag, np.conj(a), a == a[::-1]


@TABLE.add(lambda: (c16(4),), lambda: (f8(4),), need="right")
def parts_of_complex_numbers_are_views(a):
    return a.real, a.imag


@TABLE.add(lambda: (b1(4), i8(4)), lambda: (b1(4), u1(4)))
def inversion(a, b):
    return ~a, ~b, np.logical_not(b)


@TABLE.add(lambda: (f8(4), 2), lambda: (i8(4), 3), lambda: (f4(4), 2), lambda: (i4(4), 0))
def powers_by_whole_numbers(a, n):
    return a**n, a**2, a**1


@TABLE.add(lambda: (parts(4), 1.5), lambda: (parts(4, dtype=np.float32), 0.3), lambda: (parts(4), parts(4)), ulps=8)
def powers(a, p):
    return a**p, a**0.5, p**a


@TABLE.add(lambda: (i4(4), 7), lambda: (i4(4), -7), lambda: (f8(4), 2.5), lambda: (f8(4), -2.5), lambda: (-7, 3))
def floors_and_remainders(a, b):
    return a // b, a % b


@TABLE.add(lambda: (whole(np.int8, 4) * np.int8(10), 20), lambda: (u1(4), 250))
def small_integers_wrap(a, k):
    return a + a + a, a * a, a - 1 + k


@TABLE.add(lambda: (i8(3), 2**62), lambda: (i8(3), -(2**62)))
def large_integers_wrap(a, k):
    return a * k, a + k


@TABLE.add(lambda: (f8(3, 1), f8(4)), lambda: (f8(2, 1, 3), f8(4, 1)), lambda: (f8(3), f8(1)), lambda: (f8(3), f8(4)))
def broadcasting(a, b):
    return a + b, a[..., None] * b


@TABLE.add(lambda: (f8(4), i4(4)))
def comparisons(a, b):
    return a < b, a <= 2, a != b, b < 3, (a > 0) & (b < 5), (a > 0) | (b < 5)


@TABLE.add(
    lambda: (np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5]),), lambda: (np.array([np.nan, -0.0], np.float32),)
)
def special_numbers(a):
    return a + 1, a * 0, np.maximum(a, 0), np.minimum(a, a[::-1]), np.isnan(a), np.isfinite(a), np.abs(a), np.sign(a)


@TABLE.add(lambda: (np.array([1.0, 0.0, -1.0, np.nan]), np.array([0.0, 0.0, 2.0, 0.0])), lambda: (i8(3), i8(3) * 0))
def divisions_by_zero_warn(a, b):
    return a / b, a // b


@TABLE.add(lambda: (np.array([4.0, -1.0]),), lambda: (np.array([4.0, 1.0]),))
def invalid_roots_warn(a):
    return np.sqrt(a)


# ---------------------------------------------------------------- functions


@TABLE.add(lambda: (parts(5),), lambda: (parts(2, 3, dtype=np.float32),), lambda: (i4(5) + np.int32(12),), ulps=8)
def transcendental_functions(a):
    return np.exp(a), np.log(a + 1), np.sin(a), np.cos(a), np.tanh(a), np.arctan(a), np.log10(a + 1), np.cbrt(a)


@TABLE.add(lambda: (parts(5),), lambda: (parts(5, dtype=np.float32),), lambda: (i8(5),))
def exact_functions(a):
    return np.square(a), np.sqrt(np.abs(a)), np.floor(a), np.ceil(a), np.trunc(a), np.sign(a), np.negative(a)


@TABLE.add(lambda: (f8(5), 2.0), lambda: (i4(5), 2), lambda: (f8(5), f8(5)[::-1]))
def functions_of_two(a, b):
    return np.add(a, b), np.subtract(a, b), np.multiply(a, b), np.maximum(a, b), np.hypot(a * 0, b), np.greater(a, b)


@TABLE.add(lambda: (f8(5), i4(5)), lambda: (f4(5), i4(5)))
def choices(a, b):
    return np.where(a > 0, a, b), np.where(a > b, 1, 0.5), np.clip(a, -2, 4), np.clip(b, 0, None)


@TABLE.add(lambda: (f8(5)[0],), lambda: (i4(5)[1],), lambda: (2.5,), lambda: (3,))
def functions_on_scalars(y):
    return np.abs(y), np.maximum(y, 1), np.square(y), np.add(y, 1)


@TABLE.add(lambda: (f8(4),), lambda: (i4(4),), lambda: (parts(4) * 50,))
def casts(a):
    return a.astype(np.float32), a.astype(np.int16), np.int32(a[0]), np.float64(a[1]), a.astype(bool), a.astype("f8")


@TABLE.add(lambda: (f8(4),), lambda: (np.asfortranarray(f8(3, 4)),))
def copies(a):
    b = a.copy()
    b[0] = 5.0
    return b, np.copy(a), np.array(a), np.asarray(a)


@TABLE.add(lambda: (np.asfortranarray(f8(3, 4)), f8(3, 4)), lambda: (f8(4, 3).T, np.asfortranarray(f8(3, 4))))
def order_of_results(a, b):
    return a + 1, a * a, a + b, b + a, np.ones_like(a) * 0 == 0, -a.T


# ---------------------------------------------------------------- reductions


@TABLE.add(lambda: (f8(3, 4),), lambda: (i4(3, 4),), lambda: (u1(3, 4),), lambda: (b1(3, 4),), lambda: (f4(3, 4),))
def sums(A):
    return A.sum(), A.sum(axis=0), np.sum(A, axis=-1), A.sum(axis=1, keepdims=True), np.sum(A, axis=(0, 1))


@TABLE.add(lambda: (f8(2, 3, 4),), lambda: (np.asfortranarray(f8(2, 3, 4)),))
def sums_over_several_axes(A):
    return A.sum(axis=(0, 2)), A.sum(axis=(-1, 0), keepdims=True), A.sum(axis=1), A.sum(axis=()), A.sum(keepdims=True)


@TABLE.add(lambda: (f8(3, 4),), lambda: (i4(3, 4),), lambda: (u1(3, 4),))
def extrema(A):
    return A.max(), A.min(axis=0), np.max(A, axis=1), np.amin(A, axis=-1, keepdims=True)


@TABLE.add(lambda: (i4(3, 4),), lambda: (f4(3, 4),), lambda: (u1(3, 4),))
def reductions_with_a_dtype(A):
    return A.sum(dtype=np.float64), A.sum(axis=0, dtype=np.int8), np.prod(A, axis=1, dtype=np.float32)


@TABLE.add(lambda: (f8(2, 3),), lambda: (i4(2, 3),), lambda: (b1(2, 3),))
def products_over_axes(A):
    return A.prod(), np.prod(A, axis=0), A.prod(axis=-1, keepdims=True)


@TABLE.add(lambda: (b1(3, 4),), lambda: (f8(3, 4),), lambda: (i8(0, 4),))
def quantifiers(A):
    return A.any(), A.all(axis=0), np.any(A, axis=1), np.all(A), (A > 100).any()


@TABLE.add(lambda: (f8(3, 4),), lambda: (i8(3, 4),), lambda: (f4(3, 4),), ulps=16)
def means(A):
    return A.mean(), np.mean(A, axis=0), A.mean(axis=1, keepdims=True), A.std(), np.var(A, axis=1)


@TABLE.add(lambda: (f8(3, 4),), lambda: (i4(3, 4),), lambda: (f4(5),), need="right")
def positions(A):
    return A.argmax(), np.argmin(A), np.argmax(A, axis=-1)


@TABLE.add(lambda: (f8(0),), lambda: (f8(0, 3),), lambda: (f8(3, 0),), lambda: (i4(0),))
def reductions_of_nothing(A):
    return A.sum(), A.prod(), A.any(), A.all(), A.sum(axis=0), A.sum(axis=-1)


@TABLE.add(lambda: (f8(0),), lambda: (f8(0, 3),), lambda: (f8(3, 0),))
def extrema_of_nothing(A):
    return A.max(axis=-1)


@TABLE.add(lambda: (f8(3, 4), 2), lambda: (f8(3, 4), -3), need="compiled")
def axis_out_of_range(A, axis):
    return A.sum(axis=axis)


@TABLE.add(lambda: (np.array([1.0, np.nan, -2.0]),), lambda: (np.array([0.0, -0.0]),), lambda: (np.array([-0.0, 0.0]),))
def reductions_of_special_numbers(v):
    return v.max(), v.min(), v.sum()


@TABLE.add(lambda: (i8(6),), lambda: (f8(6),), lambda: (f8(0),), need="right")
def cumulative(v):
    return np.cumsum(v)


@TABLE.add(lambda: (c16(3),), lambda: (c16(3).astype(np.complex64),), lambda: (f8(3),), need="right")
def real_parts_by_dtype(a):
    """NumPy warns that the imaginary part is lost."""
    b = np.cumsum(a, dtype=float), np.add.accumulate(a, dtype=np.float32), np.full(2, a[0], dtype=float)
    return b, np.sum(a, dtype=float), np.prod(a, dtype=np.int32), np.array(a, dtype=float), np.mean(a, dtype=float)


@TABLE.add(lambda: (f8(3),), lambda: (f8(2, 3),), lambda: (f8(),), lambda: (f8(0, 3),), need="compiled")
def running_sums_of_no_axis(A):
    return np.add.accumulate(A, axis=None)  # pyright: ignore[reportArgumentType] - NumPy takes it


# ---------------------------------------------------------------- products


@TABLE.add(
    lambda: (f8(3, 3), f8(3, 3) + 1),
    lambda: (i8(2, 3), i8(3, 3)),
    lambda: (f8(3), f8(3, 3)),
    lambda: (f8(2, 3, 3), f8(3, 3)),
    lambda: (np.asfortranarray(f8(3, 3)), f8(3, 3).T),
    lambda: (f8(6, 3)[::-2], f8(3, 3)),
)
def changed_by_a_product(A, B):
    """As `A += B` does, `@=` writes into the array, which others may see."""
    C = A
    A @= B
    A[..., 1:] *= 2
    C[..., :] @= B
    return A, C


@TABLE.add(
    lambda: (f8(3, 3), f8(3)),
    lambda: (f8(3, 3), f8(3, 1)),
    lambda: (f8(3, 3), 2.0),
    lambda: (f8(3, 3), f8(2, 3, 3)),
    lambda: (f8(3, 3), f4(3, 3)),
    lambda: (f4(3, 3), f8(3, 3)),
    lambda: (i8(3, 3), f8(3, 3)),
    lambda: (f8(3, 3), [[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
    need="right",
)
def changed_by_a_product_if_it_fits(A, B):
    A @= B
    return A


@TABLE.add(lambda: (f8(3, 3),))
def squared_in_place(A):
    A @= A
    A[:2] @= A
    d = {"a": A[1:]}
    d["a"] @= A


RANKS: dict[int, tuple[int, ...]] = {0: (), 1: (3,), 2: (3, 3), 3: (2, 3, 3)}


def product(a, b):
    return a @ b


def dot(a, b):
    return np.dot(a, b)


def dot_method(a, b):
    return a.dot(b)


@pytest.mark.parametrize("program", [product, dot, dot_method], ids=lambda program: program.__name__)
@pytest.mark.parametrize(("left", "right"), list(itertools.product((1, 2), repeat=2)))
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "complex128"])
def test_products_of_all_ranks(program: Any, left: int, right: int, dtype: str) -> None:
    compiled = check(program, lambda: (whole(dtype, *RANKS[left]), whole(dtype, *RANKS[right])[::-1]))

    assert_native(compiled)


@pytest.mark.parametrize("program", [product, dot], ids=lambda program: program.__name__)
@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0), (0, 2), (0, 0), (3, 1), (1, 3), (3, 2), (2, 3), (3, 3)])
def test_products_of_unusual_ranks(program: Any, left: int, right: int) -> None:
    check(program, lambda: (f8(*RANKS[left]), f8(*RANKS[right])), fallback="warn")


@TABLE.add(lambda: (f8(3, 4), f8(4, 2)), lambda: (f8(4, 3).T, f8(2, 4).T), lambda: (f8(6, 8)[::2, ::2], f8(4, 2)[::-1]))
def products_of_views(A, B):
    return A @ B, A[1:] @ B[:, 0], A[0] @ B, np.dot(A[:, :2], B[2:])


@TABLE.add(lambda: (f8(3, 0), f8(0, 2)), lambda: (f8(0, 3), f8(3, 2)), lambda: (f8(0), f8(0)))
def products_of_nothing(A, B):
    return A @ B


@TABLE.add(lambda: (f8(3, 4), f8(3, 4)), lambda: (f8(3), f8(4)), lambda: (f8(3, 4), f8(3)))
def products_that_do_not_match(A, B):
    return A @ B


@TABLE.add(lambda: (f8(3, 3), f4(3, 3)), lambda: (i4(3, 3), f8(3, 3)), lambda: (u1(3, 3), i8(3, 3)))
def products_of_mixed_types(A, B):
    return A @ B


@TABLE.add(lambda: (f8(3, 3), f8(3)))
def products_in_place(A, x):
    A[:] = A @ A
    x[:] = A @ x
    A[0] = x @ A


@TABLE.add(lambda: (f8(3), f8(4)), lambda: (i4(2, 2), f8(3)), lambda: (f8(0), f8(2)))
def outer_products(a, b):
    return np.outer(a, b), np.add.outer(a, b), a.reshape(-1)[:, None] * b


# ---------------------------------------------------------------- creation


@TABLE.add(lambda: (3, 4), lambda: (0, 2), lambda: (1, 1))
def filled(n, m):
    return np.zeros(n), np.ones((n, m)), np.full((m, n), 7), np.full(n, 2.5, np.float32), np.zeros((n, m), dtype=int)


@TABLE.add(lambda: (-1,), lambda: ((2, -3),))
def negative_sizes(n):
    return np.zeros(n)


@TABLE.add(lambda: (5,), lambda: (0,), lambda: (-3,), lambda: (2.5,), need="compiled")
def ranges(n):
    return np.arange(n), np.arange(2, n), np.arange(n, 0, -2), np.arange(n, dtype=np.float32)


@TABLE.add(lambda: (0, 1, 0.1), lambda: (1.0, -1.0, -0.25), lambda: (0, 10, 3))
def ranges_with_steps(start, stop, step):
    return np.arange(start, stop, step)


@TABLE.add(lambda: (0, 1, 5), lambda: (-2.5, 3.5, 7), lambda: (1, 1, 1), lambda: (0, 1, 0), need="compiled")
def spaced(start, stop, n):
    return np.linspace(start, stop, n), np.linspace(start, stop, n, endpoint=False)


@TABLE.add(lambda: (3, 4), lambda: (0, 0))
def identities(n, m):
    return np.eye(n), np.eye(n, m), np.identity(n), np.eye(n, dtype=np.int32)


@TABLE.add(lambda: (f4(2, 3),), lambda: (i8(3),), lambda: (np.asfortranarray(f8(2, 3)),))
def like_another(A):
    e = np.empty_like(A)
    e[:] = 3
    return (
        np.zeros_like(A),
        np.ones_like(A),
        np.full_like(A, 2),
        e,
        np.zeros_like(A, dtype=np.float64),
        np.zeros(A.shape),
    )


@TABLE.add(lambda: (3,))
def empty_then_written(n):
    a = np.empty((n, n), dtype=np.int64)
    for i in range(n):
        for j in range(n):
            a[i, j] = i * 10 + j
    return a


@TABLE.add(lambda: (1, 2.5), lambda: (1, 2), lambda: (True, False))
def from_lists(x, y):
    return np.array([x, y]), np.array([[x, y], [y, x]]), np.array([x, y], dtype=np.float32)


@TABLE.add(lambda: (f8(3), f8(2, 3)))
def temporaries_are_separate(a, B):
    t = np.zeros_like(B)
    for i in range(2):
        s = a * i
        t[i] = s
        s[0] = 99.0
    return t, s  # pyright: ignore[reportPossiblyUnboundVariable] - the loop runs


# ---------------------------------------------------------------- what is written inside of an expression


@TABLE.add(lambda: (parts(5), f8(5), 2.5), lambda: (f4(5), f8(5), 0.5), lambda: (np.zeros(0), np.zeros(0), 1.0))
def quotient_where_told(x, y, limit):
    steps = limit * np.divide(x, y, out=x, where=y != 0) + x
    if len(x) > 2:
        steps[1:3] += np.maximum(y, limit, out=y)[:2] - y[2]
    return steps, np.add(np.multiply(x, y, out=y), np.abs(x, out=x), out=None), y


@TABLE.add(lambda: (f8(5),))
def before_and_after_it_is_written(x):
    first = x[0] + np.multiply(x, 2, out=x)[0]
    both = x + np.multiply(x, 2, out=x)
    shifted = x[1:] + np.multiply(x, 2, out=x)[:-1]
    doubled = x * 2 + np.multiply(x, 2, out=x)
    return first, both, shifted, doubled, [np.add(x, 1, out=x).sum(), x.sum()]


@TABLE.add(lambda: (f8(3, 2), 5), lambda: (f4(3, 2), 2.5), lambda: (i8(4, 2), 3))
def arrays_changed_by_tuples_and_lists(x, n):
    x += (n, 1)
    x[1] *= [2, 3]
    x[:, :] -= ((1, n),)
    x %= (n, 7)
    numbers = [i + 1 for i in range(len(x))]
    x[:, 0] += numbers
    return x


@TABLE.add(
    lambda: (np.ones((2, 3)),),
    lambda: (np.ones((2, 2), np.int32),),
    lambda: (np.ones((2, 2), bool),),
    need="right",
)
def arrays_that_a_tuple_may_not_change(x):
    x += (1.5, 2)
    return x


@TABLE.add(lambda: (f8(2, 2),), need="right")
def arrays_beside_a_ragged_tuple(x):
    x *= ((1, 2), (3,))
    return x


@TABLE.add(lambda: (f8(2, 2),), need="right")
def comparisons_with_a_ragged_tuple(x):
    return x < ((1, 2), (3,))
