"""Check that a graph keeps the rules of `docs/ir.md`; run after every pass.

in:   a `Program`
out:  nothing, or an `InternalError` that says what is wrong and shows the node
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.ir.dtypes import NP_BOOL, DType
from weft.ir.exprs import Expr, Index, Value, const_index, index
from weft.ir.nodes import (
    NOTHING,
    Alloc,
    Branch,
    Break,
    CallResult,
    Constant,
    Continue,
    Elements,
    Elementwise,
    Guard,
    Layout,
    Loop,
    Map,
    MatMul,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Schedule,
    Site,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
    full_view,
)  # fmt: skip
from weft.ir.ops import SCANS
from weft.ir.scope import Scope, may_be
from weft.ir.signature import signature_fault
from weft.ir.traverse import writes_last
from weft.support.errors import InternalError
from weft.support.records import record

_REDUCTIONS = ("add", "multiply", "minimum", "maximum", "logical_and", "logical_or", "argmin", "argmax")


def verify(program: Program) -> None:
    """Raise `InternalError` at the first rule broken."""
    fault = signature_fault(program)
    if fault is not None:
        raise InternalError(f"{program.name}: {fault}")
    scope = Scope(program)
    for _, value in program.scalars:
        scope.define(value)
    for container in program.containers.values():
        if container.storage is Storage.ARGUMENT:
            scope.define_extents(container)
    _check_region(program.body, scope, _Place("program"))
    _check_written(scope)


@record
class _Place:
    """What is around a region: its kind, the targets of the loops (innermost first) and of the branch, and maps."""

    kind: str
    loops: tuple[tuple[Value | str, ...], ...] = ()
    results: tuple[Value | str, ...] = ()
    in_map: bool = False
    parallel: bool = False
    team: bool = False


def _check_region(region: Region, scope: Scope, place: _Place) -> None:
    for node in region.nodes[:-1]:
        if isinstance(node, Yield | Continue | Break | Return):
            scope.node = node
            scope.fail("nodes follow the end of a region")
    for before, node in zip((None, *region.nodes), region.nodes, strict=False):
        scope.node = node
        _check_node(node, scope, place)
        if isinstance(node, Reduce) and node.joined:
            scope.require(_like(node, before), "a reduction is joined to nothing like it")
    scope.node = region.nodes[-1] if region.nodes else None
    match place.kind:
        case "program":
            scope.require(_leaves(region), "the program does not return on every path")
        case "loop":
            scope.require(_leaves(region), "a loop body does not end with continue, break or return on every path")
        case "arm":
            ended = bool(region.nodes) and isinstance(region.nodes[-1], Yield)
            scope.require(ended or _leaves(region), "an arm of a branch ends without a yield")
        case _:
            pass


def _leaves(region: Region) -> bool:
    """Whether nothing after the region can be reached from inside it."""
    if not region.nodes:
        return False
    match region.nodes[-1]:
        case Continue() | Break() | Return():
            return True
        case Branch(then=then, orelse=orelse):
            return _leaves(then) and _leaves(orelse)
        case While(body=body):
            return not _breaks(body)
        case _:
            return False


def _breaks(region: Region, depth: int = 0) -> bool:
    """Whether a Break in it leaves the loop it is the body of; `depth` loops stand between."""
    for node in region.nodes:
        match node:
            case Break():
                if node.depth == depth:
                    return True
            case Branch(then=then, orelse=orelse):
                if _breaks(then, depth) or _breaks(orelse, depth):
                    return True
            case Loop(body=body) | While(body=body):
                if _breaks(body, depth + 1):
                    return True
            case _:
                pass
    return False


def _check_written(scope: Scope) -> None:
    scope.node = None
    for name in sorted(scope.written):
        for root in sorted(may_be(scope.program, name)):
            container = scope.program.containers[root]
            if container.storage is Storage.ARGUMENT:
                scope.require(container.written, f"the argument {root} is written, but not declared so")


def _check_node(node: Node, scope: Scope, place: _Place) -> None:
    warn: int = getattr(node, "warn", -1)
    scope.require(-1 <= warn < len(scope.program.warn_sites), f"there is no warning {warn}")
    match node:
        case Alloc() | Elementwise() | Reduce() | Scan() | MatMul() | Tasklet():
            _check_dataflow(node, scope, place)
        case NumpyCall():
            _check_call(node, scope, place)
        case Map():
            _check_map(node, scope, place)
        case Loop() | While():
            _check_loop(node, scope, place)
        case Branch():
            _check_branch(node, scope, place)
        case _:
            _check_leaving(node, scope, place)


# ---- dataflow -------------------------------------------------------------------------------------------------------


def _check_dataflow(node: Alloc | Elementwise | Reduce | Scan | MatMul | Tasklet, scope: Scope, place: _Place) -> None:
    match node:
        case Alloc():
            _check_alloc(node, scope, place)
        case Elementwise():
            _check_elementwise(node, scope)
        case Reduce():
            _check_reduce(node, scope)
        case Scan():
            scope.view(node.input)
            scope.view(node.output, write=True)
            scope.require(node.op in SCANS, f"there is no scan by `{node.op}`")
            scope.require(node.input.rank == node.output.rank, "input and output of a scan differ in rank")
            scope.require(0 <= node.axis < node.input.rank, f"there is no axis {node.axis}")
        case MatMul():
            _check_matmul(node, scope)
        case Tasklet():
            _check_tasklet(node, scope)


def _check_alloc(node: Alloc, scope: Scope, place: _Place) -> None:
    container = scope.container(node.container)
    storage = container.storage
    made = storage in (Storage.TRANSIENT, Storage.STACK)
    scope.require(made, f"{node.container} is {storage.value}, only a transient is allocated")
    scope.require(node.container not in scope.arrays, f"{node.container} is allocated twice")
    if storage is Storage.TRANSIENT:
        scope.require(not place.parallel, "memory is allocated inside a parallel map")
        scope.require(node.site in scope.sites, f"site {node.site} does not stand above")
    scope.use_all(container.shape)
    scope.arrays.add(node.container)


def _check_call(node: NumpyCall, scope: Scope, place: _Place) -> None:
    scope.require(not place.in_map, "Python is called inside a map")
    if node.tried:
        _check_tried(node, scope)
    else:
        scope.require(node.site in scope.sites, f"site {node.site} does not stand above")
    for bundle in node.given:
        scope.bundle(bundle, leaves=False)
    for view in node.changes:
        scope.view(view, write=True)
    shapes = [scope.container(result.target).shape for result in node.results if isinstance(result.target, str)]
    extents = {extent for shape in shapes for extent in shape}
    for value in node.sizes:
        _check_integer(value, scope)
        scope.require(index(value) in extents, f"{value.text} is no extent of what the call gives")
        scope.define(value)
    for result in node.results:
        if isinstance(result.target, Value):
            scope.require(not result.order, f"{result.target.text} is a number and has no axes")
            scope.define(result.target)
        else:
            _check_result(result, result.target, scope)


def _check_tried(node: NumpyCall, scope: Scope) -> None:
    """It is given views with one more axis, as long in all of them, and says whether it was done."""
    views = [item for item in (*node.given, *node.changes) if isinstance(item, View)]
    options = [item for item in node.given if not isinstance(item, View)]
    scope.require(all(isinstance(item, Constant) for item in options), "a call that is tried needs constant options")
    scope.require(bool(node.changes) and all(view.rank for view in views), "a call that is tried needs stacks")
    scope.require(not node.sizes and node.site == -1, "a call that is tried has neither sizes nor a site")
    done = [result.target for result in node.results]
    right = len(done) == 1 and isinstance(done[0], Value) and done[0].type == NP_BOOL
    scope.require(right, "a call that is tried gives one boolean")
    for view in views:
        scope.require(not _differ(view.shape[:1], views[0].shape[:1]), "stacks of a call differ in length")


def _check_result(result: CallResult, name: str, scope: Scope) -> None:
    container = scope.container(name)
    dense = container.storage is Storage.TRANSIENT and container.layout is Layout.C
    scope.require(dense, f"{name} gets its memory by a call, but is no transient in C order")
    scope.require(name not in scope.arrays, f"{name} is allocated twice")
    axes = sorted(result.order) in ([], list(range(container.rank)))
    scope.require(axes, f"the axes {result.order} are not those of {name}")
    scope.use_all(container.shape)
    scope.arrays.add(name)
    scope.written.add(name)


def _check_elementwise(node: Elementwise, scope: Scope) -> None:
    output = scope.view(node.output, write=True)
    with scope.inner():
        scope.require(len(node.params) == node.output.rank, "one parameter per axis of the output is needed")
        for param in node.params:
            _check_integer(param, scope)
            scope.define(param)
        for value, view in node.inputs:
            dtype = scope.view(view).dtype
            if value.type.dtype is not dtype:
                scope.fail(f"{value.text} is {value.type.text}, an element of {view.container} {dtype.text}")
            scope.require(not _differ(view.shape, node.output.shape), f"{value.text} has another shape than the output")
            scope.define(value)
        _check_write(node.expr, output.name, output.dtype, scope)


def _check_write(expr: Expr, name: str, dtype: DType, scope: Scope) -> None:
    scope.use(expr)
    if expr.type.dtype is not dtype:
        scope.fail(f"{expr.type.text} is written to {name}, whose elements are {dtype.text}")


def _check_integer(value: Value, scope: Scope) -> None:
    scope.require(value.type.dtype is DType.INT64, f"{value.text} is {value.type.text}, not an int")


def _differ(left: Sequence[Index], right: Sequence[Index]) -> bool:
    """Whether two shapes cannot be equal."""
    if len(left) != len(right):
        return True
    pairs = ((a.constant, b.constant) for a, b in zip(left, right, strict=True))
    return any(a is not None and b is not None and a != b for a, b in pairs)


def _check_elements(elements: Elements, scope: Scope) -> None:
    scope.use_all(elements.shape)
    scope.require(len(elements.params) == elements.rank, "one parameter per axis of the elements is needed")
    with scope.inner():
        for param in elements.params:
            _check_integer(param, scope)
            scope.define(param)
        for tasklet in elements.body:
            scope.require(not tasklet.writes, "a tasklet writes where elements are computed")
            _check_tasklet(tasklet, scope)
        scope.use(elements.expr)


def _check_reduce(node: Reduce, scope: Scope) -> None:
    if isinstance(node.input, Elements):
        _check_elements(node.input, scope)
    else:
        scope.view(node.input)
    output = scope.view(node.output, write=True)
    scope.require(node.op in _REDUCTIONS, f"there is no reduction by `{node.op}`")
    known = len(set(node.axes)) == len(node.axes) and all(0 <= axis < node.input.rank for axis in node.axes)
    scope.require(known, f"the axes {node.axes} are not those of an input of rank {node.input.rank}")
    kept = [extent for axis, extent in enumerate(node.input.shape) if axis not in node.axes]
    flat = [*node.input.shape]
    for axis in node.axes:
        flat[axis] = const_index(1)
    fits = not _differ(kept, node.output.shape) or not _differ(flat, node.output.shape)
    scope.require(fits, "the output of a reduction has the wrong rank or shape")
    if node.op in ("argmin", "argmax"):
        scope.require(output.dtype is DType.INT64, f"the output of {node.op} is {output.dtype.text}, not i8")
    if node.initial is not None:
        _check_write(node.initial, output.name, output.dtype, scope)


def _like(node: Reduce, before: Node | None) -> bool:
    """Whether two nodes are reductions of the same extents, along the same axes."""
    return isinstance(before, Reduce) and before.input.shape == node.input.shape and before.axes == node.axes


def _check_matmul(node: MatMul, scope: Scope) -> None:
    output, lhs, rhs = scope.view(node.output, write=True), scope.view(node.lhs), scope.view(node.rhs)
    same = output.dtype is lhs.dtype is rhs.dtype
    scope.require(same, "the element types of a matrix product differ")
    rank = node.output.rank
    scope.require(rank >= 2 and node.lhs.rank == rank == node.rhs.rank, "the ranks of a matrix product do not fit")
    (*batch, i, j), (*left, i2, k), (*right, k2, j2) = node.output.shape, node.lhs.shape, node.rhs.shape
    wrong = _differ((*batch, i, j, k), (*left, i2, j2, k2)) or _differ(batch, right)
    scope.require(not wrong, "the shapes of a matrix product do not fit")
    if node.scale is not None:
        scope.use(node.scale)
        scope.require(node.scale.type.dtype is output.dtype, "a matrix product is scaled by a number of another type")


def _check_tasklet(node: Tasklet, scope: Scope) -> None:
    read: list[Value] = []
    for value, memlet in node.reads:
        dtype = scope.memlet(memlet).dtype
        if value.type.dtype is not dtype:
            scope.fail(f"{value.text} is {value.type.text}, an element of {memlet.container} {dtype.text}")
        read.append(value)
    # All memlets are read at once: the index of one read cannot use another.
    for value in read:
        scope.define(value)
    for let in node.lets:
        scope.use(let.expr)
        scope.require(-1 <= let.warn < len(scope.program.warn_sites), f"there is no warning {let.warn}")
        if let.value.type.dtype is not let.expr.type.dtype:
            scope.fail(f"{let.value.text} is {let.value.type.text}, its expression {let.expr.type.text}")
        scope.define(let.value)
    for memlet, expr in node.writes:
        container = scope.memlet(memlet, write=True)
        _check_write(expr, container.name, container.dtype, scope)


# ---- control --------------------------------------------------------------------------------------------------------


def _check_map(node: Map, scope: Scope, place: _Place) -> None:
    scope.require(len(node.params) == len(node.ranges), "one range per parameter is needed")
    for start, stop in node.ranges:
        scope.use_all((start, stop))
    with scope.inner():
        for param in node.params:
            _check_integer(param, scope)
            scope.define(param)
        if node.owner is not None:
            scope.use_all((node.owner,))
            scope.require(place.team, "a map has an owner outside of a team")
        scope.require(node.abreast == 1 or len(node.params) > 1, "a map without rows has some abreast")
        scope.require(node.abreast > 0, "a map has no row abreast")
        scope.require(not node.slides or writes_last(node.body), "a map that slides reads after it has written")
        parallel = place.parallel or node.schedule is Schedule.PARALLEL
        _check_region(node.body, scope, _Place("map", in_map=True, parallel=parallel))


def _check_loop(node: Loop | While, scope: Scope, place: _Place) -> None:
    if isinstance(node, Loop):
        scope.use_all((node.start, node.stop, node.step))
        scope.require(node.step.constant != 0, "the step of a loop is 0")
        scope.require(node.wish in ("", "map", "prange"), f"there is no wish `{node.wish}`")
        place = _joined(node, scope, place)
    for carry in node.carries:
        _check_fit(carry.target, carry.init, scope)
    targets = tuple(carry.target for carry in node.carries)
    _define_targets(targets, scope)
    with scope.inner():
        if isinstance(node, Loop):
            _check_integer(node.var, scope)
            scope.define(node.var)
        _check_region(node.body, scope, replace(place, kind="loop", loops=(targets, *place.loops), results=()))


def _joined(node: Loop, scope: Scope, place: _Place) -> _Place:
    if node.team is None:
        return place
    scope.use_all(node.team.rows)
    scope.require(not place.in_map, "a team inside a map")
    inside = all(0 <= meeting < len(node.body.nodes) for meeting in node.team.meets)
    scope.require(inside, "a team meets before a node that is not there")
    return replace(place, team=True)


def _define_targets(targets: Sequence[Value | str], scope: Scope) -> None:
    for target in targets:
        if isinstance(target, str):
            scope.bind(target)
        else:
            scope.define(target)


def _check_fit(target: Value | str, item: Expr | View, scope: Scope) -> None:
    """An item may become the value, or the array, of a carry or a branch result."""
    if isinstance(target, Value):
        if isinstance(item, View):
            scope.fail(f"{target.text} is a value, but gets an array")
        scope.use(item)
        if item.type.dtype is not target.type.dtype:
            scope.fail(f"{target.text} is {target.type.text}, but gets {item.type.text}")
        return
    ref = scope.container(target)
    if not isinstance(item, View):
        scope.fail(f"{target} is an array, but gets a value")
    if item.container == NOTHING:
        scope.require(item.rank == ref.rank, f"{target} is of rank {ref.rank}, but gets nothing of rank {item.rank}")
        return
    given = scope.view(item)
    scope.stays(item)
    if given.dtype is not ref.dtype or item.rank != ref.rank:
        scope.fail(f"{target} is {ref.dtype.text} of rank {ref.rank}, but gets {given.dtype.text} of rank {item.rank}")
    if ref.layout is not Layout.STRIDED and (given.layout is not ref.layout or item != full_view(given)):
        scope.fail(f"{target} is dense in {ref.layout.value} order, but gets a view that is not")
    surplus = may_be(scope.program, item.container) - may_be(scope.program, target)
    scope.require(not surplus, f"{target} may not alias {', '.join(sorted(surplus))}, but is bound to it")


def _check_branch(node: Branch, scope: Scope, place: _Place) -> None:
    scope.condition(node.condition)
    inside = replace(place, kind="arm", results=node.results)
    for arm in (node.then, node.orelse):
        with scope.inner():
            _check_region(arm, scope, inside)
    scope.node = node
    _define_targets(node.results, scope)


def _check_leaving(node: Yield | Continue | Break | Return | Site | Guard, scope: Scope, place: _Place) -> None:
    match node:
        case Yield(values=values):
            scope.require(place.kind == "arm", "a yield outside of a branch")
            _check_items(place.results, values, scope)
        case Continue(values=values) | Break(values=values):
            depth = node.depth if isinstance(node, Break) else 0
            if not 0 <= depth < len(place.loops):
                scope.fail("no loop can be left here" + (": a map stands between" if place.in_map else ""))
            _check_items(place.loops[depth], values, scope)
        case Return(value=value, writebacks=writebacks):
            scope.require(not place.in_map, "a return inside a map")
            scope.bundle(value)
            _check_writebacks(len(writebacks), scope)
            scope.bundles(writebacks)
        case Site():
            _check_site(node, scope)
        case Guard(condition=condition, site=site):
            scope.require(not place.parallel, "a guard inside a parallel map")
            scope.condition(condition)
            scope.require(site in scope.sites, f"site {site} does not stand above")


def _check_items(targets: Sequence[Value | str], items: Sequence[Expr | View], scope: Scope) -> None:
    scope.require(len(targets) == len(items), f"{len(targets)} values are expected, {len(items)} given")
    for target, item in zip(targets, items, strict=True):
        _check_fit(target, item, scope)


def _check_writebacks(count: int, scope: Scope) -> None:
    expected = len(scope.program.writebacks)
    scope.require(count == expected, f"{expected} write-backs are expected, {count} given")


def _check_site(node: Site, scope: Scope) -> None:
    _check_writebacks(len(node.writebacks), scope)
    scope.bundles(node.writebacks)
    for frame in node.frames:
        known = 0 <= frame.function < len(scope.program.functions)
        scope.require(known, f"there is no function {frame.function}")
        scope.require(len(frame.names) == len(frame.values), "names and values of a frame differ in number")
        scope.bundles(frame.values)
    scope.define_site(node.number)
