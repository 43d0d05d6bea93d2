"""Floating-point warnings of whole nests.

A nest of operations whose flags can be trusted reads the processor's flags after it has run; every other one notes the
warnings of its operations in a variable (`checks.py`). A nest of operations that never warn does neither.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from weft.codegen.checks import flags_are_exact, may_warn, narrows
from weft.codegen.kernel import Flags, Kernel
from weft.ir.exprs import Expr, Op, Value, values_in
from weft.ir.nodes import Branch, Elementwise, Loop, Map, MatMul, Node, Reduce, Region, Scan, Tasklet, While
from weft.ir.ops import OPS

_KINDS = {"d": "DIVIDE", "o": "OVERFLOW", "i": "INVALID"}


def report(kernel: Kernel, flags: str, site: int) -> None:
    """Pass on warnings: to the variable of the nest we are in, or to the caller."""
    if kernel.flags is not None and site in kernel.flags.sites:
        kernel.line(f"{kernel.flags.sites[site]} |= {flags};")
        return
    kernel.line(f"if ({flags})")
    kernel.line(f"    ctx->warn(ctx, {flags}, {site});")


@contextmanager
def hardware_flags(kernel: Kernel, site: int, kinds: str, pinned: Iterable[Value] = ()) -> Generator[None]:
    """Report at `site` which of the kinds ("d", "o", "i") the code inside raises."""
    if site < 0 or not kinds:
        yield
        return
    for value in pinned:  # computed before the flags are cleared, whatever it raises
        kernel.line(f'__asm__ volatile("" : : "g"({kernel.value(value)}));')
    kernel.line(f"{kernel.support.machine('fp_clear')}();")
    yield
    raised = kernel.bind(raised_flags(kernel, kinds), "int32_t", "raised")
    report(kernel, raised, site)


def raised_flags(kernel: Kernel, kinds: str) -> str:
    """The processor's flags of these kinds, as an expression."""
    mask = " | ".join(f"WEFT_FP_{_KINDS[kind]}" for kind in kinds)
    return f"{kernel.support.machine('fp_flags')}() & ({mask})"


@dataclass(frozen=True, slots=True)
class FlagPlan:
    """How a nest finds its warnings: by the processor's flags (`kinds`), or in variables, one per site."""

    site: int
    kinds: str = ""
    names: dict[int, str] = field(default_factory=dict[int, str])
    pinned: tuple[Value, ...] = ()

    @contextmanager
    def collecting(self, kernel: Kernel) -> Generator[None]:
        """The operations written inside note their warnings in the variables of the plan."""
        outer = kernel.flags
        sites = self.names if outer is None else outer.sites
        kernel.flags = Flags(sites.get(self.site), sites) if sites else None
        yield
        kernel.flags = outer


def plan_flags(kernel: Kernel, node: Map) -> FlagPlan:
    """The plan of a nest. A map inside a nest that notes its warnings uses the variables of that nest."""
    if kernel.flags is not None:
        return FlagPlan(node.warn)
    exprs = list(_expressions(node.body))
    inner = set(_sites(node.body))
    if node.warn >= 0 and not inner and _only_tasklets(node) and all(_is_exact(expr) for expr in exprs):
        kinds = "".join(kind for kind in "doi" if any(kind in _kinds(expr) for expr in exprs))
        floats = {value for expr in exprs for value in values_in(expr) if value.type.dtype.kind == "f"}
        pinned = sorted((value for value in floats if kernel.is_defined(value)), key=lambda value: value.id)
        return FlagPlan(node.warn, kinds, {}, tuple(pinned))
    own = {node.warn} if node.warn >= 0 and any(_warns(expr) for expr in exprs) else set[int]()
    names = {site: kernel.declare(kernel.names.claim("fp"), "int32_t") for site in sorted(inner | own)}
    return FlagPlan(node.warn, "", names)


def tasklet_flags(kernel: Kernel, site: int) -> str | None:
    """The variable in which a tasklet inside a nest notes the warnings of a let with this `warn`."""
    if kernel.flags is None:
        return None
    return kernel.flags.sites.get(site) if site >= 0 else kernel.flags.default


def _operations(expr: Expr, seen: set[Expr]) -> Iterator[Op]:
    if isinstance(expr, Op) and expr not in seen:
        seen.add(expr)
        yield expr
        for argument in expr.args:
            yield from _operations(argument, seen)


def _is_exact(expr: Expr) -> bool:
    return all(
        flags_are_exact(x.name, x.args[0].type.dtype, x.type.dtype)
        and (x.name == "cast" or not any(argument.type.python for argument in x.args))
        for x in _operations(expr, set())
    )


def _warns(expr: Expr) -> bool:
    return any(may_warn(x.name, x.args[0].type.dtype, x.type.dtype) for x in _operations(expr, set()))


def _kinds(expr: Expr) -> str:
    kinds = ""
    for x in _operations(expr, set()):
        source, result = x.args[0].type.dtype, x.type.dtype
        if x.name == "cast":
            kinds += "o" if narrows(source, result) else ""
        elif may_warn(x.name, source, result):
            kinds += OPS[x.name].warns
    return kinds


def _only_tasklets(node: Map) -> bool:
    return all(
        (isinstance(x, Tasklet) and all(let.warn < 0 for let in x.lets))
        or (isinstance(x, Map) and x.warn < 0 and _only_tasklets(x))
        for x in node.body.nodes
    )


def _expressions(region: Region) -> Iterator[Expr]:
    """What the tasklets of a nest compute, less the lets that warn at sites of their own."""
    for node in region.nodes:
        if isinstance(node, Tasklet):
            yield from (let.expr for let in node.lets if let.warn < 0)
            yield from (expr for _, expr in node.writes)
        for inner in inner_regions(node):
            yield from _expressions(inner)


def _sites(region: Region) -> Iterator[int]:
    for node in region.nodes:
        match node:
            case Tasklet(lets=lets):
                yield from (let.warn for let in lets if let.warn >= 0)
            case Map() | Elementwise() | Reduce() | Scan() | MatMul():
                if node.warn >= 0:
                    yield node.warn
            case _:
                pass
        for inner in inner_regions(node):
            yield from _sites(inner)


def inner_regions(node: Node) -> tuple[Region, ...]:
    """The regions directly inside a node."""
    match node:
        case Map() | Loop() | While():
            return (node.body,)
        case Branch():
            return (node.then, node.orelse)
        case _:
            return ()
