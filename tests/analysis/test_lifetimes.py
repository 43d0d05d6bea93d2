"""When nodes need memory: loops hand it on at their head, sites keep it as long as one may leave through them."""

from __future__ import annotations

from tests.passes.graphs import SITE, graph
from weft.analysis.lifetimes import Lifetimes, end, head, lifetimes
from weft.ir.nodes import Guard, Loop, Node, Return, Site

T = "array T: f8[%n.1] transient C"
STORE = "write T[0] = 1.0:f8"
GUARD = 'guard less(1*%n.1, 9): b1 else site 1 "long"'


def read(text: str, *arrays: str) -> tuple[tuple[Node, ...], Lifetimes]:
    made = graph(f'{SITE}\nguard greater_equal(1*%n.1, 1): b1 else site 0 "empty"\nalloc T site 0\n{text}', T, *arrays)
    return made.body.nodes, lifetimes(made.body.nodes, made.containers)


def place(nodes: tuple[Node, ...], kind: type[Node]) -> int:
    """The last node of a kind."""
    return max(k for k, node in enumerate(nodes) if isinstance(node, kind))


def test_an_allocation_is_no_use() -> None:
    nodes, times = read(f"%a.20: f8 = A[0]\n{STORE}\nreturn missing")
    assert times.first["T"] == times.last["T"] == end(len(nodes) - 2)


def test_names_of_an_alias_are_those_of_its_base() -> None:
    nodes, times = read(f"{STORE}\nreturn V[:]", "array V: f8[%n.1] alias of T C")
    assert times.last["T"] == end(place(nodes, Return))
    assert "V" not in times.last


def test_a_site_counts_where_one_leaves_through_it() -> None:
    shown = "site 1 f0@(1) {T: T[:]}"
    nodes, times = read(f"{STORE}\n{shown}\n%a.20: f8 = A[0]\n{GUARD}\n%a.21: f8 = A[0]\nreturn missing")
    assert times.last["T"] == end(place(nodes, Guard))
    nodes, times = read(f"{STORE}\n{shown}\n%a.20: f8 = A[0]\nreturn missing")
    assert times.last["T"] < end(place(nodes, Site))


def test_a_loop_takes_its_carries_at_its_head() -> None:
    refs = ("size %q.9: py_int in [0, 1000]", "array X: f8[%q.9] ref S may alias (A, T)")
    turn = "for %i.10: py_int from 0 to %k.5 - 1 in 0:%k.5 carry (X = T[:]) {"
    nodes, times = read(f"{STORE}\n{turn}\ncontinue A[:]\n}}\nreturn X[:]", *refs)
    assert times.last["T"] == head(place(nodes, Loop))
    assert times.last["X"] == end(place(nodes, Return))
    nodes, times = read(f"{STORE}\n{turn}\ncontinue T[:]\n}}\nreturn missing", *refs)
    assert times.last["T"] == end(place(nodes, Loop))
