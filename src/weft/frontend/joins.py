"""Where control flow meets: one operand out of several.

in:   the operands a name has on the paths that meet
out:  a template saying what is the same on all paths and what must be passed at run time

    x = 1.0         x = 2.0           ->  a value of type py_float
    x = A           x = B             ->  a REF container, bound to either array
    x = 0           x = v[i]  (f4)    ->  a choice: tag, py_int, f4
    t = (0, A)      t = (i, A)        ->  a tuple of a value and A itself

`merge` finds the template, `targets` makes the operand that stands for it below the join (with fresh values and
containers), `passed` lists what one path hands over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, Value, const, const_index, index
from weft.ir.nodes import NOTHING, Container, Layout, Storage, View, full_view
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.memory_order import AxisOrder, axis_order
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Either,
    Growing,
    Iteration,
    Made,
    Never,
    Operand,
    Range,
    Scalar,
    Slice,
    Text,
    Tuple,
    Unbound,
)
from weft.support.abi import MAX_EXTENT
from weft.support.records import record

MAX_ALTERNATIVES = 4
_ONE = const_index(1)
_OPEN = ("array", "rows")  # lists whose items have a shape known at run time only


class Identity(Enum):
    """What an array may be to the caller."""

    NONE = ""  # neither of the two
    ARGUMENT = "argument"  # perhaps the very object that came in
    VIEW = "view"  # perhaps a view of all of it

    def joined(self, other: Identity) -> Identity | None:
        """What covers both; None if nothing does."""
        if self is other or other is Identity.NONE:
            return self
        return other if self is Identity.NONE else None


@record
class Same:
    """The same operand on every path: nothing is passed."""

    operand: Operand


@record
class PassScalar:
    """A scalar of one type; `letter`: the code point of a character."""

    type: ScalarType
    letter: bool = False


@record
class PassArray:
    """An array of one element type and rank, its axes in one order in memory, which shows in the results made from it.

    `ones` are the axes known to be 1 long; `sources` what it may be. `identity` tells an argument from a view of all of
    it: they are the same elements and different objects. `dense`: it is always all of an array stored by rows.
    """

    dtype: DType
    ones: tuple[bool, ...]
    sources: tuple[str, ...]
    order: AxisOrder
    identity: Identity
    dense: bool = False


@record
class PassTuple:
    """A tuple, list or (with keys) dict, item by item; `cls` is the class of a named tuple."""

    items: tuple[Template, ...]
    is_list: bool
    keys: tuple[object, ...] | None = None
    cls: type | None = None

    def operand(self, items: tuple[Operand, ...]) -> Operand:
        """The operand of these items."""
        return Tuple(items, self.is_list, self.cls) if self.keys is None else Dict(self.keys, items)


@record
class PassGrowing:
    """A list of any length: its buffer, how many items are in it and, for arrays, their shape.

    `like` is one such list: its type, form and rank of an item, and whether items may have other names.
    """

    buffer: PassArray
    like: Growing


@record
class PassChoice:
    """Operands of different kinds: a tag, and every alternative."""

    items: tuple[Template, ...]


Template: TypeAlias = Same | PassScalar | PassArray | PassTuple | PassGrowing | PassChoice


class CannotJoin(Exception):  # noqa: N818  (turned into a CompileError by whoever knows the name)
    """Two operands have no common form."""


def merge(build: Builder, left: Template, operand: Operand) -> Template:
    """The template that also covers one more operand."""
    if isinstance(operand, Never):
        return left
    if isinstance(operand, Either):
        if _is_kept(build, left, operand):
            return left
        for item in operand.items:
            left = merge(build, left, item)
        return left
    match left:
        case Same(operand=Never()):
            return settle(build, operand)
        case Same(operand=Either(items=items)):
            return _extend(build, _choice_of(build, items), operand)
        case Same(operand=same) if same == operand and identity_of(build, same) is identity_of(build, operand):
            return left
        case PassChoice():
            return _extend(build, left, operand)
        case _:
            return _merge_plain(build, left, operand)


def _is_kept(build: Builder, left: Template, choice: Either) -> bool:
    """Whether a choice is the very one that stays as it is."""
    if not isinstance(left, Same) or not isinstance(left.operand, Either) or left.operand != choice:
        return False
    pairs = zip(left.operand.items, choice.items, strict=True)
    return all(identity_of(build, a) is identity_of(build, b) for a, b in pairs)


def _choice_of(build: Builder, items: Sequence[Operand]) -> Template:
    template: Template = Same(items[0])
    for item in items[1:]:
        template = merge(build, template, item)
    return template


def _merge_plain(build: Builder, left: Template, operand: Operand) -> Template:
    """Merge into a template that is no choice; a choice results where the kinds differ."""
    generic = _generic(build, left.operand) if isinstance(left, Same) else left
    other = _generic(build, operand)
    if isinstance(generic, PassArray) and isinstance(other, PassArray) and _same_kind(generic, other):
        order, identity = generic.order.joined(other.order), generic.identity.joined(other.identity)
        if order is not None and identity is not None:
            ones = tuple(a and b for a, b in zip(generic.ones, other.ones, strict=True))
            sources = tuple(dict.fromkeys((*generic.sources, *other.sources)))
            return PassArray(generic.dtype, ones, sources, order, identity, generic.dense and other.dense)
    if isinstance(generic, PassGrowing) and isinstance(other, PassGrowing) and _same_items(generic, other):
        sources = tuple(dict.fromkeys((*generic.buffer.sources, *other.buffer.sources)))
        like = replace(generic.like, shared=generic.like.shared or other.like.shared)
        return PassGrowing(replace(generic.buffer, sources=sources), like)
    if isinstance(generic, PassScalar) and generic == other:
        return generic
    if isinstance(generic, PassTuple) and isinstance(operand, Tuple | Dict) and _same_places(generic, operand):
        items = zip(generic.items, operand.items, strict=True)
        return replace(generic, items=tuple(merge(build, a, b) for a, b in items))
    return PassChoice((_settled(build, left), _settled(build, Same(operand))))


def _same_items(left: PassGrowing, right: PassGrowing) -> bool:
    ours, theirs = (
        (like.type, like.form, len(like.row) if like.form in _OPEN else like.row, like.parts, like.kinds)
        for like in (left.like, right.like)
    )
    return ours == theirs


def _same_kind(left: PassArray, right: PassArray) -> bool:
    return left.dtype is right.dtype and len(left.ones) == len(right.ones)


def _same_places(left: PassTuple, right: Tuple | Dict) -> bool:
    if _came_in(right):
        return False
    if isinstance(right, Dict):
        return left.keys is not None and list(map(_typed, left.keys)) == list(map(_typed, right.keys))
    kind = (left.is_list, left.cls, len(left.items))
    return left.keys is None and kind == (right.is_list, right.cls, len(right.items))


def _typed(key: object) -> tuple[type, object]:
    return type(key), key


def _came_in(operand: Tuple | Dict) -> bool:
    """Whether it is the caller's own list or dict: another one would not be the same object."""
    return operand.slot >= 0 and (isinstance(operand, Dict) or operand.is_list)


