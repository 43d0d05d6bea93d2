# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Heat by alternating directions for JAX: elimination and substitution are scans, one line after the other."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


def solve_lines(number: float, right: NDArray[Any], first: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
    """The inner points of tridiagonal systems along the first axis, between their first and last edges."""

    def eliminate(state: Any, right: Any) -> Any:
        p, q = state
        pivot = 1.0 + 2.0 * number - number * p
        new = number / pivot, (right + number * q) / pivot
        return new, new

    def substitute(after: Any, row: Any) -> Any:
        p, q = row
        new = p * after + q
        return new, new

    rows = lax.scan(eliminate, (np.zeros((), right.dtype), first), right)[1]
    return lax.scan(substitute, last, rows, reverse=True)[1]


@jax.jit(static_argnames=("steps",))
def alternating_directions(steps: int, number: float, u: NDArray[Any]) -> NDArray[Any]:
    """All lines of one direction are solved side by side."""

    def step(_: Any, u: Any) -> Any:
        right = u[1:-1, 1:-1] + number * (u[1:-1, :-2] - 2.0 * u[1:-1, 1:-1] + u[1:-1, 2:])
        v = u.at[1:-1, 1:-1].set(solve_lines(number, right, u[0, 1:-1], u[-1, 1:-1]))
        right = v[1:-1, 1:-1] + number * (v[:-2, 1:-1] - 2.0 * v[1:-1, 1:-1] + v[2:, 1:-1])
        return u.at[1:-1, 1:-1].set(solve_lines(number, right.T, u[1:-1, 0], u[1:-1, -1]).T)

    return lax.fori_loop(0, steps, step, u)
