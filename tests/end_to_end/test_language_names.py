"""Names: assignments of every form, unpacking, names rebound to other types and shapes."""

# The programs are written as users write them, so that each form of assignment occurs as it is.
# Names that may be unbound are among what is tested.
# pyright: reportPossiblyUnboundVariable=false
# ruff: noqa: F842, PLW0127, PLW2901, RET504, SIM108

from __future__ import annotations

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import b1, f4, f8, i4, i8, u1
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_names(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- forms of assignment


@TABLE.add(lambda: (3, 4.5))
def chained_targets(x, y):
    a = b = x + 1
    a += y
    return a, b


@TABLE.add(lambda: (f8(4),))
def chained_targets_share_the_array(v):
    a = b = v * 2
    a[0] = 100.0
    return a, b


@TABLE.add(lambda: (f8(4), 2))
def chained_targets_of_all_kinds(v, i):
    v[i] = x = v[0] = 7.5
    return x


@TABLE.add(lambda: (1, 2.0, True))
def tuple_unpacking(x, y, z):
    a, b, c = x, y, z
    (a, b), c = (b, a), c
    return a, b, c


@TABLE.add(lambda: (f8(3, 5),))
def shape_unpacking(A):
    n, m = A.shape
    return n * 10 + m, n, m


@TABLE.add(lambda: (1, 2, 3, 4))
def starred_unpacking(a, b, c, d):
    first, *middle, last = a, b, c, d
    *front, end = (first, last)
    return first, middle, last, front, end


@TABLE.add(lambda: (f8(2, 3, 4),))
def starred_shape(A):
    n, *rest = A.shape
    return n, rest[0] * rest[1], len(rest)


@TABLE.add(lambda: (f8(6), 3))
def range_unpacking(v, n):
    low, middle, high = range(3)
    first, second = range(n, 3 * n, n)
    return v[low] + v[middle] * v[high], first, second


@TABLE.add(lambda: (f8(3),), lambda: (i8(3),))
def array_unpacking(v):
    a, b, c = v
    return a + b * c


@TABLE.add(lambda: (f8(2, 3),))
def rows_unpacking(A):
    first, second = A
    first[0] = 50.0
    return second


def place_of_least(v, below):
    """Nothing, or where it is and how much."""
    found = None
    for i in range(len(v)):
        if v[i] < below:
            below, found = v[i], (i, v[i])
    return found


@TABLE.add(lambda: (f8(5), 100.0), lambda: (f8(5), -100.0))
def unpacking_what_may_be_none(v, below):
    found = place_of_least(v, below)
    if found is None:
        return -1, 0.0
    i, x = found
    return i, x * 2


@TABLE.add(lambda: (f8(5), 100.0), lambda: (f8(5), -100.0))
def unpacking_none(v, below):
    v[0] = 1.0
    i, x = place_of_least(v, below)  # type: ignore[reportGeneralTypeIssues]  # as Python, it raises
    v[1] = i
    return x


@TABLE.add(lambda: (f8(2), 0), lambda: (f8(2), 1), lambda: (f8(2), 2))
def unpacking_tuples_and_arrays(v, k):
    pair = (1, 2.5)
    for i in range(k):
        pair = v * 2 if i == 0 else (7, v[0].copy(), 9)
    a, b = pair  # type: ignore[reportAssignmentType]  # as Python, it may raise
    return a, b


@TABLE.add(lambda: (f8(4), f8(4)[::-1]))
def unpacking_into_elements(a, b):
    a[0], b[1] = b[1], a[0]
    a[1:3], x = b[2:4], a[3]
    return x


@TABLE.add(lambda: (2, 3), lambda: (2.5, 3), lambda: (True, False))
def swap(a, b):
    a, b = b, a
    return a, b


@TABLE.add(lambda: (0, 1, 10), lambda: (0.0, 1.0, 5))
def swap_in_a_loop(a, b, n):
    for _ in range(n):
        a, b = b, a + b
    return a


@TABLE.add(lambda: (f8(3), i8(3) * 1.0, 3), lambda: (f8(3), f8(3), 4))
def swap_arrays_in_a_loop(a, b, n):
    for _ in range(n):
        a, b = b, a
        a[0] += 1.0
    return a, b


@TABLE.add(lambda: (f8(4),))
def swap_elements(v):
    v[0], v[3] = v[3], v[0]
    v[1], v[2] = v[2], v[1]


@TABLE.add(lambda: (f8(4),))
def swap_views_of_one_array(v):
    v[:2], v[2:] = v[2:], v[:2]


@TABLE.add(lambda: (7, 2), lambda: (7.5, 2), lambda: (7, 2.5), lambda: (np.int32(7), 2), lambda: (-7, 2))
def augmented_on_scalars(x, y):
    a = b = c = d = e = f = x
    a += y
    b -= y
    c *= y
    d /= y
    e //= y
    f %= y
    return a, b, c, d, e, f


@TABLE.add(lambda: (6, 3), lambda: (-6, 3), lambda: (True, 1))
def augmented_bits(x, y):
    a = b = c = d = e = x
    a &= y
    b |= y
    c ^= y
    d <<= y
    e >>= y
    return a, b, c, d, e


@TABLE.add(lambda: (3, 4), lambda: (1.5, 3), lambda: (2, 0))
def augmented_power(x, n):
    x **= n
    return x


@TABLE.add(lambda: (f8(4), 2.0), lambda: (i8(4), 3), lambda: (f4(4), 1.5))
def augmented_on_arrays_in_place(v, k):
    w = v
    v += k
    v *= 2
    v[1:] -= v[:-1]
    return w


@TABLE.add(lambda: (i8(4), 1.5))
def augmented_that_cannot_be_in_place(v, k):
    v += k
    return v


@TABLE.add(lambda: (f8(5), 2), lambda: (i4(5), -1))
def augmented_on_an_element(v, i):
    v[i] += 3
    v[i] *= v[i]
    v[-1] -= 1


@TABLE.add(lambda: (f8(4),))
def annotated_assignment(v):
    total: float = 0.0
    unused: int
    for x in v:
        total += x
    return total


@TABLE.add(lambda: (f8(4),))
def walrus(v):
    if (n := len(v)) > 3:
        return n
    return 0


@TABLE.add(lambda: (5,))
def deleted_name(x):
    y = x + 1
    z = y * 2
    del y
    return z


# ---------------------------------------------------------------- rebinding


@TABLE.add(lambda: (f4(5),), lambda: (f4(0),), lambda: (f8(3),), lambda: (i8(3),), lambda: (u1(4),), lambda: (i8(0),))
def sum_from_a_python_zero(v):
    t = 0
    for x in v:
        t += x
    return t


@TABLE.add(lambda: (b1(5),), lambda: (b1(0),))
def count_true(v):
    n = 0
    for x in v:
        if x:
            n += 1
    return n


@TABLE.add(lambda: (3, True), lambda: (3, False))
def another_type_on_one_branch(x, flag):
    y = x
    if flag:
        y = x / 2
    return y


@TABLE.add(lambda: (f8(3), True), lambda: (f8(3), False))
def array_or_scalar(v, flag):
    if flag:
        r = v + 1
    else:
        r = 5
    return r


@TABLE.add(lambda: (f8(3), i8(2, 3), True), lambda: (f8(3), i8(2, 3), False))
def array_of_another_rank_and_dtype(a, b, flag):
    x = a if flag else b
    return x


@TABLE.add(lambda: (f8(3), f8(5), True), lambda: (f8(3), f8(5), False))
def one_of_two_arrays_is_written(a, b, flag):
    x = a if flag else b
    x[0] = 99.0
    return x.sum()


@TABLE.add(lambda: (3,), lambda: (0,), lambda: (1,))
def type_changes_in_a_loop(n):
    x = 1
    for _ in range(n):
        x = x / 2
    return x


@TABLE.add(lambda: (4,), lambda: (0,), lambda: (1,))
def type_alternates_in_a_loop(n):
    x = 0
    for i in range(n):
        if i % 2 == 0:
            x = i * 0.5
        else:
            x = i
    return x


@TABLE.add(lambda: (f8(8),))
def shape_shrinks_step_by_step(v):
    v = v[1:]
    v = v[::2]
    v = v * 2
    v = v[:2] + 1
    return v


@TABLE.add(lambda: (f8(9), 3), lambda: (f8(9), 0))
def shape_shrinks_in_a_loop(v, n):
    for _ in range(n):
        v = v[1:-1]
    return v


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 0))
def fresh_array_or_argument(v, n):
    w = v
    for _ in range(n):
        w = w * 0.5
    w[0] = -1.0
    return w


