"""Sorting in place: NumPy sorts a copy, whose elements are then written to the array.

a.sort(axis=0)  ->  call numpy.sort(a[:, :], axis=0) -> (sort.7), then a[...] = sort.7
"""

from __future__ import annotations

from weft.numpy_rules.arguments import PythonRaises, is_none
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import store
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Array, Operand, Static


@numpy_rule("ndarray.sort")
def lower_sort(build: Builder, a: Array, *args: Operand, **keywords: Operand) -> Operand:
    """All its parameters are those of np.sort, but for an axis of None."""
    return _in_place(build, "numpy.sort", a, args, keywords, keywords.get("axis", args[0] if args else Static(-1)))


@numpy_rule("ndarray.partition")
def lower_partition(build: Builder, a: Array, kth: Operand, *args: Operand, **keywords: Operand) -> Operand:
    """The same with np.partition."""
    axis = keywords.get("axis", args[0] if args else Static(-1))
    return _in_place(build, "numpy.partition", a, (kth, *args), keywords, axis)


def _in_place(
    build: Builder, name: str, a: Array, args: tuple[Operand, ...], keywords: dict[str, Operand], axis: Operand
) -> Operand:
    if is_none(axis):
        raise PythonRaises("an axis is needed to sort in place")
    result = call_numpy(build, name, (a, *args), keywords)
    if not isinstance(result, Array):
        raise PythonRaises("there is nothing to sort in a number")
    store(build, a, result)
    return Static(None)
