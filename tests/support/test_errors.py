from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from tests.conftest import Golden
from weft.support.errors import CompileError, FallbackWarning, InternalError, PerformanceWarning, WeftError
from weft.support.spans import Span

HEAT = Span("heat.py", 12, 8, 13, "    y = A + b")


def mark(text: str, word: str) -> Span:
    start = text.index(word)
    return Span("long.py", 7, start, start + len(word), text)


def carets_mark(error: CompileError) -> str:
    """The characters of the source line above the carets of the message."""
    _, _, source, carets, *_ = str(error).split("\n")
    return "".join(above for above, below in zip(source, carets, strict=False) if below == "^")


def test_message_has_code_place_caret_and_help(golden: Golden) -> None:
    error = CompileError(
        "E103", "shapes (4, 3) and (4,) do not broadcast", HEAT, "write b[:, None] to align b with the rows of A"
    )

    assert str(error) == golden


def test_without_a_hint_there_is_no_help_line() -> None:
    assert str(CompileError("E103", "no", HEAT)).split("\n") == [
        "error[E103]: no",
        "  --> heat.py:12:9",
        "12 |     y = A + b",
        "   |         ^^^^^",
    ]


@pytest.mark.parametrize("line", [1, 99, 12345])
def test_the_gutter_is_as_wide_as_the_line_number(line: int) -> None:
    lines = str(CompileError("E1", "m", Span("f.py", line, 4, 5, "y = x"), "h")).split("\n")

    assert {text.index(sign) for text, sign in zip(lines[2:], "||=", strict=True)} == {len(str(line)) + 1}


def test_an_empty_span_still_has_a_caret() -> None:
    assert str(CompileError("E1", "m", Span("f.py", 3, 2, 2, "ab"))).endswith("\n  |   ^")


def test_text_is_ten_lines_at_most(golden: Golden) -> None:
    many = "\n".join(f"line {number}" for number in range(20))
    text = str(CompileError("E1", many, HEAT, many))

    assert len(text.split("\n")) == 10
    assert text == golden


@pytest.mark.parametrize("position", [0, 10, 49, 60, 300, 930, 990])
def test_an_over_long_line_is_cut_around_the_caret(position: int) -> None:
    text = "x" * position + "target" + "y" * (994 - position)
    error = CompileError("E1", "m", mark(text, "target"))

    assert carets_mark(error) == "target"
    assert max(map(len, str(error).split("\n"))) <= 120
    assert f"long.py:7:{position + 1}" in str(error)  # the place is the file's, not the excerpt's


def test_a_span_longer_than_the_excerpt_shows_its_beginning() -> None:
    error = CompileError("E1", "m", mark("    " + "z" * 500 + "    ;", "z" * 500))

    assert carets_mark(error).startswith("z" * 50)
    assert max(map(len, str(error).split("\n"))) <= 120


def test_tabs_stand_above_tabs() -> None:
    assert str(CompileError("E1", "m", mark("\ty = \tbad", "bad"))).endswith("\n  | \t    \t^^^")


def test_compile_errors_survive_pickling() -> None:
    error = CompileError("E103", "shapes", HEAT, "help")

    for clone in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(clone), clone.code, clone.span) == (str(error), "E103", HEAT)


def test_internal_error_asks_for_a_report(golden: Golden) -> None:
    assert str(InternalError("node 7 has no container")) == golden


def test_internal_error_names_the_reproducer(golden: Golden) -> None:
    error = InternalError("node 7 has no container", Path("/tmp/weft/reproducer.py"))

    assert str(error) == golden
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_families() -> None:
    assert issubclass(CompileError, WeftError)
    assert issubclass(InternalError, WeftError)
    assert not issubclass(CompileError, InternalError)
    assert issubclass(FallbackWarning, UserWarning)
    assert issubclass(PerformanceWarning, UserWarning)
