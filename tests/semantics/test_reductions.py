"""The rows "floats: sums" and "errors": reductions over nothing, over one axis, their types and warnings."""

# The programs are written as users write them.
# ruff: noqa: C901

from __future__ import annotations

import numpy as np
import pytest

from tests.semantics.cases import agree, choices, sample


def over_all(k, a):
    if k == 0:
        return a.sum(), a.prod(), np.sum(a), np.any(a), np.all(a), np.count_nonzero(a), a.size
    elif k == 1:
        return a.min()
    elif k == 2:
        return np.max(a)
    elif k == 3:
        return a.argmin()
    elif k == 4:
        return a.mean()
    elif k == 5:
        return a.var(), a.std()
    elif k == 6:
        return a.max(initial=3), a.sum(initial=2)
    elif k == 7:
        return np.cumsum(a), a.cumprod()
    elif k == 8:
        return a.dot(a), a @ a
    elif k == 9:
        return np.argmax(a)
    total = 0
    for x in a:
        total += x
    return total


def over_axes(k, a):
    if k == 0:
        return a.sum(axis=0), a.sum(axis=1), a.sum(axis=-1, keepdims=True), a.prod(axis=0), a.any(axis=1), a.all(axis=0)
    elif k == 1:
        return a.max(axis=0)
    elif k == 2:
        return a.min(axis=1)
    elif k == 3:
        return a.argmax(axis=0)
    elif k == 4:
        return a.mean(axis=0), a.mean(axis=1)
    elif k == 5:
        return a.std(axis=1, keepdims=True), a.var(axis=0, ddof=1)
    elif k == 6:
        return np.cumsum(a, axis=1), a.cumsum()
    elif k == 7:
        return a.sum(axis=(0, 1)), np.max(a, axis=(0, 1))
    elif k == 8:
        return a.sum(axis=2)
    return np.argmin(a, axis=1)


@pytest.mark.parametrize("dtype", ["d", "B", "?"])
def test_reductions_of_all(dtype: str) -> None:
    agree(
        over_all,
        *choices(11, lambda: (sample(dtype),), lambda: (sample(dtype)[:0],), lambda: (sample(dtype)[1:2],)),
        ulps=4,
    )


def test_reductions_over_axes() -> None:
    makers = [lambda shape=shape: (np.resize(sample("d"), shape),) for shape in ((3, 4), (0, 4), (3, 0), (0, 0))]
    agree(over_axes, *choices(10, *makers), ulps=4)


def special(k, a):
    if k == 0:
        return a.max(), a.min(), a.argmax(), a.argmin()
    elif k == 1:
        return a.sum(), a.mean()
    elif k == 2:
        return a.prod(), a.std()
    elif k == 3:
        return np.cumsum(a)
    elif k == 4:
        return a.dot(a)
    return np.maximum.reduce(a), np.add.reduce(a)


def test_reductions_of_odd_floats() -> None:
    """NaN wins; infinities that meet warn as NumPy warns."""
    rows = (
        [1.0, np.nan, 3.0],
        [np.inf, -np.inf, 1.0],
        [1e308, 1e308, -1e308],
        [-0.0, -0.0],
        [np.nan, np.inf],
        [5e-324],
    )
    agree(special, *choices(6, *[lambda row=row: (np.array(row),) for row in rows]))
    agree(special, *choices(6, *[lambda row=row: (np.array(row, "f"),) for row in ([1.0, np.nan], [3e38, 3e38])]))
