"""A function cut around the statements that Python must run.

in:   the tree of a function, and the places (line, column) of statements that are not compiled
out:  `Cut`: the function as Python runs it, and its *pieces*: what lies between such statements, as functions

before:  def f(a, n):                        after:   def f(a, n):
             b = a * 2 + 1                                b = __weft_piece0(a)
             for i in range(n):                           for i in range(n):
                 b = np.sqrt(b + i) * a                       b = __weft_piece1(a, b, i)
                 print(i)                                     print(i)
             return b.sum() / n                           return __weft_piece2(b, n)

A loop or branch around such a statement is Python's own; `with` and `try` are left to Python as a whole, since a
handler may read what was bound before the exception. A piece takes the names it reads and gives those it binds that are
read later. A `return` in it gives `(1, value)`, a `break` or `continue` of a loop around it `(2, bound)` or
`(3, bound)`, its end `(0, bound)`. A name that may have no value travels as NO_VALUE (`weft.frontend.absent_names`).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import Final, TypeAlias, TypeVar

from weft.frontend.absent_names import mark, unbind
from weft.frontend.comprehensions import is_set_apart
from weft.frontend.liveness import (
    Names,
    StatementPath,
    blocks,
    bound_along,
    bound_before,
    captured_names,
    flow,
    local_names,
    names_bound,
    names_read,
    outer_jumps,
    own_nodes,
    statements,
)
from weft.frontend.parents import asks_for_frame
from weft.frontend.trees import LOCAL, function_tree
from weft.support.records import record

_NodeT = TypeVar("_NodeT", bound=ast.AST)

Place: TypeAlias = tuple[int, int]

CLOCK: Final = "__weft_clock"  # what the cut function and its pieces find besides their own names
SPENT: Final = "__weft_spent"
_PIECE, _RESULT, _CODE, _START = "__weft_piece", "__weft_result", "__weft_code", "__weft_start"
_ALWAYS_PYTHON = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.ClassDef, ast.Delete)
_WHOLE = (ast.With, ast.Try, ast.TryStar, ast.Match, ast.AsyncFor, ast.AsyncWith)
_WORK = (ast.BinOp, ast.Call, ast.AugAssign, ast.Compare)
_ENOUGH_WORK = 2
_SEES_FRAME = frozenset({"locals", "vars", "eval", "exec", "dir", "globals"})


@record
class Piece:
    """Statements to be compiled as a function of their own; `variable` is what the cut function calls it by."""

    variable: str
    tree: ast.FunctionDef


@record(frozen=False)
class Cut:
    """The function with its pieces; `timed` also says how long each statement in Python took."""

    plain: ast.FunctionDef
    timed: ast.FunctionDef
    pieces: list[Piece] = field(default_factory=list[Piece])
    python: list[Place] = field(default_factory=list[Place])  # statements that Python runs, `SPENT` by their number


def statement_place(tree: ast.FunctionDef, line: int, column: int) -> Place | None:
    """The place of the innermost statement that the given place lies in."""
    found: Place | None = None
    for _, stmt in statements(tree):
        end = (stmt.end_lineno or stmt.lineno, stmt.end_col_offset or 0)
        if place_of(stmt) <= (line, column) < end:
            found = place_of(stmt)
    return found


def place_of(stmt: ast.stmt) -> Place:
    """Where a statement begins."""
    return stmt.lineno, stmt.col_offset


def places_naming(tree: ast.FunctionDef, name: str) -> frozenset[Place]:
    """The statements that mention a name, or an inner function that does; compound ones where their own line does."""
    definitions = _definitions(tree, local_names(tree))
    found: set[Place] = set()
    for _, stmt in statements(tree):
        names = _heading_names(stmt)
        again = _called(definitions, names)
        if name in names or any(name in names_read(definitions[other]) for other in again):
            found.add(place_of(stmt))
    return frozenset(found)


def _heading_names(stmt: ast.stmt) -> set[str]:
    cut_in = () if isinstance(stmt, _WHOLE) else blocks(stmt)
    inner = {id(node) for block in cut_in for part in block for node in ast.walk(part)}
    return {node.id for node in ast.walk(stmt) if isinstance(node, ast.Name) and id(node) not in inner}


def cut(
    tree: ast.FunctionDef, marked: frozenset[Place], little: Collection[Place] = (), users: Collection[Place] = ()
) -> Cut | None:
    """The cut function; None where it has no piece that is worth a kernel, or cannot be cut.

    `little` are the places at which pieces began that turned out to be too little for a call, `users` those of calls
    of the user's functions and methods, one of which may be worth a kernel.
    """
    if not _can_be_cut(tree):
        return None
    cutter = _Cutter(tree, marked, little, users)
    body = cutter.block(tree.body, ())
    if not cutter.result.pieces:
        return None
    cutter.result.plain = _with_body(tree, body)
    cutter.result.timed = _with_body(tree, _Timing(cutter.result.python).block(body))
    return cutter.result


def _can_be_cut(tree: ast.FunctionDef) -> bool:
    if asks_for_frame(tree) is not None:
        return False
    for node in own_nodes(tree):
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.Nonlocal):
            return False
        if isinstance(node, ast.Name) and node.id in _SEES_FRAME:
            return False
    return True


def _with_body(tree: ast.FunctionDef, body: list[ast.stmt]) -> ast.FunctionDef:
    new = copy.copy(tree)
    new.body, new.decorator_list = body or [ast.Pass()], []
    lost = sorted(local_names(tree) - local_names(new))  # only pieces bind them: still they are not the module's names
    if lost:
        stores = [_store_all([name]) for name in lost]
        never = ast.If(ast.Constant(value=False), [ast.Assign(stores, ast.Constant(None))], [])
        new.body = [_at(never, tree.body[0]), *new.body]
    return ast.fix_missing_locations(new)


Run: TypeAlias = list[tuple[StatementPath, ast.stmt]]


class _Cutter:
    """Walks the blocks of one function."""

    def __init__(
        self, tree: ast.FunctionDef, marked: frozenset[Place], little: Collection[Place], users: Collection[Place]
    ) -> None:
        self.tree, self.marked, self.little, self.users = tree, marked, little, users
        self.own = local_names(tree)
        self.flow, self.bound = flow(tree), bound_before(tree)
        self.definitions = _definitions(tree, self.own)
        fixed = captured_names(tree) | {
            name for node in own_nodes(tree) if isinstance(node, ast.Global) for name in node.names
        }
        self.fixed = fixed  # names that only Python binds: functions see them, or the module does
        self.functions = _function_names(tree) - self.definitions.keys()
        self.result = Cut(tree, tree)

    def block(self, stmts: list[ast.stmt], prefix: StatementPath) -> list[ast.stmt]:
        """The statements of a block, with calls of pieces."""
        out: list[ast.stmt] = []
        run: Run = []
        for number, stmt in enumerate(stmts):
            path = (*prefix, number)
            if not self.is_python(stmt):
                run.append((path, stmt))
                continue
            out += [*self.run(run), *self.python(path, stmt)]
            run = []
        return out + self.run(run)

    def is_python(self, stmt: ast.stmt) -> bool:
        """Whether a statement, or one inside it, must be Python's."""
        inner = [node for node in ast.walk(stmt) if isinstance(node, ast.stmt)]
        if any(place_of(node) in self.marked or isinstance(node, _ALWAYS_PYTHON) for node in inner):
            return True
        if stmt in self.definitions.values():
            return True
        return bool(names_bound([stmt]) & self.fixed or names_read(stmt) & self.functions)

    def python(self, path: StatementPath, stmt: ast.stmt) -> list[ast.stmt]:
        """A statement that Python runs: of a loop or branch the inner blocks are cut in turn."""
        inner = (node for node in ast.walk(stmt) if isinstance(node, ast.stmt))
        is_whole = not isinstance(stmt, ast.If | ast.For | ast.While)
        is_marked = place_of(stmt) in self.marked or (is_whole and any(place_of(node) in self.marked for node in inner))
        if is_marked and place_of(stmt) not in self.result.python:
            self.result.python.append(place_of(stmt))
        if is_whole:
            return [stmt]
        assert isinstance(stmt, ast.If | ast.For | ast.While)
        new = copy.copy(stmt)
        new.body = self.block(stmt.body, (*path, 0))
        new.orelse = self.block(stmt.orelse, (*path, 1))
        return [new]

    def run(self, run: Run) -> list[ast.stmt]:
        """Statements in a row: a call of a piece, or themselves where there is little to gain."""
        stmts = [stmt for _, stmt in run]
        if not _is_worth(stmts, self.users) or place_of(stmts[0]) in self.little:
            return stmts
        jumps = [jump for path, stmt in run for jump in outer_jumps(path, stmt)]
        first, last = run[0][0], run[-1][0]
        wanted = self.flow.after[last].union(*(self.flow.before[path] for path, _ in jumps))
        outs = sorted(names_bound(stmts) & wanted & self.own)
        again = _needed(self.definitions, stmts)
        read = frozenset(outs).union(*map(names_read, [*again, *stmts]))
        live = self.flow.before[first].union(*map(names_read, again)) - self.definitions.keys()
        ins = sorted(live & read & self.own)
        sure = self.bound[first]
        at_end, at = bound_along(self.tree, run, sure.intersection(ins))
        bound = at_end.intersection(*(at[path] for path, _ in jumps))
        exits = _Exits(outs, frozenset(outs) - bound)
        has_return = any(isinstance(node, ast.Return) for node in _own_nodes(stmts))
        codes = bool(jumps) or (has_return and not _never_falls(stmts))
        unsure = [name for name in ins if name not in sure]
        body = _piece_body(stmts, exits, codes=codes)
        marked = [name for name in unsure if name not in self.fixed]
        asked = [name for name in unsure if name in self.fixed]
        call = self.piece(stmts, ins, [*map(unbind, unsure), *again, *body], asked)
        given = [stmt for _, stmt in jumps]
        after = _receive(call, stmts[0], exits, marked, jumps=given, has_return=has_return, codes=codes)
        return [*(_at(mark(name), stmts[0]) for name in marked), *after]

    def piece(self, stmts: list[ast.stmt], ins: list[str], body: list[ast.stmt], unsure: list[str]) -> ast.Call:
        """Make a piece; the call of it."""
        first = stmts[0]
        variable = f"{_PIECE}{len(self.result.pieces)}"
        tree = function_tree(self.tree.name, ins, [_at(stmt, first) for stmt in body])
        self.result.pieces.append(Piece(variable, _at(tree, first)))
        values = [_local(name) if name in unsure else ast.Name(name, ast.Load()) for name in ins]
        return ast.Call(ast.Name(variable, ast.Load()), values, [])


