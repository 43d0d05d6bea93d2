"""Names live before statements. (That none is missing is also what the tests of continuations show.)"""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest

from weft.frontend.liveness import (
    bound_before,
    captured_names,
    live_after_call,
    live_before,
    local_names,
    names_read,
    parameters,
    statement_at,
    statements,
)


def parse(text) -> Any:
    return ast.parse(textwrap.dedent(text)).body[0]


def live_by_line(text, table=live_before):
    """The live names as one string per line of the function's text."""
    tree = parse(text)
    live = table(tree)
    return {statement_at(tree, path).lineno: " ".join(sorted(names)) for path, names in live.items()}


def test_the_example_of_the_module():
    text = "def f(a, n):\n s = 0\n for i in range(n):\n  s += a[i]\n return s"
    assert live_by_line(text) == {2: "a n", 3: "a n s", 4: "a i s", 5: "s"}


def test_paths():
    tree = parse(
        """
        def f(a):
            if a:
                x = 1
            else:
                for i in a:
                    x = 2
                else:
                    x = 3
            with a:
                x = 4
            return x
        """
    )
    found = {path: type(stmt).__name__ for path, stmt in statements(tree)}
    assert found == {
        (0,): "If",
        (0, 0, 0): "Assign",
        (0, 1, 0): "For",
        (0, 1, 0, 0, 0): "Assign",
        (0, 1, 0, 1, 0): "Assign",
        (1,): "With",
        (1, 0, 0): "Assign",
        (2,): "Return",
    }
    assert set(live_before(tree)) == set(bound_before(tree)) == set(found)
    for path, stmt in statements(tree):
        assert statement_at(tree, path) is stmt
    for path in [(), (3,), (0, 0), (0, 2, 0), (2, 0, 0), (-9,)]:
        with pytest.raises(ValueError, match="path"):
            statement_at(tree, path)


def test_branches_and_returns():
    text = """\
        def f(a, b, c):
            if a:
                return b
            x = c
            b = 1
            return x + b
    """
    assert live_by_line(text) == {2: "a b c", 3: "b", 4: "c", 5: "x", 6: "b x"}


def test_loops_carry_names_round():
    text = """\
        def f(n, a):
            b = 0
            while n:
                if a > 3:
                    break
                if a > 2:
                    a += 1
                    continue
                c = b
                b = a
                n = c
            else:
                a = n
            return a
    """
    live = live_by_line(text)
    assert live[3] == live[4] == "a b n"
    assert live[5] == "a"  # break: past the else
    assert live[8] == "a b n"
    assert live[9] == "a b"
    assert live[11] == "a b c"
    assert live[13] == "n"


def test_a_for_loop_reads_its_iterable_once_and_sets_its_target():
    text = """\
        def f(A, i, k):
            for i in A:
                k = i
            else:
                pass
            return k, i
    """
    live = live_by_line(text)
    assert live[2] == "A i k"  # with no item, the old i is returned
    assert live[3] == "i"
    assert live[5] == "i k"


def test_del_and_augmented_assignment_read():
    assert live_by_line("def f(a, b):\n del a\n b += 1\n c = b\n b = 2") == {2: "a b", 3: "b", 4: "b", 5: ""}


def test_targets_read_their_index_and_base():
    assert live_by_line("def f(A, i, v):\n A[i] = v\n A.x = 1\n i, A[i] = v") == {2: "A i v", 3: "A i v", 4: "A i v"}


def test_only_local_names_count():
    assert live_by_line("def f(a):\n global G\n G = a\n return np.sum(G + H)") == {2: "a", 3: "a", 4: ""}


def test_what_a_nested_function_reads_is_live_everywhere():
    text = "def f(a, b):\n x = a\n def g(y, z=b):\n  w = y\n  return x + w\n x = 1\n return g(2)"
    live = live_by_line(text)
    assert live[3] == "b x"
    assert live[6] == "b g x"
    assert captured_names(parse(text)) >= {"x"}


def test_comprehensions_read_what_is_not_their_own():
    text = "def f(a, b, x):\n y = [x + b for x in a]\n return y"
    assert live_by_line(text) == {2: "a b", 3: "y"}
    assert local_names(parse(text)) == {"a", "b", "x", "y"}
    assert live_by_line("def f(x):\n y = [x for x in x]\n return y")[2] == "x"
    assert local_names(parse("def f(a):\n return [(w := q) for q in a]")) == {"a", "w"}


def test_with_and_try_read_everything():
    text = """\
        def f(a, b, c):
            try:
                x = a
                y = 1
            except E as e:
                x = b
            c = 1
            return x
    """
    live = live_by_line(text)
    assert live[2] == live[3] == live[4] == "a b x"
    assert live[7] == "x"


def test_local_names_of_every_kind():
    text = """\
        def f(p, /, q, *r, s, **t):
            import a.b, c as d
            from m import n as o
            def g(): inner = 1
            class K: attr = 1
            for u, (v, *w) in p: pass
            with q as x: pass
            try: pass
            except E as y: pass
            z: int
            match p:
                case [1, *aa]: pass
                case {"k": bb, **cc}: pass
            (dd := 1)
            global gg
            gg = 1
            ee[0] = ff.h = 1
    """
    expected = ["p", "q", "r", "s", "t", "a", "d", "o", "g", "K", "u", "v", "w", "x", "y", "z", "aa", "bb", "cc", "dd"]
    assert local_names(parse(text)) == set(expected)
    assert parameters(parse(text)) == ("p", "q", "r", "s", "t")


def test_names_read_by_functions_are_their_free_names():
    assert names_read(ast.parse("lambda x, y=d: x + z + (lambda: x + w)()").body[0]) == {"d", "z", "w"}
    assert names_read(parse("@deco\ndef g(x: T, k=d) -> R:\n nonlocal n\n n = x\n y = 1\n return y + z")) == {
        "deco", "T", "d", "R", "n", "z",
    }  # fmt: skip


def test_live_after_call_leaves_out_the_target():
    text = """\
        def f(a, b):
            t = g(a)
            for i in range(3):
                u = g(b)
                h(u)
                t = g(t)
            x, y = g(1)
            return t
    """
    assert live_by_line(text, live_after_call) == {2: "b", 4: "b t", 5: "b t", 6: "b"}


def test_bound_before():
    text = """\
        def f(a):
            if a:
                x = y = 1
            else:
                x = 2
            for i in a:
                z = 1
                if z:
                    w = 1
                    break
                del x
            else:
                w = 2
            while a:
                return q
            del a
            v = 1
    """
    bound = live_by_line(text, bound_before)
    assert bound[2] == bound[3] == "a"
    assert bound[6] == "a x"
    assert bound[7] == "a i"  # an earlier iteration may have deleted x
    assert bound[9] == "a i z"
    assert bound[13] == "a"
    assert bound[14] == "a"
    assert bound[17] == ""


def test_a_break_limits_what_is_bound_after_the_loop():
    bound = live_by_line(
        "def f(a):\n for i in a:\n  if i:\n   break\n  w = 1\n else:\n  w = 2\n return w", bound_before
    )
    assert bound[8] == "a"
