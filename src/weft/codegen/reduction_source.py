"""What a reduction reads, in one form: elements that are computed from reads, whether or not they were a view.

in:   a `Reduce` node
out:  its elements with as few axes as its reads allow, and the axis along which they are neighbours

    reduce add S = A[:, :] axes (0, 1)       ->  elements at (i, j) over [1, n*m] { x = A[0, j] yield x }
    reduce add S = B[:, :, :] axes (0,)      ->  elements at (i, j, k) over [l, 1, n*m] { x = B[i, 0, k] yield x }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from weft.codegen.access import dense_strides, is_strided, stride_name
from weft.codegen.kernel import Kernel
from weft.ir.dtypes import PY_INT, ScalarType
from weft.ir.exprs import Index, Value, const_index, index, values_in
from weft.ir.nodes import Elements, Memlet, Reduce, Tasklet, View
from weft.ir.substitution import Substitution


def reduced_elements(kernel: Kernel, node: Reduce) -> Elements:
    """The input, with neighbouring axes made one that are both reduced, or both kept, where all accesses allow it."""
    source = _from_view(kernel, node.input) if isinstance(node.input, View) else node.input
    for axis in reversed(range(source.rank - 1)):
        if (axis in node.axes) == (axis + 1 in node.axes):
            source = _merged(kernel, source, axis, [] if axis in node.axes else [result_at(node, source)])
    return source


def result_at(node: Reduce, source: Elements) -> Memlet:
    """The element of the output that a point of the elements belongs to."""
    points = [index(param) for param in source.params]
    if node.output.rank == source.rank:
        return node.output.at(tuple(const_index(0) if axis in node.axes else p for axis, p in enumerate(points)))
    return node.output.at(tuple(p for axis, p in enumerate(points) if axis not in node.axes))


def _from_view(kernel: Kernel, view: View) -> Elements:
    params = tuple(kernel.fresh_value(name, PY_INT) for name in _loop_names(view.rank))
    value = kernel.fresh_value("x", ScalarType(kernel.container(view.container).dtype))
    read = Tasklet(reads=((value, view.at(tuple(index(param) for param in params))),))
    return Elements(params, view.shape, (read,), value)


def _loop_names(rank: int) -> Iterator[str]:
    return ("ijklmnpq"[axis] if axis < 8 else "i" for axis in range(rank))


# ---- axes -----------------------------------------------------------------------------------------------------------


def _merged(kernel: Kernel, source: Elements, axis: int, written: Sequence[Memlet]) -> Elements:
    """One axis less: its extent becomes 1, that of the next one their product. The same object if that cannot be."""
    outer, inner, extent = source.params[axis], source.params[axis + 1], source.shape[axis + 1]
    merged = {outer: const_index(0), inner: index(outer) * extent + index(inner)}
    for memlet in (*(memlet for _, memlet in _reads(source)), *written):
        place = _linear(kernel, memlet)
        if place is None or place.substitute(merged) is not place:
            return source
    if {outer, inner} & _computed_with(source):
        return source
    gone = Substitution({outer: const_index(0)})
    body = tuple(gone.tasklet(tasklet) for tasklet in source.body)
    one, all_ = const_index(1), source.shape[axis] * extent
    return replace(source, shape=(*source.shape[:axis], one, all_, *source.shape[axis + 2 :]), body=body)


def _reads(source: Elements) -> Iterator[tuple[Value, Memlet]]:
    for tasklet in source.body:
        yield from tasklet.reads


def _computed_with(source: Elements) -> set[Value]:
    """The values that stand in expressions, not only in the indices of reads."""
    found = set(values_in(source.expr))
    for tasklet in source.body:
        for let in tasklet.lets:
            found |= values_in(let.expr)
    return found


def _linear(kernel: Kernel, memlet: Memlet) -> Index | None:
    """The number of the element in memory, where the layout tells."""
    container = kernel.container(memlet.container)
    if is_strided(container):
        return None
    place = const_index(0)
    for coordinate, stride in zip(memlet.index, dense_strides(container), strict=True):
        place = place + coordinate * stride
    return place


def fast_axis(kernel: Kernel, source: Elements, axes: Sequence[int]) -> int:
    """The axis along which the elements are neighbours for most reads; one of `axes` if others are no better."""
    steps = [[_step(kernel, memlet, param) for _, memlet in _reads(source)] for param in source.params]
    near = [sum(step is not None for step in row) for row in steps]
    moving = [sum(step == 1 for step in row) for row in steps]
    long = [extent.constant != 1 for extent in source.shape]
    slid = [axis not in axes and _is_slid(steps, axis, axes) for axis in range(source.rank)]
    return max(
        range(source.rank), key=lambda axis: (long[axis], slid[axis], near[axis], moving[axis], axis in axes, axis)
    )


def _is_slid(steps: Sequence[Sequence[int | None]], axis: int, axes: Sequence[int]) -> bool:
    """Whether a window is slid along an axis: neighbouring results read the same but for one element."""
    if any(step not in (0, 1) for step in steps[axis]):
        return False
    return any(step == 1 and any(steps[other][read] == 1 for other in axes) for read, step in enumerate(steps[axis]))


def emit_versions(kernel: Kernel, sources: Sequence[Elements], fast: int, emit: Callable[[], None]) -> None:
    """Write loops twice where strides are known at run time only: for those of neighbours, which vectorize, and any."""
    axes: dict[str, int] = {}
    for source in sources if fast >= 0 and kernel.rewritten is None else ():
        axes = _unit_axes(kernel, source, source.params[fast]) | axes
    axes = {name: axis for name, axis in axes.items() if (name, axis) not in kernel.unit_axes}
    if not axes:
        emit()
        return
    containers = [(kernel.container(name), axis) for name, axis in axes.items()]
    tests = [f"{stride_name(kernel, x, axis)} == {x.dtype.itemsize}" for x, axis in containers]
    with kernel.block(f"if ({' && '.join(tests)})"):
        outer, kernel.unit_axes = kernel.unit_axes, kernel.unit_axes | frozenset(axes.items())
        emit()
        kernel.unit_axes = outer
    with kernel.block("else"):
        emit()


def _unit_axes(kernel: Kernel, source: Elements, param: Value) -> dict[str, int]:
    """Of containers with strides known at run time only: the axis along which neighbouring elements go."""
    found: dict[str, int] = {}
    for _, memlet in _reads(source):
        moved = [axis for axis, coordinate in enumerate(memlet.index) if param in coordinate.values]
        by_one = len(moved) == 1 and (((param,), 1)) in memlet.index[moved[0]].terms
        if by_one and is_strided(kernel.container(memlet.container)):
            found.setdefault(memlet.container, moved[0])
    return found


def _step(kernel: Kernel, memlet: Memlet, param: Value) -> int | None:
    """How far a read moves with a parameter: 0 not at all, 1 to the neighbour, None further or nobody knows."""
    place = _linear(kernel, memlet)
    if place is None:  # strides known at run time: the last axis is most often the dense one
        places = [*memlet.index]
        if any(param in coordinate.values for coordinate in places[:-1]):
            return None
        place = places[-1] if places else const_index(0)
    moved = (place.substitute({param: index(param) + 1}) - place).constant
    return abs(moved) if moved in (0, 1, -1) else None
