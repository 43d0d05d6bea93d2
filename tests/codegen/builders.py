"""Small programs by hand: arguments of given types, views, results."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.ir.dtypes import PY_INT, PYTHON_NAMES, DType, ScalarType
from weft.ir.exprs import Index, IndexLike, Value, const_index, index
from weft.ir.nodes import (
    Axis,
    Bundle,
    Container,
    Layout,
    Node,
    Program,
    Region,
    Return,
    Site,
    SiteFrame,
    Storage,
    View,
)
from weft.support.abi import ArgKind, ArgSpec, Slot, SlotKind, WarnSite

_PYTHON_KINDS = {
    "py_bool": ArgKind.PY_BOOL,
    "py_int": ArgKind.PY_INT,
    "py_float": ArgKind.PY_FLOAT,
    "py_complex": ArgKind.PY_COMPLEX,
}


@dataclass(slots=True)
class Build:
    """Collects the parts of a program."""

    name: str = "f"
    args: list[ArgSpec] = field(default_factory=list[ArgSpec])
    scalars: list[tuple[int, Value]] = field(default_factory=list[tuple[int, Value]])
    containers: dict[str, Container] = field(default_factory=dict[str, Container])
    warn_sites: list[WarnSite] = field(default_factory=list[WarnSite])
    ids: Any = field(default_factory=lambda: itertools.count(1))

    def value(self, name: str, type_: ScalarType = PY_INT) -> Value:
        return Value(next(self.ids), name, type_)

    def scalar(self, name: str, type_: ScalarType) -> Value:
        value = self.value(name, type_)
        self.scalars.append((len(self.args), value))
        if type_.python:
            self.args.append(ArgSpec(_PYTHON_KINDS[PYTHON_NAMES[type_.dtype]]))
        else:
            self.args.append(ArgSpec(ArgKind.NP_SCALAR, type_.dtype.value))
        return value

    def array(self, name: str, dtype: DType, rank: int, layout: Layout = Layout.C, *, written: bool = False) -> View:
        """An argument, as a view of all of it."""
        shape = tuple(index(self.value(f"{name}_n{axis}")) for axis in range(rank))
        slot = len(self.args)
        self.args.append(ArgSpec(ArgKind.ARRAY, dtype.value, rank, layout.value, written=written))
        self.containers[name] = Container(name, dtype, shape, Storage.ARGUMENT, layout, slot, written=written)
        return self.whole(name)

    def transient(self, name: str, dtype: DType, shape: Sequence[IndexLike] = (), layout: Layout = Layout.C) -> View:
        extents = tuple(index(extent) for extent in shape)
        self.containers[name] = Container(name, dtype, extents, Storage.TRANSIENT, layout)
        return self.whole(name)

    def ref(self, name: str, dtype: DType, rank: int, may_alias: tuple[str, ...]) -> View:
        shape = tuple(index(self.value(f"{name}_n{axis}")) for axis in range(rank))
        self.containers[name] = Container(
            name, dtype, shape, Storage.REF, Layout.STRIDED, may_alias=may_alias, written=True
        )
        return self.whole(name)

    def whole(self, name: str) -> View:
        shape = self.containers[name].shape
        axes = tuple(Axis(const_index(0), ((axis, const_index(1)),)) for axis in range(len(shape)))
        return View(name, shape, axes)

    def warn(self, operation: str = "op") -> int:
        self.warn_sites.append(WarnSite(operation, 1))
        return len(self.warn_sites) - 1

    def program(self, *nodes: Node, constants: tuple[Any, ...] = ()) -> Program:
        slots = tuple(Slot(SlotKind.PARAM, number) for number in range(len(self.args)))
        return Program(
            self.name, slots, tuple(self.args), tuple(self.scalars), self.containers, Region(nodes), constants,
            warn_sites=tuple(self.warn_sites),
        )  # fmt: skip


def site(number: int, **names: Bundle) -> Site:
    """A resume point of the program itself, with these live names."""
    return Site(number, (SiteFrame(0, (0,), tuple(names), tuple(names.values())),))


def give(value: Bundle) -> Return:
    return Return(value)


def point(*values: Value) -> tuple[Index, ...]:
    return tuple(index(value) for value in values)
