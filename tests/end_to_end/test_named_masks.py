"""Masks that have a name: they are computed where they are used, and are there when Python takes over."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import weft


def means_of_rings(data, radius, edges):
    means = np.zeros(len(edges) - 1, data.dtype)
    for i in range(len(edges) - 1):
        low = edges[i] * 1.0
        high = edges[i + 1] * 1.0
        mask = np.logical_and(low <= radius, radius < high)
        means[i] = data[mask].mean()
    return means


def test_a_mask_with_a_name_is_computed_where_it_is_used() -> None:
    rng = np.random.default_rng(3)
    data, radius = rng.uniform(size=500), rng.uniform(size=500)
    edges = np.linspace(0.0, 1.0, 5)
    program = weft.program(means_of_rings, fallback="error")
    np.testing.assert_allclose(program(data, radius, edges), means_of_rings(data, radius, edges), rtol=1e-14)
    assert "alloc mask" not in program.inspect_graph("inline-producers")


def test_a_mask_that_chooses_nothing_is_pythons_and_warns_once() -> None:
    data, radius = np.arange(6.0), np.array([0.1, 0.2, 0.9, 0.8, 0.3, 0.95])
    edges = np.array([0.0, 0.5, 0.6, 1.0, 1e308, 1e309])
    told: list[list[str]] = []
    results: list[Any] = []
    for call in (weft.program(means_of_rings), means_of_rings):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results.append(call(data, radius, edges))
        told.append([str(warning.message) for warning in caught])
    np.testing.assert_array_equal(*results)
    assert told[0] == told[1]
