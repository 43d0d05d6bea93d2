"""np.ascontiguousarray: the array itself where it is contiguous, else a copy, for every way an array can lie."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from tests.numpy_rules.samples import FORMS
from tests.semantics.cases import agree, choices


def contiguous(k, a):
    if k == 0:
        return np.ascontiguousarray(a)
    elif k == 1:
        return np.ascontiguousarray(a.T)
    elif k == 2:
        return np.ascontiguousarray(a[1:]), np.ascontiguousarray(a[:2].T)
    elif k == 3:
        return np.ascontiguousarray(a[:, ::2]), np.ascontiguousarray(a[:, 1:-1])
    elif k == 4:
        return np.ascontiguousarray(a.reshape(2, 2, -1).transpose(1, 2, 0))
    elif k == 5:
        b = np.ascontiguousarray(a.T)
        b[0] = 7
        return b
    elif k == 6:
        return np.ascontiguousarray(a[:, None, :]), np.ascontiguousarray(a[:, 1])
    return np.ascontiguousarray(a[::-1])


def part_or_whole(a):
    return np.ascontiguousarray(a[:, : a.shape[0]])


def matrix(rows: int, columns: int, form: str = "c", dtype: str = "d") -> tuple[np.ndarray]:
    return (FORMS[form](np.arange(rows * columns).reshape(rows, columns).astype(dtype)),)


def test_contiguous_or_copied() -> None:
    made = [lambda shape=shape: matrix(*shape) for shape in ((4, 5), (4, 3), (4, 4), (4, 1), (1, 4), (0, 4), (4, 0))]
    agree(contiguous, *choices(8, *made, lambda: matrix(4, 5, dtype="F")))
    agree(part_or_whole, *made, need="right")


def test_contiguous_where_strides_decide() -> None:
    made = [lambda form=form: matrix(4, 6, form) for form in FORMS if form != "c"]
    agree(contiguous, *choices(8, *made), need="right")


def transposed(a: Any) -> Any:
    return np.ascontiguousarray(a.T)


def test_transposed_arrays_are_copied_by_compiled_code() -> None:
    program = weft.program(transposed, fallback="error")

    assert program(*matrix(4, 5)).tolist() == transposed(*matrix(4, 5)).tolist()
    assert (program.stats.numpy_calls, program.stats.resumes) == (0, 0)
