"""Control: loops over everything, `else` of loops, leaving from anywhere, conditions and what they return."""

# The programs are written as users write them, loops over indices and all.
# ruff: noqa: FURB136, PLW0120, PLW2901, RET503, RUF021

from __future__ import annotations

import numpy as np

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.asserting import assertion, bare_assertion
from tests.end_to_end.data import b1, f4, f8, i4, i8, u1
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_control(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- for


@TABLE.add(*(lambda n=n, b=b: (f8(12), n, 2, b) for n in (0, 1, 7) for b in (0, 3, 10)))
def parts_of_ranges(v, n, a, b):
    seen = [0.0]
    for i in range(n)[::-1]:
        seen.append(float(v[i]))
    for step in (1, -1, 2, -3):
        for i in range(a, b)[::step]:
            seen.append(float(v[i]))
    return seen, range(n)[::-1], range(a, b, 2)[::3], range(b, a, -2)[::-2]


@TABLE.add(*(lambda n=n, i=i: (n, i) for n in (9, 2) for i in (0, -1, 5)))
def items_of_ranges(n, i):
    return range(2, n, 3)[i], range(n)[-1]


@TABLE.add(lambda: (0, 10, 3), lambda: (10, 0, -3), lambda: (5, 5, 1), lambda: (-7, 8, 4), lambda: (0, 5, -1))
def over_ranges(start, stop, step):
    total = 0
    last = 99
    for i in range(start, stop, step):
        total = total * 3 + i
        last = i
    return total, last


@TABLE.add(lambda: (f8(2, 3, 4),), lambda: (i4(2, 2, 3),))
def over_axes(u):
    lap = -6 * u
    for axis in range(3):
        lap = lap + np.roll(u, 1, axis=axis) + np.roll(u, -1, axis)
    total = 0
    for axis in range(u.ndim):
        total = total + np.sum(u, axis=axis).sum() * u.shape[axis]
    return lap, total


@TABLE.add(lambda: (4,))
def range_is_fixed_at_its_start(n):
    count = 0
    for _ in range(n):
        n = 100
        count += 1
    return count, n


@TABLE.add(lambda: (3, 0))
def range_with_step_zero(n, step):
    count = 0
    for _ in range(0, n, step):
        count += 1
    return count


@TABLE.add(lambda: (i8(5),), lambda: (f4(5),), lambda: (b1(5),), lambda: (u1(0),))
def over_elements(v):
    last = None
    for x in v:
        last = x
    return last


@TABLE.add(lambda: (f8(3, 4),), lambda: (f8(0, 4),), lambda: (i4(2, 3, 2),))
def over_rows(A):
    for row in A:
        row[0] = row[1] + 1
        row *= 2


@TABLE.add(lambda: (f8(5),))
def over_an_array_that_changes(v):
    total = 0.0
    for i, x in enumerate(v):
        total += x
        if i < 4:
            v[i + 1] = x + 1
    return total


@TABLE.add(lambda: (f8(4),), lambda: (i8(0),))
def over_enumerate(v):
    total = 0
    for i, x in enumerate(v):
        total += i * x
    return total


@TABLE.add(lambda: (f8(4), 5))
def over_enumerate_from(v, start):
    total = 0.0
    for i, x in enumerate(v, start):
        v[i - start] = i * x
        total += i
    return total


@TABLE.add(lambda: (f8(4), i8(6)), lambda: (f8(4), i8(0)))
def over_zip(a, b):
    total = 0
    for x, y in zip(a, b):  # noqa: B905
        total += x * y
    return total


@TABLE.add(lambda: (f8(3, 2), i8(3), 7))
def over_zip_of_rows_and_ranges(A, b, n):
    for row, k, i in zip(A, b, range(2, n)):  # noqa: B905
        row[0] += k * i


@TABLE.add(lambda: (f8(4), i8(4)))
def over_enumerate_of_zip(a, b):
    total = 0.0
    for i, (x, y) in enumerate(zip(a, b)):  # noqa: B905
        total += i * x - y
    return total


@TABLE.add(lambda: (f8(4), 6))
def over_reversed(v, n):
    total = 0.0
    for x in reversed(v):
        total = total * 2 + x
    order = 0
    for i in reversed(range(1, n, 2)):
        order = order * 10 + i
    return total, order


@TABLE.add(lambda: (3, 4.5))
def over_a_tuple(a, b):
    total = 0
    for x in (a, b, 7):
        total += x
    return total


@TABLE.add(lambda: (f8(3, 5),))
def over_a_map(A):
    n, m = A.shape
    for i, j in weft.map[0:n, 1:m]:
        A[i, j] = A[i, j] * 2 + i
    for i in weft.map[0:n]:
        A[i, 0] = i


@TABLE.add(lambda: (f8(4, 7),))
def over_a_map_with_steps(A):
    for i, j in weft.map[0:4:2, 1:7:3]:
        A[i, j] += 100


@TABLE.add(lambda: (f8(6), 6), lambda: (f8(6), 0))
def over_a_prange(v, n):
    for i in weft.prange(n):
        v[i] = v[i] * i
    for i in weft.prange(1, n, 2):
        v[i] += 1


@TABLE.add(lambda: (i8(7),))
def a_prange_with_a_dependence_runs_in_order(v):
    for i in weft.prange(1, len(v)):
        v[i] += v[i - 1]


@TABLE.add(lambda: (f8(7),))
def a_prange_with_a_sum(v):
    total = 0.0
    for i in weft.prange(len(v)):
        total += v[i]
    return total


@TABLE.add(lambda: (f8(4, 5),))
def triangular_nest(A):
    count = 0
    for i in range(A.shape[0]):
        for j in range(i, A.shape[1]):
            A[i, j] = A[j % 4, i] - count
            count += 1
    return count


# ---------------------------------------------------------------- while, else, leaving


@TABLE.add(lambda: (27,), lambda: (1,))
def while_loop(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@TABLE.add(lambda: (f8(6), 4.0), lambda: (f8(6), 1000.0), lambda: (f8(0), 1.0))
def while_else(v, limit):
    i = 0
    while i < len(v):
        if v[i] == limit:
            found = i
            break
        i += 1
    else:
        found = -1
    return found, i


@TABLE.add(lambda: (91,), lambda: (97,), lambda: (2,))
def for_else(n):
    for d in range(2, n):
        if n % d == 0:
            result = d
            break
    else:
        result = 0
    return result


@TABLE.add(lambda: (f8(5, 6), 9.0), lambda: (f8(5, 6), 77.0))
def break_out_of_two_loops(A, wanted):
    where = (-1, -1)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] == wanted:
                where = (i, j)
                break
        else:
            continue
        break
    return where


@TABLE.add(lambda: (f8(8),))
def continue_skips(v):
    total = 0.0
    for x in v:
        if x < 0:
            continue
        if x > 10:
            v[0] = x
            continue
        total += x
    return total


@TABLE.add(lambda: (f8(8), 6.0), lambda: (f8(8), 99.0), lambda: (f8(0), 1.0))
def return_from_a_loop(v, wanted):
    for i, x in enumerate(v):
        if x == wanted:
            return i
    return None


@TABLE.add(lambda: (f8(3, 3), 1), lambda: (f8(3, 3), 7), lambda: (f8(3, 3), 100))
def return_from_everywhere(A, k):
    if k > 50:
        return A
    for row in A:
        while row[0] < k:
            row[0] += 1
            if row[0] == 5:
                return row[0], k
    else:
        return A.sum()


@TABLE.add(lambda: (5,), lambda: (-5,))
def falls_off_the_end(x):
    if x > 0:
        return x


@TABLE.add(lambda: (f8(5),))
def while_true_with_break(v):
    i = 0
    while True:
        v[i] = -v[i]
        i += 2
        if i >= len(v):
            break
    return i


@TABLE.add(lambda: (3,))
def nothing_to_do(n):
    for _ in range(n):
        pass


@TABLE.add(lambda: (4,))
def docstring_and_bare_expressions(n):
    """Nothing of this is an effect."""
    "text"
    n  # pyright: ignore[reportUnusedExpression]
    return n


# ---------------------------------------------------------------- conditions


@TABLE.add(lambda: (1, 2, 3), lambda: (1, 3, 3), lambda: (3, 2, 1), lambda: (1.5, 2, 2.5))
def chained_comparisons(a, b, c):
    return a < b < c, a <= b == c, a != b > c, not a < b


@TABLE.add(lambda: (i8(4), 1))
def chained_comparison_evaluates_once(v, i):
    count = 0
    for x in v:
        if -3 <= x < 8 != i:
            count += 1
    return count


@TABLE.add(lambda: (0, 5), lambda: (3, 0), lambda: (0.0, 0), lambda: (2.5, 7), lambda: (True, 3), lambda: (False, 3))
def and_or_return_operands(a, b):
    return a and b, a or b, not a, a and b or 7, (a or 1) and 2.5


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 9))
def short_circuit_guards_the_index(v, i):
    if i < len(v) and v[i] > -100:
        return v[i]
    return 0.0


