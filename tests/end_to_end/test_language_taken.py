"""Arrays taken out of lists that grow: the same objects as those in the list, as far as anybody can tell."""

from __future__ import annotations

import numpy as np

from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()
LENGTHS = [*(lambda n=n: (f8(3), n) for n in (1, 2, 20)), lambda: (f8(6)[::2], 3)]


@TABLE.parametrize()
def test_taken(row: Row) -> None:
    row.check()


@TABLE.add(*LENGTHS, lambda: (f8(3), 0))
def last_one(y, n):
    ys, ts = [y], [0.0]
    for _ in range(n):
        last = ys[-1]
        ys.append(last + 0.1 * np.array([last[1], -last[0], last[2]]))
        ts.append(ts[-1] + 0.1)
    return np.array(ys), np.array(ts)


@TABLE.add(*LENGTHS, lambda: (f8(3), 0))
def last_one_returned(y, n):
    ys = [y * 1]
    for _ in range(n):
        ys.append(ys[-1] * 2)
    return ys[-1]


@TABLE.add(*LENGTHS)
def loops_over_arrays(y, n):
    ys = [y * 1]
    for i in range(n):
        ys.append(y * i)
    total = 0.0
    for row in ys:
        total += row[0]
    for k, row in enumerate(ys[1:]):
        total += k * row[1]
    return total, np.array(ys[:-1] + ys[1:]), np.array(ys)


@TABLE.add(lambda: (f8(30, 2) % 7,), lambda: (f8(30, 2)[::-1] % 11,), lambda: (f8(3, 2),))
def hull(points):
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    chain = []
    for p in points:
        while len(chain) >= 2:
            a, b = chain[-2], chain[-1]
            if (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0:
                break
            chain.pop()
        chain.append(p)
    return np.array(chain)


# ---------------------------------------------------------------- where the difference would show


@TABLE.add(*LENGTHS, need="right")
def written_in_the_next_turn(y, n):
    ys, x = [y], y * 1
    for _ in range(n):
        x += 1
        ys.append(x.copy())
        x = ys[-1]
    return np.array(ys)


@TABLE.add(*LENGTHS, need="right")
def written_after_it_was_taken(y, n):
    ys = []
    for i in range(n):
        ys.append(y * i)
    first = ys[0]
    first[0] = 77
    return np.array(ys), first


@TABLE.add(*LENGTHS, need="right")
def written_in_the_list(y, n):
    ys = [y * 1]
    for i in range(n):
        ys[-1][0] = 5
        ys.append(y * i)
        ys[-1] += 2
    return np.array(ys)


@TABLE.add(*LENGTHS, need="right")
def popped_and_written(y, n):
    ys = [y * 1]
    for i in range(n):
        ys.append(y * i)
    last = ys.pop()
    last[0] = 3
    ys.append(last)
    return np.array(ys), last


def identities(y, n, what):
    ys = [y * 1]
    for i in range(n):
        ys.append(ys[-1] if what == "again" else y * i)
    if what == "list":
        return ys[-1], ys
    if what == "twice":
        return ys[0], ys[0]
    return (ys[1:], ys) if what == "part" else (ys, ys[0])


@TABLE.add(*(lambda what=what: (f8(3), 3, what) for what in ("list", "twice", "part", "again")), need="right")
def the_same_objects(y, n, what):
    found = identities(y, n, what)
    one, other = found[0], found[1]
    if isinstance(one, list):
        one = one[-1]
    if isinstance(other, list):
        other = other[-1]
    return found, one is other
