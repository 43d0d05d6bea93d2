"""What a Python expression is to the compiler: the operands that rules take and give.

An operand is a Python object of the user's program as far as it is known: a scalar or an array whose contents are known
only at run time, a tuple of operands, or an object known now (None, a string, a dtype, a function, a module).
"""

from __future__ import annotations

import ast
from typing import Any, Literal, TypeAlias

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Expr, Index
from weft.ir.nodes import View
from weft.support.records import record


@record
class Scalar:
    """A Python or NumPy scalar (the expression's type says which)."""

    expr: Expr

    @property
    def type(self) -> ScalarType:
        """The scalar's type."""
        return self.expr.type


@record
class Array:
    """An ndarray: a view of a container. `readonly` where NumPy gives one that must not be written (np.diagonal)."""

    view: View
    dtype: DType
    readonly: bool = False

    def viewed(self, view: View) -> Array:
        """A view of this array."""
        return Array(view, self.dtype, self.readonly)

    @property
    def shape(self) -> tuple[Index, ...]:
        """Symbolic extents."""
        return self.view.shape

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.view.rank


@record
class Masked:
    """The elements of an array where a mask, of its shape or broadcast to it, is true."""

    array: Array
    mask: Array


@record(eq=False)
class Static:
    """A Python object known at compile time; `slot` where it came in through one."""

    value: Any
    slot: int = -1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        if self.value is other.value:
            return True
        mine, theirs = self.value, other.value
        return type(mine) is type(theirs) and isinstance(mine, str | bytes | slice | range) and mine == theirs

    def __hash__(self) -> int:
        return hash(type(self.value).__qualname__)


@record
class Tuple:
    """A tuple or list of known length; `cls` is the class of a named tuple.

    A list as an operand is one that nothing else refers to (see `Ref`), or, with a `slot`, the very object that came in
    through it: compiled code never changes that one.
    """

    items: tuple[Operand, ...]
    is_list: bool = False
    cls: type | None = None
    slot: int = -1


@record
class Dict:
    """A dict whose keys are known (strings and numbers); like a list, a new one or that of a slot."""

    keys: tuple[Any, ...]
    items: tuple[Operand, ...]
    slot: int = -1


@record
class Growing:
    """A list whose length is known at run time only: `count` items of one kind, one after the other in a buffer.

    An item is a number, a tuple or list of numbers, or an array, of the shape `row`. Numbers of a tuple that are of
    different types have these in `parts`, and `type` holds them all. Items that are each a number of one of several
    types, or None, or tuples of such, are "mixed": `kinds` says for each place of a tuple which ones, and behind the
    numbers lies which of them each is. Lists have no other name, and stay in the list; those of any length are "rows"
    of one length. Of arrays the buffer holds copies, which is the same as long as nobody writes to them; `shared` says
    that other names may refer to some.
    The lists in one of the caller's (`Lent`) are the rows of a buffer of two axes.
    """

    buffer: Array
    count: Index
    type: ScalarType
    form: Literal["number", "mixed", "tuple", "mixed tuple", "list", "rows", "array"] = "number"
    row: tuple[Index, ...] = ()
    shared: bool = False
    parts: tuple[ScalarType, ...] = ()
    kinds: tuple[tuple[ScalarType | None, ...], ...] = ()


@record
class Ref:
    """A list or dict that names refer to: an identity. The environment says what is in it (weft.frontend.heap)."""

    number: int


@record(eq=False)
class Made:
    """An object of a dataclass that the program makes: the class is called with `items` when it leaves the program.

    `number` is its identity, counted together with those of `Ref`.
    """

    cls: type
    fields: tuple[str, ...]
    items: tuple[Operand, ...]
    number: int


@record
class Range:
    """`range(start, stop, step)`; also the domain of `weft.prange` and, with several, of `weft.map`."""

    start: Index
    stop: Index
    step: Index
    wish: str = ""


@record
class Iteration:
    """`enumerate(x)`, `zip(x, y)`, `repeat(x, n)`, `weft.map[...]` and the like: something to loop over."""

    kind: str
    items: tuple[Operand, ...]
    start: Index | None = None


@record
class Slice:
    """A slice object in the making."""

    start: Operand
    stop: Operand
    step: Operand


@record
class Flat:
    """`array.flat`; `line` is a view of all its elements in C order, where the memory allows one."""

    array: Array
    line: Array | None


@record(eq=False)
class Function:
    """A function or lambda written inside the program; `home` is the activation whose names it sees."""

    tree: ast.FunctionDef | ast.Lambda
    home: Any
    defaults: tuple[Operand, ...] = ()  # where they are more than constants


@record
class Method:
    """A bound method or attribute function of an operand: `a.sum`."""

    owner: Operand
    name: str


@record
class Instance:
    """A Python object whose attributes are slots: `self`."""

    slot: int
    cls: type


@record
class Foreign:
    """An object that is no array but can be made one (`__array__`, `__array_interface__`, `__dlpack__`)."""

    slot: int
    cls: type


@record
class Text:
    """A str of the caller's whose characters are data, not known now: their code points, and the slot of the object."""

    slot: int
    codes: Array


@record
class Character:
    """One character of a text whose characters are data, by its code point."""

    code: Expr


@record
class Lent:
    """A list of the caller's whose numbers are data: they lie in an array, and the slot holds the object.

    It is read only. `place` is where it stands in the list of the slot, if it is one of the lists in that.
    """

    slot: int
    held: Growing
    place: Index | None = None


@record
class Either:
    """One of several operands, chosen at run time by an integer: what a join of different types gives."""

    tag: Expr
    items: tuple[Operand, ...]


@record
class Unbound:
    """A name without a value."""


@record
class Never:
    """The value of code that is never reached, because a guard has left before."""


Operand: TypeAlias = (
    Scalar
    | Array
    | Static
    | Tuple
    | Dict
    | Growing
    | Ref
    | Made
    | Range
    | Iteration
    | Slice
    | Flat
    | Function
    | Method
    | Instance
    | Foreign
    | Text
    | Character
    | Lent
    | Either
    | Unbound
    | Never
)
