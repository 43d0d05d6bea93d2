# pyright: reportArgumentType=false
"""Heaps of numbers and of tuples of numbers, and the order of tuples."""

from __future__ import annotations

import heapq
from heapq import heappop, heappush

import numpy as np
import pytest

import weft
from tests.end_to_end.data import f4, f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_heaps(row: Row) -> None:
    row.check()


def graph(n, degree):
    """Rows of neighbours and lengths, in compressed form."""
    random = np.random.default_rng(n)
    return np.arange(n + 1) * degree, random.integers(0, n, n * degree), random.random(n * degree), n


# ---------------------------------------------------------------- heaps


@TABLE.add(lambda: graph(20, 3), lambda: graph(1, 2), lambda: graph(5, 0))
def shortest_paths(starts, neighbours, lengths, n):
    distances, before, visited = [float("inf")] * n, [-1] * n, 0
    distances[0] = 0
    waiting = [(0, 0)]
    while waiting:
        distance, u = heappop(waiting)
        if distance > distances[u]:
            continue
        visited += 1
        for k in range(starts[u], starts[u + 1]):
            v = neighbours[k]
            longer = distance + lengths[k]
            if longer < distances[v]:
                distances[v], before[v] = longer, u
                heappush(waiting, (longer, v))
    return distances, before, visited, waiting


@TABLE.add(lambda: (f8(30),), lambda: (i8(30),), lambda: (f4(1),), lambda: (f8(0),), lambda: (f8(6) * np.nan,))
def sorted_by_a_heap(x):
    heap, found = x.tolist(), []
    heapq.heapify(heap)
    made = heap.copy()
    while heap:
        found.append(heapq.heappop(heap))
    return made, found


@TABLE.add(lambda: (f8(40), 5), lambda: (f8(3), 5), lambda: (f8(40), 1), need="compiled")
def largest(x, n):
    heap, dropped = [], []
    for number in x:
        if len(heap) < n:
            heapq.heappush(heap, number)
        elif number > heap[0]:
            dropped.append(heapq.heapreplace(heap, number))
    for i in range(3):
        dropped.append(heapq.heappushpop(heap, x[i] + 1))
    return heap, dropped


@TABLE.add(lambda: (np.array([3.0, np.nan, 1.0, np.nan, -2.0, 0.0, -0.0, np.inf]),), lambda: (f8(9),), need="compiled")
def with_nans(x):
    heap, pairs, found = [], [], []
    for i in range(len(x)):
        heappush(heap, x[i])
    for i in range(len(x)):
        heappush(pairs, (x[i], -i))
    for _ in range(3):
        found.append(heappop(heap))
        found.append(heappop(pairs)[1])
    return heap, pairs, found


@TABLE.add(lambda: (f8(4), 4), lambda: (f8(4), 5), lambda: (f8(0), 1), need="compiled")
def popped_too_often(x, n):
    heap, total = [], 0.0
    for number in x:
        heappush(heap, number)
    for _ in range(n):
        total += heappop(heap)
    return total, heap


@TABLE.add(lambda: (f8(9), i8(9)), need="compiled")
def of_several_types(x, k):
    heap, pairs = [], []
    for i in range(len(x)):
        heappush(heap, x[i])
        heappush(heap, int(k[i]))
        heappush(pairs, (k[i], x[i], i))
        heappush(pairs, (float(x[i]), i, 2**40))
    return heap, pairs, heappop(heap), heappop(pairs)


@TABLE.add(lambda: (f8(9), i8(9)), lambda: (-f8(9), i8(9)), lambda: (f8(0), i8(0)), need="compiled")
def of_several_lengths(x, k):
    left, right, found = [], [], []
    for i in range(len(x)):
        if x[i] > 0:
            if len(left) > 0:
                found.append(heappop(left))
            heappush(left, (int(k[i]), 2.5))
        else:
            heappush(right, (i, int(k[i])))
        heappush(right, (2.5, x[i]))
        if len(left) > 0:
            found.append(heappop(left))
    return left, right, found


@TABLE.add(lambda: (f8(3), 2**53 + 1), lambda: (f8(3), 2**53), need="compiled")
def of_large_ints(x, k):
    heap = []
    for i in range(len(x)):
        heappush(heap, (x[i], i))
        heappush(heap, (k + i, i))
    return heap


@TABLE.add(lambda: (f8(5), [3.0, 5.0]), lambda: (f8(5), []), need="right")
def of_the_caller(x, heap):
    for number in x:
        heappush(heap, float(number))
    return heappop(heap), heap


@TABLE.add(lambda: (f8(5), 1), lambda: (f8(5), 3), need="right")
def not_to_be_ordered(x, n):
    heap = []
    for i in range(len(x)):
        heappush(heap, (float(i % 2), 1j) if i == n else (float(i % 2), 2.0))
    return heap


@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
def test_a_heap_is_as_python_leaves_it() -> None:
    """The list that an exception leaves behind is that of Python."""

    class Holder:
        def __init__(self) -> None:
            self.heap = [5.0, 6.0, 7.0]

    def push(holder, x):
        heap = holder.heap
        for i in range(len(x)):
            heappush(heap, x[i] if i < 3 else None)
        return heap

    held = []
    for function in (push, weft.program(push)):
        holder = Holder()
        try:
            function(holder, f8(5))
        except TypeError as problem:
            held.append((str(problem), repr(holder.heap)))
    assert held[0] == held[1]


# ---------------------------------------------------------------- the order of tuples


@TABLE.add(lambda: (f8(6), i8(6)), lambda: (np.zeros(4), i8(4)), lambda: (f8(1), i8(1)))
def smallest_pair(x, k):
    best, place = (float("inf"), 0), -1
    for i in range(len(x)):
        if (float(x[i]), int(k[i])) < best:
            best, place = (float(x[i]), int(k[i])), i
    return best, place


@TABLE.add(
    lambda: (1.0, 2, 1.0, 3), lambda: (1, 2.0, 1.0, 2), lambda: (2.0, 2, 1.0, 3), lambda: (np.nan, 1, 1.0, 1),
    lambda: (float("nan"), 1, float("nan"), 1), lambda: (np.float64(1), 2, 1.0, np.int64(2)), lambda: (True, 2, 1, 2),
    lambda: (0.0, 1, -0.0, 0), need="compiled",
)  # fmt: skip
def orders(a, b, c, d):
    results = []
    for i in range(2):
        left, right = (a, b + i), (c, d)
        results.append((left < right, left <= right, left > right, left >= right))
        results.append((left < (c,), (a,) <= right, [a] > [c, d], left > ()))
    return results


@TABLE.add(lambda: (1.0, 1j), lambda: (1.0, 2.0), need="right")
def not_comparable(a, b):
    return (a, b) < (a, 1.0), (a, 1) == (b, 1)
