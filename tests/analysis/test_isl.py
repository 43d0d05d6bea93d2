"""Answers of isl, by its own functions and by islpy."""

from __future__ import annotations

import subprocess
import sys
from typing import TypeAlias

import pytest

from weft.analysis import isl
from weft.analysis.isl import FromLibrary, FromPackage, open_isl

ENOUGH = 200_000
Way: TypeAlias = type[FromLibrary] | type[FromPackage]
WAYS = pytest.mark.parametrize("way", [FromLibrary, FromPackage])
TRIANGLE = "[n] -> { [i, j] : 0 <= i < n and 0 <= j <= i }"
SQUARE = "[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }"
NOTHING = "[n] -> { [i, j] : 0 <= i < n and j > i and j < i }"


@WAYS
def test_a_set_is_empty_or_not(way: Way) -> None:
    asked = way(ENOUGH)
    assert asked.is_empty(NOTHING) is True
    assert asked.is_empty(TRIANGLE) is False


@WAYS
def test_a_set_lies_in_another_or_not(way: Way) -> None:
    asked = way(ENOUGH)
    assert asked.is_subset(TRIANGLE, SQUARE) is True
    assert asked.is_subset(SQUARE, TRIANGLE) is False


@WAYS
def test_too_many_operations_are_no_answer_and_the_next_question_has_one(way: Way) -> None:
    asked = way(800)
    assert asked.is_subset(SQUARE, TRIANGLE) is None
    assert asked.is_empty("{ [i] : i = 1 }") is False


@WAYS
def test_what_is_no_set_is_no_answer(way: Way, capfd: pytest.CaptureFixture[str]) -> None:
    asked = way(ENOUGH)
    assert asked.is_empty("{ [i] : i >") is None
    assert asked.is_subset(TRIANGLE, "{ ] }") is None
    assert asked.is_empty(NOTHING) is True
    assert capfd.readouterr() == ("", "")


def test_the_package_answers_where_the_functions_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden() -> object:
        raise AttributeError("isl_ctx_alloc")

    monkeypatch.setattr(isl, "_load_library", hidden)
    assert isinstance(open_isl(ENOUGH), FromPackage)


def test_the_package_is_not_imported_where_they_are_not() -> None:
    script = (
        f"import sys, weft.analysis.isl as isl; print(isl.open_isl(9999).is_empty({NOTHING!r}), 'islpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
