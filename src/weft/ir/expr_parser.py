"""Read expressions, views and bundles of the text form.

in:   a `Source`: tokens, with the values and containers they may name
out:  expressions, polynomials, views, memlets, bundles

Definitions (`%n.1: py_int in [0, _]`) are found before parsing, so a shape at the top may name a value of the body.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from weft.ir.dtypes import SCALAR_TYPES, ScalarType
from weft.ir.exprs import Expr, Index, Op, Value, const, const_index, index, op
from weft.ir.lexer import TokenStream
from weft.ir.nodes import (
    Anew,
    Axis,
    Bundle,
    Choice,
    Constant,
    Container,
    Listed,
    Memlet,
    Missing,
    Pack,
    SlotObject,
    View,
)
from weft.ir.text import implied_type

_T = TypeVar("_T")
_E = TypeVar("_E", bound=Enum)


class Source(TokenStream):
    """Tokens, with the values and containers they may name."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.containers: dict[str, Container] = {}
        self.node_ids = 0
        self._values: dict[int, Value] = {}
        self._open: set[int] = set()
        self._definitions: dict[int, list[int]] = {}
        for position, token in enumerate(self.tokens[:-2]):
            colon, type_ = self.tokens[position + 1 : position + 3]
            if token.kind == "value" and colon.text == ":" and type_.text in SCALAR_TYPES:
                self._definitions.setdefault(_value_id(token.text), []).append(position)

    def next_id(self) -> int:
        """A fresh node id."""
        self.node_ids += 1
        return self.node_ids

    def use(self) -> Value:
        """Take `%name.id`."""
        token, here = self.token, self.position
        number = _value_id(self.next("value", "a value"))
        if number not in self._values:
            if number not in self._definitions or number in self._open:
                self.position = here
                raise self.error("a value that is defined somewhere")
            after, self.position = self.position, self._definitions[number][0]
            self._open.add(number)
            self._values[number] = self._read_definition()
            self.position = after
        value = self._values[number]
        if _value_name(token.text) != value.name:
            self.position = here
            raise self.error(f"`{value.text}`")
        return value

    def define(self) -> Value:
        """Take a definition, and check that the text has no other one for the same value."""
        here = self.position
        value = self._read_definition()
        if self._values.setdefault(value.id, value) != value:
            self.position = here
            raise self.error(f"the same definition of {value.text} everywhere")
        return value

    def _read_definition(self) -> Value:
        token = self.token
        number = _value_id(self.next("value", "a value"))
        self.expect(":")
        type_ = self.scalar_type()
        low = high = floor = ceiling = None
        if self.accept("in", "["):
            low = self._bound()
            self.expect(",")
            high = self._bound()
            self.expect("]")
        if self.accept("from"):
            floor = parse_index(self)
        if self.accept("to"):
            ceiling = parse_index(self)
        return Value(number, _value_name(token.text), type_, low, high, floor, ceiling)

    def _bound(self) -> int | None:
        return None if self.accept("_") else self.integer()

    def scalar_type(self) -> ScalarType:
        """Take `f8`, `py_int`..."""
        return self.choose(SCALAR_TYPES, "a scalar type")

    def choose(self, table: dict[str, _T], expected: str) -> _T:
        """Take a word of a table."""
        if self.token.text not in table:
            raise self.error(expected)
        return table[self.word(expected)]

    def member(self, kind: type[_E], expected: str) -> _E:
        """Take the value of an enumeration member."""
        return self.choose({str(member.value): member for member in kind}, expected)

    def separated(self, item: Callable[[Source], _T]) -> tuple[_T, ...]:
        """Take one item or more, with commas."""
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        return tuple(items)

    def sequence(self, item: Callable[[Source], _T], opening: str = "(", closing: str = ")") -> tuple[_T, ...]:
        """Take items between brackets, with commas."""
        self.expect(opening)
        items: list[_T] = []
        while not self.accept(closing):
            if items:
                self.expect(",")
            items.append(item(self))
        return tuple(items)


def _value_id(text: str) -> int:
    return int(text.rpartition(".")[2])


def _value_name(text: str) -> str:
    name = text[1:].rpartition(".")[0]
    if not name.startswith('"'):
        return name
    stream = TokenStream(name)
    return stream.string()


# ---- expressions ----------------------------------------------------------------------------------------------------


def parse_index(source: Source) -> Index:
    """Take an index polynomial: `2*%i.7*%n.1 - 3`."""
    total = const_index(0)
    negative = source.accept("-")
    while True:
        product = _product(source)
        total = total - product if negative else total + product
        negative = source.accept("-")
        if not negative and not source.accept("+"):
            return total


def _product(source: Source) -> Index:
    product = _factor(source)
    while source.accept("*"):
        product = product * _factor(source)
    return product


def _factor(source: Source) -> Index:
    if source.token.kind == "value":
        return index(source.use())
    if source.token.text.isdigit():
        return const_index(source.integer())
    raise source.error("an integer or a value")


def parse_expr(source: Source) -> Expr:
    """Take an expression."""
    token = source.token
    if token.kind == "value" and not any(source.peek(sign, 1) for sign in "+-*"):
        return source.use()
    if token.kind == "name" and source.peek("(", 1):
        return _op(source)
    here = source.position
    value = _number(source)
    if value is not None and source.accept(":"):
        return const(value, source.scalar_type())
    source.position = here
    if token.kind in ("value", "number") or source.peek("-"):
        return parse_index(source)
    raise source.error("an expression")


