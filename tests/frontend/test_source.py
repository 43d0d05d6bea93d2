"""Trees of live functions, from wherever they come."""

from __future__ import annotations

import ast
import functools
import io
import linecache
import subprocess
import sys
import textwrap
import types
from types import FunctionType
from typing import Any

import pytest

from weft.frontend.source import SourceUnavailable, read_function

PRELUDE = "from weft.frontend.source import read_function, SourceUnavailable\nimport ast\n"


def tree_of(function) -> Any:
    return read_function(function).tree


def decorate(*_args, **_kwargs):
    return lambda f: f


def plain(a, b=2):
    """A docstring."""
    return a + b


@decorate(1, key=lambda x: x)
@decorate(
    2,
)
def decorated(a):
    assert a != 7, "seven"
    return -a


class Methods:
    @staticmethod
    def static(a):
        return a

    def method(self, a):
        def inner(b):
            return a + b

        self.__count = a
        return inner, lambda __x: self.__count + __x

    class __Inner:
        def f(self):
            return self.__y  # type: ignore[attr-defined]


pair = (lambda x: x + 1, lambda x: x + 2, lambda x: x + 1)
é = (lambda x: "é", lambda x: x)  # noqa: PLC2401 - columns are bytes


def load(tmp_path, text, name="module_under_test"):
    """A function table from a file of its own."""
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    names = {"__name__": name}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return path, names


def test_a_plain_function():
    source = read_function(plain)
    assert isinstance(source.tree, ast.FunctionDef)
    assert source.tree.name == "plain"
    assert source.filename == __file__
    assert source.first_line == source.tree.lineno == plain.__code__.co_firstlineno
    assert source.source_text == 'def plain(a, b=2):\n    """A docstring."""\n    return a + b\n'
    assert source.lines[source.first_line - 1] == "def plain(a, b=2):\n"
    statement = source.tree.body[-1]
    assert source.lines[statement.lineno - 1][statement.col_offset :] == "return a + b\n"


def test_decorators_belong_to_the_text():
    source = read_function(decorated)
    assert len(tree_of(decorated).decorator_list) == 2
    assert source.source_text.startswith("@decorate(1")
    assert source.first_line < source.tree.lineno


def test_asserts_rewritten_by_pytest_are_recognised():
    assert "@pytest_ar" in decorated.__code__.co_names
    assert isinstance(tree_of(decorated).body[0], ast.Assert)


def test_methods_and_nested_functions():
    assert tree_of(Methods().method).name == "method"
    assert tree_of(Methods.static).name == "static"
    inner, _ = Methods().method(1)
    source = read_function(inner)
    assert tree_of(inner).name == "inner"
    assert source.tree.col_offset == 8


def test_private_names_are_mangled_as_in_their_class():
    tree = tree_of(Methods.method)
    assert tree.name == "method"
    assert "self._Methods__count = a" in ast.unparse(tree)
    assert "lambda _Methods__x: self._Methods__count + _Methods__x" in ast.unparse(tree)
    _, function = Methods().method(1)
    assert ast.unparse(tree_of(function)).startswith("lambda _Methods__x")
    inner = Methods._Methods__Inner  # type: ignore[attr-defined]
    assert ast.unparse(tree_of(inner.f).body[0]) == "return self._Inner__y"


class Below(Methods):
    def f(this, x):  # noqa: N805 # pyright: ignore[reportSelfClsParameterName] - any name will do
        pairs = [super().method(y) for y in x]
        return super().method(x), super(Methods, this), lambda self: super().method(x), pairs

    def deletes(self):
        del self
        super().method(1)

    def stars(*all):
        return super().method(1)


def test_super_is_told_the_class_and_the_first_parameter():
    text = ast.unparse(tree_of(Below.f))
    assert "super(__class__, this).method(x), super(Methods, this), lambda self: super().method(x)" in text
    assert "[super().method(y) for y in x]" in text
    assert "super().method(1)" in ast.unparse(tree_of(Below.deletes))
    assert "super().method(1)" in ast.unparse(tree_of(Below.stars))


def test_lambdas_on_one_line_are_told_apart():
    for function, expected in zip(pair, ["x + 1", "x + 2", "x + 1"], strict=True):
        source = read_function(function)
        assert ast.unparse(tree_of(function).body) == expected
        assert source.source_text == f"lambda x: {expected}"
    first, _, third = (tree_of(function).col_offset for function in pair)
    assert first < third
    assert [read_function(function).source_text for function in é] == ['lambda x: "é"', "lambda x: x"]


def test_nested_lambdas():
    outer = lambda x: lambda y: x + y  # noqa: E731
    assert ast.unparse(tree_of(outer)) == "lambda x: lambda y: x + y"
    assert ast.unparse(tree_of(outer(1))) == "lambda y: x + y"


def test_a_lambda_as_default_of_a_lambda():
    outer: Any = lambda x=lambda x=1: x: lambda x=2: x  # noqa: E731
    (default,) = outer.__defaults__
    assert [tree_of(f).col_offset for f in (outer, default, outer())] == [17, 26, 41]


def test_a_wrapper_is_read_as_itself():
    @functools.wraps(plain)
    def wrapper(*args):
        return plain(*args)

    assert tree_of(wrapper).name == "wrapper"


