"""Read the text form back: `parse_program(print_program(p)) == p`.

in:   text in the grammar of `docs/ir.md`
out:  a `Program` with fresh node ids and no spans; `IRSyntaxError` with line and column on anything malformed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weft.ir.dtypes import DType
from weft.ir.expr_parser import Source, parse_bundle, parse_expr, parse_index, parse_item, parse_memlet, parse_view
from weft.ir.exprs import Expr, Index, Value, const_index
from weft.ir.lexer import IRSyntaxError
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Carry,
    Container,
    Continue,
    Elementwise,
    Guard,
    Layout,
    Let,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
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
from weft.ir.text import VERSION, parse_object
from weft.support.abi import ArgKind, ArgSpec, FunctionRef, Slot, SlotKind, WarnSite, WriteBack

__all__ = ["IRSyntaxError", "parse_program"]

_DTYPES = {dtype.text: dtype for dtype in DType}


def parse_program(text: str) -> Program:
    """The program; `IRSyntaxError` on anything malformed."""
    source = Source(text)
    source.expect("weft", "-", "ir")
    if source.integer() != VERSION:
        source.position -= 1
        raise source.error(f"version {VERSION} of the text form")
    source.end_line()
    source.expect("program")
    head = _Head(source.name("the name of the program"))
    source.end_line()
    while not source.peek("{"):
        if source.token.text not in _DECLARATIONS:
            raise source.error(f"one of {', '.join(_DECLARATIONS)} or `{{`")
        _DECLARATIONS[source.word("a declaration")](source, head)
        source.end_line()
    body = _block(source)
    source.end_line()
    source.next("end", "end of text")
    return head.program(body, source.containers)


# ---- the head of a program ------------------------------------------------------------------------------------------


@dataclass
class _Head:
    """What the declarations have given so far."""

    name: str
    slots: list[Slot] = field(default_factory=list[Slot])
    args: list[ArgSpec] = field(default_factory=list[ArgSpec])
    scalars: list[tuple[int, Value]] = field(default_factory=list[tuple[int, Value]])
    constants: list[Any] = field(default_factory=list[Any])
    functions: list[FunctionRef] | None = None
    writebacks: list[WriteBack] = field(default_factory=list[WriteBack])
    warn_sites: list[WarnSite] = field(default_factory=list[WarnSite])

    def program(self, body: Region, containers: dict[str, Container]) -> Program:
        functions = (FunctionRef(-1),) if self.functions is None else tuple(self.functions)
        return Program(
            self.name, tuple(self.slots), tuple(self.args), tuple(self.scalars), containers, body,
            tuple(self.constants), functions, tuple(self.writebacks), tuple(self.warn_sites),
        )  # fmt: skip


def _slot(source: Source, head: _Head) -> None:
    if not source.accept("none"):
        kind = source.choose({kind.name.lower(): kind for kind in SlotKind}, "the kind of a slot")
        number = source.integer() if source.token.kind == "number" or source.peek("-") else 0
        name = source.string() if source.token.kind == "string" else ""
        head.slots.append(Slot(kind, number, name, source.integer() if source.accept("of") else -1))
    if source.accept(":"):
        head.args.append(_arg(source))


def _arg(source: Source) -> ArgSpec:
    kind = source.choose({kind.name.lower(): kind for kind in ArgKind}, "the kind of an argument")
    fields: dict[str, Any] = {}
    while source.token.kind in ("name", "string"):
        if source.accept("rank"):
            fields["ndim"] = source.integer()
        elif source.accept("layout"):
            fields["layout"] = source.name("a layout")
        elif source.accept("written"):
            fields["written"] = True
        elif source.accept("same", "as"):
            fields["same_as"] = source.integer()
        elif source.token.text in ("ones", "length", "order"):
            word = source.word("a field")
            fields[word] = source.integer()
        elif source.accept("value"):
            fields["value"] = _object(source)
        else:
            fields["dtype"] = source.name("a dtype")
    return ArgSpec(kind, **fields)


def _object(source: Source) -> Any:
    here = source.position
    text = source.next("object", "a Python object")
    try:
        return parse_object(text)
    except (ValueError, SyntaxError):
        source.position = here
        raise source.error("a Python literal or `object` and a quoted text") from None


def _function(source: Source, head: _Head) -> None:
    functions = head.functions = head.functions or []
    if source.accept("none"):
        return
    source.expect("of")
    parent = source.integer()
    steps = _separated(source, _step) if source.accept("via") else ()
    calls = _separated(source, _call) if source.accept("calls") else ()
    functions.append(FunctionRef(parent, steps, calls))


def _step(source: Source) -> tuple[str | int, ...]:
    words: list[str | int] = []
    while source.token.kind in ("string", "number"):
        words.append(source.string() if source.token.kind == "string" else source.integer())
    return tuple(words)


def _call(source: Source) -> tuple[int, int]:
    line = source.integer()
    source.expect(":")
    return line, source.integer()


def _scalar(source: Source, head: _Head) -> None:
    source.expect("slot")
    slot = source.integer()
    source.expect("=")
    head.scalars.append((slot, source.define()))


def _writeback(source: Source, head: _Head) -> None:
    source.expect("slot")
    slot = source.integer()
    head.writebacks.append(WriteBack(slot, source.string()))


def _warning(source: Source, head: _Head) -> None:
    operation = source.string()
    source.expect("line")
    head.warn_sites.append(WarnSite(operation, source.integer()))


def _array(source: Source, _: _Head) -> None:
    name = source.name("a container")
    source.expect(":")
    dtype = source.choose(_DTYPES, "an element type")
    shape = source.sequence(parse_index, "[", "]")
    storage = source.member(Storage, "a storage: argument, transient, ref or alias")
    slot = source.integer() if source.accept("slot") else -1
    base = source.name("a container") if source.accept("of") else ""
    layout = source.member(Layout, "a layout: C, F or S")
    aliases = source.sequence(lambda s: s.name("a container")) if source.accept("may", "alias") else ()
    written = source.accept("written")
    source.containers[name] = Container(name, dtype, shape, storage, layout, slot, base, aliases, written)


_DECLARATIONS: dict[str, Callable[[Source, _Head], None]] = {
    "slot": _slot,
    "function": _function,
    "constant": lambda source, head: head.constants.append(_object(source)),
    "writeback": _writeback,
    "warning": _warning,
    "scalar": _scalar,
    "size": lambda source, _: (source.define(), None)[1],
    "free": lambda source, _: (source.define(), None)[1],
    "array": _array,
}


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
    operation, output, operand = _operands(source)
    source.expect("axes")
    axes = source.sequence(Source.integer)
    initial = parse_expr(source) if source.accept("initial") else None
    return Reduce(
        op=operation, output=output, input=operand, axes=axes, initial=initial, warn=_warn(source), id=source.next_id()
    )


def _scan(source: Source) -> Scan:
    operation, output, operand = _operands(source)
    source.expect("axis")
    axis = source.integer()
    return Scan(op=operation, output=output, input=operand, axis=axis, warn=_warn(source), id=source.next_id())


def _operands(source: Source) -> tuple[str, View, View]:
    operation = source.word("an operation")
    output = parse_view(source)
    source.expect("=")
    return operation, output, parse_view(source)


def _matmul(source: Source) -> MatMul:
    output = parse_view(source)
    source.expect("=")
    lhs = parse_view(source)
    source.expect("@")
    rhs = parse_view(source)
    return MatMul(output=output, lhs=lhs, rhs=rhs, warn=_warn(source), id=source.next_id())


def _map(source: Source) -> Map:
    number = source.next_id()
    params = source.sequence(Source.define)
    source.expect("in")
    ranges = source.sequence(_range, "[", "]")
    schedule = Schedule.SEQUENTIAL
    if not source.peek("warn") and not source.peek("{"):
        schedule = source.member(Schedule, "a schedule, `warn` or `{`")
    warn = _warn(source)
    return Map(params=params, ranges=ranges, body=_block(source), schedule=schedule, warn=warn, id=number)


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
    carries = _carries(source)
    body = _block(source)
    return Loop(var=var, start=start, stop=stop, step=step, carries=carries, body=body, wish=wish, id=number)


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
    frames = () if ended else _separated(source, _frame)
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


def _separated(source: Source, item: Callable[[Source], Any]) -> tuple[Any, ...]:
    """Take one item or more, with commas."""
    items = [item(source)]
    while source.accept(","):
        items.append(item(source))
    return tuple(items)


def _items(source: Source) -> tuple[Expr | View, ...]:
    return () if source.token.kind == "newline" else _separated(source, parse_item)


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
