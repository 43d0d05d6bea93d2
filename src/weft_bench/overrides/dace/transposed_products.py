"""Products for DaCe, which would write the transpose out before it multiplies: the vector from the left."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def transposed_products(A: NDArray[Any], x: NDArray[Any], y: NDArray[Any], u: NDArray[Any], v: NDArray[Any]) -> None:
    """Update x and u in place."""
    x += A @ y
    u += v @ A