# ---------------------------------------------------------------- functions defined inside


def _function_names(tree: ast.FunctionDef) -> set[str]:
    """The names of functions, lambdas and classes defined inside."""
    found: set[str] = set()
    for node in own_nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets, value=ast.Lambda()):
                found |= names_bound([node]) if targets else set()
            case _:
                pass
    return found


def _definitions(tree: ast.FunctionDef, own: Names) -> dict[str, ast.stmt]:
    """Inner functions that a piece may define for itself: bound once, at the top, without defaults or decorators."""
    bindings = [name for _, stmt in statements(tree) for name in sorted(names_bound([_alone(stmt)]))]
    found: dict[str, ast.stmt] = {}
    for stmt in tree.body:
        match stmt:
            case ast.FunctionDef(name=name, decorator_list=[], args=args):
                node: ast.FunctionDef | ast.Lambda = stmt
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args) as node):
                pass
            case _:
                continue
        inner = [
            part for part in ast.walk(node) if isinstance(part, ast.Nonlocal | ast.Global | ast.Yield | ast.YieldFrom)
        ]
        if bindings.count(name) == 1 and name in own and not (args.defaults or args.kw_defaults or inner):
            found[name] = stmt
    return found


def _alone(stmt: ast.stmt) -> ast.stmt:
    """A compound statement without its blocks."""
    if not isinstance(stmt, ast.If | ast.For | ast.While):
        return stmt
    new = copy.copy(stmt)
    new.body, new.orelse = [ast.Pass()], []
    return new