def test_constants_are_told_apart(tmp_path):
    path, names = load(tmp_path, "def f(): return 0.0, 1, {1, 2}, b'', 1j\n")
    assert tree_of(names["f"]).name == "f"
    for other in ("-0.0, 1", "0.0, True", "0.0, 1.0"):
        linecache.clearcache()
        path.write_text(f"def f(): return {other}, {{1, 2}}, b'', 1j\n")
        read: Any = names["f"]
        unread = FunctionType(read.__code__.replace(), {})  # what was read once is known
        with pytest.raises(SourceUnavailable, match="source changed"):
            read_function(unread)
    assert tree_of(names["f"]).name == "f"


def test_a_file_that_changed_is_not_trusted(tmp_path):
    path, names = load(tmp_path, "def f(a):\n    return a + 1\n")
    path.write_text("def f(a):\n    return a - 1\n")
    with pytest.raises(SourceUnavailable) as caught:
        read_function(names["f"])
    assert caught.value.reason.startswith("source changed")
    assert str(caught.value) == caught.value.reason
    for text in ("\n\n", "def g(: pass", "def f(a):\n    return a + 1 + q\n"):
        path.write_text(text)
        linecache.clearcache()
        with pytest.raises(SourceUnavailable, match="source changed"):
            read_function(names["f"])


def test_a_file_that_changed_after_it_was_read_does_no_harm(tmp_path):
    path, names = load(tmp_path, "def f(a):\n    return a + 1\n")
    linecache.getlines(str(path))
    path.write_text("def f(a):\n    return a * 1000 + 1\n")
    assert ast.unparse(tree_of(names["f"]).body[0]) == "return a + 1"


def test_a_file_that_is_gone(tmp_path):
    path, names = load(tmp_path, "def f(a):\n    return a + 1\n", "gone")
    path.unlink()
    with pytest.raises(SourceUnavailable, match="cannot be read"):
        read_function(names["f"])


def test_same_name_defined_twice(tmp_path):
    _, names = load(tmp_path, "if 1:\n    def f(): return 1\n    g = f\n    def f(): return 2\n")
    assert [ast.unparse(tree_of(names[name]).body[0]) for name in "gf"] == ["return 1", "return 2"]


def test_future_features_and_warnings(tmp_path):
    text = "from __future__ import annotations, division\ndef f(a: nowhere):\n    return a is 1, '\\d'\n"
    path = tmp_path / "future.py"
    path.write_text(text)
    names = {"__name__": "future"}
    with pytest.warns((SyntaxWarning, DeprecationWarning)):
        exec(compile(text, str(path), "exec", dont_inherit=True), names)
    assert tree_of(names["f"]).name == "f"


def test_exec_with_linecache():
    text = "def f(a):\n    return [a for _ in 'x']\n"
    filename = "<weft test cell>"
    linecache.cache[filename] = (len(text), None, [*io.StringIO(text)], filename)
    names = {}
    exec(compile(text, filename, "exec"), names)
    assert tree_of(names["f"]).name == "f"
    del linecache.cache[filename]


def test_exec_without_linecache_says_so():
    names = {}
    exec("def f(a): return a\ng = lambda a: a", names)
    for name in "fg":
        with pytest.raises(SourceUnavailable, match="made from a string"):
            read_function(names[name])


@pytest.mark.parametrize("thing", [len, 3, Methods, functools.partial(plain)])
def test_things_that_are_not_python_functions(thing):
    with pytest.raises(SourceUnavailable, match="not a Python function"):
        read_function(thing)


def test_coroutines_are_refused():
    async def f():
        return 1

    with pytest.raises(SourceUnavailable, match="coroutine"):
        read_function(f)


def test_the_tree_compiles_back_to_the_function():
    tree = tree_of(plain)
    names = {}
    exec(compile(ast.Module([tree], []), "x", "exec", dont_inherit=True), names)
    function = names["plain"]
    assert isinstance(function, types.FunctionType)
    assert function(1) == 3


@pytest.mark.parametrize(
    "options", [["-c"], ["-Wignore", "-X", "utf8", "-Bc"], ["-X", "no_debug_ranges", "-c"], ["-OO", "-c"]]
)
def test_command_line_programs(options):
    program = PRELUDE + textwrap.dedent(
        """
        def f(a):
            "Gone under -OO."
            assert a, 'é'
            return a + 1
        g = (lambda x: x, lambda x: -x)
        print(ast.unparse(read_function(f).tree.body[-1]), read_function(f).first_line)
        print([read_function(h).source_text for h in g])
        exec("def e(): pass")
        try: read_function(e)
        except SourceUnavailable as error: print(error.reason)
        """
    )
    lines = run_python(options, program)
    assert lines[:2] == ["return a + 1 4", "['lambda x: x', 'lambda x: -x']"]
    assert "made from a string" in lines[2]


def test_scripts_and_standard_input(tmp_path):
    program = (
        PRELUDE + "def f(a): return a\ntry: print(read_function(f).tree.name)\nexcept SourceUnavailable as e: print(e)"
    )
    script = tmp_path / "script.py"
    script.write_text(program)
    assert run_python([str(script)]) == ["f"]
    assert "prompt" in run_python(["-"], stdin=program)[0]


def run_python(arguments, program=None, stdin=None):
    command = [sys.executable, *arguments, *([] if program is None else [program])]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
