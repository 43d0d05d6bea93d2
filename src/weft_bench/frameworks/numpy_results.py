"""A framework's result as NumPy would have given it: arrays as they are, scalars of NumPy's types, integers Python's.

in:   arrays (NumPy's or with a way to become such), numbers, tuples of them
out:  `np.ndarray`, `np.float64`, ..., `int`, tuples of them
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np


def as_numpy(result: Any) -> Any:
    """Convert; whole numbers come back as Python's, since kernels count with those."""
    if isinstance(result, tuple | list):
        return tuple(as_numpy(item) for item in cast("tuple[Any, ...]", result))
    if result is None or isinstance(result, bool | int):
        return result
    array = np.asarray(result)
    if array.ndim:
        return array
    return int(array) if array.dtype.kind in "iu" else array[()]
