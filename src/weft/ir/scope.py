"""What is visible at a place of a graph, and whether what stands there only uses that.

in:   expressions, views, memlets and bundles of a node
out:  nothing, or an `InternalError` that shows the node

A value, a container's memory or a site is visible from its definition to the end of the region it stands in, and in the
regions inside.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import NoReturn

from weft.ir.dtypes import DType
from weft.ir.exprs import Expr, Index, Value, operands
from weft.ir.nodes import (
    Anew,
    Bundle,
    Choice,
    Constant,
    Container,
    Listed,
    Memlet,
    Missing,
    Node,
    Pack,
    Program,
    SlotObject,
    Storage,
    View,
)  # fmt: skip
from weft.ir.op_types import fault_in
from weft.ir.printer import print_expr, print_node
from weft.support.errors import InternalError

_CONFLICTS = ("", "add", "multiply", "minimum", "maximum", "logical_or", "logical_and")


class Scope:
    """Visible values by id, containers with memory, and sites; `node` is the one being checked."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.node: Node | None = None
        self.values: dict[int, Value] = {}
        self.arrays: set[str] = set()
        self.sites: set[int] = set()
        self.written: set[str] = set()
        self._checked: set[Expr] = set()  # found to be right where we are
        self._values_ever: set[int] = set()
        self._sites_ever: set[int] = set()

    @contextmanager
    def inner(self) -> Generator[None]:
        """A region: what is defined in it ends with it."""
        saved = dict(self.values), set(self.arrays), set(self.sites), set(self._checked)
        yield
        self.values, self.arrays, self.sites, self._checked = saved

    def fail(self, message: str) -> NoReturn:
        """Raise, showing the node (of a construct with a body, its first line)."""
        shown = ""
        if self.node is not None:
            lines = print_node(self.node, self.program.containers).splitlines()
            shown = f"\n  in: {lines[0]}" + (" ..." if len(lines) > 1 else "")
        raise InternalError(f"{self.program.name}: {message}{shown}")

    def require(self, holds: bool, message: str) -> None:
        """Fail unless it holds."""
        if not holds:
            self.fail(message)

    # -- definitions

    def define(self, value: Value) -> None:
        """A value begins here."""
        self.require(value.id not in self._values_ever, f"{value.text} is defined twice")
        for bound in (value.floor, value.ceiling):
            if bound is not None:
                self.use(bound)
        self._values_ever.add(value.id)
        self.values[value.id] = value

    def define_site(self, number: int) -> None:
        """A site begins here."""
        self.require(number not in self._sites_ever, f"site {number} stands twice")
        self._sites_ever.add(number)
        self.sites.add(number)

    def define_extents(self, container: Container) -> None:
        """Extents of an argument or a REF that are bare values begin where it is bound."""
        for extent in container.shape:
            match extent.terms:
                case (((Value() as value,), 1),):
                    if value.id not in self.values:
                        self.define(value)
                case _:
                    pass
        for extent in container.shape:
            self.use(extent)

    def bind(self, name: str) -> None:
        """A REF begins here."""
        container = self.container(name)
        self.require(container.storage is Storage.REF, f"{name} is {container.storage.value}, only a ref can be bound")
        self.require(name not in self.arrays, f"{name} is bound twice")
        self.define_extents(container)
        self.arrays.add(name)

    # -- uses

    def use(self, expr: Expr) -> None:
        """Values are visible, operations well typed."""
        if not isinstance(expr, Value) and expr in self._checked:
            return
        stack: list[Expr] = [expr]
        while stack:
            top = stack.pop()
            if isinstance(top, Value):
                self._use_value(top)
            elif top not in self._checked:
                self._checked.add(top)
                fault = fault_in(top)
                if fault is not None:
                    self.fail(f"{fault} in {print_expr(top)}")
                stack += operands(top)

    def _use_value(self, value: Value) -> None:
        found = self.values.get(value.id)
        if found is value:
            return
        if found is None:
            late = "outside the region that defines it" if value.id in self._values_ever else "before it is defined"
            self.fail(f"{value.text} is used {late}")
        self.require(found == value, f"{value.text} differs from its definition (name, type or bounds)")

    def use_all(self, indices: Iterable[Index]) -> None:
        """The same for polynomials."""
        for item in indices:
            self.use(item)

    def condition(self, expr: Expr) -> None:
        """A bool."""
        self.use(expr)
        self.require(expr.type.dtype is DType.BOOL, f"the condition is {expr.type.text}, not bool")

    def container(self, name: str) -> Container:
        """A container that exists."""
        found = self.program.containers.get(name)
        if found is None:
            self.fail(f"there is no container {name}")
        return found

    def memory(self, name: str) -> Container:
        """A container that has memory here."""
        container = self.container(name)
        match container.storage:
            case Storage.ALIAS:
                self.memory(container.base)
                self.use_all(container.shape)
            case Storage.TRANSIENT | Storage.STACK:
                self.require(name in self.arrays, f"{name} is used before it is allocated, or after its region")
            case Storage.REF:
                self.require(name in self.arrays, f"{name} is used before it is bound, or after its region")
            case Storage.ARGUMENT:
                pass
        return container

    def view(self, view: View, *, write: bool = False) -> Container:
        """The view fits its container."""
        container = self.memory(view.container)
        if len(view.axes) != container.rank:
            self.fail(f"a view of {view.container} has {len(view.axes)} indices for rank {container.rank}")
        self.use_all(view.shape)
        for axis in view.axes:
            self.use(axis.offset)
            for number, step in axis.terms:
                self.require(0 <= number < view.rank, f"a view of {view.container} of rank {view.rank} uses ${number}")
                self.use(step)
        if write:
            self.written.add(view.container)
            free = set(range(view.rank)) - {number for axis in view.axes for number, _ in axis.terms}
            lone = any((extent := view.shape[number].constant) is None or extent > 1 for number in free)
            self.require(not lone, f"a broadcast view of {view.container} is written")
        return container

    def stays(self, view: View) -> None:
        """What is bound or handed out does not live on the stack."""
        roots = may_be(self.program, view.container)
        local = sorted(name for name in roots if self.container(name).storage is Storage.STACK)
        self.require(not local, f"a view of {', '.join(local)}, which is on the stack, leaves its region")

    def memlet(self, memlet: Memlet, *, write: bool = False) -> Container:
        """The memlet fits its container."""
        container = self.memory(memlet.container)
        if len(memlet.index) != container.rank:
            self.fail(f"{memlet.container} of rank {container.rank} has {len(memlet.index)} indices")
        self.use_all(memlet.index)
        allowed = _CONFLICTS if write else ("",)
        self.require(memlet.conflict in allowed, f"`{memlet.conflict}` resolves no conflict here")
        if write:
            self.written.add(memlet.container)
        return container

    def bundle(self, bundle: Bundle, *, leaves: bool = True) -> None:
        """What is handed to Python is there; what `leaves` the program outlives its region."""
        program = self.program
        match bundle:
            case Constant(index=number):
                self.require(0 <= number < len(program.constants), f"there is no constant {number}")
            case SlotObject(slot=slot):
                self.require(0 <= slot < len(program.slots), f"there is no slot {slot}")
            case Pack(items=items, cls=cls):
                self.require(-1 <= cls < len(program.constants), f"there is no constant {cls}")
                self.bundles(items, leaves=leaves)
            case Choice(tag=tag, items=items):
                self.use(tag)
                self.require(tag.type.dtype.kind in "biu", f"a choice by {tag.type.text}, which is no integer")
                self.bundles(items, leaves=leaves)
            case Missing():
                pass
            case View() | Anew():
                view = bundle if isinstance(bundle, View) else bundle.view
                self.view(view)
                if leaves:
                    self.stays(view)
            case Listed(view=view, type=type_):
                self.require(view.rank == 1, "a list is made of an array of one axis")
                self.stays(view)
                self.require(self.view(view).dtype is type_.dtype, f"a list of {type_.text} of another element type")
            case _:
                self.use(bundle)

    def bundles(self, bundles: Iterable[Bundle], *, leaves: bool = True) -> None:
        """The same for many."""
        for bundle in bundles:
            self.bundle(bundle, leaves=leaves)


def may_be(program: Program, name: str) -> frozenset[str]:
    """The arguments and transients whose memory a container may stand for."""
    container = program.containers.get(name)
    if container is None or container.storage in (Storage.ARGUMENT, Storage.TRANSIENT, Storage.STACK):
        return frozenset((name,))
    if container.storage is Storage.ALIAS:
        return may_be(program, container.base)
    # Refs may name each other: a set of names seen, not a recursion.
    roots: set[str] = set()
    seen: set[str] = set()
    left = [name]
    while left:
        current = left.pop()
        found = program.containers.get(current)
        if current in seen or found is None:
            continue
        seen.add(current)
        if found.storage is Storage.REF:
            left += found.may_alias
        elif found.storage is Storage.ALIAS:
            left.append(found.base)
        else:
            roots.add(current)
    return frozenset(roots)
