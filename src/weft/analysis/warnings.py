"""Whether a node can give a floating-point warning: what cannot may go without a trace.

in:   an expression, or a node and the element types of containers
out:  True where a RuntimeWarning of NumPy is possible and would be reported
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from weft.ir.exprs import Expr, Op
from weft.ir.nodes import Container, Elements, Elementwise, Let, Map, MatMul, Reduce, Scan, Tasklet
from weft.ir.ops import flags_are_exact, may_warn
from weft.support.abi import WarnSite


def expr_may_warn(expr: Expr, *, lone: bool = False) -> bool:
    """Whether an operation in it can warn; `lone`: as an operator on NumPy scalars, of integers, too."""
    return any(_may_warn(part, lone=lone) for part in _operations(expr))


def _operations(expr: Expr) -> Iterator[Op]:
    seen: set[int] = set()
    pending: list[Expr] = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, Op) and id(part) not in seen:
            seen.add(id(part))
            yield part
            pending += part.args


def _may_warn(part: Op, *, lone: bool = False) -> bool:
    return not part.type.python and may_warn(part.name, part.args[0].type.dtype, part.type.dtype, lone=lone)


def flags_tell(node: Map) -> bool:
    """Whether the processor's flags are what a map of tasklets warns of: at one place, or nowhere."""
    tasklets = [x for x in node.body.nodes if isinstance(x, Tasklet)]
    computed = [(let.expr, node.warn if let.warn < 0 else let.warn) for x in tasklets for let in x.lets]
    computed += [(expr, node.warn) for x in tasklets for _, expr in x.writes]
    operations = [(part, site) for expr, site in computed for part in _operations(expr)]
    places = {site for part, site in operations if site >= 0 and _may_warn(part)}
    exact = all(flags_are_exact(x.name, x.args[0].type.dtype, x.type.dtype) for x, _ in operations)
    return not places or (len(places) == 1 and exact)


def let_may_warn(let: Let, sites: Sequence[WarnSite], *, in_nest: bool = False) -> bool:
    """Whether a let can warn, by itself or as part of a map that reports."""
    if let.warn < 0:
        return in_nest and expr_may_warn(let.expr)
    return expr_may_warn(let.expr, lone=sites[let.warn].operation.startswith("scalar "))


def operation_may_warn(
    node: Elementwise | Reduce | Scan | MatMul, containers: Mapping[str, Container], sites: Sequence[WarnSite]
) -> bool:
    """Whether an operation on arrays can warn."""
    if isinstance(node, Elementwise):
        return node.warn >= 0 and expr_may_warn(node.expr)
    if isinstance(node, Reduce) and isinstance(node.input, Elements):
        lets = (let for tasklet in node.input.body for let in tasklet.lets)
        if any(let_may_warn(let, sites) for let in lets):
            return True
    combines = not isinstance(node, Reduce) or node.op in ("add", "multiply")
    return node.warn >= 0 and combines and containers[node.output.container].dtype.kind in "fc"
