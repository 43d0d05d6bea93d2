"""Which results of a program are fixed to the bit, and which have some freedom.

in:   a program (at any stage), and the rules in force: `strict`, `fast`
out:  an `Exactness`: the containers and values that an operation with freedom reaches

Free are functions (exp, pow...), sums, products over an axis and matrix products of floats; `+ - * / sqrt`, comparisons
and casts have one right answer. What is computed from a free value is free, also by an index or a condition. Flow is
followed by container, not by element: a program that writes a free value anywhere into an array has all of it free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from weft.analysis.memory import Memory
from weft.ir.exprs import Expr, Op, Value, operands
from weft.ir.nodes import (
    Anew,
    Branch,
    Break,
    Bundle,
    Carry,
    Choice,
    Constant,
    Continue,
    Elementwise,
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
    SlotObject,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.traverse import (
    all_nodes,
    allocated_by,
    bundle_values,
    call_views,
    defined_values,
    inner_regions,
    node_expressions,
    view_values,
)
from weft.support.records import record

_FUNCTIONS: Final = frozenset((
    "power", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "logaddexp", "logaddexp2",
    "erf", "erfc",
    "deg2rad", "rad2deg",
))  # fmt: skip
# NumPy has other formulas for these in its vector loops than for single numbers; its products are fused there, where
# the processor can.
_COMPLEX_FUNCTIONS: Final = _FUNCTIONS | {"sqrt", "absolute", "sign", "divide", "reciprocal", "multiply", "square"}
_ARITHMETIC: Final = frozenset(
    ("add", "subtract", "multiply", "divide", "square", "reciprocal", "sqrt", "absolute", "floor_divide", "remainder")
)
_EXTREMES: Final = frozenset(("maximum", "minimum", "fmax", "fmin"))  # of 0.0 and -0.0 either
_SUMS: Final = frozenset(("add", "multiply"))


def _nothing_more(_name: str, _kind: str) -> bool:
    return False


@record
class Rules:
    """`fixed(name, kind)`: functions of NumPy numbers that have NumPy's bits all the same. `fast`: all floats free."""

    fixed: Callable[[str, str], bool] = _nothing_more
    fast: bool = False

    def is_free(self, operation: Op) -> bool:
        """Whether the last bits of an operation are open."""
        subject = operation.args[-1]
        kind = subject.type.dtype.kind
        if kind not in "fc":
            return False
        if self.fast and operation.name in _ARITHMETIC:
            return True
        if operation.name not in (_COMPLEX_FUNCTIONS if kind == "c" else _FUNCTIONS):
            return False
        return subject.type.python or not self.fixed(operation.name, kind)


@record
class Exactness:
    """What is free. `everything`: which statements run depends on a free value. `signed_zeros`: their signs count."""

    memory: Memory
    containers: frozenset[str]
    values: frozenset[Value]
    everything: bool
    signed_zeros: bool

    @property
    def exact(self) -> bool:
        """Nothing is free."""
        return not (self.containers or self.values or self.everything)

    def is_free(self, bundle: Bundle | str) -> bool:
        """Whether something that leaves the program (or a container) is free."""
        if self.everything:
            return True
        match bundle:
            case str():
                return not self.memory.roots(bundle).isdisjoint(self.containers)
            case View(container=container):
                return self.is_free(container)
            case Listed(view=view) | Anew(view=view):
                return self.is_free(view)
            case Pack(items=items):
                return any(self.is_free(item) for item in items)
            case Choice(tag=tag, items=items):
                return self.is_free(tag) or any(self.is_free(item) for item in items)
            case Constant() | SlotObject() | Missing():
                return False
            case _:
                return any(value in self.values for value in _values(bundle)) or bundle in self.values


def find_exactness(program: Program, rules: Rules) -> Exactness:
    """What of a program is free."""
    search = _Search(program, rules)
    while search.grew:
        search.grew = False
        search.region(program.body, (), ())
    return Exactness(
        search.memory,
        frozenset(search.containers),
        frozenset(search.values),
        search.everything,
        not _has_extremes(program),
    )


def free_operations(node: Node, rules: Rules) -> list[Op]:
    """The free operations in the expressions of a node itself."""
    found: dict[int, Op] = {}
    for expr in node_expressions(node):
        for part in _parts(expr):
            if isinstance(part, Op) and rules.is_free(part):
                found[id(part)] = part
    return list(found.values())


def is_free_sum(node: Node, program: Program) -> bool:
    """Whether a node adds or multiplies floats in an order of its own."""
    if isinstance(node, Reduce) and node.op not in _SUMS:
        return False
    return isinstance(node, Reduce | MatMul) and program.containers[node.output.container].dtype.kind in "fc"


def _parts(expr: Expr) -> Iterable[Expr]:
    seen: set[int] = set()
    stack: list[Expr] = [expr]
    while stack:
        top = stack.pop()
        if id(top) not in seen:
            seen.add(id(top))
            yield top
            stack += operands(top)


def _values(expr: Expr) -> Iterable[Value]:
    return (part for part in _parts(expr) if isinstance(part, Value))


def _has_extremes(program: Program) -> bool:
    for node in all_nodes(program.body):
        if isinstance(node, Reduce) and node.op in _EXTREMES:
            return True
        for expr in node_expressions(node):
            if any(isinstance(part, Op) and part.name in _EXTREMES for part in _parts(expr)):
                return True
    return False


