"""Which local names may still be read from a statement on.

in:   the (normalised) tree of a function
out:  for every statement its path, the names live before it, and for calls the names live while the call runs

The path of a statement is `(i0, f1, i1, f2, i2, ...)`: its index in the function's body, then in turn the field of the
compound statement around it (0 = body, 1 = orelse, 2 = finally) and the index in there.

    def f(a, n):
        s = 0                    (0,)         live: a n
        for i in range(n):       (1,)         live: a n s
            s += a[i]            (1, 0, 0)    live: a i s
        return s                 (2,)         live: s

Too many names are a waste, one too few is wrong: `with`, `try` and `match` count as reading all that the function
reads, and what a nested function or generator reads counts everywhere, since it may be called at any time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TypeAlias, cast

from weft.frontend import trees
from weft.support.records import record

StatementPath: TypeAlias = tuple[int, ...]
Names: TypeAlias = frozenset[str]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OPAQUE = (ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match, ast.AsyncFor)
_NONE: Names = frozenset()


# ---------------------------------------------------------------- paths


def blocks(stmt: ast.stmt) -> tuple[list[ast.stmt], ...]:
    """The statement lists in `stmt` that paths lead into: body and orelse, and what a `try` does finally."""
    if isinstance(stmt, (ast.Try, ast.TryStar)):
        return stmt.body, stmt.orelse, stmt.finalbody
    if isinstance(stmt, (ast.If, ast.For, ast.While, ast.AsyncFor)):
        return stmt.body, stmt.orelse
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        return stmt.body, []
    return [], []


def statements(tree: ast.FunctionDef) -> Iterator[tuple[StatementPath, ast.stmt]]:
    """All statements that have a path, in the order of the text."""
    yield from _statements(tree.body, ())


def _statements(block: list[ast.stmt], prefix: StatementPath) -> Iterator[tuple[StatementPath, ast.stmt]]:
    for index, stmt in enumerate(block):
        path = (*prefix, index)
        yield path, stmt
        for number, inner in enumerate(blocks(stmt)):
            yield from _statements(inner, (*path, number))


def statement_at(tree: ast.FunctionDef, path: StatementPath) -> ast.stmt:
    """The statement a path leads to; ValueError where it leads nowhere."""
    block = tree.body
    if len(path) % 2 == 0:
        raise ValueError(f"{path} is not the path of a statement")
    try:
        for index, number in zip(path[:-1:2], path[1::2], strict=True):
            block = blocks(block[index])[number]
        return block[path[-1]]
    except IndexError:
        raise ValueError(f"{path} is not the path of a statement") from None


def is_errstate(stmt: ast.With) -> bool:
    """Whether a `with` statement is `with np.errstate(...)`, as far as the text shows: it handles no exception."""
    match stmt.items:
        case [ast.withitem(context_expr=ast.Call(func=ast.Attribute(attr="errstate") | ast.Name(id="errstate")))]:
            return stmt.items[0].optional_vars is None
        case _:
            return False


# ---------------------------------------------------------------- names


def own_nodes(tree: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body that run in its own scope (comprehensions included, nested functions not).

    A nested function or class is itself given, with what is evaluated where it is defined: decorators, defaults, bases.
    """
    pending = cast("list[ast.AST]", [tree.body] if isinstance(tree, ast.Lambda) else tree.body[::-1])
    while pending:
        node = pending.pop()
        yield node
        pending += [*(_defined_outside(node) if isinstance(node, _SCOPES) else ast.iter_child_nodes(node))][::-1]


def _defined_outside(node: ast.AST) -> Iterator[ast.AST]:
    """What a function or class evaluates where it is defined."""
    yield from cast("list[ast.expr]", getattr(node, "decorator_list", []))
    if isinstance(node, ast.ClassDef):
        yield from (*node.bases, *node.keywords)
    if isinstance(node, _FUNCTIONS):
        yield from (*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None))


