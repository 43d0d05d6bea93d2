"""Small faults put into the kernels, one at a time, to see that a validated output betrays every one of them.

in:   a kernel
out:  `Mutant`s: the kernel's function with one statement deleted or altered, and what was done to it

before:  u[1:-1] += dt * slope
after:   pass   |   u[1:-1] -= dt * slope   |   u[2:-1] += dt * slope   |   u[1:-1] += dt + slope   |   ...

The function and the helpers of its module which it reaches are taken apart; `make_inputs`, tolerances and counts are
not. What `np.empty` gives is filled with a strange number, so that a result does not hang on what memory held before.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from weft_bench.kernel import Kernel

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Add, ast.LShift: ast.RShift, ast.BitXor: ast.BitOr, ast.BitAnd: ast.BitOr,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
}  # fmt: skip
FUNCTIONS = {
    "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "sin": "cos", "cos": "sin", "mean": "sum",
    "std": "var", "var": "std", "sum": "mean",
}  # fmt: skip
DROPPED = {"sqrt", "exp", "abs", "tanh"}  # f(x) becomes x


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: `place` is `function:line`, the line from its `def`; `change` the new statement or `- the old one`."""

    place: str
    change: str
    function: Callable[..., Any]
    deletes: bool

    @property
    def key(self) -> str:
        return f"{self.place}: {self.change}"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a tree, and the way back."""

    apply: Callable[[], None]
    revert: Callable[[], None]
    deletes: bool = False


class Poisoned(types.ModuleType):
    """NumPy, but for `empty` and `empty_like`, whose contents are no accident."""

    def __getattr__(self, name: str) -> Any:
        made = getattr(np, name)
        if name not in {"empty", "empty_like"}:
            return made

        def filled(*args: Any, **options: Any) -> Any:
            array = made(*args, **options)
            array[...] = 77
            return array

        return filled


def make_mutants(kernel: Kernel, every: int = 1) -> Iterator[Mutant]:
    """The faults of this kernel, in the order of its text: all deletions, and of the rest each `every`-th."""
    functions = read_functions(kernel)
    whole = build(kernel, functions, {})
    for function in functions:
        for place, (statement, edit) in enumerate(edits_of(function)):
            if not edit.deletes and place % every:
                continue
            before = show(statement)
            edit.apply()
            names, after = build(kernel, [function], whole), show(statement)
            edit.revert()
            if names:
                line = statement.lineno - function.lineno
                changed = names[kernel.function.__name__]
                yield Mutant(f"{function.name}:{line}", f"- {before}" if edit.deletes else after, changed, edit.deletes)


def unchanged(kernel: Kernel) -> Callable[..., Any]:
    """The kernel itself, built the same way."""
    return build(kernel, read_functions(kernel), {})[kernel.function.__name__]


def show(statement: ast.stmt) -> str:
    """Its text, without the statements inside it."""
    return ast.unparse(statement).splitlines()[0]


def read_functions(kernel: Kernel) -> list[ast.FunctionDef]:
    """The kernel's function and the helpers it reaches, without their docstrings."""
    module = ast.parse(inspect.getsource(sys.modules[kernel.function.__module__]))
    by_name = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    reached, waiting = dict[str, ast.FunctionDef](), [kernel.function.__name__]
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in reached:
            reached[name] = by_name[name]
            waiting += [node.id for node in ast.walk(by_name[name]) if isinstance(node, ast.Name)]
    for function in reached.values():
        function.body = function.body[1:]
        function.returns = None
        for argument in function.args.args:
            argument.annotation = None
    return list(reached.values())


def build(kernel: Kernel, functions: list[ast.FunctionDef], others: dict[str, Any]) -> dict[str, Any]:
    """The functions these trees make, among the others of their module; nothing if they are no program."""
    tree = ast.fix_missing_locations(ast.Module(body=copy.deepcopy(list[ast.stmt](functions)), type_ignores=[]))
    names: dict[str, Any] = vars(sys.modules[kernel.function.__module__]) | others | {"np": Poisoned("numpy")}
    try:
        code = compile(tree, f"<{kernel.name}>", "exec")
    except (SyntaxError, ValueError):
        return {}
    exec(code, names)
    # Functions find each other in the globals they were made with: all of them move to these.
    for name, value in others.items():
        if isinstance(value, types.FunctionType) and value.__module__ == kernel.function.__module__:
            names[name] = names[name] if name in {f.name for f in functions} else rebind(value, names)
    return names


def rebind(function: types.FunctionType, names: dict[str, Any]) -> types.FunctionType:
    """The same function, which looks up its names elsewhere."""
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)


# ---------------------------------------------------------------- what is changed


