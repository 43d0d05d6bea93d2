"""Views that must not be written."""

from __future__ import annotations

from typing import Any


def read_only(array: Any) -> Any:
    """A view of an array as NumPy gives it where a write would be a mistake (np.diagonal, np.broadcast_to)."""
    view = array.view()
    view.flags.writeable = False
    return view
