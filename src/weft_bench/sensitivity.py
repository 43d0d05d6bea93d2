"""How much of a kernel's result do rounding errors leave open?

in:   a kernel's arguments; NumPy's outputs for them and for the same arguments with a rounding error each
out:  a `Sensitivity`: the largest difference in units of epsilon, and the share of integers that became others

A framework that contracts or reorders arithmetic makes rounding errors of its own. An iteration like Mandelbrot's blows
any of them up, a matrix product does not: one number for all kernels would be too strict for the first and too lax for
the second. So the kernel is asked: what NumPy makes of arguments one rounding away is as good an answer as any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import SEED, Inputs

LARGEST_SHARE: Final = 0.01  # of integers: beyond that a difference is no rounding


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """`eps` of floating-point outputs, `share` of integers and truth values, 0 to 1."""

    eps: float = 0.0
    share: float = 0.0


def perturb(inputs: Inputs, dtype: str) -> Inputs:
    """Every floating-point number times 1 plus or minus at most epsilon; integers as they are."""
    rng = np.random.default_rng(SEED)
    kind = np.dtype(dtype)
    default = float(np.finfo(kind).eps) if kind.kind in "fc" else float(np.finfo(np.float64).eps)
    return {name: _perturbed(value, default, rng) for name, value in inputs.items()}


def _perturbed(value: Any, default: float, rng: np.random.Generator) -> Any:
    if type(value) in (float, complex):
        return value * (1.0 + default * rng.uniform(-1.0, 1.0))
    array: NDArray[Any] = np.asarray(value)
    if not isinstance(value, np.ndarray | np.generic) or array.dtype.kind not in "fc":
        return array.copy() if isinstance(value, np.ndarray) else cast("Any", value)
    errors = rng.uniform(-1.0, 1.0, array.shape) * float(np.finfo(array.dtype).eps)
    moved: Any = (array * (1.0 + errors)).astype(array.dtype)
    return moved if isinstance(value, np.ndarray) else moved[()]


def measure_sensitivity(expected: Mapping[str, Any], perturbed: Mapping[str, Any]) -> Sensitivity:
    """The largest change of any output; one that is no longer finite, or of another shape, tells nothing."""
    worst = Sensitivity()
    for name, value in expected.items():
        found = _change(value, perturbed[name])
        worst = Sensitivity(max(worst.eps, found.eps), max(worst.share, found.share))
    return worst


def _change(expected: Any, perturbed: Any) -> Sensitivity:
    if isinstance(expected, tuple | list):
        items = cast("tuple[Any, ...]", expected)
        if len(items) != len(perturbed):
            return Sensitivity()
        changes = [_change(left, right) for left, right in zip(items, perturbed, strict=True)]
        return Sensitivity(max((c.eps for c in changes), default=0.0), max((c.share for c in changes), default=0.0))
    left: NDArray[Any] = np.asarray(expected)
    right: NDArray[Any] = np.asarray(perturbed)
    if left.shape != right.shape or left.size == 0:
        return Sensitivity()
    if left.dtype.kind not in "fc":
        share = int(np.count_nonzero(left != right)) / left.size
        return Sensitivity(share=min(share, LARGEST_SHARE))
    finite = np.isfinite(left) & np.isfinite(right)
    if not finite.any():
        return Sensitivity()
    eps = float(np.finfo(left.dtype).eps)
    scale = float(np.max(np.abs(left[finite]))) or 1.0
    change = float(np.max(np.abs(left[finite] - right[finite]))) / scale / eps
    return Sensitivity(eps=min(change, eps**-0.5))
