"""The list that the numbers of a long list of the caller's are to the program (`weft.frontend.lent`)."""

from __future__ import annotations

from weft.ir.dtypes import PY_BOOL, PY_FLOAT, PY_INT, ScalarType
from weft.ir.exprs import const_index, op
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.values import Array, Growing
from weft.support.number_lists import letters_of

_TYPES = {"b": PY_BOOL, "i": PY_INT, "f": PY_FLOAT}  # by the letters of `weft.support.number_lists`


def list_of_numbers(build: Builder, numbers: Array, conversion: str) -> Growing:
    """Numbers, tuples or lists of numbers, as the name of the conversion says."""
    types = tuple(_TYPES[letter] for letter in letters_of(conversion))
    count, common = numbers.shape[0], ScalarType(numbers.dtype, python=True)
    if "[" in conversion:
        return Growing(numbers, count, common, "list", (numbers.shape[1],))
    if "(" not in conversion:
        return Growing(numbers, count, common)
    width = const_index(len(types))
    several = len(set(types)) > 1
    count = build.let_index(op("floor_divide", (count, width), PY_INT), "n", low=0)
    common = ScalarType(numbers.dtype) if several else common
    return Growing(numbers, count, common, "tuple", (width,), parts=types if several else ())
