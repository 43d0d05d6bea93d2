"""Comprehensions and generators as loops, for `normalise`.

in:   a list or dict comprehension, a call such as `sum(x * x for x in v)`, a generator that is unpacked or looped over
out:  statements that do the same, and the name of the result

before:  [f(i) for i in range(n) if i != k]       after:  __weft_t0 = []
                                                          for __weft_t1_i in range(n):
                                                              if __weft_t1_i != k:
                                                                  __weft_t0.append(f(__weft_t1_i))

The variables of a comprehension are its own, so they get names nobody else has. `map` and `filter` are generators in
another spelling (`mapped`).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any, cast

from weft.frontend.mapped import as_generator, is_mapped

TEMPORARY = "__weft_t"
_Comprehension = ast.ListComp | ast.DictComp | ast.GeneratorExp
_CONSUMERS = ("sum", "any", "all", "min", "max", "list", "tuple", "sorted")


def is_set_apart(stmt: ast.stmt) -> bool:
    """Whether a statement is a call that the normaliser took out of another one."""
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
            return name.startswith(TEMPORARY)
        case _:
            return False


def is_expandable(node: ast.AST) -> bool:
    """Whether a node has the form of something that is written out as a loop; names are not looked at."""
    match node:
        case ast.ListComp() | ast.DictComp():
            return _is_plain(node)
        case ast.Call(func=ast.Name(id=name), args=[items], keywords=[]) if name in _CONSUMERS and not is_mapped(node):
            return is_generator(items)
        case ast.Call(func=ast.Name(id="sum"), args=[items, ast.Constant()], keywords=[]):
            return is_generator(items)
        case _:
            return is_generator(node)


def is_generator(node: ast.AST) -> bool:
    """Whether a node gives its items one after the other, as they are asked for."""
    return _is_plain(node) if isinstance(node, ast.GeneratorExp) else is_mapped(node)


def taken_at_once(tree: ast.AST) -> Iterator[ast.expr]:
    """Generators all of whose items are taken where they stand.

    `a, b = (f(x) for x in v)`, `g(*(f(x) for x in v))`, `for y in map(f, v): ...`
    """
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple() | ast.List()], value=generator) if is_generator(generator):
                yield generator
            case ast.Starred(value=generator) if is_generator(generator):
                yield generator
            case ast.For(iter=generator) if is_fused(generator):
                yield generator
            case _:
                pass


def is_fused(node: ast.AST) -> bool:
    """Whether a loop over a generator can be one over what the generator takes its items from."""
    return is_generator(node) and not (isinstance(node, ast.GeneratorExp) and len(node.generators) > 1)


def sources(node: ast.expr) -> Iterator[ast.expr]:
    """The generators that something written out takes its items from, once it is a loop."""
    match node:
        case ast.Call(func=ast.Name(id="map" | "filter"), args=[_, items]):
            found = [items]
        case ast.Call(args=[items, *_]) if is_generator(items) and not is_mapped(node):
            yield from (items, *sources(items))
            return
        case ast.ListComp() | ast.DictComp() | ast.GeneratorExp():
            found = [generator.iter for generator in node.generators]
        case _:
            return
    for item in filter(is_fused, found):
        yield item
        yield from sources(item)


def builtins_of(node: ast.expr) -> Iterator[str]:
    """The names that must mean Python's own functions for a node to be written out."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            yield name
            if is_mapped(node) and len(node.args) > 2:
                yield "zip"
        case _:
            pass


def _is_plain(node: _Comprehension) -> bool:
    refused = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    if any(isinstance(inner, refused) for inner in ast.walk(node)):
        return False
    first = {id(inner) for inner in ast.walk(node.generators[0].iter)}  # in which no name changes
    if any(isinstance(inner, ast.Lambda) and id(inner) not in first for inner in ast.walk(node)):
        return False
    return not any(generator.is_async for generator in node.generators)


def expand(node: ast.expr, fresh: Iterator[str], own: frozenset[str]) -> tuple[list[ast.stmt], ast.expr]:
    """The statements for a comprehension or a call with a generator, and what its value is then.

    `own`: the names that the function itself binds.
    """
    if is_mapped(node):
        before, generator = as_generator(node, fresh, own)
        statements, value = expand(generator, fresh, own)
        return [*before, *statements], value
    if isinstance(node, ast.Call) and is_mapped(node.args[0]):
        before, generator = as_generator(node.args[0], fresh, own)
        changed = copy.copy(node)
        changed.args = [generator, *node.args[1:]]
        statements, value = expand(changed, fresh, own)
        return [*before, *statements], value
    return _expand(node, fresh)


