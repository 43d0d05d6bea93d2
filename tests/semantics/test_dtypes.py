"""The row "dtypes": promotion of arrays, NumPy scalars and Python scalars; types of results."""

# The programs are written as users write them.
# ruff: noqa: PLR0912, C901, E501

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.semantics.cases import DTYPES, agree, choices, define, is_legal, sample

OPERATORS = ("+", "-", "*", "/", "//", "%", "<", "==", "&", "<<", ">=", "|", "!=", ">>")
CASTS = ("+", "*", "/", "//", "&")
WEAK: dict[str, Any] = {"t": True, "n": 3, "x": 2.5, "z": 1j, "m": -3}


def name(dtype: str) -> str:
    return "xq" if dtype == "?" else f"x{dtype}"


def many(expressions: list[str], operands: dict[str, Any]) -> None:
    """A function that gives all of the expressions."""
    text = f"def f({', '.join(operands)}):\n    return ({', '.join(expressions)},)\n"
    copied = lambda: tuple(v.copy() if isinstance(v, np.ndarray) else v for v in operands.values())  # noqa: E731
    agree(define(text), copied, need="native")


@pytest.mark.parametrize("number", range(len(OPERATORS)))
def test_pairs_of_arrays(number: int) -> None:
    """Each operator takes a tenth of the pairs, every pair comes with one operator or more."""
    operator = OPERATORS[number]
    operands = {name(dtype): sample(dtype) for dtype in DTYPES}
    pairs = [
        f"{left} {operator} {right}"
        for (i, left), (j, right) in product(enumerate(operands), enumerate(operands))
        if (i + 3 * j) % 10 == number % 10 and is_legal(f"{left} {operator} {right}", **operands)
    ]
    many(pairs, operands)


@pytest.mark.parametrize("operator", ["+", "//", "<", "&", "<<"])
def test_pairs_of_numpy_scalars(operator: str) -> None:
    operands = {name(dtype): sample(dtype)[1] for dtype in DTYPES}
    pairs = [f"{a} {operator} {b}" for a, b in product(operands, operands)]
    many([pair for pair in pairs if is_legal(pair, **operands)], operands)


@pytest.mark.parametrize("operator", ["+", "/", "-", "<"])
def test_python_scalars_are_weak(operator: str) -> None:
    """With arrays of every type and with NumPy scalars, on both sides."""
    operands = {name(dtype): sample(dtype) for dtype in DTYPES} | WEAK
    operands |= {f"s{name(dtype)}": sample(dtype)[1] for dtype in DTYPES}
    weak = [key for key in WEAK if operator != "<" or key != "z"]
    pairs = [
        pair
        for number, (a, b) in enumerate(product([key for key in operands if key not in WEAK], weak))
        for pair in ((f"{a} {operator} {b}", f"{b} {operator} {a}")[number % 2],)
        if is_legal(pair, **operands)
    ]
    many(pairs[:: 3 if operator == "+" else 4], operands)


def out_of_range(k, u, b, i, s, n):
    """Python ints that do not fit the type of the array."""
    if k == 0:
        return u + 300
    elif k == 1:
        return b - 200
    elif k == 2:
        return u + -1
    elif k == 3:
        return u + n
    elif k == 4:
        return i * n
    elif k == 5:
        return s + n
    elif k == 6:
        return u < n, u == n, u >= -n
    elif k == 7:
        u += n
        return u
    elif k == 8:
        u[1] = n
        return u
    elif k == 9:
        u[:2] = n
        return u
    elif k == 10:
        return np.minimum(u, n)
    elif k == 11:
        return np.where(u > 3, u, n)
    elif k == 12:
        return np.full(3, n, dtype=np.int8)
    elif k == 13:
        return np.array([1, n], dtype=np.uint8)
    elif k == 14:
        return np.uint8(n)
    elif k == 15:
        return u.astype(np.int8) + n
    elif k == 16:
        return np.maximum(s, n), s * 1.5, s // 2
    return np.add(u, n), np.clip(b, 0, n)


def test_python_ints_out_of_range() -> None:
    make = lambda n: (sample("B"), sample("b"), sample("i"), np.uint8(7), n)  # noqa: E731
    agree(out_of_range, *choices(18, lambda: make(5), lambda: make(300), lambda: make(-1), lambda: make(2**40)))