@TABLE.add(lambda: (0, 8), lambda: (2, 8))
def short_circuit_guards_the_division(x, y):
    return x != 0 and y // x > 3


@TABLE.add(lambda: (5, 3), lambda: (3, 5), lambda: (3.0, 5))
def conditional_expressions(a, b):
    return a if a > b else b, 1 if a else 2.0, (a if a < b else b) * 2


@TABLE.add(lambda: (7,), lambda: (-3,), lambda: (0,), lambda: (2.5,))
def elif_chain(x):
    if x > 5:
        sign = 2
    elif x > 0:
        sign = 1
    elif x == 0:
        sign = 0
    else:
        sign = -1
    return sign


@TABLE.add(lambda: (0,), lambda: (3,), lambda: (0.0,), lambda: (float("nan"),), lambda: (np.float32(0),))
def truth_of_numbers(x):
    if x:
        return "yes"
    return "no"


@TABLE.add(lambda: (f8(1),), lambda: (f8(0),), lambda: (f8(2),))
def truth_of_arrays(v):
    if v:
        return 1
    return 0


@TABLE.add(lambda: (f8(3),))
def truth_of_reductions(v):
    if (v > 100).any() or not (v < 50).all():
        return 1
    return 2


@TABLE.add(lambda: (f8(3), None), lambda: (f8(3), f8(2)))
def is_none(v, w):
    return w is None, w is not None, v is None


