"""The row "aliasing": overlapping operands in one array, arguments that are the same or overlap, what results are."""

# The programs are written as users write them.
# ruff: noqa: PLR0912, PLR0915, PLW0127, C901

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.end_to_end.data import f8, i8
from tests.semantics.cases import agree, choices


def within(k, a, m):
    """The right side is computed before the first store."""
    if k == 0:
        a[1:] += a[:-1]
    elif k == 1:
        a[:-1] += a[1:]
    elif k == 2:
        a[:] = a[::-1]
    elif k == 3:
        a[::-1] -= a
    elif k == 4:
        a[::2] = a[1::2][: len(a[::2])] if len(a) > 5 else 1
    elif k == 5:
        m[:] = m.T
    elif k == 6:
        m += m.T
    elif k == 7:
        m[1:, 1:] = m[:-1, :-1] + m[1:, :-1]
    elif k == 8:
        m[0] = m[:, 0]
    elif k == 9:
        a[1:-1] = 0.5 * (a[2:] + a[:-2])
    elif k == 10:
        a *= a[0]
    elif k == 11:
        a -= a.mean()
    elif k == 12:
        m /= m[0, 0]
        m[:, 1] *= m[1, 1]
    elif k == 13:
        a[0], a[-1] = a[-1], a[0]
    elif k == 14:
        for i in range(1, len(a)):
            a[i] += a[i - 1]
    elif k == 15:
        b = a[1:]
        b[:] = a[:-1]
        b += a[1:]
        return b
    elif k == 16:
        b, c = a, a[:]
        b += 1
        return b, c
    elif k == 17:
        m[:] = m @ m
    elif k == 18:
        m[:, ::-1] = m[::-1]
    elif k == 19:
        a[a.argmax() :] = a[: len(a) - a.argmax()]
    return a


def within_few(k, a, m):
    """The same for arrays of other layouts."""
    if k == 0:
        a[1:] += a[:-1]
    elif k == 1:
        a[:] = a[::-1]
    elif k == 2:
        m[:] = m.T
    elif k == 3:
        m[1:, 1:] = m[:-1, :-1] + m[1:, :-1]
    elif k == 4:
        a[1:-1] = a[2:] + a[:-2]
    else:
        m[:, ::-1] = m[::-1]
    return a


def test_operands_that_overlap() -> None:
    makers = [
        lambda: (f8(6), f8(4, 4)),
        lambda: (f8(12)[::2], f8(4, 4).T),
        lambda: (f8(6)[::-1], np.asfortranarray(f8(4, 4))),
        lambda: (i8(6), f8(8, 8)[::2, ::2]),
    ]
    agree(within, *choices(20, makers[0]))
    agree(within_few, *[lambda k=k, make=make: (k, *make()) for make in makers[1:] for k in range(6)])


def between(a, b):
    a[1:] = b[:-1] * 2
    b[0] = a[1] + 1
    a += b
    return a, b, a is b


def between_(a, b):
    a[1:] = b[:-1] * 2
    b[0] = a[1] + 1
    a += b
    return a, b


def shared(kind: str):
    x = f8(12)
    if kind == "same":
        return x[:8], x[:8]
    if kind == "shifted":
        return x[:8], x[1:9]
    if kind == "reversed":
        return x[:8], x[:8][::-1]
    if kind == "interleaved":
        return x[::2], x[1::2]
    if kind == "part":
        return x[:8], x[:8][:8]
    if kind == "apart":
        return x[:4], x[4:8]
    if kind == "itself":
        return (x, x)
    return x[:6], np.broadcast_to(x[:1], (6,))


def test_arguments_that_overlap() -> None:
    kinds = ("same", "shifted", "reversed", "interleaved", "part", "apart", "itself")
    agree(
        between_,
        *[lambda kind=kind: shared(kind) for kind in kinds],
        *[lambda kind=kind: shared(kind) for kind in kinds],
    )
    agree(between_, lambda: shared("repeated"), need="right")
    agree(between, lambda: shared("itself"), need="right")


def given_back(k, a, b, flag):
    """The very argument, a view of it, or something new."""
    if k == 0:
        return a if flag else b
    elif k == 1:
        return a[:], a[:0], a.T, a[None]
    elif k == 2:
        return np.asarray(a), a.reshape(a.shape), a.copy(), np.array(a, copy=True)
    elif k == 3:
        x = a
        if flag:
            x = b
        x = x
        return x, [a, b], (b, a)
    elif k == 4:
        return a[1:2], a[::-1], a[0:1][0]
    elif k == 5:
        for _ in range(3):
            a, b = b, a
        return a, b
    return np.asarray(b), +a, a.astype(a.dtype, copy=False), a.astype(np.float64)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_what_results_are(size: int) -> None:
    makers = [lambda flag=flag: (f8(size), f8(size), flag) for flag in (True, False)]
    agree(given_back, *choices(7, *makers))
    strided = [lambda flag=flag: (f8(2 * size)[::2], f8(3 * size)[1::3], flag) for flag in (True, False)]
    agree(given_back, *[lambda k=k, make=make: (k, *make()) for k in (0, 1, 3, 5) for make in strided])


def chosen(a, b, flag):
    return a if flag else b


CHOICES = {
    "empty": lambda: np.zeros(0),
    "empty with an axis": lambda: np.zeros((3, 0)),
    "one with a stride": lambda: np.zeros(4)[1:2:2],
    "one": lambda: np.zeros(1),
    "no axis": lambda: np.zeros(()),
    "reversed": lambda: np.zeros(4)[::-1],
    "a row of a column": lambda: np.zeros((4, 3))[1:2, ::2],
    "every other": lambda: np.zeros((4, 3))[::2],
}


@pytest.mark.parametrize("make", CHOICES.values(), ids=CHOICES)
def test_an_array_chosen_at_run_time_is_itself(make) -> None:
    a, b = make(), make()
    program = weft.program(chosen, fallback="error")

    assert program(a, b, True) is a
    assert program(a, b, False) is b
    assert program(a, a, True) is a


def strides_of_views(k, a):
    if k == 0:
        return a[1:2], a[:, :1], a[:1, :1], a[2:3, ::2]
    elif k == 1:
        return a[None], a[:, None], a[:1][None], a.T[:1]
    return a[::-1][:1], a[::2][1:2], a[1:2].T, a[0][None]


def test_strides_of_axes_of_length_one() -> None:
    """They do not matter to anyone but who looks."""
    program = weft.program(strides_of_views, fallback="error")
    for a in (np.arange(12.0).reshape(3, 4), np.arange(36.0).reshape(9, 4)[::9, ::4], np.zeros((3, 0))):
        for k in range(3):
            actual, expected = program(k, a), strides_of_views(k, a)
            assert [view.strides for view in actual] == [view.strides for view in expected], (a.shape, k)
            assert [view.flags.num for view in actual] == [view.flags.num for view in expected], (a.shape, k)


def single(k, A):
    f = A.reshape(-1)
    if k == 0:
        f[1:] = f[:-1] * 2
    elif k == 1:
        f += 1
        A[:, 0] *= f[0]
    else:
        g = A.reshape(1, -1)
        g[:, 1:] = g[:, :-1]
        return g
    return f


def test_a_single_element_reshaped() -> None:
    agree(single, *choices(3, lambda: (np.ones((1, 1)),), lambda: (np.ones((2, 2)),), lambda: (np.ones((1, 3)),)))
    agree(single, *choices(3, lambda: (np.ones((3, 1)),), lambda: (np.ones((0, 1)),)))
