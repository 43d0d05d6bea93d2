"""A framework's result as NumPy would have given it: arrays as they are, scalars of NumPy's types, integers Python's.

in:   arrays (NumPy's or with a way to become such), numbers, tuples of them
out:  `np.ndarray`, `np.float64`, ..., `int`, tuples of them
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np


def as_numpy(result: Any, float_bits: int | None = None) -> Any:
    """Convert; `float_bits` is the width of a Python float that stands for a narrower number."""
    if isinstance(result, tuple | list):
        return tuple(as_numpy(item) for item in cast("tuple[Any, ...]", result))
    if result is None or isinstance(result, bool | int):
        return result
    if isinstance(result, float):
        return np.float32(result) if float_bits == 32 else np.float64(result)
    array = np.asarray(result)
    if array.ndim:
        return array
    return int(array) if array.dtype.kind in "iu" else array[()]
