"""What is drawn of a program: frames for scopes, and in them the runs of operations.

in:   a program
out:  one `Box` with everything inside

A region is a column. Operations between two control nodes are one state, drawn as a flow; a state that is very long is
drawn in parts. Guards are notes on the operation that follows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.driver.drawing.flows import FlowBuilder, Operation, container_box, containers_kept
from weft.driver.drawing.scene import Box, Column, Row, Style
from weft.driver.drawing.texts import clip_lines, wrap_code
from weft.driver.drawing.words import (
    frame_words,
    leave_words,
    map_words,
    operation_words,
    source_words,
)
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Continue,
    Elementwise,
    Guard,
    Loop,
    Map,
    MatMul,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Site,
    Tasklet,
    While,
    Yield,
)
from weft.ir.printer import print_expr, print_node, print_value
from weft.support.errors import InternalError

_STATE_OPERATIONS = 12  # after so many the next statement begins a state of its own
_STATE_LIMIT = 24  # and after so many whatever comes
_REGION_NODES = 400
_OPERATIONS = (Alloc, Elementwise, Reduce, Scan, MatMul, NumpyCall, Tasklet, Map)


def program_box(program: Program) -> Box:
    """The program as one frame."""
    drawer = _Drawer(program)
    column = drawer.region(program.body)
    hidden = [name for name in program.containers if name not in drawer.shown]
    if hidden:
        row = Row(tuple(container_box(program.containers[name]) for name in hidden))
        unseen = Box(Style.STATE, (), "containers no operation reads or writes by name", row)
        column = Column((unseen, *column.boxes))
    scalars = [f"{print_value(value)}: {value.type.text}" for _, value in program.scalars]
    lines = [f"program {program.name}", *([f"scalars {', '.join(scalars)}"] if scalars else [])]
    return Box(Style.PROGRAM, clip_lines(lines, 80, 2), "\n".join(lines), column)


class _Drawer:
    """Draws the regions of one program and notes which containers have been seen."""

    def __init__(self, program: Program) -> None:
        self.program, self.containers = program, program.containers
        self.shown: set[str] = set()

    def region(self, region: Region) -> Column:
        """A region as a column of states, frames and ways out."""
        boxes: list[Box] = []
        for part in _parts(region.nodes[:_REGION_NODES]):
            if isinstance(part, list):
                boxes += self.state(part)
            else:
                boxes.append(self.control(part))
        return Column((*boxes, *_left_out(region)))

    # -- states

    def state(self, nodes: Sequence[Node]) -> list[Box]:
        """A run of operations and guards; guards with nothing below them are a note of their own."""
        builder = FlowBuilder(self.containers)
        rest = self.fill(builder, nodes)
        boxes = [Box(Style.STATE, (), "", builder.finish())] if builder.boxes else []
        self.shown |= builder.shown
        return [*boxes, *([_note(rest)] if rest else [])]

    def fill(self, builder: FlowBuilder, nodes: Sequence[Node]) -> list[Guard]:
        """Add the nodes to a flow; the guards after the last operation are left over."""
        guards: list[Guard] = []
        for node in nodes:
            match node:
                case Guard():
                    guards.append(node)
                case Alloc():
                    builder.add_alloc(node)
                case Elementwise() | Reduce() | Scan() | MatMul() | NumpyCall() | Tasklet() | Map():
                    number = builder.add(node, self.operation(node))
                    if guards:
                        builder.add_note(_note(guards), number)
                    guards = []
                case _:
                    pass  # sites
        return guards

    def operation(self, node: Operation) -> Box:
        if isinstance(node, Map):
            return self.map(node)
        style = Style.TASKLET if isinstance(node, Tasklet) else Style.OPERATION
        title = print_node(node, self.containers) + source_words(node.span)
        return Box(style, operation_words(node), title)

    def map(self, node: Map) -> Box:
        """A map of operations has an entry and an exit to which its memlets run; one of anything else is a frame."""
        words = map_words(node)
        title = "\n".join(words) + source_words(node.span)
        body = node.body.nodes
        if len(body) > _STATE_LIMIT or not all(isinstance(below, (*_OPERATIONS, Site, Guard)) for below in body):
            return Box(Style.MAP, words, title, self.region(node.body))
        kept = containers_kept(body, self.containers)
        builder = FlowBuilder(self.containers, Box(Style.ENTRY, words, title), kept)
        rest = self.fill(builder, body)
        self.shown |= builder.shown
        flow = builder.finish(Box(Style.EXIT, (), f"end of {title}"))
        inside = Column((Box(Style.STATE, (), "", flow), _note(rest))) if rest else flow
        return Box(Style.MAP, (), title, inside)

    # -- control

    def control(self, node: Node) -> Box:
        match node:
            case Loop() | While():
                words = frame_words(node, self.containers)
                return Box(Style.LOOP, words, self.head(node), self.region(node.body))
            case Branch():
                arms = Row((self.arm("then", node.then), self.arm("else", node.orelse)))
                return Box(Style.BRANCH, frame_words(node, self.containers), self.head(node), arms)
            case Return() | Yield() | Continue() | Break():
                title = print_node(node, self.containers)
                title += source_words(node.span) if isinstance(node, Return) else ""
                return Box(Style.LEAVE, leave_words(node, self.program), title)
            case _:
                raise InternalError(f"{type(node).__name__} is no control node")

    def arm(self, word: str, region: Region) -> Box:
        return Box(Style.ARM, (word,), word, self.region(region))

    def head(self, node: Loop | While | Branch) -> str:
        """The first line of the text form, and the source."""
        return print_node(node, self.containers).partition("\n")[0].removesuffix(" {") + source_words(node.span)


def _parts(nodes: Sequence[Node]) -> Iterator[list[Node] | Node]:
    """Runs of operations and guards, and what stands between them."""
    run: list[Node] = []
    count = 0
    for node in nodes:
        if not isinstance(node, (*_OPERATIONS, Site, Guard)):
            if run:
                yield run
            run, count = [], 0
            yield node
            continue
        if count >= _STATE_LIMIT or (count >= _STATE_OPERATIONS and isinstance(node, Site)):
            yield run
            run, count = [], 0
        run.append(node)
        count += isinstance(node, _OPERATIONS)
    if run:
        yield run


def _left_out(region: Region) -> list[Box]:
    left = len(region.nodes) - _REGION_NODES
    return [Box(Style.NOTE, (f"… {left} more nodes",), "not drawn")] if left > 0 else []


def _note(guards: Sequence[Guard]) -> Box:
    reasons = list(dict.fromkeys(guard.reason for guard in guards))
    words = wrap_code([f"guard: {reason}" for reason in reasons], 44, 5)
    title = "\n".join(f"guard {print_expr(guard.condition)} else site {guard.site}: {guard.reason}" for guard in guards)
    return Box(Style.NOTE, words, title)
