"""The graph: containers, views, and the nodes of a region. `docs/ir.md` states the meaning of every node.

Containers are separate from computation; every movement of data is explicit; control flow exists only where the data
does not already give the order. Everything is immutable. Containers are named by strings, looked up in `containers` of
the program. Nodes carry a stable `id` that is not compared: facts, explanations, profiles are keyed by it.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeAlias

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Expr, Index, Value, const_index
from weft.ir.schedules import Schedule, Team
from weft.ir.storage import Layout, Storage
from weft.support.abi import ArgSpec, FunctionRef, Slot, WarnSite, WriteBack
from weft.support.records import record
from weft.support.spans import Span


@record
class Container:
    """An array that nodes read and write: element type, symbolic shape, layout, and where its memory comes from.

    The extents of a REF are values defined by its binding. `slot` is the ABI slot of an ARGUMENT.
    """

    name: str
    dtype: DType
    shape: tuple[Index, ...]
    storage: Storage
    layout: Layout = Layout.C
    slot: int = -1
    base: str = ""
    may_alias: tuple[str, ...] = ()
    written: bool = False

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)


@record
class Axis:
    """How one dimension of a container is indexed by a view: `offset + sum(step * p[axis])`."""

    offset: Index
    terms: tuple[tuple[int, Index], ...] = ()


@record
class View:
    """An index map onto a container: element p of the view is `container[axes[d] at p for d]`.

    `shape` gives the extents of the view. A view axis that no `axes` entry mentions is broadcast. The view of container
    "" (NOTHING) may only be bound to a REF that is never looked at: the array side of a choice that is something else.
    """

    container: str
    shape: tuple[Index, ...]
    axes: tuple[Axis, ...]

    @property
    def rank(self) -> int:
        """Number of axes of the view."""
        return len(self.shape)

    def at(self, point: tuple[Index, ...]) -> Memlet:
        """The element at a point of the view's own index space."""
        indices: list[Index] = []
        for axis in self.axes:
            position = axis.offset
            for number, step in axis.terms:
                position = position + step * point[number]
            indices.append(position)
        return Memlet(self.container, tuple(indices))


def full_view(container: Container) -> View:
    """The view that is the whole container."""
    axes = tuple(Axis(const_index(0), ((d, const_index(1)),)) for d in range(container.rank))
    return View(container.name, container.shape, axes)


NOTHING = ""


@record
class Memlet:
    """One element of a container moved, as a function of the surrounding parameters.

    On writes `conflict` may name what combines with the old: add, multiply, minimum, maximum, logical_or, logical_and.
    """

    container: str
    index: tuple[Index, ...]
    conflict: str = ""


# ---- what leaves a program: results and live names ------------------------------------------------------------------


@record
class Constant:
    """A Python object known at compile time: index into `Program.constants`."""

    index: int


@record
class SlotObject:
    """The very object that came in through a slot."""

    slot: int


@record
class Pack:
    """A tuple of bundles, or a list, or a dict of keys and values in turn.

    Where an object may be met in several places, `share` is its number: all packs of one exit with that number are one
    object (and say the same). 0 is an object met here only. With `cls`, the number of a class among the constants, it
    is what the class gives when it is called with the items: a named tuple or an object of a dataclass.
    """

    items: tuple[Bundle, ...]
    is_list: bool = False
    is_dict: bool = False
    share: int = 0
    cls: int = -1


@record
class Listed:
    """A list of the elements of a view of one axis, as scalars of a type; `share` as for a pack."""

    view: View
    type: ScalarType
    share: int = 0


@record
class Anew:
    """A view of what may be an argument, as an object of its own even where it is all of that argument."""

    view: View


@record
class Choice:
    """One of several bundles, chosen at run time by an integer."""

    tag: Expr
    items: tuple[Bundle, ...]


@record
class Missing:
    """A name without a value."""


Bundle: TypeAlias = Expr | View | Anew | Constant | SlotObject | Pack | Listed | Choice | Missing


# ---- nodes ----------------------------------------------------------------------------------------------------------