def parameters(tree: Function) -> tuple[str, ...]:
    """The parameters in the order of a call, then `*args`, keyword-only ones, `**kwargs`."""
    args = tree.args
    named = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return tuple(arg.arg for arg in named if arg is not None)


def local_names(tree: Function) -> Names:
    """The names that are local to the function: parameters and whatever it assigns in any way."""
    bound = set(parameters(tree))
    outside: set[str] = set()
    comprehension_targets = _comprehension_targets(tree)
    for node in own_nodes(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outside.update(node.names)
        elif not (isinstance(node, ast.Name) and id(node) in comprehension_targets):
            bound.update(_bindings(node))
    return frozenset(bound - outside)


def _bindings(node: ast.AST) -> Iterable[str]:
    """The names that `node` itself binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return (name,)
        case ast.MatchMapping(rest=str(name)):
            return (name,)
        case _:
            return ()


def names_bound(stmts: Iterable[ast.stmt]) -> Names:
    """The names that statements bind in their scope."""
    holder = cast("ast.FunctionDef", ast.parse("def f(): pass").body[0])
    holder.body = list(stmts)
    return local_names(holder)


def _comprehension_targets(tree: Function) -> set[int]:
    """Identities of the Name nodes that belong to comprehensions, not to the function."""
    return {
        id(name)
        for node in own_nodes(tree)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }


def names_read(node: ast.AST | None) -> Names:
    """The names of the scope around `node` that running it may read, or that functions made in it may read later."""
    match node:
        case None:
            return _NONE
        case ast.Name(id=name, ctx=ctx):
            return _NONE if isinstance(ctx, ast.Store) else frozenset((name,))
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            return names_read(value) | {name}
        case ast.Call(func=ast.Name(id=trees.LOCAL), args=[ast.Constant(value=str(name))]):
            return frozenset((name,))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return _read_by_function(node)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            own = {
                name.id
                for generator in node.generators
                for name in ast.walk(generator.target)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
            # The first iterable is evaluated outside, where the comprehension's own names mean something else.
            return (_read_by_children(node) - own) | names_read(node.generators[0].iter)
        case _:
            return _read_by_children(node)


def _read_by_children(node: ast.AST) -> Names:
    return _NONE.union(*(names_read(child) for child in ast.iter_child_nodes(node)))


def _read_by_function(node: Function) -> Names:
    nonlocals = {
        name for inner in own_nodes(node) if isinstance(inner, ast.Nonlocal) for name in inner.names
    }  # written there, but in the variable of the function around
    return (_read_by_children(node) - local_names(node)) | nonlocals | _read_outside(node)


def _read_outside(node: Function) -> Names:
    annotations = (arg.annotation for arg in ast.walk(node.args) if isinstance(arg, ast.arg))
    returns = None if isinstance(node, ast.Lambda) else node.returns
    return _NONE.union(*map(names_read, (*_defined_outside(node), *annotations, returns)))


def captured_names(tree: Function) -> Names:
    """The local names of the function that functions, classes and generators made in it read when they run."""
    lazy = (node for node in own_nodes(tree) if isinstance(node, (*_SCOPES, ast.GeneratorExp)))
    return _NONE.union(*map(names_read, lazy)) & local_names(tree)


def _killed(stmt: ast.stmt) -> Names:
    """The names that surely have a new value after `stmt`."""
    match stmt:
        case ast.Assign(targets=targets):
            return _NONE.union(*map(_stored, targets))
        case ast.AnnAssign(target=target, value=value) if value is not None:
            return _stored(target)
        case ast.Delete(targets=targets):
            return _NONE.union(*map(names_read, targets))
        case _:
            return frozenset(_bindings(stmt))


def _stored(target: ast.expr) -> Names:
    match target:
        case ast.Name(id=name):
            return frozenset((name,))
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return _NONE.union(*map(_stored, elts))
        case ast.Starred(value=value):
            return _stored(value)
        case _:
            return _NONE


# ---------------------------------------------------------------- bound names, forward


def bound_before(tree: ast.FunctionDef) -> dict[StatementPath, Names]:
    """For every statement, the local names that surely have a value when it begins."""
    bound = _Bound(local_names(tree), {})
    bound.block(tree.body, (), frozenset(parameters(tree)), [])
    return bound.before


@record
class _Bound:
    """One forward walk; after a statement that always leaves, every name counts as bound: nothing runs there."""

    own: Names
    before: dict[StatementPath, Names]

    def block(self, stmts: list[ast.stmt], prefix: StatementPath, names: Names, breaks: list[Names]) -> Names:
        for index, stmt in enumerate(stmts):
            self.before[(*prefix, index)] = names
            names = self.statement(stmt, (*prefix, index), names, breaks)
        return names

    def statement(self, stmt: ast.stmt, path: StatementPath, names: Names, breaks: list[Names]) -> Names:
        match stmt:
            case ast.If(body=body, orelse=orelse):
                then = self.block(body, (*path, 0), names, breaks)
                return then & self.block(orelse, (*path, 1), names, breaks)
            case ast.For() | ast.While():
                return self.loop(stmt, path, names, breaks)
            case ast.Break():
                breaks.append(names)
                return self.own
            case ast.Return() | ast.Raise() | ast.Continue():
                return self.own
            case ast.Delete():
                return names - _killed(stmt)
            case ast.With(body=body) if is_errstate(stmt):
                return self.block(body, (*path, 0), names, breaks)
            case _ if isinstance(stmt, _OPAQUE):
                return self.opaque(stmt, path, names)
            case _:
                return names | (_killed(stmt) & self.own)

    def loop(self, stmt: ast.For | ast.While, path: StatementPath, names: Names, breaks: list[Names]) -> Names:
        names -= _deleted(stmt)  # what an iteration deletes, the next does not find
        inner = [names]
        target = _stored(stmt.target) & self.own if isinstance(stmt, ast.For) else _NONE
        self.block(stmt.body, (*path, 0), names | target, inner)
        done = self.block(stmt.orelse, (*path, 1), names, breaks)
        return done.intersection(*inner)

    def opaque(self, stmt: ast.stmt, path: StatementPath, names: Names) -> Names:
        names -= _deleted(stmt)
        for number, inner in enumerate(blocks(stmt)):
            self.block(inner, (*path, number), names, [])
        return names


def bound_along(
    tree: ast.FunctionDef, run: Iterable[tuple[StatementPath, ast.stmt]], names: Names
) -> tuple[Names, dict[StatementPath, Names]]:
    """The names that surely have a value after a run of statements that begins with `names`, and before each in it."""
    bound = _Bound(local_names(tree), {})
    for path, stmt in run:
        bound.before[path] = names
        names = bound.statement(stmt, path, names, [])
    return names, bound.before


def _deleted(stmt: ast.stmt) -> Names:
    return _NONE.union(*(_killed(node) for node in ast.walk(stmt) if isinstance(node, ast.Delete)))


# ---------------------------------------------------------------- dataflow, backward


def live_before(tree: ast.FunctionDef) -> dict[StatementPath, Names]:
    """For every statement, the local names whose value may still be read when execution starts at it."""
    return flow(tree).before


def live_after_call(tree: ast.FunctionDef) -> dict[StatementPath, Names]:
    """For every statement `t = f(...)` and `f(...)`, the local names that may be read after it, `t` left out."""
    after = flow(tree).after
    return {path: after[path] - _killed(stmt) for path, stmt in statements(tree) if call_of_statement(stmt) is not None}


def call_of_statement(stmt: ast.stmt) -> ast.Call | None:
    """The call in `t = f(...)` or `f(...)`."""
    match stmt:
        case ast.Assign(targets=[ast.Name()], value=ast.Call() as call) | ast.Expr(value=ast.Call() as call):
            return call
        case _:
            return None


def flow(tree: ast.FunctionDef) -> Flow:
    """What is live before and after every statement of a function."""
    own = local_names(tree)
    everything = _NONE.union(*map(names_read, tree.body)) & own
    flow = Flow(own, captured_names(tree), everything)
    flow.block(tree.body, (), _NONE, _Loop(_NONE, _NONE))
    return flow


@record
class _Loop:
    """What is live where `break` and `continue` lead."""

    on_break: Names
    on_continue: Names


@record
class Flow:
    """One backward walk; `before` and `after` hold the last (in loops: the largest) answer for each statement."""

    own: Names
    always: Names
    everything: Names
    before: dict[StatementPath, Names] = field(default_factory=dict[StatementPath, Names])
    after: dict[StatementPath, Names] = field(default_factory=dict[StatementPath, Names])

    def block(self, stmts: list[ast.stmt], prefix: StatementPath, live: Names, loop: _Loop) -> Names:
        for index in reversed(range(len(stmts))):
            live = self.statement(stmts[index], (*prefix, index), live, loop)
        return live

    def statement(self, stmt: ast.stmt, path: StatementPath, live: Names, loop: _Loop) -> Names:
        self.after[path] = live | self.always
        result = self.transfer(stmt, path, live, loop) & self.own | self.always
        self.before[path] = result
        return result

    def transfer(self, stmt: ast.stmt, path: StatementPath, live: Names, loop: _Loop) -> Names:
        match stmt:
            case ast.If(test=test, body=body, orelse=orelse):
                branches = self.block(body, (*path, 0), live, loop) | self.block(orelse, (*path, 1), live, loop)
                return names_read(test) | branches
            case ast.For() | ast.While():
                return self.loop(stmt, path, live, loop)
            case ast.Break():
                return loop.on_break
            case ast.Continue():
                return loop.on_continue
            case ast.Return() | ast.Raise():
                return names_read(stmt)
            case ast.With(items=items, body=body) if is_errstate(stmt):
                inside = self.block(body, (*path, 0), live, loop)
                return inside.union(*(names_read(item) for item in items))
            case _ if isinstance(stmt, _OPAQUE):
                self.opaque(stmt, path)
                return self.everything | live
            case _:
                return (live - _killed(stmt)) | names_read(stmt)

    def loop(self, stmt: ast.For | ast.While, path: StatementPath, live: Names, loop: _Loop) -> Names:
        done = self.block(stmt.orelse, (*path, 1), live, loop)
        if isinstance(stmt, ast.While):
            entry, fixed, killed = _NONE, names_read(stmt.test) | done, _NONE
        else:
            entry, fixed, killed = names_read(stmt.iter), names_read(stmt.target) | done, _stored(stmt.target)
        head = fixed
        while True:
            body = self.block(stmt.body, (*path, 0), head, _Loop(on_break=live, on_continue=head))
            grown = head | (body - killed)
            if grown == head:
                return entry | head
            head = grown

    def opaque(self, stmt: ast.stmt, path: StatementPath) -> None:
        """An exception may lead from anywhere inside to anywhere: all that the function reads is live in there."""
        for number, inner in enumerate(blocks(stmt)):
            for inside, _ in _statements(inner, (*path, number)):
                self.before[inside] = self.after[inside] = self.everything | self.always


def outer_jumps(path: StatementPath, stmt: ast.stmt) -> Iterator[tuple[StatementPath, ast.stmt]]:
    """The `break` and `continue` statements that belong to a loop around the statement."""
    if isinstance(stmt, ast.Break | ast.Continue):
        yield path, stmt
    for number, inner in enumerate(blocks(stmt)):
        if number == 0 and isinstance(stmt, ast.For | ast.While):
            continue
        for index, child in enumerate(inner):
            yield from outer_jumps((*path, number, index), child)
