"""Arrays made by indexing something: `np.mgrid[0:n, 0:m]`, `np.ogrid`, `np.r_[a, b]`, `np.c_[a, b]`: calls of NumPy."""

from __future__ import annotations

import numpy as np

from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Operand

_MAKERS = ("mgrid", "ogrid", "r_", "c_")


def made_by_index(build: Builder, value: object, key: Operand) -> Operand | None:
    """`value[key]`, where the value is one of them; else None."""
    name = next((name for name in _MAKERS if value is getattr(np, name)), None)
    if name is None:
        return None
    try:
        return call_numpy(build, f"numpy.{name}.__getitem__", (key,), {})
    except PythonRaises as raised:
        return build.leave(raised.reason)
