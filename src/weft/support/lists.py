"""Lists of what lies one after the other in an array, as they leave a compiled program.

in:   an array whose first axis counts the items
out:  a list of tuples or lists of numbers, or of arrays of their own
"""

from __future__ import annotations

from typing import Any

import numpy as np


def tuples_of(items: np.ndarray[Any, Any], types: tuple[type, ...]) -> list[tuple[Any, ...]]:
    """Tuples of numbers of these types, which the type of the array holds."""
    columns: list[list[Any]] = []
    for column, type_ in zip(items.T, types, strict=True):
        is_real = not issubclass(type_, complex | np.complexfloating)
        exact = (column.real if is_real else column).astype(type_)
        columns.append(list(exact) if issubclass(type_, np.generic) else exact.tolist())
    return list(zip(*columns, strict=True))


def lists_of(items: np.ndarray[Any, Any], types: tuple[type, ...]) -> list[list[Any]]:
    """Lists of such numbers."""
    return [list(item) for item in tuples_of(items, types)]


def arrays_of(items: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Arrays, each with memory of its own."""
    return [item.copy() for item in items]
