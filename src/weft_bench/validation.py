"""Is what a framework gave right?

in:   NumPy's outputs and the framework's, by name
out:  an `Agreement`

NumPy and Weft are held to `agreement.compare_outputs` as it is: types, dtypes, shapes, the kernel's tolerance. Other
frameworks never promised NumPy's bits, so for them:

- a tuple may be a list, a 0-d array a scalar: containers are compared by what they hold;
- a dtype may be wider than NumPy's but not narrower, and not of another kind (a bool for an int, say);
- the error allowed is the largest of the kernel's tolerance, LEAST_EPS, and what a rounding error in its arguments does
  to NumPy's own result (`sensitivity`), as they may contract a multiplication and an addition; and FACTOR times as much
  where the framework says that it computes with fast-math. Of integers, that share of them may be others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np

from weft_bench.agreement import Agreement, compare_outputs, compare_values
from weft_bench.frameworks.protocol import NUMPY_RESULTS, Framework
from weft_bench.sensitivity import Sensitivity

STRICT: Final = ("numpy", "weft")
LEAST_EPS: Final = 64.0
FACTOR: Final = 16.0
NONE: Final = Sensitivity()


def is_strict(framework: Framework) -> bool:
    """Whether the framework promises NumPy's results, types and all."""
    return framework.name in STRICT


def validate(
    framework: Framework,
    expected: Mapping[str, Any],
    actual: Mapping[str, Any],
    tolerance_eps: float,
    sensitivity: Sensitivity = NONE,
) -> Agreement:
    """Compare every output under the rule for this framework."""
    if is_strict(framework):
        return compare_outputs(expected, actual, tolerance_eps)
    allowed = allow(framework, tolerance_eps, sensitivity)
    worst = 0.0
    for name, value in expected.items():
        verdict = _compare(value, actual[name], allowed)
        if not verdict.ok:
            return Agreement(verdict.error_eps, f"{name}{verdict.reason}")
        worst = max(worst, verdict.error_eps)
    return Agreement(worst)


def allow(framework: Framework, tolerance_eps: float, sensitivity: Sensitivity) -> Sensitivity:
    """The differences allowed to a framework that is not held to NumPy's bits."""
    factor = 1.0 if framework.math == NUMPY_RESULTS else FACTOR
    return Sensitivity(factor * max(tolerance_eps, LEAST_EPS, sensitivity.eps), factor * sensitivity.share)


def _compare(expected: Any, actual: Any, allowed: Sensitivity) -> Agreement:
    """Like `compare_values`, by what the values hold; a reason starts with where in the output it is."""
    if isinstance(expected, tuple | list):
        return _compare_items(tuple(cast("tuple[Any, ...]", expected)), actual, allowed)
    if isinstance(actual, tuple | list):
        items = tuple(cast("tuple[Any, ...]", actual))
        if len(items) != 1:
            return Agreement(np.inf, f": {len(items)} values, NumPy gives one")
        return _compare(expected, items[0], allowed)
    if expected is None or actual is None:
        same = expected is actual
        return Agreement(0.0) if same else Agreement(np.inf, ": nothing on one side")
    left, right = np.asarray(expected), np.asarray(actual)
    if not _may_stand_for(right.dtype, left.dtype, any_width=type(expected) is int):
        return Agreement(np.inf, f": dtype {right.dtype}, NumPy gives {left.dtype}")
    common = left.dtype if left.dtype.kind in "fc" else np.result_type(left, right)  # a wider integer must not wrap
    left, right = left.astype(common), right.astype(common)
    if left.shape == right.shape and common.kind not in "fc" and np.mean(left != right) <= allowed.share:
        return Agreement(0.0)
    verdict = compare_values(left, right, allowed.eps)
    return Agreement(verdict.error_eps, f": {verdict.reason}" if verdict.reason else "")


def _compare_items(expected: tuple[Any, ...], actual: Any, allowed: Sensitivity) -> Agreement:
    items = tuple(cast("tuple[Any, ...]", actual)) if isinstance(actual, tuple | list) else (actual,)
    if len(items) != len(expected):
        return Agreement(np.inf, f": {len(items)} values, NumPy gives {len(expected)}")
    worst = 0.0
    for number, (left, right) in enumerate(zip(expected, items, strict=True)):
        verdict = _compare(left, right, allowed)
        if not verdict.ok:
            return Agreement(verdict.error_eps, f"[{number}]{verdict.reason}")
        worst = max(worst, verdict.error_eps)
    return Agreement(worst)


def _may_stand_for(actual: np.dtype[Any], expected: np.dtype[Any], *, any_width: bool) -> bool:
    """The same kind, signed and unsigned integers alike, and at least as wide; Python's integers have no width."""
    kinds = {"u": "i"}
    same = kinds.get(actual.kind, actual.kind) == kinds.get(expected.kind, expected.kind)
    return same and (any_width or actual.itemsize >= expected.itemsize)