def fuse(loop: ast.For, fresh: Iterator[str], own: frozenset[str]) -> list[ast.stmt]:
    """A loop over a generator of one clause, as one over what that takes its items from.

    before:  for y in map(f, v): ...            after:  for __weft_t0_x in v:
                                                            y = f(__weft_t0_x)
                                                            ...
    """
    before, generator = list[ast.stmt](), loop.iter
    if is_mapped(generator):
        before, generator = as_generator(generator, fresh, own)
    assert isinstance(generator, ast.GeneratorExp)

    def body(elt: ast.expr) -> list[ast.stmt]:
        return [_at(ast.Assign([loop.target], elt), elt), *loop.body]

    fused = _loops(generator, fresh, body)
    assert isinstance(fused, ast.For)
    fused.orelse = loop.orelse
    return [*before, ast.copy_location(fused, loop)]


def _expand(node: ast.expr, fresh: Iterator[str]) -> tuple[list[ast.stmt], ast.expr]:
    result = next(fresh)
    match node:
        case ast.ListComp() | ast.GeneratorExp():
            return _listed(node, result, fresh), _load(result, node)
        case ast.DictComp():
            return _keyed(node, result, fresh), _load(result, node)
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" as name), args=[ast.GeneratorExp() as generator]):
            value: ast.expr = _load(result, node)
            if name != "list":
                value = _at(ast.Call(_load(name, node.func), [value], []), node.args[0])
            return _listed(generator, result, fresh), value
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.GeneratorExp() as generator]):
            return _decided(generator, result, fresh, name == "any"), _load(result, node)
        case ast.Call(func=ast.Name(id="sum"), args=[ast.GeneratorExp() as generator, *start]):
            return _summed(generator, result, fresh, start), _load(result, node)
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as generator]):
            return _extreme(generator, result, fresh, name), _load(result, node)
        case _:
            raise ValueError(f"cannot expand a {type(node).__name__}")


def _listed(node: _Comprehension, result: str, fresh: Iterator[str]) -> list[ast.stmt]:
    def body(elt: ast.expr) -> list[ast.stmt]:
        append = _at(ast.Attribute(_load(result, elt), "append", ast.Load()), elt)
        return [_at(ast.Expr(_at(ast.Call(append, [elt], []), elt)), elt)]

    return [_assign(result, _at(ast.List([], ast.Load()), node)), _loops(node, fresh, body)]


def _keyed(node: ast.DictComp, result: str, fresh: Iterator[str]) -> list[ast.stmt]:
    """A dict: of every item first the key is computed, then the value."""
    key = next(fresh)

    def body(found: ast.expr, value: ast.expr) -> list[ast.stmt]:
        target = _at(ast.Subscript(_load(result, value), _load(key, found), ast.Store()), value)
        return [_assign(key, found), _at(ast.Assign([target], value), value)]

    return [_assign(result, _at(ast.Dict([], []), node)), _loops(node, fresh, body)]


def _decided(node: _Comprehension, result: str, fresh: Iterator[str], is_any: bool) -> list[ast.stmt]:
    """any and all stop at the item that decides; a flag takes that out of inner loops."""

    def body(elt: ast.expr) -> list[ast.stmt]:
        test = elt if is_any else _at(ast.UnaryOp(ast.Not(), elt), elt)
        found = _assign(result, _at(ast.Constant(value=is_any), elt))
        return [_at(ast.If(test, [found, _at(ast.Break(), elt)], []), elt)]

    start = _assign(result, _at(ast.Constant(value=not is_any), node))
    return [start, _loops(node, fresh, body, stop=(result, is_any))]


def _summed(node: _Comprehension, result: str, fresh: Iterator[str], start: list[ast.expr]) -> list[ast.stmt]:
    def body(elt: ast.expr) -> list[ast.stmt]:
        return [_assign(result, _at(ast.BinOp(_load(result, elt), ast.Add(), elt), elt))]

    first = start[0] if start else _at(ast.Constant(value=0), node)
    return [_assign(result, first), _loops(node, fresh, body)]


