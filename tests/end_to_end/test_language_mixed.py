# pyright: reportArgumentType=false, reportCallIssue=false
"""Lists of any length whose items are numbers of several types, or None."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import b1, c16, f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_mixed(row: Row) -> None:
    row.check()


def graph(n, edges):
    """Ends of edges and their lengths."""
    random = np.random.default_rng(n)
    return random.integers(0, n, (edges, 2)), random.random(edges)


# ---------------------------------------------------------------- ints among floats


@TABLE.add(lambda: (*graph(9, 30), 9), lambda: (*graph(4, 0), 4), lambda: (*graph(1, 3), 1), lambda: (*graph(9, 9), 0))
def shortest_paths(ends, lengths, n):
    distances = [float("inf")] * n
    distances[0] = 0
    for _ in range(n - 1):
        for k in range(len(lengths)):
            u, v, w = ends[k, 0], ends[k, 1], lengths[k]
            if distances[u] + w < distances[v]:  # noqa: PLR1730
                distances[v] = distances[u] + w
    return distances


@TABLE.add(lambda: (np.abs(i8(7, 7)),), lambda: (i8(1, 1),), lambda: (np.zeros((3, 3), int),))
def nearest_first(adjacent):
    n = adjacent.shape[0]
    distances, done = [float("inf")] * n, [False] * n
    before = [None] * n
    distances[0] = 0
    for _ in range(n):
        best = -1
        for v in range(n):
            if not done[v] and (best < 0 or distances[v] < distances[best]):
                best = v
        done[best] = True
        for v in range(n):
            w = int(adjacent[best, v])
            if w > 0 and distances[best] + w < distances[v]:
                distances[v] = distances[best] + w
                before[v] = best
    return distances, before, min(distances), max(distances)


@TABLE.add(lambda: (30,), lambda: (0,), lambda: (1,), lambda: (-1,))
def fewest_coins(n):
    fewest = [0] + [float("inf")] * n
    for amount in range(1, n + 1):
        for coin in (3, 5, 10):
            if coin <= amount and fewest[amount - coin] + 1 < fewest[amount]:
                fewest[amount] = fewest[amount - coin] + 1
    return fewest, fewest[-1]


@TABLE.add(lambda: (f8(9),), lambda: (f4(9),), lambda: (i8(9),), lambda: (f8(0),), lambda: (c16(3),), need="compiled")
def running(x):
    sums, plain = [0], [0]
    for v in x:
        sums.append(sums[-1] + v)
    for v in x.tolist():
        plain.append(plain[-1] + v)
    return sums, plain, sums[1:], plain[::-2], sums[:1] + plain


@TABLE.add(lambda: (f8(9),), lambda: (np.array([0.0, -0.0, np.nan, np.inf, -np.inf]),), lambda: (f8(0),))
def positive_parts(x):
    parts = [0] * len(x)
    for i in range(len(x)):
        parts[i] = max(0, float(x[i]))
    total = 0
    for part in parts:
        if part == part and part < 1e9:  # noqa: PLR0124
            total += part
    return parts, total


@TABLE.add(lambda: (f8(9), 3), lambda: (f8(9), 0), lambda: (i8(5), 7), need="compiled")
def divided(x, k):
    items = [k] * len(x)
    for i in range(0, len(x), 2):
        items[i] = x[i]
    halves, rests, others = [], [], []
    for item in items:
        halves.append(item // 2)
        rests.append(item % 2)
        others.append(abs(-item * 2))
    return items, halves, rests, others, items[1] / items[0]


@TABLE.add(lambda: (f8(6), 1), lambda: (f8(6), 0), need="compiled")
def divided_by_zero(x, k):
    items = [x[0]] * len(x)
    items[k] = 0
    quotients = []
    for item in items:
        quotients.append(1.5 / item)
    return quotients


@TABLE.add(lambda: (5, 2.5), lambda: (2**53, 2.5), lambda: (-(2**53), 0.0), need="compiled")
def ints_a_float_holds(k, x):
    items = [x] * 4
    items[1] = k
    for i in range(4):
        items[i] = items[i] * 1
    return items


@TABLE.add(lambda: (2**53 + 1, 2.5), lambda: (2**62, -0.0), lambda: (-(2**53) - 3, np.nan), need="compiled")
def ints_beyond(k, x):
    items, others = [x] * 4, [k] * 3
    for i in range(3):
        others[i] = others[i] + 1
    items[1] = k
    others[0] = x
    return items, others


@TABLE.add(lambda: (f8(4), 2**52), lambda: (f8(4), 5), need="compiled")
def ints_that_get_large(x, k):
    items = [0.5] * len(x)
    items[0] = k
    for i in range(1, 9):
        items[0] = items[0] * 2
        items[i % 4] += 1
    return items


@TABLE.add(lambda: (f8(20), 3), lambda: (f8(20), 25), lambda: (f8(20), -21), lambda: (f8(20), -20), need="compiled")
def outside(x, k):
    items = [1.0] * len(x)
    items[0] = 3
    for i in range(2):
        items[k + i] = i
        items[k] += 0.5
    return items


# ---------------------------------------------------------------- other kinds


@TABLE.add(lambda: (i8(12) % 5, 6), lambda: (i8(0), 3), need="compiled")
def parents(edges, n):
    found, sizes = [-1] * n, [1] * n
    for k in range(len(edges)):
        found[edges[k]] = edges[k - 1]
        if found[edges[k]] >= 0:
            sizes[edges[k]] += sizes[found[edges[k]]]
    chain = []
    k = 0
    while k >= 0 and len(chain) < 9:
        chain.append(k)
        k = found[k]
    return found, sizes, chain, np.array(found), np.arange(12.0)[found]


@TABLE.add(lambda: (f8(6), b1(6)), lambda: (f8(1), b1(1)), lambda: (f8(0), b1(0)), need="compiled")
def nothing_yet(x, chosen):
    first, count = [None] * len(x), 0
    for i in range(len(x)):
        if chosen[i]:
            first[i] = x[i]
        elif first[i - 1] is not None:
            first[i] = i
    for item in first:
        if item is None:
            count += 1
    return first, count


@TABLE.add(lambda: (f4(6), 3), lambda: (f4(0), 3), lambda: (np.float32([3e38, np.nan]), 1), need="compiled")
def narrow_floats(x, k):
    items = [1e300] * len(x)
    for i in range(0, len(x), 2):
        items[i] = x[i]
    items += [k]
    items.insert(0, 1j)
    last = items.pop()
    return items, last, items[0], items.copy()


@TABLE.add(lambda: (b1(6),), lambda: (b1(0),), need="compiled")
def truths(x):
    items = [True] * len(x)
    for i in range(len(x)):
        if i % 2:
            items[i] = x[i]
    items.reverse()
    return items, [0] + items  # noqa: RUF005


@TABLE.add(lambda: (f8(6), np.arange(6, dtype=np.uint64)), need="right")
def unsigned(x, k):
    items = [0.5] * len(x)
    for i in range(len(x)):
        items[i] = k[i]
    return items


@TABLE.add(lambda: (f8(6), 3), lambda: (f8(6), 0), lambda: (f8(6), 6), need="compiled")
def as_arrays(x, k):
    items = [0] * len(x)
    for i in range(k):
        items[i] = x[i]
    return np.array(items), np.sum(items), np.array(items[k:] + [2])  # noqa: RUF005


# ---------------------------------------------------------------- branches, loops, identity


@TABLE.add(lambda: (f8(6), True), lambda: (f8(6), False))
def in_a_branch(x, flag):
    items = [0.0] * len(x)
    if flag:
        items[0] = 0
    else:
        items[1] = x[0]
    for i in range(1, len(x)):
        if x[i] > 0:
            items[i] = items[i - 1] + 1
    return items


@TABLE.add(lambda: (f8(6),), lambda: (f8(0),), need="compiled")
def one_object(x):
    items = [0.0] * (len(x) + 1)
    same, copy = items, items[:]
    for i in range(len(x)):
        same[i] = i
        copy[i] = x[i]
    return items, same, copy, items is same


@TABLE.add(lambda: (f8(6),), lambda: (f8(30),))
def of_known_length(x):
    counts, few, table = [0] * 20, [0, 0.5, 1], [0, 1.5, 2, 3.5]
    for i in range(len(x)):
        counts[i % 20] += 1
        few[i % 3] += x[i]
        if x[i] > 0 and table[i % 4] > 1:
            counts[0] += table[i % 4]
    return counts, few, table


@TABLE.add(lambda: (f8(30), 8), need="compiled")
def left_in_the_middle(x, n):
    items = [0.0] * 30
    for i in range(len(x)):
        items[i] = i
        items[-1] = x[i]
        items[i + n] += 1
    return items


@TABLE.add(lambda: (f8(6),), lambda: (-f8(6),))
def under_conditions(x):
    found = []
    if x[0] > 0:
        found.append(x[0])
    if x[1] > 0:
        found.append(x[1])
    if x[2] > 0:
        found.append(2)
    if x[3] > 0:
        found.append(x[3])
    if x[4] > 0:
        found.append(x[4])
    return found


@TABLE.add(lambda: (f8(8), i8(8)), lambda: (f8(0), i8(0)))
def unpacked(x, k):
    items = [0] * len(x)
    for i in range(len(x)):
        items[i] = x[i] if x[i] > 0 else k[i]
    pairs = []
    for i, (a, b) in enumerate(zip(items, reversed(items))):  # noqa: B905
        pairs.append((i, float(a), float(b)))
    largest = items[0] if len(items) else None
    return items, pairs, largest


@TABLE.add(lambda: (f8(5), i8(4)), lambda: (f8(0), i8(0)), lambda: (f8(1), i8(3)), need="compiled")
def extended(x, k):
    items, pairs, more = [0] * len(x), [], [(1, 2.5) for _ in range(len(k))]
    items += x.tolist()
    items.extend(k.tolist())
    for i in range(len(x)):
        pairs.append((x[i], i))
    pairs += more
    pairs.extend([(i, i) for i in range(len(k))])
    return items, pairs


@TABLE.add(lambda: (f8(5, 5) / 9, f8(5) / 9, 6), lambda: (f8(1, 1), f8(1), 2), lambda: (f8(3, 3), f8(3), 0))
def rows_that_change_places(A, b, n):
    rows, found = [0.0] * len(A), []
    rows[0] = 1
    for _ in range(n):
        new, back = [0] * len(A), [None] * len(A)
        for j in range(len(A)):
            for i in range(len(A)):
                value = rows[i] * A[i, j] + b[j]
                if value > new[j]:
                    new[j], back[j] = value, i
        rows = new
        found.append(max(rows))
    return rows, found


@TABLE.add(lambda: (i8(20) % 7, 8), lambda: (i8(0), 3), need="compiled")
def sets_of_points(ends, n):
    parents, sizes = list(range(n)), [1] * n
    for k in range(len(ends) - 1):
        a, b = ends[k], ends[k + 1]
        while parents[a] != a:
            parents[a] = parents[parents[a]]
            a = parents[a]
        while parents[b] != b:
            b = parents[b]
        if a != b:
            if sizes[a] < sizes[b]:
                a, b = b, a
            parents[b] = a
            sizes[a] += sizes[b]
    return parents, sizes


@TABLE.add(lambda: (f8(9), 3), lambda: (f8(9), 1), lambda: (f8(0), 2), need="compiled")
def windows(x, n):
    window, means, highs = [], [], []
    for number in x:
        window.append(number)
        if len(window) > n:
            window.pop(0)
        means.append(sum(window) / len(window))
        highs.append(max(window))
    return means, highs, any(window)


# ---------------------------------------------------------------- arrays of lists of tuples


@TABLE.add(lambda: (f8(6), 3), lambda: (f8(6), 1), lambda: (f8(6), 0), need="compiled")
def energies(x, n):
    steps = []
    for i in range(n):
        potential = 0.0
        for j in range(i):
            potential += x[j]
        steps.append((i, potential, potential + x.sum()))
    return np.array(steps)


@TABLE.add(lambda: (f8(6), 3), lambda: (f8(6), 1), lambda: (c16(6), 3), lambda: (c16(6), 1), need="compiled")
def of_ints_alone_at_first(x, n):
    sums = []
    for i in range(n):
        total = 0
        for j in range(i):
            total += x[j]
        sums.append((i, total))
    return np.array(sums), np.asarray(sums).sum(axis=0)


@TABLE.add(lambda: (f8(6), 4), lambda: (f8(6), 0), need="compiled")
def in_either_order(x, n):
    points = []
    for i in range(n):
        points.append((i, x[i]) if i % 2 else (x[i], i > 1))
    places, heights = np.array(points).T
    return places, heights


@TABLE.add(lambda: (f4(6), 3), lambda: (f8(6), 3), need="right")
def of_kinds_beside_others(x, n):
    sums = [(0, None)] if x.dtype == np.float64 else []
    for i in range(n):
        total = 0
        for j in range(i):
            total += x[j]
        sums.append((i, total))
    return np.array(sums)
