"""The state of one kernel while its C text is written: names, variables, owners of memory, exits."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import field
from enum import Enum, auto
from typing import Protocol

from weft.analysis.imaginary import imaginary_containers
from weft.analysis.memory import made_in_loops
from weft.codegen.c_types import c_type
from weft.codegen.names import NameTable
from weft.codegen.replays import Saved
from weft.codegen.scalars import Scalars
from weft.codegen.support_functions import SupportFunctions
from weft.codegen.writer import Writer
from weft.ir.dtypes import PY_INT, ScalarType
from weft.ir.exprs import Expr, Index, Op, Value, index
from weft.ir.nodes import Container, Loop, Memlet, Program, Region, Storage, While
from weft.support.abi import Exit, NumpyCall
from weft.support.errors import InternalError
from weft.support.records import record

_WORD = re.compile(r"(?<!\.)(?<!->)\b[A-Za-z_]\w*")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def words(text: str) -> set[str]:
    """The identifiers in C text; members of structs and what stands in comments do not count."""
    return set(_WORD.findall(_COMMENT.sub("", text)))


def renamed(text: str, names: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """C text with these identifiers numbered in the order in which it names them, and that order."""
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        name = match[0]
        return numbers.setdefault(name, f"${len(numbers)}") if name in names else name

    return _WORD.sub(number, _COMMENT.sub("", text)), tuple(numbers)


@record
class KnownBody:
    """A function that is there, and its variables in the order in which its text names them."""

    name: str
    variables: tuple[str, ...]


@record(frozen=False)
class Scope:
    """A region being written: the blocks it owns, when it lets go of which container, what it is part of."""

    loop: Loop | While | None = None
    label: str = ""  # the end of the loop, for those that leave it from further inside
    label_used: bool = False
    ends_turns: bool = False  # the loop says when its turns begin
    results: tuple[Value | str, ...] = ()  # of the Branch it is an arm of
    blocks: list[str] = field(default_factory=list[str])
    mark: str = ""  # from which on warnings may be taken back
    place: int = 0  # of the node being written
    dying: dict[int, list[str]] = field(default_factory=dict[int, list[str]])


class Watch(Enum):
    """How the operations of a nest note their warnings."""

    COLLECT = auto()  # where a result is not finite; the nests inside see to themselves
    FILTER = auto()  # the processor's flags tell whether there were any; what they do not show goes to `suspect`
    CHECK = auto()  # each one by itself


@record
class Flags:
    """Where the operations of a nest note their warnings: site -> variable.

    `unseen` are the operations that a nest watched by the processor's flags notes in the variable `suspect`. `kinds`
    are the flags that are looked at; `saved` is for a nest in strips: what is kept of each strip.
    """

    sites: dict[int, str]
    mode: Watch = Watch.CHECK
    suspect: str = ""
    unseen: frozenset[Op] = frozenset()
    kinds: str = ""
    saved: Saved | None = None


@record
class Waiting:
    """A result that is written once all that run side by side have read: its C type, its name, where it goes."""

    type: str
    name: str
    target: str


class Vectors(Protocol):
    """How the points of a row read and write whole vectors (`sliding.py`)."""

    def read(self, kernel: Kernel, memlet: Memlet) -> str:
        """A vector of elements; one number where all points read the same."""
        ...

    def write(self, kernel: Kernel, memlet: Memlet, text: str) -> None:
        """Store a vector."""
        ...

    def copied(self, kernel: Kernel, memlet: Memlet, place: str) -> str:
        """The statement that copies a vector of elements to a place in an array of our own."""
        ...


@record(frozen=False)
class Kernel:
    """One kernel under construction."""

    program: Program
    symbol: str
    support: SupportFunctions
    emit_region: Callable[[Kernel, Region, Scope], None]
    names: NameTable = field(default_factory=NameTable)
    writer: Writer = field(default_factory=Writer)
    variables: ChainMap[str, str] = field(default_factory=ChainMap[str, str])  # C name -> C type; by function
    value_names: dict[int, str] = field(default_factory=dict[int, str])
    meanings: dict[Value, Expr] = field(default_factory=dict[Value, Expr])  # what values were said to be, in tasklets
    pointers: dict[str, str] = field(default_factory=dict[str, str])  # container -> C name
    scopes: list[Scope] = field(default_factory=list[Scope])
    exits: list[Exit] = field(default_factory=list[Exit])
    numpy_calls: list[NumpyCall] = field(default_factory=list[NumpyCall])
    out_count: int = 0
    own_extents: dict[str, list[int]] = field(default_factory=dict[str, list[int]])  # REF -> value ids
    guarded: dict[int, list[str]] = field(default_factory=dict[int, list[str]])  # site -> reasons
    outlined: list[str] = field(default_factory=list[str])
    libraries: list[str] = field(default_factory=list[str])
    takeovers: dict[str, str] = field(default_factory=dict[str, str])  # new -> old, whose memory it may have
    flags: Flags | None = None
    picks: bool = False  # choices by truth values are made in bits, where gcc would make branches of them
    rewritten: frozenset[str] | None = None  # in a second run of a nest: the containers it writes again
    unit_axes: frozenset[tuple[str, int]] = frozenset()  # container, axis: known to have the stride of an element
    vectors: Vectors | None = None  # in a row that is computed in whole vectors: how they are read and written
    waiting: list[Waiting] | None = None  # where several rows run side by side: what the one at hand will write
    default_site: int = -1  # of operations that name none: that of the innermost map
    bodies: int = 0
    map_depth: int = 0
    parallel: bool = False
    team: str = ""  # in the function of a team, outside of the bodies of maps: the variable with this thread's part
    teams: int = 0  # loops that one may run, so far
    separately: bool = False  # in such a loop as it is written for threads that do not run it together
    team_arrays: dict[str, str] = field(
        default_factory=dict[str, str]
    )  # what the threads of a team share: declarations
    known_bodies: dict[object, KnownBody] = field(default_factory=dict[object, KnownBody])  # by what they do
    turns: str = ""  # in a body that threads run: the variable that counts the turns until it asks for interrupts
    counter: int = 0
    extents: frozenset[Value] = field(init=False)
    imaginary: frozenset[str] = field(init=False)  # containers of nothing but imaginary numbers
    apart: frozenset[frozenset[str]] = field(init=False)  # pairs of containers that share no memory where both are used

    def __post_init__(self) -> None:
        """The lengths of arrays.

        One that a mask gives must not be found again by comparing further down, where the flags of a NaN would count.
        """
        containers = self.program.containers.values()
        self.extents = frozenset(value for array in containers for extent in array.shape for value in extent.values)
        self.apart = made_in_loops(self.program.body)
        self.imaginary = imaginary_containers(self.program)

    def line(self, text: str = "") -> None:
        """One line of C."""
        self.writer.line(text)

    def scalars(self) -> Scalars:
        """The writer of scalar operations at this place."""
        return Scalars(self.support, arrays=self.map_depth > 0, vectors=self.vectors is not None)

    def container(self, name: str) -> Container:
        """The container of this name; of an alias, the alias itself."""
        return self.program.containers[name]

    def root(self, name: str) -> Container:
        """The container whose memory it is: the base of an alias."""
        container = self.container(name)
        while container.storage is Storage.ALIAS:
            container = self.container(container.base)
        return container

    def pointer(self, name: str) -> str:
        """The C variable with the address of the first element."""
        root = self.root(name)
        if root.name not in self.pointers:
            endings = ["_block", *(f"_s{axis}" for axis in range(root.rank))]
            self.pointers[root.name] = self.names.claim(root.name, endings)
        return self.pointers[root.name]

    def declare(self, name: str, type_: str) -> str:
        """Note a C variable, so that an outlined body can find it."""
        self.variables[name] = type_
        return name

    def declare_array(self, name: str, type_: str, length: int) -> None:
        """An array of the block; in the function of a team, one that its threads share."""
        text = f"{type_} {name}[{length}];"
        if self.team:
            self.team_arrays[name] = text
            self.variables.parents[name] = f"{type_} *"
        else:
            self.declare(name, f"{type_} *")
            self.line(text)

    def new_value(self, value: Value) -> str:
        """The C variable for a value defined here."""
        if value.id not in self.value_names:
            self.value_names[value.id] = self.names.claim(f"{value.name}_{value.id}")
        return self.declare(self.value_names[value.id], c_type(value.type))

    def type_of(self, type_: str) -> str:
        """The C type of what is of this type at one point: in a row of vectors, what the C compiler finds."""
        return "__auto_type" if self.vectors is not None else type_

    def is_defined(self, value: Value) -> bool:
        """Whether the value has a C variable already."""
        return value.id in self.value_names

    def value(self, value: Value) -> str:
        """The C variable of a value defined above."""
        name = self.value_names.get(value.id)
        if name is None:
            raise InternalError(f"{value.text} is used before it is defined")
        return name

    def fresh(self, name: str) -> tuple[Index, str]:
        """A loop variable of our own, as an index and as a C name."""
        value = self.fresh_value(name, PY_INT)
        return index(value), self.declare(self.value_names[value.id], "int64_t")

    def fresh_value(self, name: str, type_: ScalarType) -> Value:
        """A value of our own."""
        self.counter += 1
        value = Value(-self.counter, name, type_)
        self.value_names[value.id] = self.names.claim(name)
        return value

    def bind(self, text: str, type_: str, wanted: str = "t") -> str:
        """A C constant of our own with the value of an expression."""
        type_ = self.type_of(type_)
        name = self.declare(self.names.claim(wanted), type_)
        head = f"{type_}const {name}" if type_.endswith("*") else f"const {type_} {name}"
        self.line(f"{head} = {bare(text)};")
        return name

    @contextmanager
    def block(self, head: str = "") -> Generator[None]:
        """Braces around what is written inside."""
        with self.writer.block(head):
            yield

    @contextmanager
    def elsewhere(self) -> Generator[Writer]:
        """What is written inside goes into a text of its own."""
        outer, self.writer = self.writer, Writer(place=self.writer.place)
        yield self.writer
        self.writer = outer


def bare(text: str) -> str:
    """The expression without the parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]