def _op(source: Source) -> Op:
    name = source.word("an operation")
    args = source.sequence(parse_expr)
    implied = implied_type(name, args)
    if source.accept(":"):
        return op(name, args, source.scalar_type())
    if implied is None:
        raise source.error("`:` and the type of the result")
    return op(name, args, implied)


def _number(source: Source) -> bool | int | float | complex | None:
    """Take the number of a literal; None where there is none."""
    for word, value in (("true", True), ("false", False)):
        if source.accept(word):
            return value
    if source.accept("("):
        real = _real(source)
        source.expect(",")
        imaginary = _real(source)
        source.expect(")")
        return complex(_known(source, real), _known(source, imaginary))
    return _real(source)


def _known(source: Source, value: float | None) -> float:
    if value is None:
        raise source.error("a number")
    return value


def _real(source: Source) -> int | float | None:
    negative = source.accept("-")
    text = source.token.text
    if source.token.kind != "number" and text not in ("inf", "nan"):
        return None
    source.position += 1
    value = int(text) if text.isdigit() else float(text)
    return -value if negative else value


# ---- containers, views, bundles -------------------------------------------------------------------------------------


def parse_memlet(source: Source) -> Memlet:
    """Take `A[%i.7, 0]`, with `resolve add` where writes combine."""
    container = source.name("a container")
    indices = source.sequence(parse_index, "[", "]")
    conflict = source.word("an operation") if source.accept("resolve") else ""
    return Memlet(container, indices, conflict)


def parse_view(source: Source) -> View:
    """Take `A[1:%n.1, :, 0]` or `A[1 + 2*$0, $1] over [%k.5, %m.2]`."""
    container = source.name("a container")
    here = source.position
    axes: list[Axis] = []
    shape: list[Index] = []
    source.expect("[")
    while not source.accept("]"):
        if axes:
            source.expect(",")
        axes.append(_slice(source, container, len(axes), shape))
    if not source.accept("over"):
        if any(source.tokens[position].kind == "axis" for position in range(here, source.position)):
            raise source.error("`over` and the shape of the view")
        return View(container, tuple(shape), tuple(axes))
    if shape:
        raise source.error("no `over` after slices")
    return View(container, source.sequence(parse_index, "[", "]"), tuple(axes))


def _slice(source: Source, container: str, axis: int, shape: list[Index]) -> Axis:
    unit = ((len(shape), const_index(1)),)
    if source.accept(":"):
        declared = source.containers.get(container)
        if declared is None or axis >= declared.rank:
            raise source.error(f"an array {container} of rank {axis + 1} or more, declared above")
        shape.append(declared.shape[axis])
        return Axis(const_index(0), unit)
    found = _axis(source)
    if not source.accept(":"):
        return found
    shape.append(parse_index(source) - found.offset)
    return Axis(found.offset, unit)


def _axis(source: Source) -> Axis:
    """Take `1 + 2*$0 - $1`."""
    offset = const_index(0)
    terms: list[tuple[int, Index]] = []
    negative = source.accept("-")
    while True:
        factor, number = _axis_product(source)
        factor = -factor if negative else factor
        if number is None:
            offset = offset + factor
        else:
            terms.append((number, factor))
        negative = source.accept("-")
        if not negative and not source.accept("+"):
            return Axis(offset, tuple(terms))


def _axis_product(source: Source) -> tuple[Index, int | None]:
    product = const_index(1)
    while True:
        if source.token.kind == "axis":
            return product, int(source.next("axis", "an axis")[1:])
        if source.accept("("):
            product = product * parse_index(source)
            source.expect(")")
        else:
            product = product * _factor(source)
        if not source.accept("*"):
            return product, None


def parse_item(source: Source) -> Expr | View:
    """Take an expression or a view."""
    if source.token.kind in ("name", "string") and source.peek("[", 1):
        return parse_view(source)
    return parse_expr(source)


def parse_bundle(source: Source) -> Bundle:
    """Take what leaves a program."""
    if source.token.kind != "name" or source.peek("[", 1):
        return parse_item(source)
    if source.accept("constant"):
        return Constant(source.integer())
    if source.accept("slot"):
        return SlotObject(source.integer())
    if source.accept("missing"):
        return Missing()
    if source.accept("anew"):
        return Anew(parse_view(source))
    if source.accept("choice"):
        return Choice(parse_expr(source), source.sequence(parse_bundle))
    if any(source.peek(kind) for kind in ("list", "tuple", "dict", "call")):
        return _parse_pack(source)
    if source.accept("listed"):
        share, type_ = _parse_share(source), source.scalar_type()
        return Listed(parse_view(source), type_, share)
    return parse_expr(source)


def _parse_pack(source: Source) -> Bundle:
    kind = source.word("")
    cls = source.integer() if kind == "call" else -1
    share = _parse_share(source)
    return Pack(source.sequence(parse_bundle), kind == "list", kind == "dict", share, cls)


def _parse_share(source: Source) -> int:
    return source.integer() if source.accept("as") else 0
