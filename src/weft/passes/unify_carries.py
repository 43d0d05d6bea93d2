"""A name that is Python's number before a loop and NumPy's in it is carried as NumPy's, and as a tag.

before:  for i in 0:n carry (s_is = 0, s: py_float = 0.0, s': f8 = 0.0) {
           x = a[i]
           if equal(s_is, 0) -> (t) { p = add(cast(s): f8, x); yield p } else { q = add(s', x); yield q }
           continue 1, 0.0, t }
         return choice s_is (s, s')
after:   for i in 0:n carry (s_is = 0, u: f8 = 0.0) { x = a[i]; q = add(u, x); continue 1, q }
         s = select(equal(s_is, 0), 0.0, 0.0); s' = select(equal(s_is, 0), 0.0, u)
         return choice s_is (s, s')

Python's number is never assigned in the loop, so it is known where the tag says so. Where both sides of a branch on the
tag do the same, one to the converted number, they are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.ir.exprs import Const, Expr, Index, Value, const_index, op, substitute, values_in
from weft.ir.nodes import (
    Branch,
    Break,
    Bundle,
    Carry,
    Choice,
    Continue,
    Guard,
    Let,
    Loop,
    Map,
    Node,
    Pack,
    Program,
    Region,
    Site,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.substitution import Substitution
from weft.ir.traverse import all_nodes, defined_values, values_used_in
from weft.passes.base import Bench, Session, rewrite_nodes, rewrite_regions
from weft.passes.loop_bodies import has_loops
from weft.passes.mixed_numbers import (
    Known,
    Mixed,
    asks_for,
    bare,
    merged,
    merged_choices,
    mixed_in,
    raised_literal,
    steady_literals,
    tag_of,
)  # fmt: skip
from weft.support.records import record


@record
class UnifyCarries:
    """Carry a number of two types as one of the higher type, and its tag."""

    name: ClassVar[str] = "unify-carries"

    def run(self, program: Program, session: Session) -> Program:
        """The program with its carried numbers of one type."""
        if not has_loops(program):
            return program
        state = _State(Bench(self.name, program, session))
        return rewrite_regions(state.bench, state.region)


class _State:
    """What is known of mixed numbers so far, by tag."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.known: dict[Value, Known] = {}
        self.needed = needed_elsewhere(bench)
        self.steady: Mapping[Expr, Expr] = steady_literals(bench.program.body)

    def region(self, region: Region, _facts: Facts) -> Region:
        """Loops first, then the branches after them on what they carried."""
        nodes: list[Node] = []
        changed = False
        for node in region.nodes:
            made = self.unified(node) if isinstance(node, Loop) else None
            changed |= made is not None
            nodes += [node] if made is None else made
        result = Region(tuple(nodes)) if changed else region
        if not self.known:
            return result
        asked = self.asked(result)
        return trimmed(asked, self.needed) if asked is not region else region

    # ---- branches ----

    def asked(self, region: Region) -> Region:
        """The region with the branches on known tags merged, where their sides do the same."""
        nodes: list[Node] = []
        changed = False
        for node in region.nodes:
            inner = self.chosen_once(node) if isinstance(node, Tasklet) else self.inside(node)
            made = self.one_side(inner) if isinstance(inner, Branch) else None
            changed |= made is not None or inner is not node
            nodes += [inner] if made is None else made
        return Region(tuple(nodes)) if changed else region

    def inside(self, node: Node) -> Node:
        match node:
            case Map() | Loop() | While():
                body = self.asked(node.body)
                return node if body is node.body else replace(node, body=body)
            case Branch():
                then, orelse = self.asked(node.then), self.asked(node.orelse)
                return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
            case _:
                return node

    def one_side(self, node: Branch) -> list[Node] | None:
        asked = asks_for(node.condition)
        known = self.known.get(asked[0]) if asked is not None else None
        return merged(node, known, asked[1]) if known is not None and asked is not None else None

    def chosen_once(self, node: Tasklet) -> Tasklet:
        """A tasklet in which what a tag chooses is the number, if both choices do the same to it."""
        exprs = [merged_choices(let.expr, self.known) for let in node.lets]
        if all(expr is let.expr for expr, let in zip(exprs, node.lets, strict=True)):
            return node
        return replace(node, lets=tuple(replace(let, expr=x) for let, x in zip(node.lets, exprs, strict=True)))

    # ---- loops ----

    def unified(self, loop: Loop) -> list[Node] | None:
        """A loop with its mixed numbers unified, and what they are after it."""
        last = loop.body.nodes[-1] if loop.body.nodes else None
        if not isinstance(last, Continue) or _ends_elsewhere(Region(loop.body.nodes[:-1]), 0):
            return None
        before: list[Node] = []
        after: list[Node] = []
        current = loop
        for mixed in mixed_in(carry.target for carry in loop.carries):
            made = self.one_loop(current, mixed)
            if made is not None:
                first, current, then = made
                before += first
                after += then
                self.bench.note(f"{mixed.high.name} is carried as {mixed.high.type.text}", loop, done=True)
        return [*before, current, *after] if current is not loop else None

    def one_loop(self, loop: Loop, mixed: Mixed) -> tuple[list[Node], Loop, list[Node]] | None:
        saved = dict(self.known)
        made = self.attempt(loop, mixed)
        if made is None:
            self.known = saved
        return made

    def attempt(self, loop: Loop, mixed: Mixed) -> tuple[list[Node], Loop, list[Node]] | None:
        init = {carry.target: carry.init for carry in loop.carries}
        start = self.start_of(mixed, init)
        low, high = init[mixed.low], init[mixed.high]
        if start is None or isinstance(low, View) or isinstance(high, View):
            return None
        before, first, base = start
        number = self.bench.value(mixed.high.name, mixed.high.type)
        known = Known(mixed, number, mixed.tag, base, const_index(0))
        body = self.with_numbers(loop.body, known, low)
        ended = self.ended(_given(body, loop, mixed), mixed, number)
        if ended is None or ended[2] == mixed.low:
            return None
        made = _carrying(replace(loop, body=body), mixed, (number, first), ended[:2])
        made = replace(made, body=trimmed(made.body, self.needed))
        if values_used_in(made.body) & {mixed.low, mixed.high}:
            return None
        self.known[mixed.tag] = replace(known, unused=ended[2])
        lets = (
            Let(mixed.low, op("select", (mixed.is_low, low, ended[2]), mixed.low.type)),
            Let(mixed.high, op("select", (mixed.is_low, high, number), mixed.high.type)),
        )
        return before, made, [Tasklet(lets=lets, id=self.bench.number(), span=loop.span)]

    def start_of(
        self, mixed: Mixed, init: dict[Value | str, Expr | View]
    ) -> tuple[list[Node], Expr, Mixed | None] | None:
        """How the number starts: what computes it, it, and the mixed number it is, if it is one."""
        tag, low, high = init[mixed.tag], init[mixed.low], init[mixed.high]
        if isinstance(tag, View) or isinstance(low, View) or isinstance(high, View):
            return None
        known, turned = tag_of(tag)
        if known == mixed.low_tag:
            literal = raised_literal(low, mixed.high.type)
            return None if literal is None else ([], literal, None)
        low, high = bare(low), bare(high)
        if not isinstance(known, Value) or turned or not isinstance(low, Value) or not isinstance(high, Value):
            return None
        base = Mixed(known, low, high, mixed.low_tag)
        first = self.bench.value(high.name, high.type)
        before = Tasklet(lets=(Let(first, base.raised()),), id=self.bench.number())
        return [before], first, base

    def with_numbers(self, body: Region, known: Known, low: Expr) -> Region:
        """The body of a loop in terms of the number, as far as it goes. `low` is it before the loop, as it is there."""
        shown = Substitution({known.mixed.low: low, known.mixed.high: known.number})
        self.known[known.mixed.tag] = known
        body = self.asked(rewrite_nodes(body, lambda node: self.without_guards(node, known.mixed, low)))
        body = self.started(body, known)
        body = self.with_results(body, known)
        tags = {known.mixed.tag, *(tag for tag in self.known if self.comes_from(tag, known.mixed))}
        body = rewrite_nodes(body, lambda node: _shown(node, tags, shown) if isinstance(node, Site) else None)
        del self.known[known.mixed.tag]
        return body

    def without_guards(self, node: Node, mixed: Mixed, low: Expr) -> tuple[Node, ...] | None:
        """A branch on the tag without the guards that hold for what the number is where it is low."""
        asked = asks_for(node.condition) if isinstance(node, Branch) else None
        if asked is None or asked[0] != mixed.tag or not isinstance(node, Branch):
            return None
        side = node.then if asked[1] == mixed.low_tag else node.orelse
        kept = tuple(
            inner for inner in side.nodes if not self.holds(inner, {mixed.low: self.steady.get(bare(low), low)})
        )
        if len(kept) == len(side.nodes):
            return None
        return (replace(node, then=Region(kept)) if side is node.then else replace(node, orelse=Region(kept)),)

    def holds(self, node: Node, known: Mapping[Value, Expr]) -> bool:
        if not isinstance(node, Guard) or not values_in(node.condition) <= known.keys():
            return False
        return self.bench.legality.proves(substitute(node.condition, known), self.bench.session.facts)

    def comes_from(self, tag: Value, mixed: Mixed) -> bool:
        """Whether a tag that says low means that a number is low, too."""
        known = self.known.get(tag)
        return (
            known is not None
            and known.base is not None
            and (known.base.tag == mixed.tag or self.comes_from(known.base.tag, mixed))
        )

    def started(self, body: Region, known: Known) -> Region:
        """Loops inside that start from this number start from the one value."""
        raised = known.mixed.raised()
        nodes: list[Node] = []
        changed = False
        for node in body.nodes:
            if isinstance(node, Tasklet) and any(let.expr is raised for let in node.lets):
                lets = (Let(x.value, known.number if x.expr is raised else x.expr, x.warn) for x in node.lets)
                nodes.append(replace(node, lets=tuple(lets)))
                changed = True
            else:
                nodes.append(node)
        return Region(tuple(nodes)) if changed else body

    def with_results(self, body: Region, known: Known) -> Region:
        """Branches that give this number on, or a new one, give it as one value too."""
        nodes: list[Node] = []
        for node in body.nodes:
            if isinstance(node, Branch):
                then, orelse = self.with_results(node.then, known), self.with_results(node.orelse, known)
                same = then is node.then and orelse is node.orelse
                nodes.append(self.giving(node if same else replace(node, then=then, orelse=orelse), known))
            else:
                nodes.append(node)
        same = all(a is b for a, b in zip(nodes, body.nodes, strict=True))
        return body if same else Region(tuple(nodes))

    def giving(self, node: Branch, known: Known) -> Branch:
        sides = [side.nodes[-1] for side in (node.then, node.orelse) if side.nodes]
        if len(sides) != 2 or not isinstance(sides[0], Yield) or not isinstance(sides[1], Yield):
            return node
        for mixed in mixed_in(node.results):
            places = [node.results.index(value) for value in (mixed.tag, mixed.low, mixed.high)]
            ends: list[tuple[Expr, Expr, Expr]] = []
            for side in sides:
                assert isinstance(side, Yield)
                given = [side.values[place] for place in places]
                end = self.ended(given, mixed, known.number, known.mixed)
                if end is not None:
                    ends.append(end)
            unused = [end[2] for end in ends if end[2] != known.mixed.low]
            if len(ends) == 2 and len(unused) >= 1 and all(other == unused[0] for other in unused):
                tag = replace(known.mixed.tag, id=self.bench.number())
                number = self.bench.value(mixed.high.name, mixed.high.type)
                self.known[mixed.tag] = Known(mixed, number, tag, known.mixed, unused[0])
                return _with_results(node, (tag, number), [end[:2] for end in ends])
        return node

    def ended(
        self, given: Sequence[Expr | View], mixed: Mixed, number: Value, base: Mixed | None = None
    ) -> tuple[Expr, Expr, Expr] | None:
        """The tag, the number and the unused low part that three expressions stand for.

        They are those of `mixed`, in whose sense the tag is read; the number itself is that of `base`.
        """
        tag, low, high = given
        own = base or mixed
        if isinstance(tag, View) or isinstance(low, View) or isinstance(high, View):
            return None
        found, turned = tag_of(tag)
        same_sense = mixed.low_tag == own.low_tag
        if isinstance(found, int):
            if found == mixed.low_tag or not isinstance(low, Const | Index):
                return None
            return const_index(1 - own.low_tag), high, low
        low, high = bare(low), bare(high)
        if found == own.tag and turned != same_sense and low == own.low and high == own.high:
            return own.tag, number, own.low
        known = self.known.get(found) if found is not None else None
        if known is None or known.base is None or known.base.tag != own.tag:
            return None
        sense = (known.mixed.low_tag == mixed.low_tag) != turned
        if not sense or low != known.mixed.low or high != known.mixed.high:
            return None
        return known.tag, known.number, known.unused


