"""What the generator knows of a value: an array of some element type and extents, or a scalar.

Extents are names: "n" and "m" are sizes of arguments, "n-1" is what `a[1:]` leaves of n (0 of 0), "1" is one. Two
extents are equal where their names are. What an operation gives is asked of NumPy itself, on arrays of ones.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

PYTHON = ("py_bool", "py_int", "py_float", "py_complex")
_SPECIMENS = {"py_bool": True, "py_int": 1, "py_float": 1.0, "py_complex": 1j}
_KINDS = {"py_bool": "b", "py_int": "i", "py_float": "f", "py_complex": "c"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A type in the generator. `shape` is () for scalars; `element` a NumPy name ("float64") or one of PYTHON.

    `layout` is only counted: C, F, S (other strides), neg (negative steps), zero (broadcast), temp (made here).
    """

    element: str
    shape: tuple[str, ...] = ()
    layout: str = "temp"

    @property
    def is_array(self) -> bool:
        return bool(self.shape)

    @property
    def is_python(self) -> bool:
        return self.element in PYTHON

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def letter(self) -> str:
        """b, i, u, f or c."""
        return _KINDS.get(self.element) or np.dtype(self.element).kind

    def same_type(self, other: Kind) -> bool:
        return (self.element, self.shape) == (other.element, other.shape)

    def laid_out(self, layout: str) -> Kind:
        return replace(self, layout=layout)


@dataclass(frozen=True, slots=True)
class Expr:
    """Source text and its kind."""

    text: str
    kind: Kind


def minus(extent: str, count: int) -> str:
    """What remains of an extent without `count` elements."""
    if count == 0:
        return extent
    base, found, less = extent.rpartition("-")
    if found and less.isdigit():
        return f"{base}-{int(less) + count}"
    return str(max(0, int(extent) - count)) if extent.isdigit() else f"{extent}-{count}"


def half(extent: str) -> str:
    """Every other element, beginning with the first."""
    return str((int(extent) + 1) // 2) if extent.isdigit() else f"({extent})/2"


def product(shape: Sequence[str]) -> str:
    """As many elements as an array has."""
    if all(extent.isdigit() for extent in shape):
        return str(math.prod(int(extent) for extent in shape))
    return "*".join(sorted(extent for extent in shape if extent != "1"))


def broadcast(shapes: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The shape of an element-wise operation; None where it may fail."""
    rank = max(len(shape) for shape in shapes)
    found: list[str] = []
    for axis in range(-rank, 0):
        extents = {shape[axis] for shape in shapes if len(shape) >= -axis} - {"1"}
        if len(extents) > 1:
            return None
        found.append(extents.pop() if extents else "1")
    return tuple(found)


def fits(shape: tuple[str, ...], target: tuple[str, ...]) -> bool:
    """Whether an array can be stored in a place of the shape `target`."""
    return len(shape) <= len(target) and broadcast([shape, target]) == target


@cache
def specimen(element: str, rank: int) -> Any:
    """A value of that type, all ones."""
    if element in _SPECIMENS:
        return _SPECIMENS[element]
    return np.ones((1,) * rank, element) if rank else np.dtype(element).type(1)


@cache
def element_of(template: str, *operands: tuple[str, int]) -> tuple[str, int] | None:
    """The element type and rank of "{0} + {1}" for operands of such types; None where it raises."""
    values = [specimen(element, rank).copy() if rank else specimen(element, rank) for element, rank in operands]
    names = {f"x{number}": value for number, value in enumerate(values)}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = eval(template.format(*names), {"np": np, "math": math}, names)
        except (TypeError, ValueError, ArithmeticError, IndexError, AttributeError):
            return None
    return described(result)


def described(value: Any) -> tuple[str, int] | None:
    """The element type and rank of a value; None if it is neither array nor number."""
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return value.dtype.name, value.ndim
    name = f"py_{type(value).__name__}"
    return (name, 0) if name in PYTHON else None
