"""Replacing values and containers in nodes.

in:   a node or region, and what to put for some values (expressions; where they stand in an index, polynomials) and
      for some containers (other names)
out:  the same tree with the replacements; definitions are renamed only where a value is replaced by another value
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

from weft.ir.exprs import Expr, Index, Value, index, substitute
from weft.ir.nodes import (
    Alloc,
    Anew,
    Axis,
    Branch,
    Break,
    Bundle,
    CallResult,
    Carry,
    Choice,
    Constant,
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
from weft.ir.traverse import all_nodes, defined_values
from weft.support.records import record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_T = TypeVar("_T")
_U = TypeVar("_U")
_D = TypeVar("_D", bound="DataclassInstance")


@record
class Substitution:
    """What to put where. `values` maps to expressions, `containers` to names.

    Where nothing is replaced, the very object that was given comes back.
    """

    values: Mapping[Value, Expr] = field(default_factory=dict[Value, Expr])
    containers: Mapping[str, str] = field(default_factory=dict[str, str])
    done: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr], compare=False, repr=False)

    def region(self, region: Region) -> Region:
        """A region with everything inside."""
        return _updated(region, nodes=_each(self.node, region.nodes))

    def node(self, node: Node) -> Node:
        """A node with everything inside."""
        head = self.head(node)
        match head:
            case Map() | Loop() | While():
                return _updated(head, body=self.region(head.body))
            case Branch():
                return _updated(head, then=self.region(head.then), orelse=self.region(head.orelse))
            case _:
                return head

    def head(self, node: Node) -> Node:
        """A node, but not the regions inside it."""
        match node:
            case Tasklet():
                return self.tasklet(node)
            case Elementwise() | Reduce() | Scan() | MatMul():
                return self._dataflow(node)
            case Map() | Loop() | While() | Branch():
                return self._scope(node)
            case Yield() | Continue() | Break():
                return _updated(node, values=_each(self.item, node.values))
            case Return():
                return _updated(node, value=self.bundle(node.value), writebacks=_each(self.bundle, node.writebacks))
            case Site():
                frames = _each(lambda frame: _updated(frame, values=_each(self.bundle, frame.values)), node.frames)
                return _updated(node, frames=frames, writebacks=_each(self.bundle, node.writebacks))
            case Guard():
                return _updated(node, condition=self.expr(node.condition))
            case Alloc():
                return _updated(node, container=self.name(node.container))
            case NumpyCall():
                return self._call(node)

    def expr(self, expr: Expr) -> Expr:
        """An expression."""
        found = self.done.get(expr)
        if found is None:
            found = self.done[expr] = substitute(expr, self.values, self.done)
        return found

    def index(self, polynomial: Index) -> Index:
        """A polynomial."""
        result = self.expr(polynomial)
        return result if isinstance(result, Index) else index(polynomial)

    def name(self, container: str) -> str:
        """The name of a container."""
        return self.containers.get(container, container)

    def defined(self, value: Value) -> Value:
        """The name of a definition."""
        other = self.values.get(value)
        return other if isinstance(other, Value) else value

    def view(self, view: View) -> View:
        """A view."""
        name, shape = self.name(view.container), _each(self.index, view.shape)
        return _updated(view, container=name, shape=shape, axes=_each(self._axis, view.axes))

    def _axis(self, axis: Axis) -> Axis:
        terms = _each(lambda term: _pair(term, term[0], self.index(term[1])), axis.terms)
        return _updated(axis, offset=self.index(axis.offset), terms=terms)

    def memlet(self, memlet: Memlet) -> Memlet:
        """A memlet."""
        return _updated(memlet, container=self.name(memlet.container), index=_each(self.index, memlet.index))

    def item(self, item: Expr | View) -> Expr | View:
        """What a carry or branch result is bound to."""
        return self.view(item) if isinstance(item, View) else self.expr(item)

    def bundle(self, bundle: Bundle) -> Bundle:
        """What leaves a program."""
        match bundle:
            case View():
                return self.view(bundle)
            case Pack():
                return _updated(bundle, items=_each(self.bundle, bundle.items))
            case Listed() | Anew():
                return _updated(bundle, view=self.view(bundle.view))
            case Choice():
                return _updated(bundle, tag=self.expr(bundle.tag), items=_each(self.bundle, bundle.items))
            case Constant() | SlotObject() | Missing():
                return bundle
            case _:
                return self.expr(bundle)

    def tasklet(self, node: Tasklet) -> Tasklet:
        """A tasklet."""
        return _updated(
            node,
            reads=_each(lambda read: _pair(read, self.defined(read[0]), self.memlet(read[1])), node.reads),
            lets=_each(lambda let: _updated(let, value=self.defined(let.value), expr=self.expr(let.expr)), node.lets),
            writes=_each(lambda write: _pair(write, self.memlet(write[0]), self.expr(write[1])), node.writes),
        )

    def elements(self, source: Elements) -> Elements:
        """A computed array."""
        return _updated(
            source,
            params=_each(self.defined, source.params),
            shape=_each(self.index, source.shape),
            body=_each(self.tasklet, source.body),
            expr=self.expr(source.expr),
        )

    def _dataflow(self, node: Elementwise | Reduce | Scan | MatMul) -> Node:
        output = self.view(node.output)
        match node:
            case Elementwise():
                inputs = _each(lambda item: _pair(item, self.defined(item[0]), self.view(item[1])), node.inputs)
                params = _each(self.defined, node.params)
                return _updated(node, output=output, params=params, inputs=inputs, expr=self.expr(node.expr))
            case Reduce():
                source = self.view(node.input) if isinstance(node.input, View) else self.elements(node.input)
                initial = None if node.initial is None else self.expr(node.initial)
                return _updated(node, output=output, input=source, initial=initial)
            case Scan():
                return _updated(node, output=output, input=self.view(node.input))
            case MatMul():
                scale = None if node.scale is None else self.expr(node.scale)
                return _updated(node, output=output, lhs=self.view(node.lhs), rhs=self.view(node.rhs), scale=scale)

    def _call(self, node: NumpyCall) -> NumpyCall:
        return _updated(
            node,
            args=_each(self.bundle, node.args),
            keywords=_each(lambda pair: _pair(pair, pair[0], self.bundle(pair[1])), node.keywords),
            results=_each(self._result, node.results),
            sizes=_each(self.defined, node.sizes),
            changes=_each(self.view, node.changes),
        )

    def _result(self, result: CallResult) -> CallResult:
        return _updated(result, target=self._target(result.target))

    def _scope(self, node: Map | Loop | While | Branch) -> Node:
        match node:
            case Map():
                ranges = _each(lambda pair: _pair(pair, self.index(pair[0]), self.index(pair[1])), node.ranges)
                owner = None if node.owner is None else self.index(node.owner)
                return _updated(node, params=_each(self.defined, node.params), ranges=ranges, owner=owner)
            case Loop():
                start, stop, step = (self.index(bound) for bound in (node.start, node.stop, node.step))
                carries, var = _each(self._carry, node.carries), self.defined(node.var)
                rows = node.team and _each(self.index, node.team.rows)
                team = node.team and _updated(node.team, rows=rows)
                return _updated(node, var=var, start=start, stop=stop, step=step, carries=carries, team=team)
            case While():
                return _updated(node, carries=_each(self._carry, node.carries))
            case Branch():
                results = _each(self._target, node.results)
                return _updated(node, condition=self.expr(node.condition), results=results)

    def _carry(self, carry: Carry) -> Carry:
        return _updated(carry, target=self._target(carry.target), init=self.item(carry.init))

    def _target(self, target: Value | str) -> Value | str:
        return self.name(target) if isinstance(target, str) else self.defined(target)


def _each(change: Callable[[_T], _T], items: tuple[_T, ...]) -> tuple[_T, ...]:
    """All items changed; the very tuple that was given if none was."""
    changed = tuple([change(item) for item in items])
    return items if all(map(is_, changed, items)) else changed


def _pair(given: tuple[_T, _U], first: _T, second: _U) -> tuple[_T, _U]:
    return given if first is given[0] and second is given[1] else (first, second)


def _updated(given: _D, **parts: Any) -> _D:
    """With some fields changed; the very object that was given if they are what they were."""
    for name, part in parts.items():
        if part is not getattr(given, name):
            return replace(given, **parts)
    return given


def with_fresh_values(nodes: Iterable[Node], number: Callable[[], int], also: Mapping[Value, Expr]) -> list[Node]:
    """Copies of nodes whose definitions have new numbers, with more values replaced. Bounds follow the replacements."""
    originals = list(nodes)
    chosen = Substitution(fresh_values(originals, number, also))
    return [chosen.node(node) for node in originals]


def fresh_values(
    nodes: Iterable[Node], number: Callable[[], int], also: Mapping[Value, Expr] | None = None
) -> dict[Value, Expr]:
    """A value with another number for everything that nodes define, beside what else is replaced."""
    bindings: dict[Value, Expr] = dict(also or {})
    given = frozenset(bindings)
    for outer in nodes:
        for node in all_nodes(Region((outer,))):
            for value in defined_values(node):
                if value not in given:
                    bindings[value] = _renumbered(value, number(), bindings)
    return bindings


def _renumbered(value: Value, number: int, bindings: Mapping[Value, Expr]) -> Value:
    floor, ceiling = (_bound(bound, bindings) for bound in (value.floor, value.ceiling))
    return replace(value, id=number, floor=floor, ceiling=ceiling)


def _bound(bound: Index | None, bindings: Mapping[Value, Expr]) -> Index | None:
    if bound is None:
        return None
    try:
        result = substitute(bound, bindings)
    except TypeError:
        return None
    return result if isinstance(result, Index) else None