def _needed(definitions: dict[str, ast.stmt], stmts: list[ast.stmt]) -> list[ast.stmt]:
    """The definitions that statements use, and those that these use, in the order of the text."""
    wanted = _called(definitions, {name for stmt in stmts for name in names_read(stmt)})
    bound = names_bound(stmts)
    return [definition for name, definition in definitions.items() if name in wanted - bound]


def _called(definitions: dict[str, ast.stmt], names: Collection[str]) -> set[str]:
    """Those of the names that are definitions, and the definitions that these use."""
    wanted: set[str] = set()
    pending = [name for name in names if name in definitions]
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending += [other for other in names_read(definitions[name]) if other in definitions]
    return wanted


# ---------------------------------------------------------------- what a run of statements does


def _own_nodes(stmts: list[ast.stmt]) -> Iterator[ast.AST]:
    return own_nodes(function_tree("f", [], stmts))


def _is_worth(stmts: Sequence[ast.stmt], users: Collection[Place]) -> bool:
    """Whether a kernel may do better than Python: a loop, more than one operation, or a call of a user's function."""
    nodes = [node for stmt in stmts for node in ast.walk(stmt)]
    called = any(isinstance(node, ast.Call) and (node.lineno, node.col_offset) in users for node in nodes)
    if called or any(is_set_apart(stmt) for stmt in stmts):
        return True
    work = sum(isinstance(node, _WORK) for node in nodes)
    return work >= _ENOUGH_WORK or (work > 0 and any(isinstance(node, ast.For | ast.While) for node in nodes))


