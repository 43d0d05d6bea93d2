"""The rest of a function, from one of its statements on, as a Python function.

in:   a (normalised) tree, the path of a statement, the names that are handed over
out:  a function with those names as parameters that does what the function would have done from there

Loops on the way are entered in the middle. A `for` loop gets what remains of its iterations after the current one as a
description in the parameter `__weft_rest<k>` (k counts the `for` loops on the path from outside; see `iterate`).

before:  def f(a):                      the statement at path (1, 0, 1), with a, s and x
             s = 0
             for i in range(len(a)):
                 x = a[i]
                 s += x
             return s

after:   def f(a, s, x, __weft_rest0):
             __weft_first0 = True
             for __weft_item0 in __weft_resume(__weft_rest0):      # one None, then what remains
                 if __weft_first0:
                     __weft_first0 = False
                     s += x
                 else:
                     i = __weft_item0
                     x = a[i]
                     s += x
             return s

The code carries the file name, the line numbers and the name of the original, so tracebacks show the user's lines.
"""

from __future__ import annotations
import __future__

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, islice, pairwise
from math import prod
from types import CellType, CodeType, FunctionType
from typing import Any, Final, TypeAlias, cast, final

from weft.frontend.liveness import StatementPath, blocks, is_errstate, local_names, own_nodes, statement_at
from weft.frontend.parents import asks_for_frame
from weft.frontend.trees import LOCAL, function_tree, inner_code, local_value
from weft.support.records import record

# ("range", start, stop, step)         what is left of a range
# ("items", obj, first, count, step)   obj[first + j * step] for j < count
# ("list", obj, first)                 a list from a position on, which may grow meanwhile
# ("view", obj, which, first)          obj.keys(), .values() or .items() of a dict from a position on
# ("enumerate", first_number, rest)    pairs, numbered from first_number
# ("zip", rest, ...)                   tuples
# ("pairwise", rest)                   each with the one after it
# ("map", ((lo, hi, step), ...), next) weft.map from the flat (row-major) position `next`; plain ints for one range
Rest: TypeAlias = tuple[Any, ...]

_REST = "__weft_rest"
_VALUE = "__weft_value"
_RESUME = "__weft_resume"
_UNBOUND = "__weft_unbound"
_CONTINUATION = "__weft_continuation"


