"""Lists and dicts: made, changed, shared between names, handed over to Python in the middle."""

# The programs are written as users write them, so that each form occurs as it is.
# pyright: reportPossiblyUnboundVariable=false, reportUnboundVariable=false
# ruff: noqa: B007, B905, C400, C406, C408, C416, RUF005, RUF017

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8, i8
from tests.end_to_end.outcome import assert_native, check
from tests.end_to_end.table import Row, Table
from weft.ir.parser import parse_program
from weft.ir.printer import print_program

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_lists(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- sorted


@TABLE.add(
    lambda: (np.array([3.0, 1.0, 2.0, 7.0]), 4),
    lambda: (np.array([0.0, -0.0, -1.0]), -2),
    lambda: (np.array([5.0])[:0], 1),
)
def sorted_numbers(x, n):
    up, down = sorted(x), sorted(x, reverse=True)
    kept = []
    for v in x:
        if v > -0.5:
            kept.append(v)
    low, middle, high = sorted([n, 3, n - 2])
    down.append(x.sum())
    return up, down, sorted(kept, reverse=False), x, low, middle, high, sorted((n * 0.5, 1.0))[1]


@TABLE.add(
    lambda: (np.array([0.3, 0.1, 0.1, 0.9, 0.2]), [0.0, -0.0, -1.0]),
    lambda: (np.array([1.0, 2.0, 3.0, -0.0, 0.0]), [-0.0, 0.0, 0.0]),
)
def a_few_numbers_are_compared(x, zeros):
    middle = np.zeros(len(x))
    for k in range(1, len(x) - 1):
        middle[k] = sorted([x[k - 1], x[k], x[k + 1]])[1]
    i, j = sorted((int(x[0] * 9), int(x[1] * 9)))
    down = sorted((zeros[0], zeros[1], zeros[2]), reverse=True)
    down.append(x[0].item())
    return middle, i, j, down, sorted([zeros[0], zeros[1], zeros[2]]), sorted((i > j, True, i < j))


def test_nans_among_a_few_are_sorted_by_python() -> None:
    def ordered(a, b, c):
        return sorted([a, b, c])

    program: Any = weft.program(ordered, fallback="error")
    for numbers in ([1.0, np.nan, 0.0], [np.nan, 1.0, 0.0], [2.0, 1.0, np.nan], [3.0, 2.0, 1.0]):
        assert repr(program(*numbers)) == repr(ordered(*numbers))
    assert (program.stats.resumes, program.stats.numpy_calls) == (3, 0)


def test_nans_are_sorted_by_python() -> None:
    def ordered(x):
        return sorted(x), sorted(x, reverse=True)

    program: Any = weft.program(ordered, fallback="error")
    x = np.array([1.0, np.nan, 0.0, 2.0])
    assert repr(program(x)) == repr(ordered(x))
    assert program.stats.resumes == 1


# ---------------------------------------------------------------- identity


@TABLE.add(lambda: (1.5, f8(3)))
def two_names_of_one_list(x, v):
    a = [x]
    b = a
    c = d = []
    b.append(2)
    a[0] += 1.5
    c.append(v)
    a += [3]
    a *= 2
    return a, b, c, d, a is b, c is d, a is c, c is not d


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 7), lambda: (f8(3), -4))
def shared_lists_are_handed_over(v, i):
    a = [1, [2]]
    b = a
    inner = a[1]
    t = (a, inner)
    y = v[i]
    b.append(y)
    inner.append(3)
    return a, b, t, a is b, t[0] is a, a[1] is inner


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 7))
def a_list_changed_inside_a_call_that_fails(v, i):
    a = [0]
    b = a
    n = push(a, v, i)
    return a, b, n, a is b


def push(target, v, i):
    target.append(10)
    target.append(v[i])
    target.append(20)
    return len(target)


@TABLE.add(lambda: (2,))
def multiplied_lists_share_their_items(x):
    rows = [[0] * 2] * 3
    rows[0][1] = x
    apart = [[0, 0], [0, 0]]
    apart[0][1] = x
    return rows, apart, rows[0] is rows[2], [1, x] * 2, 2 * [x], (x,) * 3


