"""Normalised functions do the same things in the same order, and every inlined call is a statement of its own."""

from __future__ import annotations

import ast
import random
import textwrap
from typing import Any

import pytest

from weft.frontend.liveness import call_of_statement
from weft.frontend.normalise import normalise

INLINED = frozenset({"f", "g", "h"})


def parse(text) -> Any:
    return ast.parse(textwrap.dedent(text)).body[0]


def places(tree):
    """Where the calls of f, g and h stand."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return frozenset(
        (node.lineno, node.col_offset) for node in calls if isinstance(node.func, ast.Name) and node.func.id in INLINED
    )


def normalised(text) -> Any:
    tree = parse(text)
    return normalise(tree, places(tree))


def body_text(text):
    return ast.unparse(ast.Module(normalised("def p(a, b, c, x, y, A, o):\n" + textwrap.indent(text, "    ")).body, []))


class Logged(list):
    """A list that notes what is read and written."""

    log: list

    def __init__(self, log, items):
        super().__init__(items)
        self.log = log

    def __getitem__(self, index):
        self.log.append(("get", str(index)))
        return list.__getitem__(self, index) if not isinstance(index, tuple) else index[0]

    def __setitem__(self, index, value):
        self.log.append(("set", str(index), value))
        if not isinstance(index, tuple):
            list.__setitem__(self, index, value)


class Holder:
    def __init__(self, log):
        object.__setattr__(self, "log", log)
        object.__setattr__(self, "x", 3)

    def __getattribute__(self, name):
        if name == "x":
            object.__getattribute__(self, "log").append(("attribute", name))
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        object.__getattribute__(self, "log").append(("set attribute", name, value))
        object.__setattr__(self, name, value)

    def method(self, *args, **kwargs):
        return len(args) + len(kwargs)


def run(tree, flags):
    """Everything one can see of a run: result or exception, and the order of all that happened."""
    log = []
    A = Logged(log, [5, 1, 4, 2])
    o = Holder(log)

    def call(name, result):
        def function(*args, **kwargs):
            log.append((name, repr(args), repr(kwargs)))
            object.__setattr__(o, "x", o.x + 1)
            list.__setitem__(A, 1, list.__getitem__(A, 1) + 1)
            if len(log) > 200:
                raise RuntimeError("too long")
            return result

        return function

    def pure(*args):
        log.append(("pure", repr(args)))
        return sum(arg for arg in args if isinstance(arg, int))

    names = {
        "f": call("f", flags[0]),
        "g": call("g", flags[1]),
        "h": call("h", flags[2]),
        "pure": pure,
        "np": Holder(log),
        "z": 4,
    }
    exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), "<test>", "exec"), names)
    try:
        result = ("returned", repr(names["p"](1, 2, flags[3], 0, 3, A, o)))
    except Exception as error:  # noqa: BLE001 - compared with the original's
        result = ("raised", type(error), str(error))
    return result, log, list(A)


BODIES = [
    "x = f(a)\nreturn x",
    "return f(a)",
    "f(a)",
    "f(g(a), h(b))",
    "return A[0] + f(a)",
    "return f(a) + A[1]",
    "return A[1] * f(A[1]) + A[1] * g(A[1]) - A[1]",
    "return (a, A[1], f(a), A[1])",
    "return [A[1], *A, f(a), *A]",
    "return {A[1]: f(a), **{1: A[1]}, g(b): A[1]}",
    "return pure(A[1], f(a), o.x, *A, *(1, 2))",
    "return pure(*A, f(a))",
    "return o.method(o.x, f(a), k=o.x, **{'z': A[1]}, y=g(b))",
    "return o.method(f(a))",
    "return np.method(o.x, f(a))",
    "return -f(a) - o.x",
    "A[1] = f(a)",
    "A[f(a) % 4] = A[1]",
    "A[1] += f(a)",
    "A[a] += f(A[a])",
    "A[pure(a)] += f(a)",
    "A[f(a) % 4] += 1",
    "A[f(a) % 4] += g(b)",
    "A[a, pure(1)] += f(a)",
    "A[a:pure(3):b] = [f(a)]",
    "return A[pure(0):f(a)]",
    "return A[a, pure(1):f(a), :]",
    "o.x += f(a)",
    "x += f(a)\nreturn x",
    "x = y = f(a)\nreturn x + y",
    "x, y = f(a), g(b)\nreturn x - y",
    "x, A[f(a) % 4], *y = 1, 2, 3, 4\nreturn x, y",
    "x = A[f(x) % 4] = A[1]\nreturn x",
    "a, A[f(a) % 4] = b = (a, b)\nreturn a, b",
    "return f(a) and g(b)",
    "return a and f(a) and g(b) and A[1]",
    "return c or f(a) or A[1]",
    "return (A[1], c and f(a) or g(b), o.x)",
    "return a and c and not f(a)",
    "return A[1] if f(a) else A[0]",
    "return A[1] + (f(a) if c else g(b)) + A[1]",
    "return 0 < f(a) < g(b) < A[1]",
    "return a < A[1] < f(a)",
    "return A[0] < A[1] <= A[2] < f(a) < 9 < A[1]",
    "return A[1] == f(a)",
    "if f(a) > 1:\n    x = 1\nelif g(b):\n    x = 2\nelif c:\n    x = 3\nelse:\n    x = h(1)\nreturn x",
    "while f(x) and x < 3:\n    x += 1\n    if x == 2:\n        continue\n"
    "    A[0] += g(x)\nelse:\n    x = -x\nreturn x",
    "while x < g(0):\n    x += 1\n    if x == 2 and f(a):\n        break\nelse:\n    x = -1\nreturn x",
    "for i in range(3):\n    while h(i) < y:\n        y -= 1\n    else:\n        if i == 1:\n"
    "            break\n        continue\nelse:\n    return 7\nreturn y",
    "for i in range(f(a) % 3):\n    x += g(i)\nelse:\n    x = h(x)\nreturn x",
    "for A[f(a) % 4] in (1, 2):\n    x += A[1]\nreturn x",
    "for i, x in enumerate([A[1], f(a)]):\n    pass\nreturn i, x",
    "assert f(a), g(b)\nreturn a",
    "assert c, (A[1], g(b))",
    "assert f(a) < 0, A[1]",
    "raise ValueError(A[1], f(a)) from KeyError(g(b))",
    "del A[f(a) % 4], A[g(b) % 2]",
    "return f'{A[1]:>{a}} {f(a)!r:>{g(b)}} {o.x}'",
    "return (x := f(a)) + x + (x := g(b))",
    "return x + (x := f(a)) + x",
    "x += (x := f(a))\nreturn x",
    "return [f(i) for i in range(2)], (lambda: g(b))(), A[1]",
    "z: int = f(a)\nA[f(a) % 4]: int = g(b)\nreturn z",
    "if c:\n    z = 1\nreturn z + f(a)",
    "if c:\n    z = 1\nz += f(a)",
    "with np.errstate() as x:\n    f(a)",
    "try:\n    x = A[9] + f(a)\nexcept IndexError:\n    x = A[1] + g(b)\n"
    "else:\n    x = h(x)\nfinally:\n    A[0] += f(x)\nreturn x",
    "match f(a):\n    case 2:\n        return A[1] + g(b)\n    case _:\n        return h(a)",
    "return f(a).real + A[1]",
    "global z\nz = 1\nz += f(a)\nreturn z",
    "return pure(f(pure(g(A[1]), A[1])), A[1], h(A[1]))",
]  # fmt: skip


def check_same(text):
    tree = parse(text)
    new = normalise(tree, places(tree))
    check_form(tree, new)
    for flags in [(2, 3, 1, True), (0, 3, 1, False), (2, 0, 0, True), (3, 2, 5, 0)]:
        assert run(new, flags) == run(tree, flags), ast.unparse(new)


def check_form(tree, new):
    """Every inlined call is the value of `name = ...` or an expression statement."""
    wanted = places(tree)
    skipped = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    allowed = {
        id(call)
        for node in ast.walk(new)
        if isinstance(node, ast.stmt) and (call := call_of_statement(node)) is not None
    }

    def visit(node):
        if isinstance(node, skipped):
            return
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset) in wanted:
            assert id(node) in allowed, ast.unparse(new)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(new)


@pytest.mark.parametrize("body", BODIES)
def test_same_results_in_the_same_order(body):
    check_same("def p(a, b, c, x, y, A, o):\n" + textwrap.indent(body, "    "))


@pytest.mark.parametrize("seed", range(300))
def test_random_expressions(seed):
    rng = random.Random(seed)
    lines = ["def p(a, b, c, x, y, A, o):"]
    for _ in range(3):
        target = rng.choice(
            ["x = ", "A[1] += ", "A[f(a) % 4] = ", "y += ", "o.x = ", "", "x, y = a, ", "assert ", "z = "]
        )
        lines.append(f"    {target}{expression(rng, 3)}")
    lines.append(f"    return {expression(rng, 4)}")
    check_same("\n".join(lines))


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(["a", "b", "c", "1", "A[1]", "o.x", "pure(a)", "x", "z", "A[pure(0)]"])

    def part():
        return expression(rng, depth - 1)

    shapes = [
        lambda: f"f({part()})",
        lambda: f"g({part()}, {part()})",
        lambda: f"({part()} + {part()})",
        lambda: f"({part()} and {part()})",
        lambda: f"({part()} or {part()} or {part()})",
        lambda: f"({part()} if {part()} else {part()})",
        lambda: f"({part()} < {part()} <= {part()})",
        lambda: f"pure({part()}, {part()})",
        lambda: f"A[{part()} % 4]",
        lambda: f"(not {part()})",
        lambda: f"h(k={part()})",
        lambda: f"o.method({part()}, {part()})",
    ]
    return rng.choice(shapes)()


def test_statements_without_a_call_are_the_same_objects():
    tree = parse(
        """
        def p(a):
            b = a + 1
            if b:
                c = A[0] + f(b)
                d = g2(c)
            else:
                d = 1
            while d:
                d -= 1
            return d
        """
    )
    new: Any = normalise(tree, places(tree))
    assert new is not tree
    assert new.body[0] is tree.body[0]
    assert new.body[2] is tree.body[2]
    assert new.body[3] is tree.body[3]
    assert new.body[1].body[-1] is tree.body[1].body[1]
    assert new.body[1].orelse is tree.body[1].orelse
    assert len(tree.body[1].body) == 2


def test_with_nothing_to_do_the_tree_itself_comes_back():
    tree = parse("def p(a):\n return f(a)")
    assert normalise(tree, frozenset()) is tree
    assert normalise(tree, frozenset({(99, 0)})) is tree


def test_a_lambda_becomes_a_function():
    tree = parse("h = lambda a, b=1: A[0] + f(a)").value
    new = normalise(tree, places(tree))
    assert (new.name, new.lineno, new.col_offset) == ("<lambda>", 1, 4)
    assert ast.unparse(ast.Module(new.body, [])) == "__weft_t0 = A[0]\n__weft_t1 = f(a)\nreturn __weft_t0 + __weft_t1"
    assert [arg.arg for arg in new.args.args] == ["a", "b"]


def test_augmented_assignment_follows_python():
    assert body_text("A[a] += f(x)") == ("__weft_t0 = A[a]\n__weft_t1 = f(x)\n__weft_t0 += __weft_t1\nA[a] = __weft_t0")


def test_the_example_of_the_module():
    assert body_text("y[a] += A[0] * f(x) if c else g(x)").splitlines() == [
        "__weft_t0 = y[a]",
        "if c:",
        "    __weft_t2 = A[0]",
        "    __weft_t3 = f(x)",
        "    __weft_t1 = __weft_t2 * __weft_t3",
        "else:",
        "    __weft_t1 = g(x)",
        "__weft_t0 += __weft_t1",
        "y[a] = __weft_t0",
    ]


def test_names_and_constants_are_not_copied():
    assert body_text("return (a, 1, -2, f(x))") == "__weft_t0 = f(x)\nreturn (a, 1, -2, __weft_t0)"


def test_a_name_that_may_be_unbound_is_read_before_the_call():
    assert body_text("if c:\n    z = 1\nreturn z + f(x)").splitlines()[2:] == [
        "__weft_t0 = z",
        "__weft_t1 = f(x)",
        "return __weft_t0 + __weft_t1",
    ]


def test_temporaries_avoid_names_that_exist():
    assert body_text("__weft_t0 = 1\nreturn f(a)") == "__weft_t0 = 1\n__weft_t1 = f(a)\nreturn __weft_t1"


def test_functions_called_are_not_put_into_temporaries():
    assert body_text("return np.linalg.norm(f(x))") == "__weft_t0 = f(x)\nreturn np.linalg.norm(__weft_t0)"
    assert body_text("return o.x.sum(f(x))") == "__weft_t0 = o.x\n__weft_t1 = f(x)\nreturn __weft_t0.sum(__weft_t1)"


def test_new_nodes_stand_where_the_old_ones_stood():
    tree = parse("def p(a):\n    while A[0] < f(a):\n        a += (\n            g(a))\n    return a")
    new = normalise(tree, places(tree))
    loop: Any = new.body[0]
    assert [stmt.lineno for stmt in loop.body] == [2, 2, 2, 4, 3]
    assert all(node.lineno for node in ast.walk(new) if isinstance(node, (ast.expr, ast.stmt)))


def test_the_result_is_the_same_every_time():
    text = "def p(a):\n return f(A[0], g(a), c and h(a)) < A[1] < f(a)"
    assert ast.dump(normalised(text)) == ast.dump(normalised(text))