def _never_falls(stmts: Sequence[ast.stmt]) -> bool:
    """Whether the statement after these is never reached from them."""
    last = stmts[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return True
    return isinstance(last, ast.If) and bool(last.orelse) and _never_falls(last.body) and _never_falls(last.orelse)


# ---------------------------------------------------------------- into a piece and out of it


@record
class _Exits:
    """What a piece gives: names in order, and those of them that may have no value."""

    outs: list[str]
    unsure: Names

    def value(self) -> ast.expr:
        """The names as one value."""
        loads = [_local(name) if name in self.unsure else ast.Name(name, ast.Load()) for name in self.outs]
        return loads[0] if len(loads) == 1 else _tuple(*loads)


def _piece_body(stmts: list[ast.stmt], exits: _Exits, *, codes: bool) -> list[ast.stmt]:
    body = [_Codes(exits).visit(copy.deepcopy(stmt)) for stmt in stmts] if codes else list(stmts)
    if not _never_falls(stmts):
        value = _tuple(ast.Constant(0), exits.value()) if codes else exits.value()
        body.append(_at(ast.Return(value), stmts[-1]))
    return body


class _Codes(ast.NodeTransformer):
    """Makes returns of what leaves a piece before its end."""

    def __init__(self, exits: _Exits) -> None:
        self.exits, self.depth = exits, 0

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        """The value of the function."""
        return _at(ast.Return(_tuple(ast.Constant(1), node.value or ast.Constant(None))), node)

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        """Of a loop around the piece, unless of one in it."""
        return node if self.depth else _at(ast.Return(_tuple(ast.Constant(2), self.exits.value())), node)

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        """Of a loop around the piece, unless of one in it."""
        return node if self.depth else _at(ast.Return(_tuple(ast.Constant(3), self.exits.value())), node)

    def visit_For(self, node: ast.For) -> ast.stmt:
        """A loop of the piece."""
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        """A loop of the piece."""
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> ast.stmt:
        self.depth += 1
        node.body = [self.visit(stmt) for stmt in node.body]
        self.depth -= 1
        node.orelse = [self.visit(stmt) for stmt in node.orelse]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Its returns are its own."""
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Nothing leaves from it."""
        return node


def _receive(
    call: ast.Call, place: ast.stmt, exits: _Exits, marked: list[str], *,
    jumps: list[ast.stmt], has_return: bool, codes: bool,
) -> list[ast.stmt]:  # fmt: skip
    """The statements that call a piece and take what it gives."""
    if has_return and not codes:
        return [_at(ast.Return(call), place)]
    given: ast.expr = call
    out: list[ast.stmt] = []
    if codes:
        out.append(ast.Assign([_store_all([_CODE, _RESULT])], call))
        given = ast.Name(_RESULT, ast.Load())
        if has_return:
            out.append(_if_code(1, ast.Return(given)))
    if exits.outs:
        out.append(ast.Assign([_store_all(exits.outs)], given))
        out += [unbind(name) for name in sorted(exits.unsure)]
    elif not codes:
        out.append(ast.Expr(call))
    out += [unbind(name) for name in marked if name not in exits.outs]
    if any(isinstance(jump, ast.Break) for jump in jumps):
        out.append(_if_code(2, ast.Break()))
    if any(isinstance(jump, ast.Continue) for jump in jumps):
        out.append(_if_code(3, ast.Continue()))
    return [_at(stmt, place) for stmt in out]


# ---------------------------------------------------------------- small trees


def _at(node: _NodeT, place: ast.AST) -> _NodeT:
    """The node, itself and what has no place in it, at the place of another."""
    if not hasattr(node, "lineno"):
        ast.copy_location(node, place)
    return ast.fix_missing_locations(node)


def _tuple(*items: ast.expr) -> ast.expr:
    return ast.Tuple(list(items), ast.Load())


def is_local_name(node: ast.Call) -> bool:
    """Whether a call is `LOCAL("name")`."""
    return isinstance(node.func, ast.Name) and node.func.id == LOCAL


def _local(name: str) -> ast.expr:
    return _call(LOCAL, ast.Constant(name))


def _store_all(names: list[str]) -> ast.expr:
    stores: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return stores[0] if len(stores) == 1 else ast.Tuple(stores, ast.Store())


def _if_code(code: int, then: ast.stmt) -> ast.stmt:
    test = ast.Compare(ast.Name(_CODE, ast.Load()), [ast.Eq()], [ast.Constant(code)])
    return ast.If(test, [then], [])


# ---------------------------------------------------------------- clocks


@record
class _Timing:
    """Puts a clock around the statements that Python runs; those that leave are timed up to where they leave."""

    places: list[Place]

    def block(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        return [new for stmt in stmts for new in self.statement(stmt)]

    def statement(self, stmt: ast.stmt) -> list[ast.stmt]:
        if isinstance(stmt, ast.If | ast.For | ast.While):
            new = copy.copy(stmt)
            new.body, new.orelse = self.block(stmt.body), self.block(stmt.orelse)
            return [new]
        if place_of(stmt) not in self.places or isinstance(stmt, ast.Break | ast.Continue | ast.Global):
            return [stmt]
        number = self.places.index(place_of(stmt))
        start = _at(ast.Assign([ast.Name(_START, ast.Store())], _call(CLOCK)), stmt)
        stop = _at(ast.Expr(_call(SPENT, ast.Constant(number), ast.Name(_START, ast.Load()))), stmt)
        if isinstance(stmt, ast.Return) and stmt.value is not None:
            kept = _at(ast.Assign([ast.Name(_RESULT, ast.Store())], stmt.value), stmt)
            return [start, kept, stop, _at(ast.Return(ast.Name(_RESULT, ast.Load())), stmt)]
        return [start, stmt, stop]


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])
