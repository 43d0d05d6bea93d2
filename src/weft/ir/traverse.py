"""Walking over the nodes of a program: regions inside, views and memlets touched, expressions and values used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from weft.ir.exprs import Expr, Index, Value, values_in
from weft.ir.nodes import (
    Alloc,
    Anew,
    Branch,
    Break,
    Bundle,
    Choice,
    Constant,
    Container,
    Continue,
    Elements,
    Elementwise,
    Guard,
    Listed,
    Loop,
    Map,
    MatMul,
    Memlet,
    Missing,
    Node,
    NumpyCall,
    Pack,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Site,
    SlotObject,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.support.memos import once_for_each


def inner_regions(node: Node) -> tuple[Region, ...]:
    """The regions directly inside a node."""
    match node:
        case Map() | Loop() | While():
            return (node.body,)
        case Branch():
            return (node.then, node.orelse)
        case _:
            return ()


def all_nodes(region: Region) -> Iterator[Node]:
    """Every node, outer before inner, in order."""
    for node in region.nodes:
        yield node
        for inner in inner_regions(node):
            yield from all_nodes(inner)


def bundle_views(bundle: Bundle) -> Iterator[View]:
    """The views in what leaves a program."""
    match bundle:
        case View():
            yield bundle
        case Listed(view=view) | Anew(view=view):
            yield view
        case Pack(items=items) | Choice(items=items):
            for item in items:
                yield from bundle_views(item)
        case _:
            return


def bundle_values(bundle: Bundle) -> Iterator[Value]:
    """The values in what leaves a program."""
    match bundle:
        case View():
            yield from view_values(bundle)
        case Listed(view=view) | Anew(view=view):
            yield from view_values(view)
        case Pack(items=items):
            for item in items:
                yield from bundle_values(item)
        case Choice(tag=tag, items=items):
            yield from values_in(tag)
            for item in items:
                yield from bundle_values(item)
        case Constant() | SlotObject() | Missing():
            return
        case _:
            yield from values_in(bundle)


def view_values(view: View) -> Iterator[Value]:
    """The values in the offsets, steps and extents of a view."""
    for extent in view.shape:
        yield from extent.values
    for axis in view.axes:
        yield from axis.offset.values
        for _, step in axis.terms:
            yield from step.values


def leaving_bundles(node: Node) -> tuple[Bundle, ...]:
    """What a Return or a Site hands to Python."""
    match node:
        case Return(value=value, writebacks=writebacks):
            return (value, *writebacks)
        case Site(frames=frames, writebacks=writebacks):
            return (*(value for frame in frames for value in frame.values), *writebacks)
        case _:
            return ()


def call_views(node: Node) -> tuple[View, ...]:
    """The views among the arguments of a NumPy call, and of what it changes."""
    if not isinstance(node, NumpyCall):
        return ()
    return (*(view for bundle in node.given for view in bundle_views(bundle)), *node.changes)


def allocated_by(node: Node) -> tuple[str, ...]:
    """The containers a node itself gives memory to."""
    match node:
        case Alloc(container=name):
            return (name,)
        case NumpyCall(results=results):
            return tuple(result.target for result in results if isinstance(result.target, str))
        case _:
            return ()


def site_left_through(node: Node) -> int | None:
    """The site a node itself may leave the program through."""
    return node.site if isinstance(node, Guard | Alloc | NumpyCall) and node.site >= 0 else None


def bound_items(node: Node) -> tuple[Expr | View, ...]:
    """What a node binds to carries and branch results, itself: initial values and what Yield, Continue, Break give."""
    match node:
        case Loop(carries=carries) | While(carries=carries):
            return tuple(carry.init for carry in carries)
        case Yield(values=values) | Continue(values=values) | Break(values=values):
            return values
        case _:
            return ()


def defined_values(node: Node) -> Iterator[Value]:
    """The values a node defines itself, for the nodes after it or inside it."""
    match node:
        case Tasklet(reads=reads, lets=lets):
            yield from (value for value, _ in reads)
            yield from (let.value for let in lets)
        case Elementwise(params=params, inputs=inputs):
            yield from params
            yield from (value for value, _ in inputs)
        case Reduce(input=Elements(params=params, body=body)):
            yield from params
            for tasklet in body:
                yield from defined_values(tasklet)
        case NumpyCall(results=results, sizes=sizes):
            yield from sizes
            yield from (result.target for result in results if isinstance(result.target, Value))
        case Map(params=params):
            yield from params
        case Loop(var=var, carries=carries):
            yield var
            yield from (carry.target for carry in carries if isinstance(carry.target, Value))
        case While(carries=carries):
            yield from (carry.target for carry in carries if isinstance(carry.target, Value))
        case Branch(results=results):
            yield from (result for result in results if isinstance(result, Value))
        case _:
            return


def bound_extents(node: Node, containers: Mapping[str, Container]) -> Iterator[Value]:
    """The values that are extents of the refs a node binds, or are bound inside it: they come with the binding."""
    for below in (node, *(n for inner in inner_regions(node) for n in all_nodes(inner))):
        match below:
            case Loop(carries=carries) | While(carries=carries):
                targets = [carry.target for carry in carries]
            case Branch(results=results):
                targets = list(results)
            case _:
                continue
        for target in targets:
            if isinstance(target, str):
                yield from (value for extent in containers[target].shape for value in extent.values)


@once_for_each
def values_defined_in(node: Node) -> frozenset[Value]:
    """The values a node defines, and those defined inside it."""
    found = set(defined_values(node))
    for inner in inner_regions(node):
        for below in all_nodes(inner):
            found.update(defined_values(below))
    return frozenset(found)


def used_values(node: Node) -> Iterator[Value]:
    """The values a node uses itself; those used only inside its regions are not among them."""
    for index in _indices(node):
        yield from index.values
    for expr in node_expressions(node):
        yield from values_in(expr)
    for view in node_views(node):
        yield from view_values(view)
    for bundle in (*leaving_bundles(node), *((*node.given, *node.changes) if isinstance(node, NumpyCall) else ())):
        yield from bundle_values(bundle)
    for item in bound_items(node):
        yield from view_values(item) if isinstance(item, View) else values_in(item)


def values_used_in(region: Region) -> frozenset[Value]:
    """All values used in a region, whoever defines them."""
    found: set[Value] = set()
    for node in all_nodes(region):
        found.update(used_values(node))
    return frozenset(found)


def _indices(node: Node) -> Iterator[Index]:
    match node:
        case Tasklet(reads=reads, writes=writes):
            for _, memlet in reads:
                yield from memlet.index
            for memlet, _ in writes:
                yield from memlet.index
        case Reduce(input=Elements(shape=shape, body=body)):
            yield from shape
            for tasklet in body:
                yield from _indices(tasklet)
        case Map(ranges=ranges, owner=owner):
            for start, stop in ranges:
                yield from (start, stop)
            yield from () if owner is None else (owner,)
        case Loop(start=start, stop=stop, step=step, team=team):
            yield from (start, stop, step)
            yield from () if team is None else team.rows
        case _:
            return


def node_expressions(node: Node) -> Iterator[Expr]:
    """The expressions a node computes itself."""
    match node:
        case Tasklet(lets=lets, writes=writes):
            yield from (let.expr for let in lets)
            yield from (expr for _, expr in writes)
        case Elementwise(expr=expr):
            yield expr
        case MatMul(scale=scale) if scale is not None:
            yield scale
        case Reduce(initial=initial, input=source):
            if initial is not None:
                yield initial
            if isinstance(source, Elements):
                yield source.expr
                for tasklet in source.body:
                    yield from node_expressions(tasklet)
        case Guard(condition=condition) | Branch(condition=condition):
            yield condition
        case _:
            return


def node_views(node: Node) -> tuple[View, ...]:
    """The views a dataflow node reads or writes, the output first."""
    match node:
        case Elementwise(output=output, inputs=inputs):
            return (output, *(view for _, view in inputs))
        case Reduce(output=output, input=source):
            return (output, source) if isinstance(source, View) else (output,)
        case Scan(output=output, input=source):
            return (output, source)
        case MatMul(output=output, lhs=lhs, rhs=rhs, adds=adds):
            return (output, lhs, rhs, output) if adds else (output, lhs, rhs)
        case _:
            return ()


@once_for_each
def touched_containers(node: Node) -> frozenset[str]:
    """Every container named in a node or inside it, for whatever reason."""
    found: set[str] = set()
    for below in (node, *(n for inner in inner_regions(node) for n in all_nodes(inner))):
        found.update(_named(below))
    found.discard("")
    return frozenset(found)


def _named(node: Node) -> Iterator[str]:
    yield from (view.container for view in node_views(node))
    for bundle in leaving_bundles(node):
        yield from (view.container for view in bundle_views(bundle))
    yield from (item.container for item in bound_items(node) if isinstance(item, View))
    yield from (view.container for view in call_views(node))
    yield from _named_directly(node)


def _named_directly(node: Node) -> Iterator[str]:
    match node:
        case Alloc() | NumpyCall():
            yield from allocated_by(node)
        case Tasklet(reads=reads, writes=writes):
            yield from (memlet.container for _, memlet in reads)
            yield from (memlet.container for memlet, _ in writes)
        case Reduce(input=Elements(body=body)):
            yield from (memlet.container for tasklet in body for _, memlet in tasklet.reads)
        case Loop(carries=carries) | While(carries=carries):
            yield from (carry.target for carry in carries if isinstance(carry.target, str))
        case Branch(results=results):
            yield from (result for result in results if isinstance(result, str))
        case _:
            return


def largest_id(program: Program) -> int:
    """The largest number in use, so that fresh ones do not collide."""
    numbers = [0, *(value.id for _, value in program.scalars)]
    numbers += [value.id for container in program.containers.values() for e in container.shape for value in e.values]
    for node in all_nodes(program.body):
        numbers.append(getattr(node, "id", 0))
        numbers += (value.id for value in defined_values(node))
    return max(numbers)


def distinct(items: Iterable[Value]) -> tuple[Value, ...]:
    """Without repetitions, in order."""
    return tuple(dict.fromkeys(items))


def memlets_of(nodes: Iterable[Node]) -> list[Memlet]:
    """What tasklets among the nodes read, then what they write."""
    tasklets = [node for node in nodes if isinstance(node, Tasklet)]
    reads = [memlet for tasklet in tasklets for _, memlet in tasklet.reads]
    return reads + [memlet for tasklet in tasklets for memlet, _ in tasklet.writes]


def writes_last(body: Region) -> bool:
    """Whether a point reads all it reads before it writes anything, so that its writes may wait."""
    written = False
    for node in body.nodes:
        if not isinstance(node, Tasklet) or (written and node.reads):
            return False
        written = written or bool(node.writes)
    return True
