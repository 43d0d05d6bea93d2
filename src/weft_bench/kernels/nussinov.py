"""Folding of an RNA strand after Nussinov: the largest number of base pairs that do not cross, for every section.

in:   `strand` (n integers): the bases, numbered 0 to 3 such that those which pair add up to 3; `table` (n x n), zeros
out:  `table` in place: entry (i, j), i < j, is the largest number of pairs in the section from i to j, both included.
      It is the largest of table[i+1, j], table[i, j-1], table[i+1, j-1] + 1 if i and j pair (neighbours may), and
      table[i, k] + table[k+1, j] for all i < k < j; on and below the diagonal the table stays as it is
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import Inputs, Kernel, Sizes
from weft_bench.work import Work


def nussinov(strand: NDArray[Any], table: NDArray[Any]) -> None:
    """Fill the upper triangle of `table`: entry (i, j) is the number of pairs in `strand[i:j + 1]`.

    Bases are numbered 0 to 3 such that those which pair add up to 3.
    """
    n = strand.shape[0]
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            most = max(table[i + 1, j], table[i, j - 1])
            if strand[i] + strand[j] == 3:
                most = max(most, table[i + 1, j - 1] + 1)
            for k in range(i + 1, j):
                most = max(most, table[i, k] + table[k + 1, j])
            table[i, j] = most


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """A random strand and an empty table."""
    bases = sizes["bases"]
    return {"strand": rng.integers(0, 4, bases).astype(dtype), "table": np.zeros((bases, bases), dtype)}


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """On integers: per section 5 for its ends and 2 for each split; the table is written above the diagonal."""
    n = sizes["bases"]
    sections, splits = n * (n - 1) // 2, n * (n - 1) * (n - 2) // 6
    return Work(bytes=(n + sections) * dtype.itemsize, flops=5 * sections + 2 * splits)


KERNEL = Kernel(
    name="nussinov",
    known_as="nussinov",
    function=nussinov,
    title="RNA folding",
    domain="Bioinformatics",
    dwarf="Dynamic programming",
    presets={
        "S": {"bases": 44},
        "M": {"bases": 92},
        "L": {"bases": 200},
        "paper": {"bases": 500},
    },
    make_inputs=make_inputs,
    dtypes=("int32", "int64"),
    outputs=("table",),
    work=work,
)