def _shown(site: Site, tags: set[Value], parts: Substitution) -> tuple[Node, ...]:
    """A site that shows the number: chosen by its tag, the one part is what it was before the loop."""
    frames = tuple(
        replace(frame, values=tuple(_shown_part(value, tags, parts) for value in frame.values)) for frame in site.frames
    )
    writebacks = tuple(_shown_part(value, tags, parts) for value in site.writebacks)
    return (replace(site, frames=frames, writebacks=writebacks),)


def _shown_part(bundle: Bundle, tags: set[Value], parts: Substitution) -> Bundle:
    match bundle:
        case Choice(tag=tag, items=items) if tag_of(tag)[0] in tags:
            return Choice(tag, tuple(parts.bundle(item) for item in items))
        case Choice(items=items) | Pack(items=items):
            return replace(bundle, items=tuple(_shown_part(item, tags, parts) for item in items))
        case _:
            return bundle


def _given(body: Region, loop: Loop, mixed: Mixed) -> list[Expr | View]:
    last = body.nodes[-1]
    assert isinstance(last, Continue)
    targets = [carry.target for carry in loop.carries]
    return [last.values[targets.index(value)] for value in (mixed.tag, mixed.low, mixed.high)]


def _carrying(loop: Loop, mixed: Mixed, number: tuple[Value, Expr], end: tuple[Expr, Expr]) -> Loop:
    """The loop that carries the tag and the number in place of the three."""
    last = loop.body.nodes[-1]
    assert isinstance(last, Continue)
    carries: list[Carry] = []
    values: list[Expr | View] = []
    for carry, value in zip(loop.carries, last.values, strict=True):
        if carry.target == mixed.tag:
            carries += [carry, Carry(*number)]
            values += end
        elif carry.target not in (mixed.low, mixed.high):
            carries.append(carry)
            values.append(value)
    body = Region((*loop.body.nodes[:-1], Continue(tuple(values))))
    return replace(loop, carries=tuple(carries), body=body)