@final
class Unbound:
    """The type of `UNBOUND`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND: Final = Unbound()
"""Stands for a name without a value among the values given to a continuation."""


# ---------------------------------------------------------------- iterations that remain


def iterate(rest: Rest) -> Iterator[Any]:
    """The iterations a description stands for; items are taken when they are reached, as Python does."""
    match rest:
        case ("range", start, stop, step):
            return iter(range(start, stop, step))
        case ("list", obj, first):
            items = iter(obj)
            items.__setstate__(first)
            return items
        case ("view", obj, which, first):
            return islice(getattr(obj, which)(), first, None)
        case ("items", obj, first, count, step):
            return (obj[first + number * step] for number in range(count))
        case ("enumerate", first_number, inner):
            return enumerate(iterate(inner), first_number)
        case ("zip", *inner):
            return zip(*(iterate(cast("Rest", part)) for part in inner), strict=False)
        case ("pairwise", inner):
            items = iterate(inner)
            return pairwise(chain(list(islice(items, 1)), items))  # the last item of the pair before was taken with it
        case ("map", ranges, next_flat):
            return _iterate_map([range(*bounds) for bounds in ranges], next_flat)
        case _:
            raise ValueError(f"not a description of iterations: {rest!r}")


def _iterate_map(ranges: list[range], next_flat: int) -> Iterator[int | tuple[int, ...]]:
    for flat in range(next_flat, prod(map(len, ranges))):
        position = flat
        values: list[int] = []
        for axis in reversed(ranges):
            position, index = divmod(position, len(axis))
            values.append(axis[index])
        yield values[0] if len(values) == 1 else tuple(reversed(values))


def _resume(rest: Rest) -> Iterator[Any]:
    """One item for the iteration that is under way, then those that remain."""
    return chain((None,), iterate(rest))


def rest_names(tree: ast.FunctionDef, path: StatementPath) -> tuple[str, ...]:
    """The parameters for what remains of the `for` loops around a statement, outermost first."""
    loops = (statement_at(tree, path[:end]) for end in range(1, len(path) - 1, 2) if path[end] == 0)
    count = sum(isinstance(stmt, ast.For) for stmt in loops)
    return tuple(f"{_REST}{number}" for number in range(count))


# ---------------------------------------------------------------- the continuation


def build_continuation(
    tree: ast.FunctionDef,
    path: StatementPath,
    names: tuple[str, ...],
    *,
    after_call: bool,
    globals_dict: dict[str, Any],
    filename: str,
    prelude: tuple[ast.stmt, ...] = (),
) -> FunctionType:
    """A function with parameters `names` that runs `tree` from the statement at `path` on.

    `names` include `rest_names(tree, path)`. A name whose value is `UNBOUND` has no value; a local name that is not
    among them has none yet. With `after_call` the statement's call is under way, and a last parameter is a function
    that does the rest of it: it runs inside the `with` and `try` statements around, like the call itself.
    `prelude` comes first: definitions of nested functions, which are made again rather than handed over.
    Raises ValueError where the function or the statements on the path cannot be resumed.
    """
    # `from __future__ import annotations` leaves its mark in the globals.
    is_future = globals_dict.get("annotations") is __future__.annotations
    flags = __future__.annotations.compiler_flag if is_future else 0
    code = _continuation_code(tree, path, names, prelude, after_call, filename, flags)
    given = {_RESUME: _resume, _UNBOUND: UNBOUND, LOCAL: local_value}
    cells = tuple(CellType(given[name]) for name in code.co_freevars)
    return FunctionType(code, globals_dict, tree.name, None, cells)


@lru_cache(maxsize=1024)  # by identity of the tree, which the cache keeps alive
def _continuation_code(
    tree: ast.FunctionDef,
    path: StatementPath,
    names: tuple[str, ...],
    prelude: tuple[ast.stmt, ...],
    after_call: bool,
    filename: str,
    flags: int,
) -> CodeType:
    _check(tree, path, names)
    declared = sorted({name for node in own_nodes(tree) if isinstance(node, ast.Global) for name in node.names})
    body = _without_globals(tree).body if declared else tree.body
    rest = _Resumption(after_call).block(body, path, 0, 0)
    prologue: list[ast.stmt] = [ast.Global(declared)] if declared else []
    others = sorted(local_names(tree) - set(names))
    if others:
        # Never run: it makes these names local, so that reading one raises what the function would raise.
        stores: list[ast.expr] = [ast.Name(name, ast.Store()) for name in others]
        prologue.append(ast.If(ast.Constant(value=False), [ast.Assign(stores, ast.Constant(value=None))], []))
    prologue += [_unbind(name) for name in names if not name.startswith(_REST)]
    prologue += prelude
    parameters = [*names, _VALUE] if after_call else list(names)
    # Under a name of its own: what its text calls by the name of the original is the original.
    function = function_tree(_CONTINUATION, parameters, [*prologue, *rest, ast.Pass()])
    outer = function_tree("__weft_make", [_RESUME, _UNBOUND, LOCAL], [function])
    for node in (function, outer):
        ast.copy_location(node, tree)
    module = ast.fix_missing_locations(ast.Module([outer], []))  # new nodes stand where those around them stand
    compiled = compile(module, filename, "exec", flags=flags, dont_inherit=True)
    code = inner_code(inner_code(compiled))
    return code.replace(co_name=tree.name, co_qualname=tree.name)


def run_frames(frames: Sequence[tuple[Callable[..., Any], Sequence[Any]]]) -> Any:
    """Run continuations with their values, given from the outermost call to the innermost; the outermost's result.

    All but the last were built with `after_call`: each gets the one after it as its last argument.
    """
    *callers, (innermost, values) = frames
    call = partial(innermost, *values)
    for continuation, values in reversed(callers):
        call = partial(continuation, *values, call)
    return call()


def _check(tree: ast.FunctionDef, path: StatementPath, names: tuple[str, ...]) -> None:
    statement_at(tree, path)
    if asks_for_frame(tree) is not None:
        raise ValueError("a function in which super() finds its own arguments cannot be resumed")
    for node in own_nodes(tree):
        match node:
            case ast.Yield() | ast.YieldFrom():
                raise ValueError("a generator cannot be resumed")
            case ast.Await() | ast.AsyncFor() | ast.AsyncWith() | ast.comprehension(is_async=1):
                raise ValueError("a coroutine cannot be resumed")
            case ast.Nonlocal():
                raise ValueError("a function with nonlocal names cannot be resumed")
            case ast.Global(names=declared) if not set(declared).isdisjoint(names):
                raise ValueError("a global name cannot be handed over")
            case _:
                pass
    for end in range(1, len(path) - 1, 2):
        stmt = statement_at(tree, path[:end])
        is_known = isinstance(stmt, ast.With) and is_errstate(stmt)
        if not is_known and not isinstance(stmt, (ast.If, ast.For, ast.While, ast.Try)):
            raise ValueError(f"a {type(stmt).__name__.lower()} statement cannot be entered in the middle")
    missing = set(rest_names(tree, path)) - set(names)
    if missing:
        raise ValueError(f"names must include {', '.join(sorted(missing))}")


def _without_globals(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A copy with `global` statements made `pass`: they stand once at the top of the continuation."""
    new = copy.deepcopy(tree)
    for block in _blocks(new.body):
        block[:] = [ast.copy_location(ast.Pass(), stmt) if isinstance(stmt, ast.Global) else stmt for stmt in block]
    return new


