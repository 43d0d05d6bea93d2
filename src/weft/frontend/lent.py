"""Long lists of the caller's whose numbers are data: an array of them, whatever its length.

in:   a list of more numbers than there may be slots: xs = [0.5, 1.5, ...], or tuples or lists of numbers
out:  `Lent`: the numbers in an array, read like a list that grew (`weft.frontend.growing`), and the slot of the object

To make the array takes as long as to look at every item once. So the program must do that too: have a loop as long as
the list, a whole-array operation on it, or loops that have turns enough (`weft.frontend.paying`). A program that looks
at a few items only (a binary search) stays in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.frontend.addressed import comes_in
from weft.frontend.growing import elements, item_at, read_item
from weft.frontend.mixed import typed_number
from weft.ir.exprs import Index, const_index, values_in
from weft.ir.nodes import Elements, Elementwise, Loop, MatMul, NumpyCall, Program, Reduce, Region, Scan, Tasklet
from weft.ir.traverse import all_nodes, node_views
from weft.numpy_rules.builder import NeedText
from weft.numpy_rules.indexing import drop_axis, index_view
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import Array, Growing, Lent, Operand, Scalar, Tuple
from weft.support.number_lists import conversion_of

if TYPE_CHECKING:
    from weft.frontend.context import Lowering
    from weft.frontend.inputs import Inputs

_WHOLE = (Elements, Elementwise, MatMul, NumpyCall, Reduce, Scan)


def lent_item(ctx: Lowering, lent: Lent, position: Index) -> Operand:
    """The item at a position that is known to be inside."""
    held = lent.held
    if held.form != "list":
        return item_at(ctx, held, position)
    row = Array(drop_axis(elements(held).view, 0, position), held.buffer.dtype)
    return Lent(lent.slot, Growing(row, held.row[0], held.type), position)


def lent_at(ctx: Lowering, lent: Lent, key: Operand) -> Operand:
    """`lent[key]`."""
    from weft.frontend.paying import guard_paid

    held, build = lent.held, ctx.build
    guard_paid(ctx, lent)
    if held.form == "tuple" or not isinstance(key, Scalar) or key.type.dtype.kind not in "biu":
        return read_item(ctx, held, key)
    if held.form == "number":
        view, _ = index_view(build, elements(held), key)
        return typed_number(build, build.read(view, (), held.buffer.dtype), held.type)
    view, _ = index_view(build, _one_of_each(held), key)
    return lent_item(ctx, lent, view.at(()).index[0])


def _one_of_each(held: Growing) -> Array:
    """Something as long as the list, to find a position in."""
    return Array(drop_axis(elements(held).view, 1, const_index(0)), held.buffer.dtype)


def ask_for_numbers(ctx: Lowering, owner: Tuple, key: Operand) -> None:
    """Start again with the numbers of one of the caller's lists as data, where a position known at run time finds them.

    There are too many to compare the position with those of all, and few enough to be slots.
    """
    slot, inputs = owner.slot, ctx.inputs
    if slot < 0 or not owner.is_list or ctx.build.texts_are_known or not isinstance(key, Scalar):
        return
    position = as_index(ctx.build, key)
    if position is None or position.constant is not None or comes_in(ctx, position):
        return
    if inputs.objects[slot] and conversion_of(inputs.objects[slot]) is not None:
        raise NeedText(slot)


def unread(inputs: Inputs, program: Program) -> Lent | None:
    """A list that is lent though the program does not look at all of it, as far as one knows."""
    asked = inputs.texts | inputs.watched
    lent = [item for item in inputs.operands if isinstance(item, Lent) and inputs.slots[item.slot] not in asked]
    return next((item for item in lent if not _is_read_whole(item, program)), None)


def is_read(lent: Lent, region: Region) -> bool:
    """Whether numbers of the list are read in a region."""
    name = lent.held.buffer.view.container
    tasklets = [node for node in all_nodes(region) if isinstance(node, Tasklet)]
    return any(memlet.container == name for tasklet in tasklets for _, memlet in tasklet.reads)


def _is_read_whole(lent: Lent, program: Program) -> bool:
    name = lent.held.buffer.view.container
    counts = {value for extent in lent.held.buffer.shape for value in extent.values}
    for node in all_nodes(program.body):
        match node:
            case Tasklet(lets=lets):
                counts.update(let.value for let in lets if counts.intersection(values_in(let.expr)))
            case Loop(start=start, stop=stop) if counts.intersection((*start.values, *stop.values)):
                return True
            case _ if isinstance(node, _WHOLE) and any(view.container == name for view in node_views(node)):
                return True
            case _:
                pass
    return False
