"""What lowering knows while it walks: activations, loops, names, and the place in the source.

An `Activation` is one Python call in progress: the program itself, or a function inlined into it. Its `env` binds local
names to operands; keys that begin with "@" are attributes of objects ("@3.x" is `.x` of slot 3) and travel along.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache

from weft.frontend.continuation import rest_names
from weft.frontend.heap import bundle_object, mentions, resolved, share_only_repeated
from weft.frontend.inputs import Inputs, Namespace
from weft.frontend.joins import Identity, Template, identity_of
from weft.frontend.liveness import Names, StatementPath, names_read
from weft.frontend.settling import Trial
from weft.ir.dtypes import PY_INT, ScalarType
from weft.ir.exprs import Expr, Value, op
from weft.ir.nodes import Anew, Bundle, Choice, Constant, Listed, Missing, Pack, Site, SiteFrame, SlotObject, Storage
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Either,
    Function,
    Growing,
    Lent,
    Made,
    Never,
    Operand,
    Range,
    Ref,
    Scalar,
    Slice,
    Static,
    Text,
    Tuple,
    Unbound,
)
from weft.support.abi import FunctionRef
from weft.support.errors import CompileError
from weft.support.lists import arrays_of, item_of, lists_of, numbers_of_kinds, rows_of, tuples_of, tuples_of_kinds
from weft.support.records import record
from weft.support.spans import Located, Span
from weft.support.texts import text_of
from weft.support.views import read_only

_COMPARED = (str, bytes, int)
_PYTHON: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}
AGAIN = "def "  # in a frame, "def name@function:line:column:a,b": a nested function that is defined again
HELD = "__weft_held"  # and `__weft_held2_a` what `a` means in the function 2 of the program, for `a` in that list


@record(frozen=False)
class Activation:
    """One Python call in progress."""

    reference: int
    tree: ast.FunctionDef
    lines: list[str]
    filename: str
    names: Namespace
    env: dict[str, Operand]
    before: dict[StatementPath, Names]
    after: dict[StatementPath, Names]
    locals: Names
    inlined: frozenset[tuple[int, int]]
    reads: Names  # every name its text reads
    returned: Operand | None = None  # the value, where the only `return` is the last statement
    depth: int = 1  # how many regions are open at the statement being lowered
    path: StatementPath = ()
    rests: list[Callable[[], Bundle]] = field(default_factory=list[Callable[[], Bundle]])
    frame: SiteFrame | None = None  # while it waits for a call: the statement and what is live after it
    waiting: Names = frozenset()  # then: those names


@record(frozen=False)
class LoopFrame:
    """A loop being lowered: what it carries, and the environments at its continues and breaks."""

    carried: dict[str, Template]
    activation: Activation
    is_call: bool = False  # not a loop of the program: the body of an inlined function, left by `return`
    flag: str = ""  # the name that remembers a break, for the else block
    whole: LoopFrame | None = None  # the outermost loop of the statement, where it is this one in several
    exits: list[dict[str, Operand]] = field(default_factory=list[dict[str, Operand]])
    breaks: int = 0
    unfit: list[str] = field(default_factory=list[str])  # names that some exit could not pass as they are expected
    live: Names = frozenset()  # the names that something reads before or after it
    known: Names = frozenset()  # keys of the lists and dicts there were before it
    once: bool = False  # runs once: an iteration of a loop that was unrolled, or all of them; left by breaks only
    trial: Trial = field(default_factory=Trial)  # what the loops inside carry


class Lowering:
    """The state of one lowering; statements and expressions are functions that take it first."""

    def __init__(self, build: Builder, inputs: Inputs, *, lenient: bool = False) -> None:
        self.build = build
        self.lenient = lenient
        self.arms = 0  # how many branches of if statements are open
        self.inputs = inputs
        self.activations: list[Activation] = []
        self.loops: list[LoopFrame] = []
        self.turning: list[tuple[Value, Expr | None]] = []  # of each loop, the variable of the outermost, and the turns
        self.functions: list[FunctionRef] = []
        self.sites = 0
        self.objects = 0  # lists and dicts made so far
        self.refused_lists: frozenset[Span | None] = frozenset()  # where arrays put into lists are written later
        self.short_loops = 0  # loops being lowered that can be written out instead
        self.paired: set[int] = set()  # lists whose items were looped over as pairs of neighbours
        self.locked: list[int] = []  # lists that a loop runs over: they keep their length and their place
        self.copies = 1  # of the statement being lowered, in loops that are written out

    @property
    def activation(self) -> Activation:
        """The call in progress."""
        return self.activations[-1]

    @property
    def env(self) -> dict[str, Operand]:
        """Its names."""
        return self.activation.env

    # -- places -------------------------------------------------------------------------------------------------------

    def span_of(self, node: Located) -> Span:
        """The place of a syntax node."""
        return Span.from_node(node, self.activation.filename, self.activation.lines)

    @contextmanager
    def at(self, node: Located) -> Generator[None, None, None]:
        """Errors raised inside point at this node."""
        saved, self.build.span = self.build.span, self.span_of(node)
        try:
            yield
        finally:
            self.build.span = saved

    def error(self, node: Located, code: str, message: str, hint: str = "") -> CompileError:
        """A compile error at a syntax node."""
        return CompileError(code, message, self.span_of(node), hint)

    # -- sites --------------------------------------------------------------------------------------------------------

    @contextmanager
    def statement(self, node: Located, path: StatementPath) -> Generator[None, None, None]:
        """Lower one statement: its guards lead back to its beginning."""
        build, activation = self.build, self.activation
        activation.path = path
        saved = (build.site, build.site_used, build.dirty, build.span)
        build.span = self.span_of(node)
        self.sites += 1
        frames, writebacks = self._left()
        site = Site(self.sites, frames, writebacks, build.span)
        build.site, build.site_used, build.dirty = site, False, False
        nodes = build.scope.nodes
        nodes.append(site)
        position = len(nodes) - 1
        try:
            yield
        finally:
            if not build.site_used:
                del nodes[position]
            build.site, build.site_used, build.dirty, build.span = saved

    def _left(self) -> tuple[tuple[SiteFrame, ...], tuple[Bundle, ...]]:
        """What a site shows: the frames and the attributes, with lists that stand in several places marked."""
        activation = self.activation
        frames = [self._waiting(outer) for outer in self.activations[:-1] if outer.frame is not None]
        frames.append(self.frame(activation, activation.before[activation.path]))
        writebacks = self.writebacks()
        shared = iter(share_only_repeated((*(value for frame in frames for value in frame.values), *writebacks)))
        marked = [replace(frame, values=tuple(next(shared) for _ in frame.values)) for frame in frames]
        return tuple(marked), tuple(shared)

    def _waiting(self, outer: Activation) -> SiteFrame:
        """The frame of a caller: as it was at the call, but for the lists, which the call may have changed."""
        assert outer.frame is not None
        if not any(mentions(operand) for operand in outer.env.values()):
            return outer.frame
        return self.frame(outer, outer.waiting)

    def frame(self, activation: Activation, live: Names) -> SiteFrame:
        """The activation at its present statement with the given names."""
        known = {**self._free_variables(activation), **activation.names.outer, **activation.env}
        known = {**self._read_elsewhere(activation, known), **known}
        wanted = live | (activation.reads & (known.keys() - activation.locals))
        wanted, again = self._made_again(activation, known, wanted)
        names = sorted(wanted - again)
        values = [self.bundle(known.get(name, Unbound()), name) for name in names]
        names += [f"{AGAIN}{name}@{_place(known[name], activation)}" for name in sorted(again)]
        values += [Missing()] * len(again)
        rests = rest_names(activation.tree, activation.path)
        names += rests
        values += [rest() for rest in activation.rests[: len(rests)]]
        return SiteFrame(activation.reference, activation.path, tuple(names), tuple(values))

    @staticmethod
    def _made_again(activation: Activation, known: dict[str, Operand], wanted: Names) -> tuple[Names, Names]:
        """The names with those that nested functions among them need, and the functions that are defined again."""
        again: set[str] = set()
        pending = sorted(wanted)
        while pending:
            name = pending.pop()
            function = known.get(name)
            held = _held_by(activation, function, known)
            needed = None if held is None else _needed_by(activation, function, known)
            if held is None or needed is None:
                continue
            known |= held
            again.add(name)
            pending += sorted(needed - wanted)
            wanted |= needed
        return wanted, frozenset(again)

    def _free_variables(self, activation: Activation) -> dict[str, Operand]:
        """What the text of a real function reads from its closure."""
        found: dict[str, Operand] = {}
        if activation.names.outer:
            return found
        for name in activation.names.function.__code__.co_freevars:
            operand = self.inputs.lookup(activation.names, name) if name in activation.reads else None
            if operand is not None:
                found[name] = operand
        return found

    def _read_elsewhere(self, activation: Activation, known: dict[str, Operand]) -> dict[str, Operand]:
        """What functions that were handed in read of the text that they stand in."""
        found: dict[str, Operand] = {}
        pending = [operand for operand in known.values() if isinstance(operand, Function)]
        for function in pending:
            for name in _free_names(function, activation) - known.keys() - found.keys():
                home = function.home
                operand = home.env.get(name) if name in home.locals else self.inputs.lookup(home.names, name)
                if operand is not None:
                    found[name] = operand
                    pending += [operand] if isinstance(operand, Function) else []
        return found

    def writebacks(self) -> tuple[Bundle, ...]:
        """The attributes the program assigns, as they are now."""
        from weft.frontend.rows import refuse_shared

        operands = [self.env.get(key, Unbound()) for key in self.inputs.assigned]
        for operand in operands:
            refuse_shared(self, resolved(self, operand))
        return tuple(self.bundle(operand, key) for operand, key in zip(operands, self.inputs.assigned, strict=True))

    def bundle(self, operand: Operand, name: str = "") -> Bundle:
        """The operand as something that can leave the program."""
        if isinstance(operand, Scalar):
            return operand.expr
        slot = self.inputs.slot_of(operand)
        if slot >= 0:
            whole = SlotObject(slot)
            inside = operand.place if isinstance(operand, Lent) else None
            return whole if inside is None else Pack((whole, inside), cls=self.constant(item_of))
        match operand:
            case Array(view=view):
                container = self.build.container(view.container)
                bound_here = self.build.container(container.base or container.name).storage is Storage.REF
                whole = Anew(view) if bound_here and identity_of(self.build, operand) is Identity.VIEW else view
                return Pack((whole,), cls=self.constant(read_only)) if operand.readonly else whole
            case Static(value=value):
                return Constant(self.constant(value))
            case Tuple() | Dict() | Made():
                return self._pack(operand, name)
            case Growing():
                return self._growing(operand)
            case Ref():
                return bundle_object(self, operand, name)
            case Either(tag=tag, items=items):
                return Choice(tag, tuple(self.bundle(item, name) for item in items))
            case Unbound() | Never():
                return Missing()
            case _:
                return self._bounds(operand, name)

    def _growing(self, held: Growing) -> Bundle:
        """A list of any length: of numbers, or of what a function makes of the items one by one."""
        from weft.frontend.growing import elements

        items = elements(held).view
        if held.form == "number":
            return Listed(items, held.type)
        if held.form == "rows":
            classes = _classes_of(held.kinds[0] if held.kinds else (held.type,))
            return Pack((items, Constant(self.constant(classes))), cls=self.constant(rows_of))
        if held.form == "array":
            return Pack((items,), cls=self.constant(arrays_of))
        if held.kinds:
            maker = tuples_of_kinds if held.form == "mixed tuple" else numbers_of_kinds
            return Pack((items, Constant(self.constant(_classes_of_all(held.kinds)))), cls=self.constant(maker))
        types = Constant(self.constant(_classes_of(held.parts or (held.type,) * (held.row[0].constant or 0))))
        return Pack((items, types), cls=self.constant(lists_of if held.form == "list" else tuples_of))

    def _bounds(self, operand: Operand, name: str) -> Pack:
        """A slice, range, character or part of a text, made anew."""
        match operand:
            case Character(code=code):
                return Pack((op("cast", (code,), PY_INT),), cls=self.constant(chr))
            case Text(codes=codes):
                return Pack((codes.view,), cls=self.constant(text_of))
            case Slice(start=start, stop=stop, step=step):
                parts = tuple(self.bundle(part, name) for part in (start, stop, step))
                return Pack(parts, cls=self.constant(slice))
            case Range(start=first, stop=last, step=every, wish=""):
                return Pack((first, last, every), cls=self.constant(range))
            case _:
                kind = type(operand).__name__.lower()
                what = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} cannot be kept in a variable or returned here"
                raise self.build.error("E230", what, "use it where it is made")

    def _pack(self, operand: Tuple | Dict | Made, name: str) -> Pack:
        items = tuple(self.bundle(item, name) for item in operand.items)
        match operand:
            case Tuple(is_list=is_list, cls=cls):
                return Pack(items, is_list, cls=-1 if cls is None else self.constant(cls))
            case Dict(keys=keys):
                pairs = zip((Constant(self.constant(key)) for key in keys), items, strict=True)
                return Pack(tuple(part for pair in pairs for part in pair), is_dict=True)
            case Made(cls=cls, number=number):
                return Pack(items, share=number, cls=self.constant(cls))

    def constant(self, value: object) -> int:
        """The number of a Python object among the program's constants."""
        for number, known in enumerate(self.build.ledger.constants):
            if known is value or (type(known) is type(value) and isinstance(value, _COMPARED) and known == value):
                return number
        self.build.ledger.constants.append(value)
        return len(self.build.ledger.constants) - 1


