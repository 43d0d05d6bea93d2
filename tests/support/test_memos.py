"""Answers that are remembered by the identity of what was asked about."""

from __future__ import annotations

import pytest

from weft.support import memos
from weft.support.memos import forget, once_for_each


def test_an_object_is_asked_about_once() -> None:
    asked: list[list[int]] = []

    @once_for_each
    def length(items: list[int]) -> int:
        asked.append(items)
        return len(items)

    first, second = [1, 2], [1, 2]
    assert [length(first), length(second), length(first)] == [2, 2, 2]
    assert len(asked) == 2
    forget()
    assert length(first) == 2
    assert len(asked) == 3


def test_a_new_object_at_an_old_address_is_another_one() -> None:
    @once_for_each
    def only(items: list[int]) -> int:
        return items[0]

    assert [only([number]) for number in range(100)] == list(range(100))


def test_no_more_than_a_table_full_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memos, "_KEPT", 3)
    asked: list[int] = []

    @once_for_each
    def first(items: list[int]) -> int:
        asked.append(items[0])
        return items[0]

    lists = [[number] for number in range(4)]
    assert [first(items) for items in (*lists, *lists, lists[3])] == [0, 1, 2, 3, 0, 1, 2, 3, 3]
    assert asked == [0, 1, 2, 3, 0, 1, 2, 3]
