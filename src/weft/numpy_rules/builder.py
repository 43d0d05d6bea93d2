"""The hand that writes the graph: values, regions, guards, reads and writes.

Rules and the frontend share one `Builder` per program. It appends nodes to the current region, keeps what the guards
in force have established (see `Guards`), and knows the place in the user's source for errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, Op, Value, const_index, index, op
from weft.ir.nodes import Alloc, Container, Layout, Memlet, Storage, Tasklet, View, full_view
from weft.numpy_rules.guards import Guards
from weft.support.abi import ERROR_KINDS, MAX_EXTENT, WarnSite
from weft.support.spans import Span


class NeedStatic(Exception):  # noqa: N818  (a request to the driver, not an error)
    """An argument reaches a place that must be known at compile time: specialise its slot by value."""

    def __init__(self, slot: int) -> None:
        super().__init__(slot)
        self.slot = slot


class NeedView(Exception):  # noqa: N818  (a request to the driver, not an error)
    """Copies that stand for what may be views are written or seen later: at these places NumPy's way must be known."""

    def __init__(self, places: frozenset[Span]) -> None:
        super().__init__(places)
        self.places = places


class NeedText(Exception):  # noqa: N818  (a request to the driver, not an error)
    """The characters of a str are counted or compared one by one: they are data, and the program is for any str."""

    def __init__(self, slot: int) -> None:
        super().__init__(slot)
        self.slot = slot


class Builder(Guards):
    """Appends nodes to the region that is open now."""

    exact: frozenset[Span] = frozenset()  # where a copy must not stand for what may be a view

    # -- values -------------------------------------------------------------------------------------------------------

    def match_extents(self, left: Index, right: Index) -> None:
        """Assume two extents are equal, as neither is known to be 1."""
        if left is not right:
            self.ask_for_one(left)
            self.ask_for_one(right)
        self.guard_equal(left, right, "shapes do not match")

    def ask_for_one(self, extent: Index) -> None:
        """An extent that is an argument, and 1 in this call, is to be known: such axes are stretched and dropped."""
        for value in extent.values & self.ledger.ones:
            if extent is index(value):
                raise NeedStatic(self.ledger.slot_of_value[value])

    def extent(self, name: str, *, one: bool = False) -> Index:
        """A fresh extent of an array: between 0 and MAX_EXTENT; exactly 1 where that is known."""
        return const_index(1) if one else index(self.value(name, PY_INT, low=0, high=MAX_EXTENT))

    def let_index(self, expr: Expr, name: str = "n", *, low: int | None = None, high: int | None = None) -> Index:
        """An integer expression as a polynomial: itself where it is one, else a named value."""
        if isinstance(expr, Index):
            return expr
        if expr.type != PY_INT:
            expr = op("cast", (expr,), PY_INT)
        value = self.let(expr, name, low=low, high=high)
        if isinstance(expr, Op) and expr.name == "floor_divide" and self._came_in(expr.args):
            self.ledger.entry.add(value)  # half of an extent is the same all through the call
        return index(value)

    def _came_in(self, parts: tuple[Expr, ...]) -> bool:
        """Whether integers are computed of nothing but numbers and extents that came in with the call."""
        return all(
            part in self.ledger.entry
            if isinstance(part, Value)
            else isinstance(part, Index) and part.values <= self.ledger.entry
            for part in parts
        )

    def loop_variable(self, name: str, start: Index, stop: Index) -> Value:
        """A variable that counts from `start` up to `stop`, with these bounds."""
        return Value(self.new_id(), name, PY_INT, None, None, start, stop - 1)

    def select_index(self, tag: Expr, number: int, chosen: Expr, other: Expr) -> Expr:
        """`chosen if tag == number else other`, for integers."""
        return op("select", (op("equal", (tag, const_index(number)), NP_BOOL), chosen, other), PY_INT)

    def read(self, view: View, point: tuple[Index, ...], dtype: DType, name: str = "") -> Value:
        """Read one element."""
        value = self.value(name or view.container.partition(".")[0].lower(), ScalarType(dtype))
        self.emit(Tasklet(reads=((value, view.at(point)),), id=self.new_id(), span=self.span))
        return value

    def write(self, memlet: Memlet, expr: Expr) -> None:
        """Write one element."""
        self.mark_written(memlet.container)
        self.emit(Tasklet(writes=((memlet, expr),), id=self.new_id(), span=self.span))

    # -- containers ---------------------------------------------------------------------------------------------------

    def alloc(self, shape: tuple[Index, ...], dtype: DType, name: str = "t", *, fortran: bool = False) -> View:
        """A new array, contents undefined."""
        unique = f"{name}.{self.new_id()}"
        layout = Layout.F if fortran else Layout.C
        self.ledger.containers[unique] = Container(unique, dtype, shape, Storage.TRANSIENT, layout)
        self.emit(Alloc(container=unique, site=self.use_site(), id=self.new_id(), span=self.span))
        return full_view(self.ledger.containers[unique])

    def container(self, name: str) -> Container:
        """The container of that name."""
        return self.ledger.containers[name]

    def mark_written(self, name: str) -> None:
        """Record that a container is written; for those that can be seen from outside, that the site is past."""
        touched = self.reaches(name)
        copies = [copy for copy, whole in self.ledger.snapshots.items() if self._is_seen(touched, copy, whole)]
        if copies:
            self.need_views(copies)
            raise self.error(
                "E203", "this writes an array, or a part of it taken as .real or .imag", "take a copy of that part"
            )
        for reached in touched:
            self.ledger.writes[reached] = self.ledger.writes.get(reached, 0) + 1
            container = self.ledger.containers[reached]
            if not container.written:
                self.ledger.containers[reached] = replace(container, written=True)
        self.dirty = True

    def _is_seen(self, touched: Sequence[str], copy: str, whole: str) -> bool:
        """Whether what is written may be a copy in place of a view, or what it is a copy of."""
        return copy in touched or any(name in touched for name in self.reaches(whole))

    def need_views(self, copies: Iterable[str]) -> None:
        """Ask for another start where some of these copies only may be views in NumPy."""
        places = frozenset(self.ledger.unsure[copy] for copy in copies if copy in self.ledger.unsure)
        if places:
            raise NeedView(places)

    def reaches(self, name: str) -> tuple[str, ...]:
        """The container and all it may be another name of."""
        found: dict[str, None] = {}
        pending = [name]
        while pending:
            current = pending.pop()
            if current in found or not current:
                continue
            found[current] = None
            container = self.ledger.containers[current]
            pending += [*container.may_alias, container.base]
        return tuple(found)

    # -- errors -------------------------------------------------------------------------------------------------------

    def warn_site(self, operation: str) -> int:
        """The number of a place that may give a floating-point RuntimeWarning; -1 where none is wanted."""
        if self.error_modes and all(self.error_modes.get(kind) == "ignore" for kind in ERROR_KINDS):
            return -1
        modes = " ".join(f"{kind}={mode}" for kind, mode in sorted(self.error_modes.items()))
        site = WarnSite(operation, self.span.line if self.span else 0, modes)
        if site in self.ledger.warn_sites:
            return self.ledger.warn_sites.index(site)
        self.ledger.warn_sites.append(site)
        return len(self.ledger.warn_sites) - 1
