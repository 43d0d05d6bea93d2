"""From a Python function and the objects of one call to a program.

in:   the function, example arguments, and which slots are specialised by value
out:  `Lowered`: the program at the array level, the example objects of its slots

Lowering starts again when it finds that an argument must be specialised by value, or an attribute written back.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from weft.frontend.callees import Callee, activate, refuse_kind
from weft.frontend.context import Lowering
from weft.frontend.inputs import Assigned, Inputs, Namespace, NeedWriteback, UnsupportedArgument, enter_assigned
from weft.frontend.paying import NeedTurns, check_paid
from weft.frontend.prune import prune
from weft.frontend.rows import WrittenLater, check_held
from weft.frontend.source import FunctionSource
from weft.frontend.statements import lower_block
from weft.frontend.texts import texts_that_are_data
from weft.ir.nodes import Program, Region, Return
from weft.numpy_rules.builder import Builder, NeedStatic, NeedText, NeedView
from weft.numpy_rules.values import Operand, Static
from weft.support.abi import Slot, SlotKind, WriteBack
from weft.support.errors import CompileError
from weft.support.records import record
from weft.support.spans import Span

_MAX_RESTARTS = 32


@record
class Lowered:
    """A program and the objects its slots held in the call it was made from."""

    program: Program
    objects: tuple[Any, ...]


def lower_program(
    function: FunctionType,
    source: FunctionSource,
    arguments: Sequence[Any],
    *,
    any_strides: bool = False,
    lenient: bool = False,
) -> Lowered:
    """The program for calls like this one; raises CompileError.

    `any_strides`: arrays of every layout fit. `lenient`: a statement in a branch that cannot be compiled is left to
    Python if it is ever reached; otherwise it is an error.
    """
    static: frozenset[Slot] = frozenset()
    names = texts_that_are_data(source.tree)
    data = frozenset(Slot(SlotKind.PARAM, place) for place, name in enumerate(_parameters(function)) if name in names)
    texts = data
    assigned: tuple[Assigned, ...] = ()
    refused: frozenset[Span | None] = frozenset()
    exact: frozenset[Span] = frozenset()
    watched: frozenset[Slot] = frozenset()
    problem: CompileError | None = None  # what stands in the way where the characters of strings are data
    for _ in range(_MAX_RESTARTS):
        build = Builder()
        build.exact = exact
        build.texts_are_known = problem is not None
        inputs = Inputs(build, function, static, assigned, any_strides=any_strides, texts=texts, watched=watched)
        try:
            return _lower(build, inputs, source, arguments, lenient=lenient, refused=refused)
        except NeedStatic as need:
            static, assigned = static | {inputs.slots[need.slot]}, ()
        except (NeedText, NeedTurns) as need:
            beside, assigned = _texts_beside(inputs, need.slot), ()
            texts, watched = (texts | beside, watched) if isinstance(need, NeedText) else (texts, watched | beside)
        except WrittenLater as written:
            refused = refused | written.places
        except NeedView as need:
            exact = exact | need.places
        except NeedWriteback as need:
            assigned = (*assigned, need.assigned)
        except UnsupportedArgument as unsupported:
            raise _unsupported(unsupported, inputs, source) from None
        except CompileError as error:
            if problem is not None or texts == data:
                raise problem or error from None
            problem, texts = error, data  # perhaps it is a word that decides something, and is counted as well
    raise CompileError("E302", "too many arguments must be known at compile time", _signature_span(source))


def _texts_beside(inputs: Inputs, number: int) -> frozenset[Slot]:
    """A slot of a str and, where it is an item of a list of nothing else, the others: what is done to one is to all."""
    slot = inputs.slots[number]
    if slot.kind is not SlotKind.ITEM or any(type(item) is not str for item in inputs.objects[slot.parent]):
        return frozenset((slot,))
    return frozenset(slot._replace(index=place) for place in range(len(inputs.objects[slot.parent])))


def _unsupported(problem: UnsupportedArgument, inputs: Inputs, source: FunctionSource) -> CompileError:
    span = _signature_span(source)
    if problem.place is not None:
        line, start = problem.place
        text = source.lines[line - 1].rstrip()
        span = Span(source.filename, line, start, len(text), text)
    error = CompileError("E301", problem.reason, span, problem.hint)
    slot = inputs.slots[problem.slot]
    while slot.kind in (SlotKind.ITEM, SlotKind.MAPPING):
        slot = inputs.slots[slot.parent]
    match slot.kind:
        case SlotKind.PARAM:
            error.culprit = _parameters(inputs.function)[slot.index]
        case SlotKind.GLOBAL:
            error.culprit = slot.name
        case SlotKind.CELL:
            error.culprit = inputs.function.__code__.co_freevars[slot.index]
        case _:
            error.place = problem.place
    return error


def _signature_span(source: FunctionSource) -> Span:
    return Span.from_node(source.tree, source.filename, source.lines)


def _lower(
    build: Builder,
    inputs: Inputs,
    source: FunctionSource,
    arguments: Sequence[Any],
    *,
    lenient: bool,
    refused: frozenset[Span | None],
) -> Lowered:
    function = inputs.function
    ctx = Lowering(build, inputs, lenient=lenient)
    ctx.refused_lists = refused
    names = Namespace(function, -1, {})
    env: dict[str, Operand] = {}
    for number, (name, argument) in enumerate(zip(_parameters(function), arguments, strict=True)):
        env[name] = inputs.add(Slot(SlotKind.PARAM, number), argument, name)
    callee = Callee(source.tree, list(source.lines), source.filename, names, -1, ())
    activation = activate(ctx, callee, env)
    ctx.activations.append(activation)
    _refuse(ctx, source, function)
    _enter_attributes(ctx)
    if lower_block(ctx, activation.tree.body, ()):
        build.emit(Return(ctx.bundle(Static(None)), ctx.writebacks()))
    check_held(build)
    writebacks = tuple(_writeback(key) for key in inputs.assigned)
    program = Program(
        name=function.__name__ if function.__name__.isidentifier() else "lambda_",
        slots=tuple(inputs.slots),
        args=inputs.finished_args(),
        scalars=tuple(inputs.scalars),
        containers=dict(build.ledger.containers),
        body=Region(tuple(build.scope.nodes)),
        constants=tuple(build.ledger.constants),
        functions=tuple(ctx.functions),
        writebacks=writebacks,
        warn_sites=tuple(build.ledger.warn_sites),
    )
    program = prune(program)
    check_paid(inputs, program)
    return Lowered(program, tuple(inputs.objects))


def _parameters(function: FunctionType) -> tuple[str, ...]:
    """The parameters as the dispatcher numbers them: `*args` and `**kwargs` come last."""
    code = function.__code__
    rest = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + rest]


def _enter_attributes(ctx: Lowering) -> None:
    """Attributes that the program assigns start out as what they are."""
    from weft.frontend.expressions import attribute
    from weft.numpy_rules.values import Instance, Unbound

    enter_assigned(ctx.inputs)
    for key in ctx.inputs.assigned:
        slot, _, name = key[1:].partition(".")
        operand = ctx.inputs.operands[int(slot)]
        known = isinstance(operand, Instance) and hasattr(ctx.inputs.objects[int(slot)], name)
        ctx.env[key] = attribute(ctx, operand, name) if known else Unbound()


def _writeback(key: str) -> WriteBack:
    slot, _, name = key[1:].partition(".")
    return WriteBack(int(slot), name)


def _refuse(ctx: Lowering, source: FunctionSource, function: FunctionType) -> None:
    tree = source.tree
    refuse_kind(ctx, tree, function, tree)
    if isinstance(tree, ast.FunctionDef):
        for node in ast.walk(tree):
            if isinstance(node, ast.Global | ast.Nonlocal):
                raise ctx.error(node, "E304", "'global' and 'nonlocal' are not compiled", "return the value instead")
