"""Arrays made by indexing something: `np.mgrid[0:n, 0:m]`, `np.ogrid`, `np.r_[a, b]`, `np.c_[a, b]`: calls of NumPy."""

from __future__ import annotations

import numpy as np

from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Operand, Static

_MAKERS = ("mgrid", "ogrid", "r_", "c_")


def made_by_index(build: Builder, owner: Operand, key: Operand) -> Operand:
    """`owner[key]`, where the owner is one of them."""
    value: object = owner.value if isinstance(owner, Static) else None
    name = next((name for name in _MAKERS if value is getattr(np, name)), None)
    if name is None:
        raise build.error("E108", "this object cannot be indexed in compiled code", "use an array or a tuple")
    try:
        return call_numpy(build, f"numpy.{name}.__getitem__", (key,), {})
    except PythonRaises as raised:
        return build.leave(raised.reason)
