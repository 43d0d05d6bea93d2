"""Read the text form back: `parse_program(print_program(p)) == p`.

in:   text in the grammar of `docs/ir.md`
out:  a `Program` with fresh node ids and no spans; `IRSyntaxError` with line and column on anything malformed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from weft.ir.expr_parser import Source, parse_bundle, parse_expr, parse_index, parse_item, parse_memlet, parse_view
from weft.ir.exprs import Expr, Index, Value, const_index
from weft.ir.head_parser import DECLARATIONS, Head
from weft.ir.lexer import IRSyntaxError
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Bundle,
    CallResult,
    Carry,
    Continue,
    Elements,
    Elementwise,
    Guard,
    Let,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Schedule,
    Site,
    SiteFrame,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.schedules import Team
from weft.ir.text import VERSION

__all__ = ["IRSyntaxError", "parse_program"]


def parse_program(text: str) -> Program:
    """The program; `IRSyntaxError` on anything malformed."""
    source = Source(text)
    source.expect("weft", "-", "ir")
    if source.integer() != VERSION:
        source.position -= 1
        raise source.error(f"version {VERSION} of the text form")
    source.end_line()
    source.expect("program")
    head = Head(source.name("the name of the program"))
    source.end_line()
    while not source.peek("{"):
        if source.token.text not in DECLARATIONS:
            raise source.error(f"one of {', '.join(DECLARATIONS)} or `{{`")
        DECLARATIONS[source.word("a declaration")](source, head)
        source.end_line()
    body = _block(source)
    source.end_line()
    source.next("end", "end of text")
    return head.program(body, source.containers)


# ---- nodes ----------------------------------------------------------------------------------------------------------


def _block(source: Source) -> Region:
    """Take `{`, nodes and `}`."""
    source.expect("{")
    source.end_line()
    nodes: list[Node] = []
    while not source.accept("}"):
        nodes.append(_node(source))
        source.end_line()
    return Region(tuple(nodes))


def _node(source: Source) -> Node:
    if source.token.kind == "value" or source.peek("write"):
        return _tasklet(source, [_tasklet_line(source)])
    if source.token.text not in _NODES:
        raise source.error("a node or `}`")
    return _NODES[source.word("a node")](source)


def _tasklet_block(source: Source) -> Tasklet:
    source.expect("{")
    source.end_line()
    lines: list[_TaskletLine] = []
    while not source.accept("}"):
        here = source.position
        lines.append(_tasklet_line(source))
        if len(lines) > 1 and _rank(lines[-1]) < _rank(lines[-2]):
            source.position = here
            raise source.error("reads, then lets, then writes")
        source.end_line()
    return _tasklet(source, lines)


_TaskletLine = tuple[Value, Memlet] | Let | tuple[Memlet, Expr]


def _rank(line: _TaskletLine) -> int:
    return 1 if isinstance(line, Let) else 0 if isinstance(line[0], Value) else 2


def _tasklet_line(source: Source) -> _TaskletLine:
    if source.accept("write"):
        memlet = parse_memlet(source)
        source.expect("=")
        return memlet, parse_expr(source)
    value = source.define()
    source.expect("=")
    if source.token.kind in ("name", "string") and source.peek("[", 1):
        return value, parse_memlet(source)
    return Let(value, parse_expr(source), _warn(source))


def _tasklet(source: Source, lines: list[_TaskletLine]) -> Tasklet:
    number = source.next_id()
    reads: list[tuple[Value, Memlet]] = []
    lets: list[Let] = []
    writes: list[tuple[Memlet, Expr]] = []
    for line in lines:
        match line:
            case Let():
                lets.append(line)
            case (Value() as value, Memlet() as memlet):
                reads.append((value, memlet))
            case (Memlet() as memlet, expr):
                writes.append((memlet, expr))
    return Tasklet(reads=tuple(reads), lets=tuple(lets), writes=tuple(writes), id=number)


def _alloc(source: Source) -> Alloc:
    container = source.name("a container")
    stack = container in source.containers and source.containers[container].storage is Storage.STACK
    if stack and not source.peek("site"):
        return Alloc(container=container, site=-1, id=source.next_id())
    source.expect("site")
    return Alloc(container=container, site=source.integer(), id=source.next_id())


def _elementwise(source: Source) -> Elementwise:
    number = source.next_id()
    output = parse_view(source)
    source.expect("at")
    params = source.sequence(Source.define)
    warn = _warn(source)
    source.expect("{")
    source.end_line()
    inputs: list[tuple[Value, View]] = []
    while not source.accept("yield"):
        value = source.define()
        source.expect("=")
        inputs.append((value, parse_view(source)))
        source.end_line()
    expr = parse_expr(source)
    source.end_line()
    source.expect("}")
    return Elementwise(output=output, params=params, inputs=tuple(inputs), expr=expr, warn=warn, id=number)


def _reduce(source: Source) -> Reduce:
    number, joined = source.next_id(), source.accept("joined")
    operation, output = _target_of(source)
    operand = _elements(source) if source.accept("elements", "at") else parse_view(source)
    source.expect("axes")
    axes = source.sequence(Source.integer)
    initial = parse_expr(source) if source.accept("initial") else None
    schedule = _schedule(source, "\n")
    return Reduce(
        op=operation, output=output, input=operand, axes=axes, initial=initial,
        schedule=schedule, warn=_warn(source), joined=joined, id=number,
    )  # fmt: skip


def _elements(source: Source) -> Elements:
    params = source.sequence(Source.define)
    source.expect("over")
    shape = source.sequence(parse_index, "[", "]")
    source.expect("{")
    source.end_line()
    body: list[Tasklet] = []
    while not source.accept("yield"):
        here = source.position
        node = _node(source)
        if not isinstance(node, Tasklet):
            source.position = here
            raise source.error("a tasklet or `yield`")
        body.append(node)
        source.end_line()
    expr = parse_expr(source)
    source.end_line()
    source.expect("}")
    return Elements(params, shape, tuple(body), expr)


def _scan(source: Source) -> Scan:
    operation, output = _target_of(source)
    operand = parse_view(source)
    source.expect("axis")
    axis = source.integer()
    return Scan(op=operation, output=output, input=operand, axis=axis, warn=_warn(source), id=source.next_id())


def _target_of(source: Source) -> tuple[str, View]:
    operation = source.word("an operation")
    output = parse_view(source)
    source.expect("=")
    return operation, output


def _matmul(source: Source) -> MatMul:
    adds = source.accept("add")
    output = parse_view(source)
    source.expect("=")
    lhs = parse_view(source)
    source.expect("@")
    rhs = parse_view(source)
    scale = parse_expr(source) if source.accept("times") else None
    sweep = source.accept("sweep")
    return MatMul(
        output=output,
        lhs=lhs,
        rhs=rhs,
        scale=scale,
        adds=adds,
        sweep=sweep,
        warn=_warn(source),
        id=source.next_id(),
    )


def _call(source: Source) -> NumpyCall:
    function = source.name("a function")
    given = source.sequence(_argument)
    source.expect("->")
    results = source.sequence(_result)
    sizes = source.sequence(Source.define) if source.accept("sizes") else ()
    changes = source.sequence(parse_view) if source.accept("changes") else ()
    tried = source.accept("tried")
    if not tried:
        source.expect("site")
    return NumpyCall(
        function=function,
        args=tuple(bundle for name, bundle in given if not name),
        keywords=tuple((name, bundle) for name, bundle in given if name),
        results=results,
        sizes=sizes,
        changes=changes,
        site=-1 if tried else source.integer(),
        tried=tried,
        id=source.next_id(),
    )


def _argument(source: Source) -> tuple[str, Bundle]:
    name = source.name("a keyword") if source.peek("=", 1) else ""
    if name:
        source.expect("=")
    return name, parse_bundle(source)


def _result(source: Source) -> CallResult:
    target = _target(source)
    return CallResult(target, source.sequence(Source.integer) if source.accept("axes") else ())


def _map(source: Source) -> Map:
    number = source.next_id()
    params = source.sequence(Source.define)
    source.expect("in")
    ranges = source.sequence(_range, "[", "]")
    schedule = _schedule(source, "{")
    owner = parse_index(source) if source.accept("owner") else None
    abreast = source.integer() if source.accept("abreast") else 1
    slides = source.accept("slides")
    warn = _warn(source)
    made = Map(params=params, ranges=ranges, body=_block(source), schedule=schedule, owner=owner, id=number)
    return replace(made, abreast=abreast, slides=slides, warn=warn)


def _schedule(source: Source, end: str) -> Schedule:
    if any(map(source.peek, ("warn", "owner", "abreast", "slides"))) or source.token.text == end:
        return Schedule.SEQUENTIAL
    return source.member(Schedule, f"a schedule, `warn` or {'`{`' if end == '{' else 'end of line'}")


def _range(source: Source) -> tuple[Index, Index]:
    start = parse_index(source)
    source.expect(":")
    return start, parse_index(source)


def _loop(source: Source) -> Loop:
    number = source.next_id()
    var = source.define()
    source.expect("in")
    start, stop = _range(source)
    step = parse_index(source) if source.accept(":") else const_index(1)
    wish = source.name("`map` or `prange`") if source.accept("wish") else ""
    team = _team(source) if source.accept("team") else None
    carries = _carries(source)
    body = _block(source)
    return Loop(var=var, start=start, stop=stop, step=step, carries=carries, body=body, wish=wish, team=team, id=number)


def _team(source: Source) -> Team:
    source.expect("[")
    rows = _range(source)
    source.expect("]", "meets")
    return Team(rows, source.sequence(Source.integer))


def _while(source: Source) -> While:
    number = source.next_id()
    return While(carries=_carries(source), body=_block(source), id=number)


def _carries(source: Source) -> tuple[Carry, ...]:
    return source.sequence(_carry) if source.accept("carry") else ()


def _carry(source: Source) -> Carry:
    target = _target(source)
    source.expect("=")
    return Carry(target, parse_item(source))


def _target(source: Source) -> Value | str:
    return source.define() if source.token.kind == "value" else source.name("a value or a container")


def _branch(source: Source) -> Branch:
    number = source.next_id()
    condition = parse_expr(source)
    results = source.sequence(_target) if source.accept("->") else ()
    then = _block(source)
    source.expect("else")
    return Branch(condition=condition, then=then, orelse=_block(source), results=results, id=number)


def _return(source: Source) -> Return:
    value = parse_bundle(source)
    return Return(value, source.sequence(parse_bundle) if source.accept("writebacks") else ())


def _site(source: Source) -> Site:
    number = source.integer()
    ended = source.token.kind == "newline" or source.peek("writebacks")
    frames = () if ended else source.separated(_frame)
    return Site(number, frames, source.sequence(parse_bundle) if source.accept("writebacks") else ())


def _frame(source: Source) -> SiteFrame:
    word = source.token.text
    if not (word.startswith("f") and word[1:].isdigit()):
        raise source.error("`f0@`, `f1@`...")
    source.word("a function")
    source.expect("@")
    path = source.sequence(Source.integer)
    live = source.sequence(_live_name, "{", "}")
    return SiteFrame(int(word[1:]), path, tuple(name for name, _ in live), tuple(value for _, value in live))


def _live_name(source: Source) -> tuple[str, Any]:
    name = source.name("a name")
    source.expect(":")
    return name, parse_bundle(source)


def _guard(source: Source) -> Guard:
    condition = parse_expr(source)
    source.expect("else", "site")
    site = source.integer()
    return Guard(condition, site, source.string())


def _items(source: Source) -> tuple[Expr | View, ...]:
    return () if source.token.kind == "newline" else source.separated(parse_item)


def _break(source: Source) -> Node:
    depth = source.integer() if source.accept("out") else 0
    return Break(_items(source), depth)


def _warn(source: Source) -> int:
    return source.integer() if source.accept("warn") else -1


_NODES: dict[str, Callable[[Source], Node]] = {
    "alloc": _alloc,
    "elementwise": _elementwise,
    "reduce": _reduce,
    "scan": _scan,
    "matmul": _matmul,
    "call": _call,
    "tasklet": _tasklet_block,
    "map": _map,
    "for": _loop,
    "while": _while,
    "if": _branch,
    "yield": lambda source: Yield(_items(source)),
    "continue": lambda source: Continue(_items(source)),
    "break": _break,
    "return": _return,
    "site": _site,
    "guard": _guard,
}
