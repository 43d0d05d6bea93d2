"""What a nest computes, and which of its warnings the processor's flags show.

in:   a Map or a Loop with everything inside it
out:  `NestOperations`: the sites it warns at, the kinds of flags its operations raise, and those operations that may
      warn without a flag that lasts until the end of the nest

An operation is unseen where the compiler may leave it out or move it: its result may be discarded (a side of `select`,
a value that only a branch uses, an element that is written again), or it does not depend on anything inside the nest.
Functions of the C library and integers raise no flags, or others than NumPy. A power that is made of products and roots
raises those of NumPy's, and perhaps others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TypeAlias

from weft.codegen.checks import flags_are_exact
from weft.codegen.math_functions import halves_of_exponent
from weft.ir.exprs import Expr, Index, Op, Value, substitute, values_in
from weft.ir.nodes import (
    Branch,
    Break,
    Carry,
    Continue,
    Elements,
    Elementwise,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Scan,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.ops import OPS, may_warn, narrows
from weft.ir.traverse import defined_values
from weft.support.records import record

# Operands that may not matter for the result: computing them may be put off, or left out. The condition of a `select`
# does not matter where both sides turn out to be the same.
_DISCARDED = {"select": (0, 1, 2), "copysign": (0, 1), "heaviside": (1,), "signbit": (0,), "real": (0,), "imag": (0,)}
# Of equal operands these are known without looking at them: NaN is not less than itself either.
_SAME_MEANS_KNOWN = frozenset(("less", "greater", "logical_xor", "bitwise_xor"))


_Element: TypeAlias = tuple[str, tuple[Expr, ...]]  # a container, and an index without lets in it
_Written: TypeAlias = dict[str, dict[_Element, frozenset[int]]]  # by memory and element, the roots last written there


@record
class NestOperations:
    """`scalar_sites` are those of lets outside of maps, `pinned` the floats from outside.

    `exact`: the processor's flags of these kinds are just what NumPy reports, all of it at one site.
    """

    sites: tuple[int, ...]
    scalar_sites: tuple[int, ...]
    kinds: str
    unseen: frozenset[Op]
    exact: bool
    pinned: tuple[Value, ...]


def nest_operations(program: Program, nest: Map | Loop, *, strict: bool) -> NestOperations:
    """What a nest computes; `strict`: NumPy itself computes functions."""
    walk = _Walk(program, strict)
    walk.node(nest, -1, 0, in_map=False)
    walk.consume()
    return walk.result()


def is_lone(program: Program, site: int) -> bool:
    """Whether a site is that of an operator on NumPy scalars, which, unlike a ufunc, tells when integers overflow."""
    return site >= 0 and program.warn_sites[site].operation.startswith("scalar ")


def operations_in(expr: Expr, seen: set[Expr] | None = None) -> Iterator[Op]:
    """The operations of an expression, each once."""
    seen = set() if seen is None else seen
    if isinstance(expr, Op) and expr not in seen:
        seen.add(expr)
        yield expr
        for argument in expr.args:
            yield from operations_in(argument, seen)


@record(frozen=False)
class _Walk:
    """Regions are numbered; an expression belongs to the region it is computed in."""

    program: Program
    strict: bool
    regions: int = 0
    sited: list[tuple[Op, int, int]] = field(default_factory=list[tuple[Op, int, int]])  # operation, site, region
    powers: set[Op] = field(default_factory=set[Op])  # those computed by products and roots
    silent: list[Op] = field(default_factory=list[Op])
    sites: set[int] = field(default_factory=set[int])
    scalar_sites: set[int] = field(default_factory=set[int])
    kinds: str = ""
    exact: bool = True
    varying: set[Value] = field(default_factory=set[Value])
    used: set[Value] = field(default_factory=set[Value])
    home: dict[Value, int] = field(default_factory=dict[Value, int])
    computed: dict[Value, list[tuple[Expr, int]]] = field(default_factory=dict[Value, list[tuple[Expr, int]]])
    written_out: dict[Value, Expr] = field(default_factory=dict[Value, Expr])  # lets, without lets in them
    loads: dict[Value, str] = field(default_factory=dict[Value, str])  # values read from arrays on the stack
    stores: dict[str, list[tuple[Expr, int]]] = field(default_factory=dict[str, list[tuple[Expr, int]]])
    roots: list[tuple[Expr, int]] = field(default_factory=list[tuple[Expr, int]])
    last: _Written = field(default_factory=dict[str, dict["_Element", frozenset[int]]])
    overwritten: set[int] = field(default_factory=set[int])  # roots, by number
    consumed: set[tuple[Expr, int]] = field(default_factory=set[tuple[Expr, int]])
    targets: list[tuple[Value | str, ...]] = field(default_factory=list[tuple[Value | str, ...]])
    results: list[tuple[Value | str, ...]] = field(default_factory=list[tuple[Value | str, ...]])

    # -- definitions

    def define(self, values: Iterable[Value | str], region: int) -> None:
        """Values that are what they are only when the nest runs."""
        for value in values:
            if isinstance(value, Value):
                self.varying.add(value)
                self.home[value] = region

    def expr(self, expr: Expr, site: int, region: int, *, in_map: bool = False) -> None:
        for operation in operations_in(expr):
            if in_map and not self.strict and halves_of_exponent(operation) is not None:
                self.powers.add(operation)
            lone = is_lone(self.program, site)
            source, result = operation.args[0].type.dtype, operation.type.dtype
            warns = may_warn(operation.name, source, result, lone=lone) and not operation.type.python
            if site >= 0 and warns:
                self.sites.add(site)
                self.sited.append((operation, site, region))
            else:
                self.silent.append(operation)
        self.used |= values_in(expr)

    def bind(self, targets: Iterable[Value | str], items: Iterable[Expr | View], region: int) -> None:
        for target, item in zip(targets, items, strict=True):
            if isinstance(target, Value) and not isinstance(item, View):
                self.expr(item, -1, region)
                self.computed.setdefault(target, []).append((item, region))

    # -- nodes

    def region(self, region: Region, site: int, *, in_map: bool) -> None:
        self.regions += 1
        number = self.regions
        for node in region.nodes:
            self.node(node, site, number, in_map=in_map)

    def node(self, node: Node, site: int, region: int, *, in_map: bool) -> None:
        match node:
            case Tasklet():
                self.tasklet(node, site, region, in_map=in_map)
            case Map(params=params, body=body):
                self.define(params, self.regions + 1)
                self.region(body, node.warn, in_map=True)
            case Elementwise():
                self.regions += 1
                self.define([*node.params, *(value for value, _ in node.inputs)], self.regions)
                self.expr(node.expr, node.warn, self.regions, in_map=True)
                self.roots.append((node.expr, self.regions))
            case Scan() | MatMul():
                self.combination(node)
            case Reduce():
                self.reduction(node)
            case NumpyCall():
                self.define(defined_values(node), region)
            case Loop() | While() | Branch():
                self.control(node, site, region, in_map=in_map)
            case Yield(values=items):
                self.bind(self.results[-1], items, region)
            case Continue() | Break():
                depth = node.depth if isinstance(node, Break) else 0
                self.bind(self.targets[-1 - depth], node.values, region)
            case _:
                pass

    def tasklet(self, node: Tasklet, site: int, region: int, *, in_map: bool) -> None:
        self.define((value for value, _ in node.reads), region)
        for value, memlet in node.reads:
            if self.on_stack(memlet.container):
                self.loads[value] = memlet.container
        for let in node.lets:
            at = let.warn if let.warn >= 0 else site
            self.expr(let.expr, at, region, in_map=in_map)
            self.home[let.value] = region
            self.computed[let.value] = [(let.expr, region)]
            written_out = substitute(let.expr, self.written_out)
            if let.value.type.dtype.kind not in "iu" or isinstance(written_out, Index | Value):
                self.written_out[let.value] = written_out  # any other integer has no place in an index
            if not self.varying.isdisjoint(values_in(let.expr)):
                self.varying.add(let.value)
            if let.warn >= 0 and not in_map:
                self.scalar_sites.add(let.warn)
        for memlet, expr in node.writes:
            self.expr(expr, site, region, in_map=in_map)
            if memlet.conflict and self.program.containers[memlet.container].dtype.kind in "fc":
                self.exact = False  # combining raises flags that nobody reports
            if self.on_stack(memlet.container):
                self.stores.setdefault(memlet.container, []).append((expr, region))
            else:
                self.store(memlet, (expr, region))

    def store(self, memlet: Memlet, root: tuple[Expr, int]) -> None:
        """An element written, perhaps again: what was written there before need not be computed any more."""
        element = memlet.container, tuple(substitute(x, self.written_out) for x in memlet.index)
        before = self.last.get(self.base(memlet.container), {})
        gone = {key for key in before if key == element or key[0] != element[0]}
        if memlet.conflict:  # it needs what was there
            gone.clear()
        self.overwritten |= {number for key in gone for number in before[key]}
        kept = {key: numbers for key, numbers in before.items() if key not in gone}
        kept[element] = kept.get(element, frozenset()) | {len(self.roots)}
        self.last = {**self.last, self.base(memlet.container): kept}
        self.roots.append(root)

    def on_stack(self, name: str) -> bool:
        """Whether the compiler knows who reads it."""
        return self.program.containers[self.base(name)].storage is Storage.STACK

    def base(self, name: str) -> str:
        """The container whose memory it is."""
        while self.program.containers[name].storage is Storage.ALIAS:
            name = self.program.containers[name].base
        return name

    def combination(self, node: Scan | MatMul) -> None:
        dtype = self.program.containers[node.output.container].dtype
        if dtype.kind in "fc" and node.warn >= 0:
            self.sites.add(node.warn)
            self.kinds += "oi"
        elif dtype.kind in "fc":
            self.exact = False

    def reduction(self, node: Reduce) -> None:
        """It reports for itself, but raises flags."""
        read = node.input.container if isinstance(node.input, View) else ""
        kinds = [self.program.containers[name].dtype.kind for name in (read, node.output.container) if name]
        self.exact = self.exact and not isinstance(node.input, Elements) and all(kind in "biu" for kind in kinds)

    def control(self, node: Loop | While | Branch, site: int, region: int, *, in_map: bool) -> None:
        if isinstance(node, Branch):
            self.expr(node.condition, -1, region)
            self.roots.append((node.condition, region))
            self.define(node.results, region)
            self.results.append(node.results)
            before = self.last
            self.region(node.then, site, in_map=in_map)
            self.last, then = before, self.last
            self.region(node.orelse, site, in_map=in_map)
            self.last = _either(then, self.last)
            self.results.pop()
            return
        self.exact = False  # what handles interrupts may raise any flag
        targets = tuple(carry.target for carry in node.carries)
        self.carries(node.carries, region)
        if isinstance(node, Loop):
            self.define((node.var,), self.regions + 1)
        self.targets.append(targets)
        self.region(node.body, site, in_map=in_map)
        self.targets.pop()
        if region == 0:  # the nest itself: its floats are pinned after it
            floats = (x for x in targets if isinstance(x, Value) and x.type.dtype.kind == "f")
            self.roots += [(target, region) for target in floats]

    def carries(self, carries: tuple[Carry, ...], region: int) -> None:
        targets = [carry.target for carry in carries]
        self.define(targets, region)
        self.bind(targets, [carry.init for carry in carries], region)

    # -- results

    def consume(self) -> None:
        """Go back from what is written to what certainly has to be computed for it."""
        pending = [root for number, root in enumerate(self.roots) if number not in self.overwritten]
        while pending:
            expr, region = item = pending.pop()
            if item in self.consumed:
                continue
            self.consumed.add(item)
            if isinstance(expr, Value):
                if self.home.get(expr) == region:
                    pending += self.computed.get(expr, ())
                pending += self.stores.get(self.loads.get(expr, ""), ())
            elif isinstance(expr, Op):
                pending += ((operand, region) for operand in self.needed(expr))

    def needed(self, operation: Op) -> tuple[Expr, ...]:
        """The operands without which there is no result."""
        if operation.name in _SAME_MEANS_KNOWN:
            left, right = (substitute(arg, self.written_out) for arg in operation.args[-2:])
            if left == right:
                return ()
        left_out = _DISCARDED.get(operation.name, ())
        return tuple(arg for number, arg in enumerate(operation.args) if number not in left_out)

    def result(self) -> NestOperations:
        unseen: set[Op] = set()
        for operation, _, region in self.sited:
            raises = operation in self.powers or _raises_flags(operation)
            known = raises and (operation, region) in self.consumed
            if not known or self.varying.isdisjoint(values_in(operation)):
                unseen.add(operation)
            else:
                self.kinds += _kinds(operation)
        exact = self.exact and len(self.sites) == 1 and not unseen
        exact = exact and all(_is_exact(x) for x, _, _ in self.sited) and all(map(_is_quiet, self.silent))
        outside = {value for value in self.used - self.home.keys() if value.type.dtype.kind == "f"}
        return NestOperations(
            tuple(sorted(self.sites)),
            tuple(sorted(self.scalar_sites & self.sites)),
            "".join(kind for kind in "doi" if kind in self.kinds),
            frozenset(unseen),
            exact,
            tuple(sorted(outside, key=lambda value: value.id)),
        )


def _either(one: _Written, other: _Written) -> _Written:
    """What was last written after a branch."""
    result = dict(one)
    for base, elements in other.items():
        mine = one.get(base, {})
        result[base] = {key: mine.get(key, frozenset()) | elements.get(key, frozenset()) for key in mine | elements}
    return result


# ---- operations -----------------------------------------------------------------------------------------------------


def _raises_flags(operation: Op) -> bool:
    """Whether the processor notes whatever NumPy would warn of: by the instruction itself, vectorized or not."""
    source, result = operation.args[0].type.dtype, operation.type.dtype
    if operation.name == "cast":
        return narrows(source, result)
    return source.kind in "fc" and flags_are_exact(operation.name, source, result)


def _kinds(operation: Op) -> str:
    return "o" if operation.name == "cast" else OPS[operation.name].warns


def _is_exact(operation: Op) -> bool:
    source = operation.args[0].type.dtype
    python = operation.name != "cast" and any(argument.type.python for argument in operation.args)
    return not python and flags_are_exact(operation.name, source, operation.type.dtype)


def _is_quiet(operation: Op) -> bool:
    """Whether an operation that reports nowhere raises no flag either."""
    source, result = operation.args[0].type.dtype, operation.type.dtype
    return _is_exact(operation) and not may_warn(operation.name, source, result)
