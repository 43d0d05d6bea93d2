"""How much work a parallel map is, as a C expression: threads pay only above a certain amount.

The unit is a point of a plain map with next to nothing to compute. Loops inside count with their trips, as far as these
are known before the map runs: of a range that depends on the point, the longest. A map that holds a matrix product so
large that BLAS uses threads for it is left to BLAS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from weft.analysis.cost import ALONE, expression_weight, tasklet_weight
from weft.codegen.expressions import index_text
from weft.codegen.kernel import Kernel
from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import (
    Branch,
    Elements,
    Elementwise,
    Loop,
    Map,
    MatMul,
    Node,
    Reduce,
    Region,
    Scan,
    Tasklet,
    View,
    While,
)
from weft.support.records import record

_OPERATIONS_PER_UNIT: Final = 4  # of a vectorized loop
_TRIPS: Final = 16  # of loops of which nothing is known


def work_text(kernel: Kernel, node: Map) -> str:
    """The work of a map that is not written yet."""
    estimate = _Estimate(kernel, dict(zip(node.params, node.ranges, strict=True)))
    terms = " + ".join(estimate.region(node.body))
    factors = [f"(double)({index_text(kernel, stop - start)})" for start, stop in node.ranges]
    work = " * ".join([*factors, f"({terms})" if " " in terms else terms or "1.0"])
    alone = [f"{product} <= {ALONE}" for product in estimate.products]
    return f"{' && '.join(alone)} ? {work} : 0.0" if alone else work


def largest_work(kernel: Kernel, node: Node, loops: Mapping[Value, tuple[Index, Index]]) -> str:
    """The most work that a node is in any turn of loops around it that are not written yet: variable -> its ends."""
    return " + ".join(_Estimate(kernel, loops).node(node)) or "0.0"


@record
class _Estimate:
    """`bounds` are the least and the largest value of the variables of loops around, in terms of what is outside.

    `products` are the terms of the matrix products that were met.
    """

    kernel: Kernel
    bounds: Mapping[Value, tuple[Index, Index]] = field(default_factory=dict[Value, tuple[Index, Index]])
    products: list[str] = field(default_factory=list[str])

    def region(self, region: Region) -> list[str]:
        """The terms of a sum."""
        weight, terms = 0.0, list[str]()
        for node in region.nodes:
            if isinstance(node, Tasklet):
                weight += _weight(tasklet_weight(node))
            else:
                terms += self.node(node)
        return [f"{weight}", *terms] if weight or not terms else terms

    def node(self, node: Node) -> list[str]:
        match node:
            case Map(params=params, ranges=ranges, body=body):
                inner = _Estimate(self.kernel, {**self.bounds, **dict(zip(params, ranges, strict=True))}, self.products)
                return self.product([stop - start for start, stop in ranges], inner.region(body))
            case Loop(var=var, start=start, stop=stop, body=body):
                inner = _Estimate(self.kernel, {**self.bounds, var: (start, stop)}, self.products)
                step = node.step.constant
                trips = [stop - start] if step == 1 else [start - stop] if step == -1 else None
                return self.product(trips, inner.region(body), _OPERATIONS_PER_UNIT)  # not vectorized
            case While(body=body):
                return self.product(None, self.region(body), _OPERATIONS_PER_UNIT)
            case Branch(then=then, orelse=orelse):
                return [*self.region(then), *self.region(orelse)]
            case Elementwise(output=output, expr=expr):
                return self.product(list(output.shape), [f"{_weight(expression_weight(expr))}"])
            case Reduce(input=source):
                return self.product(list(source.shape), [f"{element_weight(source)}"])
            case Scan(input=source):
                return self.product(list(source.shape), ["1.0"])
            case MatMul(output=output, lhs=lhs):
                self.products.extend(self.product([*output.shape[-2:], lhs.shape[-1]], ["1.0"]))
                return self.product([*output.shape, lhs.shape[-1]], ["0.5"])
            case _:
                return []

    def product(self, extents: list[Index] | None, terms: list[str], times: int = 1) -> list[str]:
        known = [self.largest(extent) for extent in extents] if extents is not None else [None]
        factors = [
            f"{_TRIPS}.0" if extent is None else f"(double)({index_text(self.kernel, extent)})" for extent in known
        ]
        factors += [f"{times}.0"] if times != 1 else []
        return [" * ".join([*factors, f"({' + '.join(terms)})"])] if terms else []

    def largest(self, extent: Index) -> Index | None:
        """The largest value of an extent, from what is known outside of the map; None if that is not enough."""
        total = const_index(0)
        for monomial, coefficient in extent.terms:
            product = const_index(coefficient)
            for value in monomial:
                bound = self.bound(value, upper=coefficient > 0)
                if bound is None:
                    return None
                product = product * bound
            total = total + product
        return total

    def bound(self, value: Value, *, upper: bool) -> Index | None:
        if value not in self.bounds:
            if self.kernel.is_defined(value):
                return index(value)
            limit = value.ceiling if upper else value.floor
            return None if limit is None else self.largest(limit)
        start, stop = self.bounds[value]
        around = {name: pair for name, pair in self.bounds.items() if name != value}
        return _Estimate(self.kernel, around).largest(stop if upper else start)


def element_weight(source: View | Elements) -> float:
    """The work of one element that is reduced."""
    return _weight(sum(map(tasklet_weight, source.body))) if isinstance(source, Elements) else 1.0


def _weight(operations: int) -> float:
    return 1.0 + operations / _OPERATIONS_PER_UNIT
