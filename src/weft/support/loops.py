"""`weft.map` and `weft.prange`: wishes for parallel loops, plain loops in plain Python.

for i, j in weft.map[0:N, 1:M]: ...      the pairs of the two ranges, row by row
for i in weft.prange(n): ...             as range
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, TypeAlias, cast

Bounds: TypeAlias = slice | tuple[slice, ...]


class MapDomain:
    """The type of `weft.map`; indexing it with slices gives the points of a box."""

    def __getitem__(self, bounds: Bounds) -> Iterator[Any]:
        """The points: ints for one slice, tuples for several."""
        if isinstance(bounds, slice):
            return iter(_range(bounds))
        return product(*(_range(part) for part in bounds))

    def __repr__(self) -> str:
        return "weft.map"


def _range(part: slice[Any, Any, Any]) -> range:
    if not isinstance(cast("object", part), slice) or part.stop is None:
        raise TypeError("weft.map takes slices with an end: weft.map[0:N, 1:M]")
    return range(part.start or 0, part.stop, 1 if part.step is None else part.step)


def prange(start: int, stop: int | None = None, step: int = 1) -> range:
    """`range`, with the wish that its iterations run in parallel."""
    return range(start) if stop is None else range(start, stop, step)


map_domain = MapDomain()
