"""How much a kernel has to do at the least, so that a time can be held against the limits of the machine.

in:   the sizes and the dtype of a run
out:  `Work`, from each kernel's own `work(sizes, dtype)`; no array is made for it

Bytes: every array argument is read once and every output written once, however often the NumPy program passes over
them. What is never looked at does not count (the other triangle of a triangular matrix), nor what is written before it
is read (an output that comes in with contents that do not matter), nor Python numbers.

Flops: each `+ - * / min max` and comparison of the formula counts once, and so does a function (exp, sqrt, a power).
Complex sums count 2, complex products 6; operations of integer programs count like those of floats. What the formula
needs once counts once, even where the NumPy program repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The least a kernel must do: bytes of inputs read and outputs written once, and arithmetic of the formula."""

    bytes: int
    flops: int