@TABLE.add(lambda: (2,))
def copies_are_other_lists(x):
    a = [x, [x]]
    b, c, d, e = a[:], a.copy(), list(a), a + []
    a[0] = 9
    a[1].append(5)
    return a, b, c, d, e, a is b, a[1] is b[1], a == b, b == c, a != b


@TABLE.add(lambda: (1, 2.5), lambda: (0, 2.5), lambda: (-1, 2.5))
def lists_where_branches_meet(n, x):
    a = [x]
    if n > 0:
        a.append(1)
    elif n == 0:
        a = [2, 3]
    else:
        a.pop()
    b = [x, n]
    if n > 0:
        b[0] = 7.5
    c = [1.0] if n else [2.0]
    c.append(x)
    return a, b, c, len(a)


@TABLE.add(lambda: (1,), lambda: (0,))
def one_of_two_lists(n):
    a, b = [1], [2]
    x = a if n else b
    y = b
    if n:
        y = a
    return a, b, x[0], y[0], len(x), x, y


@TABLE.add(lambda: (0, 1.5), lambda: (3, 1.5))
def lists_carried_by_loops(n, x):
    a = [0.0, 1.0]
    b = a
    swap = [x]
    other = [2 * x]
    for i in range(n):
        a[0] += x
        b[1] = a[0] * 2
        swap, other = other, swap
        t = [i, x]
        swap[0] = t[0] + t[1]
    last = [0]
    k = 0
    while k < n:
        last = [last[0] + k]
        k += 1
    return a, b, a is b, swap, other, last


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 4), lambda: (f8(4), 5))
def resumed_in_a_loop_that_changes_lists(v, n):
    a = [0.0, 0.0]
    b = a
    for i in range(n):
        a[0] = a[0] + v[i]
        b[1] = i
    return a, b, a is b


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 7))
def items_assigned_and_deleted(v, i):
    a = [1, 2.5, v, None, "s"]
    a[0], a[1] = a[1], a[0]
    a[-1] = v[i]
    del a[3]
    a[1:3] = [7, 8, 9]
    b = [1, 2, 3, 4]
    del b[1:3]
    del b[0]
    a.insert(0, b)
    a.insert(-1, 4)
    x = a.pop()
    y = a.pop(1)
    a.reverse()
    b.extend((5, 6))
    b.extend(range(2))
    c = [1]
    c.clear()
    return a, b, x, y, c


@TABLE.add(lambda: (0, 1), lambda: (2, -1), lambda: (-3, 2), lambda: (3, 0), lambda: (0, -4))
def positions_known_at_run_time(i, j):
    a = [0.5, 1.5, 2.5]
    s = 0.0
    for k in range(3):
        s += a[k]
    m = np.int64(i)
    a[m] = 7.5
    return a[m + 0 * j], a[j + m - m], s, a


@TABLE.add(lambda: (f8(3),))
def wrong_uses_raise(v):
    a = [1]
    a.append(v)
    return a[5]


@TABLE.add(lambda: (1,))
def pop_from_an_empty_list(x):
    a = [x]
    a.pop()
    return a.pop()


@TABLE.add(lambda: (1,))
def unpacking_of_lists(x):
    a = [x, 2, 3]
    p, *q = a
    [r, s] = a[1:]
    q.append(9)
    t = [*a, *q, *(1, 2)]
    u = (*a, 0)
    return p, q, r, s, t, u, a


# ---------------------------------------------------------------- loops over lists


@TABLE.add(lambda: (2,), lambda: (7,), lambda: (0,), need="compiled")
def jumps_in_loops_over_lists(n):
    s = 0
    for v in [1, 2, 3]:
        if v == n:
            continue
        if v > n + 1:
            break
        s += v
    else:
        s += 100
    for x, y in zip((1, 2), [3, 4]):
        if x == n:
            break
        s += x * y
    for k, w in enumerate((5, 6), 1):
        for z in (1, 2, 3):
            if z == n:
                break
            s += z * w
        else:
            s += 1000
            continue
        s += k
    return s, v


