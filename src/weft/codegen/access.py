"""Elements and views of containers as C: addresses, strides, owners.

A dense container is indexed with element arithmetic, `A[(i * n1 + j) * n2 + k]`, which gcc vectorizes; one whose
strides are known at run time only by bytes, `WEFT_AT(double, A, i * A_s0 + j * A_s1)`.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.c_types import c_type
from weft.codegen.expressions import index_factor, index_text
from weft.codegen.kernel import Kernel
from weft.ir.exprs import Index, const_index
from weft.ir.nodes import Container, Layout, Memlet, Storage, View


def is_strided(container: Container) -> bool:
    """Whether its strides are variables, in bytes."""
    return container.storage in (Storage.ARGUMENT, Storage.REF) and container.layout is Layout.STRIDED


def stride_name(kernel: Kernel, container: Container, axis: int) -> str:
    """The C variable with a byte stride; the stride itself where it is known to be that of an element."""
    if (container.name, axis) in kernel.unit_axes:
        return str(container.dtype.itemsize)
    return f"{kernel.pointer(container.name)}_s{axis}"


def block_text(kernel: Kernel, name: str) -> str:
    """The memory block of a container."""
    root = kernel.root(name)
    if root.storage is Storage.ARGUMENT:
        return f"args[{root.slot}].a.block"
    return f"{kernel.pointer(name)}_block"


def element(kernel: Kernel, memlet: Memlet) -> str:
    """One element, as a C expression that can be read and assigned."""
    container = kernel.container(memlet.container)
    pointer = kernel.pointer(memlet.container)
    if is_strided(container):
        return f"WEFT_AT({c_type(container.dtype)}, {pointer}, {_byte_offset(kernel, container, memlet.index)})"
    return f"{pointer}[{_linear(kernel, container, memlet.index)}]"


def dense_strides(container: Container) -> list[Index]:
    """Strides in elements of a dense container."""
    strides: list[Index] = []
    step = const_index(1)
    order = container.shape if container.layout is Layout.F else container.shape[::-1]
    for extent in order:
        strides.append(step)
        step = step * extent
    return strides if container.layout is Layout.F else strides[::-1]


def _linear(kernel: Kernel, container: Container, position: tuple[Index, ...]) -> str:
    """The number of an element, `(i * n1 + j) * n2 + k`: one multiplication per axis."""
    pairs = list(zip(position, container.shape, strict=True))
    if container.layout is Layout.F:
        pairs.reverse()
    text, plain = "0", True
    for coordinate, extent in pairs:
        if text != "0":
            text = f"{text if plain else f'({text})'} * {index_factor(kernel, extent)}"
            plain = True
        if coordinate.constant == 0:
            continue
        added = index_text(kernel, coordinate)
        if text == "0":
            text, plain = added, len(coordinate.terms) == 1
        else:
            text, plain = f"{text} + {added}" if added[0] != "-" else f"{text} - {added[1:]}", False
    return text


def _byte_offset(kernel: Kernel, container: Container, position: tuple[Index, ...]) -> str:
    terms = [
        _times(kernel, coordinate, stride_name(kernel, container, axis))
        for axis, coordinate in enumerate(position)
        if coordinate.constant != 0
    ]
    return " + ".join(terms) or "0"


def _times(kernel: Kernel, factor: Index, name: str) -> str:
    return name if factor.constant == 1 else f"{index_factor(kernel, factor)} * {name}"


def view_data(kernel: Kernel, view: View) -> str:
    """The address of element [0, 0, ...] of a view, typed."""
    container = kernel.container(view.container)
    pointer = kernel.pointer(view.container)
    offsets = tuple(axis.offset for axis in view.axes)
    if all(offset.constant == 0 for offset in offsets):
        return pointer
    if is_strided(container):
        return f"({c_type(container.dtype)} *)((char *){pointer} + {_byte_offset(kernel, container, offsets)})"
    return f"{pointer} + {_linear(kernel, container, offsets)}"


def view_strides(kernel: Kernel, view: View) -> list[str]:
    """Byte strides of a view, one per axis; 0 for a broadcast axis."""
    container = kernel.container(view.container)
    if not is_strided(container):
        return [index_text(kernel, stride) for stride in dense_view_strides(container, view)]
    return _strides_by_name(kernel, view, lambda axis: stride_name(kernel, container, axis))


def leaving_strides(kernel: Kernel, view: View) -> list[str]:
    """Byte strides of a view that leaves the program: of an argument its own, which in axes of length 1 may be any."""
    container = kernel.container(view.container)
    if container.storage is not Storage.ARGUMENT or is_strided(container):
        return view_strides(kernel, view)
    return _strides_by_name(kernel, view, lambda axis: f"args[{container.slot}].a.strides[{axis}]")


def _strides_by_name(kernel: Kernel, view: View, name: Callable[[int], str]) -> list[str]:
    texts: list[str] = []
    for number in range(view.rank):
        terms = [
            _times(kernel, step, name(axis))
            for axis, entry in enumerate(view.axes)
            for mentioned, step in entry.terms
            if mentioned == number
        ]
        texts.append(" + ".join(terms) or "0")
    return texts


def dense_view_strides(container: Container, view: View) -> list[Index]:
    """Byte strides of a view on a dense container."""
    steps = [const_index(0)] * view.rank
    for entry, stride in zip(view.axes, dense_strides(container), strict=True):
        for number, step in entry.terms:
            steps[number] = steps[number] + step * stride
    return [step * container.dtype.itemsize for step in steps]


def fastest_axis(kernel: Kernel, view: View) -> int:
    """The axis of a view along which elements are neighbours, as far as the layout tells; otherwise the last."""
    container = kernel.container(view.container)
    if not is_strided(container):
        strides = dense_view_strides(container, view)
        for axis in reversed(range(view.rank)):
            if strides[axis].constant in (container.dtype.itemsize, -container.dtype.itemsize):
                return axis
    return view.rank - 1
