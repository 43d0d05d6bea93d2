"""The text form of a graph: everything that compares, in a form made for reading, and read back by `parser.py`.

in:   a `Program` (or a node, a region, an expression)
out:  text, the same for equal programs whatever the hash seed

    map (%i.7: py_int, %j.8: py_int) in [0:%n.1, 1:%m.2] parallel {
      %a.9: f8 = A[%i.7, %j.8 - 1]
      write B[%i.7, %j.8] = multiply(%a.9, 0.2:f8)
    }

A value is written with its type and bounds where it is defined and as `%name.id` elsewhere. The grammar is in
`docs/ir.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import assert_never

from weft.ir.dtypes import ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value
from weft.ir.nodes import (
    Alloc,
    Anew,
    Axis,
    Branch,
    Break,
    Bundle,
    CallResult,
    Carry,
    Choice,
    Constant,
    Container,
    Continue,
    Elements,
    Elementwise,
    Guard,
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
    Schedule,
    Site,
    SiteFrame,
    SlotObject,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.schedules import Team
from weft.ir.text import VERSION, implied_type, print_name, print_object, quote
from weft.support.abi import ArgSpec, FunctionRef, Slot, SlotKind, WarnSite


def print_program(program: Program) -> str:
    """The whole program, with its version line."""
    printer = _Printer(program.containers)
    body = printer.region(program.body, "  ")
    scalars = [f"scalar slot {slot} = {printer.define(value)}" for slot, value in program.scalars]
    arrays = [printer.container(container) for container in program.containers.values()]
    head = [
        f"weft-ir {VERSION}",
        f"program {print_name(program.name)}",
        *_slots(program.slots, program.args),
        *_functions(program.functions),
        *(f"constant {print_object(constant)}" for constant in program.constants),
        *(f"writeback slot {entry.slot} {quote(entry.name)}" for entry in program.writebacks),
        *(_warning(entry) for entry in program.warn_sites),
    ]
    return "\n".join([*head, *scalars, *_undefined(program, printer), *arrays, "{", *body, "}", ""])


def print_region(region: Region, containers: Mapping[str, Container] | None = None) -> str:
    """The nodes of a region; with `containers`, a view of a whole axis is written `:`."""
    return "\n".join(_Printer(containers or {}).region(region, ""))


def print_node(node: Node, containers: Mapping[str, Container] | None = None) -> str:
    """One node with all that is in it."""
    return "\n".join(_Printer(containers or {}).node(node, ""))


def print_expr(expr: Expr) -> str:
    """An expression."""
    return _Printer({}).expr(expr)


def print_bundle(bundle: Bundle) -> str:
    """What leaves a program, or the value of a live name."""
    return _Printer({}).bundle(bundle)


def print_index(index: Index) -> str:
    """An index polynomial where one is expected: `%i.7 - 1`."""
    return _Printer({}).index(index)


def print_view(view: View, containers: Mapping[str, Container] | None = None) -> str:
    """A view; with `containers`, a whole axis is written `:`."""
    return _Printer(containers or {}).view(view)


def print_memlet(memlet: Memlet) -> str:
    """A memlet with its `resolve`."""
    return _Printer({}).memlet(memlet)


def print_container(container: Container) -> str:
    """The line that declares a container."""
    return _Printer({}).container(container)


# ---- what comes in --------------------------------------------------------------------------------------------------


def _slots(slots: tuple[Slot, ...], args: tuple[ArgSpec, ...]) -> Iterable[str]:
    for slot, arg in zip_longest(slots, args):
        source = _slot(slot) if slot else "slot none"
        yield f"{source}: {_arg(arg)}" if arg else source


def _slot(slot: Slot) -> str:
    words = ["slot", slot.kind.name.lower()]
    if slot.index or slot.kind != SlotKind.GLOBAL:
        words.append(str(slot.index))
    if slot.name:
        words.append(quote(slot.name))
    if slot.parent != -1:
        words.append(f"of {slot.parent}")
    return " ".join(words)


def _arg(arg: ArgSpec) -> str:
    words = [arg.kind.name.lower()]
    words += [print_name(arg.dtype)] if arg.dtype else []
    words += [f"rank {arg.ndim}"] if arg.ndim else []
    words += [f"layout {print_name(arg.layout)}"] if arg.layout != "S" else []
    words += [f"order {arg.order}"] if arg.order else []
    words += [f"repeated {arg.repeated}"] if arg.repeated else []
    words += [f"ones {arg.ones}"] if arg.ones else []
    words += ["written"] if arg.written else []
    words += [f"same as {arg.same_as}"] if arg.same_as != -1 else []
    words += [f"length {arg.length}"] if arg.length else []
    words += [f"value {print_object(arg.value)}"] if arg.value is not None else []
    return " ".join(words)


def _functions(functions: tuple[FunctionRef, ...]) -> Iterable[str]:
    if not functions:
        yield "function none"
    if functions == (FunctionRef(-1),):
        return
    for function in functions:
        words = [f"function of {function.parent}"]
        if function.steps:
            steps = (" ".join(quote(s) if isinstance(s, str) else str(s) for s in step) for step in function.steps)
            words.append("via " + ", ".join(steps))
        if function.calls:
            words.append("calls " + ", ".join(f"{line}:{column}" for line, column in function.calls))
        yield " ".join(words)


def _undefined(program: Program, printer: _Printer) -> Iterable[str]:
    """Values that no node defines: extents of arguments and refs; anything else is `free`, which no verifier allows."""
    extents = {
        value
        for container in program.containers.values()
        if container.storage in (Storage.ARGUMENT, Storage.REF)
        for extent in container.shape
        for value in extent.values
    }
    # Bounds may name values in turn, so the list grows while it is written.
    lines: dict[Value, str] = {}
    while left := [value for value in printer.used if value not in printer.defined]:
        for value in sorted(left, key=lambda value: value.id):
            lines[value] = f"{'size' if value in extents else 'free'} {printer.define(value)}"
    return [lines[value] for value in sorted(lines, key=lambda value: value.id)]


# ---- everything else ------------------------------------------------------------------------------------------------


def _warning(entry: WarnSite) -> str:
    modes = f" modes {quote(entry.modes)}" if entry.modes else ""
    return f"warning {quote(entry.operation)} line {entry.line}{modes}"


class _ExprPrinter:
    """Prints what stands in nodes, and keeps track of which values were used and which were defined."""

    def __init__(self, containers: Mapping[str, Container]) -> None:
        self.containers = containers
        self.used: dict[Value, None] = {}
        self.defined: set[Value] = set()

    # -- values and expressions

    def use(self, value: Value) -> str:
        self.used[value] = None
        return print_value(value)

    def define(self, value: Value) -> str:
        self.defined.add(value)
        text = f"{print_value(value)}: {value.type.text}"
        if value.low is not None or value.high is not None:
            low, high = ("_" if bound is None else str(bound) for bound in (value.low, value.high))
            text += f" in [{low}, {high}]"
        if value.floor is not None:
            text += f" from {self.index(value.floor)}"
        if value.ceiling is not None:
            text += f" to {self.index(value.ceiling)}"
        return text

    def expr(self, expr: Expr) -> str:
        match expr:
            case Value():
                return self.use(expr)
            case Const(value=value, type=type_):
                return _literal(value, type_)
            case Index(terms=(((_,), 1),)):
                return f"1*{self.index(expr)}"  # a bare `%i.7` is the value itself
            case Index():
                return self.index(expr)
            case Op(name=name, args=args, type=type_):
                text = f"{name}({', '.join(self.expr(arg) for arg in args)})"
                return text if type_ == implied_type(name, args) else f"{text}: {type_.text}"

    def index(self, index: Index) -> str:
        """`2*%i.7*%n.1 - 3`: highest degree first."""
        terms = sorted(index.terms, key=lambda term: (-len(term[0]), [value.id for value in term[0]]))
        text = ""
        for monomial, coefficient in terms:
            factors = [self.use(value) for value in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            text = _add_term(text, "*".join(factors), negative=coefficient < 0)
        return text or "0"

    def indices(self, indices: Iterable[Index]) -> str:
        return ", ".join(self.index(index) for index in indices)

    # -- containers, views, memlets

    def container(self, container: Container) -> str:
        words = [f"array {print_name(container.name)}: {container.dtype.text}[{self.indices(container.shape)}]"]
        words.append(container.storage.value)
        words += [f"slot {container.slot}"] if container.slot != -1 else []
        words += [f"of {print_name(container.base)}"] if container.base else []
        words.append(container.layout.value)
        if container.may_alias:
            words.append(f"may alias ({', '.join(map(print_name, container.may_alias))})")
        words += ["written"] if container.written else []
        return " ".join(words)

    def view(self, view: View) -> str:
        sliced = self._slices(view)
        if sliced is not None:
            return f"{print_name(view.container)}[{', '.join(sliced)}]"
        axes = ", ".join(self._axis(axis) for axis in view.axes)
        return f"{print_name(view.container)}[{axes}] over [{self.indices(view.shape)}]"

    def _slices(self, view: View) -> list[str] | None:
        """Slice notation, where the axes of the view are those of the container in order, with step 1."""
        container = self.containers.get(view.container)
        known = container.shape if container and container.rank == len(view.axes) else (None,) * len(view.axes)
        texts: list[str] = []
        position = 0
        for axis, extent in zip(view.axes, known, strict=True):
            if not axis.terms:
                texts.append(self.index(axis.offset))
                continue
            (number, step), *more = axis.terms
            if more or number != position or step.constant != 1 or position >= view.rank:
                return None
            length = view.shape[position]
            whole = axis.offset.constant == 0 and length is extent
            texts.append(":" if whole else f"{self.index(axis.offset)}:{self.index(axis.offset + length)}")
            position += 1
        return texts if position == view.rank else None

    def _axis(self, axis: Axis) -> str:
        text = "" if axis.terms and axis.offset.constant == 0 else self.index(axis.offset)
        for number, step in axis.terms:
            if len(step.terms) == 1:
                ((_, coefficient),) = step.terms
                factor = self.index(step if coefficient > 0 else -step)
                product = f"${number}" if factor == "1" else f"{factor}*${number}"
                text = _add_term(text, product, negative=coefficient < 0)
            else:
                text = _add_term(text, f"({self.index(step)})*${number}", negative=False)
        return text

    def memlet(self, memlet: Memlet) -> str:
        text = f"{print_name(memlet.container)}[{self.indices(memlet.index)}]"
        return f"{text} resolve {memlet.conflict}" if memlet.conflict else text

    def item(self, item: Expr | View) -> str:
        return self.view(item) if isinstance(item, View) else self.expr(item)

    def bundle(self, bundle: Bundle) -> str:
        match bundle:
            case Constant(index=index):
                return f"constant {index}"
            case SlotObject(slot=slot):
                return f"slot {slot}"
            case Pack(items=items, share=share, cls=cls):
                plain = "dict" if bundle.is_dict else "list" if bundle.is_list else "tuple"
                kind = f"call {cls}" if cls >= 0 else plain
                return f"{kind}{f' as {share} ' if share else ''}({self.bundles(items)})"
            case Listed(view=view, type=type_, share=share):
                return f"listed{f' as {share}' if share else ''} {type_.text} {self.view(view)}"
            case Anew(view=view):
                return f"anew {self.view(view)}"
            case Choice(tag=tag, items=items):
                return f"choice {self.expr(tag)} ({self.bundles(items)})"
            case Missing():
                return "missing"
            case _:
                return self.item(bundle)

    def bundles(self, bundles: Iterable[Bundle]) -> str:
        return ", ".join(self.bundle(bundle) for bundle in bundles)


class _Printer(_ExprPrinter):
    """Prints nodes as lists of lines, to be put behind `pad`."""

    def region(self, region: Region, pad: str) -> list[str]:
        return [line for node in region.nodes for line in self.node(node, pad)]

    def node(self, node: Node, pad: str) -> list[str]:
        match node:
            case Tasklet():
                return self._tasklet(node, pad)
            case Elementwise():
                return self._elementwise(node, pad)
            case Map() | Loop() | While() | Branch():
                return self._structured(node, pad)
            case Reduce():
                return self._reduce(node, pad)
            case Alloc() | Scan() | MatMul():
                return [pad + self._simple(node)]
            case _:
                return [pad + (self._call(node) if isinstance(node, NumpyCall) else self._control(node))]

    def _simple(self, node: Alloc | Scan | MatMul) -> str:
        match node:
            case Alloc(container=container, site=site):
                return f"alloc {print_name(container)}" + (f" site {site}" if site != -1 else "")
            case Scan():
                text = f"scan {node.op} {self.view(node.output)} = {self.view(node.input)} axis {node.axis}"
                return text + _warn(node.warn)
            case MatMul():
                text = f"matmul{' add' if node.adds else ''} {self.view(node.output)} ="
                text += f" {self.view(node.lhs)} @ {self.view(node.rhs)}"
                text += f" times {self.expr(node.scale)}" if node.scale is not None else ""
                return text + (" sweep" if node.sweep else "") + _warn(node.warn)

    def _call(self, node: NumpyCall) -> str:
        given = [self.bundle(bundle) for bundle in node.args]
        given += [f"{print_name(name)}={self.bundle(bundle)}" for name, bundle in node.keywords]
        text = f"call {print_name(node.function)}({', '.join(given)}) -> ({', '.join(map(self._result, node.results))})"
        sizes = f" sizes ({', '.join(map(self.define, node.sizes))})" if node.sizes else ""
        changes = f" changes ({', '.join(map(self.view, node.changes))})" if node.changes else ""
        return f"{text}{sizes}{changes} {'tried' if node.tried else f'site {node.site}'}"

    def _result(self, result: CallResult) -> str:
        order = f" axes ({', '.join(map(str, result.order))})" if result.order else ""
        return self._target(result.target) + order

    def _reduce(self, node: Reduce, pad: str) -> list[str]:
        head = f"{pad}reduce{' joined' if node.joined else ''} {node.op} {self.view(node.output)} ="
        *lines, last = [self.view(node.input)] if isinstance(node.input, View) else self._elements(node.input, pad)
        tail = f"axes ({', '.join(str(axis) for axis in node.axes)})"
        tail += (f" initial {self.expr(node.initial)}" if node.initial else "") + _schedule(node.schedule)
        first, *rest = [*lines, f"{last} {tail}{_warn(node.warn)}"]
        return [f"{head} {first}", *rest]

    def _elements(self, elements: Elements, pad: str) -> list[str]:
        params = ", ".join(self.define(param) for param in elements.params)
        lines = [f"elements at ({params}) over [{self.indices(elements.shape)}] {{"]
        lines += [line for tasklet in elements.body for line in self._tasklet(tasklet, f"{pad}  ")]
        return [*lines, f"{pad}  yield {self.expr(elements.expr)}", f"{pad}}}"]

    def _tasklet(self, node: Tasklet, pad: str) -> list[str]:
        lines = [f"{self.define(value)} = {self.memlet(memlet)}" for value, memlet in node.reads]
        lines += [f"{self.define(let.value)} = {self.expr(let.expr)}{_warn(let.warn)}" for let in node.lets]
        lines += [f"write {self.memlet(memlet)} = {self.expr(expr)}" for memlet, expr in node.writes]
        if len(lines) == 1:
            return [pad + lines[0]]
        return [f"{pad}tasklet {{", *(f"{pad}  {line}" for line in lines), f"{pad}}}"]

    def _elementwise(self, node: Elementwise, pad: str) -> list[str]:
        params = ", ".join(self.define(param) for param in node.params)
        lines = [f"{pad}elementwise {self.view(node.output)} at ({params}){_warn(node.warn)} {{"]
        lines += [f"{pad}  {self.define(value)} = {self.view(view)}" for value, view in node.inputs]
        return [*lines, f"{pad}  yield {self.expr(node.expr)}", f"{pad}}}"]

    def _structured(self, node: Map | Loop | While | Branch, pad: str) -> list[str]:
        inner = pad + "  "
        match node:
            case Map():
                params, ranges = ", ".join(map(self.define, node.params)), ", ".join(map(self._range, node.ranges))
                head = f"map ({params}) in [{ranges}]{_schedule(node.schedule)}"
                head += f" owner {self.index(node.owner)}" if node.owner is not None else ""
                head += f" abreast {node.abreast}" if node.abreast > 1 else ""
                head += " slides" if node.slides else ""
                return [f"{pad}{head}{_warn(node.warn)} {{", *self.region(node.body, inner), f"{pad}}}"]
            case Loop():
                step = "" if node.step.constant == 1 else f":{self.index(node.step)}"
                head = f"for {self.define(node.var)} in {self._range((node.start, node.stop))}{step}"
                head += f" wish {print_name(node.wish)}" if node.wish else ""
                head += self._team(node.team) + self._carries(node.carries)
                return [f"{pad}{head} {{", *self.region(node.body, inner), f"{pad}}}"]
            case While():
                return [f"{pad}while{self._carries(node.carries)} {{", *self.region(node.body, inner), f"{pad}}}"]
            case Branch():
                results = ", ".join(self._target(result) for result in node.results)
                head = f"{pad}if {self.expr(node.condition)}" + (f" -> ({results})" if results else "")
                then, orelse = self.region(node.then, inner), self.region(node.orelse, inner)
                return [f"{head} {{", *then, f"{pad}}} else {{", *orelse, f"{pad}}}"]

    def _team(self, team: Team | None) -> str:
        return f" team [{self._range(team.rows)}] meets ({', '.join(map(str, team.meets))})" if team else ""

    def _range(self, ends: tuple[Index, Index]) -> str:
        return f"{self.index(ends[0])}:{self.index(ends[1])}"

    def _carries(self, carries: tuple[Carry, ...]) -> str:
        texts = (f"{self._target(carry.target)} = {self.item(carry.init)}" for carry in carries)
        return f" carry ({', '.join(texts)})" if carries else ""

    def _target(self, target: Value | str) -> str:
        return print_name(target) if isinstance(target, str) else self.define(target)

    def _control(self, node: Yield | Continue | Break | Return | Site | Guard) -> str:
        match node:
            case Yield() | Continue() | Break():
                word = type(node).__name__.lower()
                if isinstance(node, Break) and node.depth:
                    word += f" out {node.depth}"
                return f"{word} {', '.join(map(self.item, node.values))}".rstrip()
            case Return(value=value, writebacks=writebacks):
                return f"return {self.bundle(value)}{self._writebacks(writebacks)}"
            case Site(number=number, frames=frames, writebacks=writebacks):
                texts = ", ".join(self._frame(frame) for frame in frames)
                return f"site {number} {texts}".rstrip() + self._writebacks(writebacks)
            case Guard(condition=condition, site=site, reason=reason):
                return f"guard {self.expr(condition)} else site {site} {quote(reason)}"
            case _:
                assert_never(node)

    def _frame(self, frame: SiteFrame) -> str:
        path = ", ".join(str(step) for step in frame.path)
        names = (print_name(name) for name in frame.names)
        values = (self.bundle(value) for value in frame.values)
        live = ", ".join(f"{name}: {value}" for name, value in zip_longest(names, values, fillvalue="?"))
        return f"f{frame.function}@({path}) {{{live}}}"

    def _writebacks(self, writebacks: tuple[Bundle, ...]) -> str:
        return f" writebacks ({self.bundles(writebacks)})" if writebacks else ""


def print_value(value: Value) -> str:
    """`%name.id`, the name quoted where it is no identifier."""
    return f"%{print_name(value.name) if value.name else ''}.{value.id}"


def _add_term(text: str, term: str, *, negative: bool) -> str:
    if not text:
        return f"-{term}" if negative else term
    return f"{text} {'-' if negative else '+'} {term}"


def _schedule(schedule: Schedule) -> str:
    return "" if schedule is Schedule.SEQUENTIAL else f" {schedule.value}"


def _warn(warn: int) -> str:
    return f" warn {warn}" if warn != -1 else ""


def _literal(value: bool | int | float | complex, type_: ScalarType) -> str:
    text = f"({value.real!r}, {value.imag!r})" if isinstance(value, complex) else repr(value)
    return f"{text.lower() if isinstance(value, bool) else text}:{type_.text}"
