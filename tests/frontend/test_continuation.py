"""A function stopped anywhere and resumed by its continuation does what it would have done."""

from __future__ import annotations

import ast
import random
import traceback
from typing import Any

import numpy as np
import pytest

from tests.frontend.stopping import check_every_stop, function_tree
from weft.frontend.continuation import UNBOUND, build_continuation, iterate, rest_names, run_frames
from weft.frontend.liveness import captured_names, live_before, local_names, statement_at
from weft.frontend.normalise import normalise

# ---------------------------------------------------------------- programs


PROGRAMS = {
    "straight": ("def f(a, b):\n c = a + b\n c *= 2\n d = c - a\n return c, d", (3, 4)),
    "if_else": (
        """
        def f(a, b):
            if a < b:
                c = a
                c += 1
            elif a == b:
                c = 7
                c -= b
            else:
                c = b
                if c > 2:
                    c = -c
                c *= 3
            return c
        """,
        (9, 5),
    ),
    "elif": ("def f(a, b):\n if a < b:\n  c = 1\n elif a == b:\n  c = 2\n  c += a\n else:\n  c = 3\n return c", (5, 5)),
    "for_sum": ("def f(A):\n s = 0.0\n for i in range(len(A)):\n  x = A[i]\n  s += x\n return s", (np.arange(4.0),)),
    "for_step": ("def f(n):\n r = []\n for i in range(n, -3, -2):\n  r.append(i)\n return r, i", (7,)),
    "for_empty": ("def f(n):\n for i in range(n):\n  pass\n else:\n  n = -1\n return i + n", (0,)),
    "rows": ("def f(A):\n for row in A:\n  row += 1\n  row *= 2\n return A.sum()", (np.ones((3, 2)),)),
    "items_seen_when_reached": (
        "def f(A):\n r = []\n for x in A:\n  A[-1] += 10\n  r.append(float(x))\n return r",
        (np.arange(4.0),),
    ),
    "reversed": (
        "def f(A):\n r = []\n for x in reversed(A):\n"
        "  r.append(x)\n for i in reversed(range(1, 6, 2)):\n  r.append(i)\n return r",
        ([1, 2, 3],),
    ),
    "enumerate_zip": (
        """
        def f(A, B):
            s = 0
            for k, (a, b) in enumerate(zip(A, B), 1):
                s += k * a
                if k == 2:
                    continue
                s -= b
            return s
        """,
        ([1, 2, 3, 4], [5, 6, 7]),
    ),
    "zip_of_enumerate": (
        "def f(A, n):\n s = 0\n for (i, a), j in zip(enumerate(A), range(n, 0, -1)):\n"
        "  s += i * a\n  s += j\n return s",
        (np.arange(3), 5),
    ),
    "nested": (
        """
        def f(A, n):
            for i in range(n):
                t = i
                for j in range(i, n):
                    A[i, j] = t
                    t += 1
                A[i] += 1
            return A, t
        """,
        (np.zeros((3, 3)), 3),
    ),
    "break_else": (
        """
        def f(n, limit):
            found = []
            for i in range(2, n):
                for j in range(2, i):
                    if i % j == 0:
                        if i > limit:
                            break
                        found.append(-i)
                        break
                else:
                    found.append(i)
                    continue
                if i > limit:
                    break
            else:
                found.append(0)
            return found
        """,
        (9, 6),
    ),
    "while_else": (
        """
        def f(n):
            k = 0
            while n > 1:
                k += 1
                if n % 2:
                    n = 3 * n + 1
                    continue
                n //= 2
                if k > 30:
                    break
            else:
                k = -k
            return k
        """,
        (6,),
    ),
    "while_break": (
        """
        def f(n):
            k = 0
            while True:
                while k < n:
                    k += 2
                    if k == 4:
                        break
                else:
                    break
                n += 1
            return k, n
        """,
        (5,),
    ),
    "else_breaks_outer": (
        """
        def f(n):
            r = []
            for i in range(n):
                j = i
                while j:
                    j -= 1
                    r.append(j)
                else:
                    if i == 2:
                        break
                    r.append(i)
                    continue
            else:
                r = None
            return r
        """,
        (5,),
    ),
    "return_in_loops": (
        """
        def f(A, x):
            for i in range(A.shape[0]):
                for j in range(A.shape[1]):
                    A[i, j] += 1
                    if A[i, j] == x:
                        return i, j
            return None
        """,
        (np.arange(6).reshape(2, 3), 5),
    ),
    "unbound": ("def f(c):\n if c:\n  x = 1\n c = 2\n return x", (False,)),
    "unbound_loop": ("def f(n):\n for i in range(n):\n  x = i\n  n = x\n return x + i", (0,)),
    "unbound_later": ("def f(n):\n for i in range(n):\n  if i:\n   y = x\n  z = i\n  x = z\n return y", (3,)),
    "del": ("def f(n):\n x = n\n for i in range(3):\n  y = x\n  if i == 1:\n   del x\n return y", (3,)),
    "del_unbound": ("def f(n):\n if n:\n  x = 1\n n = 2\n del x\n return n", (0,)),
    "error": ("def f(A, n):\n for i in range(n):\n  A[i] = i\n  n = i\n return A", (np.zeros(3), 5)),
    "error_words": ("def f(A, B):\n B[0] = 1\n C = A + B\n return C", (np.zeros(3), np.zeros(4))),
    "unpack_error": ("def f(A):\n for a, b in A:\n  s = a\n  s += b\n return s", ([(1, 2), (3,)],)),
    "aug": ("def f(A, i):\n A[i] += 1\n A[i:] *= 2\n A = A + 1\n A -= i\n return A", (np.arange(4.0), 1)),
    "swap": ("def f(a, b, n):\n for t in range(n):\n  a[0] += 1\n  a, b = b, a\n return a, b", ([1], [2], 3)),
    "maps": (
        "def f(A):\n for i, j in weft_map[0:2, 1:6:2]:\n  A[i, j] += i\n"
        "  A[i, 0] += j\n for k in weft_map[1:3]:\n  A[0, k] = k\n return A",
        (np.zeros((2, 6)),),
    ),
    "calls": (
        """
        def f(A):
            t = g(A)
            for i in range(3):
                h(A, i)
                u = g(A)
                if u > 5:
                    v = g(A[1:])
                    t += v
                t += u
            return t
        """,
        (np.arange(3.0),),
    ),
    "comprehension": (
        "def f(A):\n x = 2\n y = [x * a for a in A]\n"
        " x = 3\n z = sum(x * a for a in A)\n return y, z", ([1, 2],)),
    "nested_def": (
        "def f(a):\n x = a\n def g(y):\n"
        "  return x + y\n b = g(1)\n x = 10\n return b + (lambda: x)()", (5,)),
    "assert": ("def f(a):\n b = a\n assert a < 3, b\n return b", (5,)),
    "docstring_only": ('def f():\n "nothing"', ()),
    "opaque": (
        "def f(a):\n b = 1\n with np.errstate(all='ignore'):\n  b = a\n"
        " try:\n  b = 1 / a\n except ZeroDivisionError as e:\n  b = str(e)\n return b", (0,)),
    "errstate": (
        "def f(A):\n s = 0\n for i in range(3):\n  with np.errstate(all='ignore'):\n"
        "   s = s + i\n   t = np.geterr()['divide']\n return s, t, np.geterr()['divide']", (0,)),
    "try_in_a_loop": (
        "def f(a):\n out = []\n x = y = 0\n for i in range(4):\n  try:\n   x = a[i]\n   y = 6 // x\n"
        "  except ZeroDivisionError:\n   y = -1\n   continue\n  except IndexError as e:\n   out = out + [str(e)]\n"
        "   break\n  else:\n   y = y + 1\n   x = x + y\n  finally:\n   out = out + [y]\n  out = out + [x]\n"
        " return out", ([1, 0, 3],)),
    "finally": (
        "def f(a):\n b = 1\n try:\n  b = b + 1\n  b = b // a\n finally:\n  b = b + 5\n  c = b\n return b, c", (0,)),
}  # fmt: skip


