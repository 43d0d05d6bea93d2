"""Scalar expressions and index polynomials.

Expressions are pure, typed and hash-consed: two equal expressions are the same object, so they compare by identity.
Every operation names its result type, and casts are operations of their own, so no pass re-derives promotion.

An `Index` is an integer polynomial in values, with integer coefficients, in canonical form: `N*M` is `M*N`. Frontend
guards make sure that its value fits int64; intermediate sums may wrap, which does not change the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TypeAlias, Union
from weakref import WeakValueDictionary

from weft.ir.dtypes import NP_BOOL, PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, ScalarType
from weft.support.records import record


@record(weakref_slot=True)
class Value:
    """A scalar SSA value: defined once (a parameter, a read, a let, a loop), used anywhere below.

    `low` and `high` are inclusive bounds known where it is defined; None means the type's own.
    `floor` and `ceiling` are symbolic inclusive bounds, for loop variables: `0 <= i <= n - 1`. Bounds are part of the
    identity: interned expressions outlive a program, and must not lend another program's bounds to a like-named value.
    """

    id: int
    name: str
    type: ScalarType
    low: int | None = None
    high: int | None = None
    floor: Index | None = field(default=None, repr=False)
    ceiling: Index | None = field(default=None, repr=False)

    def __hash__(self) -> int:
        return self.id

    @property
    def text(self) -> str:
        """`%name.id`, unique in a program."""
        return f"%{self.name}.{self.id}"


@record(eq=False, weakref_slot=True)
class Const:
    """A literal. `value` is a Python bool, int, float or complex, exact in `type`. Made by `const`."""

    value: bool | int | float | complex
    type: ScalarType


@record(eq=False, weakref_slot=True)
class Op:
    """`name(args)` with result `type`; `ops.py` lists the names with their meaning. Made by `op`."""

    name: str
    args: tuple[Expr, ...]
    type: ScalarType


Monomial: TypeAlias = tuple[Value, ...]


@record(eq=False, weakref_slot=True)
class Index:
    """An integer polynomial: (monomial, coefficient) pairs in canonical order, no zero coefficient.

    As an expression its type is Python's int. Made by `index`, `const_index` and the operators.
    """

    terms: tuple[tuple[Monomial, int], ...]
    values: frozenset[Value] = field(default=frozenset(), repr=False)  # those it depends on

    @property
    def type(self) -> ScalarType:
        """Always a Python int."""
        return PY_INT

    @property
    def constant(self) -> int | None:
        """Its value if it is a constant."""
        if not self.terms:
            return 0
        (monomial, coefficient), *rest = self.terms
        return coefficient if not rest and not monomial else None

    def __add__(self, other: IndexLike) -> Index:
        if other == 0:
            return self
        total = dict(self.terms)
        for monomial, coefficient in index(other).terms:
            total[monomial] = total.get(monomial, 0) + coefficient
        return _make_index(total)

    def __radd__(self, other: IndexLike) -> Index:
        return self + other

    def __neg__(self) -> Index:
        return _make_index({monomial: -coefficient for monomial, coefficient in self.terms})

    def __sub__(self, other: IndexLike) -> Index:
        total = dict(self.terms)
        for monomial, coefficient in index(other).terms:
            total[monomial] = total.get(monomial, 0) - coefficient
        return _make_index(total)

    def __rsub__(self, other: IndexLike) -> Index:
        return index(other) - self

    def __mul__(self, other: IndexLike) -> Index:
        product: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in index(other).terms:
                monomial = tuple(sorted(left + right, key=lambda value: value.id))
                product[monomial] = product.get(monomial, 0) + a * b
        return _make_index(product)

    def __rmul__(self, other: IndexLike) -> Index:
        return self * other

    def substitute(self, bindings: Mapping[Value, Index]) -> Index:
        """The polynomial with some values replaced; the very same object if none occurs."""
        if not any(value in bindings for value in self.values):
            return self
        total = const_index(0)
        for monomial, coefficient in self.terms:
            product = const_index(coefficient)
            for value in monomial:
                product = product * bindings.get(value, index(value))
            total = total + product
        return total


IndexLike: TypeAlias = Union[Index, Value, int]  # noqa: UP007  (Index is a forward reference at run time)
Expr: TypeAlias = Const | Value | Op | Index

# Interning tables: they hold no facts, only make equal expressions identical, and let go of what nobody uses.
_CONSTS: WeakValueDictionary[tuple[str, ScalarType], Const] = WeakValueDictionary()
_OPS: WeakValueDictionary[tuple[object, ...], Op] = WeakValueDictionary()
_INDICES: WeakValueDictionary[tuple[tuple[Monomial, int], ...], Index] = WeakValueDictionary()


def const(value: bool | int | float | complex, type_: ScalarType) -> Const:
    """The literal; NaNs and signed zeros are kept apart."""
    key = (repr(value), type_)
    found = _CONSTS.get(key)
    if found is None:
        found = Const(value, type_)
        _CONSTS[key] = found
    return found


def op(name: str, args: Iterable[Expr], type_: ScalarType) -> Op:
    """The operation."""
    arguments = tuple(args)
    key = (name, type_, *(arg if isinstance(arg, Value) else id(arg) for arg in arguments))
    found = _OPS.get(key)
    if found is None:
        found = Op(name, arguments, type_)
        _OPS[key] = found
    return found


def _make_index(terms: Mapping[Monomial, int]) -> Index:
    ordered = [term for term in terms.items() if term[1]]
    if len(ordered) > 1:
        ordered.sort(key=_place)
    key = tuple(ordered)
    found = _INDICES.get(key)
    if found is None:
        found = Index(key, frozenset([value for monomial, _ in key for value in monomial]))
        _INDICES[key] = found
    return found


def _place(term: tuple[Monomial, int]) -> tuple[int, list[int]]:
    return len(term[0]), [value.id for value in term[0]]


def polynomial_of(terms: Iterable[tuple[Monomial, int]]) -> Index:
    """The polynomial with these terms."""
    return _make_index(dict(terms))


@lru_cache(256)
def const_index(value: int) -> Index:
    """A constant polynomial."""
    return _make_index({(): value})


def index(value: IndexLike) -> Index:
    """A polynomial from an int, a value or a polynomial."""
    match value:
        case Index():
            return value
        case Value():
            return _make_index({(value,): 1})
        case int():
            return const_index(value)


def python_const(value: bool | int | float | complex) -> Expr:
    """A Python literal as an expression; ints become index polynomials."""
    match value:
        case bool():
            return const(value, PY_BOOL)
        case int():
            return const_index(value)
        case float():
            return const(value, PY_FLOAT)
        case complex():
            return const(value, PY_COMPLEX)


TRUE = const(True, NP_BOOL)


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Direct sub-expressions; the values of a polynomial count."""
    match expr:
        case Op(args=args):
            return args
        case Index():
            values: list[Value] = sorted(expr.values, key=lambda value: value.id)
            return tuple(values)
        case Const() | Value():
            return ()


