"""What was found out about objects that never change, remembered by their identity.

    @once_for_each
    def effects(node): ...        # of the same node the same object, until `forget` or many others were asked about

To compare a node, or to hash it, takes as long as to look at all in it. An entry keeps its object, so that no other one
gets its address meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

A = TypeVar("A")
T = TypeVar("T")
_KEPT: Final = 16384
_tables: list[dict[int, tuple[Any, Any]]] = []


def once_for_each(function: Callable[[A], T]) -> Callable[[A], T]:
    """The same function, asked once for each object."""
    known: dict[int, tuple[A, T]] = {}
    _tables.append(known)

    def ask(argument: A) -> T:
        found = known.get(id(argument))
        if found is None:
            if len(known) >= _KEPT:
                known.clear()
            found = known[id(argument)] = (argument, function(argument))
        return found[1]

    ask.__doc__ = function.__doc__
    return ask


def forget() -> None:
    """Let go of all objects, when a program has been compiled."""
    for known in _tables:
        known.clear()
