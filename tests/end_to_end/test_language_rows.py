# pyright: reportArgumentType=false
"""Lists of any length whose items are arrays or tuples, and the ways in which lists of numbers come about."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import weft
from tests.end_to_end.data import b1, c16, f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_rows(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- arrays


@TABLE.add(lambda: (f8(4), 3), lambda: (f4(1), 200), lambda: (c16(3), 1), lambda: (f8(0), 5), ulps=4)
def trajectory(x, n):
    path = [x]
    for i in range(n):
        x = x * 0.5 + i
        path.append(x)
    return x, np.array(path)


@TABLE.add(lambda: (f8(4), 3), lambda: (i8(4), 0), lambda: (b1(2), 9), need="compiled")
def collected(x, n):
    found = []
    for i in range(n):
        found.append(x == i)
    return found, len(found), np.array(found)


@TABLE.add(lambda: (f8(2, 3), 4), lambda: (f8(2, 3)[:, ::-1], 4), lambda: (f8(3, 1), 20), ulps=4)
def matrices(A, n):
    stack = []
    for i in range(n):
        stack.append(A * i)
    return np.array(stack), np.stack(stack), np.vstack(stack), np.mean(stack, axis=0)


@TABLE.add(lambda: (f8(2, 3), 4), need="right")
def matrices_by_columns(A, n):
    stack = []
    for i in range(n):
        stack.append(A.T * i)
    return stack


@TABLE.add(lambda: (f8(3), 4), lambda: (f8(3), 0), need="right")
def written_after(x, n):
    path = []
    for _ in range(n):
        path.append(x)
        x[0] += 1
    return np.array(path)


@TABLE.add(lambda: (f8(3), 4), need="right")
def written_before_the_next(x, n):
    path = []
    y = x + 1
    for i in range(n):
        y += i
        path.append(y)
    return np.array(path)


@TABLE.add(lambda: (f8(3), 4), need="right")
def written_by_another_name(x, n):
    path = []
    for i in range(n):
        y = x + i
        path.append(y[1:])
        z = y
        z[1] = 100
    return np.array(path)


@TABLE.add(lambda: (f8(3), 4), need="right")
def written_in_the_next_turn(x, n):
    path = []
    y = x + 1
    for i in range(n):
        y[0] = i
        y = y * 2
        path.append(y)
    return np.array(path)


@TABLE.add(lambda: (f8(3), 4), lambda: (f8(3), 30))
def filled_first(x, n):
    rows = []
    for i in range(n):
        row = np.zeros(3)
        row[0] = i
        row[1:] += x[:2]
        rows.append(row)
    return np.array(rows)


@TABLE.add(lambda: (f8(3), 4), need="right")
def filled_in_an_inner_loop(x, n):
    rows = []
    for _ in range(n):
        row = np.zeros(3)
        for j in range(3):
            row[j] += x[j]
            rows.append(row)
    return np.array(rows)


@TABLE.add(lambda: (f8(3), 4), need="right")
def seen_by_the_caller(x, n):
    path = []
    for _ in range(n):
        x = x + 1
        path.append(x)
    return path, x


@TABLE.add(lambda: (f8(6), 4), lambda: (f8(6), 1), lambda: (f8(6), 0), need="right")
def of_many_lengths(x, n):
    parts = []
    for i in range(n):
        parts.append(x[i:] * 2)
    return np.concatenate(parts) if n else parts, parts


@TABLE.add(lambda: (f8(8), 0.5), lambda: (f8(8), 1e9), lambda: (f8(8), -1e9), need="compiled")
def some_of_them(x, limit):
    found = []
    for i in range(len(x) - 1):
        pair = x[i : i + 2]
        if pair.sum() > limit:
            continue
        found.append(pair * 2)
        if len(found) > 3:
            break
    return np.array(found)


@TABLE.add(lambda: (f8(4), i8(6) % 4), lambda: (f8(4), i8(6)), need="compiled")
def left_in_the_middle(x, at):
    found = []
    for i in range(len(at)):
        found.append(x + i)
        x = x + x[at[i]]
    return found


@TABLE.add(lambda: (f8(6, 2), 3), lambda: (f8(1, 2), 3), ulps=16, need="compiled")
def centres(X, k):
    labels = np.arange(len(X)) % k
    return np.array([X[labels == i].mean(axis=0) if np.any(labels == i) else X[0] for i in range(k)])


class Walk:
    """An object that keeps what it went through."""

    def __init__(self, x):
        self.x = x

    def go(self, n):
        self.steps = []
        for i in range(n):
            self.x = self.x + i
            self.steps.append(self.x.copy())
        return self


def test_a_list_of_arrays_is_kept_by_an_object() -> None:
    compiled = weft.program(Walk.go, fallback="error")
    for n in (0, 1, 20):
        ours, theirs = compiled(Walk(f8(3)), n), Walk(f8(3)).go(n)
        assert len(ours.steps) == n
        assert all(np.array_equal(a, b) and a.flags.owndata for a, b in zip(ours.steps, theirs.steps, strict=True))


class Walker:
    """One whose list holds what has another name."""

    def __init__(self, x):
        self.x = x

    def go(self, n):
        self.steps = []
        for i in range(n):
            self.x = self.x + i
            self.steps.append(self.x)


@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
def test_a_list_and_an_attribute_share_an_array() -> None:
    walker = Walker(f8(3))
    weft.program(Walker.go)(walker, 3)
    assert walker.steps[-1] is walker.x
    assert len(walker.steps) == 3


# ---------------------------------------------------------------- tuples


@TABLE.add(
    lambda: (b1(5, 6),), lambda: (np.ones((4, 4), bool),), lambda: (np.zeros((2, 2), bool),), lambda: (b1(0, 3),)
)
def flooded(mask):
    labels = np.zeros(mask.shape, dtype=int)
    count = 0
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if mask[i, j] and not labels[i, j]:
                count += 1
                stack = [(i, j)]
                while stack:
                    y, x = stack.pop()
                    if 0 <= y < mask.shape[0] and 0 <= x < mask.shape[1] and mask[y, x] and not labels[y, x]:
                        labels[y, x] = count
                        stack.extend([(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)])
    return labels, count


@TABLE.add(lambda: (5,), lambda: (40,), lambda: (1,), need="compiled")
def pairs(n):
    path = []
    for i in range(n):
        path.append((i, i * i))
    path[-1] = (7, path[0][1])
    path.insert(0, (9, 9))
    last = path.pop()
    path.reverse()
    return path, path[::2], last, np.array(path), len(path)


@TABLE.add(lambda: (f4(6), 5), lambda: (c16(6), 5), lambda: (f8(6), 0), lambda: (f8(6), 9), need="compiled")
def pairs_of_elements(x, n):
    found = []
    for i in range(n):
        found.append((x[i], x[i] * 2))
    return found


@TABLE.add(lambda: (4,), lambda: (0,))
def queue(n):
    waiting = [(0, 0)]
    order = []
    while len(waiting) > 0:
        depth, number = waiting.pop(0)
        order.append(number)
        if depth < n:
            waiting.append((depth + 1, 2 * number + 1))
            waiting.append((depth + 1, 2 * number + 2))
    return order


@TABLE.add(lambda: (3,), need="right")
def tuples_of_several_kinds(n):
    found = []
    for i in range(n):
        found.append((i, i * 0.5))
    return found


# ---------------------------------------------------------------- tuples of several types, and lists


@TABLE.add(lambda: (f8(5),), lambda: (f4(40),), lambda: (f8(0),), need="compiled")
def measurements(x):
    log = []
    for i in range(len(x)):
        log.append((i, x[i], i * 0.5, x[i] > 3))
    total = 0.0
    for step, value, half, large in log:
        if large:
            total += step * value + half
    return log, total, log[1:], np.array(log) if log else None


@TABLE.add(lambda: (f8(6),), need="native")
def path_with_times(x):
    path = [(0, 0.0)]
    for step in x:
        k, last = path[-1]
        path.append((k + 1, float(last + step)))
    path[0] = (7, 2.5)
    return path, path.pop(), path


@TABLE.add(lambda: (c16(5),), lambda: (c16(0),), need="native")
def with_complex_numbers(z):
    out = []
    for k in range(len(z)):
        out.append((z[k], abs(z[k]), k, 1.5))
    return out


@TABLE.add(lambda: (np.array([3, 2**53 + 1, -5]),), lambda: (np.array([2**53, -(2**53)]),), need="right")
def ints_that_no_float_holds(v):
    out = []
    for x in v:
        out.append((x, 0.5))
    return out


@TABLE.add(lambda: (f8(5),), lambda: (i8(40),), need="native")
def rows_of_numbers(x):
    rows = []
    for i in range(len(x)):
        rows.append([x[i], x[i] * 2, i])
    return np.array(rows), rows, len(rows), [[a, 2 * a] for a in x]


@TABLE.add(
    lambda: (f8(6), 2, 1),
    lambda: (i8(40), -3, -2),
    lambda: (f8(6), 6, 0),
    lambda: (f8(6), 0, 3),
    lambda: (f8(6), -7, 0),
    need="compiled",
)
def numbers_in_rows(x, i, j):
    rows, same = [], []
    for k in range(len(x)):
        rows.append([x[k], k, 2.5])
        same.append([x[k], x[k] * 2])
    total = 0.0
    for k in range(1, len(rows)):
        total += rows[k][0] - rows[k - 1][0] + rows[k][1] + same[k][k % 2]
    part = same[i][:1]
    part[0] = -1.0
    return total, rows[i][j], rows[i][1], rows[-1][-1], part, same[i][0], rows


@TABLE.add(lambda: (f8(5), 9), lambda: (f8(5), 3), need="right")
def rows_left_in_the_middle(x, n):
    rows = []
    for i in range(n):
        rows.append([x[i], 1.0])
    return rows


@TABLE.add(lambda: (f8(5),), need="right")
def rows_that_are_taken_out(x):
    rows = []
    for i in range(len(x)):
        rows.append([x[i], 1.0])
    rows[1].append(7.0)
    first = rows[0]
    first[1] = 5.0
    other, part = list(rows), rows[:2]
    for row in rows:
        row[0] += 1
    return rows, other, part, rows[0] is other[0], part[1] is other[1]


@TABLE.add(lambda: (f8(5),), need="right")
def rows_with_names(x):
    rows, same = [], []
    current, one = [0.0, 0.0], [0.0]
    for i in range(len(x)):
        current = [current[0] + x[i], current[1] - x[i]]
        one[0] += x[i]
        rows.append(current)
        same.append(one)
    current[0] = -1.0
    return rows, same, rows[-1] is current, same[0] is one


# ---------------------------------------------------------------- numbers


@TABLE.add(lambda: (5,), lambda: (0,), lambda: (-3,), lambda: (1000,), need="compiled")
def repeated(n):
    best, seen, count = [float("inf")] * n, n * [False], [0] * (n + 1)
    for i in range(n):
        best[i] = min(best[i], i * 0.5)
        seen[i] = i % 2 == 0
        count[i + 1] = count[i] + 2
    return best, seen, count


@TABLE.add(lambda: (f8(7),), lambda: (i8(7),), lambda: (f4(0),), lambda: (b1(3),), need="compiled")
def lists_of_arrays(x):
    items, numbers, positions = list(x), x.tolist(), list(range(len(x)))
    total = 0
    while items:
        total = total + items.pop(0)
    items.extend(x)
    items.extend(items)
    positions.reverse()
    numbers += numbers
    return total, items, numbers, positions


@TABLE.add(lambda: (f8(4, 5),), lambda: (f8(1, 1),), lambda: (f8(0, 2),), need="compiled")
def where_the_largest_is(A):
    i, j = np.unravel_index(np.argmax(A), A.shape)
    return i, j, A[i, j], np.unravel_index(1, (2, 3))


@TABLE.add(
    lambda: (7, 2, 3), lambda: (6, 2, 3), lambda: (-1, 2, 3), lambda: (5, 2, 3), lambda: (0, 0, 3), need="compiled"
)
def position(k, n, m):
    return np.unravel_index(k, (n, m))


# ---------------------------------------------------------------- pairs of neighbours


@TABLE.add(lambda: (f8(7), 5), lambda: (i8(7), 1), lambda: (f4(0), 0), lambda: (f8(9)[::-2], -3))
def neighbours(x, n):
    total, largest, found = 0, 0.0, []
    for a, b in pairwise(x):
        total += a * b
    for number, (a, b) in enumerate(pairwise(range(2, n, 2))):
        largest = max(largest, number * (b - a))
    for a, b in pairwise(x.tolist()):
        found.append(b - a)
    for pair in pairwise((1, 2.5, 3)):
        total += pair[0] * pair[1]
    return total, largest, found, sum(b > a for a, b in pairwise(x))


@TABLE.add(lambda: (f8(4, 3),), lambda: (f8(1, 3),), lambda: (f8(0, 2),))
def neighbouring_rows(A):
    length = 0.0
    for p, q in pairwise(A):
        length += np.sqrt(((q - p) ** 2).sum())
        q[0] = 0.5
    return length


@TABLE.add(lambda: (f8(7),), lambda: (f8(1),), need="right")
def neighbours_that_change(x):
    found, i, y = [], 0, x * 2
    for a, b in pairwise(x):
        x[i + 1] = a + b
        found.append((a, b))
        i += 1  # noqa: SIM113
    for a, b in pairwise(y):
        found.append((b, a))
    return found


@TABLE.add(lambda: (f8(7), 3), lambda: (f8(7), 9), need="right")
def neighbours_in_a_list_that_changes(x, n):
    items, few, found = x.tolist(), [1, 2.5, 3], []
    for a, b in pairwise(items):
        if a > n:
            items[1] = items[2] = items[3] = 7.0
        elif len(items) < 12:
            items.append(a + b)
        found.append(a * b)
    for a, b in pairwise(few):
        few[1] = few[2] = a
        if len(few) < 6:
            few.append(b)
        found.append(a)
    return found, items, few
