"""The syntax tree of a live function.

in:   a function object, from wherever: a module, a script, `python -c`, a notebook, the prompt, `exec`
out:  a `FunctionSource`: its tree with line and column numbers of the whole file; or `SourceUnavailable`

A file may have changed since it was imported, and several lambdas may stand on one line. So a tree is taken only when
it compiles to the very code the function runs, line tables aside. Private names are mangled as the class around the
function mangles them, and `super()` is told what it finds out by itself: the tree means the same outside its class.

before:  class C:  def f(self): return self.__x, super().g()                    (the file)
after:             def f(self): return self._C__x, super(__class__, self).g()   (`FunctionSource.tree`)
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import io
import linecache
import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias, cast

from weft.frontend.parents import tell_super
from weft.support.errors import WeftError
from weft.support.records import record

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# One bit each.
_FUTURE_FLAGS = sum({int(getattr(__future__, name).compiler_flag) for name in __future__.all_feature_names})
_FAR_AWAY = 1 << 24  # more lines than any file has
_PYTEST_REWRITER = "_pytest.assertion.rewrite"


class SourceUnavailable(WeftError):  # noqa: N818 - no error by itself: the function then runs in Python
    """The source of a function cannot be had; `reason` is a clause to put after "because"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@record
class FunctionSource:
    """A function as it was written; all line numbers are those of `filename`.

    `lines` are all lines of the file; `source_text` is the part with the function (whole lines, decorators included;
    of a lambda, the lambda alone), which begins on line `first_line`.
    """

    tree: ast.FunctionDef | ast.Lambda
    lines: tuple[str, ...]
    filename: str
    first_line: int
    source_text: str


@record
class _Candidate:
    """A definition that may be the one looked for, and the class whose private names it sees."""

    node: Definition
    class_name: str


# What was read, or made by Weft itself out of other functions. By identity: equal code may stand in several files.
_KNOWN: dict[int, tuple[CodeType, FunctionSource]] = {}


def remember_source(code: CodeType, source: FunctionSource) -> None:
    """Let `read_function` find the source of a function that stands in no file as it is."""
    _KNOWN[id(code)] = code, source


def read_function(func: object) -> FunctionSource:
    """The source of `func`; raises `SourceUnavailable` where there is none to be trusted."""
    if isinstance(func, MethodType):
        func = func.__func__
    if isinstance(func, FunctionType) and id(func.__code__) in _KNOWN:
        return _KNOWN[id(func.__code__)][1]
    if not isinstance(func, FunctionType):
        raise SourceUnavailable(f"it is not a Python function but a {type(func).__name__}")
    code = func.__code__
    found_text = False
    for lines in _texts(func):
        found_text = True
        candidate = _find(code, lines)
        if candidate is not None:
            source = _function_source(candidate, func, lines)
            remember_source(code, source)
            return source
    if found_text and not _is_pseudo_file(code.co_filename):
        raise SourceUnavailable(
            f"source changed: what {code.co_filename} says on line {code.co_firstlineno} is not the code that runs "
            "(edited after import, or rewritten by an import hook)"
        )
    raise SourceUnavailable(_missing_reason(code.co_filename))


def _function_source(candidate: _Candidate, func: FunctionType, lines: list[str]) -> FunctionSource:
    node, code = candidate.node, func.__code__
    if isinstance(node, ast.AsyncFunctionDef):
        raise SourceUnavailable("it is a coroutine (async def)")
    if isinstance(node, ast.Lambda):
        text = ast.get_source_segment("".join(lines), node) or ""
    else:
        text = "".join(lines[code.co_firstlineno - 1 : node.end_lineno])
    tree = _mangled(copy.deepcopy(node), candidate.class_name)
    if "__class__" in code.co_freevars and "super" in code.co_names and "super" not in func.__globals__:
        tell_super(tree)
    return FunctionSource(tree, tuple(lines), code.co_filename, code.co_firstlineno, text)


# ---------------------------------------------------------------- the text


