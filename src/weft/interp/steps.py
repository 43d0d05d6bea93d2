"""Nodes as closures: `Step` runs a node and says how the region is left, if it is.

A region is compiled once and run many times, so that maps cost little per point.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from weft.interp.arrays import compile_memlet, compile_shape, compile_view
from weft.interp.calls import compile_call, compile_tried
from weft.interp.machine import Build, Machine, compile_bundle, compile_item, compile_site
from weft.interp.memory import Bound, MapRecord, Point
from weft.interp.noise import NOISE, Noise
from weft.interp.outcome import Left, Outcome, Returned, TooSlow
from weft.interp.scalars import Env, compile_expr, compile_index, keep
from weft.interp.teams import compile_loop, compile_part, is_for_member, meet, writes_for_all
from weft.ir.exprs import Expr, Value, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Carry,
    Continue,
    Elements,
    Elementwise,
    Guard,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Site,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.traverse import node_views
from weft.support.errors import InternalError
from weft.support.records import record


@record
class Yielded:
    """An arm of a branch ended with these results."""

    values: Sequence[Any]


@record
class Continued:
    """An iteration ended; the carries take these values."""

    values: Sequence[Any]


@record
class Broke:
    """A loop was left, `depth` loops out; its carries take these values."""

    values: Sequence[Any]
    depth: int = 0


Signal: TypeAlias = Yielded | Continued | Broke | Returned | Left
Step: TypeAlias = Callable[[Machine], Signal | None]


def interpret(
    program: Program,
    slots: Sequence[Any],
    *,
    seed: int = 0,
    check: bool = True,
    noise: Noise | None = None,
    limit_s: float | None = None,
) -> Outcome:
    """Evaluate a program on the objects of its slots; arrays are used in place.

    Maps run in an order drawn from `seed`. With `check`, two iterations that meet on an element, one of them writing,
    are a `ConflictError`; without it the result depends on the order. With `noise`, results whose last bits are open
    are moved. After `limit_s` seconds it is `TooSlow`.
    """
    machine = Machine(program, slots, seed, check=check)
    machine.deadline = math.inf if limit_s is None else time.monotonic() + limit_s
    body = compile_region(program.body, program)
    machine.enter()
    if noise is not None:
        machine.env[NOISE] = noise
    with np.errstate(all="ignore"):
        outcome = body(machine)
    if not isinstance(outcome, Returned | Left):
        raise InternalError(f"{program.name} ended without a return")
    return outcome


def compile_region(region: Region, program: Program, meets: Sequence[int] = ()) -> Step:
    """All nodes in order, until one leaves; before those at some places the threads of a team meet."""
    steps = [compile_node(node, program) for node in region.nodes]
    for place in reversed(meets):
        steps.insert(place, meet)

    def run(machine: Machine) -> Signal | None:
        memory = machine.memory
        mark = len(memory.owned)
        signal = None
        if time.monotonic() > machine.deadline:
            raise TooSlow(f"{program.name} takes too long to interpret")
        for step in steps:
            signal = step(machine)
            if signal is not None:
                break
        if len(memory.owned) > mark and not isinstance(signal, Returned | Left):
            memory.release(mark, () if signal is None else signal.values)
        return signal

    return run


def compile_node(node: Node, program: Program) -> Step:
    """One node."""
    match node:
        case Alloc() | Elementwise() | Reduce() | Scan() | MatMul() | Tasklet():
            return _compile_dataflow(node, program)
        case NumpyCall():
            return compile_tried(node, program) if node.tried else compile_call(node, program)
        case Map():
            return _compile_map(node, program)
        case Loop() | While():
            return compile_loop(node, _compile_turns(node, program))
        case Branch():
            return _compile_branch(node, program)
        case _:
            return _compile_leaving(node, program)


# ---- dataflow -------------------------------------------------------------------------------------------------------


def _compile_dataflow(node: Alloc | Elementwise | Reduce | Scan | MatMul | Tasklet, program: Program) -> Step:
    match node:
        case Alloc():
            shape = compile_shape(program.containers[node.container].shape)
            return lambda machine: machine.memory.allocate(node.container, shape(machine.env))
        case Elementwise():
            return _compile_elementwise(node, program)
        case Reduce():
            reduce = _compile_reduce(node, program)
            return lambda machine: reduce(machine) if is_for_member(machine, node) else None
        case Scan():
            return _compile_scan(node, program)
        case MatMul():
            return _compile_matmul(node, program)
        case Tasklet():
            return _compile_tasklet(node, program)


def _compile_library(
    output: View, inputs: Sequence[View], program: Program, compute: Callable[..., Any], params: Sequence[Value] = ()
) -> Step:
    """Read all inputs, compute, then write the whole output."""
    target = compile_view(output, program.containers[output.container])
    sources = [(view, compile_view(view, program.containers[view.container])) for view in inputs]

    def run(machine: Machine) -> None:
        env, memory = machine.env, machine.memory
        operands: list[Any] = []
        for view, source in sources:
            bound = source(env, memory)
            memory.touch(view.container, bound, write=False)
            operands.append(bound.array)
        written = target(env, memory)
        if params:
            grids = np.ogrid[tuple(slice(0, extent) for extent in written.shape)]
            env.update({param.id: grid for param, grid in zip(params, grids, strict=True)})
        result = np.array(compute(env, *operands))
        memory.touch(output.container, written, write=True)
        _store(output.container, written, result)

    return run


def _store(name: str, written: Bound, result: Any) -> None:
    if result.dtype != written.array.dtype:
        raise InternalError(f"{name} is {written.array.dtype}, what is written to it {result.dtype}")
    written.array[...] = result


def _compile_elementwise(node: Elementwise, program: Program) -> Step:
    expr = compile_expr(node.expr)
    values = [value for value, _ in node.inputs]
    params = node.params if values_in(node.expr) & set(node.params) else ()
    shape_of = compile_shape(node.output.shape)

    def compute(env: Env, *operands: Any) -> Any:
        shape = shape_of(env)
        for value, operand in zip(values, operands, strict=True):
            if operand.shape != shape:
                raise InternalError(f"{value.text} has the shape {operand.shape}, the output {shape}")
            env[value.id] = operand
        return expr(env)

    return _compile_library(node.output, [view for _, view in node.inputs], program, compute, params)


def _compile_scan(node: Scan, program: Program) -> Step:
    dtype = program.containers[node.output.container].dtype.numpy

    def compute(env: Env, x: Any) -> Any:
        return getattr(np, node.op).accumulate(x, axis=node.axis, dtype=dtype)

    return _compile_library(node.output, (node.input,), program, compute)


def _compile_matmul(node: MatMul, program: Program) -> Step:
    scale = None if node.scale is None else compile_expr(node.scale)

    def compute(env: Env, x: Any, y: Any, *before: Any) -> Any:
        result: Any = np.matmul(x, y)
        result = env[NOISE].product(result, x, y) if NOISE in env else result
        result = result if scale is None else scale(env) * result
        return before[0] + result if before else result

    return _compile_library(node.output, node_views(node)[1:], program, compute)


def _compile_reduce(node: Reduce, program: Program) -> Step:
    dtype = program.containers[node.output.container].dtype.numpy
    keepdims = bool(node.axes) and node.output.rank == node.input.rank
    initial = compile_expr(node.initial) if node.initial is not None else None
    source = node.input

    def compute(env: Env, x: Any) -> Any:
        shape = [1 if axis in node.axes else extent for axis, extent in enumerate(x.shape)]
        if not keepdims:
            shape = [extent for axis, extent in enumerate(x.shape) if axis not in node.axes]
        if any(x.shape[axis] == 0 for axis in node.axes):
            if initial is None and 0 not in shape:
                raise InternalError(f"an empty {node.op} without an initial value")
            return np.full(shape, initial(env) if initial else 0, dtype)
        if node.op in ("argmin", "argmax"):
            return _arg_extreme(node, x).reshape(shape).astype(dtype)
        own = {"dtype": dtype} if node.op in ("add", "multiply") else {}  # NumPy would widen small integers
        result = getattr(np, node.op).reduce(x.astype(dtype), axis=node.axes, keepdims=keepdims, **own)
        return env[NOISE].reduction(node.op, result, x, node.axes) if NOISE in env else result

    if isinstance(source, View):
        return _compile_library(node.output, (source,), program, compute)
    return _compile_computed(node, source, program, compute)


def _compile_computed(node: Reduce, source: Elements, program: Program, compute: Callable[[Env, Any], Any]) -> Step:
    """Of elements that are not stored: a map over what is kept, in which each point reads, then writes its own."""
    fill = _compile_elements(source, program)
    target = compile_view(node.output, program.containers[node.output.container])
    shape_of, dtype = compile_shape(source.shape), source.expr.type.dtype.numpy
    kept = [axis for axis in range(source.rank) if axis not in node.axes]
    names = tuple(source.params[axis].text for axis in kept)
    keepdims = bool(node.axes) and node.output.rank == source.rank

    def run(machine: Machine) -> None:
        memory, shape = machine.memory, shape_of(machine.env)
        written, values = target(machine.env, memory), np.empty(shape, dtype)
        points: list[Point] = list(product(*(range(shape[axis]) for axis in kept)))
        record = MapRecord(f"reduce ({', '.join(names)})", names, points)
        memory.records.append(record)
        order: list[int] = machine.random.permutation(len(points)).tolist()
        for iteration in order:
            record.iteration = iteration
            fixed = dict(zip(kept, points[iteration], strict=True))
            fill(machine, values, fixed)
            position = [fixed.get(axis, 0) for axis in range(source.rank)] if keepdims else points[iteration]
            element = Bound(written.array[(*position, ...)], written.root, written.level)
            memory.touch(node.output.container, element, write=True)
        memory.records.pop()
        memory.wrote(written)
        _store(node.output.container, written, np.array(compute(machine.env, values)))

    return run


def _compile_elements(source: Elements, program: Program) -> Callable[[Machine, Any, dict[int, int]], None]:
    """Compute, in random order, the elements whose coordinates on some axes are fixed."""
    steps = [_compile_tasklet(tasklet, program) for tasklet in source.body]
    expr, numbers = compile_expr(source.expr), [param.id for param in source.params]

    def fill(machine: Machine, values: Any, fixed: dict[int, int]) -> None:
        ranges = [[fixed[axis]] if axis in fixed else range(extent) for axis, extent in enumerate(values.shape)]
        points: list[Point] = list(product(*ranges))
        order: list[int] = machine.random.permutation(len(points)).tolist()
        for number in order:
            machine.env.update(zip(numbers, points[number], strict=True))
            for step in steps:
                step(machine)
            values[points[number]] = expr(machine.env)

    return fill


def _arg_extreme(node: Reduce, x: Any) -> Any:
    """The first position, counted in C order over the reduced axes."""
    kept = [axis for axis in range(x.ndim) if axis not in node.axes]
    length = int(np.prod([x.shape[axis] for axis in node.axes]))
    flat = x.transpose(*kept, *sorted(node.axes)).reshape([x.shape[axis] for axis in kept] + [length])
    return getattr(np, node.op)(flat, axis=-1)


def _compile_tasklet(node: Tasklet, program: Program) -> Step:
    reads = [
        (value, memlet.container, compile_memlet(memlet, program.containers[memlet.container]))
        for value, memlet in node.reads
    ]
    lets = [(let.value, compile_expr(let.expr)) for let in node.lets]
    writes = [_compile_write(memlet, expr, program) for memlet, expr in node.writes]

    def run(machine: Machine) -> None:
        env, memory = machine.env, machine.memory
        for value, name, locate in reads:
            bound, position = locate(env, memory)
            env[value.id] = keep(value, memory.read(name, bound, position))
        for value, expr in lets:
            env[value.id] = keep(value, expr(env))
        for write in writes if writes_for_all(machine) else ():
            write(machine)

    return run


def _compile_write(memlet: Memlet, expr: Expr, program: Program) -> Callable[[Machine], None]:
    container = program.containers[memlet.container]
    locate, evaluate, dtype = compile_memlet(memlet, container), compile_expr(expr), container.dtype.numpy

    def write(machine: Machine) -> None:
        bound, position = locate(machine.env, machine.memory)
        number = evaluate(machine.env)
        if number.dtype != dtype:
            raise InternalError(f"{memlet.container} is {dtype}, what is written to it {number.dtype}")
        machine.memory.write(memlet.container, bound, position, number, memlet.conflict)

    return write


# ---- control --------------------------------------------------------------------------------------------------------


def _compile_map(node: Map, program: Program) -> Step:
    starts, stops = compile_shape(tuple(r[0] for r in node.ranges)), compile_shape(tuple(r[1] for r in node.ranges))
    body = compile_region(node.body, program)
    names = tuple(param.text for param in node.params)
    numbers = [param.id for param in node.params]

    part = compile_part(node)

    def run(machine: Machine) -> Signal | None:
        env, records = machine.env, machine.memory.records
        box = [range(start, stop) for start, stop in zip(starts(env), stops(env), strict=True)]
        points: list[Point] = part(machine, list(product(*box)))
        member, machine.member = machine.member, None
        record = MapRecord(f"map ({', '.join(names)})", names, points)
        records.append(record)
        order: list[int] = machine.random.permutation(len(points)).tolist()
        for iteration in order:
            record.iteration = iteration
            env.update(zip(numbers, points[iteration], strict=True))
            signal = body(machine)
            if signal is not None:
                return signal
        records.pop()
        machine.member = member
        return None

    return run


def _compile_carries(carries: tuple[Carry, ...], program: Program) -> tuple[Step, Callable[[Machine, Signal], None]]:
    """How carries begin, and how they take new values: all are computed before the first is bound."""
    targets = [carry.target for carry in carries]
    inits = [compile_item(carry.init, program) for carry in carries]

    def bind(machine: Machine, values: Sequence[Any]) -> None:
        for target, value in zip(targets, values, strict=True):
            machine.bind(target, value)

    def begin(machine: Machine) -> None:
        bind(machine, [init(machine) for init in inits])

    def take(machine: Machine, signal: Signal) -> None:
        if isinstance(signal, Continued | Broke):
            bind(machine, signal.values)

    return begin, take


def _compile_turns(node: Loop | While, program: Program) -> Step:
    begin, take = _compile_carries(node.carries, program)
    team = node.team if isinstance(node, Loop) else None
    body = compile_region(node.body, program, team.meets if team is not None else ())
    iterations = _compile_range(node) if isinstance(node, Loop) else _forever

    def run(machine: Machine) -> Signal | None:
        begin(machine)
        for number in iterations(machine.env):
            if isinstance(node, Loop):
                machine.env[node.var.id] = keep(node.var, np.int64(number))
            signal = body(machine)
            if signal is None or isinstance(signal, Yielded):
                raise InternalError("a loop body ended without continue or break")
            if isinstance(signal, Returned | Left):
                return signal
            if isinstance(signal, Broke) and signal.depth:
                return Broke(signal.values, signal.depth - 1)
            take(machine, signal)
            if isinstance(signal, Broke):
                break
        return None

    return run


def _compile_range(node: Loop) -> Callable[[Env], Any]:
    start, stop, step = (compile_index(index) for index in (node.start, node.stop, node.step))
    return lambda env: range(start(env), stop(env), step(env))


def _forever(env: Env) -> Any:
    return iter(int, 1)


def _compile_branch(node: Branch, program: Program) -> Step:
    condition = compile_expr(node.condition)
    then, orelse = compile_region(node.then, program), compile_region(node.orelse, program)

    def run(machine: Machine) -> Signal | None:
        signal = (then if condition(machine.env) else orelse)(machine)
        if signal is None:
            raise InternalError("an arm of a branch ended without a yield")
        if not isinstance(signal, Yielded):
            return signal
        for target, value in zip(node.results, signal.values, strict=True):
            machine.bind(target, value)
        return None

    return run


def _compile_leaving(node: Yield | Continue | Break | Return | Site | Guard, program: Program) -> Step:
    match node:
        case Yield(values=values):
            return _compile_signal(Yielded, values, program)
        case Continue(values=values):
            return _compile_signal(Continued, values, program)
        case Break(values=values, depth=depth):
            builds = [compile_item(value, program) for value in values]
            return lambda machine: Broke([build(machine) for build in builds], depth)
        case Return(value=value, writebacks=writebacks):
            result, builds = compile_bundle(value, program), [compile_bundle(b, program) for b in writebacks]
            return lambda machine: Returned(result(machine), tuple(build(machine) for build in builds))
        case Site():
            return _compile_site(node, program)
        case Guard(condition=condition, site=site, reason=reason):
            holds = compile_expr(condition)
            return lambda machine: None if holds(machine.env) else machine.leave(site, reason)


def _compile_signal(kind: type[Yielded] | type[Continued], values: Sequence[Expr | View], program: Program) -> Step:
    builds: list[Build] = [compile_item(value, program) for value in values]
    return lambda machine: kind([build(machine) for build in builds])


def _compile_site(node: Site, program: Program) -> Step:
    build = compile_site(node, program)

    def run(machine: Machine) -> None:
        machine.sites[node.number] = build
        machine.memory.clock += 1
        machine.site_times[node.number] = machine.memory.clock

    return run
