"""Arrays that are called what the user calls them."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from tests.passes.graphs import changed, graph
from tests.passes.loops import body_text
from weft.passes.name_arrays import NameArrays


def test_the_first_name_counts() -> None:
    before = graph(
        """
        site 0 f0@(0) {A: slot 0}
        alloc T.7 site 0
        write T.7[0] = 1.0:f8
        site 1 f0@(1) {A: slot 0, first: T.7[:]}
        site 2 f0@(2) {A: slot 0, first: T.7[:], second: T.7[:]}
        return T.7[:]
        """,
        "array T.7: f8[3] transient C",
    )
    made, _ = changed(NameArrays(), before)
    assert "first.7" in made.containers
    assert "T.7" not in body_text(made)
    assert "write first.7[0]" in body_text(made)


def test_what_has_no_name_keeps_its_own() -> None:
    before = graph("alloc T.7\nwrite T.7[0] = 1.0:f8\nreturn missing", "array T.7: f8[3] stack C")
    assert NameArrays().run(before, changed(NameArrays(), before)[1]) is before


def recurrence(x: Any) -> Any:
    result = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        result[i] = result[i - 1] * result[i - 1] + x[i]
    return result


def test_messages_speak_of_it() -> None:
    program = weft.program(recurrence)
    program(np.ones(5))
    assert "result[i] written at line" in str(program.explain())
    assert "double *result" in program.inspect_source()
