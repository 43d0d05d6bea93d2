"""The numbers in a list as an array, for programs to which a long list is data.

in:   [0.5, 1.5, 2.5]         [(1, 0.5), (2, 1.5)]              [[1, 2], [3, 4], [5, 6]]
out:  an array, float64       one after the other, float64      of two axes, int64
name: "list f"                "list (if"                        "list [i"

The name says what the items are: b, i or f for a bool, int or float; behind a bracket those of each tuple, or the one
that all lists of one length hold. Any other list gives nothing. convert.c does the same when a program is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from weft.support.abi import MAX_ITEMS

LIST: Final = "list "  # how the names of such conversions begin
_LETTERS: Final[dict[type, str]] = {bool: "b", int: "i", float: "f"}
_DTYPES: Final = {"b": "bool", "i": "int64", "f": "float64"}
_EXACT: Final = 2**53  # floats hold all ints up to here
_WIDEST: Final = 8  # numbers in a tuple


def conversion_of(values: list[Any]) -> str | None:
    """The name of the conversion that takes such a list; None where there is none."""
    kinds: set[type] = set(map(type, values))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind in _LETTERS:
        return LIST + _LETTERS[kind]
    lengths = set(map(len, values)) if kind in (tuple, list) else set[int]()
    if len(lengths) != 1:
        return None
    columns = [set(map(type, column)) for column in zip(*values, strict=True)]
    letters = [_LETTERS.get(next(iter(column)), "") if len(column) == 1 else "" for column in columns]
    if not letters or "" in letters:
        return None
    if kind is list:
        return f"{LIST}[{letters[0]}" if len(set(letters)) == 1 else None
    return f"{LIST}({''.join(letters)}" if len(letters) <= _WIDEST else None


def is_long(values: list[Any]) -> bool:
    """Whether there are more numbers in a list than there may be slots."""
    inner = len(values[0]) if values and type(values[0]) in (tuple, list) else 1
    return len(values) * inner > MAX_ITEMS


def letters_of(name: str) -> str:
    """What the numbers of an item are, one letter for each."""
    return name.removeprefix(LIST).lstrip("([")


def numbers_in(name: str, values: list[Any]) -> Any:
    """The array; raises ValueError where the list is no such list, or an int is too large."""
    import numpy as np

    letters = letters_of(name)
    dtype = _DTYPES[max(letters, key="bif".index)]
    if conversion_of(values) != name or (dtype == "float64" and not _are_exact(values, letters)):
        raise ValueError("no such list")
    try:
        numbers = np.array(values, dtype=dtype)
    except OverflowError:
        raise ValueError("an int beyond int64") from None
    return numbers.ravel() if "(" in name else numbers


def _are_exact(rows: Sequence[Any], letters: str) -> bool:
    """Whether floats hold the ints that stand beside them."""
    places = [place for place, letter in enumerate(letters) if letter == "i"]
    return all(-_EXACT <= row[place] <= _EXACT for row in rows for place in places)
