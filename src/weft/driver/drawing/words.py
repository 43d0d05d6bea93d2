"""The words in boxes: what an operation does, what a loop runs over, what a container is."""

from __future__ import annotations

from pathlib import PurePath
from typing import assert_never

from weft.driver.drawing.movements import Containers
from weft.driver.drawing.texts import clip, clip_lines, wrap_code
from weft.ir.exprs import Expr, Value
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Carry,
    Constant,
    Container,
    Continue,
    Elements,
    Elementwise,
    Loop,
    Map,
    MatMul,
    NumpyCall,
    Program,
    Reduce,
    Return,
    Scan,
    Schedule,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.printer import print_expr, print_index, print_memlet, print_node, print_value, print_view
from weft.ir.text import print_name, print_object
from weft.support.spans import Span

_WIDTH = 54
_NAME_WIDTH = 36
_CODE_LINES = 16
_HEADER_LINES = 6


def operation_words(node: Alloc | Tasklet | Elementwise | Reduce | Scan | MatMul | NumpyCall) -> tuple[str, ...]:
    """What an operation computes; what it reads and writes stands on its arrows."""
    return wrap_code(_operation(node), _WIDTH, _CODE_LINES)


def _operation(node: Alloc | Tasklet | Elementwise | Reduce | Scan | MatMul | NumpyCall) -> list[str]:
    match node:
        case Tasklet():
            return _tasklet(node)
        case Elementwise():
            params = ", ".join(print_value(param) for param in node.params)
            return [f"elementwise ({params})", print_expr(node.expr)]
        case Reduce():
            return _reduce(node)
        case Scan():
            return [f"scan {node.op} axis {node.axis}"]
        case MatMul():
            words = f"matmul{' add' if node.adds else ''}{' sweep' if node.sweep else ''}"
            return [words if node.scale is None else f"{words} times {print_expr(node.scale)}"]
        case NumpyCall():
            return [f"call {node.function}"]
        case Alloc():
            return [f"alloc {print_name(node.container)}"]
        case _:
            assert_never(node)


def _tasklet(node: Tasklet) -> list[str]:
    lines = [f"{print_value(let.value)} = {print_expr(let.expr)}" for let in node.lets]
    lines += [f"{print_memlet(memlet)} = {print_expr(expr)}" for memlet, expr in node.writes]
    return lines or [f"{print_value(value)}: {value.type.text}" for value, _ in node.reads]


def _reduce(node: Reduce) -> list[str]:
    axes = ", ".join(str(axis) for axis in node.axes)
    lines = [f"reduce {node.op} axes ({axes}){_schedule(node.schedule)}"]
    if isinstance(node.input, Elements):
        params = ", ".join(print_value(param) for param in node.input.params)
        lines.append(f"of elements at ({params})")
        lines += [f"{print_value(let.value)} = {print_expr(let.expr)}" for step in node.input.body for let in step.lets]
        lines.append(print_expr(node.input.expr))
    return lines


def map_words(node: Map) -> tuple[str, ...]:
    """Parameters, schedule and ranges."""
    params = ", ".join(print_value(param) for param in node.params)
    ranges = ", ".join(f"{print_index(start)}:{print_index(stop)}" for start, stop in node.ranges)
    return wrap_code([f"map ({params}){_schedule(node.schedule)}", f"in [{ranges}]"], _WIDTH, _HEADER_LINES)


def _schedule(schedule: Schedule) -> str:
    return "" if schedule is Schedule.SEQUENTIAL else f" {schedule.value}"


def frame_words(node: Loop | While | Branch, containers: Containers) -> tuple[str, ...]:
    """What a loop runs over and carries, what a branch asks and gives."""
    match node:
        case Loop():
            step = "" if node.step.constant == 1 else f":{print_index(node.step)}"
            head = f"for {print_value(node.var)} in {print_index(node.start)}:{print_index(node.stop)}{step}"
            head += f" wish {node.wish}" if node.wish else ""
            return wrap_code([head, *_carries(node.carries, containers)], _WIDTH, _HEADER_LINES)
        case While():
            return wrap_code(["while", *_carries(node.carries, containers)], _WIDTH, _HEADER_LINES)
        case Branch():
            results = ", ".join(_target(result) for result in node.results)
            lines = [f"if {print_expr(node.condition)}", *([f"-> ({results})"] if results else [])]
            return wrap_code(lines, _WIDTH, _HEADER_LINES)


def _carries(carries: tuple[Carry, ...], containers: Containers) -> list[str]:
    return [f"carry {_target(carry.target)} = {item_words(carry.init, containers)}" for carry in carries]


def item_words(item: Expr | View, containers: Containers) -> str:
    """A scalar or a view that is handed on."""
    return print_view(item, containers) if isinstance(item, View) else print_expr(item)


def _target(target: Value | str) -> str:
    return print_name(target) if isinstance(target, str) else print_value(target)


def container_words(container: Container) -> tuple[str, ...]:
    """Name, element type, shape, and where its memory is."""
    extents = ", ".join(print_index(extent) for extent in container.shape)
    place = container.storage.value
    if container.storage is Storage.REF and container.may_alias:
        place += f" to {', '.join(container.may_alias)}"
    if container.storage is Storage.ALIAS:
        place += f" of {container.base}"
    order = "" if container.storage is Storage.REF else f", {container.layout.value} order"
    if container.layout.value == "S":
        order = ", any strides"
    lines = (print_name(container.name), f"{container.dtype.text}[{extents}]", f"{place}{order}")
    return tuple(clip(line, _NAME_WIDTH) for line in lines)


def label_words(lines: list[str]) -> tuple[str, ...]:
    """The text of an arrow."""
    return clip_lines(lines, _WIDTH, 10)


def leave_words(node: Return | Yield | Continue | Break, program: Program) -> tuple[str, ...]:
    """A way out, and what is handed on."""
    text = print_node(node, program.containers)
    if isinstance(node, Return) and isinstance(node.value, Constant):
        text = text.replace(f"constant {node.value.index}", print_object(program.constants[node.value.index]), 1)
    return wrap_code([text], _WIDTH, 4)


def source_words(span: Span | None) -> str:
    """The line of the user's program."""
    return f"\n\n{PurePath(span.file).name}:{span.line}: {span.text.strip()}" if span is not None else ""