@record(kw_only=True)
class Alloc:
    """Give memory to a TRANSIENT container, contents undefined: until its region ends, longer where a REF holds it."""

    container: str
    site: int
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record(kw_only=True)
class Elementwise:
    """`output[p] = expr` for every point p of the output, as if all inputs were read before the first write.

    `params` are the coordinates of p (one per axis), usable in `expr`; each input defines a value: the element at p of
    a view with the output's shape. Scalars from outside stand in `expr` directly.
    """

    output: View
    params: tuple[Value, ...]
    inputs: tuple[tuple[Value, View], ...]
    expr: Expr
    warn: int = -1  # index into Program.warn_sites: report floating-point exceptions there
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Elements:
    """An array that is never stored: its element at the point `params` is `expr`, computed by the tasklets of `body`.

    The tasklets read and compute, in order, and write nothing. Only lets with a `warn` report exceptions; `expr` and
    the other lets are silent.
    """

    params: tuple[Value, ...]
    shape: tuple[Index, ...]
    body: tuple[Tasklet, ...]
    expr: Expr

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)


@record(kw_only=True)
class Reduce:
    """Combine `input` over `axes` into `output`: its rank less the axes (or 1-long axes there if `keepdims`).

    `op` is add, multiply, minimum, maximum, logical_and, logical_or, argmin or argmax (first position; NaN wins). The
    element type of the output is that of the reduction (the input is cast first). `initial` is what an empty one gives;
    None means a guard excludes that. Sums take any order within the bound of pairwise ones, fixed for all threads.
    """

    op: str
    output: View
    input: View | Elements
    axes: tuple[int, ...]
    initial: Expr | None
    schedule: Schedule = Schedule.SEQUENTIAL
    warn: int = -1  # of the combination itself
    joined: bool = False  # in one sweep with the one right before it: same extents and axes, neither needs the other
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record(kw_only=True)
class Scan:
    """Running `op` (one of SCANS) of `input` along `axis`, in order, into `output` of its shape."""

    op: str
    output: View
    input: View
    axis: int
    warn: int = -1
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record(kw_only=True)
class MatMul:
    """`output[..., i, j] = sum over k of lhs[..., i, k] * rhs[..., k, j]`; vectors are views with an added axis."""

    output: View
    lhs: View
    rhs: View
    scale: Expr | None = None  # a number by which all sums are multiplied
    adds: bool = False  # to what the output holds
    sweep: bool = False  # by loops of our own, with one of the same matrix right before it: how, not what
    warn: int = -1
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class CallResult:
    """An array or number that a NumPy call gives.

    A `target` container gets its memory by the call; it holds the array with its axes in `order` (none: as they are),
    which then is dense in C order.
    """

    target: Value | str
    order: tuple[int, ...] = ()


@record(kw_only=True)
class NumpyCall:
    """Call a NumPy function that gives fresh results, and keeps none of its arguments.

    `sizes` are the extents of the results that are known by the call only; the others must be as the containers say.
    Whatever else comes of it (an exception, other types, other extents), the program leaves through the site. What it
    `changes` it reads and writes: the state of a generator, an array that it shuffles. Such a call is made as often as
    the program says, and where it leaves nothing has changed. One that is `tried` has no site: for all t it makes the
    t-th parts of what it changes of those it is given, and says whether all went well; else its region did not warn.
    """

    function: str  # dotted, from "numpy" on
    args: tuple[Bundle, ...]
    keywords: tuple[tuple[str, Bundle], ...] = ()
    results: tuple[CallResult, ...]
    sizes: tuple[Value, ...] = ()
    changes: tuple[View, ...] = ()
    site: int = -1
    tried: bool = False
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def given(self) -> tuple[Bundle, ...]:
        """All arguments, positional ones first."""
        return (*self.args, *(bundle for _, bundle in self.keywords))


@record
class Let:
    """Name the value of an expression. `warn` >= 0: a NumPy scalar operation that may give a RuntimeWarning."""

    value: Value
    expr: Expr
    warn: int = -1


