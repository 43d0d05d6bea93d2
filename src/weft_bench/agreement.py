"""Do two runs of a kernel agree?

in:   the outputs of a NumPy run and of a compiled run, by name
out:  an `Agreement`: the verdict, the largest error in units of epsilon, and the output where it is

The rule is the compiler's promise: the same bits where only `+ - * / sqrt min max` and integers are involved (tolerance
0), otherwise the kernel's tolerance. Types, dtypes and shapes are always compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """The verdict on one run; `reason` is empty when it is good."""

    error_eps: float
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether the two runs agree."""
        return not self.reason


def compare_outputs(expected: Mapping[str, Any], actual: Mapping[str, Any], tolerance_eps: float) -> Agreement:
    """Compare every output; the first one that differs gives the reason."""
    worst = 0.0
    for name, value in expected.items():
        verdict = compare_values(value, actual[name], tolerance_eps)
        if not verdict.ok:
            return Agreement(verdict.error_eps, f"{name}: {verdict.reason}")
        worst = max(worst, verdict.error_eps)
    return Agreement(worst)


def compare_values(expected: Any, actual: Any, tolerance_eps: float) -> Agreement:
    """Compare two results: type, dtype, shape, then the numbers; of tuples, item by item."""
    if type(expected) is not type(actual):
        return Agreement(np.inf, f"type {type(actual).__name__}, NumPy gives {type(expected).__name__}")
    if isinstance(expected, tuple):
        return _compare_tuples(cast("tuple[Any, ...]", expected), actual, tolerance_eps)
    left, right = np.asarray(expected), np.asarray(actual)
    if left.dtype != right.dtype:
        return Agreement(np.inf, f"dtype {right.dtype}, NumPy gives {left.dtype}")
    if left.shape != right.shape:
        return Agreement(np.inf, f"shape {right.shape}, NumPy gives {left.shape}")
    return _compare_numbers(left, right, tolerance_eps)


def _compare_tuples(expected: tuple[Any, ...], actual: tuple[Any, ...], tolerance_eps: float) -> Agreement:
    if len(expected) != len(actual):
        return Agreement(np.inf, f"{len(actual)} values, NumPy gives {len(expected)}")
    left, right = ({f"[{number}]": item for number, item in enumerate(items)} for items in (expected, actual))
    return compare_outputs(left, right, tolerance_eps)


def _compare_numbers(left: NDArray[Any], right: NDArray[Any], tolerance_eps: float) -> Agreement:
    if left.size == 0:
        return Agreement(0.0)
    if left.dtype.kind not in "fc":
        differing = int(np.count_nonzero(left != right))
        return Agreement(np.inf, f"{differing} of {left.size} numbers differ") if differing else Agreement(0.0)
    unusual = ~np.isfinite(left)
    if not np.array_equal(unusual, ~np.isfinite(right)) or not np.array_equal(
        left[unusual], right[unusual], equal_nan=True
    ):
        return Agreement(np.inf, "other infinities or NaNs")
    if (
        tolerance_eps == 0.0
        and left.dtype.kind == "f"
        and bool(np.any((np.signbit(left) != np.signbit(right))[~unusual]))
    ):
        return Agreement(np.inf, "zeros of the other sign")
    error = _largest_error_eps(left[~unusual], right[~unusual])
    if error <= tolerance_eps:
        return Agreement(error)
    wanted = f"{tolerance_eps:.0f} eps allowed" if tolerance_eps else "the same bits wanted"
    return Agreement(error, f"error {error:.3g} eps, {wanted}")


def _largest_error_eps(left: NDArray[Any], right: NDArray[Any]) -> float:
    """The largest difference, in units of epsilon at the largest magnitude; 0 only for equal numbers."""
    if left.size == 0:
        return 0.0
    scale = float(np.max(np.abs(left))) or 1.0
    return float(np.max(np.abs(left - right))) / scale / float(np.finfo(left.dtype).eps)
