"""Copies of calls: layouts, overlaps, objects, surroundings."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.driver.programs import load
from weft.driver.shrinking import shrink
from weft.driver.snapshots import Call, blocks


def plain(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def copies(*args: Any) -> tuple[Any, ...]:
    return Call(plain, args, {}).copied().args


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.arange(24.0).reshape(4, 6)[::2, ::-2],
        np.broadcast_to(np.arange(3.0), (4, 3)),
        np.zeros((3, 0)),
        np.array(5.0),
        np.frombuffer(bytes(range(33)), np.uint8)[1:].view("<f8"),
        np.array([("a", 1)], dtype=[("name", "U3"), ("n", "i4")]),
        np.array(["2020-01-01", "NaT"], "M8[D]"),
    ],
    ids=["C", "F", "strided", "broadcast", "empty", "0-d", "unaligned, read-only", "records", "dates"],
)
def test_an_array_keeps_its_form(array: np.ndarray) -> None:
    (twin,) = copies(array)

    assert twin.dtype == array.dtype
    assert twin.shape == array.shape
    assert twin.strides == array.strides
    assert twin.flags.writeable == array.flags.writeable
    assert twin.flags.aligned == array.flags.aligned
    assert twin.ctypes.data % 64 == array.ctypes.data % 64
    assert not np.may_share_memory(twin, array)
    assert twin.tobytes() == array.tobytes()


def test_a_view_of_any_size_is_copied() -> None:
    (twin,) = copies(np.broadcast_to(np.arange(3.0), (2**40, 3)))

    assert twin.shape == (2**40, 3)
    assert twin[2**39, 2] == 2.0


def test_arrays_that_overlap_overlap_again() -> None:
    x = np.arange(10.0)
    low, high, same, other, far = copies(x[:6], x[2::2], x[:6], np.ones(3), x[9:])
    low[2], far[0] = -1.0, -2.0

    np.testing.assert_array_equal(high, [-1.0, 4.0, 6.0, 8.0])
    assert same[2] == -1.0
    assert not np.may_share_memory(other, low)
    np.testing.assert_array_equal(x, np.arange(10.0))


def test_the_same_object_stays_the_same_object() -> None:
    x, items = np.zeros(3), [1, 2]
    first, second, holder, again = copies(x, x, {"x": x, "items": items}, items)

    assert first is second is holder["x"]
    assert holder["items"] is again
    assert again is not items


def test_blocks_are_apart() -> None:
    x, y = np.zeros(8), np.zeros(8)

    assert sorted(len(block) for block in blocks([x[:4], x[4:], y, y[::3], np.zeros(0)])) == [1, 1, 1, 2]


@dataclass
class Holder:
    x: np.ndarray
    lock: Any = None


class Slotted:
    __slots__ = ("x",)


def test_objects_are_copied_with_their_arrays() -> None:
    x = np.zeros(3)
    slotted = Slotted()
    slotted.x = x[1:]
    holder, twin, locked = copies(Holder(x), slotted, Holder(x, threading.Lock()))
    holder.x[1] = 5.0

    assert twin.x[0] == locked.x[1] == 5.0
    assert isinstance(locked, Holder)
    assert locked.lock is not None
    np.testing.assert_array_equal(x, 0.0)


def test_what_cannot_be_copied_is_shared() -> None:
    numbers = iter([1, 2])
    generator = (n for n in [1])
    twins = copies([numbers, generator], np, plain, weft)

    assert twins[0][1] is generator
    assert twins[1:] == (np, plain, weft)


def test_surroundings_are_copied(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
        TABLE = np.zeros(3)
        LOG = []

        @weft.program
        def inner(k):
            TABLE[k] += 1.0
            LOG.append(k)

        def f(a, k, buffer=np.zeros(2)):
            inner(k)
            buffer[0] += 1.0
            return a[k] + buffer[0]
        """,
    )
    call = Call(module.f, (module.TABLE, 1), {})
    twin = call.copied()

    assert twin.function(*twin.args) == 2.0
    assert twin.function(*twin.args) == 4.0
    np.testing.assert_array_equal(twin.args[0], [0.0, 2.0, 0.0])
    assert twin.outside["TABLE"] is twin.args[0]
    assert twin.outside["LOG"] == [1, 1]
    np.testing.assert_array_equal(module.TABLE, 0.0)
    np.testing.assert_array_equal(module.f.__defaults__[0], 0.0)
    assert module.LOG == []
    assert twin.arguments["k"] == 1
    assert len(call.arrays()) == 2


def test_arguments_that_do_not_fit_have_numbers() -> None:
    def f(a):
        return a

    assert Call(f, (1, 2), {"c": 3}).arguments == {"0": 1, "1": 2, "c": 3}


# ---------------------------------------------------------------- small calls


def test_extents_keep_their_relations() -> None:
    A, b, n = np.zeros((1000, 1001), order="F"), np.ones(1001), 1000
    small = shrink(Call(plain, (A, b, n, 3, A, "x"), {"c": np.arange(50.0).reshape(1, 2, 25)}))
    assert small is not None

    shapes = [value.shape for value in small.args if isinstance(value, np.ndarray)]
    (rows, columns), (length,), _ = shapes
    assert columns == length == rows + 1
    assert small.args[2:4] == (rows, 3)
    assert small.args[4] is small.args[0]
    assert small.args[0].flags.f_contiguous
    assert small.kwargs["c"].shape[:2] == (1, 2)
    assert small.kwargs["c"].shape[2] < 10


def test_some_calls_cannot_be_cut_down() -> None:
    x = np.zeros(1000)

    assert shrink(Call(plain, (x[:-1], x[1:]), {})) is None
    assert shrink(Call(plain, ([x],), {})) is None
    assert shrink(Call(plain, (np.zeros(3),), {})) is None