def _blocks(block: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """All statement lists of the function, those of nested functions and classes left out."""
    yield block
    for stmt in block:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        holders = [stmt, *getattr(stmt, "handlers", []), *getattr(stmt, "cases", [])]
        for holder in holders:
            for field in ("body", "orelse", "finalbody"):
                yield from _blocks(getattr(holder, field, []))


@record
class _Resumption:
    """Builds the statements that remain; `loops` and `fors` number the loops entered so far."""

    after_call: bool

    def block(self, stmts: list[ast.stmt], path: StatementPath, loops: int, fors: int) -> list[ast.stmt]:
        first = stmts[path[0]]
        return [*self.statement(first, path[1:], loops, fors), *stmts[path[0] + 1 :]]

    def statement(self, stmt: ast.stmt, path: StatementPath, loops: int, fors: int) -> list[ast.stmt]:
        if not path:
            return _after_call(stmt) if self.after_call else [stmt]
        is_body, inner = path[0] == 0, blocks(stmt)[path[0]]
        if isinstance(stmt, ast.For) and is_body:
            return _resumed_for(stmt, self.block(inner, path[1:], loops + 1, fors + 1), loops, fors)
        if isinstance(stmt, ast.While) and is_body:
            return _resumed_while(stmt, self.block(inner, path[1:], loops + 1, fors), loops)
        partial = self.block(inner, path[1:], loops, fors)
        if isinstance(stmt, ast.With):
            return [_with_body(stmt, partial)]
        if isinstance(stmt, ast.Try):
            return _resumed_try(stmt, path[0], partial)
        return partial


def _with_body(stmt: ast.With | ast.Try, body: list[ast.stmt]) -> ast.stmt:
    new = copy.copy(stmt)
    new.body = body
    return new


def _resumed_try(stmt: ast.Try, part: int, partial: list[ast.stmt]) -> list[ast.stmt]:
    """What is left of a `try` in its body, its `else`, or its `finally` when nothing was raised."""
    if part == 0:
        return [_with_body(stmt, partial)]
    if part == 1 and stmt.finalbody:
        rest = copy.copy(stmt)
        rest.handlers, rest.orelse = [], []
        return [_with_body(rest, partial)]
    return partial


def _after_call(stmt: ast.stmt) -> list[ast.stmt]:
    value = ast.Call(ast.Name(_VALUE, ast.Load()), [], [])
    match stmt:
        case ast.Expr(value=ast.Call() | ast.Attribute()):
            return [ast.copy_location(ast.Expr(value), stmt)]
        case (
            ast.Assign(value=ast.Call() | ast.Attribute())
            | ast.AnnAssign(value=ast.Call() | ast.Attribute())
            | ast.Return(value=ast.Call() | ast.Attribute())
        ):
            new = copy.copy(stmt)
            new.value = ast.copy_location(value, stmt.value or stmt)
            return [new]
        case _:
            raise ValueError(f"not a call statement: {type(stmt).__name__} on line {stmt.lineno}")


def _resumed_for(stmt: ast.For, partial: list[ast.stmt], loops: int, fors: int) -> list[ast.stmt]:
    item = f"__weft_item{loops}"
    step = ast.copy_location(ast.Assign([stmt.target], ast.Name(item, ast.Load())), stmt.target)
    loop = copy.copy(stmt)
    loop.target = ast.Name(item, ast.Store())
    rest = ast.Name(f"{_REST}{fors}", ast.Load())
    loop.iter = ast.copy_location(ast.Call(ast.Name(_RESUME, ast.Load()), [rest], []), stmt.iter)
    start, loop.body = _first_or(loops, stmt, partial, [step, *stmt.body])
    return [start, loop]


def _resumed_while(stmt: ast.While, partial: list[ast.stmt], loops: int) -> list[ast.stmt]:
    loop = copy.copy(stmt)
    first = ast.Name(f"__weft_first{loops}", ast.Load())
    loop.test = ast.copy_location(ast.BoolOp(ast.Or(), [first, stmt.test]), stmt.test)
    start, loop.body = _first_or(loops, stmt, partial, stmt.body)
    return [start, loop]


def _first_or(
    loops: int, place: ast.stmt, partial: list[ast.stmt], full: list[ast.stmt]
) -> tuple[ast.stmt, list[ast.stmt]]:
    """The statement before the loop and the loop's body: `partial` the first time, then `full`."""
    name = f"__weft_first{loops}"
    start = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value=True))
    stop = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value=False))
    branch = ast.If(ast.Name(name, ast.Load()), [stop, *partial], full)
    return ast.copy_location(start, place), [branch]


def _unbind(name: str) -> ast.stmt:
    test = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Name(_UNBOUND, ast.Load())])
    return ast.If(test, [ast.Delete([ast.Name(name, ast.Del())])], [])
