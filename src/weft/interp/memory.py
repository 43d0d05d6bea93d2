"""The memory of an interpreted program: containers bound to arrays, and a record of who touched what.

Every read and write goes through `Memory`, which checks the index against the container's extents. Inside maps it also
notes, per element address, which iteration read and which wrote it: two iterations that meet, one of them writing,
are a `ConflictError`. Memory allocated inside an iteration is that iteration's own and is not noted for its map.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from weft.ir.dtypes import DType
from weft.ir.nodes import Container, Layout, Storage
from weft.support.errors import InternalError, WeftError
from weft.support.records import record

AnyArray: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Point: TypeAlias = tuple[int, ...]
Element: TypeAlias = tuple[str, Point]


class MemletError(WeftError):
    """An element outside the extents of its container."""


class ConflictError(WeftError):
    """Two iterations of a map touch the same element, and one of them writes it."""


class Bound:
    """An array in use. `root` tells allocations apart; `level` is the number of maps around the allocation."""

    __slots__ = ("address", "array", "level", "root", "shape", "strides")

    def __init__(self, array: AnyArray, root: int, level: int) -> None:
        self.array, self.root, self.level = array, root, level
        self.address = int(array.__array_interface__["data"][0])
        self.shape: Point = array.shape
        self.strides: Point = array.strides


@record(frozen=False)
class _Cell:
    """Who touched one element: iterations by number, with the element as they called it."""

    writer: int = -1
    operation: str = ""
    written_as: Element = ("", ())
    readers: dict[int, Element] = field(default_factory=dict[int, "Element"])  # two are enough


@record(frozen=False)
class MapRecord:
    """A map in progress."""

    label: str
    names: tuple[str, ...]
    points: Sequence[Point]
    iteration: int = -1
    cells: dict[int, _Cell] = field(default_factory=dict[int, _Cell])

    def read(self, address: int, element: Element) -> None:
        """Note a read by the current iteration."""
        cell = self.cells.get(address)
        if cell is None:
            cell = self.cells[address] = _Cell()
        if cell.writer not in (-1, self.iteration):
            raise self._conflict(element, "reads", cell.writer, cell.written_as, "writes")
        if len(cell.readers) < 2:
            cell.readers.setdefault(self.iteration, element)

    def write(self, address: int, element: Element, operation: str) -> None:
        """Note a write by the current iteration."""
        cell = self.cells.get(address)
        if cell is None:
            cell = self.cells[address] = _Cell()
        if cell.writer not in (-1, self.iteration) and not (operation and operation == cell.operation):
            raise self._conflict(element, "writes", cell.writer, cell.written_as, "writes")
        for reader, read_as in cell.readers.items():
            if reader != self.iteration:
                raise self._conflict(element, "writes", reader, read_as, "reads")
        # A plain write stays plain, whatever the same iteration does later.
        if cell.writer != self.iteration or cell.operation:
            cell.operation = operation
        cell.writer, cell.written_as = self.iteration, element

    def _conflict(self, element: Element, verb: str, other: int, seen: Element, other_verb: str) -> ConflictError:
        return ConflictError(
            f"{self.label}: iteration {self._point(self.iteration)} {verb} {element[0]}{list(element[1])}, "
            f"which iteration {self._point(other)} {other_verb} as {seen[0]}{list(seen[1])}"
        )

    def _point(self, iteration: int) -> str:
        pairs = zip(self.names, self.points[iteration], strict=True)
        return f"({', '.join(f'{name} = {number}' for name, number in pairs)})"


class Memory:
    """Containers by name, and what is known about the writes to them."""

    def __init__(self, containers: Mapping[str, Container], *, check: bool) -> None:
        self.containers = containers
        self.check = check
        self.records: list[MapRecord] = []
        self.owned: list[Bound] = []  # allocated in the regions now running, innermost last
        self.clock = 0
        self.last_write: dict[int, int] = {}
        self._bound: dict[str, Bound] = {}
        self._roots = 0

    def split(self) -> Memory:
        """The same memory for one thread of a team, with a place for the record of what all of them do."""
        other = Memory(self.containers, check=self.check)
        other.records = [MapRecord("team", (), []), *self.records]
        other.clock, other.last_write, other._roots = self.clock, self.last_write, self._roots
        other._bound = dict(self._bound)
        return other

    def adopt(self, name: str, array: AnyArray) -> Bound:
        """Bind an array that comes from outside, with a root of its own."""
        self._roots += 1
        bound = self._bound[name] = Bound(array, self._roots, len(self.records))
        return bound

    def bind(self, name: str, bound: Bound) -> None:
        """Bind a REF."""
        self._bound[name] = bound

    def allocate(self, name: str, shape: Point) -> None:
        """Bind fresh memory full of garbage; a negative extent counts as 0."""
        container = self.containers[name]
        order = "F" if container.layout is Layout.F else "C"
        array = np.empty([max(extent, 0) for extent in shape], container.dtype.numpy, order=order)
        spoil(array, container.dtype)
        self.owned.append(self.adopt(name, array))

    def lookup(self, name: str, shape: Point | None = None) -> Bound:
        """The array of a container; for an ALIAS, its base under the given shape."""
        container = self.containers[name]
        if container.storage is not Storage.ALIAS:
            bound = self._bound.get(name)
            if bound is None:
                raise InternalError(f"{name} has no memory here")
            return bound
        base = self.lookup(container.base)
        if shape is None or math.prod(shape) != base.array.size or not base.array.flags.c_contiguous:
            raise InternalError(f"{name} is no other shape of {container.base}: {shape} of {base.array.shape}")
        return Bound(base.array.reshape(shape), base.root, base.level)

    def read(self, name: str, bound: Bound, index: Point) -> Any:
        """One element."""
        check_index(name, bound, index)
        if self.records:
            self._note(bound, _address(bound, index), (name, index), None)
        return bound.array[index]

    def write(self, name: str, bound: Bound, index: Point, number: Any, operation: str) -> None:
        """Write one element, or combine with it."""
        check_index(name, bound, index)
        if self.records:
            self._note(bound, _address(bound, index), (name, index), operation)
        self.wrote(bound)
        bound.array[index] = getattr(np, operation)(bound.array[index], number) if operation else number

    def touch(self, name: str, bound: Bound, *, write: bool) -> None:
        """Note that all elements of a view are read, or written."""
        if write:
            self.wrote(bound)
        if self.records and self.check:
            operation = "" if write else None
            for index in product(*(range(extent) for extent in bound.shape)):
                self._note(bound, _address(bound, index), (f"view of {name} at ", index), operation)

    def wrote(self, bound: Bound) -> None:
        """Note the time of a write."""
        self.clock += 1
        self.last_write[bound.root] = self.clock

    def release(self, mark: int, kept: Sequence[Any]) -> None:
        """End a region: what it allocated is spoiled, but for what leaves with `kept`, which its parent now owns."""
        roots = {item.root for item in kept if isinstance(item, Bound)}
        ended = self.owned[mark:]
        self.owned[mark:] = [bound for bound in ended if bound.root in roots]
        for bound in ended:
            if bound.root not in roots:
                spoil(bound.array, DType(bound.array.dtype.name))

    def _note(self, bound: Bound, address: int, element: Element, operation: str | None) -> None:
        if not self.check:
            return
        for entry in self.records[bound.level :]:
            if operation is None:
                entry.read(address, element)
            else:
                entry.write(address, element, operation)


def check_index(name: str, bound: Bound, index: Point) -> None:
    """Raise unless the element is there; Python's negative indices do not exist in a graph."""
    if len(index) != len(bound.shape) or not all(0 <= i < n for i, n in zip(index, bound.shape, strict=True)):
        raise MemletError(f"{name}{list(index)} is outside the extents {list(bound.shape)}")


def spoil(array: AnyArray, dtype: DType) -> None:
    """Fill with what shows when it is read: NaN, or bytes 0xA5."""
    if dtype.kind in "fc":
        array.fill(np.nan)
    elif dtype is DType.BOOL:
        array.fill(True)
    else:
        array.fill(np.frombuffer(b"\xa5" * dtype.itemsize, dtype.numpy)[0])


def _address(bound: Bound, index: Point) -> int:
    return bound.address + sum(i * stride for i, stride in zip(index, bound.strides, strict=True))
