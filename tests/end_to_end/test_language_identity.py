"""Lists, dicts and objects that come in, beside those that a program makes: who changes, and who is one object."""

# The programs are written as users write them.
# ruff: noqa: RUF005

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.outcome import assert_native, assert_same_outcome, run
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


class Point(NamedTuple):
    x: Any
    y: Any = 2


@dataclass
class Grid:
    a: Any
    n: Any = 3


@TABLE.parametrize()
def test_identity(row: Row) -> None:
    row.check()


@TABLE.add(lambda: ([1.0, 2.0], {"v": f8(3), "u": 2}))
def copies_of_arguments_change(xs, d):
    ys = xs.copy()
    ys.append(1)
    zs = xs[:]
    zs[0] = 5
    e = d.copy()
    e["n"] = 4
    ws = list(xs)
    ws += xs
    return ys, zs, e, ws, xs + [1], {**d, "q": xs}, dict(d), xs, d


@TABLE.add(lambda: ([1.0, 2.0], 1), lambda: ([1.0, 2.0], 0))
def an_argument_or_a_new_list(xs, k):
    ys = xs
    if k > 0:
        ys = [1.0, 2.0]
    return ys, xs


@TABLE.add(lambda: ([1.0, 2.0], 0), lambda: ([1.0, 2.0], 3))
def a_copy_of_an_argument_grows(xs, n):
    ys = list(xs)
    for i in range(n):
        ys.append(float(i))
    return ys, xs


@TABLE.add(lambda: (f8(3),))
def lists_inside_of_objects(v):
    held = [v]
    g = Grid(v, held)
    held.append(2)
    g.n.append(3)
    p = Point([g, g], held)
    p.x.append(4)
    return g, held, p, p.x


@TABLE.add(lambda: (f8(3), 0), lambda: (f8(3), 4))
def a_list_in_an_object_grows(v, n):
    g = Grid(v, [1.0])
    for _ in range(n):
        g.n.append(2.0)
    return g, g.n


@TABLE.add(lambda: (Point(1, 2),), lambda: ((1, 2.5),))
def other_sequences_of_a_named_tuple(p):
    return tuple(p), list(p), p[::-1]


@TABLE.add(lambda: ([1.0, 2.0], 1), lambda: ([1.0, 2.0], 0), need="right")
def a_choice_of_lists_is_changed(xs, k):
    ys = xs
    if k > 0:
        ys = [1.0, 2.0]
    ys.append(3.0)
    return ys, xs


@TABLE.add(lambda: ([1.0, 2.0], 0), lambda: ([1.0, 2.0], 2), need="right")
def an_argument_gives_way_to_longer_lists(xs, n):
    for _ in range(n):
        xs = xs + [1.0]
    return xs


@TABLE.add(lambda: (f8(6),), need="right")
def the_shape_of_an_array_in_an_object(v):
    a = v * 2
    g = Grid(a)
    d = {"a": a}
    a.shape = (2, 3)
    return g, d, a


def appends(xs, d):
    ys = xs
    ys.append(1)


def appends_inside(xs, d):
    held = (xs, {"k": xs})
    held[1]["k"].append(3)


def adds_in_place(xs, d):
    xs += [4]


def deletes(xs, d):
    del xs[0]


def stores(xs, d):
    d["w"] = 2


def updates(xs, d):
    d.update({"w": 1})


def adds_to_an_item(xs, d):
    d["u"] += 1


def merges_in_place(xs, d):
    d |= {"z": 1}


def changes_options(xs, d, *args, **options):
    options["z"] = args
    return options


CHANGES = [
    appends, appends_inside, adds_in_place, deletes, stores, updates, adds_to_an_item, merges_in_place, changes_options,
]  # fmt: skip


@pytest.mark.parametrize("function", CHANGES)
def test_arguments_are_not_changed_in_compiled_code(function) -> None:
    program: Any = weft.program(function, fallback="error")
    with pytest.raises(weft.CompileError):
        program([1.0], {"u": 1})


@pytest.mark.filterwarnings("ignore::weft.FallbackWarning")
@pytest.mark.parametrize("function", CHANGES)
def test_python_changes_arguments(function) -> None:
    program = weft.program(function)
    for _ in range(2):
        assert_same_outcome(run(program, ([1.0], {"u": 1})), run(function, ([1.0], {"u": 1})))


def hands_back(xs, d, k):
    ys, e = xs, d
    if k:
        e = {"v": 2.0}
    g = Grid(xs)
    made = [g, g]
    return ys, e, (xs,), [d], made, g, {"g": g, "made": made}


def test_what_came_in_and_what_was_made_is_one_object() -> None:
    program = weft.program(hands_back, fallback="error")
    xs, d = [1.0], {"v": 2.0}
    for k in (0, 1):
        ys, e, held, listed, made, g, both = program(xs, d, k)
        assert ys is held[0] is g.a is xs
        assert (e is d) == (not k)
        assert listed[0] is d
        assert made[0] is made[1] is g is both["g"]
        assert both["made"] is made
    assert_native(program, 2)
