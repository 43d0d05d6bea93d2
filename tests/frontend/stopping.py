"""Stop a function anywhere and resume it by its continuation: what the tests of continuations stand on.

The oracle is an instrumented copy of the function: before every statement (and after every call statement) it calls a
probe with `locals()` and what remains of the loops around; the k-th probe stops it.
"""

from __future__ import annotations

import ast
import builtins
import copy
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from weft.frontend.continuation import UNBOUND, build_continuation, iterate, rest_names
from weft.frontend.liveness import blocks, call_of_statement, live_after_call, live_before


def function_tree(text) -> Any:
    return ast.parse(textwrap.dedent(text)).body[0]


# ---------------------------------------------------------------- iterators that know what remains


class Tracked:
    """An iterator over a sequence that can describe what remains."""

    def __init__(self, source, step=1):
        self.source, self.step, self.taken = source, step, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.taken >= len(self.source):
            raise StopIteration
        index = self.taken if self.step == 1 else len(self.source) - 1 - self.taken
        self.taken += 1
        return self.source[index]

    def rest(self):
        left = len(self.source) - self.taken
        if isinstance(self.source, range):
            remaining = (self.source if self.step == 1 else self.source[::-1])[self.taken :]
            return ("range", remaining.start, remaining.stop, remaining.step)
        first = self.taken if self.step == 1 else left - 1
        return ("items", self.source, first, left, self.step)


class TrackedEnumerate:
    def __init__(self, source, start=0):
        self.inner, self.number = track(source), start

    def __iter__(self):
        return self

    def __next__(self):
        item = next(self.inner)
        self.number += 1
        return self.number - 1, item

    def rest(self):
        return ("enumerate", self.number, self.inner.rest())


class TrackedZip:
    def __init__(self, *sources):
        self.inner = [track(source) for source in sources]

    def __iter__(self):
        return self

    def __next__(self):
        return tuple([next(inner) for inner in self.inner])

    def rest(self):
        return ("zip", *(inner.rest() for inner in self.inner))


class TrackedMap:
    def __init__(self, ranges):
        self.ranges, self.flat = ranges, 0

    def __iter__(self):
        return self

    def __next__(self):
        item = next(iterate(self.rest()))
        self.flat += 1
        return item

    def rest(self):
        return ("map", self.ranges, self.flat)


class WeftMap:
    """`weft.map[a:b, c:d]` for the tests."""

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        return TrackedMap(tuple((k.start or 0, k.stop, k.step or 1) for k in keys))


def track(source):
    return source if hasattr(source, "rest") else Tracked(source)


# ---------------------------------------------------------------- the instrumented copy


class Stop(BaseException):
    """Where a run was stopped."""

    def __init__(self, path, names, rests, value, after_call):
        super().__init__(path)
        self.path, self.names, self.rests, self.value, self.after_call = path, names, rests, value, after_call


@dataclass
class Probe:
    stop_at: int = -1
    count: int = 0
    paths: set[tuple[int, ...]] = field(default_factory=set)

    def __call__(self, path, names, rests, value=None, after_call=False):
        self.paths.add(path)
        if self.count == self.stop_at:
            raise Stop(path, dict(names), [tracker.rest() for tracker in rests], value, after_call)
        self.count += 1


def instrument(tree):
    """A copy of the tree that calls `__probe` before every statement and after every call statement."""
    new = copy.deepcopy(tree)
    new.body = _instrument_block(new.body, (), ())
    new.decorator_list = []
    return ast.fix_missing_locations(new)


def _instrument_block(block, prefix, loops):
    out: list[Any] = []
    for index, stmt in enumerate(block):
        path = (*prefix, index)
        trackers = "(" + "".join(f"{name}," for name in loops) + ")"
        if not isinstance(stmt, ast.Global):
            out += ast.parse(f"__probe({path}, locals(), {trackers})").body
        body, orelse = blocks(stmt)[:2]
        if isinstance(stmt, ast.For):
            name = "it" + "_".join(map(str, path))
            out += ast.parse(f"{name} = __track(0)").body
            out[-1].value.args = [stmt.iter]
            stmt.iter = ast.Name(name, ast.Load())
            stmt.body = _instrument_block(body, (*path, 0), (*loops, name))
            stmt.orelse = _instrument_block(orelse, (*path, 1), loops)
        elif isinstance(stmt, (ast.If, ast.While)):
            stmt.body = _instrument_block(body, (*path, 0), loops)
            stmt.orelse = _instrument_block(orelse, (*path, 1), loops)
        elif isinstance(stmt, ast.With):
            stmt.body = _instrument_block(body, (*path, 0), loops)
        elif isinstance(stmt, ast.Try):
            stmt.body = _instrument_block(body, (*path, 0), loops)
            stmt.orelse = _instrument_block(orelse, (*path, 1), loops)  # finally also runs where Stop is raised
        elif isinstance(stmt, (ast.Assign, ast.Expr)) and call_of_statement(stmt) is not None:
            out += ast.parse(f"__called = 0; __probe({path}, locals(), {trackers}, __called, True)").body
            out[-2].value = stmt.value
            stmt.value = ast.Name("__called", ast.Load())
        out.append(stmt)
    return out


def outcome(run, arguments):
    """What a run gives: its result or exception, and the state it leaves behind."""
    try:
        result = ("returned", run())
    except Exception as error:  # noqa: BLE001 - whatever Python raised is to be raised again
        result = ("raised", type(error), str(error))
    return result, arguments


def same(left, right):
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def environment(helpers):
    return {"np": np, "__builtins__": builtins, **helpers}


TRACKING = {"__track": track, "enumerate": TrackedEnumerate, "zip": TrackedZip, "reversed": lambda s: Tracked(s, -1)}


def compile_function(tree, names):
    exec(compile(ast.Module([tree], []), "<test>", "exec"), names)
    return names[tree.name]


def check_every_stop(text, arguments, helpers=None, every=1):
    """Stop `text` at every `every`-th statement it executes, resume it, and compare with the plain run."""
    tree = function_tree(text)
    names = environment({"weft_map": WeftMap(), **(helpers or {})})
    plain = compile_function(tree, names)
    expected_arguments = copy.deepcopy(arguments)
    expected = outcome(lambda: plain(*expected_arguments), expected_arguments)
    probe = Probe()
    tracked = compile_function(instrument(tree), {**names, **TRACKING, "__probe": probe})
    before, after = live_before(tree), live_after_call(tree)
    total_arguments = copy.deepcopy(arguments)
    assert same(outcome(lambda: tracked(*total_arguments), total_arguments), expected)
    total = probe.count
    for stop_at in range(0, total, every):
        probe.stop_at, probe.count = stop_at, 0
        given = copy.deepcopy(arguments)
        with pytest.raises(Stop) as stopped:
            tracked(*given)
        stop = stopped.value
        live = sorted((after if stop.after_call else before)[stop.path])
        order = (*live, *rest_names(tree, stop.path))
        continuation = build_continuation(
            tree, stop.path, order, after_call=stop.after_call, globals_dict=names, filename="<test>"
        )
        values = [*(stop.names.get(name, UNBOUND) for name in live), *stop.rests]
        values += [lambda given=stop.value: given] if stop.after_call else []
        actual = outcome(lambda run=continuation, values=values: run(*values), given)
        assert same(actual, expected), (stop_at, stop.path, order, values, actual, expected)
    return total, probe.paths
