"""Whether a node can give a floating-point warning: what cannot may go without a trace.

in:   an expression, or a node and the element types of containers
out:  True where a RuntimeWarning of NumPy is possible and would be reported
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.ir.exprs import Expr, Op
from weft.ir.nodes import Container, Elements, Elementwise, Let, MatMul, Reduce, Scan
from weft.ir.ops import may_warn
from weft.support.abi import WarnSite


def expr_may_warn(expr: Expr, *, lone: bool = False) -> bool:
    """Whether an operation in it can warn; `lone`: as an operator on NumPy scalars, of integers, too."""
    seen: set[int] = set()
    pending: list[Expr] = [expr]
    while pending:
        part = pending.pop()
        if not isinstance(part, Op) or id(part) in seen:
            continue
        seen.add(id(part))
        if not part.type.python and may_warn(part.name, part.args[0].type.dtype, part.type.dtype, lone=lone):
            return True
        pending += part.args
    return False


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
