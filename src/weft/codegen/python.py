"""A graph, at any stage, as Python that runs on NumPy alone.

in:   a `Program`
out:  the text of a function that takes the objects of the slots and returns the result (with write-backs: a pair)

    def scale(A, alpha):
        n, m = A.shape
        for i in range(0, n):
            for j in range(1, m):
                A[i, j] = A[i, j - 1] * alpha

It is for reading and for trying a graph out; the interpreter is what judges. A guard that fails raises `GuardFailed`,
a class of the text itself. Maps run in order.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from weft.codegen.python_expressions import HELPERS, PythonExpressions, dtype_text
from weft.ir.dtypes import PY_INT, DType
from weft.ir.exprs import Const, Expr, Index, Value, operands, values_in
from weft.ir.nodes import (
    Alloc,
    Anew,
    Branch,
    Break,
    Bundle,
    Choice,
    Constant,
    Container,
    Continue,
    Elements,
    Elementwise,
    Guard,
    Layout,
    Listed,
    Loop,
    Map,
    MatMul,
    Missing,
    Node,
    NumpyCall,
    Pack,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Site,
    SiteFrame,
    SlotObject,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.text import opaque_text, print_object
from weft.support.abi import ArgKind

_IDENTITIES = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}
_AUGMENTED = {"add": "+=", "multiply": "*="}
_MADE = "made["  # objects that stand in several places of what leaves, by number


def emit_python(program: Program) -> str:
    """The program as Python text."""
    return _Emitter(program).text()


class _Emitter(PythonExpressions):
    """Nodes as statements."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.lines: list[str] = []
        self.depth = 1
        self.sites: dict[int, str] = {}
        self.loops: list[tuple[Value | str, ...]] = []
        self.results: list[tuple[Value | str, ...]] = []

    def leaves_outer(self, region: Region, depth: int = 0) -> bool:
        """Whether something inside a loop body leaves more than that loop."""
        for node in region.nodes:
            match node:
                case Break():
                    if node.depth > depth:
                        return True
                case Branch(then=then, orelse=orelse):
                    if self.leaves_outer(then, depth) or self.leaves_outer(orelse, depth):
                        return True
                case Loop(body=body) | While(body=body):
                    if self.leaves_outer(body, depth + 1):
                        return True
                case _:
                    pass
        return False

    def text(self) -> str:
        program = self.program
        name = self.claim("program", program.name.rpartition(".")[2])
        params = [self._parameter(slot) for slot in range(len(program.slots))]
        for slot, value in program.scalars:
            self._scalar(params[slot], value)
        for container in program.containers.values():
            if container.storage is Storage.ARGUMENT:
                self.extents(container)
        self.region(program.body, "program")
        helpers = "\n".join(text for helper, text in HELPERS.items() if helper in self.helpers)
        head = f'"""The graph of {program.name}, as NumPy."""\n\nimport numpy as np\n{helpers}\n\n'
        return f'{head}@np.errstate(all="ignore")\ndef {name}({", ".join(params)}):\n' + "\n".join(self.lines) + "\n"

    def _parameter(self, slot: int) -> str:
        arrays = (c.name for c in self.program.containers.values() if c.storage is Storage.ARGUMENT and c.slot == slot)
        scalars = (value.name for number, value in self.program.scalars if number == slot)
        wanted = self.program.slots[slot].name or next(arrays, "") or next(scalars, "") or f"slot_{slot}"
        name = self.claim(f"slot {slot}", wanted)
        for container in self.program.containers.values():
            if container.storage is Storage.ARGUMENT and container.slot == slot:
                self.names[container.name] = name
        return name

    def _scalar(self, param: str, value: Value) -> None:
        if value.type == PY_INT or self.program.args[self._slot_of(value)].kind is ArgKind.NP_SCALAR:
            self.names[value.id] = param
        else:
            self.line(f"{self.value(value)} = {dtype_text(value.type.dtype)}({param})")

    def _slot_of(self, value: Value) -> int:
        return next(slot for slot, scalar in self.program.scalars if scalar == value)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def indented(self) -> Generator[None]:
        before = len(self.lines)
        self.depth += 1
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1

    def extents(self, container: Container) -> None:
        names = [self.value(e.terms[0][0][0]) if _is_value(e) else "_" for e in container.shape]
        if any(name != "_" for name in names):
            self.line(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {self.container(container.name)}.shape")

    def assign(self, targets: Sequence[Value | str], items: Sequence[Expr | View]) -> None:
        """Bind carries or results, all at once."""
        if not targets:
            return
        names = [self.container(t) if isinstance(t, str) else self.value(t) for t in targets]
        texts = [self.view(item) if isinstance(item, View) else self.expr(item) for item in items]
        self.line(f"{', '.join(names)} = {', '.join(texts)}")
        for target in targets:
            if isinstance(target, str):
                self.extents(self.program.containers[target])

    def region(self, region: Region, kind: str) -> None:
        for position, node in enumerate(region.nodes):
            self.node(node, last=kind == "loop" and position == len(region.nodes) - 1)

    def node(self, node: Node, *, last: bool) -> None:
        match node:
            case Alloc() | Elementwise() | Reduce() | Scan() | MatMul() | Tasklet():
                _emit_dataflow(self, node)
            case NumpyCall():
                _emit_call(self, node)
            case Map() | Loop() | While() | Branch():
                _emit_structured(self, node)
            case _:
                _emit_leaving(self, node, last=last)

    def bundle(self, bundle: Bundle) -> str:
        match bundle:
            case Constant(index=index):
                constant = self.program.constants[index]
                text = print_object(constant)
                return repr(opaque_text(constant)) if text.startswith("object ") else text
            case SlotObject(slot=slot):
                return self.names[f"slot {slot}"]
            case Missing():
                return self.helper("MISSING")
            case Pack():
                return _once(bundle.share, self._pack(bundle))
            case Listed(view=view, type=type_, share=share):
                text = self.view(view)
                return _once(share, f"{text}.tolist()" if type_.python else f"list({text})")
            case Choice(tag=tag, items=items):
                lazy = ", ".join(f"lambda: {self.bundle(item)}" for item in items)
                return f"[{lazy}][int({self.expr(tag)})]()"
            case Anew(view=view):
                return self.view(view, target=True)
            case View():
                fresh = self.program.containers[bundle.container].storage is Storage.TRANSIENT
                return self.view(bundle, target=not fresh)
            case _:
                return self._scalar_result(bundle)

    def _pack(self, pack: Pack) -> str:
        items = [self.bundle(item) for item in pack.items]
        if pack.is_dict:
            return f"{{{', '.join(f'{k}: {v}' for k, v in zip(items[::2], items[1::2], strict=True))}}}"
        text = ", ".join(items)
        cls: Any = self.program.constants[pack.cls] if pack.cls >= 0 else None
        if cls is slice:
            return f"slice({text})"
        if getattr(cls, "__module__", "").partition(".")[0] == "numpy":
            return f"{cls.__module__.replace('numpy', 'np', 1)}.{cls.__qualname__}({text})"
        # a class of the user's has no text: its fields as a tuple
        return f"[{text}]" if pack.is_list else f"({text}{',' if len(items) == 1 else ''})"

    def _scalar_result(self, expr: Expr) -> str:
        text = self.expr(expr)
        if not expr.type.python:
            return f"{dtype_text(expr.type.dtype)}({text})"
        return text if expr.type == PY_INT else f"{expr.type.text.removeprefix('py_')}({text})"

    def frame(self, frame: SiteFrame) -> str:
        live = zip(frame.names, frame.values, strict=True)
        return f"{{{', '.join(f'{n!r}: {self.bundle(v)}' for n, v in live if not isinstance(v, Missing))}}}"


# ---- statements -----------------------------------------------------------------------------------------------------


def _emit_dataflow(out: _Emitter, node: Alloc | Elementwise | Reduce | Scan | MatMul | Tasklet) -> None:
    match node:
        case Alloc(container=name):
            container = out.program.containers[name]
            order = ', order="F"' if container.layout is Layout.F else ""
            shape = out.indices(container.shape)
            out.line(f"{out.container(name)} = np.empty({shape}, {dtype_text(container.dtype)}{order})")
        case Elementwise():
            _emit_elementwise(out, node)
        case Reduce():
            _emit_reduce(out, node)
        case Scan():
            dtype = out.program.containers[node.output.container].dtype
            text = f"np.{node.op}.accumulate({out.view(node.input)}, axis={node.axis}, dtype={dtype_text(dtype)})"
            out.line(f"{out.view(node.output, target=True)} = {text}")
        case MatMul():
            product = f"{out.view(node.lhs)} @ {out.view(node.rhs)}"
            scaled = product if node.scale is None else f"{out.expr(node.scale)} * ({product})"
            out.line(f"{out.view(node.output, target=True)} {'+' if node.adds else ''}= {scaled}")
        case Tasklet():
            _emit_tasklet(out, node)


def _emit_elementwise(out: _Emitter, node: Elementwise) -> None:
    if values_in(node.expr) & set(node.params):
        _emit_grid(out, node.params, node.output.shape)
    uses = _count_uses(node.expr)
    for value, view in node.inputs:
        text = out.view(view, broadcast=True)
        if uses.get(value.id) == 1:
            out.inline[value.id] = text
        elif value.id in uses:
            out.line(f"{out.value(value)} = {text}")
    out.vector = True
    text = out.expr(node.expr, bare=True)
    out.vector = False
    out.line(f"{out.view(node.output, target=True)} = {text}")


def _emit_grid(out: _Emitter, params: Sequence[Value], shape: Sequence[Index]) -> None:
    """The coordinates of all points, as arrays that NumPy broadcasts."""
    comma = "," if len(params) == 1 else ""
    ranges = ", ".join(f"0:{out.index(extent)}" for extent in shape)
    out.line(f"{', '.join(out.value(param) for param in params)}{comma} = np.ogrid[{ranges}{comma}]")


def _count_uses(expr: Expr) -> dict[int, int]:
    """How often each value stands in the text of an expression."""
    counts: dict[int, int] = {}
    stack = [expr]
    while stack:
        top = stack.pop()
        if isinstance(top, Value):
            counts[top.id] = counts.get(top.id, 0) + 1
        stack += operands(top)
    return counts


def _emit_reduce(out: _Emitter, node: Reduce) -> None:
    dtype = out.program.containers[node.output.container].dtype
    target, source = out.view(node.output, target=True), _reduced(out, node.input)
    keepdims = ", keepdims=True" if node.axes and node.output.rank == node.input.rank else ""
    if node.op in ("argmin", "argmax"):
        text = f"np.{node.op}({source}, axis={node.axes[0] if len(node.axes) == 1 else None}{keepdims})"
    else:
        if _element_type(out.program, node.input) is not dtype:
            source = f"{source}.astype({dtype_text(dtype)})"
        small = dtype.kind in "iu" and dtype.itemsize < 8 and node.op in ("add", "multiply")  # NumPy would widen them
        own = f", dtype={dtype_text(dtype)}" if small else ""
        text = f"np.{node.op}.reduce({source}, axis={node.axes}{keepdims}{own})"
    implied = isinstance(node.initial, Const) and node.initial.value == _IDENTITIES.get(node.op)
    if node.initial is None or implied:
        out.line(f"{target} = {text}")
        return
    out.line(f"if 0 in {out.indices([node.input.shape[axis] for axis in node.axes])}:")
    with out.indented():
        out.line(f"{target} = {out.expr(node.initial)}")
    out.line("else:")
    with out.indented():
        out.line(f"{target} = {text}")


def _element_type(program: Program, source: View | Elements) -> DType:
    return program.containers[source.container].dtype if isinstance(source, View) else source.expr.type.dtype


def _reduced(out: _Emitter, source: View | Elements) -> str:
    """The array that is reduced; elements that are not stored are here, which keeps the text short."""
    if isinstance(source, View):
        return out.view(source)
    if source.params:
        _emit_grid(out, source.params, source.shape)
    out.vector = True
    for tasklet in source.body:
        for value, memlet in tasklet.reads:
            out.line(f"{out.value(value)} = {out.memlet(memlet)}")
        for let in tasklet.lets:
            out.line(f"{out.value(let.value)} = {out.expr(let.expr)}")
    text = f"np.broadcast_to({out.expr(source.expr)}, {out.indices(source.shape)})"
    out.vector = False
    return text


def _emit_tasklet(out: _Emitter, node: Tasklet) -> None:
    for value, memlet in node.reads:
        text = out.memlet(memlet)
        out.line(f"{out.value(value)} = {f'int({text})' if value.type == PY_INT else text}")
    for let in node.lets:
        out.line(f"{out.value(let.value)} = {out.expr(let.expr)}")
    for memlet, expr in node.writes:
        place = out.memlet(memlet)
        if memlet.conflict in _AUGMENTED:
            out.line(f"{place} {_AUGMENTED[memlet.conflict]} {out.expr(expr, bare=True)}")
        elif memlet.conflict:
            out.line(f"{place} = np.{memlet.conflict}({place}, {out.expr(expr)})")
        else:
            out.line(f"{place} = {out.expr(expr, bare=True)}")


def _emit_tried(out: _Emitter, node: NumpyCall) -> None:
    function, _ = node.function.replace("numpy.", "np.", 1), out.helper("flatten")
    views = [view for view in node.given if isinstance(view, View)]
    stacks = [f"({''.join(f'{out.view(view)}, ' for view in group)})" for group in (views, node.changes)]
    options = [out.bundle(bundle) for bundle in node.args if not isinstance(bundle, View)]
    options += [f"{name}={out.bundle(bundle)}" for name, bundle in node.keywords]
    (done,) = (result.target for result in node.results)
    assert isinstance(done, Value)
    out.line(f"{out.value(done)} = {out.helper('each_part')}({', '.join((function, *stacks, *options))})")


def _emit_call(out: _Emitter, node: NumpyCall) -> None:
    if node.tried:
        _emit_tried(out, node)
        return
    given = [out.bundle(bundle) for bundle in node.args]
    given += [f"{name}={out.bundle(bundle)}" for name, bundle in node.keywords]
    text = f"{node.function.replace('numpy.', 'np.', 1)}({', '.join(given)})"
    targets = [result.target for result in node.results]
    names = [out.container(target) if isinstance(target, str) else out.value(target) for target in targets]
    comma = "," if len(names) == 1 else ""
    out.line(f"{', '.join(names)}{comma} = {out.helper('flatten')}({text})" if names else text)
    for result, name in zip(node.results, names, strict=True):
        if isinstance(result.target, str):
            if result.order:
                out.line(f"{name} = {name}.transpose({result.order})")
            out.extents(out.program.containers[result.target])


def _emit_structured(out: _Emitter, node: Map | Loop | While | Branch) -> None:
    match node:
        case Map():
            depth = out.depth
            for param, (start, stop) in zip(node.params, node.ranges, strict=True):
                out.line(f"for {out.value(param)} in range({out.index(start)}, {out.index(stop)}):")
                out.depth += 1
            out.depth -= bool(node.params)
            if node.params:
                with out.indented():
                    out.region(node.body, "map")
            else:
                out.region(node.body, "map")
            out.depth = depth
        case Loop() | While():
            _emit_loop(out, node)
        case Branch():
            out.results.append(node.results)
            out.line(f"if {out.expr(node.condition)}:")
            with out.indented():
                out.region(node.then, "arm")
            if node.orelse != Region((Yield(),)):
                out.line("else:")
                with out.indented():
                    out.region(node.orelse, "arm")
            out.results.pop()


def _emit_loop(out: _Emitter, node: Loop | While) -> None:
    targets = tuple(carry.target for carry in node.carries)
    out.assign(targets, [carry.init for carry in node.carries])
    several = bool(out.loops) and out.leaves_outer(node.body)
    if several:
        out.line("loops_to_leave = 0")
    if isinstance(node, Loop):
        step = "" if node.step.constant == 1 else f", {out.index(node.step)}"
        out.line(f"for {out.value(node.var)} in range({out.index(node.start)}, {out.index(node.stop)}{step}):")
    else:
        out.line("while True:")
    out.loops.append(targets)
    with out.indented():
        out.region(node.body, "loop")
    out.loops.pop()
    if several:
        out.line("if loops_to_leave:")
        with out.indented():
            out.line("loops_to_leave -= 1")
            out.line("break")


def _emit_leaving(out: _Emitter, node: Yield | Continue | Break | Return | Site | Guard, *, last: bool) -> None:
    match node:
        case Yield(values=values):
            out.assign(out.results[-1], values)
        case Continue(values=values):
            out.assign(out.loops[-1], values)
            if not last:
                out.line("continue")
        case Break(values=values, depth=depth):
            out.assign(out.loops[-1 - depth], values)
            if depth:
                out.line(f"loops_to_leave = {depth}")
            out.line("break")
        case Return(value=value, writebacks=writebacks):
            text = out.bundle(value)
            text = f"{text}, {out.bundle(Pack(writebacks))}" if out.program.writebacks else text
            _emit_making(out, text)
            out.line(f"return {text}")
        case Site():
            frames = ", ".join(out.frame(frame) for frame in node.frames)
            out.sites[node.number] = f"[{frames}], {out.bundle(Pack(node.writebacks))}"
        case Guard(condition=condition, site=site, reason=reason):
            out.line(f"if not ({out.expr(condition)}):")
            with out.indented():
                _emit_making(out, out.sites[site])
                out.line(f"raise {out.helper('GuardFailed')}({site}, {reason!r}, {out.sites[site]})")


def _emit_making(out: _Emitter, text: str) -> None:
    if _MADE in text:
        out.line("made = {}")


def _once(share: int, text: str) -> str:
    """An object that stands in several places: made where it is first met."""
    return f"({_MADE}{share}] if {share} in made else made.setdefault({share}, {text}))" if share else text


def _is_value(extent: Index) -> bool:
    return len(extent.terms) == 1 and extent.terms[0][1] == 1 and len(extent.terms[0][0]) == 1
