"""Lists of what lies one after the other in an array, as they leave a compiled program.

in:   an array whose first axis counts the items
out:  a list of numbers, of tuples or lists of numbers, or of arrays of their own
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def item_of(values: Any, place: int) -> Any:
    """The very object that stands somewhere in a list."""
    return values[place]


def tuples_of(items: np.ndarray[Any, Any], types: tuple[type, ...]) -> list[tuple[Any, ...]]:
    """Tuples of numbers of these types, which the type of the array holds."""
    if _are_alike(types):
        return list(map(tuple, _exact(items, types[0]).tolist()))
    columns = [_converted(column, type_) for column, type_ in zip(items.T, types, strict=True)]
    return list(zip(*columns, strict=True))


def numbers_of_kinds(items: np.ndarray[Any, Any], classes: tuple[tuple[type | None, ...], ...]) -> list[Any]:
    """Numbers, or None, each with the place of its class among these beside it."""
    return _of_kinds(items[:, 0], items[:, 1], classes[0])


def tuples_of_kinds(items: np.ndarray[Any, Any], classes: tuple[tuple[type | None, ...], ...]) -> list[tuple[Any, ...]]:
    """Tuples of such, the numbers before the places of their classes."""
    count = len(classes)
    columns = [_of_kinds(items[:, k], items[:, count + k], these) for k, these in enumerate(classes)]
    return list(zip(*columns, strict=True))


def _of_kinds(
    numbers: np.ndarray[Any, Any], places: np.ndarray[Any, Any], classes: tuple[type | None, ...]
) -> list[Any]:
    members = [places == place for place in range(len(classes))]
    most, *others = sorted(zip(members, classes, strict=True), key=lambda pair: -np.count_nonzero(pair[0]))
    result = _converted(np.where(most[0], numbers, 0), most[1])
    for is_one, cls in others:
        (found,) = np.nonzero(is_one)
        for position, number in zip(found.tolist(), _converted(numbers[found], cls), strict=True):
            result[position] = number
    return result


def _converted(numbers: np.ndarray[Any, Any], cls: type | None) -> list[Any]:
    """Numbers of a class, which the type of the array holds; None: that many of it."""
    if cls is None:
        return [None] * len(numbers)
    exact = _exact(numbers, cls)
    return list(exact) if issubclass(cls, np.generic) else exact.tolist()


def _exact(numbers: np.ndarray[Any, Any], cls: type) -> np.ndarray[Any, Any]:
    """Numbers of a class, which the type of the array holds."""
    is_real = not issubclass(cls, complex | np.complexfloating)
    return (numbers.real if is_real else numbers).astype(cls)


def _are_alike(types: tuple[type | None, ...]) -> TypeGuard[tuple[type, ...]]:
    """Whether these are one type of Python's: rows of such are made at once, in a tenth of the time."""
    return len(set(types)) == 1 and types[0] in (bool, int, float, complex)


def lists_of(items: np.ndarray[Any, Any], types: tuple[type, ...]) -> list[list[Any]]:
    """Lists of such numbers."""
    if _are_alike(types):
        return _exact(items, types[0]).tolist()
    return [list(item) for item in tuples_of(items, types)]


def rows_of(items: np.ndarray[Any, Any], classes: tuple[type | None, ...]) -> list[list[Any]]:
    """Lists of numbers of one class; or of several, each with the place of its class beside it."""
    if items.ndim == 2 and _are_alike(classes):
        return _exact(items, classes[0]).tolist()
    if items.ndim == 2:
        return [_converted(row, classes[0]) for row in items]
    return [_of_kinds(row[:, 0], row[:, 1], classes) for row in items]


def arrays_of(items: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Arrays, each with memory of its own."""
    return [items[place, ...].copy() for place in range(len(items))]
