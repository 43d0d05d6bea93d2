"""The region that is being written, and the conditions under which the rest of it holds.

A guard is a condition the compiled code assumes from its place on; where it fails, the program leaves through the site
of the statement and Python goes on. `Guards` keeps what the guards in force have established, so that none is written
twice and none where bounds prove it. `Builder` adds to it the values and arrays that rules work with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Generic, TypeAlias, TypeVar

from weft.analysis.ranges import index_bounds, is_no_less, is_nonnegative, value_bounds
from weft.ir.dtypes import NP_BOOL, PY_INT, ScalarType
from weft.ir.exprs import Const, Expr, Index, IndexLike, Value, const, const_index, index, op, polynomial_of
from weft.ir.nodes import Container, Elementwise, Guard, Let, Node, Region, Site, Tasklet
from weft.numpy_rules.values import Array, Never
from weft.support.abi import MAX_EXTENT, WarnSite
from weft.support.errors import CompileError
from weft.support.records import record
from weft.support.spans import Span

T = TypeVar("T")
FALSE = const(False, NP_BOOL)
BIG = 1 << 61  # sums of a few such numbers cannot leave int64


@record(frozen=False)
class Scope:
    """One region being written: its nodes, and what the guards in force there have established."""

    nodes: list[Node] = field(default_factory=list[Node])
    conditions: set[Expr] = field(default_factory=set[Expr])
    nonnegative: list[Index] = field(default_factory=list[Index])
    bounded: set[Value] = field(default_factory=set[Value])
    turns: bool = False  # whether it is the body of a loop


Writes: TypeAlias = tuple[tuple[str, int], ...]  # how often containers had been written


@record
class Chosen:
    """By which mask, and from what (`make` gives it), the elements of an array were chosen, and in which region."""

    mask: Array
    make: Callable[[], Array]
    scope: Scope
    writes: Writes
    span: Span | None


@record
class Made:
    """How a mask was computed, in which region, and when."""

    node: Elementwise
    scope: Scope
    writes: Writes


@record
class Known(Generic[T]):
    """What was found out about a mask in a region: how many of its elements are true, or where."""

    mask: Array
    value: T
    scope: Scope
    writes: Writes


@record
class Held:
    """An array that a list holds a copy of, and how often it may have been written: None for not at all."""

    container: str
    writes: int | None
    span: Span | None


@record(frozen=False)
class Ledger:
    """Everything that outlives a region. It only grows: what a trial lowering leaves behind is pruned at the end."""

    next_id: int = 1
    containers: dict[str, Container] = field(default_factory=dict[str, Container])
    constants: list[Any] = field(default_factory=list[Any])
    warn_sites: list[WarnSite] = field(default_factory=list[WarnSite])
    slot_of_value: dict[Value, int] = field(default_factory=dict[Value, int])
    ones: set[Value] = field(default_factory=set[Value])  # those of them that are 1 in this call
    orders: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])  # axes, slowest first
    repeated: dict[str, int] = field(default_factory=dict[str, int])  # bits of axes with stride 0, of the same arrays
    entry: set[Value] = field(default_factory=set[Value])  # numbers and extents that came in with the call
    snapshots: dict[str, str] = field(default_factory=dict[str, str])  # copies that stand for a view of a container
    unsure: dict[str, Span] = field(
        default_factory=dict[str, "Span"]
    )  # of these, those that may be copies in NumPy too
    objects: list[Array] = field(default_factory=list[Array])  # those that are what they name, not a view of it
    views: set[str] = field(default_factory=set[str])  # REFs of views: never the very array that came in
    chosen: dict[str, Chosen] = field(default_factory=dict[str, Chosen])  # arrays of the elements that a mask chose
    made: dict[str, Made] = field(default_factory=dict[str, "Made"])
    masks: dict[object, Array] = field(default_factory=dict[object, "Array"])  # the first of those that are made alike
    counts: dict[str, Known[Index]] = field(default_factory=dict[str, "Known[Index]"])
    found: dict[str, Known[Array]] = field(default_factory=dict[str, "Known[Array]"])  # positions of what is true
    places: dict[str, Known[tuple[Array, ...]]] = field(default_factory=dict[str, "Known[tuple[Array, ...]]"])
    writes: dict[str, int] = field(default_factory=dict[str, int])  # how often the code so far writes a container
    held: list[Held] = field(default_factory=list["Held"])  # arrays that stand in lists as copies
    taken: set[str] = field(default_factory=set[str])  # copies that stand for an array in a list


class Guards:
    """Appends nodes to the region that is open now, and knows what holds there."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.scopes: list[Scope] = [Scope()]
        self.span: Span | None = None
        self.site: Site | None = None
        self.site_used = False
        self.dirty = False  # an observable write happened since the site
        self.error_modes: dict[str, str] = {}  # what np.errstate around the statement says, by kind
        self.texts_are_known = False  # every str of the caller's is known by its value, else its characters may be data
        self.protected = 0  # `try` and `with` statements around: what raises there must leave through a site

    # -- regions ------------------------------------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """The region that is open now."""
        return self.scopes[-1]

    @contextmanager
    def reopened(self, scope: Scope) -> Generator[None, None, None]:
        """Go on at the end of a region that was left and is not closed yet."""
        self.scopes.append(scope)
        try:
            yield
        finally:
            self.scopes.pop()

    @contextmanager
    def region(self) -> Generator[Scope, None, None]:
        """Open a nested region; `close(scope)` makes it a Region."""
        scope = Scope()
        self.scopes.append(scope)
        try:
            yield scope
        finally:
            self.scopes.pop()

    @staticmethod
    def close(scope: Scope) -> Region:
        """The finished region."""
        return Region(tuple(scope.nodes))

    def emit(self, node: Node) -> None:
        """Append a node."""
        self.scope.nodes.append(node)

    @contextmanager
    def attempt(self) -> Generator[None, None, None]:
        """What is written to this region inside; nothing of it stays if that ends with a CompileError."""
        scope, marks = self.scope, (self.site_used, self.dirty)
        before = Scope(list(scope.nodes), set(scope.conditions), list(scope.nonnegative), set(scope.bounded))
        try:
            yield
        except CompileError:
            scope.nodes[:], scope.nonnegative[:] = before.nodes, before.nonnegative
            scope.conditions, scope.bounded = before.conditions, before.bounded
            self.site_used, self.dirty = marks
            raise

    def new_id(self) -> int:
        """A fresh number, for values, containers and nodes alike."""
        number = self.ledger.next_id
        self.ledger.next_id += 1
        return number

    # -- values -------------------------------------------------------------------------------------------------------

    def value(self, name: str, type_: ScalarType, *, low: int | None = None, high: int | None = None) -> Value:
        """A fresh value, to be defined by the node that is about to be emitted."""
        return Value(self.new_id(), name, type_, low, high)

    def let(
        self, expr: Expr, name: str = "t", *, warn: int = -1, low: int | None = None, high: int | None = None
    ) -> Value:
        """Name an expression."""
        if isinstance(expr, Value):
            return expr
        value = self.value(name, expr.type, low=low, high=high)
        self.emit(Tasklet(lets=(Let(value, expr, warn),), id=self.new_id(), span=self.span))
        return value

    def error(self, code: str, message: str, hint: str = "") -> CompileError:
        """A compile error at the place that is being lowered."""
        return CompileError(code, message, self.span or Span("<unknown>", 0, 0, 0, ""), hint)

    # -- guards -------------------------------------------------------------------------------------------------------

    def use_site(self) -> int:
        """The number of the site a guard emitted now leaves through."""
        if self.site is None:
            raise RuntimeError("a guard outside of any statement")
        if self.dirty:
            raise self.error(
                "E201", "this statement writes an array and then needs a check", "split it into two statements"
            )
        self.site_used = True
        return self.site.number

    def guard(self, condition: Expr, reason: str) -> None:
        """Assume a condition from here on."""
        if isinstance(condition, Const) and condition.value:
            return
        if any(condition in scope.conditions for scope in self.scopes):
            return
        self.emit(Guard(condition, self.use_site(), reason))
        self.scope.conditions.add(condition)

    def guard_nonnegative(self, value: IndexLike, reason: str) -> None:
        """Assume `value >= 0`."""
        polynomial = index(value)
        if self.proves_nonnegative(polynomial):
            return
        polynomial = self.bounded(polynomial)
        left = [(monomial, factor) for monomial, factor in polynomial.terms if factor > 0]
        right = [(monomial, -factor) for monomial, factor in polynomial.terms if factor < 0]
        self.guard(op("greater_equal", (polynomial_of(left), polynomial_of(right)), NP_BOOL), reason)
        self.scope.nonnegative.append(polynomial)

    def bounded(self, value: Index) -> Index:
        """The same int, guarded to be far from the ends of int64 so that sums with it cannot wrap around.

        A linear polynomial stays one (its values are bounded); any other is named, since only its value as a whole,
        not each of its products, is known to fit int64.
        """
        low, high = index_bounds(value)
        if low >= -BIG and high <= BIG:
            return value
        if any(len(monomial) > 1 for monomial, _ in value.terms):
            value = index(self.let(op("positive", (value,), PY_INT), "b"))
        for atom in sorted(value.values, key=lambda v: v.id):
            if self._is_bounded(atom):
                continue
            self.guard(op("less_equal", (index(atom), const_index(MAX_EXTENT)), NP_BOOL), "integer too large")
            self.guard(op("greater_equal", (index(atom), const_index(-MAX_EXTENT)), NP_BOOL), "integer too small")
            self.scope.bounded.add(atom)
        return value

    def _is_bounded(self, atom: Value) -> bool:
        """Whether a value is known to be small, by its own bounds, a guard, or those of the range it runs over."""
        low, high = value_bounds(atom)
        if (low >= -MAX_EXTENT and high <= MAX_EXTENT) or any(atom in scope.bounded for scope in self.scopes):
            return True
        if atom.floor is None or atom.ceiling is None:
            return False
        return all(self._is_bounded(value) for bound in (atom.floor, atom.ceiling) for value in bound.values)

    def guard_equal(self, left: Index, right: Index, reason: str) -> None:
        """Assume two integers are equal."""
        if left is right or (self.proves_nonnegative(left - right) and self.proves_nonnegative(right - left)):
            return
        self.guard(op("equal", (left, right), NP_BOOL), reason)
        self.scope.nonnegative += [left - right, right - left]

    def proves_nonnegative(self, value: Index) -> bool:
        """Whether `value >= 0` follows from bounds and the guards in force."""
        if is_nonnegative(value):
            return True
        return any(is_no_less(value, fact) for scope in self.scopes for fact in scope.nonnegative)

    def leave(self, reason: str) -> Never:
        """Give up here: Python repeats the statement and raises, or does what we cannot."""
        self.guard(FALSE, reason)
        return Never()
