"""Statements around statements: try, with np.errstate, match; local imports; functions under other names."""

# The programs are written as users write them.
# pyright: reportPossiblyUnboundVariable=false
# ruff: noqa: C416, E731, FURB171, I001, PIE804

from __future__ import annotations

import enum

import numpy as np
import pytest

import weft
from tests.compiling import PLAINLY
from tests.end_to_end.data import f8
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.end_to_end.table import Row, Table

pytestmark = PLAINLY

TABLE = Table()


@TABLE.parametrize()
def test_blocks(row: Row) -> None:
    row.check()


class Mode(enum.Enum):
    """What a program is told."""

    FAST = 1
    SLOW = 2


def quotient(v, i):
    return v[i] / 0.0


def square(x):
    return x * x


def cube(x):
    return x * x * x


# ---------------------------------------------------------------- try


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 9), need="compiled")
def handlers(v, i):
    try:
        x = v[i]
    except IndexError:
        x = -1.0
    else:
        x = x + v[3 - i]
    try:
        y = v[i + 1]
    except (ValueError, IndexError) as problem:
        y = str(problem)
    return x, y


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 9), need="compiled")
def calls_inside_try(v, i):
    s = 0
    try:
        s += 1
        y = quotient(v, i)
        s += 2
    except IndexError as problem:
        return "caught", str(problem), s
    finally:
        v[0] = 7
        s += 10
    return s, y


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 5), lambda: (f8(4), 9), need="compiled")
def try_in_a_loop(v, i):
    out = []
    for k in range(3):
        try:
            out.append(v[i - k])
        except IndexError:
            out.append(-5.0)
            continue
        finally:
            out.append(1.0)
    return out


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 5), need="compiled")
def loop_in_a_try(v, n):
    s, k = 0.0, 0
    try:
        while True:
            if k >= n:
                break
            s += v[k]
            k += 1
    except IndexError:
        s = -s
    return s, k


@TABLE.add(lambda: (f8(4), 2), lambda: (f8(4), 9), need="compiled")
def nothing_handles_it(v, i):
    try:
        v[0] = 5.0
        x = v[i]
    finally:
        v[1] = 6.0
    return x


@TABLE.add(lambda: (f8(4), 1), lambda: (f8(4), 0), need="compiled")
def raised_and_caught(v, n):
    try:
        if n == 0:
            raise ValueError(f"n is {n} of {len(v)}")
        assert n > 0, "never"
        w = v / n
    except ValueError as problem:
        raise KeyError("other") from problem
    return w


# ---------------------------------------------------------------- with


@TABLE.add(lambda: (f8(4), 1), lambda: (f8(4), 9), need="compiled")
def errstate(v, i):
    with np.errstate(divide="ignore", invalid="ignore"):
        x = v / 0.0
        q = quotient(v, i)
        r = v[i]
    y = (v + 1) / 0.0
    with np.errstate(all="ignore"):
        z = np.exp(np.abs(v) * 1e5) + x
        with np.errstate(over="warn"):
            u = np.exp(np.abs(v) * 1e6)
    return x, y, q, r, z, u


@TABLE.add(lambda: (f8(4), 1), lambda: (f8(4), 8), need="compiled")
def errstate_in_a_loop(v, i):
    y = 0.0
    for k in range(3):
        with np.errstate(invalid="ignore", divide="ignore"):
            y += v[k] / 0.0
            y += v[i]
    return y


@pytest.mark.parametrize("outer", ["warn", "ignore", "raise"])
def test_errstate_inside_errstate(outer) -> None:
    program = weft.program(errstate, fallback="error")
    with np.errstate(all=outer):
        assert_same_outcome(run(program, (f8(4), 1)), run(errstate, (f8(4), 1)))


def underflow(v):
    with np.errstate(all="warn"):
        return v * v


def test_underflow_is_left_to_python() -> None:
    assert_same_outcome(run(weft.program(underflow), (np.full(3, 1e-200),)), run(underflow, (np.full(3, 1e-200),)))


# ---------------------------------------------------------------- match, strings, enums


@TABLE.add(lambda: (0,), lambda: (2,), lambda: (-2,), lambda: (9,))
def match_on_numbers(n):
    match n * 1:
        case 0:
            return "zero"
        case 1 | 2:
            r = "few"
        case _ if n < 0:
            r = "below"
        case _:
            r = "many"
    return r


@TABLE.add(lambda: (f8(3), "fast"), lambda: (f8(3), "slow"), lambda: (f8(3), "other"))
def strings(v, mode):
    if mode.upper().startswith("FA") and mode in ("fast", "slow"):
        return v * 2, mode + "x", len(mode), mode[1:], mode[0], f"{mode:>6}-{3}", mode.split("a"), mode != "fast"
    match mode:
        case "slow":
            return v
        case None:
            return None
    return [letter for letter in mode]


@TABLE.add(lambda: (Mode.FAST, f8(3)), lambda: (Mode.SLOW, f8(3)))
def enums(mode, v):
    if mode is Mode.FAST:
        return v * 2, mode, mode == Mode.FAST, mode in (Mode.FAST,), mode.value
    return v, mode.name, mode != Mode.FAST


# ---------------------------------------------------------------- imports and functions


@TABLE.add(lambda: (np.abs(f8(4)), 1), lambda: (np.abs(f8(4)), 9))
def imports(v, i):
    import math
    import numpy as np2
    import numpy.linalg
    import numpy.linalg as la
    from math import pi, sqrt as root

    y = v[i]
    return root(v[0]) + math.pi + pi, np2.sum(v), la is numpy.linalg, y


@TABLE.add(lambda: (f8(3), 2), lambda: (f8(3), 0), need="compiled")
def functions_under_other_names(v, n):
    g = square
    h = g if n else cube
    t = 0
    for f in (square, cube):
        t += f(n)
    add = lambda x, k=2: x + k
    table = {"s": square}
    s = table["s"]
    return g(v), h(n), t, add(n), add(n, k=5), s(n)


def everything(*args, **kw):
    return args, kw, len(args)


def some(a, *rest, b=2, **kw):
    return a + b + sum(rest) + kw.get("z", 0)


@TABLE.add(lambda: (f8(3),))
def stars(v):
    return everything(1, v, k=3), some(1, 2, 3), some(1, b=5, z=7), some(*[1, 2], **{"b": 3})


@TABLE.add(lambda: (f8(3), 1), lambda: (f8(3), 0))
def deleted_names(v, n):
    x = v * 2
    del x
    if n:
        x = 1
    return x