def g(A):
    return float(A.sum())


def h(A, i):
    A[i] += i


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "nested_def"])
def test_a_stopped_function_goes_on_as_if_nothing_had_happened(name):
    text, arguments = PROGRAMS[name]
    total, _ = check_every_stop(text, arguments, {"g": g, "h": h})
    assert total > 0


def test_every_statement_of_the_loops_was_a_stop():
    for name in ("nested", "break_else", "while_else", "else_breaks_outer", "return_in_loops"):
        text, arguments = PROGRAMS[name]
        tree = function_tree(text)
        _, paths = check_every_stop(text, arguments)
        missed = set(live_before(tree)) - paths
        assert all(statement_at(tree, path) for path in missed)
        assert len(missed) <= 2, (name, missed)


INLINED = {
    "expressions": "def f(A):\n x = A[0] + g(A) * (g(A[1:]) if A[1] else 1)\n A[0] += g(A)\n return x < g(A) < 9, A[0]",
    "while": "def f(A):\n k = 0\n while g(A) < 9 or k < 2:\n  k += 1\n  A[1] += g(A)\n else:\n  k = -k\n return k",
    "unbound": "def f(A):\n for i in range(0):\n  x = 1\n A[0] = 5\n return x + g(A)",
}


@pytest.mark.parametrize("name", INLINED)
def test_normalised_functions_can_be_stopped_anywhere_too(name):
    tree = function_tree(INLINED[name])
    calls = {node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "g"}
    new = normalise(tree, frozenset((call.lineno, call.col_offset) for call in calls))
    check_every_stop(ast.unparse(new), (np.arange(3.0),), {"g": g})


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed):
    text = random_program(random.Random(seed))
    check_every_stop(text, (3, 4, [1, 2, 3]), every=1 + seed % 3)