class _Search:
    """One round after the other over all nodes, until nothing more is found free."""

    def __init__(self, program: Program, rules: Rules) -> None:
        self.program, self.rules = program, rules
        self.memory = Memory(program.containers)
        self.containers: set[str] = set()
        self.values: set[Value] = set()
        self.everything = False
        self.grew = True

    # -- what is free

    def expr(self, expr: Expr) -> bool:
        return any(
            part in self.values if isinstance(part, Value) else isinstance(part, Op) and self.rules.is_free(part)
            for part in _parts(expr)
        )

    def container(self, name: str) -> bool:
        return not self.memory.roots(name).isdisjoint(self.containers)

    def view(self, view: View) -> bool:
        return self.container(view.container) or any(value in self.values for value in view_values(view))

    def memlet(self, memlet: Memlet) -> bool:
        return self.container(memlet.container) or any(self.expr(index) for index in memlet.index)

    # -- marking

    def mark(self, value: Value) -> None:
        if value not in self.values:
            self.values.add(value)
            self.grew = True

    def mark_container(self, name: str) -> None:
        roots = self.memory.roots(name)
        if not roots <= self.containers:
            self.containers |= roots
            self.grew = True

    def mark_everything(self) -> None:
        self.grew |= not self.everything
        self.everything = True

    # -- nodes; `loops` are the carries of the loops around, innermost last; `results` of the branch

    def region(self, region: Region, loops: tuple[tuple[Carry, ...], ...], results: tuple[Value | str, ...]) -> None:
        for node in region.nodes:
            match node:
                case Loop() | While() | Branch() | Map():
                    self.scope(node, loops)
                case Yield(values=items):
                    self.bind(results, items)
                case Continue(values=items):
                    self.bind([carry.target for carry in loops[-1]], items)
                case Break(values=items, depth=depth):
                    self.bind([carry.target for carry in loops[-1 - depth]], items)
                case _:
                    self.dataflow(node)

    def bind(self, targets: Iterable[Value | str], items: Iterable[Expr | View]) -> None:
        for target, item in zip(targets, items, strict=False):
            if isinstance(target, Value) and not isinstance(item, View) and self.expr(item):
                self.mark(target)
            elif isinstance(item, View) and item.container and any(v in self.values for v in view_values(item)):
                self.mark_everything()  # which elements a name stands for

    def scope(self, node: Loop | While | Branch | Map, loops: tuple[tuple[Carry, ...], ...]) -> None:
        match node:
            case Loop(carries=carries) | While(carries=carries):
                self.bind([carry.target for carry in carries], [carry.init for carry in carries])
                if isinstance(node, Loop) and any(self.expr(bound) for bound in (node.start, node.stop, node.step)):
                    self.mark_inside(node)
                self.region(node.body, (*loops, carries), ())
            case Branch(results=results):
                if self.expr(node.condition):
                    self.mark_inside(node)
                for arm in inner_regions(node):
                    self.region(arm, loops, results)
            case Map(ranges=ranges, body=body):
                if any(self.expr(bound) for pair in ranges for bound in pair):
                    self.mark_inside(node)
                self.region(body, loops, ())

    def mark_inside(self, node: Loop | Branch | Map) -> None:
        """Whether these statements run depends on a free value."""
        for value in defined_values(node):
            self.mark(value)
        if isinstance(node, Branch) and any(isinstance(result, str) for result in node.results):
            self.mark_everything()
        for inner in (below for region in inner_regions(node) for below in all_nodes(region)):
            if isinstance(inner, Break | Continue | Return) and isinstance(node, Branch):
                self.mark_everything()
            for value in defined_values(inner):
                self.mark(value)
            for name in _written(inner):
                self.mark_container(name)

    def dataflow(self, node: Node) -> None:
        match node:
            case Tasklet():
                self.tasklet(node)
            case Elementwise() | Reduce() | Scan() | MatMul():
                moved = any(value in self.values for value in view_values(node.output))
                if self.computes(node) or moved or is_free_sum(node, self.program):
                    self.mark_container(node.output.container)
            case NumpyCall(given=given):
                exprs = any(self.expr(value) for bundle in given for value in bundle_values(bundle))
                if exprs or any(self.view(view) for view in call_views(node)):
                    for value in defined_values(node):
                        self.mark(value)
                    for name in _written(node):
                        self.mark_container(name)
            case _:
                return

    def computes(self, node: Elementwise | Reduce | Scan | MatMul) -> bool:
        """Whether what a node reads, or does with it, is free."""
        match node:
            case Elementwise(inputs=inputs, expr=expr):
                for value, view in inputs:
                    if self.view(view):
                        self.mark(value)
                return self.expr(expr)
            case Reduce(input=source) | Scan(input=source):
                if isinstance(source, View):
                    return self.view(source)
                for tasklet in source.body:
                    self.tasklet(tasklet)
                return self.expr(source.expr)
            case MatMul(lhs=lhs, rhs=rhs, scale=scale):
                return self.view(lhs) or self.view(rhs) or (scale is not None and self.expr(scale))

    def tasklet(self, node: Tasklet) -> None:
        for value, memlet in node.reads:
            if self.memlet(memlet):
                self.mark(value)
        for let in node.lets:
            if self.expr(let.expr):
                self.mark(let.value)
        for memlet, expr in node.writes:
            kind = self.program.containers[memlet.container].dtype.kind
            summed = memlet.conflict in _SUMS and kind in "fc"
            if summed or self.expr(expr) or any(self.expr(index) for index in memlet.index):
                self.mark_container(memlet.container)


def _written(node: Node) -> Iterable[str]:
    match node:
        case Tasklet(writes=writes):
            return [memlet.container for memlet, _ in writes]
        case Elementwise() | Reduce() | Scan() | MatMul():
            return [node.output.container]
        case NumpyCall(changes=changes):
            return [*allocated_by(node), *(view.container for view in changes)]
        case _:
            return []