def values_in(expr: Expr) -> frozenset[Value]:
    """All values an expression depends on."""
    match expr:
        case Value():
            return frozenset((expr,))
        case Index():
            return expr.values
        case Const():
            return frozenset()
        case Op():
            return _values_below(expr)


def _values_below(expr: Op) -> frozenset[Value]:
    found: set[Value] = set()
    seen: set[int] = set()  # expressions are shared graphs: each part is looked at once
    pending: list[Expr] = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, Value):
            found.add(part)
        elif isinstance(part, Index):
            found |= part.values
        elif isinstance(part, Op) and id(part) not in seen:
            seen.add(id(part))
            pending += part.args
    return frozenset(found)


def substitute(expr: Expr, bindings: Mapping[Value, Expr], done: dict[Expr, Expr] | None = None) -> Expr:
    """The expression with values replaced; a value inside a polynomial may only be replaced by an integer one.

    The very same object if none occurs. `done` are parts that have been replaced before.
    """
    match expr:
        case Value():
            return bindings.get(expr, expr)
        case Const():
            return expr
        case Index():
            return expr.substitute({value: _integer(value, bindings[value]) for value in expr.values & bindings.keys()})
        case Op(name=name, args=args, type=type_):
            done = {} if done is None else done
            found = done.get(expr)
            if found is None:
                found = done[expr] = op(name, [substitute(arg, bindings, done) for arg in args], type_)
            return found


def _integer(value: Value, replacement: Expr) -> Index:
    match replacement:
        case Index() | Value():
            return index(replacement)
        case Const(value=int() as number) if not isinstance(number, bool):
            return const_index(number)
        case _:
            raise TypeError(f"{value.text} stands in an index and can only be replaced by an index")