def random_program(rng):
    """A function of random structure that always ends: loops are short, `while` loops count down a budget."""
    lines = ["def f(n, m, L):", "    budget = 40"]
    _random_block(rng, lines, 1, False, 0)
    lines.append("    return a, b, L")
    return "\n".join(lines)


def _random_block(rng, lines, depth, in_loop, loops):
    for _ in range(rng.randint(1, 4)):
        _random_statement(rng, lines, depth, in_loop, loops)


def _random_statement(rng, lines, depth, in_loop, loops):
    pad = "    " * depth
    simple = [
        "a = n",
        "b = m",
        "a = b + 1",
        "b += 1",
        "n = n + 1",
        "m -= 1",
        "L.append(n)",
        "a = L[n % 4]",
        "c = a; del c",
    ]
    jumps = ["break", "continue"] if in_loop else []
    if depth >= 5 or rng.random() < 0.5:
        lines.append(pad + rng.choice(simple if rng.random() < 0.85 else [*jumps, "return a", "a = c"]))
        return
    kind = rng.choice(["if", "for", "while"])
    if kind == "if":
        lines.append(f"{pad}if (n + {rng.randint(0, 3)}) % 2:")
        _random_block(rng, lines, depth + 1, in_loop, loops)
    elif kind == "for":
        sources = [
            "range(2)",
            "range(m, m - 3, -1)",
            "enumerate(range(3))",
            "zip(L[:2], range(9))",
            "reversed(range(2))",
        ]
        lines.append(f"{pad}for {rng.choice('ab')} in {rng.choice(sources)}:")
        lines.append(f"{pad}    a = 1" if rng.random() < 0.7 else f"{pad}    pass")
        _random_block(rng, lines, depth + 1, True, loops + 1)
    else:
        lines.append(f"{pad}while budget > 0 and n < {rng.randint(4, 9)}:")
        lines.append(f"{pad}    budget -= 1")
        _random_block(rng, lines, depth + 1, True, loops + 1)
    if rng.random() < 0.4:
        lines.append(f"{pad}else:")
        _random_block(rng, lines, depth + 1, in_loop, loops)


# ---------------------------------------------------------------- details


def continuation_of(text, path, names, after_call=False, filename="<test>", globals_dict=None):
    return build_continuation(
        function_tree(text), path, names, after_call=after_call, globals_dict=globals_dict or {}, filename=filename
    )


@pytest.mark.parametrize(
    ("rest", "items"),
    [
        (("range", 1, 8, 3), [1, 4, 7]),
        (("range", 2, -1, -1), [2, 1, 0]),
        (("items", "abcdef", 1, 2, 2), ["b", "d"]),
        (("items", "abc", 2, 3, -1), ["c", "b", "a"]),
        (("enumerate", 5, ("range", 0, 2, 1)), [(5, 0), (6, 1)]),
        (("zip", ("range", 0, 3, 1), ("items", "xy", 0, 2, 1)), [(0, "x"), (1, "y")]),
        (("map", ((0, 2, 1), (1, 4, 2)), 1), [(0, 3), (1, 1), (1, 3)]),
        (("map", ((3, 6, 1),), 1), [4, 5]),
        (("map", ((0, 2, 1), (3, 3, 1)), 0), []),
    ],
)
def test_iterate(rest, items):
    assert list(iterate(rest)) == items


def test_iterate_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="not a description"):
        iterate(("generator", 1))


def test_rest_names_count_the_for_loops_entered_through_their_body():
    tree = function_tree(
        """
        def f(a):
            for x in a:
                while x:
                    if a:
                        for y in a:
                            pass
                        else:
                            a = 1
        """
    )
    assert rest_names(tree, (0,)) == ()
    assert rest_names(tree, (0, 0, 0)) == ("__weft_rest0",)
    assert rest_names(tree, (0, 0, 0, 0, 0, 0, 0)) == ("__weft_rest0",)
    assert rest_names(tree, (0, 0, 0, 0, 0, 0, 0, 0, 0)) == ("__weft_rest0", "__weft_rest1")
    assert rest_names(tree, (0, 0, 0, 0, 0, 0, 0, 1, 0)) == ("__weft_rest0",)


