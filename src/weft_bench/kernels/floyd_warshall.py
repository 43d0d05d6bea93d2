"""Shortest paths between all pairs of nodes, by letting one node after another serve as a stop on the way.

in:   `path` (nodes x nodes), the lengths of the edges from row to column; 0 on the diagonal, a large number for no edge
out:  `path` in place, the lengths of the shortest paths: for k = 0, 1, ..., for all i and j,
      path[i, j] = min(path[i, j], path[i, k] + path[k, j])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def floyd_warshall(path: NDArray[Any]) -> None:
    """Replace the lengths of the edges in `path` by those of the shortest paths."""
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k, None] + path[k, :])


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A directed graph: about one edge in eight exists, the others are long."""
    nodes = sizes["nodes"]
    edges = rng.integers(1, 100, (nodes, nodes))
    edges[rng.random((nodes, nodes)) > 0.125] = 9999
    edges[np.diag_indices(nodes)] = 0
    lengths = edges.astype(dtype)
    if dtype.kind == "f":
        lengths += rng.random((nodes, nodes)).astype(dtype) * (lengths > 0)
    return {"path": lengths}


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """An addition and a minimum for every stop and pair."""
    nodes = sizes["nodes"]
    return Work(bytes=2 * nodes * nodes * dtype.itemsize, flops=2 * nodes**3)


KERNEL = Kernel(
    name="floyd_warshall",
    known_as="floyd_warshall",
    function=floyd_warshall,
    title="Shortest paths between all pairs",
    domain="Graphs",
    dwarf="Graph traversal",
    presets={
        "S": {"nodes": 180},
        "M": {"nodes": 340},
        "L": {"nodes": 640},
        "paper": {"nodes": 2800},
    },
    make_inputs=make_inputs,
    dtypes=("int32", "int64", "float32", "float64"),
    outputs=("path",),
    work=work,
)