def edits_of(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt, Edit]]:
    """Each edit, with the statement it changes."""
    for block in blocks_of(function):
        for position, statement in enumerate(block):
            yield statement, delete_statement(block, position)
            for edit in edits_of_statement(statement):
                yield statement, edit


def blocks_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements inside, at any depth."""
    for field in ("body", "orelse"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block:
            yield block
            for statement in block:
                yield from blocks_of(statement)


def edits_of_statement(statement: ast.stmt) -> Iterator[Edit]:
    """Changes within one statement, without the statements inside it."""
    if isinstance(statement, ast.AugAssign):
        yield swap_operator(statement)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        yield from drop_pairs(statement.targets[0], statement.value)
    nodes = list(own_nodes(statement))
    extents = {id(node.slice) for node in nodes if is_extent(node)}
    for node in nodes:
        if isinstance(node, ast.Constant):
            yield from change_constant(node, id(node) in extents)
        else:
            yield from edits_of_expression(node)


def edits_of_expression(node: ast.AST) -> Iterator[Edit]:
    """Changes of one node."""
    match node:
        case ast.BinOp():
            yield swap_operator(node)
        case ast.Compare():
            yield replace_field(node, "ops", [COMPARISONS[type(node.ops[0])]()])
        case ast.BoolOp():
            yield replace_field(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(operand=operand) if not isinstance(operand, ast.Constant):
            yield replace_field(node, "op", ast.UAdd())
        case ast.Slice():
            yield from move_bounds(node)
        case ast.Call():
            yield from change_call(node)
        case _:
            pass


def change_constant(node: ast.Constant, is_extent: bool) -> Iterator[Edit]:
    """One more, and of an integer one less; not for an extent, as `shape[-1]` of a vector is its `shape[0]`."""
    value = node.value
    if isinstance(value, bool):
        yield replace_field(node, "value", not value)
    elif isinstance(value, int | float | complex):
        yield replace_field(node, "value", value + 1)
        if isinstance(value, int) and not is_extent:
            yield replace_field(node, "value", value - 1)


def is_extent(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """Whether it is `array.shape[number]`."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without those of the statements inside it."""
    for field in ast.iter_child_nodes(statement):
        if not isinstance(field, ast.stmt):
            yield from ast.walk(field)


def replace_field(node: ast.AST, field: str, value: Any) -> Edit:
    """The edit that sets one field of a node."""
    old = getattr(node, field)
    return Edit(lambda: setattr(node, field, value), lambda: setattr(node, field, old))


def delete_statement(block: list[ast.stmt], position: int) -> Edit:
    """`pass` in its place."""
    old = block[position]
    return Edit(lambda: block.__setitem__(position, ast.Pass()), lambda: block.__setitem__(position, old), deletes=True)


def swap_operator(node: ast.BinOp | ast.AugAssign) -> Edit:
    """`+` for `-` and so on."""
    return replace_field(node, "op", OPERATORS[type(node.op)]())


def drop_pairs(targets: ast.Tuple, values: ast.expr) -> Iterator[Edit]:
    """Of `a, b = 1, 2` one of the two assignments."""
    if not isinstance(values, ast.Tuple):
        return
    before = (list(targets.elts), list(values.elts))

    def put(pair: tuple[list[ast.expr], ...]) -> None:
        targets.elts, values.elts = list(pair[0]), list(pair[1])

    for position in range(len(targets.elts)):
        less = tuple([*items[:position], *items[position + 1 :]] for items in before)
        yield Edit(lambda less=less: put(less), lambda: put(before))


def move_bounds(node: ast.Slice) -> Iterator[Edit]:
    """Bounds that are no constants (those have an edit of their own) one further."""
    for field in ("lower", "upper"):
        bound = getattr(node, field)
        if bound is not None and not isinstance(bound, ast.Constant | ast.UnaryOp):
            yield replace_field(node, field, ast.BinOp(bound, ast.Add(), ast.Constant(1)))


def change_call(node: ast.Call) -> Iterator[Edit]:
    """Another function, none at all, another axis, one turn less."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in FUNCTIONS:
        yield replace_field(function, "attr" if isinstance(function, ast.Attribute) else "id", FUNCTIONS[name])
    if name in DROPPED and len(node.args) == 1:
        yield replace_field(node, "func", ast.parse("(lambda x: x)", mode="eval").body)
    if name == "range" and len(node.args) == 1:
        yield replace_field(node, "args", [ast.BinOp(node.args[0], ast.Sub(), ast.Constant(1))])
    for keyword in node.keywords:
        if keyword.arg == "axis":
            yield replace_field(keyword, "value", other_axis(keyword.value))


def other_axis(axis: ast.expr) -> ast.expr:
    """The axis before this one (of a tuple, all but the last)."""
    value = ast.literal_eval(axis)
    return ast.parse(repr(value[:-1] if isinstance(value, tuple) else value - 1), mode="eval").body
