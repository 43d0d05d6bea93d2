"""Normal equations for DaCe, which would write the transpose out before it multiplies: the vector from the left."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def normal_product(A: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """A new vector, as long as x."""
    return (A @ x) @ A