@TABLE.add(lambda: (1,))
def lists_that_grow_while_looped_over(x):
    a = [x, 2]
    count = 0
    for item in a:
        if len(a) < 5:
            a.append(item + count)
        count += 1
    b = []
    for p, q in zip(a, (1, 2, 3)):
        b.append(p * q)
    for item in reversed(b):
        b = [item]
    return a, b, count


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 5))
def resumed_in_a_loop_over_a_list(v, i):
    a = [1, 2]
    out = []
    for k in a:
        if len(a) < 4:
            a.append(v[i])
        out.append(k)
    return a, out


@TABLE.add(lambda: (f8(5),))
def short_loops_fill_lists(v):
    out, index = [], []
    for i in range(4):
        out.append(v[i] * 2)
        index.append(i)
    arrays = []
    for k in range(3):
        arrays.append(v + k)
    total = arrays[0]
    for a in arrays[1:]:
        total = total + a
    return np.array(out), out, index, sum(out), np.stack(arrays), np.concatenate(arrays), total


@TABLE.add(lambda: (f8(4, 3),))
def lists_beside_arrays(A):
    shape = [2, 3]
    z = np.zeros(shape)
    z[0] = [1, 2, 3]
    index = [0]
    index.append(2)
    return z, A + [1.0, 2.0, 3.0], [1, 2, 3] * A, np.sum([1, 2.5]), A.reshape([3, 4])[1], np.max(shape)


# ---------------------------------------------------------------- dicts


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 5))
def dicts(v, i):
    d = {"a": 1, "b": v, 3: "x"}
    e = d
    d["c"] = v[i]
    d["a"] += 2
    s, keys = 0, []
    for k, x in d.items():
        keys.append(k)
        if k == "a":
            s += x
    for k in d:
        s += 1
    del e[3]
    gone = d.pop("b")
    nested = {"p": {"q": [1]}, **d}
    nested["p"]["q"].append(2)
    d.update({"z": 1})
    low = d.setdefault("y", 5)
    return d, e is d, keys, s, gone, nested, low, "a" in d, "b" not in d, d.get("n"), d.get("a", 4), len(d), bool({})


@TABLE.add(lambda: (f8(3), 1, 4), lambda: (f8(3), 0, 0))
def dicts_in_branches_and_loops(v, c, n):
    d = {"x": 0.0, "n": 0}
    if c:
        d["x"] = 1.5
    for i in range(n):
        d["n"] += i
        d["x"] = d["x"] + 0.5
    return d, list(d.keys()), list(d.values()), tuple(d.items())


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 7))
def dicts_that_change_while_looped_over(v, i):
    d = {"a": 1, "b": 2.5, "c": 3}
    s = []
    for k, x in d.items():
        s.append(x)
        d["b"] = v[i]
        d["c"] = 7
    for k in d:
        d[k] = len(k)
    for x in d.values():
        s.append(x)
    d["z"] = 1
    return s, d, list(d.items()), len(d.values()), len(d.keys())


@TABLE.add(lambda: (f8(3),), need="right")
def dicts_that_grow_while_looped_over(v):
    d = {"a": 1}
    for k in d:
        d[k + k] = 2
    return d


@TABLE.add(lambda: (f8(3),))
def missing_key(v):
    d = {"a": v}
    d["b"] = 1
    return d["c"]


# ---------------------------------------------------------------- lists of any length


@TABLE.add(
    lambda: (f8(20), 20), lambda: (f8(20), 0), lambda: (f8(20), 25), lambda: (i8(9), 9), lambda: (i8(9), 0),
    need="compiled",
)  # fmt: skip
def lists_that_grow(v, n):
    out = []
    for i in range(n):
        if v[i] > 0:
            out.append(v[i] * 2)
    other = out
    s = 0.0
    for x in out:
        s += x
    other.append(v[0])
    copy = out[:]
    copy[0] = v[1]
    return out, other, out is other, len(out), np.array(out), s, sum(out), max(out), copy, out[-1], out[1:3], bool(out)


@TABLE.add(lambda: (0, f8(3), 1), lambda: (30, f8(3), 1), lambda: (30, f8(3), 5))
def comprehensions_of_any_length(n, v, i):
    a = [k * k for k in range(n)]
    b = [x * 0.5 for x in a if x % 2 == 0]
    c = [x > 4 for x in a]
    d = [np.float32(x) for x in b]
    e = a
    e.append(-1)
    y = v[i]
    a[0] = 100
    f = [p + q for p, q in zip(b, a)]
    return a, b, c, d, e is a, y, f, [k for k, z in enumerate(v) if z > 0]


