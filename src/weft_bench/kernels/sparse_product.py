"""A sparse matrix in compressed rows times a vector.

in:   `starts` (rows + 1, integers), `columns` (integers) and `values`, one of each per entry: those of row i
      are numbers `starts[i]` up to, but without, `starts[i + 1]`, with their columns and their values; `x`, a vector
out:  a new vector y of the type of `values`, one number per row: y[i] is the sum of values[e] x[columns[e]] over the
      entries e of row i, 0 if there are none
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def sparse_product(starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """Row by row; x is picked apart by the columns of the row's entries."""
    rows = starts.shape[0] - 1
    y = np.empty(rows, values.dtype)
    for i in range(rows):
        first, last = starts[i], starts[i + 1]
        y[i] = values[first:last] @ x[columns[first:last]]
    return y


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Rows with between no and `2 entries` numbers, in columns at random."""
    rows, columns = sizes["rows"], sizes["columns"]
    lengths = rng.integers(0, 2 * sizes["entries"] + 1, rows) * min(columns, 1)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    total = int(starts[-1])
    return {
        "starts": starts,
        "columns": rng.integers(0, max(columns, 1), total),
        "values": rng.uniform(-0.5, 1.0, total).astype(dtype),
        "x": rng.uniform(-1.0, 2.0, columns).astype(dtype),
    }


def tolerance(sizes: Sizes) -> float:
    """The entries of a row in any order, on both sides."""
    return 4.0 * (2 * sizes["entries"] + 2)


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """A product and a sum per entry, of which there are rows times `entries` on average; indices are int64."""
    rows, entries = sizes["rows"], sizes["rows"] * sizes["entries"]
    indices = 8 * (rows + 1 + entries)
    return Work(bytes=indices + (entries + sizes["columns"] + rows) * dtype.itemsize, flops=2 * entries)


KERNEL = Kernel(
    name="sparse_product",
    known_as="spmv",
    function=sparse_product,
    title="Sparse matrix times a vector",
    domain="Graphs",
    dwarf="Sparse linear algebra",
    presets={
        "S": {"rows": 3500, "columns": 3000, "entries": 10},
        "M": {"rows": 35_000, "columns": 30_000, "entries": 10},
        "L": {"rows": 350_000, "columns": 300_000, "entries": 12},
        "paper": {"rows": 131_072, "columns": 131_072, "entries": 2},
    },
    make_inputs=make_inputs,
    dtypes=("float32", "float64"),
    outputs=(RETURN,),
    tolerance=tolerance,
    work=work,
)
