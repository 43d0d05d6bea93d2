# pyright: reportArgumentType=false
"""Lists of lists: tables whose numbers are read and replaced at positions known at run time only."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import f8, i8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_tables(row: Row) -> None:
    row.check()


# ---------------------------------------------------------------- tables made by comprehensions


@TABLE.add(lambda: (5, 7), lambda: (1, 0), lambda: (0, 0), lambda: (0, 3))
def paths(n, m):
    counts = [[1] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            counts[i][j] = counts[i - 1][j] + counts[i][j - 1]
    return counts[n][m], counts, len(counts)


@TABLE.add(lambda: ("AGCATTG", "GAC"), lambda: ("", "GAC"), lambda: ("A", ""))
def common_letters(x, y):
    m, n = len(x), len(y)
    longest = [[0 for _ in range(n + 1)] for _ in range(m + 1)]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if x[i - 1] == y[j - 1]:
                longest[i][j] = longest[i - 1][j - 1] + 1
            else:
                longest[i][j] = max(longest[i - 1][j], longest[i][j - 1])
    return longest[m][n]


@TABLE.add(lambda: ([10, 20, 30, 5], [60, 100, 120, 30], 50), lambda: (i8(4), i8(4), 9))
def knapsack(weights, values, limit):
    n = len(weights)
    best = [[0 for _ in range(limit + 1)] for _ in range(n + 1)]
    for i in range(n + 1):
        for w in range(limit + 1):
            if i == 0 or w == 0:
                best[i][w] = 0
            elif 0 <= weights[i - 1] <= w:
                best[i][w] = max(values[i - 1] + best[i - 1][w - weights[i - 1]], best[i - 1][w])
            else:
                best[i][w] = best[i - 1][w]
    return best[n][limit], best


@TABLE.add(lambda: (f8(4, 3), f8(3, 5)), lambda: (i8(4, 3), f8(3, 5)), lambda: (f8(4, 0), f8(0, 5)), ulps=4)
def product(A, B):
    result = [[0.0] * B.shape[1] for _ in range(len(A))]
    for i in range(len(A)):
        for j in range(B.shape[1]):
            for k in range(len(B)):
                result[i][j] += A[i][k] * B[k][j]
    return result


@TABLE.add(lambda: (6,), lambda: (1,), need="compiled")
def shortest_paths(n):
    lengths = [[float("inf")] * n for _ in range(n)]
    for i in range(n):
        lengths[i][i] = 0
    for i in range(n - 1):
        lengths[i][i + 1], lengths[i + 1][i] = i + 1, 2.5
    for k in range(n):
        for i in range(n):
            for j in range(n):
                lengths[i][j] = min(lengths[i][j], lengths[i][k] + lengths[k][j])
    return lengths, np.array(lengths)


@TABLE.add(lambda: (5, 7), lambda: (3, 2), lambda: (2, 1), need="compiled")
def truths_and_ends(n, m):
    marks = [[False] * m for _ in range(n)]
    marks[0][-1] = True
    marks[-1][0] |= n > m
    return marks, marks[-1][-1], np.array(marks), marks[1][:1], marks[0][::-1]


@TABLE.add(lambda: (5, 7, True), lambda: (3, 2, False), lambda: (3, 2, True))
def in_branches(n, m, flag):
    table = [[0] * m for _ in range(n)]
    if flag:
        table[0][0] = 1
        table.append([3] * m)
    else:
        table[1][1] = 0.5
    other = table
    for k in range(3):
        other[0][k % m] += k
    return table, other, other is table


@TABLE.add(lambda: (6, 5), lambda: (1, 1))
def generations(n, m):
    grid = [[(i * m + j) % 3 % 2 for j in range(m)] for i in range(n)]
    for _ in range(3):
        new = [[0] * m for _ in range(n)]
        for i in range(n):
            for j in range(m):
                near = grid[i - 1][j] + grid[(i + 1) % n][j] + grid[i][j - 1] + grid[i][(j + 1) % m]
                new[i][j] = 1 if near in (2, 3) else 0
        grid = new
    return grid


# ---------------------------------------------------------------- a known number of rows, or rows of known length


@TABLE.add(lambda: (7, 9), lambda: (2, 1), lambda: (0, 0))
def two_rows(n, m):
    sums = [[0] * (m + 1) for _ in range(2)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            sums[i % 2][j] = sums[(i - 1) % 2][j] + sums[i % 2][j - 1] + 1
    return sums[n % 2][m], sums


@TABLE.add(lambda: (9, 2), lambda: (0, 1))
def short_rows(n, k):
    board = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    steps = [[0, 0, 0] for _ in range(n + 1)]
    for t in range(n):
        board[(t * k) % 3][t % 3] += t
        steps[t + 1][0] = steps[t][1] + 1
        steps[t + 1][1] = steps[t][0] + 2
    return board, steps


# ---------------------------------------------------------------- appended rows


@TABLE.add(lambda: (5, 7), lambda: (0, 2))
def appended(n, m):
    table = []
    for i in range(n):
        row = []
        for j in range(m):
            row.append(i * j)
        table.append(row)
    table.append([1] * m)
    return table


@TABLE.add(lambda: (5, 7), need="right")
def changed_after(n, m):
    table = []
    for i in range(n):
        row = [0] * m
        table.append(row)
        row[i] = 5
    return table


@TABLE.add(lambda: (5, 7), need="right")
def one_row_many_times(n, m):
    table, row = [], [0] * m
    for i in range(n):
        table.append(row)
        row[i] += 1
    return table


@TABLE.add(lambda: (5, 7), need="right")
def read_in_the_same_statement(n, m):
    table, first = [], 0
    for i in range(n):
        row = [i] * m
        first = table.append(row) or row[0]
    return table, first


@TABLE.add(lambda: (7, 2), lambda: (2, 1), need="right")
def row_with_a_name(n, k):
    row = [0, 0, 0]
    board = [row, [0, 0, 0], [0, 0, 0]]
    for t in range(n):
        board[(t * k) % 3][t % 3] += t
        row[0] += 1
    return board, row


@TABLE.add(lambda: (7, 2), lambda: (2, 1), need="right")
def one_row_in_all_places(n, k):
    board = [[0] * 3] * 3
    for t in range(n):
        board[(t * k) % 3][t % 3] += t
    return board


@TABLE.add(lambda: (5,), lambda: (1,), lambda: (2,), need="right")
def triangle(n):
    rows = []
    for i in range(n):
        rows.append([1] * (i + 1))
        for j in range(1, i):
            rows[i][j] = rows[i - 1][j - 1] + rows[i - 1][j]
    return rows


# ---------------------------------------------------------------- what is left to Python


@TABLE.add(lambda: (5, 7), lambda: (3, 2), need="compiled")
def outside(n, m):
    table = [[i * m + j for j in range(m)] for i in range(n)]
    table[1][1] = table[0][-m] + 1
    table[0][m] = 4
    return table


@TABLE.add(lambda: (5, 7), need="right")
def rows_as_objects(n, m):
    table = [[i * m + j for j in range(m)] for i in range(n)]
    total = 0
    for row in table:
        for number in row:
            total += number
    row = table[2]
    row[0] = 100
    table[1] = [7] * m
    table[2][3:5] = [1, 2]
    joined = table + [[1] * m]  # noqa: RUF005
    joined[0][0] = 9
    return total, table, joined, sum(table[3]), len(table[0])


@TABLE.add(lambda: (3, 4), need="right")
def three_axes(n, m):
    cube = [[[0] * m for _ in range(n)] for _ in range(m)]
    cube[0][1][2] = 3
    return cube


@TABLE.add(lambda: (f8(5, 5), 2), need="compiled")
def positions(x, n):
    table = [[0] * n for _ in range(n + 1)]
    table[1][0], table[0][1] = 2, x.argmax() % 5
    return x[table], len(table)


@TABLE.add(lambda: (5, 7), lambda: (2, 3))
def rows_looked_at(n, m):
    table = [[i * m + j for j in range(m)] for i in range(n)]
    for i in range(len(table)):
        for j in range(len(table[0])):
            table[i][j] += i
    sums = [sum(table[i]) for i in range(n)]
    return len(table[-1]), sums, sum(table[0], 10), max(table[-1]), min(table[0]), sorted(table[1]), any(table[0])


@TABLE.add(lambda: (5, 7), need="right")
def rows_compared(n, m):
    table = [[i] * m for i in range(n)]
    larger = max(table[0], table[1])
    larger[0] = 9
    return table


@TABLE.add(lambda: (2, 3), lambda: (2, 4), lambda: (0, 3), need="compiled")
def of_other_kinds_later(n, m):
    table = [[0.0] * m for _ in range(2)]
    for i in range(n):
        table[(i * 3 + 1) % 4][i % 2] = 4
    return table, [[table[i][j] for j in range(m)] for i in range(2)]


@TABLE.add(lambda: (True, 3), lambda: (False, 3), need="compiled")
def one_more_row(flag, n):
    pairs, table = [[0, 0], [1, 1]], [[0] * n, [1] * n]
    if flag:
        pairs.append([2, n])
        table.append([2] * n)
    if n > 2:
        table[n % 2][1] = 0.5
    return pairs, table


@TABLE.add(lambda: (True, 3), lambda: (False, 3), need="right")
def one_more_row_beside_one_with_a_name(flag, n):
    row = [0] * n
    table = [row, [1] * n]
    if flag:
        table.append([2] * n)
    row[0] = 9
    return table, row
