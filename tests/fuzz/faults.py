"""Faults put into the compiler on purpose: the fuzzer must find every one of them.

in:   nothing; each fault is a context manager that patches one place of the compiler
out:  `FAULTS`, by name. What they make wrong stays inside of arrays: a fault must not end the process that looks for it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar
from unittest import mock

import numpy as np

from weft.analysis import dependences
from weft.codegen import exits, reduction_positions, support_functions
from weft.driver import host, pipelines
from weft.frontend import iteration
from weft.ir.dtypes import PY_INT, DType
from weft.ir.exprs import Op, const_index, op
from weft.ir.nodes import Branch, Continue, Elementwise, Guard, Loop, Node, Program, Return, View
from weft.numpy_rules import builder, elementwise, indexing, memory_order, reductions, ufuncs
from weft.passes import hoist_allocs, inline_producers
from weft.passes.base import Session, rewrite_nodes

Fault = Callable[[], AbstractContextManager[Any]]


# ---- how a fault is made --------------------------------------------------------------------------------------------


def c_text(kind: str, name: str, old: str, new: str) -> Fault:
    """Another text in the C of a support function."""
    table: Any = support_functions._TEMPLATES[kind]
    assert old in table[name], (kind, name)
    return lambda: mock.patch.dict(table, {name: table[name].replace(old, new)})


def instead(owner: Any, name: str, make: Callable[[Any], Any]) -> Fault:
    """Another function in place of one, made from it."""
    return lambda: mock.patch.object(owner, name, make(getattr(owner, name)))


def always(owner: Any, name: str, value: Any) -> Fault:
    """A function that always gives one value."""
    return instead(owner, name, lambda _: lambda *_args, **_more: value)


class _Pass:
    """A pass that does something wrong."""

    name: ClassVar[str] = "fault"

    def __init__(self, rule: Callable[[Node], tuple[Node, ...] | None]) -> None:
        self.rule = rule

    def run(self, program: Program, session: Session) -> Program:
        return replace(program, body=rewrite_nodes(program.body, self.rule))


def first_pass(rule: Callable[[Node], tuple[Node, ...] | None]) -> Fault:
    """Nodes replaced before all passes."""
    return instead(pipelines, "_cpu_passes", lambda passes: lambda: (_Pass(rule), *passes()))


# ---- numbers and types ----------------------------------------------------------------------------------------------


def _narrow(resolve: Any) -> Any:
    """float32 with anything gives float32."""

    def wrong(name: str, keys: tuple[Any, ...], dtype: Any) -> Any:
        single = np.dtype(np.float32)
        return resolve(name, (single,) * len(keys) if single in keys else keys, dtype)

    return wrong


def _strong(type_key: Any) -> Any:
    """Python's numbers count as float64 and int64."""

    def wrong(operand: Any) -> Any:
        found = type_key(operand)
        return np.dtype(found) if found in (int, float) else found

    return wrong


def _operands_swapped(operation: Any) -> Any:
    def wrong(name: str, args: Sequence[Any], result: DType) -> Any:
        return operation(name, args[::-1] if name == "subtract" else args, result)

    return wrong


def _not_strict(operation: Any) -> Any:
    def wrong(name: str, args: Sequence[Any], result: DType) -> Any:
        return operation({"less_equal": "less", "greater_equal": "greater"}.get(name, name), args, result)

    return wrong


def _where_swapped(op_: Any) -> Any:
    def wrong(name: str, args: Any, type_: Any = None) -> Any:
        if name == "select":
            args = (args[0], args[2], args[1])
        return op_(name, args, type_)

    return wrong


def _or_equal(order: Any) -> Any:
    return lambda self, left, right: order(self, left, right).replace(" > ", " >= ").replace(" < ", " <= ")


# ---- indices and views ----------------------------------------------------------------------------------------------


def _negative_is_first(wrap: Any) -> Any:
    """`a[-1]` is `a[0]`."""

    def wrong(build: Any, position: Any, extent: Any) -> Any:
        found = wrap(build, position, extent)
        return const_index(0) if position.constant is not None and position.constant < 0 else found

    return wrong