@TABLE.add(lambda: (6, f8(3), 1), lambda: (20, f8(3), 4))
def stacks(n, v, k):
    stack = [1.5]
    while len(stack) < n:
        stack.append(stack[-1] * 2)
    y = v[k]
    total = 0.0
    while stack and stack[-1] > 3:
        total += stack.pop()
    stack.append(2.5)
    return stack, y, total


@TABLE.add(lambda: (60,), lambda: (2,), lambda: (0,))
def primes(n):
    found = [2]
    for c in range(3, n):
        is_prime = True
        for p in found:
            if p * p > c:
                break
            if c % p == 0:
                is_prime = False
                break
        if is_prime:
            found.append(c)
    return found


@TABLE.add(lambda: (5,), lambda: (0,))
def lists_made_anew_in_a_loop(n):
    out = []
    total = 0
    for i in range(n):
        out = []
        for j in range(i):
            out.append(j)
        total += len(out) + sum(out)
    out.append(7)
    return out, total


@TABLE.add(lambda: (i8(6, 5) % 3, 2, 2), lambda: (i8(6, 5) * 0 + 1, 0, 0), lambda: (i8(2, 2), 0, 0))
def breadth_first(grid, r, c):
    """Four appends under conditions: more lengths than a choice has."""
    rows, columns = grid.shape
    queue = [(r, c)]
    order = []
    while queue:
        y, x = queue.pop(0)
        order.append(y * columns + x)
        for dy, dx in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
            ny, nx = y + dy, x + dx
            if 0 <= ny < rows and 0 <= nx < columns and grid[ny, nx] == 1:
                grid[ny, nx] = 2
                queue.append((ny, nx))
    return order


@TABLE.add(
    *(lambda n=n, x=x: (np.array([1.0, 2.0, 1.0]), n, x) for n, x in ((1, 0), (9, 16), (9, 2), (3, 99))),
    lambda: (np.array([np.nan, 1.0]), 3, 0),
    lambda: (f8(3), 0, 0),
    need="compiled",
)
def removed(v, n, x):
    a = [k * 2 for k in range(n)]
    for k in range(n):
        a.append(k)
    a.remove(x)
    b = [y for y in v]
    b.remove(v[0])
    return a, b, len(a)


@TABLE.add(*(lambda n=n: (f8(9), n) for n in (0, 1, 7)))
def joined_lists(v, n):
    a = [1.0] + [v[k] * 2.0 + float(k) for k in range(0)] + [float(k) for k in range(n)]
    b = [k for k in range(n)] + [7] + [k for k in range(n)]
    c = [(1, 2)]
    for k in range(n):
        c.append((k, k))
    d = a
    d = d + [2.0]
    return a, b + b, c + [(5, 6)], [v[0]] + [v[k] for k in range(n)], d, sum(k * x for k, x in enumerate(b[1:]))


# ---------------------------------------------------------------- comprehensions and generators


def square(x):
    return x * x


@TABLE.add(lambda: (f8(5), 1), lambda: (f8(5), 9))
def comprehensions(v, m):
    i = 7
    a = [square(x) for x in (1, 2, 3)]
    b = [i * j for i in range(3) for j in range(i) if i != j]
    c = [[i + k for k in (0, 1)] for i in range(2)]
    p, q, r = [v[i] for i in range(3)]
    d = [v[m] if x > 1 else x for x in a]
    e = {"k": [x for x in a]}
    return a, b, c, i, p, q, r, np.array([v * k for k in range(3)]), d, e, np.stack([v + k for k in (1, 2)])


@TABLE.add(lambda: (f8(5), 3), lambda: (f8(0), 0), lambda: (f8(5), 7), lambda: (i8(5), 3))
def generators(v, n):
    t = tuple(x + 1 for x in (1, n))
    s = sum(x * x for x in v), sum((v[i] for i in range(n)), 1)
    return (
        s,
        any(x > 5 for x in v),
        all(x > -50 for x in v),
        any(x > y for x in (1, n) for y in (n, 3)),
        t,
        list(k for k in (1, 2)),
    )


