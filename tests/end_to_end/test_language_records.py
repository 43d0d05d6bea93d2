# pyright: reportArgumentType=false
"""Dicts that hold lists beside numbers, as records of a run do: the lists grow while the numbers change."""

from __future__ import annotations

import numpy as np

from tests.end_to_end.data import f8
from tests.end_to_end.table import Row, Table

TABLE = Table()


@TABLE.parametrize()
def test_records(row: Row) -> None:
    row.check()


@TABLE.add(lambda: (f8(5, 3),), lambda: (f8(1, 2),), lambda: (f8(0, 2),))
def lists_grow_beside_a_count(data):
    results = {"mean": [], "last": [], "rows": 0}
    for row in data:
        results["mean"].append(row.mean())
        results["last"].append(row[-1])
        results["rows"] += 1
    return np.array(results["mean"]), results


@TABLE.add(lambda: (f8(7),), lambda: (f8(1),), lambda: (f8(0),))
def lists_grow_in_a_branch_that_counts(x):
    history = {"kept": [], "dropped": 0, "largest": -np.inf}
    for value in x:
        if value > 2.0:
            history["kept"].append(value)
            history["largest"] = max(history["largest"], value)
        else:
            history["dropped"] += 1
    return history


@TABLE.add(lambda: (f8(7), 3), lambda: (f8(7), 0))
def a_list_of_the_record_has_another_name(x, n):
    losses = []
    record = {"losses": losses, "steps": 0}
    for step in range(n):
        losses.append(x[step])
        record["steps"] += 1
        record["losses"].append(-x[step])
    return record, losses, record["losses"] is losses


@TABLE.add(lambda: (f8(7), 3), lambda: (f8(7), 0), need="right")
def a_list_of_the_record_is_replaced(x, n):
    record = {"path": [], "steps": 0}
    for step in range(n):
        if x[step] > 1.5:
            record["path"] = [x[step]]
        else:
            record["path"].append(x[step])
        record["steps"] += 1
    return record


@TABLE.add(lambda: (f8(6, 2),), lambda: (f8(1, 2),))
def a_tuple_holds_a_list_and_a_number(x):
    state = ([], 0.0)
    for row in x:
        state[0].append(row[0])
        state = (state[0], state[1] + row[1])
    return state


@TABLE.add(lambda: (4, 3), lambda: (1, 1), lambda: (0, 0), need="right")
def a_table_of_lists(n, m):
    table = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m):
        for j in range(n):
            table[i + 1][j + 1] = table[i][j] + 1
    return table
