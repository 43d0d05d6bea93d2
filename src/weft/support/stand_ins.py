"""Functions of Python's library that are written in C, in Python: what is compiled where a program calls them.

in:   a function of the library, such as `heapq.heappush`
out:  a Python function that does the same, step by step, to what is compiled

Lists must be the same after every step, also where Python takes over in the middle, and where a comparison raises. So
the steps are those of the library: items are compared in its order and change places as they do there.
"""

# A name that only the first item gives a value is of one type from there on.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np


def _push(heap: list[Any], item: Any) -> None:
    heap.append(item)
    place = len(heap) - 1
    while place > 0:
        parent = (place - 1) >> 1
        above = heap[parent]
        if not item < above:
            break
        heap[parent] = item
        heap[place] = above
        place = parent


def _settle(heap: list[Any], start: int) -> None:
    """Let the item at a place sink to a leaf, the smaller child rising each time, then rise from there."""
    count = len(heap)
    item = heap[start]
    place = start
    while place < count >> 1:
        child = 2 * place + 1
        if child + 1 < count and not heap[child] < heap[child + 1]:
            child += 1
        below = heap[child]
        heap[child] = item
        heap[place] = below
        place = child
    while place > start:
        parent = (place - 1) >> 1
        above = heap[parent]
        if not item < above:
            break
        heap[parent] = item
        heap[place] = above
        place = parent


def _pop(heap: list[Any]) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    first = heap[0]
    heap[0] = last
    _settle(heap, 0)
    return first


def _replace(heap: list[Any], item: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    first = heap[0]
    heap[0] = item
    _settle(heap, 0)
    return first


def _push_and_pop(heap: list[Any], item: Any) -> Any:
    if len(heap) == 0 or not heap[0] < item:
        return item
    first = heap[0]
    heap[0] = item
    _settle(heap, 0)
    return first


def _make_heap(heap: list[Any]) -> None:
    for start in range((len(heap) >> 1) - 1, -1, -1):
        _settle(heap, start)


def _reduce(function_: Any, items_: Any, *initial_: Any) -> Any:
    """The names are such as the function that is called will not read."""
    if len(initial_) == 1:
        result_ = initial_[0]
        for item_ in items_:
            result_ = function_(result_, item_)
        return result_
    if len(items_) == 0:
        raise TypeError("reduce() of empty iterable with no initial value")
    result_ = items_[0]
    if isinstance(items_, (np.ndarray, range)):
        for item_ in items_[1:]:
            result_ = function_(result_, item_)
        return result_
    for place_, item_ in enumerate(items_):  # a list may change meanwhile
        if place_ > 0:
            result_ = function_(result_, item_)
    return result_


def _least(items_: Any, *, key: Any) -> Any:
    found_ = False
    for item_ in items_:
        value_ = key(item_)
        if not found_:
            found_ = True
            best_ = item_
            least_ = value_
        elif value_ < least_:
            best_ = item_
            least_ = value_
    if not found_:
        return min(())
    return best_


def _greatest(items_: Any, *, key: Any) -> Any:
    found_ = False
    for item_ in items_:
        value_ = key(item_)
        if not found_:
            found_ = True
            best_ = item_
            most_ = value_
        elif value_ > most_:
            best_ = item_
            most_ = value_
    if not found_:
        return max(())
    return best_


def _least_of(*items_: Any, key: Any) -> Any:
    return _least(items_, key=key)


def _greatest_of(*items_: Any, key: Any) -> Any:
    return _greatest(items_, key=key)


def _sorted_by(items_: Any, *, key: Any, reverse: Any = False) -> Any:
    kept_: list[Any] = []
    keys_: list[Any] = []
    for item_ in items_:
        kept_.append(item_)
        keys_.append(key(item_))
    if len(keys_) < 2:
        return kept_
    places_ = places_in_order(keys_, True) if reverse else places_in_order(keys_, False)
    result_: list[Any] = []
    for place_ in places_:
        result_.append(kept_[place_])
    return result_


def places_in_order(keys: list[Any], reverse: bool) -> list[int]:
    """Where the keys stand, from the least to the greatest; compiled code has an operation for it."""
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


_OF_HEAPS: dict[str, Callable[..., Any]] = {
    "heappush": _push, "heappop": _pop, "heapreplace": _replace, "heappushpop": _push_and_pop, "heapify": _make_heap,
}  # fmt: skip
_BY_FUNCTION: dict[Any, Callable[..., Any]] = {getattr(heapq, name): made for name, made in _OF_HEAPS.items()}
_BY_FUNCTION[functools.reduce] = _reduce
_BY_KEY: dict[Any, Callable[..., Any]] = {min: _least, max: _greatest, sorted: _sorted_by}
_BY_KEY_OF_SEVERAL: dict[Any, Callable[..., Any]] = {min: _least_of, max: _greatest_of}
_BY_NAME = {
    made.__name__: made for made in (*_BY_FUNCTION.values(), *_BY_KEY.values(), *_BY_KEY_OF_SEVERAL.values(), _settle)
}


def stand_in(value: object) -> Any:
    """The Python function that is compiled for another; None where there is none."""
    if isinstance(value, BuiltinFunctionType):
        return _BY_FUNCTION.get(value)
    return value if isinstance(value, FunctionType) and _BY_NAME.get(value.__name__) is value else None


def keyed_stand_in(value: object, count: int, keywords: frozenset[str]) -> Any:
    """The one for a call with a number of arguments, `key=` and perhaps other keywords; None where there is none."""
    if "key" not in keywords or keywords - {"key", *(("reverse",) if value is sorted else ())}:
        return None
    if not isinstance(value, BuiltinFunctionType) or count == 0:
        return None
    return (_BY_KEY if count == 1 else _BY_KEY_OF_SEVERAL).get(value)


def named_stand_in(name: str) -> Any:
    """The one of that name."""
    return _BY_NAME[name]