def _with_results(node: Branch, added: tuple[Value, Value], ends: list[tuple[Expr, Expr]]) -> Branch:
    """A branch with two results more."""
    sides: list[Region] = []
    for side, end in zip((node.then, node.orelse), ends, strict=True):
        last = side.nodes[-1]
        assert isinstance(last, Yield)
        sides.append(Region((*side.nodes[:-1], Yield((*last.values, *end)))))
    return replace(node, then=sides[0], orelse=sides[1], results=(*node.results, *added))


# ---- what nobody looks at -------------------------------------------------------------------------------------------


def needed_elsewhere(bench: Bench) -> frozenset[Value]:
    """The values that extents of arrays and bounds of other values speak of."""
    found: set[Value] = set()
    for container in bench.containers.values():
        for extent in container.shape:
            found |= extent.values
    for node in all_nodes(bench.program.body):
        for value in defined_values(node):
            for bound in (value.floor, value.ceiling):
                found |= bound.values if bound is not None else frozenset()
    return frozenset(found)


def trimmed(region: Region, needed: frozenset[Value]) -> Region:
    """A region without results of branches and lets that are not used after them."""
    used: set[Value] = set(needed)
    nodes: list[Node] = []
    for node in reversed(region.nodes):
        kept = _trimmed_node(node, used)
        if kept is not None:
            nodes.append(kept)
            used |= values_used_in(Region((kept,)))
    return Region(tuple(reversed(nodes)))