@TABLE.add(lambda: (f8(5), 0.9), lambda: (f8(5), -1.0), lambda: (i8(5), True))
def identity_of_truth_values(v, limit):
    done, turns = False, 0
    while done is False:
        turns += 1
        done = turns > 3 or limit is True
    small = v[0] < limit
    return turns, done is True, small is True, (not small) is not False, v is True, turns is True, limit is False


@TABLE.add(lambda: (3, 3.0), lambda: (True, 1), lambda: (np.int32(3), 3))
def equality_of_types(a, b):
    return a == b, a != b, a >= b


@TABLE.add(lambda: (2,), lambda: (9,))
def membership_in_a_tuple(x):
    return x in (1, 2, 3), x not in (1, 2, 3)


@TABLE.add(lambda: (float("nan"), 1.0), lambda: (1.0, float("nan")))
def comparisons_with_nan(x, y):
    return x < y, x >= y, x == x, x != x, min(x, y), max(x, y)  # noqa: PLR0124


for asserting in (assertion, bare_assertion):
    TABLE.add(lambda: (f8(5), 5), lambda: (f8(5), 4))(asserting)


@TABLE.add(lambda: (4,), lambda: (-4,))
def explicit_raise(n):
    if n < 0:
        raise ValueError("n must not be negative")
    return n


# ---------------------------------------------------------------- branches that meet again and again


@TABLE.add(lambda: (f8(9), [k * 0.25 - 4.0 for k in range(40)]))
def last_of_nested_branches(v, steps):
    last = 0.0
    for x in v:
        for t in steps:
            if x > t:  # noqa: SIM102
                if x < t + 1.5:
                    last = x - t
    return last


@TABLE.add(lambda: (f8(6, 5), 1, -1), lambda: (f8(4, 9), 0, 3), lambda: (f8(3, 3), 2, 1), lambda: (f8(9, 2), -4, -2))
def bounded_parts_of_ranges(x, a, b):
    rows, columns = range(x.shape[0]), range(0, x.shape[1], 2)
    visited = 0
    for i in rows[a:b]:
        for j in columns[:-1]:
            x[i, j] += i * j
            visited += 1
    return visited, len(rows[1:]), rows[1:-1], columns[-1:][0]


@TABLE.add(
    lambda: (f8(5), 2, 90), lambda: (f8(5), -90, 3), lambda: (f8(1), 1, -1), lambda: (f8(0), 0, 0), need="compiled"
)
def bounded_parts_of_ranges_that_clip(x, a, b):
    return [i * 2 for i in range(len(x))[a:b]], range(3, len(x))[1:]