def _generic(build: Builder, operand: Operand) -> Template:
    """What an operand must be passed as when it differs between paths."""
    match operand:
        case Scalar():
            return PassScalar(operand.type)
        case Character(code=code):
            return PassScalar(code.type, letter=True)
        case Array() if operand.readonly:
            raise CannotJoin  # what it is joined with may be written
        case Array():
            return _pass_array(build, operand)
        case Tuple() | Dict() if _came_in(operand):
            return Same(operand)
        case Tuple(items=items, is_list=is_list, cls=cls):
            return PassTuple(tuple(Same(item) for item in items), is_list, cls=cls)
        case Growing(buffer=buffer):
            return PassGrowing(replace(_pass_array(build, buffer), ones=(False,), dense=False), operand)
        case Dict(keys=keys, items=items):
            return PassTuple(tuple(Same(item) for item in items), is_list=False, keys=keys)
        case Made() | Slice() | Range() | Iteration() | Text(slot=-1):
            raise CannotJoin
        case _:
            return Same(operand)


def _pass_array(build: Builder, array: Array) -> PassArray:
    ones = tuple(extent is _ONE for extent in array.shape)
    order = axis_order(build, array.view)
    container = build.ledger.containers.get(array.view.container)
    dense = container is not None and container.layout is Layout.C and array.view == full_view(container)
    return PassArray(array.dtype, ones, (array.view.container,), order, identity_of(build, array), dense)