@TABLE.add(lambda: (f8(5), 2), lambda: (i8(5), 7), lambda: (f8(0), 0))
def unpacked_generators(v, n):
    a, b = (v * k for k in (2, n))
    first, *rest = (square(a) - k for k in range(3))
    return a, b, first, rest, np.maximum(*(x + n for x in (a, b))), [0, *(k * n for k in range(2))], v[n]


@TABLE.add(lambda: (f8(5), 2), lambda: (f8(5), 3), lambda: (f8(5), 1), need="compiled")
def unpacked_generators_of_other_lengths(v, n):
    a, b = (v[k] * 2 for k in range(n))
    return a + b


@TABLE.add(lambda: (f8(5),), lambda: (f8(0),), lambda: (i8(4),))
def extremes_of_generators(v):
    return max(x * 2 for x in v), min(abs(x) for x in v)


@TABLE.add(lambda: (f8(5), 4), lambda: (i8(5), 4), lambda: (np.array([1.0, np.nan, 2.0]), 1))
def functions_of_sequences(v, n):
    a = [1, 2]
    b = tuple(a), list(range(3)), list(zip(a, (3, n))), dict(a=1, b=v[0]), dict([("x", a)]), sorted(["b", "a"])
    c = list(enumerate("ab", 1)), list("abc"), isinstance(a, list), isinstance(a, (tuple, dict)), list(reversed(a))
    return (
        sum(v), sum(range(n)), max(v), min(v), any(v), all(v), sum(v, 1.5), sum(v[:0]), sum((1, 2, n)), min(3, n, 2.5),
        b, c, a is b[4]["x"], sum([[1], [2]], []),
    )  # fmt: skip


@TABLE.add(lambda: (f8(2, 3),), lambda: (f8(0, 3),))
def sum_of_rows(A):
    return sum(A)


# ---------------------------------------------------------------- refused, or right all the same


def rebound_in_a_loop(n):
    a = [0]
    b = a
    for i in range(n):
        b = a
        a = [i]
        if i == 2:
            b = a
    b.append(7)
    return a, b, a is b


def holds_itself(n):
    a = [n]
    a.append(a)
    return len(a)


def changed_in_an_expression(n):
    a = [1, 2]
    x = a.pop() if n else 0
    return a, x