def _starts_again(wrap: Any) -> Any:
    """An index beyond the end counts on from the front."""

    def wrong(build: Any, position: Any, extent: Any) -> Any:
        if not build.proves_nonnegative(position):
            return wrap(build, position, extent)
        return build.let_index(op("remainder", (position, extent), PY_INT), "w", low=0)

    return wrong


def _forwards(descending: Any) -> Any:
    """A slice with a negative step has the right elements in the wrong order."""

    def wrong(build: Any, item: Any, extent: Any, step: Any) -> Any:
        start, length, step = descending(build, item, extent, step)
        return start + (length - 1) * step, length, -step

    return wrong


def _left_aligned(broadcast_to: Any) -> Any:
    """A vector is broadcast along the columns of a square matrix."""

    def wrong(build: Any, view: View, shape: Any) -> View:
        found = broadcast_to(build, view, shape)
        if view.rank == 1 and len(shape) == 2 and shape[0] is shape[1]:
            axes = tuple(replace(axis, terms=tuple((0, step) for _, step in axis.terms)) for axis in found.axes)
            return replace(found, axes=axes)
        return found

    return wrong


# ---- loops ----------------------------------------------------------------------------------------------------------


def _one_less(make_range: Any) -> Any:
    """Ranges that count down leave out the last turn."""

    def wrong(ctx: Any, values: Any, wish: str = "") -> Any:
        found = make_range(ctx, values, wish)
        return replace(found, stop=found.stop + 1) if found.step.constant == -1 else found

    return wrong


def _no_swap(node: Node) -> tuple[Node, ...] | None:
    """Arrays that are carried in a loop keep their places."""
    last = node.body.nodes[-1] if isinstance(node, Loop) else None
    if not isinstance(node, Loop) or not isinstance(last, Continue):
        return None
    targets = [carry.target for carry in node.carries]
    views = [value.container for value in last.values if isinstance(value, View)]
    names = [target for target in targets if isinstance(target, str)]
    if views == names or sorted(views) != sorted(names):
        return None
    by_name = {value.container: value for value in last.values if isinstance(value, View)}
    values = tuple(
        by_name[target] if isinstance(target, str) else value
        for target, value in zip(targets, last.values, strict=True)
    )
    return (replace(node, body=replace(node.body, nodes=(*node.body.nodes[:-1], replace(last, values=values)))),)


def _no_overflow(node: Node) -> tuple[Node, ...] | None:
    """Nobody asks whether a Python int leaves int64."""
    return () if isinstance(node, Guard) and "int too large for int64" in node.reason else None


def _no_raise(node: Node) -> tuple[Node, ...] | None:
    """`raise` and `assert` do nothing."""
    if isinstance(node, Guard) and node.reason == "assertion failed":
        return ()
    return None


def _else_first(node: Node) -> tuple[Node, ...] | None:
    """What both sides of a branch do not give is decided the wrong way."""
    if not isinstance(node, Branch) or not isinstance(node.condition, Op) or node.results:
        return None
    if any(isinstance(inner, Return | Continue) for side in (node.then, node.orelse) for inner in side.nodes):
        return None
    return (replace(node, then=node.orelse, orelse=node.then),)


# ---- state and warnings ---------------------------------------------------------------------------------------------


def _later(frame: Any) -> Any:
    """Python goes on at the beginning of the function, not at the statement."""

    def wrong(function: int, path: tuple[int, ...], names: tuple[str, ...]) -> Any:
        return frame(function, (0, *path[1:]) if len(path) == 1 else path, names)

    return wrong


def _next_line(site: Any) -> Any:
    return lambda operation, line, *more: site(operation, line + 1, *more)


def _no_division(warn: Any) -> Any:
    def wrong(function: Any, info: Any, found: Any) -> None:
        warn(function, info, [(flags & ~1, site) for flags, site in found if flags & ~1])

    return wrong


