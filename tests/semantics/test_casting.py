"""The rows "dtypes" and "errors": casting rules of `out=`, in-place operators and stores, with NumPy's words."""

# The programs are written as users write them.
# ruff: noqa: PLR0912, PLR0917, C901

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run
from tests.semantics.cases import agree, choices, define, sample

SOME = ("?", "b", "l", "B", "f", "d", "D")


@pytest.mark.parametrize("operator", ["+", "/", "//", "&", "**"])
def test_in_place_operators(operator: str) -> None:
    """All pairs in one function: each call runs one of them and sees the array afterwards."""
    pairs = list(product(SOME, SOME))
    lines = [f"    if k == {number}:\n        a{i} {operator}= b{j}\n" for number, (i, j) in enumerate(names())]
    text = f"def f(k, {', '.join(parameters())}):\n{''.join(lines)}"
    numbers = [number for number in range(len(pairs)) if number % 5 == "+/&//**".index(operator) % 5]
    makers = [lambda k=k: (k, *arrays(), *arrays()) for k in numbers]
    agree(define(text), *makers, ulps=4)


def names() -> list[tuple[int, int]]:
    return list(product(range(len(SOME)), range(len(SOME))))


def parameters() -> list[str]:
    return [f"a{i}" for i in range(len(SOME))] + [f"b{i}" for i in range(len(SOME))]


def arrays() -> list[np.ndarray]:
    return [abs(sample(dtype)).astype(dtype) for dtype in SOME]


def outputs(k, x, y, f, i, b, big, flat):
    """`out=` of every kind."""
    if k == 0:
        return np.add(x, y, out=f)
    elif k == 1:
        return np.add(x, y, out=i)
    elif k == 2:
        return np.multiply(i, 2, out=x)
    elif k == 3:
        return np.add(x, 1, out=big)
    elif k == 4:
        return np.add(big, 1, out=x)
    elif k == 5:
        np.sqrt(x, out=x)
    elif k == 6:
        return np.less(x, y, out=b)
    elif k == 7:
        return np.less(x, y, out=x)
    elif k == 8:
        return np.add(x[1:], x[:-1], out=x[1:])
    elif k == 9:
        return np.sum(big, axis=0, out=x)
    elif k == 10:
        return np.sum(big, axis=0, out=i)
    elif k == 11:
        return np.add(i, i, dtype=np.float32, out=f)
    elif k == 12:
        return np.add(x, x, dtype=np.int64)
    elif k == 13:
        return np.add(x, y, out=(f,))
    elif k == 14:
        return np.add(x, y, out=flat)
    elif k == 15:
        return np.negative(b)
    elif k == 16:
        return b - b
    elif k == 17:
        return np.matmul(big, x, out=flat)
    elif k == 18:
        return np.matmul(big[:1], x, out=flat)
    elif k == 19:
        return np.dot(big, x, out=flat)
    elif k == 20:
        return np.dot(big[:1], x, out=flat)
    elif k == 21:
        return np.cumsum(x[:1], out=flat)
    elif k == 22:
        return np.sum(big[:, :1], axis=0, out=flat)
    return x.sum(dtype=np.float32), i.sum(dtype=np.int8), np.cumsum(x, dtype=np.float32)


def test_outputs() -> None:
    def make():
        x = np.array([1.5, 2.5, -1.0, 4.0])
        return x, x[::-1].copy(), x.astype("f"), np.arange(4), x > 2, np.arange(12.0).reshape(3, 4), np.zeros(3)

    agree(outputs, *choices(24, make))


def product_into(a, x, out):
    np.dot(a, x, out=out)


@pytest.mark.parametrize("out", [np.zeros(6)[::2], np.zeros(3)[::-1], np.zeros((3, 2))[:, 1]])
def test_dot_refuses_what_is_not_contiguous(out: np.ndarray) -> None:
    arguments = (np.ones((3, 4)), np.ones(4), out)
    assert_same_outcome(run(weft.program(product_into), arguments), run(product_into, arguments))


def stores(k, x, i, u, z, n, s):
    """Assignments convert as NumPy does, or raise."""
    if k == 0:
        i[0] = s
    elif k == 1:
        i[:] = x
    elif k == 2:
        u[:] = i
    elif k == 3:
        x[0] = z[0]
    elif k == 4:
        x[:] = z
    elif k == 5:
        x[1:] = x[:-1]
    elif k == 6:
        x[0] = i
    elif k == 7:
        x[:2] = i[:3]
    elif k == 8:
        x[...] = 3
        z[:] = 2.5
    elif k == 9:
        u[0] = n
    elif k == 10:
        i[0] = s * 1e300
    elif k == 11:
        x[:] = (1, 2, 3, n)
    elif k == 12:
        x[0:1] = i[2]
        x[1] = True
    elif k == 13:
        x[7] = 1.0
    else:
        x[n] = n


def test_stores() -> None:
    def make(n, s):
        return sample("d"), sample("l"), sample("B"), sample("D"), n, s

    agree(stores, *choices(15, lambda: make(1, 2.5), lambda: make(-1, np.nan), lambda: make(300, 1e10)))


def other_stores(k, x, i):
    x[1] = 7
    if k == 0:
        x[0] = None
    elif k == 1:
        i[0] = "3"
    else:
        x[0] = (1, 2)


def test_stores_of_other_things() -> None:
    agree(other_stores, *choices(3, lambda: (sample("d"), sample("l"))), need="right")
