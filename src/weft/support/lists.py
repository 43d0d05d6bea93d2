"""Lists of what lies one after the other in an array, as they leave a compiled program.

in:   an array whose first axis counts the items
out:  a list of tuples of numbers, or of arrays of their own
"""

from __future__ import annotations

from typing import Any

import numpy as np


def tuples_of(items: np.ndarray[Any, Any]) -> list[tuple[Any, ...]]:
    """Tuples of NumPy's numbers."""
    return [tuple(item) for item in items]


def python_tuples_of(items: np.ndarray[Any, Any]) -> list[tuple[Any, ...]]:
    """Tuples of Python's numbers."""
    return [tuple(item) for item in items.tolist()]


def arrays_of(items: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Arrays, each with memory of its own."""
    return [item.copy() for item in items]
