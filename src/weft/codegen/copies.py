"""Maps that only move neighbouring elements, as calls of memcpy.

before:  Map [i, j] in [0:n, 0:m] { B[i, j] = A[i, j] }, both dense, of n x m elements
after:   __builtin_memcpy(&B[0], &A[0], 8 * n * m);

In memory that no cache holds, memcpy is faster than any loop.
"""

from __future__ import annotations

from weft.analysis.memory import Memory
from weft.codegen.access import dense_strides, element, is_strided
from weft.codegen.kernel import Kernel
from weft.codegen.spans import Span
from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import Map, Memlet, Region, Tasklet


def copied_axes(kernel: Kernel, node: Map) -> int:
    """How many of the last parameters of a map one memcpy covers; 0 if it computes anything, or in second runs."""
    moved = _moved(node)
    if moved is None or kernel.rewritten is not None:
        return 0
    source, target = moved
    memory = Memory(kernel.program.containers)
    if memory.may_overlap(source.container, target.container, kernel.apart):
        return 0
    return min(_neighbours(kernel, memlet, node) for memlet in moved)


def are_neighbours(kernel: Kernel, memlet: Memlet, param: Value) -> bool:
    """Whether each element follows the one of the value before in memory."""
    reach = (const_index(0), const_index(2))
    return _neighbours(kernel, memlet, Map(params=(param,), ranges=(reach,), body=Region(()))) > 0


def _moved(node: Map) -> tuple[Memlet, Memlet] | None:
    match node.body.nodes:
        case (Tasklet(reads=((value, source),), lets=(), writes=((target, written),)),):
            return (source, target) if written == value and not target.conflict else None
        case _:
            return None


def _neighbours(kernel: Kernel, memlet: Memlet, node: Map) -> int:
    """Along how many of the last parameters the elements follow each other in memory without a gap."""
    container = kernel.container(memlet.container)
    if is_strided(container):
        return int(_moves_by_one(kernel, memlet, node))
    place = const_index(0)
    for coordinate, stride in zip(memlet.index, dense_strides(container), strict=True):
        place = place + coordinate * stride
    length, count = const_index(1), 0
    for param, (start, stop) in zip(reversed(node.params), reversed(node.ranges), strict=True):
        step: Index = place.substitute({param: index(param) + 1}) - place
        if step is not length:
            break
        length, count = length * (stop - start), count + 1
    return count


def _moves_by_one(kernel: Kernel, memlet: Memlet, node: Map) -> bool:
    """Of strides known at run time: whether this place of the text knows the last parameter's to be an element's."""
    param = node.params[-1]
    moving = [axis for axis, coordinate in enumerate(memlet.index) if param in coordinate.values]
    return (
        len(moving) == 1
        and (memlet.container, moving[0]) in kernel.unit_axes
        and ((param,), 1) in memlet.index[moving[0]].terms
    )


def emit_copy(kernel: Kernel, node: Map, spans: list[Span]) -> None:
    """Copy what the spans of the last parameters cover."""
    moved = _moved(node)
    if moved is None:
        return
    source, target = moved
    with kernel.block():
        for span in spans:
            kernel.line(f"const int64_t {span.name} = {span.low};")
        factors = [f"({span.high} - {span.name})" for span in spans]
        size = kernel.bind(
            " * ".join([str(kernel.container(source.container).dtype.itemsize), *factors]), "int64_t", "size"
        )
        kernel.line(f"if ({size} > 0)")
        texts = [f"&{element(kernel, memlet)}" for memlet in (target, source)]
        kernel.line(f"    __builtin_memcpy({', '.join(texts)}, (uint64_t){size});")
