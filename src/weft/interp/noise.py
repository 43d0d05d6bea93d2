"""Noise: every operation whose last bits are open gives a result moved at random, by as much as is allowed.

in:   which scalar operations are free (`analysis/exactness.py`), a seed
out:  a `Noise` for `interpret`; how far the answers of several seeds lie apart is what the freedom amounts to

Functions move by 8 units in the last place, 4 for either side of a comparison. Sums of n numbers move by
(16 + log2 n + sqrt n) eps of the sum of their absolute values: the bound of NumPy's pairwise sum, and what its plain
sums along other axes usually lose. Products move by n eps, matrix products by n eps |A||B|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.ir.exprs import Op

NOISE: Final = -1  # where it stands among the values of an interpreted program
_FUNCTION_ULPS: Final = 8.0


class Noise:
    """Moves results. One per run of a program."""

    def __init__(self, is_free: Callable[[Op], bool], seed: int) -> None:
        self._is_free = is_free
        self._random = np.random.default_rng(seed)
        self._free: dict[int, tuple[Op, bool]] = {}

    def operation(self, expr: Op, result: Any) -> Any:
        """The result of a scalar operation (or of one on whole arrays)."""
        known = self._free.get(id(expr))
        if known is None:
            known = self._free[id(expr)] = (expr, self._is_free(expr))
        return self._moved(result, _FUNCTION_ULPS, np.abs(result)) if known[1] else result

    def reduction(self, operation: str, result: Any, operand: Any, axes: tuple[int, ...]) -> Any:
        """The result of a reduction of `operand` over `axes`."""
        if operation not in ("add", "multiply") or result.dtype.kind not in "fc":
            return result
        count = math.prod(operand.shape[axis] for axis in axes)
        if operation == "multiply":
            return self._moved(result, count, np.abs(result))
        sizes = np.abs(operand).sum(axis=axes).reshape(np.shape(result))
        return self._moved(result, 16.0 + math.log2(max(count, 1)) + math.sqrt(count), sizes)

    def product(self, result: Any, lhs: Any, rhs: Any) -> Any:
        """The result of a matrix product."""
        if result.dtype.kind not in "fc":
            return result
        return self._moved(result, lhs.shape[-1], np.matmul(np.abs(lhs), np.abs(rhs)))

    def _moved(self, result: Any, amount_eps: float, scale: Any) -> Any:
        if result.dtype.kind not in "fc":
            return result
        distance = amount_eps * float(np.finfo(result.dtype).eps) * scale
        moved: Any = np.asarray(result + self._signs(np.shape(result)) * distance)
        if result.dtype.kind == "c":
            moved += 1j * self._signs(np.shape(result)) * distance
        # An infinity stays what it is: its distance is infinite, and a difference of infinities no number.
        unusual = ~np.isfinite(moved)
        moved[unusual] = np.asarray(result)[unusual]
        return moved.astype(result.dtype)[()]

    def _signs(self, shape: tuple[int, ...]) -> Any:
        """Between 0.25 and 1 either way: two movements seldom cancel."""
        return self._random.uniform(0.25, 1.0, shape) * self._random.choice((-1.0, 1.0), shape)
