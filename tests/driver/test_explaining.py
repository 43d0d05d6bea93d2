"""What a program tells of itself, line by line: the loops it became, what they move, where the time goes."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft.analysis.traffic import traffic_of
from weft.driver.inspection import stages
from weft.ir.nodes import Map, Reduce


def steps(a: Any, n: int) -> Any:
    b = a * 2.0 + 1.0
    total = np.sum(np.exp(b))
    for t in range(1, n):
        b[1:] = b[:-1] + 0.5 * b[1:] + t
    return b / total


def prints(a: Any) -> Any:
    b = a @ a
    c = np.sort(b * 2.0 + a, axis=0)
    for i in range(len(a)):
        c[i] += b[i] * 2.0 + a[i]
    print(b[0, 0] < 2)
    return b * 2.0 + c


def called(function: Any, *args: Any, without: tuple[str, ...] = ()) -> Any:
    program = weft.program(function, without=without)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        program(*args)
    return program


def line_with(text: str, part: str) -> str:
    return next(line for line in text.splitlines() if part in line)


def test_lines_say_what_they_move_and_what_keeps_them_slow() -> None:
    together = called(steps, np.ones(50), 4).explain()
    assert "a loop in order; threads run all turns together and meet 2 times in each" in line_with(together, "for t in")
    text = called(steps, np.ones(50), 4, without=("team-loops",)).explain()
    assert re.search(r"\(\d+ bytes, \d+ operations? a point; (memory|compute)-bound\)", line_with(text, "np.sum"))
    assert "compute-bound" in line_with(text, "np.sum")  # an exponential per 8 bytes
    assert "stays a loop" in line_with(text, "for t in")
    assert "memory for an array" in line_with(text, "b = a * 2.0")
    shares = [int(share) for share in re.findall(r"^ *\d+ +(\d+)% ", text, re.MULTILINE)]
    assert 97 <= sum(shares) <= 103
    assert text.splitlines()[-1].startswith("Most could be won at line ")
    assert "the loop over t stays a loop" in text.splitlines()[-1]


def test_what_python_runs_is_named(capsys: Any) -> None:
    text = called(prints, np.eye(3)).explain()
    capsys.readouterr()
    assert " ! |" in line_with(text, "print(b[0, 0] < 2)")
    assert "BLAS" in line_with(text, "a @ a")


class Tags(HTMLParser):
    """Counts what was opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"br", "meta"}:
            self.open.append(tag)
        self.outside += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_shows_the_source(tmp_path: Path, capsys: Any) -> None:
    explanation = called(prints, np.eye(3)).explain()
    capsys.readouterr()
    explanation.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert not tags.outside
    assert "print(b[0, 0] < 2)" in tags.text  # escaped in the page
    assert "class='code python'" in page
    assert "rgba(240, 140, 0" in page
    assert explanation._repr_html_() in page


def test_estimates_follow_the_nest() -> None:
    program = called(steps, np.ones(50), 4)
    engine = program._started()
    found = list(traffic_of(stages(engine)[-1].program))
    sums = [amount for node, amount in found if isinstance(node, Reduce)]
    maps = [amount for node, amount in found if isinstance(node, Map)]
    assert [amount.is_memory_bound for amount in sums] == [False]
    assert all(amount.points >= 999 for amount in (*sums, *maps))
    assert all(amount.bytes >= 8 for amount in maps)


def test_before_a_call_there_is_nothing_to_tell() -> None:
    assert "has not been compiled yet: call it first" in weft.program(steps).explain()


def nothing() -> Any: ...


def test_a_program_that_does_nothing_is_compiled() -> None:
    assert " = |" in called(nothing).explain()


def in_several_lines(x, w):
    y = x * 2.0
    z = y + w
    total = np.sqrt(z).sum()
    return z - total


def along_rows(x, a):
    y = np.zeros_like(x)
    for j in range(1, x.shape[1]):
        y[:, j] = a * y[:, j - 1] + x[:, j]
    return y


def test_lines_say_what_they_are_fused_with() -> None:
    program = weft.program(in_several_lines)
    program(np.ones((5, 6)), np.ones((5, 6)))
    first = in_several_lines.__code__.co_firstlineno
    text = str(program.explain())
    assert f"y = x * 2.0                fused with line {first + 2}" in text
    assert f"fused with lines {first + 3} and {first + 4}" in text


def test_the_last_word_on_a_loop_holds() -> None:
    program = weft.program(along_rows)
    program(np.ones((5, 6)), 0.5)
    text = str(program.explain())
    assert "run side by side" in text
    assert "stays a loop" not in text
