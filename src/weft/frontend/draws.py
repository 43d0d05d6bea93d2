"""Draws of random numbers in the source: methods of NumPy's generators, and functions of `numpy.random`.

in:   `rng.normal(0, s)` with a Generator or RandomState that came in, `np.random.rand(n)`, `rand(n)` by its own name
out:  the generator as slots (the object, and the words of its bit generator), and the rule applied

A draw is a statement of its own (`callees` lists it for the normaliser): no check may follow it in its statement.
"""

from __future__ import annotations

from types import MethodType
from typing import Any, NamedTuple, cast

import numpy as np

from weft.frontend.context import Lowering
from weft.frontend.growing import as_array
from weft.frontend.heap import resolved
from weft.frontend.inputs import Inputs
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.random_numbers import Generator, draw, is_draw
from weft.numpy_rules.values import Array, Growing, Instance, Method, Never, Operand, Static
from weft.support.abi import Slot, SlotKind
from weft.support.generators import (
    BIT_GENERATOR,
    KEPT_NORMAL,
    bit_generator_words,
    is_shared_safely,
    keeps_normal_numbers_as_known,
    kept_normal_words,
)


class Drawn(NamedTuple):
    """A generator, and the name of a method."""

    owner: Instance
    method: str


def is_drawing_function(value: Any) -> bool:
    """Whether an object is a method of NumPy's global generator, as `np.random.rand` is, or seeds it."""
    if value is np.random.seed:
        return True
    return type(value) is MethodType and is_draw(cast("type[Any]", type(value.__self__)), value.__name__)


def lower_draw(ctx: Lowering, drawn: Drawn, args: list[Operand], keywords: dict[str, Operand]) -> Operand:
    """The draw, and what it gives."""
    owner, method = drawn
    if any(isinstance(arg, Never) for arg in (*args, *keywords.values())):
        return Never()
    if not is_shared_safely(ctx.inputs.objects[owner.slot]):
        raise ctx.build.error("E244", "this generator gives no functions to compiled code", "use np.random.default_rng")
    generator = Generator(owner.slot, owner.cls, _words(ctx.inputs, owner))
    plain = [_looked_at(ctx, method, arg) for arg in args]
    named = {name: _looked_at(ctx, method, arg) for name, arg in keywords.items()}
    try:
        return draw(ctx.build, generator, method, plain, named)
    except PythonRaises as raised:
        return ctx.build.leave(raised.reason)


def _looked_at(ctx: Lowering, method: str, operand: Operand) -> Operand:
    """An argument without identity; NumPy makes an array of a list, except of one that is to be shuffled."""
    plain = resolved(ctx, operand)
    return as_array(ctx, plain) if isinstance(plain, Growing) and method != "shuffle" else plain


def drawn_from(inputs: Inputs, callee: Operand) -> Drawn | None:
    """The generator and the method that a callee is; None where it is something else."""
    match callee:
        case Method(owner=Instance(cls=cls) as owner, name=name) if is_draw(cls, name):
            return Drawn(owner, name)
        case Instance(slot=slot, cls=cls) if cls is MethodType and is_drawing_function(inputs.objects[slot]):
            function = inputs.objects[slot]
            inputs.fixed(Slot(SlotKind.ATTRIBUTE, slot, "__func__"), function.__func__)
            return Drawn(_owner(inputs, slot, function), function.__name__)
        case Instance(slot=slot) if inputs.objects[slot] is np.random.seed:
            module = inputs.slots[inputs.fixed(inputs.slots[slot], np.random.seed)]
            if module.kind is not SlotKind.ATTRIBUTE:  # a name of its own does not lead to the generator
                return None
            method = Slot(SlotKind.ATTRIBUTE, module.index, "rand")  # the generator is what this is bound to
            inputs.add(method, np.random.rand, "rand")
            return Drawn(_owner(inputs, inputs.slots.index(method), cast("MethodType", np.random.rand)), "seed")
        case Static(value=value, slot=slot) if slot >= 0 and is_drawing_function(value):
            return Drawn(_owner(inputs, slot, value), value.__name__)
        case _:
            return None


def _owner(inputs: Inputs, slot: int, function: MethodType) -> Instance:
    """The generator that a method is bound to."""
    operand = inputs.add(Slot(SlotKind.ATTRIBUTE, slot, "__self__"), function.__self__, "generator")
    assert isinstance(operand, Instance)
    return operand


def _words(inputs: Inputs, owner: Instance) -> tuple[Array, ...]:
    """What stands for the state of a generator."""
    generator = inputs.objects[owner.slot]
    found = [(BIT_GENERATOR, bit_generator_words(generator), "generator")]
    kept = kept_normal_words(generator) if _may_keep_normals(owner.cls) else None
    if kept is not None:
        found.append((KEPT_NORMAL, kept, "kept"))
    operands = [inputs.add(Slot(SlotKind.CONVERTED, owner.slot, name), words, label) for name, words, label in found]
    return tuple(operand for operand in operands if isinstance(operand, Array))


def _may_keep_normals(cls: type) -> bool:
    return cls is np.random.RandomState and keeps_normal_numbers_as_known()
