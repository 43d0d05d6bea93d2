"""Stencils on regular grids in other words: loops over points, swapped buffers, differences, lists of neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


def relax_line(old: NDArray[Any], new: NDArray[Any]) -> None:
    """Every inner point of `new` becomes the mean of three points of `old`."""
    for i in range(1, len(old) - 1):
        new[i] = (old[i - 1] + old[i] + old[i + 1]) / 3.0


def jacobi_1d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> None:
    """Point by point; the buffers change places after every half step."""
    source, target = A, B
    for _ in range(2 * steps):
        relax_line(source, target)
        source, target = target, source


def jacobi_2d(steps: int, A: NDArray[Any], B: NDArray[Any]) -> None:
    """The neighbours are views in a tuple; their sum is collected in one array."""

    def half_step(old: NDArray[Any], new: NDArray[Any]) -> None:
        centre, up, down = old[1:-1, 1:-1], old[:-2, 1:-1], old[2:, 1:-1]
        left, right = old[1:-1, :-2], old[1:-1, 2:]
        total = centre.copy()
        for neighbour in (left, right, down, up):
            total += neighbour
        np.multiply(total, 0.2, out=new[1:-1, 1:-1])

    step = 1
    while step < steps:
        half_step(A, B)
        half_step(old=B, new=A)
        step += 1


def second_difference(field: NDArray[Any], axis: int) -> NDArray[Any]:
    """The second difference along one axis, at the inner points of all axes."""
    keep = [slice(1, -1)] * field.ndim
    keep[axis] = slice(None)
    return np.diff(field[tuple(keep)], n=2, axis=axis)


def heat_3d(steps: int, number: float, A: NDArray[Any], B: NDArray[Any]) -> None:
    """One difference per axis, added up."""
    inside = (slice(1, -1),) * 3
    for _ in range(steps):
        for old, new in ((A, B), (B, A)):
            new[inside] = old[inside] + number * sum(second_difference(old, axis) for axis in range(3))


def fdtd_2d(ex: NDArray[Any], ey: NDArray[Any], hz: NDArray[Any], source: NDArray[Any]) -> None:
    """The curls as differences of whole fields."""
    electric, magnetic = 0.5, 0.7
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:-1, :] -= electric * np.diff(hz, axis=0)
        ex[:, 1:-1] += electric * np.diff(hz, axis=1)
        curl = np.diff(ex, axis=1) - np.diff(ey, axis=0)
        np.multiply(curl, magnetic, out=curl)
        hz[:] = hz + curl


def seidel_2d(steps: int, u: NDArray[Any], source: NDArray[Any]) -> None:
    """Point by point."""
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                neighbours = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u[i, j] = (neighbours - source[i, j]) / 4.0


class Fluxes(NamedTuple):
    """What flows through the sides of every point, along either direction."""

    x: NDArray[Any]
    y: NDArray[Any]


def stop_uphill(flux: NDArray[Any], slope: NDArray[Any]) -> NDArray[Any]:
    """No flux where it would run against the slope."""
    flux[flux * slope > 0] = 0
    return flux


def find_fluxes(field: NDArray[Any]) -> Fluxes:
    """The differences of the Laplacian, limited."""
    laplacian = 4 * field[1:-1, 1:-1]
    laplacian -= field[2:, 1:-1] + field[:-2, 1:-1]
    laplacian -= field[1:-1, 2:] + field[1:-1, :-2]
    centre = field[1:-1, 1:-1]
    along_x = stop_uphill(np.diff(laplacian[:, 1:-1], axis=0), np.diff(centre[:, 1:-1], axis=0))
    along_y = stop_uphill(np.diff(laplacian[1:-1], axis=1), np.diff(centre[1:-1], axis=1))
    return Fluxes(along_x, y=along_y)


def horizontal_diffusion(field: NDArray[Any], strength: NDArray[Any]) -> NDArray[Any]:
    """The fluxes in a named tuple; masks stop those that run uphill."""
    flux = find_fluxes(field)
    divergence = np.diff(flux.x, axis=0) + np.diff(flux.y, axis=1)
    return field[2:-2, 2:-2] - strength * divergence


def half_step(w: NDArray[Any], r: float) -> NDArray[Any]:
    """One half step, implicit along the first axis and explicit along the second, line by line."""
    points, lines = w.shape
    v = w.copy()
    for j in range(1, lines - 1):
        right = r * w[:, j - 1] + (1 - 2 * r) * w[:, j] + r * w[:, j + 1]
        p, q = [0.0], [w[0, j]]
        for k in range(1, points - 1):
            pivot = 1 + 2 * r - r * p[-1]
            p.append(r / pivot)
            q.append((right[k] + r * q[-1]) / pivot)
        for k in range(points - 2, 0, -1):
            v[k, j] = p[k] * v[k + 1, j] + q[k]
    return v


def alternating_directions(steps: int, number: float, u: NDArray[Any]) -> None:
    """The same half step twice, on the plane and on its transpose; the coefficients are collected in lists."""
    for _ in range(steps):
        v = half_step(u, number)
        u[:, :] = half_step(v.T, r=number).T


def solve_tridiagonal(
    lower: NDArray[Any], diagonal: NDArray[Any], upper: NDArray[Any], right: NDArray[Any]
) -> NDArray[Any]:
    """The solution of one system, in a new vector."""
    n = len(right)
    factor = np.zeros_like(right)
    x = np.zeros_like(right)
    for k in range(n):
        pivot = diagonal[k] - lower[k] * factor[k - 1] if k else diagonal[0]
        factor[k] = upper[k] / pivot
        x[k] = (right[k] - lower[k] * x[k - 1]) / pivot if k else right[0] / pivot
    for k in range(n - 2, -1, -1):
        x[k] -= factor[k] * x[k + 1]
    return x


def vertical_advection(
    rate: float, wind: NDArray[Any], now: NDArray[Any], start: NDArray[Any], other: NDArray[Any], stage: NDArray[Any]
) -> None:
    """Column of air by column of air, each with a system of its own."""
    width, length, levels = stage.shape
    for i, j in np.ndindex(width, length):
        half = (wind[i, j] + wind[i + 1, j]) / 8
        half[0] = half[-1] = 0
        flux = np.zeros(levels + 1, dtype=now.dtype)
        flux[1:-1] = half[1:-1] * np.diff(now[i, j])
        right = rate * start[i, j] + other[i, j] + stage[i, j] - flux[:-1] - flux[1:]
        new = solve_tridiagonal(-half[:-1], rate + half[:-1] - half[1:], upper=half[1:], right=right)
        stage[i, j] = rate * (new - start[i, j])
