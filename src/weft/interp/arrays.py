"""Views and memlets as closures on the state of an interpreted program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.interp.memory import Bound, MemletError, Memory, Point
from weft.interp.scalars import Env, compile_index
from weft.ir.exprs import Index, Value
from weft.ir.nodes import Container, Memlet, Storage, View
from weft.support.errors import InternalError


def compile_shape(shape: tuple[Index, ...]) -> Callable[[Env], Point]:
    """The extents as a function of the environment."""
    extents = [compile_index(extent) for extent in shape]
    return lambda env: tuple(extent(env) for extent in extents)


def compile_lookup(container: Container) -> Callable[[Env, Memory], Bound]:
    """The array a container is bound to."""
    name = container.name
    if container.storage is not Storage.ALIAS:
        return lambda env, memory: memory.lookup(name)
    shape = compile_shape(container.shape)
    return lambda env, memory: memory.lookup(name, shape(env))


def compile_memlet(memlet: Memlet, container: Container) -> Callable[[Env, Memory], tuple[Bound, Point]]:
    """The array and the position in it."""
    lookup, position = compile_lookup(container), compile_shape(memlet.index)
    return lambda env, memory: (lookup(env, memory), position(env))


def compile_view(view: View, container: Container) -> Callable[[Env, Memory], Bound]:
    """The view as an array that shares its memory with the container."""
    lookup = compile_lookup(container)
    if _is_whole(view, container):
        return lookup
    shape_of = compile_shape(view.shape)
    offsets_of = compile_shape(tuple(axis.offset for axis in view.axes))
    steps_of = [[(number, compile_index(step)) for number, step in axis.terms] for axis in view.axes]

    def evaluate(env: Env, memory: Memory) -> Bound:
        base = lookup(env, memory)
        shape, offsets = shape_of(env), offsets_of(env)
        steps = [[(number, step(env)) for number, step in terms] for terms in steps_of]
        if min(shape, default=0) < 0:
            raise InternalError(f"a view of {view.container} has the shape {shape}")
        if 0 not in shape:
            _check_box(view.container, base, shape, offsets, steps)
        return _window(base, shape, offsets, steps)

    return evaluate


def bind_extents(container: Container, bound: Bound, env: Env) -> None:
    """Define the values that the extents of an argument or a REF stand for."""
    if bound.array.ndim != container.rank or bound.array.dtype != container.dtype.numpy:
        raise InternalError(
            f"{container.name} is {container.dtype.value} of rank {container.rank}, "
            f"but is bound to {bound.array.dtype} of rank {bound.array.ndim}"
        )
    for extent, actual in zip(container.shape, bound.shape, strict=True):
        match extent.terms:
            case (((Value(id=number),), 1),):
                env[number] = actual
            case _:
                pass


def check_extents(container: Container, bound: Bound, env: Env) -> None:
    """Raise if the extents of a container are not those of its array."""
    expected = compile_shape(container.shape)(env)
    if expected != bound.shape:
        raise InternalError(f"{container.name} has the shape {bound.shape}, where the graph says {expected}")


def _is_whole(view: View, container: Container) -> bool:
    return view.shape == container.shape and all(
        axis.offset.constant == 0 and len(axis.terms) == 1 and axis.terms[0][0] == d and axis.terms[0][1].constant == 1
        for d, axis in enumerate(view.axes)
    )


def _check_box(name: str, base: Bound, shape: Point, offsets: Point, steps: list[list[tuple[int, Any]]]) -> None:
    for offset, terms, extent in zip(offsets, steps, base.shape, strict=True):
        spans = [step * (shape[number] - 1) for number, step in terms]
        low, high = offset + sum(min(span, 0) for span in spans), offset + sum(max(span, 0) for span in spans)
        if low < 0 or high >= extent:
            raise MemletError(f"a view of {name} reaches from {low} to {high}, outside the extents {list(base.shape)}")


def _window(base: Bound, shape: Point, offsets: Point, steps: list[list[tuple[int, Any]]]) -> Bound:
    strides = [0] * len(shape)
    for stride, terms in zip(base.strides, steps, strict=True):
        for number, step in terms:
            strides[number] += step * stride
    # In an empty view no element is looked at, and its offsets may lie anywhere.
    corner = base.array if 0 in shape else base.array[(*(slice(offset, None) for offset in offsets), ...)]
    array = np.lib.stride_tricks.as_strided(corner, shape, strides, writeable=bool(base.array.flags.writeable))
    return Bound(array, base.root, base.level)
