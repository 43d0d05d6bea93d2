"""Records behave as the dataclasses they stand for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

import weft
from weft.support.records import record


@record
class Point:
    """A frozen one."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 2
    tags: tuple[str, ...] = ()
    note: str = field(default="", compare=False, repr=False)

    def moved(self, by: int) -> Point:
        """The point further right."""
        return dataclasses.replace(self, x=self.x + by)


@record(frozen=False)
class Room:
    """A changing one."""

    name: str
    items: list[int] = field(default_factory=list[int])
    double: str = field(init=False)

    def __post_init__(self) -> None:
        self.double = self.name * 2


@record(kw_only=True, eq=False, weakref_slot=True)
class Named:
    """One that is only equal to itself."""

    x: int
    y: int = 0


@record
class Nothing:
    """No fields."""


@record
class Lone:
    """One field."""

    value: Any


def test_fields_come_by_place_by_name_and_by_default() -> None:
    assert (Point(1).x, Point(1).y, Point(1, 5).y, Point(y=7, x=0, note="n").note) == (1, 2, 5, "n")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        Named(1)  # pyright: ignore[reportCallIssue]


def test_frozen_ones_refuse_changes() -> None:
    point: Any = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"Point\.x cannot be changed"):
        point.x = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert point.x == 1


def test_equal_by_what_is_compared() -> None:
    assert Point(1, note="a") == Point(1, note="b")
    assert hash(Point(1, note="a")) == hash(Point(1, note="b"))
    assert Point(1) != Point(2)
    assert Point(1) != (1, 2, ())
    assert Named(x=1) != Named(x=1)
    assert Nothing() == Nothing()
    nan = float("nan")
    assert Lone(nan) == Lone(nan)  # the same object, as in tuples
    assert Lone(1) != Nothing()


def test_changing_ones_have_no_hash_and_their_own_lists() -> None:
    first, second = Room("a"), Room("b")
    first.items.append(1)
    first.name = "c"
    assert (first.items, second.items, first.double) == ([1], [], "aa")
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)


def test_shown_as_written() -> None:
    assert repr(Point(1, tags=("a",), note="hidden")) == "Point(x=1, y=2, tags=('a',))"


def test_copied_pickled_replaced_matched_and_watched() -> None:
    point = Point(1, 3, ("a",), "n")
    for same in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert same == point
        assert same.note == "n"
    assert point.moved(2) == Point(3, 3, ("a",), "other")
    match point:
        case Point(x, y):
            assert (x, y) == (1, 3)
    named = Named(x=1)
    assert weakref.ref(named)() is named
    assert [f.name for f in dataclasses.fields(Room)] == ["name", "items", "double"]


def test_a_first_use_that_fails_leaves_the_class_usable() -> None:
    @record
    class Fresh:
        a: int

    class Below(Fresh):
        pass

    with pytest.raises(TypeError, match="unexpected keyword argument 'b'"):
        Below(b=1)  # pyright: ignore[reportCallIssue]
    assert (Below(1).a, Fresh(a=2).a) == (1, 2)
    assert type(Below(1)) is Below
    assert Fresh.__annotations__ == {"a": "int"}


def test_nothing_can_be_added() -> None:
    room: Any = Room("a")
    with pytest.raises(AttributeError):
        room.other = 1
    assert not hasattr(Point(1), "__dict__")


def test_the_same_as_the_standard_decorator() -> None:
    @dataclass(frozen=True, slots=True)
    class Standard:
        a: int
        b: str = "b"

    @record
    class Ours:
        a: int
        b: str = "b"

    assert repr(Standard(1)).replace("Standard", "Ours") == repr(Ours(1))
    assert Standard.__match_args__ == Ours.__match_args__
    assert dataclasses.asdict(Standard(2)) == dataclasses.asdict(Ours(2))


def test_the_compiler_is_made_of_records() -> None:
    sources = Path(weft.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "\n@dataclass" in path.read_text() and path.name != "records.py"] == []