def _texts(func: FunctionType) -> Iterator[list[str]]:
    """What the file of `func` may have said, most likely first."""
    filename = func.__code__.co_filename
    # First what linecache already holds: the file as it was, should it have changed on disk meanwhile.
    lines = linecache.getlines(filename, func.__globals__)
    if lines:
        yield lines
        linecache.checkcache(filename)
        again = linecache.getlines(filename, func.__globals__)
        if again and again != lines:
            yield again
    elif _is_pseudo_file(filename):
        # Python 3.13 and later keep what was typed or given by -c, by code object.
        by_code: Any = getattr(linecache, "_getlines_from_code", None)
        kept = by_code(func.__code__) if by_code is not None else None
        if kept:
            yield kept
    if filename == "<stdin>":
        yield from _typed_blocks()
    if filename == "<string>":
        command = _command_text(getattr(sys, "orig_argv", []))
        if command is not None:
            yield io.StringIO(command + "\n").readlines()


def _typed_blocks() -> Iterator[list[str]]:
    """Definitions typed at Python's prompt, the latest first, from the history that its line editor keeps."""
    history: Any = sys.modules.get("readline")
    if history is None:
        return
    typed = [history.get_history_item(number + 1) or "" for number in range(history.get_current_history_length())]
    for start in reversed(range(len(typed))):
        if not typed[start].startswith(("def ", "@")):
            continue
        stop = start + 1
        while stop < len(typed) and (typed[stop].startswith((" ", "\t")) or typed[stop - 1].startswith("@")):
            stop += 1
        yield [f"{line}\n" for line in typed[start:stop]]


def _command_text(argv: Sequence[str]) -> str | None:
    """The program in `python [options] -c program`."""
    words = iter(argv[1:])
    for word in words:
        if word == "--check-hash-based-pycs":
            next(words, None)
        if word.startswith("--"):
            continue
        if not word.startswith("-") or word == "-":
            return None
        for position, letter in enumerate(word[1:], start=2):
            if letter not in "cmWX":
                continue
            value = word[position:] or next(words, None)
            if letter in "cm":
                return value if letter == "c" else None
            break
    return None


def _is_pseudo_file(filename: str) -> bool:
    return filename.startswith("<") and filename.endswith(">")


def _missing_reason(filename: str) -> str:
    if filename == "<stdin>":
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"Python {version} keeps no source of what is typed at its prompt, and its history does not have it"
    if _is_pseudo_file(filename):
        return f"its code was made from a string ({filename}), and the string was not kept in linecache"
    return f"its file {filename} cannot be read"


# ---------------------------------------------------------------- the definition in the text


def _find(code: CodeType, lines: list[str]) -> _Candidate | None:
    """The definition in `lines` that `code` was compiled from."""
    text = "".join(lines)
    with _no_warnings():
        module = _parsed(text)
        if module is None:
            return None
        around = [stmt for stmt in module.body if _first_line(stmt) <= code.co_firstlineno <= (stmt.end_lineno or 0)]
        candidates = [
            candidate
            for stmt in around
            for candidate in _definitions(stmt, "")
            if _name(candidate.node) == code.co_name and _first_line(candidate.node) == code.co_firstlineno
        ]
        if not candidates:
            return None
        context = [stmt for stmt in module.body if stmt in around or _imports(stmt)]
        compiled = [_compile_candidate(context, candidate, code, text) for candidate in candidates]
    equal = [
        (candidate, other)
        for candidate, other in zip(candidates, compiled, strict=True)
        if other is not None and _same_code(code, other)
    ]
    # Among several that run the same code, the one at the same columns; without column tables any of them will do.
    for candidate, other in equal:
        if _columns(code) == _columns(other):
            return candidate
    return equal[0][0] if equal else None


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> ast.Module | None:
    """The tree of a file, of which several functions may be asked for one after the other. It stays as it is."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _imports(stmt: ast.stmt) -> bool:
    """Whether a statement imports at the module's level: a method call on an imported name compiles differently."""
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(stmt))


def _definitions(node: ast.AST, class_name: str) -> Iterator[_Candidate]:
    if isinstance(node, Definition):
        yield _Candidate(node, class_name)
    inner = node.name if isinstance(node, ast.ClassDef) else class_name
    for child in ast.iter_child_nodes(node):
        yield from _definitions(child, inner)


def _name(node: Definition) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _first_line(node: ast.stmt | ast.Lambda) -> int:
    """The line of the first decorator, where there is one."""
    decorators = cast("list[ast.expr]", getattr(node, "decorator_list", []))
    return decorators[0].lineno if decorators else node.lineno