@TABLE.add(lambda: (f8(4),))
def rank_grows(v):
    v = v[:, None]
    v = v * v.T
    return v


@TABLE.add(lambda: (i4(4),))
def dtype_grows(v):
    v = v + 1
    v = v / 2
    v = v * 1j
    return v


@TABLE.add(lambda: (3, 0), lambda: (3, 1))
def bound_on_one_branch_only(x, flag):
    if flag:
        y = x
    return y


@TABLE.add(lambda: (f8(3),), lambda: (f8(0),))
def loop_variable_after_the_loop(v):
    for i, x in enumerate(v):  # noqa: B007
        pass
    return i, x


@TABLE.add(lambda: (4,), lambda: (0,))
def range_variable_after_the_loop(n):
    i = -5
    for i in range(n):  # noqa: B007
        pass
    return i


@TABLE.add(lambda: (5,))
def loop_variable_rebound(n):
    total = 0
    for i in range(n):
        i = i * 2
        total += i
    return total, i


@TABLE.add(lambda: (f8(3),))
def parameter_rebound(v):
    v = v + 1
    v[0] = 0.0
    return v


@TABLE.add(lambda: (f8(3), None), lambda: (f8(3), 2.0), lambda: (f8(3), f8(3)))
def default_filled_in(v, w=None):
    if w is None:
        w = 10.0
    return v + w


@TABLE.add(lambda: (np.float32(1.5), 2.0), lambda: (np.float64(1.5), 2), lambda: (np.int8(100), 27))
def numpy_scalars_stay_numpy_scalars(x, y):
    z = x
    z = z + y
    return z, x * y, -x, x


@TABLE.add(lambda: (f8(3),))
def names_of_the_same_array(v):
    w = v
    u = w[1:]
    u[0] = 42.0
    return v[1], w


@TABLE.add(lambda: (f8(3),), need="right")
def identity(v):
    w = v
    return w is v, v[:] is v, v.T is v


@TABLE.add(lambda: (3,))
def constants_of_all_kinds(n):
    a, b, c, d, e = 1, 2.5, True, None, "text"
    return a + n, b, c, d, e, 2j, ..., (1, (2.0, ()))


@TABLE.add(lambda: (f8(3),))
def lists_hold_results(v):
    return [v, v.sum(), 3]