def _extreme(node: _Comprehension, result: str, fresh: Iterator[str], name: str) -> list[ast.stmt]:
    """min and max: the first item, then every one that is better; Python's own words where there is none."""
    found, item = next(fresh), next(fresh)

    def body(elt: ast.expr) -> list[ast.stmt]:
        order = ast.Lt() if name == "min" else ast.Gt()
        better = _at(ast.Compare(_load(item, elt), [order], [_load(result, elt)]), elt)
        take = _assign(result, _load(item, elt))
        first = [_assign(found, _at(ast.Constant(value=True), elt)), take]
        return [
            _assign(item, elt),
            _at(ast.If(_load(found, elt), [_at(ast.If(better, [take], []), elt)], first), elt),
        ]

    nothing = _at(ast.Call(_load(name, node), [_at(ast.Tuple([], ast.Load()), node)], []), node)
    missing = _at(ast.UnaryOp(ast.Not(), _load(found, node)), node)
    return [
        _assign(found, _at(ast.Constant(value=False), node)),
        _loops(node, fresh, body),
        _at(ast.If(missing, [_at(ast.Expr(nothing), node)], []), node),
    ]


def _loops(node: _Comprehension, fresh: Iterator[str], body: Any, stop: tuple[str, bool] | None = None) -> ast.stmt:
    """The loops of the generators around `body(element)`; with `stop`, outer loops end when that name has the value."""
    names: dict[str, str] = {}
    heads: list[tuple[ast.expr, ast.expr, list[ast.expr]]] = []
    for number, generator in enumerate(node.generators):
        source = generator.iter if number == 0 else _renamed(generator.iter, names)
        targets = {name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name)}
        names |= {name: f"{next(fresh)}_{name}" for name in sorted(targets - names.keys())}
        tests = [_renamed(test, names) for test in generator.ifs]
        heads.append((_renamed(generator.target, names), source, tests))
    parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
    inner: list[ast.stmt] = body(*(_renamed(part, names) for part in parts))
    for number, (target, source, tests) in reversed(list(enumerate(heads))):
        for test in reversed(tests):
            inner = [_at(ast.If(test, inner, []), test)]
        loop = _at(ast.For(target, source, inner, [], None), source)
        inner = [loop]
        if stop is not None and number > 0:
            done: ast.expr = _load(stop[0], source)
            done = done if stop[1] else _at(ast.UnaryOp(ast.Not(), done), source)
            inner.append(_at(ast.If(done, [_at(ast.Break(), source)], []), source))
    return inner[0]


def _renamed(node: ast.expr, names: dict[str, str]) -> ast.expr:
    """The expression with other names; parts without such a name are the very objects that came in."""
    return cast("ast.expr", _rename(node, names)) if names else node


def _rename(node: ast.AST, names: dict[str, str]) -> ast.AST:
    if isinstance(node, ast.Name):
        return ast.copy_location(ast.Name(names[node.id], node.ctx), node) if node.id in names else node
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        return _rename_inner(node, names)
    return _rename_fields(node, names)


def _rename_inner(node: Any, names: dict[str, str]) -> ast.AST:
    """A comprehension inside: what it binds itself means something else in there, but for its first iterable."""
    own = {
        name.id for generator in node.generators for name in ast.walk(generator.target) if isinstance(name, ast.Name)
    }
    changed: Any = _rename_fields(node, {name: new for name, new in names.items() if name not in own})
    generators = [copy.copy(generator) for generator in changed.generators]
    generators[0].iter = _rename(node.generators[0].iter, names)
    changed = copy.copy(changed)
    changed.generators = generators
    return changed


def _rename_fields(node: ast.AST, names: dict[str, str]) -> ast.AST:
    new: Any = None
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            changed: Any = _rename(value, names)
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            renamed = [_rename(item, names) if isinstance(item, ast.AST) else item for item in items]
            changed = items if all(a is b for a, b in zip(renamed, items, strict=True)) else renamed
        else:
            continue
        if changed is not value:
            new = copy.copy(node) if new is None else new
            setattr(new, field, changed)
    return node if new is None else new


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return _at(ast.Assign([_at(ast.Name(name, ast.Store()), value)], value), value)


def _load(name: str, place: ast.AST) -> ast.Name:
    return _at(ast.Name(name, ast.Load()), place)


def _at(node: Any, place: ast.AST) -> Any:
    return ast.copy_location(node, place)
