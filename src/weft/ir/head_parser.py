"""Read the head of the text form: what comes in, and the containers.

in:   a `Source` at a declaration
out:  the `Head`, which makes the program once the body is there
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from weft.ir.dtypes import DType
from weft.ir.expr_parser import Source, parse_index
from weft.ir.exprs import Value
from weft.ir.nodes import Container, Layout, Program, Region, Storage
from weft.ir.text import parse_object
from weft.support.abi import ArgKind, ArgSpec, FunctionRef, Slot, SlotKind, WarnSite, WriteBack
from weft.support.records import record

_DTYPES = {dtype.text: dtype for dtype in DType}


@record(frozen=False)
class Head:
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
        """The program."""
        functions = (FunctionRef(-1),) if self.functions is None else tuple(self.functions)
        return Program(
            self.name, tuple(self.slots), tuple(self.args), tuple(self.scalars), containers, body,
            tuple(self.constants), functions, tuple(self.writebacks), tuple(self.warn_sites),
        )  # fmt: skip


def _slot(source: Source, head: Head) -> None:
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
        elif source.token.text in ("ones", "length", "order", "repeated"):
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


def _function(source: Source, head: Head) -> None:
    functions = head.functions = head.functions or []
    if source.accept("none"):
        return
    source.expect("of")
    parent = source.integer()
    steps = source.separated(_step) if source.accept("via") else ()
    calls = source.separated(_call) if source.accept("calls") else ()
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


def _scalar(source: Source, head: Head) -> None:
    source.expect("slot")
    slot = source.integer()
    source.expect("=")
    head.scalars.append((slot, source.define()))


def _writeback(source: Source, head: Head) -> None:
    source.expect("slot")
    slot = source.integer()
    head.writebacks.append(WriteBack(slot, source.string()))


def _warning(source: Source, head: Head) -> None:
    operation = source.string()
    source.expect("line")
    line = source.integer()
    head.warn_sites.append(WarnSite(operation, line, source.string() if source.accept("modes") else ""))


def _array(source: Source, _: Head) -> None:
    name = source.name("a container")
    source.expect(":")
    dtype = source.choose(_DTYPES, "an element type")
    shape = source.sequence(parse_index, "[", "]")
    storage = source.member(Storage, "a storage: argument, transient, stack, ref or alias")
    slot = source.integer() if source.accept("slot") else -1
    base = source.name("a container") if source.accept("of") else ""
    layout = source.member(Layout, "a layout: C, F or S")
    aliases = source.sequence(lambda s: s.name("a container")) if source.accept("may", "alias") else ()
    written = source.accept("written")
    source.containers[name] = Container(name, dtype, shape, storage, layout, slot, base, aliases, written)


DECLARATIONS: dict[str, Callable[[Source, Head], None]] = {
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
