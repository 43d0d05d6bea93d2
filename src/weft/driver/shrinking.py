"""The same call on small arrays, where the interpreter is quick enough.

before:  f(A, B, n) with A[1000, 1001], B[1001], n = 1000
after:   f(A, B, n) with A[6, 7], B[7], n = 6, the first elements of each

Extents that are equal stay equal, those a few apart stay as far apart, and so do ints that look like extents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from weft.driver.snapshots import Call, arrays_in, blocks

_SMALL: Final = 6
_NEAR: Final = 4  # extents this close belong together: n, n + 1, n - 2


def shrink(call: Call) -> Call | None:
    """The call on small arrays; None where its arrays overlap or stand inside other objects."""
    given = [*call.args, *call.kwargs.values()]
    plain = [value for value in given if type(value) is np.ndarray]
    distinct = list(arrays_in(plain))
    if len(list(arrays_in(given))) != len(distinct) or any(len(block) > 1 for block in blocks(distinct)):
        return None
    renamed = _new_extents({extent for array in distinct for extent in array.shape})
    if all(old == new for old, new in renamed.items()):
        return None
    cut = _cutter(renamed)
    return Call(call.function, tuple(cut(value) for value in call.args), {k: cut(v) for k, v in call.kwargs.items()})


def _new_extents(extents: set[int]) -> dict[int, int]:
    renamed: dict[int, int] = {}
    last, new = -_NEAR - 1, 0
    for extent in sorted(extents):
        if extent - last <= _NEAR and last > _SMALL:
            new += extent - last
        elif extent <= _SMALL:
            new = extent
        else:
            new = max(new + 1, _SMALL)
        renamed[extent], last = new, extent
    return renamed


def _cutter(renamed: Mapping[int, int]) -> Callable[[Any], Any]:
    done: dict[int, Any] = {}

    def cut(value: Any) -> Any:
        if type(value) is int:
            return renamed.get(value, value)
        if type(value) is not np.ndarray:
            return value
        if id(value) not in done:
            part = value[tuple(slice(0, renamed[extent]) for extent in value.shape)]
            done[id(value)] = part.copy(order="K")
        return done[id(value)]

    return cut