def identity_of(build: Builder, operand: Operand) -> Identity:
    """What an operand may be to the caller."""
    if not isinstance(operand, Array) or operand.view.container == NOTHING:
        return Identity.NONE
    container = build.container(operand.view.container)
    if not any(build.container(name).storage is Storage.ARGUMENT for name in build.reaches(container.name)):
        return Identity.NONE
    is_object = any(known is operand for known in build.ledger.objects)
    if is_object and container.name not in build.ledger.views:
        return Identity.ARGUMENT
    return Identity.VIEW if is_object or _may_be_whole(operand.view, container) else Identity.NONE


def _may_be_whole(view: View, container: Container) -> bool:
    """Unless its rank or a length is known to be another."""
    if len(view.shape) != len(container.shape):
        return False
    differences = ((ours - whole).constant for ours, whole in zip(view.shape, container.shape, strict=True))
    return all(difference in (None, 0) for difference in differences)


def settle(build: Builder, operand: Operand) -> Template:
    """The template that passes all of an operand that lives inside a region."""
    match operand:
        case Tuple(slot=slot) | Dict(slot=slot) if slot >= 0:
            return Same(operand)
        case Tuple(items=items, is_list=is_list, cls=cls):
            return PassTuple(tuple(settle(build, item) for item in items), is_list, cls=cls)
        case Dict(keys=keys, items=items):
            return PassTuple(tuple(settle(build, item) for item in items), is_list=False, keys=keys)
        case Either(items=items):
            return PassChoice(tuple(settle(build, item) for item in items))
        case _:
            return _generic(build, operand)


def covered(template: Template) -> Operand:
    """What is the same on all paths of what a template covers; Unbound where it is passed."""
    match template:
        case Same(operand=operand):
            return operand
        case PassTuple(items=items):
            return template.operand(tuple(map(covered, items)))
        case _:
            return Unbound()


def _settled(build: Builder, template: Template) -> Template:
    """An alternative of a choice: scalars and arrays are passed, so that later paths of the same kind fit."""
    return settle(build, template.operand) if isinstance(template, Same) else template


def _kind(template: PassTuple) -> tuple[object, ...]:
    return template.is_list, template.keys, template.cls


def same_form(left: Template, right: Template) -> bool:
    """Whether two templates pass the same things; what an array may be does not matter."""
    match left, right:
        case PassGrowing(), PassGrowing():
            return _same_items(left, right) and left.like.shared == right.like.shared
        case PassArray(), PassArray():
            ours, theirs = ((t.dtype, t.ones, t.order, t.identity, t.dense) for t in (left, right))
            return ours == theirs
        case (PassTuple(), PassTuple()) if _kind(left) != _kind(right):
            return False
        case (PassTuple(), PassTuple()) | (PassChoice(), PassChoice()):
            return len(left.items) == len(right.items) and all(map(same_form, left.items, right.items))
        case _:
            return left == right


def _extend(build: Builder, choice: Template, operand: Operand) -> Template:
    if not isinstance(choice, PassChoice):
        return merge(build, choice, operand)
    for number, item in enumerate(choice.items):
        merged = merge(build, item, operand)
        if not isinstance(merged, PassChoice):
            items = list(choice.items)
            items[number] = merged
            return PassChoice(tuple(items))
    if len(choice.items) >= MAX_ALTERNATIVES:
        raise CannotJoin
    return PassChoice((*choice.items, _settled(build, Same(operand))))


def targets(build: Builder, template: Template, name: str) -> tuple[Operand, list[Value | str]]:
    """The operand below the join and the values and REF containers that are passed to it."""
    match template:
        case Same(operand=operand):
            return operand, []
        case PassScalar(type=type_, letter=letter):
            value = build.value(name, type_)
            if letter:
                return Character(value), [value]
            return Scalar(index(value) if type_ == PY_INT else value), [value]
        case PassArray():
            container = _ref(build, template, name)
            array = Array(full_view(container), template.dtype)
            build.ledger.objects.append(array)
            return array, [container.name]
        case PassGrowing(buffer=buffer, like=like):
            container = _ref(build, buffer, name)
            count = build.value(f"{name}_count", PY_INT, low=0)
            extents = [build.value(f"{name}_row", PY_INT, low=0, high=MAX_EXTENT) for _ in _open_row(like)]
            row = tuple(map(index, extents)) if extents else like.row
            held = replace(like, buffer=Array(full_view(container), buffer.dtype), count=index(count), row=row)
            return held, [container.name, count, *extents]
        case PassTuple(items=items):
            parts = [targets(build, item, f"{name}{number}") for number, item in enumerate(items)]
            return template.operand(tuple(part[0] for part in parts)), [t for part in parts for t in part[1]]
        case PassChoice(items=items):
            tag = build.value(f"{name}_is", PY_INT, low=0, high=len(items) - 1)
            parts = [targets(build, item, name) for item in items]
            return Either(tag, tuple(part[0] for part in parts)), [tag, *(t for part in parts for t in part[1])]