def _dead_stores(node: Node) -> tuple[Node, ...] | None:
    """What is stored in the first array is taken for dead."""
    return () if isinstance(node, Elementwise) and node.output.container == "a" else None


FAULTS: dict[str, Fault] = {
    "floor division truncates": c_text("i", "floor_divide", " - ((a % b != 0) & ((a < 0) != (b < 0)))", ""),
    "the remainder has the sign of the dividend": c_text("i", "remainder", "? rest + b : rest", "? rest : rest"),
    "the float remainder has the sign of the dividend": c_text("f", "remainder", "? rest + b : rest", "? rest : rest"),
    "float floor division rounds": c_text("f", "floor_divide", "quotient -= 1.0$F;", ";"),
    "minimum ignores NaN": c_text("f", "minimum", "((a < b) | (a != a))", "(a < b)"),
    "maximum of integers is unsigned": c_text("i", "maximum", "a >= b", "($U)a >= ($U)b"),
    "the absolute value keeps its sign": c_text("i", "absolute", "(($U)a ^ sign) - sign", "($U)a"),
    "integer division warns of a zero above": c_text("i", "check_division", "(b == 0)", "((b == 0) | (a == 0))"),
    "integer division by zero is not reported": c_text("i", "check_division", "(b == 0) * WEFT_FP_DIVIDE", "0"),
    "warnings of division by zero are lost": instead(host, "warn_floating_point", _no_division),
    "warnings are given one line too far": instead(builder, "WarnSite", _next_line),
    "float32 and anything make float32": instead(elementwise, "resolve", _narrow),
    "Python's numbers are strong": instead(elementwise, "type_key", _strong),
    "subtraction swaps its operands": instead(elementwise, "operation", _operands_swapped),
    "<= is <": instead(elementwise, "operation", _not_strict),
    "np.where swaps its sides": instead(ufuncs, "op", _where_swapped),
    "sums keep the element type": instead(reductions, "_reduced_type", lambda _: lambda name, dtype: dtype.numpy),
    "keepdims is ignored": instead(reductions, "_finish", lambda old: lambda b, r, axes, keep: old(b, r, axes, False)),
    "an empty sum is one": lambda: mock.patch.dict(reductions._IDENTITIES, {"add": 1, "multiply": 0}),
    "argmax finds the last": instead(reduction_positions._Search, "order", _or_equal),
    "results are in C order": instead(memory_order, "_iterated", lambda _: lambda weights, rank: tuple(range(rank))),
    "negative indices are the first": instead(indexing, "wrap_index", _negative_is_first),
    "indices beyond the end start again": instead(indexing, "wrap_index", _starts_again),
    "negative steps go forwards": instead(indexing, "_descending", _forwards),
    "vectors are broadcast along columns": instead(elementwise, "broadcast_to", _left_aligned),
    "overlaps are not copied first": always(inline_producers, "conflicts", []),
    "loops are taken for independent": always(dependences.Legality, "carried", []),
    "maps are fused without a question": always(dependences.Legality, "elsewhere", []),
    "producers are inlined over writes": always(inline_producers._Inlining, "is_overwritten", False),
    "temporaries share memory too early": instead(
        hoist_allocs._Pool,
        "take",
        lambda old: lambda self, name, place, last: old(self, name, place, dict.fromkeys(last, -1)),
    ),
    "ranges that count down end early": instead(iteration, "make_range", _one_less),
    "Python's ints overflow unseen": first_pass(_no_overflow),
    "swaps in loops are lost": first_pass(_no_swap),
    "assertions are dropped": first_pass(_no_raise),
    "branches are taken the wrong way": first_pass(_else_first),
    "Python begins again at the first statement": instead(exits.abi, "Frame", _later),
    "stores to the first array are dead": first_pass(_dead_stores),
}

# Faults that few programs show: their tests take longer.
SELDOM = frozenset(("swaps in loops are lost", "Python's ints overflow unseen"))