@cache
def _classes_of(types: tuple[ScalarType | None, ...]) -> tuple[type | None, ...]:
    """The Python classes of numbers, None for None, as one object, which is one constant."""
    return tuple(None if type_ is None else _class_of(type_) for type_ in types)


@cache
def _classes_of_all(kinds: tuple[tuple[ScalarType | None, ...], ...]) -> tuple[tuple[type | None, ...], ...]:
    return tuple(map(_classes_of, kinds))


def _class_of(type_: ScalarType) -> type:
    return _PYTHON[type_.dtype.kind] if type_.python else type_.dtype.numpy.type


def _place(operand: Operand, activation: Activation) -> str:
    """Where a nested function is defined: the function it stands in, line and column; then what is held for it."""
    assert isinstance(operand, Function)
    held = ",".join(sorted(_hidden_names(operand, activation)))
    return f"{operand.home.reference}:{operand.tree.lineno}:{operand.tree.col_offset}:{held}"


def _needed_by(activation: Activation, operand: Operand | None, known: dict[str, Operand]) -> Names | None:
    """What a nested function needs to be defined again in the continuation: its defaults, and its free variables.

    None where that would be another function: names that mean something else there.
    """
    if not isinstance(operand, Function):
        return None
    pairs = list(zip(operand.tree.args.defaults, operand.defaults, strict=False))
    if not all(not isinstance(node, ast.Name) or known.get(node.id) == value for node, value in pairs):
        return None
    defaults = frozenset(node.id for node in operand.tree.args.defaults if isinstance(node, ast.Name))
    if operand.home is activation:
        return defaults
    hidden = _hidden_names(operand, activation)
    free = _free_names(operand, activation) - hidden
    own = free & operand.home.locals
    if free & activation.locals or any(known.get(name) != operand.home.env.get(name) for name in own):
        return None
    return defaults | free | {_held_name(operand, name) for name in hidden}


def _hidden_names(operand: Function, activation: Activation) -> Names:
    """The free variables of a nested function that are other variables in the function it was given to."""
    return _free_names(operand, activation) & operand.home.locals & activation.locals


def _held_name(operand: Function, name: str) -> str:
    return f"{HELD}{operand.home.reference}_{name}"


def _held_by(activation: Activation, operand: Operand | None, known: dict[str, Operand]) -> dict[str, Operand] | None:
    """What those are bound to, by the names under which it is handed over; None where that is not just a value."""
    if not isinstance(operand, Function) or operand.home is activation:
        return {}
    env = operand.home.env
    held = {_held_name(operand, name): env.get(name, Unbound()) for name in _hidden_names(operand, activation)}
    if any(isinstance(value, Unbound | Either | Never | Function) for value in held.values()):
        return None
    return None if any(known.get(name, value) != value for name, value in held.items()) else held


def _free_names(operand: Function, activation: Activation) -> Names:
    """The names a nested function reads that mean something else, or nothing, in the text of another function."""
    home, read = operand.home, names_read(operand.tree)
    if home is activation:
        return frozenset()
    apart = home.names.globals is not activation.names.globals
    return frozenset(name for name in read if name in home.locals or (apart and name in home.names.globals))