def array_sources(template: Template) -> list[tuple[str, ...]]:
    """What each array that a template passes may be, in the order of `targets`."""
    match template:
        case PassArray(sources=sources) | PassGrowing(buffer=PassArray(sources=sources)):
            return [sources]
        case PassTuple(items=items) | PassChoice(items=items):
            return [sources for item in items for sources in array_sources(item)]
        case _:
            return []


def _open_row(held: Growing) -> tuple[Index, ...]:
    """The extents of an item that are known at run time only."""
    return held.row if held.form in _OPEN else ()


def _ref(build: Builder, template: PassArray, name: str) -> Container:
    unique = f"{name}.{build.new_id()}"
    shape = tuple(build.extent(f"{name}_{axis}", one=one) for axis, one in enumerate(template.ones))
    sources = tuple(source for source in template.sources if source != NOTHING)
    written = any(build.container(source).written for source in sources)
    layout = Layout.C if template.dense else Layout.STRIDED
    container = Container(unique, template.dtype, shape, Storage.REF, layout, may_alias=sources, written=written)
    if template.identity is Identity.VIEW:
        build.ledger.views.add(unique)
    build.ledger.containers[unique] = container
    order = template.order
    build.ledger.orders[unique] = order.all_axes(len(shape))
    build.ledger.repeated[unique] = order.repeated
    return container


def passed(build: Builder, template: Template, operand: Operand) -> list[Expr | View]:
    """What one path hands over, in the order of `targets`."""
    match template:
        case Same():
            return []
        case PassScalar(type=type_):
            match operand:
                case Scalar(expr=code) | Character(code=code):
                    return [code]
                case _:
                    return [nothing(type_)]
        case PassArray():
            return [operand.view if isinstance(operand, Array) else _no_array(template)]
        case PassGrowing(buffer=buffer, like=like):
            if not isinstance(operand, Growing):
                return [_no_array(buffer), const_index(0), *(const_index(0) for _ in _open_row(like))]
            return [operand.buffer.view, operand.count, *_open_row(operand)]
        case PassTuple(items=items):
            parts = operand.items if isinstance(operand, Tuple | Dict) else (Never(),) * len(items)
            return [x for item, part in zip(items, parts, strict=True) for x in passed(build, item, part)]
        case PassChoice(items=items):
            return _passed_choice(build, items, operand)


def _passed_choice(build: Builder, items: tuple[Template, ...], operand: Operand) -> list[Expr | View]:
    if isinstance(operand, Either):
        return _passed_either(build, items, operand)
    number = 0 if isinstance(operand, Never) else _alternative(build, items, operand)
    leaves: list[Expr | View] = [const_index(number)]
    for position, item in enumerate(items):
        leaves += passed(build, item, operand if position == number else Never())
    return leaves


def _alternative(build: Builder, items: tuple[Template, ...], operand: Operand) -> int:
    for number, item in enumerate(items):
        try:
            if same_form(merge(build, item, operand), item):
                return number
        except CannotJoin:
            continue
    raise CannotJoin


def _passed_either(build: Builder, items: tuple[Template, ...], operand: Either) -> list[Expr | View]:
    """A choice handed to a wider choice: renumber the tag, put each alternative in its place."""
    places = [_alternative(build, items, item) for item in operand.items]
    tag: Expr = const_index(places[-1])
    for number, place in reversed(list(enumerate(places[:-1]))):
        tag = build.select_index(operand.tag, number, const_index(place), tag)
    leaves: list[Expr | View] = [tag]
    for position, item in enumerate(items):
        holder = next((o for o, place in zip(operand.items, places, strict=True) if place == position), Never())
        if places.count(position) > 1:
            raise CannotJoin
        leaves += passed(build, item, holder)
    return leaves


def nothing(type_: ScalarType) -> Expr:
    """A value nobody looks at."""
    return const_index(0) if type_ == PY_INT else const(type_.dtype.numpy.type(0).item(), type_)


def _no_array(template: PassArray) -> View:
    shape: tuple[Index, ...] = tuple(_ONE if one else const_index(0) for one in template.ones)
    return View(NOTHING, shape, ())
