"""A name that is Python's number after one side of a branch and NumPy's after the other is one number, and a tag.

before:  if less(a, 0.5) -> (x_is, x: py_float, x': f8) { yield 0, 0.5, 0.0 } else { yield 1, 0.0, a }
         if equal(x_is, 0) -> (t) { p = add(cast(x): f8, b); yield p } else { q = add(x', b); yield q }
after:   if less(a, 0.5) -> (u: f8) { yield 0.5 } else { yield a }
         q = add(u, b)

Where both sides of a later branch on the tag do the same, one to the converted number, they are one (`merged`). Where
they do the same in Python's arithmetic and in NumPy's, `x * gain`, numbers are the same and warnings are not: both are
computed, NumPy's of a number that cannot warn where Python's is meant, and the tag chooses. What remains is a body
without branches that depend on data, which loops can run in vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.ir.dtypes import PY_FLOAT, DType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, op
from weft.ir.nodes import Branch, Let, Loop, Map, Node, Program, Region, Tasklet, View, While, Yield
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session
from weft.passes.mixed_numbers import Known, Mixed, asks_for, bare, merged, mixed_in, plain_side, raised_literal, tag_of
from weft.passes.unify_carries import needed_elsewhere, trimmed
from weft.support.records import record

_HARMLESS: Final = {"multiply": 1.0, "add": 0.0, "subtract": 0.0}  # operands with which these never warn


@record
class UnifyBranches:
    """Give branches that choose between numbers of two types the number as one value, and use it."""

    name: ClassVar[str] = "unify-branches"

    def run(self, program: Program, session: Session) -> Program:
        """The program with such numbers of one type."""
        branches = (node for node in all_nodes(program.body) if isinstance(node, Branch))
        if not any(mixed_in(node.results) for node in branches):
            return program
        bench = Bench(self.name, program, session)
        state = _State(bench, {})
        body = state.region(program.body)
        return replace(program, body=_without_unused(body, needed_elsewhere(bench))) if state.used else program


def _without_unused(region: Region, needed: frozenset[Value]) -> Region:
    """A region without what nobody uses any more, from the outermost branches on."""
    return _with_bodies(trimmed(region, needed), lambda body: _without_unused(body, needed))


@record(frozen=False)
class _State:
    """What is known of mixed numbers so far, by tag."""

    bench: Bench
    known: dict[Value, Known]
    used: bool = False

    def region(self, region: Region) -> Region:
        """A region: branches give numbers, and those after them use them."""
        nodes: list[Node] = []
        for node in _with_bodies(region, self.region).nodes:
            made = self.one_side(node) if isinstance(node, Branch) else None
            self.used |= made is not None
            if made is None:
                made = [self.giving(node) if isinstance(node, Branch) else node]
            nodes += made
        return Region(tuple(nodes))

    def one_side(self, node: Branch) -> list[Node] | None:
        """A branch on a known tag as code without a branch."""
        asked = asks_for(node.condition)
        known = self.known.get(asked[0]) if asked is not None else None
        if asked is None or known is None:
            return None
        made = merged(node, known, asked[1]) or self.computed(node, known, asked[1])
        if made is not None:
            self.bench.note(f"{known.mixed.high.name} is one number for both types", node, done=True)
        return made

    # ---- branches that give a number ----

    def giving(self, node: Branch) -> Branch:
        """A branch with its mixed numbers as values too."""
        for mixed in mixed_in(node.results):
            ends = [self.end(side, node, mixed) for side in (node.then, node.orelse)]
            if any(end is None for end in ends):
                continue
            number = self.bench.value(mixed.high.name, mixed.high.type)
            sides = [_also(side, end) for side, end in zip((node.then, node.orelse), ends, strict=True) if end]
            node = replace(node, then=sides[0], orelse=sides[1], results=(*node.results, number))
            self.known[mixed.tag] = Known(mixed, number, mixed.tag, None, const_index(0))
        return node

    def end(self, side: Region, node: Branch, mixed: Mixed) -> Expr | None:
        """The number that a side gives."""
        last = side.nodes[-1] if side.nodes else None
        if not isinstance(last, Yield):
            return None
        given = [last.values[node.results.index(value)] for value in (mixed.tag, mixed.low, mixed.high)]
        tag, low, high = given
        if isinstance(tag, View) or isinstance(low, View) or isinstance(high, View):
            return None
        found, turned = tag_of(tag)
        if isinstance(found, int):
            return self.raised(low, mixed) if found == mixed.low_tag else high
        known = self.known.get(found) if found is not None else None
        if known is None or ((known.mixed.low_tag == mixed.low_tag) == turned):
            return None
        same = bare(low) == known.mixed.low and bare(high) == known.mixed.high
        return known.number if same and known.number.type == mixed.high.type else None

    def raised(self, low: Expr, mixed: Mixed) -> Expr | None:
        """A number of the lower type in the higher one, where that loses nothing and cannot warn."""
        exact = mixed.low.type == PY_FLOAT and mixed.high.type.dtype is DType.FLOAT64
        return op("cast", (low,), mixed.high.type) if exact else raised_literal(low, mixed.high.type)

    # ---- the same in Python's arithmetic and in NumPy's ----

    def computed(self, node: Branch, known: Known, first_tag: int) -> list[Node] | None:
        """Both results of an operation that Python's numbers and NumPy's have, and which of them it is."""
        mixed = known.mixed
        sides = (node.then, node.orelse) if first_tag == mixed.low_tag else (node.orelse, node.then)
        low, high = (plain_side(side) for side in sides)
        results = mixed_in(node.results)
        if low is None or high is None or len(results) != 1 or len(node.results) != 3:
            return None
        found = _operations(node, results[0], low, high)
        if found is None:
            return None
        quiet, loud, warn = _both(found, known)
        if quiet is None or loud is None:
            return None
        return [self.chosen(node, results[0], known, (low[1], found.value), (quiet, loud, warn))]

    def chosen(
        self, node: Branch, result: Mixed, known: Known, given: tuple[Sequence[Expr | View], Value],
        made: tuple[Expr, Expr, int],
    ) -> Tasklet:  # fmt: skip
        """The results of a branch, and its number, by the tag."""
        quiet, loud, warn = made
        is_low, high = known.mixed.is_low, result.high.type
        silent, value = self.bench.value("quiet", high), replace(given[1], id=self.bench.number())
        number = self.bench.value(result.high.name, high)
        python = given[0][node.results.index(result.low)]
        assert not isinstance(python, View)
        tags = (const_index(result.low_tag), const_index(1 - result.low_tag))
        self.known[result.tag] = Known(result, number, result.tag, None, const_index(0))
        lets = (
            Let(silent, quiet),
            Let(value, loud, warn),
            Let(number, op("select", (is_low, silent, value), high)),
            Let(result.tag, op("select", (is_low, *tags), result.tag.type)),
            Let(result.low, op("select", (is_low, python, const(0.0, PY_FLOAT)), result.low.type)),
            Let(result.high, op("select", (is_low, const(0.0, high), value), high)),
        )
        return Tasklet(lets=lets, id=self.bench.number(), span=node.span)


def _with_bodies(region: Region, change: Callable[[Region], Region]) -> Region:
    """A region with the bodies of its nodes changed."""
    nodes: list[Node] = []
    for node in region.nodes:
        match node:
            case Map() | Loop() | While():
                nodes.append(replace(node, body=change(node.body)))
            case Branch():
                nodes.append(replace(node, then=change(node.then), orelse=change(node.orelse)))
            case _:
                nodes.append(node)
    return Region(tuple(nodes))


def _also(side: Region, value: Expr) -> Region:
    """A side that gives one thing more."""
    last = side.nodes[-1]
    assert isinstance(last, Yield)
    return Region((*side.nodes[:-1], Yield((*last.values, value))))


@record
class _Operations:
    """What the two sides of a branch compute: Python's operation, and NumPy's with its value and warning."""

    python: Op
    numpy: Op
    value: Value
    warn: int


_Side = tuple[list[Tasklet], Sequence["Expr | View"]]


def _operations(node: Branch, result: Mixed, low: _Side, high: _Side) -> _Operations | None:
    """The only operation of each side, if they give it as Python's number and as NumPy's."""
    places = [node.results.index(value) for value in (result.tag, result.low, result.high)]
    tags = [side[1][places[0]] for side in (low, high)]
    python, numpy = low[1][places[1]], high[1][places[2]]
    lets = [let for tasklet in high[0] for let in tasklet.lets]
    if low[0] or len(lets) != 1 or any(tasklet.reads or tasklet.writes for tasklet in high[0]):
        return None
    if [_number(tag) for tag in tags] != [result.low_tag, 1 - result.low_tag] or lets[0].value != numpy:
        return None
    if result.low.type != PY_FLOAT or result.high.type.dtype is not DType.FLOAT64 or result.high.type.python:
        return None
    expr = lets[0].expr
    if not isinstance(python, Op) or not isinstance(expr, Op) or python.name != expr.name or expr.name not in _HARMLESS:
        return None
    return _Operations(python, expr, lets[0].value, lets[0].warn)


def _number(expr: Expr | View) -> int | None:
    return expr.constant if isinstance(expr, Index) else None


def _both(found: _Operations, known: Known) -> tuple[Expr | None, Expr | None, int]:
    """The operation on the number without a warning, and on one that gives none where it is Python's."""
    mixed, type_ = known.mixed, found.numpy.type
    harmless = op("select", (mixed.is_low, const(_HARMLESS[found.numpy.name], type_), known.number), type_)
    quiet: list[Expr] = []
    loud: list[Expr] = []
    for python, numpy in zip(found.python.args, found.numpy.args, strict=True):
        if python == mixed.low and numpy == mixed.high:
            quiet.append(known.number)
            loud.append(harmless)
        elif numpy == op("cast", (python,), type_) or _same_literal(python, numpy):
            quiet.append(numpy)
            loud.append(numpy)
        else:
            return None, None, -1
    if known.number not in quiet or found.numpy.type != known.number.type:
        return None, None, -1
    return op(found.numpy.name, quiet, type_), op(found.numpy.name, loud, type_), found.warn


def _same_literal(left: Expr, right: Expr) -> bool:
    return isinstance(left, Const) and isinstance(right, Const) and raised_literal(left, right.type) == right