@pytest.mark.parametrize("function", [rebound_in_a_loop, holds_itself, changed_in_an_expression])
def test_what_cannot_be_followed_is_left_to_python(function) -> None:
    strict: Any = weft.program(function, fallback="error")
    with pytest.raises(weft.CompileError):
        strict(1)
    program: Any = weft.program(function, fallback="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        for n in (0, 1, 3, 4):
            assert program(n) == function(n)


def first_and_itself(a, n):
    return a[0] + n * 2, a[1] is a


def test_an_argument_that_holds_itself_goes_to_python() -> None:
    items: list[Any] = [1]
    items.append(items)
    program: Any = weft.program(first_and_itself)
    with pytest.warns(weft.FallbackWarning):
        assert program(items, 2) == (5, True)


def lists_and_dicts_that_leave(n, v):
    a = [k * k for k in range(n)]
    d = {"x": a, "y": [v, v]}
    with np.errstate(divide="ignore"):
        w = v / 0.0
    return a, d, [d["y"], d["y"]], w


def test_the_text_form_of_shared_objects() -> None:
    program: Any = weft.program(lists_and_dicts_that_leave, fallback="error")
    text = print_program(program.to_graph(3, f8(2)).program)
    assert 'modes "divide=ignore"' in text
    assert "listed" in text
    assert print_program(parse_program(text)) == text


@TABLE.add(
    lambda: (i8(9) % 8 - 4,), lambda: (i8(0),), lambda: (np.array([1, 4]),), lambda: (np.array([-5]),), need="right"
)
def tuples_chosen_at_run_time(v):
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    weights = ((1.5, True, (2, 3)), (2.5, False, (4, 5)))
    x = y = 0
    total = 0.0
    for k in v:
        dx, dy = steps[k]
        x, y = x + dx, y + dy
        a, b, (c, d) = weights[k % 2]
        total += a * c - d if b else a
    return x, y, total, steps[x % 4]


@TABLE.add(lambda: (i8(9) % 4,))
def moves_without_python(v):
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    total = 0
    for k in v:
        total += steps[k][0] - 2 * steps[k][1]
    return total


@TABLE.add(lambda: ({"w": f8(3, 2), "b": f8(2)},), lambda: ({},))
def dict_comprehensions(params):
    zeros = {name: np.zeros_like(value) for name, value in params.items()}
    doubled = {f"{name}{k}": value * k for name, value in params.items() for k in range(3) if k != 1}
    totals = {
        name: call(value) for name in ("b", "w") if name in params for value in (params[name],) for call in (np.sum,)
    }
    return zeros, doubled, totals, {k: k * 0.5 for k in range(3)}


@TABLE.add(lambda: (f8(4), 3), lambda: (f8(4), 0), need="right")
def dict_comprehensions_of_any_length(x, n):
    return {k: x[k] for k in range(n)}, {float(v): 1 for v in x}


@TABLE.add(lambda: (f8(3),))
def layers_by_their_names(x):
    cache = {"A0": x}
    for layer in range(1, 4):
        cache["Z" + str(layer)] = cache["A" + str(layer - 1)] * 2
        cache[f"A{layer}"] = np.maximum(cache[f"Z{layer}"], 3.0)
    return cache["A3"], cache


@TABLE.add(lambda: (f8(3), 4), lambda: (f8(3), 0), need="right")
def texts_of_what_is_known_later(x, n):
    found = {}
    for k in range(n):
        found["x" + str(k)] = x * k
        found[str(x[k % 3])] = f"{x[0]:.3f}"
    return found, str(n), str(2.5), str(f"a{n}"), str(True)


def epochs(x, y):
    w, b, rate = np.zeros(x.shape[1]), 0.0, 0.1
    losses = []
    for epoch in range(20):
        z = x @ w + b
        p = 1 / (1 + np.exp(-z))
        d = p - y
        losses.append(float(np.mean(d * d)))
        w = w - rate * (x.T @ d)
        b = b - rate * d.sum()
        if epoch > 2 and losses[-1] > losses[-2]:
            rate *= 0.5
        if losses[-1] < 1e-12:
            break
    return w, b, losses


def test_a_long_loop_is_not_written_out_for_its_list() -> None:
    program = check(epochs, lambda: (f8(6, 3) / 9, f8(6) / 9), ulps=64)
    assert_native(program)
    assert program.inspect_source().count("exp(") < 10


def sorted_in_a_display(a, b, n):
    return sorted([a, b, a])


def sorted_after_growing(a, b, n):
    numbers = []
    for i in range(n):
        numbers.append(b * i)
    return sorted(numbers)


def sorted_numbers_of_an_array(x):
    return sorted(x)


@pytest.mark.parametrize("function", [sorted_in_a_display, sorted_after_growing])
@pytest.mark.filterwarnings("ignore")
def test_complex_numbers_have_no_order(function: Any) -> None:
    program: Any = weft.program(function)
    with pytest.raises(TypeError, match="not supported"):
        program(1j, 2j, 9)


@pytest.mark.filterwarnings("ignore")
def test_complex_numbers_of_numpy_are_sorted_by_python() -> None:
    array = np.array([2j, complex(np.nan, 1), 1j, complex(1, np.nan)])
    assert repr(weft.program(sorted_numbers_of_an_array)(array)) == repr(sorted(array))


# ---------------------------------------------------------------- parts and places known at run time


@TABLE.add(lambda: (4, 6), lambda: (0, 1), lambda: (41, 3))
def in_a_circle(n, k):
    people, place, order = list(range(n)), 0, []
    while people:
        place = (place + k - 1) % len(people)
        order.append(people.pop(place))
    return order


@TABLE.add(lambda: (7, 2), lambda: (3, 5), lambda: (3, -1), lambda: (3, -4), lambda: (1, 0), need="compiled")
def popped_anywhere(n, k):
    halves = [i * 0.5 for i in range(n)]
    pairs = [(i, i * 2.0) for i in range(n)]
    mixed = [0, 1.5]
    for i in range(n):
        mixed.append(i)
    return halves.pop(k), pairs.pop(k), mixed.pop(1), mixed.pop(-1), halves, pairs, mixed


@TABLE.add(lambda: (100,), lambda: (2,), lambda: (1,), need="compiled")
def primes_crossed_out(n):
    found = [True] * (n + 1)
    found[0:2] = [False, False]
    for i in range(2, int(n**0.5) + 1):
        if found[i]:
            found[i * i :: i] = [False] * len(found[i * i :: i])
    return [i for i, prime in enumerate(found) if prime]


@TABLE.add(lambda: (7, 2), lambda: (9, 0), need="compiled")
def parts_replaced(n, k):
    numbers = [i for i in range(n)]
    numbers[k : k + 2] = [100, 200]
    numbers[1:4] = numbers[2:5]
    numbers[::2] = [7] * len(numbers[::2])
    numbers[::-1] = numbers[:]
    return numbers


@TABLE.add(lambda: (7, 2), lambda: (9, 0), need="right")
def parts_of_other_lengths(n, k):
    numbers = [i for i in range(n)]
    numbers[k : k + 2] = [100]
    numbers[1:1] = [5, 6]
    numbers[::2] = [1]
    return numbers


@TABLE.add(lambda: ([3, 4, -1, 2, -7, 5], 2.0), lambda: ([-3, -1], 0.0))
def largest_part(numbers, x):
    best = total = numbers[0]
    first = start = end = 0
    for i, number in enumerate(numbers[1:], start=1):
        if total < 0:
            total, first = number, i
        else:
            total += number
        if total > best:
            best, start, end = total, first, i
    return best, numbers[start : end + 1], numbers[int(x) :]


@TABLE.add(lambda: (3, 1, 2.5), lambda: (0, 1, 2.5), need="right")
def an_array_of_many_numbers_of_two_types(k, a, b):
    """As many ways as this could be would be compiled for hours."""
    first = [a if k > 0 else b, a if k > 1 else b, a if k > 2 else b, a if k > 3 else b, a if k > 4 else b]
    second = [a if k < 0 else b, a if k < 1 else b, a if k < 2 else b, a if k < 3 else b, a if k < 4 else b]
    third = [a if k == 0 else b, a if k == 1 else b, a if k == 2 else b, a if k == 3 else b, a if k == 4 else b]
    return np.array([first, second, third]), first


# ---------------------------------------------------------------- lists of any length beside arrays


@TABLE.add(lambda: (f8(6), 4), lambda: (f8(3), 0), lambda: (f8(5), 5), need="compiled")
def lists_beside_a_vector(v, k):
    sums, counts = [], []
    for i in range(len(v)):
        sums.append(v[: i + k].sum())
        counts.append(i + k)
    shares = (counts / np.sum(sums), v[0] - sums, sums + v[0], [1, 2.5] - v[0], v[0] ** (1, k)) if k else ()
    return shares, v / sums, sums - v, counts * v, v + counts, np.ones((2, 1)) * counts, sums > v, v @ sums


@TABLE.add(lambda: (i8(5, 5), 4), lambda: (i8(3, 3), 0), need="compiled")
def lists_that_scatter(a, k):
    rows, columns, values = [], [], []
    for i in range(k):
        for j in range(k):
            rows.append((i * j) % k)
            columns.append((i + j) % k)
            values.append(i * 0.5 - j)
    out = np.zeros(a.shape)
    np.add.at(out, (rows, columns), values)
    np.maximum.at(out, (rows, 0), values)
    np.subtract.at(out, rows, 1.5)
    np.add.at(out, (slice(None), columns), 1.0)  # pyright: ignore[reportArgumentType] - NumPy takes it
    return out


# ---------------------------------------------------------------- arrays without axes


@TABLE.add(lambda: (f8(2, 2), 5), lambda: (i8(3, 2), 0), lambda: (f8(1, 1), 1))
def lists_of_arrays_without_axes(a, n):
    costs = []
    for i in range(n):
        if i % 2 == 0:
            costs.append(np.squeeze(a[:1, :1] * i))
    return costs


@TABLE.add(lambda: (f8(2, 2), 5), lambda: (f8(1, 1), 1), lambda: (f8(1, 1), 0), need="compiled")
def arrays_without_axes_out_of_a_list(a, n):
    costs = []
    for i in range(n):
        costs.append(np.array(a[0, 0] * i))
    return costs[-1] * 2, np.array(costs), len(costs), min(costs) + 0.0