def test_frames_run_from_the_innermost_out():
    outer = continuation_of("def outer(a):\n t = inner(a)\n return t, a", (0,), ("a",), after_call=True)
    middle = continuation_of("def inner(b):\n leaf(b)\n return b + 1", (0,), ("b",), after_call=True)
    log: list[Any] = []
    leaf = continuation_of("def leaf(c):\n log.append(c)", (0,), ("c",), globals_dict={"log": log})
    assert run_frames([(outer, [1]), (middle, [2]), (leaf, [3])]) == (3, 1)
    assert log == [3]
    assert run_frames([(leaf, [4])]) is None


def test_after_call_wants_a_call():
    with pytest.raises(ValueError, match="not a call statement"):
        continuation_of("def f(a):\n a = 1", (0,), ("a",), after_call=True)


def test_tracebacks_show_the_function_and_its_line():
    text = "def area(a, n):\n    for i in range(n):\n        b = 1 // (a - i)\n    return b\n"
    run = continuation_of(text, (0, 0, 0), ("a", "i", "__weft_rest0"), filename="/somewhere/area.py")
    assert (run.__name__, run.__qualname__, run.__code__.co_name) == ("area", "area", "area")
    with pytest.raises(ZeroDivisionError) as caught:
        run(2, 0, ("range", 1, 5, 1))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name, last.lineno) == ("/somewhere/area.py", "area", 3)


def test_a_lambda_keeps_its_name():
    tree = function_tree("def f(a): return a + 1")
    tree.name = "<lambda>"
    run = build_continuation(tree, (0,), ("a",), after_call=False, globals_dict={}, filename="x")
    assert run(1) == 2
    assert run.__code__.co_name == "<lambda>"


def test_global_declarations_are_kept():
    text = """
        def f(a):
            if a:
                global count, other
                count = a
            for i in range(a):
                count += 1
            other = 1
            return count
    """
    names: dict[str, Any] = {"count": 5}
    run = continuation_of(text, (1, 0, 0), ("a", "i", "__weft_rest0"), globals_dict=names)
    assert run(3, 0, ("range", 1, 3, 1)) == 8
    assert names == {"count": 8, "other": 1, **{k: v for k, v in names.items() if k == "__builtins__"}}


def test_free_variables_are_ordinary_names():
    run = continuation_of("def f(a):\n b = a\n return b * scale", (1,), ("b", "scale"))
    assert run(3, 4) == 12


def test_local_names_that_are_not_handed_over_stay_local():
    run = continuation_of("def f(a):\n b = a\n a = 1\n return b", (1,), ("a",), globals_dict={"b": "global"})
    with pytest.raises(UnboundLocalError, match="local variable 'b'"):
        run(1)


def test_future_annotations_of_the_module_count():
    import __future__

    text = "def f(a):\n def g(x: nowhere) -> nothing:\n  return x\n return g(a)"
    assert continuation_of(text, (0,), ("a",), globals_dict={"annotations": __future__.annotations})(2) == 2
    with pytest.raises(NameError):
        continuation_of(text, (0,), ("a",))(2)


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("def f():\n yield 1", (0,), "generator"),
        ("def f():\n x = 1\n def g():\n  pass\n nonlocal y", (0,), "nonlocal"),
        ("def f(a):\n with a:\n  pass", (0, 0, 0), "with"),
        ("def f(*a):\n return super().f()", (0,), "super"),
        ("def f(a):\n def g(b):\n  return super().f()\n return g(a)", (1,), "super"),
        ("def f(a):\n global a0\n a0 = 1", (1,), "global"),
        ("def f(a):\n for i in a:\n  pass", (0, 0, 0), "__weft_rest0"),
        ("def f(a):\n pass", (1,), "path"),
        ("def f(a):\n pass", (0, 0), "path"),
    ],
)
def test_what_cannot_be_resumed_is_refused(text, path, reason):
    with pytest.raises(ValueError, match=reason):
        continuation_of(text, path, ("a0",))


def test_a_statement_with_a_nested_function_resumes_before_it():
    text, _ = PROGRAMS["nested_def"]
    run = continuation_of(text, (1,), ("x",))
    assert run(5) == 16
    tree = function_tree(text)
    assert captured_names(tree) == {"x"}
    assert local_names(tree) == {"a", "x", "g", "b"}


def test_the_same_continuation_is_compiled_once():
    tree = function_tree("def f(a):\n b = a\n return b")
    first, second = (
        build_continuation(tree, (1,), ("b",), after_call=False, globals_dict={}, filename="x") for _ in range(2)
    )
    assert first.__code__ is second.__code__


def test_the_unbound_marker_has_a_name():
    assert repr(UNBOUND) == "<unbound>"