def joined(flag, k, v, x):
    """Weak and strong scalars that meet: each side keeps its own type."""
    a = 1 if flag else np.float32(1)
    b = 2.5 if flag else x
    c = k if flag else v[0]
    if flag:
        d = k + 1
        e = np.int8(3)
    else:
        d = v.sum()
        e = 3
    return a + v, v * b, v + c, c, d, v * d, e + np.int8(100), a, b


def carried(v, n, start):
    """A Python scalar that becomes NumPy's in the course of a loop, or does not if the loop is empty."""
    total, product_, largest, count = 0, start, 1.0, 0
    for i in range(n):
        total += v[i]
        product_ = product_ * v[i]
        largest = max(largest, v[i])
        count += 1
    return total, product_, largest, count, v * total, v + product_, v + largest


def test_scalars_through_joins_and_loops() -> None:
    makers = [
        lambda d=d, flag=flag: (flag, 3, sample(d), np.float32(2.5)) for d in ("f", "b") for flag in (True, False)
    ]
    agree(joined, *makers)
    agree(
        carried,
        *[lambda d=d, n=n, s=s: (sample(d), n, s) for d, s in (("f", 1), ("f", 0.5), ("B", 1)) for n in (0, 1, 4)],
    )


def results(a, b, z, k):
    """NumPy scalars, 0-d arrays and Python numbers as results."""
    return (
        a[0], a[0] + 1, a.sum(), a[k], z + 1, z[()], z.sum(), z, z * 2.0, np.sqrt(z), abs(z), -z, z[...], a[:1][0],
        a.size, a.ndim, a.shape, a.shape[0] + 1, len(a), a.max(), a.argmax(), a.any(), a.mean(), np.add(a[0], b[0]),
        a.dot(b), a @ b, np.array(a[0]), np.asarray(3), np.float32(k), float(a[0]), int(a[1]), bool(a[0]), a[0] > b[0],
        a[0] == 1, not a[0], a.itemsize, a.nbytes, z.shape, np.array(2.5) * 2, np.array(1) + a[0], z > 1, np.int8(3) // 2,
    )  # fmt: skip


def test_scalars_and_arrays_without_axes() -> None:
    agree(results, *[lambda d=d: (sample(d), sample(d)[::-1].copy(), np.array(2.5), 1) for d in ("f", "B")])
    agree(results, lambda: (sample("l"), sample("l"), np.array(3), 0))


def strides(c, f, t, s):
    """The order of axes of results follows that of the operands."""
    return (
        c + 1, f + 1, t + 1, s * 2, c + f, f + c, f + f, f + t, np.sqrt(f), np.where(f > 0, f, t), f.copy(), f.copy("K"),
        f.copy("F"), np.array(f), np.array(t, order="C"), f.astype(np.float32), f.T, f.T + 1, c.reshape(-1), f[::2] + 1,
        f[:, 1:], f[::-1] + 1, t.sum(axis=0), f.sum(axis=1, keepdims=True), np.zeros_like(f), np.empty_like(s).shape,
        np.full_like(t, 2), -f, f > 1, np.maximum(f, c), c[:, None] + 1, f[None] + 1, f.transpose(), np.abs(t), f ** 2,
        np.concatenate((f, f)), np.stack((f, f)), f.cumsum(axis=0), np.ones((3, 4)) + f, f + np.arange(4.0),
    )  # fmt: skip


def test_strides_of_results() -> None:
    def make(shape=(3, 4)):
        c = np.arange(12.0).reshape(shape) - 3
        return c, np.asfortranarray(c), np.ascontiguousarray(c.T).T, np.repeat(c, 2, axis=1)[:, ::2]

    agree(strides, make)


def strides_of_chosen(a, b, flag, n):
    """Which array it is shows only at run time, and so does the order of its axes."""
    x = a if flag else b
    c, d = a, b
    for _ in range(n):
        c, d = d, c + 1
    return x + 1, np.array(x), x.copy(), x.sum(axis=0), np.zeros_like(x), x.T * 2, c, d, c + d


def test_strides_of_results_of_arrays_chosen_at_run_time() -> None:
    c, f = np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(12.0).reshape(3, 4))
    makers = [lambda flag=flag, n=n: (c, f, flag, n) for flag in (True, False) for n in (0, 1, 2, 3)]
    agree(strides_of_chosen, *makers)