def _compile_candidate(around: list[ast.stmt], candidate: _Candidate, code: CodeType, text: str) -> CodeType | None:
    """The code of a candidate, compiled where it stands (class and function scopes around it matter)."""
    # It is moved to lines of its own for the time of the compilation, and recognised by them after. It is moved as a
    # whole: which instructions the compiler drops depends on where lines change.
    _move(candidate.node, _FAR_AWAY)
    try:
        module = ast.Module(around, [])
        if "@pytest_ar" in code.co_names:
            module = _rewritten_asserts(module, text)
        flags = code.co_flags & _FUTURE_FLAGS
        compiled: CodeType = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    finally:
        _move(candidate.node, -_FAR_AWAY)
    # Lambdas inside a lambda come after it.
    name = _name(candidate.node)
    return next((c for c in _codes(compiled) if c.co_firstlineno > _FAR_AWAY and c.co_name == name), None)


def _move(node: Definition, lines: int) -> None:
    """Move a definition by so many lines; the defaults of its parameters, which are not part of its code, stay."""
    ast.increment_lineno(node, lines)
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is not None:
            ast.increment_lineno(default, -lines)


def _rewritten_asserts(module: ast.Module, text: str) -> ast.Module:
    """What pytest made of the asserts in a test module: the same rewriting gives the same code."""
    rewriter: Any = sys.modules.get(_PYTEST_REWRITER)
    if rewriter is None:
        return module
    module = copy.deepcopy(module)
    rewriter.rewrite_asserts(module, text.encode())
    return module


@contextmanager
def _no_warnings() -> Generator[None]:
    """The user saw the warnings about this text when it was compiled the first time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------- comparing code


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _same_code(left: CodeType, right: CodeType) -> bool:
    """Whether two code objects do the same; line tables, file names and qualified names do not count."""
    return _shape(left) == _shape(right) and _same_const(left.co_consts, right.co_consts)


def _shape(code: CodeType) -> tuple[object, ...]:
    return (
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_code,
        code.co_exceptiontable,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
    )


def _same_const(left: Any, right: Any) -> bool:
    """Equality of constants that tells 0.0 from -0.0 and 1 from True."""
    if type(left) is not type(right):
        return False
    if isinstance(left, CodeType):
        return _same_code(left, right)
    if isinstance(left, tuple):
        items = cast("tuple[object, ...]", left)
        return len(items) == len(right) and all(map(_same_const, items, right))
    if isinstance(left, frozenset):
        return sorted(map(repr, cast("frozenset[object]", left))) == sorted(map(repr, right))
    return repr(left) == repr(right)


def _columns(code: CodeType) -> list[tuple[int | None, int | None]]:
    """Where each instruction stands in its line; the lines themselves are compared by `co_firstlineno`."""
    return [(column, end) for _, _, column, end in code.co_positions()]


# ---------------------------------------------------------------- private names


def _mangled(node: ast.FunctionDef | ast.Lambda, class_name: str) -> ast.FunctionDef | ast.Lambda:
    prefix = class_name.lstrip("_")
    if not prefix or not any(_is_private(name) for child in ast.walk(node) for _, name in _identifiers(child)):
        return node
    mangler = _Mangler("_" + prefix)
    result = copy.deepcopy(node)
    for child in ast.iter_child_nodes(result):  # the function's own name stays: it is what tracebacks show
        mangler.visit(child)
    return result


class _Mangler(ast.NodeVisitor):
    """Writes private names the way the compiler does inside a class."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class in the function mangles what is inside it with its own name."""
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outside)
        node.name = self.mangle(node.name)

    def generic_visit(self, node: ast.AST) -> None:
        for field, _ in _identifiers(node):
            value: str | list[str] = getattr(node, field)
            setattr(node, field, [*map(self.mangle, value)] if isinstance(value, list) else self.mangle(value))
        ast.NodeVisitor.generic_visit(self, node)

    def mangle(self, name: str) -> str:
        return self.prefix + name if _is_private(name) else name


_IDENTIFIER_FIELDS = ("id", "attr", "arg", "name", "names", "asname", "rest")


def _identifiers(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(field, name) of the identifiers directly in `node`."""
    for field in _IDENTIFIER_FIELDS:
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield field, value
        elif isinstance(value, list):
            yield from ((field, name) for name in cast("list[object]", value) if isinstance(name, str))


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__") and "." not in name