def _trimmed_node(node: Node, used: set[Value]) -> Node | None:
    match node:
        case Tasklet():
            return _trimmed_tasklet(node, used)
        case Branch(results=results):
            wanted = [number for number, result in enumerate(results) if isinstance(result, str) or result in used]
            if len(wanted) == len(results):
                return node
            then, orelse = (_giving_only(side, wanted, used) for side in (node.then, node.orelse))
            return replace(node, results=tuple(results[number] for number in wanted), then=then, orelse=orelse)
        case _:
            return node


def _trimmed_tasklet(node: Tasklet, used: set[Value]) -> Tasklet | None:
    needed = used.union(*(values_in(expr) for _, expr in node.writes))
    lets: list[Let] = []
    for let in reversed(node.lets):
        if let.warn >= 0 or let.value in needed:
            lets.append(let)
            needed |= values_in(let.expr)
    if not lets and not node.reads and not node.writes:
        return None
    return node if len(lets) == len(node.lets) else replace(node, lets=tuple(reversed(lets)))


def _giving_only(side: Region, wanted: Sequence[int], needed: set[Value]) -> Region:
    last = side.nodes[-1] if side.nodes else None
    if not isinstance(last, Yield):
        return side
    given = Yield(tuple(last.values[number] for number in wanted))
    return trimmed(Region((*side.nodes[:-1], given)), frozenset(needed))


def _ends_elsewhere(region: Region, depth: int) -> bool:
    """Whether an iteration, or the loop, may end in a region."""
    for node in region.nodes:
        match node:
            case Continue() if depth == 0:
                return True
            case Break(depth=out) if out >= depth:
                return True
            case Branch(then=then, orelse=orelse):
                if _ends_elsewhere(then, depth) or _ends_elsewhere(orelse, depth):
                    return True
            case Loop(body=body) | While(body=body):
                if _ends_elsewhere(body, depth + 1):
                    return True
            case Map(body=body):
                if _ends_elsewhere(body, depth):
                    return True
            case _:
                continue
    return False