@record(kw_only=True)
class Tasklet:
    """Straight-line scalar code: read all memlets, compute the lets in order, then do the writes in order.

    It touches nothing else. The values it defines are visible to the nodes after it.
    """

    reads: tuple[tuple[Value, Memlet], ...] = ()
    lets: tuple[Let, ...] = ()
    writes: tuple[tuple[Memlet, Expr], ...] = ()
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record(kw_only=True)
class Map:
    """Run the body for every point of a box, in any order: iterations are independent by definition.

    `ranges` are (start, stop) per parameter, with start <= stop guaranteed by guards. In the loop of a team, `owner` is
    the row a point belongs to: the first parameter and something more, or the same row for all points. Where the arrays
    are larger than the caches, `abreast` rows, values of the parameter before the last, run side by side. One that
    `slides` computes whole vectors of points, reads all of a vector before it writes any of it, and finds neighbours in
    registers.
    """

    params: tuple[Value, ...]
    ranges: tuple[tuple[Index, Index], ...]
    body: Region
    schedule: Schedule = Schedule.SEQUENTIAL
    owner: Index | None = None
    abreast: int = 1
    slides: bool = False
    warn: int = -1
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Carry:
    """A value or REF container that a loop passes from one iteration to the next; visible in the loop and after it."""

    target: Value | str
    init: Expr | View


@record(kw_only=True)
class Loop:
    """`for var in range(start, stop, step)`, in order. `wish` is "map" or "prange" if the user asked for parallel."""

    var: Value
    start: Index
    stop: Index
    step: Index
    carries: tuple[Carry, ...]
    body: Region
    wish: str = ""
    team: Team | None = None
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record(kw_only=True)
class While:
    """Run the body again and again until a Break."""

    carries: tuple[Carry, ...]
    body: Region
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record(kw_only=True)
class Branch:
    """Run one of two regions. Each ends with a Yield of one item per result, or leaves some other way."""

    condition: Expr
    then: Region
    orelse: Region
    results: tuple[Value | str, ...] = ()
    id: int = field(default=0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Yield:
    """End an arm of a Branch with its results."""

    values: tuple[Expr | View, ...] = ()


@record
class Continue:
    """End an iteration of the innermost loop; the carries take these values. A loop body ends with one, or leaves."""

    values: tuple[Expr | View, ...] = ()


@record
class Break:
    """Leave a loop: the innermost, or `depth` loops further out. The carries of the loop left take these values."""

    values: tuple[Expr | View, ...] = ()
    depth: int = 0


@record
class Return:
    """Leave the program with a result. `writebacks` gives one bundle per Program.writebacks."""

    value: Bundle
    writebacks: tuple[Bundle, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class SiteFrame:
    """One Python activation of a site: the statement it is at, and its live names with their values."""

    function: int
    path: tuple[int, ...]
    names: tuple[str, ...]
    values: tuple[Bundle, ...]


@record
class Site:
    """A point to which the program can be taken back: nothing observable happened since. Guards name it by `number`."""

    number: int
    frames: tuple[SiteFrame, ...]
    writebacks: tuple[Bundle, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@record
class Guard:
    """An assumption of the code below: where `condition` is false, the program leaves through its site."""

    condition: Expr
    site: int
    reason: str


Node: TypeAlias = (
    Alloc | Elementwise | Reduce | Scan | MatMul | NumpyCall | Tasklet | Map | Loop | While | Branch
    | Yield | Continue | Break | Return | Site | Guard
)  # fmt: skip


@record
class Region:
    """Nodes in order."""

    nodes: tuple[Node, ...]


@record
class Program:
    """A whole function: what comes in, the containers, and the body, which ends with a Return on every path.

    `scalars`: (slot, value). Extents of argument containers are values too. `constants`: objects that bundles refer to.
    """

    name: str
    slots: tuple[Slot, ...]
    args: tuple[ArgSpec, ...]
    scalars: tuple[tuple[int, Value], ...]
    containers: dict[str, Container]
    body: Region
    constants: tuple[Any, ...] = ()
    functions: tuple[FunctionRef, ...] = (FunctionRef(-1),)
    writebacks: tuple[WriteBack, ...] = ()
    warn_sites: tuple[WarnSite, ...] = ()
