"""Refs that are only ever bound to whole dense arrays are dense themselves.

before:  array X: f8[%x.4] ref S may alias (A, B)      for ... carry (X = A[:], Y = B[:]) { ... continue Y[:], X[:] }
after:   array X: f8[%x.4] ref C may alias (A, B)

Their elements are then found by the extents alone, as neighbours in memory, and not by strides known at run time. A ref
may be bound to another one: all are taken for dense until one binding says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from weft.ir.exprs import Expr
from weft.ir.nodes import (
    NOTHING,
    Branch,
    Break,
    Continue,
    Layout,
    Loop,
    Program,
    Region,
    Storage,
    View,
    While,
    Yield,
    full_view,
)  # fmt: skip
from weft.ir.traverse import inner_regions
from weft.passes.base import Session
from weft.support.records import record

Targets = tuple[object, ...]
Binding = tuple[str, View]


@record
class DenseRefs:
    """Give refs the layout of what they are bound to."""

    name: ClassVar[str] = "dense-refs"

    def run(self, program: Program, session: Session) -> Program:
        """The program with its refs dense where they can be."""
        return dense_refs(program)


def dense_refs(program: Program) -> Program:
    """The program with every ref dense whose bindings are; the very same object if there is none."""
    bindings = list(_bindings(program.body, (), ()))
    layouts: dict[str, Layout | None] = {  # None: not bound to anything so far
        name: None
        for name, container in program.containers.items()
        if container.storage is Storage.REF and container.layout is Layout.STRIDED
    }
    changed = True
    while changed:
        changed = False
        for name, view in bindings:
            if name in layouts and view.container != NOTHING:
                met = _meet(layouts[name], _layout_of(view, program, layouts))
                changed |= met is not layouts[name]
                layouts[name] = met
    dense = {name: layout for name, layout in layouts.items() if layout in (Layout.C, Layout.F)}
    if not dense:
        return program
    containers = {
        name: replace(container, layout=dense[name]) if name in dense else container
        for name, container in program.containers.items()
    }
    return replace(program, containers=containers)


def _meet(known: Layout | None, given: Layout | None) -> Layout | None:
    """What is known of a ref after one more binding; STRIDED where two do not go together."""
    if known is None or given is None:
        return given if known is None else known
    return known if known is given else Layout.STRIDED


def _layout_of(view: View, program: Program, layouts: dict[str, Layout | None]) -> Layout | None:
    container = program.containers[view.container]
    if view != full_view(container):
        return Layout.STRIDED
    return layouts.get(container.name, container.layout)


def _bindings(region: Region, loops: tuple[Targets, ...], results: Targets) -> Iterator[Binding]:
    """Every view that is bound to a ref. `loops` are the targets of the loops around, innermost first."""
    for node in region.nodes:
        match node:
            case Loop(carries=carries) | While(carries=carries):
                targets: Targets = tuple(carry.target for carry in carries)
                yield from _pairs(targets, (carry.init for carry in carries))
                yield from _bindings(node.body, (targets, *loops), ())
            case Branch():
                for arm in inner_regions(node):
                    yield from _bindings(arm, loops, node.results)
            case Yield(values=values):
                yield from _pairs(results, values)
            case Continue(values=values):
                yield from _pairs(loops[0], values)
            case Break(values=values, depth=depth):
                yield from _pairs(loops[depth], values)
            case _:
                for inner in inner_regions(node):
                    yield from _bindings(inner, (), ())


def _pairs(targets: Targets, items: Iterable[Expr | View]) -> Iterator[Binding]:
    for target, item in zip(targets, items, strict=True):
        if isinstance(target, str) and isinstance(item, View):
            yield target, item
