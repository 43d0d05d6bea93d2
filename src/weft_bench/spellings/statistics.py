"""Statistics and measurements in other words: outer products, lists of means, bins by search, scalars in a loop."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def correlation(data: NDArray[Any]) -> NDArray[Any]:
    """Standardise the whole table, then one product."""
    centred = data - data.mean(axis=0)
    deviation = np.sqrt((centred**2).mean(axis=0))
    deviation[deviation == 0] = 1
    scores = centred / deviation
    result = scores.T.dot(scores) / len(data)
    np.fill_diagonal(result, 1)
    return result


def covariance(data: NDArray[Any]) -> NDArray[Any]:
    """Pair by pair, each number written to both of its places."""
    observations, variables = data.shape
    data -= np.mean(data, axis=0, keepdims=True)
    result = np.empty(shape=(variables, variables), dtype=data.dtype)
    for i in range(variables):
        for j in range(i + 1):
            result[i, j] = result[j, i] = np.vdot(data[:, i], data[:, j]) / (observations - 1)
    return result


def covariance_product(data: NDArray[Any]) -> NDArray[Any]:
    """A sum of outer products, one per observation."""
    mean = data.sum(axis=0) / data.shape[0]
    total = np.zeros((mean.size, mean.size), dtype=data.dtype)
    for row in data:
        away = row - mean
        total += away[:, np.newaxis] * away[np.newaxis, :]
    total /= data.shape[0] - 1
    return total


def azimuthal_histogram(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """The ring of every point by a search among the edges, then two counts."""
    edges = np.linspace(radius.min(), radius.max(), rings + 1, dtype=radius.dtype)
    ring = np.searchsorted(edges, radius, side="right") - 1
    ring[ring == rings] = rings - 1
    sums = np.bincount(ring, weights=data, minlength=rings).astype(data.dtype)
    return sums / np.bincount(ring, minlength=rings)


def azimuthal_masks(data: NDArray[Any], radius: NDArray[Any], rings: int) -> NDArray[Any]:
    """A list of edges and a list of means."""
    largest = np.max(radius)
    edges = [largest * i / rings for i in range(rings + 1)]
    means: list[Any] = []
    for inner, outer in pairwise(edges):
        inside = (inner <= radius) & ~(outer <= radius)
        means.append(np.mean(data[inside]))
    return np.array(means)


def great_circle(
    latitude1: NDArray[Any], longitude1: NDArray[Any], latitude2: NDArray[Any], longitude2: NDArray[Any]
) -> NDArray[Any]:
    """Pair by pair with the functions of `math`, and the arc sine."""

    def haversine(angle: float) -> float:
        return math.sin(0.5 * angle) ** 2

    distance = np.empty_like(latitude1)
    for i, (phi1, lambda1, phi2, lambda2) in enumerate(zip(latitude1, longitude1, latitude2, longitude2, strict=True)):
        h = haversine(phi2 - phi1) + math.cos(phi1) * math.cos(phi2) * haversine(lambda2 - lambda1)
        distance[i] = 2 * math.asin(math.sqrt(h))
    return distance
