# pyright: reportPossiblyUnboundVariable=false, reportOperatorIssue=false
"""A function cut around any of its statements does what it did; the pieces run in Python here."""

from __future__ import annotations

import ast
from itertools import combinations
from types import CellType, FunctionType
from typing import Any

import numpy as np
import pytest

from tests.end_to_end.outcome import describe_error
from weft.driver.patchwork import COMMON, make_function
from weft.frontend.cutting import CLOCK, SPENT, Place, cut, place_of
from weft.frontend.liveness import statements
from weft.frontend.source import read_function

SHARED = 3.0


def straight(a: Any, n: int) -> Any:
    b = a * 2 + 1
    c = b - a * n
    b = b + c * 2
    return b.sum() * n + c


def loops(a: Any, n: int) -> Any:
    total, seen = 0.0, []
    for i in range(n):
        x = a[i % 3] * 2 + i
        if x > 9 and i > 2:
            break
        if i == 1:
            total += x * 2 + 1
            continue
        while total < 30 + x:
            total += x * x + 1
            if total > 25 and i > 3:
                break
        else:
            seen.append(i * 2 + 1)
        last = total * 2 + x
    else:
        seen.append(-1 * n + 1)
    if n > 0 and total > 5:
        return total, seen, last
    return total * 2, seen


def maybe_unbound(a: Any, n: int) -> Any:
    for k in range(n):
        q = k * a + 1
    if n > 2:
        k = k * 2 + q.sum()
    r = q * 2 + k
    return r - k * q


def bound_in_a_later_turn(a: Any, n: int) -> Any:
    seen: list[int] = []
    for k in range(n):
        if k > 1:
            total = last * 2 + q * k  # noqa: F821  (by the turn before)
            if np.sum(total) > 30:
                break
        if k == 3:
            continue
        q = k * a + 1
        last = q * 2 - a
        seen.append(k * 2 + 1)
    if n > 4:
        late = last * 2 + q
    return seen, late * 2 + k, total


def returns(a: Any, n: int) -> Any:
    for i in range(n):
        s = a * i + n
        if s.sum() > 20:
            return s * 2 + 1
        for j in range(2):
            if s[0] * j + i > 6:
                return i * 2 + j
        t = s * 2 + i
    if n == 0:
        return None
    if n > 2:
        return t * 2 + 1
    else:
        t = t * 3 + 1
        return t + a * 2


def inner_functions(a: Any, n: int) -> Any:
    scale = n * 2 + 1

    def first(u: Any) -> Any:
        return u * scale + 1

    second = lambda u: first(u) * 2 + n  # noqa: E731
    b = first(a) + second(a) * 2
    for i in range(n):
        b = second(b) * 0.5 + i * first(b)
        if n == 3:
            scale = i * 2 + 1
    return b * 2 + first(b)


def swaps(a: Any, n: int) -> Any:
    b = a * 2 + 1
    c = a
    for _ in range(n):
        b, c = c * 2 + 1, b
        a[1:] += a[:-1] * 2
        c[0] = b[1] * 2 + 1
        n -= 1
    del b
    x = y = c * 2 + n
    x[0] = 5 * n + 1
    return x is y, y, a


def blocks(a: Any, n: int) -> Any:
    with np.errstate(all="ignore"):
        b = a / (a - a) + n * 2
        d = b * 2 + 1
    try:
        e = a[n] * 2 + 1
        f = d * 2 + e
        a[n + 1] += e * 2 + 1
    except IndexError as problem:
        f = str(problem) * 2 + "x" * n
    finally:
        g = n * 2 + 1
    import math

    h = math.sqrt(g * 2 + 1) + SHARED * n
    return b, f, g, h


def raises(a: Any, n: int) -> Any:
    a[0] = n * 2 + 1
    b = a * 2 + n
    if n >= 3:
        raise AssertionError(f"n is {n * 2 + 1}")
    a[1] = b[0] * 2 + 1
    if n == 2:
        raise ValueError(f"bad {n * 2 + 1}")
    return a[n + 2] * 2 + b[n]


PROGRAMS = [straight, loops, maybe_unbound, bound_in_a_later_turn, returns, inner_functions, swaps, blocks, raises]


def cut_function(function: Any, marked: frozenset[Place], *, timed: bool) -> FunctionType | None:
    """The function cut around the marked statements, pieces as they are."""
    source = read_function(function)
    assert isinstance(source.tree, ast.FunctionDef)
    made = cut(source.tree, marked)
    if made is None:
        return None
    pieces = {
        piece.variable: CellType(make_function(piece.tree, function, COMMON, source.filename)) for piece in made.pieces
    }
    known = {**COMMON, **pieces, CLOCK: CellType(lambda: 0.0), SPENT: CellType(lambda number, since: None)}
    return make_function(made.timed if timed else made.plain, function, known, source.filename)


def outcome(function: Any, n: int) -> Any:
    """The result or the error, and the argument after."""
    a = np.array([1.5, -2.0, 3.25, 0.5])
    try:
        result = function(a, n)
    except Exception as problem:  # noqa: BLE001
        return describe_error(problem), a.tolist()
    return repr(result), a.tolist()


def marks_of(function: Any) -> list[Place]:
    tree = read_function(function).tree
    assert isinstance(tree, ast.FunctionDef)
    return [place_of(stmt) for _, stmt in statements(tree)]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_a_function_cut_anywhere_does_the_same(function: Any) -> None:
    places = marks_of(function)
    cuts = 0
    for marked in [*combinations(places, 1), *list(combinations(places, 2))[::3]]:
        for timed in (False, True):
            made = cut_function(function, frozenset(marked), timed=timed)
            if made is None:
                continue
            cuts += 1
            for n in range(5):
                assert outcome(made, n) == outcome(function, n), (marked, n)
    assert cuts > len(places)


def test_what_sees_the_frame_is_not_cut() -> None:
    def sees(a: Any, n: int) -> Any:
        b = a * 2 + n
        c = b * 2 + a
        return c * 2 + len(locals())

    assert all(cut_function(sees, frozenset((place,)), timed=False) is None for place in marks_of(sees))


def test_a_generator_is_not_cut() -> None:
    def gives(a: Any, n: int) -> Any:
        b = a * 2 + n
        yield b * 2 + 1
        yield b * 3 + 1

    assert all(cut_function(gives, frozenset((place,)), timed=False) is None for place in marks_of(gives))


def test_pieces_that_were_too_little_stay_where_they_stand() -> None:
    tree = read_function(straight).tree
    assert isinstance(tree, ast.FunctionDef)
    marked = frozenset((place_of(tree.body[1]),))
    made, less = cut(tree, marked), cut(tree, marked, [place_of(tree.body[2])])
    assert made is not None
    assert less is not None
    assert [len(each.pieces) for each in (made, less)] == [2, 1]
    assert cut(tree, marked, [place_of(tree.body[0]), place_of(tree.body[2])]) is None
