"""What a benchmark kernel is: a NumPy function, its inputs and how exactly its results are fixed.

in:   one file of `weft_bench/kernels` per kernel, which ends with `KERNEL = Kernel(...)`
out:  `kernel.inputs("M", "float64")` gives the arguments by name; `kernel.function(**arguments)` runs it in NumPy

The function itself knows nothing of Weft: the decorator is put on from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from weft_bench.work import Work

Preset: TypeAlias = Literal["S", "M", "L", "paper"]
Sizes: TypeAlias = Mapping[str, int]
Inputs: TypeAlias = dict[str, Any]
MakeInputs: TypeAlias = Callable[[Sizes, "np.dtype[Any]", np.random.Generator], Inputs]
CountWork: TypeAlias = Callable[[Sizes, "np.dtype[Any]"], Work]

RETURN = "return"
SEED = 20240817


def exact(_sizes: Sizes) -> float:
    """The tolerance of kernels made of `+ - * / sqrt min max` and integers in a fixed order: NumPy's bits."""
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One benchmark.

    `known_as` is the name by which the field knows it, as in tables of other compilers' speed. `presets`
    are sizes at which NumPy takes about 10 ms (S), 100 ms (M) and 1 s (L) on two cores, and those of the paper that
    defined the comparison (paper), which may take minutes and gigabytes. `outputs` names the arguments the function
    changes, and "return" if it returns something. `tolerance` maps sizes to the error allowed, in units of the result's
    machine epsilon relative to the largest magnitude in it; 0 asks for the same bits. `work` counts the bytes and flops
    a run cannot do without (see `weft_bench.work`); a kernel without it is measured all the same.
    """

    name: str
    known_as: str
    function: Callable[..., Any]
    title: str
    domain: str
    dwarf: str
    presets: Mapping[Preset, Sizes]
    make_inputs: MakeInputs
    dtypes: tuple[str, ...]
    outputs: tuple[str, ...]
    tolerance: Callable[[Sizes], float] = exact
    work: CountWork | None = None

    def inputs(self, sizes: Sizes | Preset, dtype: str | None = None) -> Inputs:
        """Fresh arguments by name; the same sizes and dtype give the same data every time."""
        chosen = self.presets[sizes] if isinstance(sizes, str) else sizes
        return self.make_inputs(chosen, np.dtype(dtype or self.dtypes[-1]), np.random.default_rng(SEED))

    def collect(self, result: Any, inputs: Inputs) -> dict[str, Any]:
        """What a run gave: the outputs by name."""
        return {name: result if name == RETURN else inputs[name] for name in self.outputs}
