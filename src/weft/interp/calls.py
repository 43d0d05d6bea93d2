"""Calls of NumPy's own functions in an interpreted program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.interp.arrays import compile_shape, compile_view
from weft.interp.machine import Machine, compile_bundle
from weft.interp.outcome import Left
from weft.interp.scalars import keep
from weft.ir.call_types import result_types
from weft.ir.exprs import Value, index
from weft.ir.nodes import NumpyCall, Program, View
from weft.ir.traverse import call_views
from weft.support.numpy_calls import NUMPY_ERRORS, checker, flatten, resolve


def compile_call(node: NumpyCall, program: Program) -> Callable[[Machine], Left | None]:
    """Call the function with the arguments as they are, and take the results over; or leave."""
    target = resolve(node.function)
    args = [compile_bundle(bundle, program) for bundle in node.args]
    keywords = [(name, compile_bundle(bundle, program)) for name, bundle in node.keywords]
    views = [(view, compile_view(view, program.containers[view.container])) for view in call_views(node)]
    changed = [(view, compile_view(view, program.containers[view.container])) for view in node.changes]
    check = checker(result_types(node, program.containers))

    def run(machine: Machine) -> Left | None:
        for view, source in views:
            machine.memory.touch(view.container, source(machine.env, machine.memory), write=False)
        given, named = [build(machine) for build in args], {name: build(machine) for name, build in keywords}
        try:
            results = check(target(*given, **named))
        except NUMPY_ERRORS:
            results = None
        if results is None or not _take(machine, node, results, program):
            return machine.leave(node.site, f"{node.function} raises, or gives something unusual")
        for view, source in changed:
            machine.memory.touch(view.container, source(machine.env, machine.memory), write=True)
        return None

    return run


def compile_tried(node: NumpyCall, program: Program) -> Callable[[Machine], None]:
    """Call the function for each part; what raises was not done."""
    target = resolve(node.function)
    options = [compile_bundle(bundle, program) for bundle in node.args if not isinstance(bundle, View)]
    keywords = [(name, compile_bundle(bundle, program)) for name, bundle in node.keywords]
    given = [view for view in node.given if isinstance(view, View)]
    sources = [(view, compile_view(view, program.containers[view.container])) for view in (*given, *node.changes)]
    (done,) = (result.target for result in node.results)
    assert isinstance(done, Value)

    def run(machine: Machine) -> None:
        bound = [source(machine.env, machine.memory) for _, source in sources]
        for (view, _), one in zip(sources[: len(given)], bound, strict=False):
            machine.memory.touch(view.container, one, write=False)
        fixed, named = [build(machine) for build in options], {name: build(machine) for name, build in keywords}
        went_well = True
        for t in range(bound[0].array.shape[0]):
            try:
                results = flatten(target(*(one.array[t] for one in bound[: len(given)]), *fixed, **named))
            except NUMPY_ERRORS:
                went_well = False
                break
            for one, result in zip(bound[len(given) :], results, strict=True):
                one.array[t] = result
        for (view, _), one in zip(sources[len(given) :], bound[len(given) :], strict=True):
            machine.memory.touch(view.container, one, write=True)
        machine.env[done.id] = keep(done, np.bool_(went_well))

    return run


def _take(machine: Machine, node: NumpyCall, results: tuple[Any, ...], program: Program) -> bool:
    """Numbers, extents and arrays by their names; False if an extent is not what the graph says."""
    arrays: list[tuple[str, Any]] = []
    sizes = {index(value): value for value in node.sizes}
    for result, found in zip(node.results, results, strict=True):
        if isinstance(result.target, Value):
            machine.env[result.target.id] = keep(result.target, found[()])
            continue
        arrays.append((result.target, found))
        for extent, actual in zip(program.containers[result.target].shape, found.shape, strict=True):
            if extent in sizes:
                value = sizes.pop(extent)
                machine.env[value.id] = keep(value, np.int64(actual))
    for name, array in arrays:
        if compile_shape(program.containers[name].shape)(machine.env) != array.shape:
            return False
        machine.memory.allocate(name, array.shape)
        bound = machine.memory.lookup(name)
        bound.array[...] = array
        machine.memory.wrote(bound)
    return True
