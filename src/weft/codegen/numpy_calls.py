"""Calls of NumPy's own functions from inside a kernel.

in:   call numpy.linalg.solve(A[:, :], b[:]) -> (X) site 3, X of n elements
out:  out[0].a.data = A;  ...  out[2].a.shape = X_shape;
      switch (ctx->call_python(ctx, 0, out)) { case WEFT_CALL_DONE: break; case WEFT_CALL_LEAVE: goto fail_3; ... }
      if (X_shape[0] != n) goto fail_3;
      weft_block *X_block = out[2].a.block;  double *X = X_block->data;

and an entry of `KernelInfo.numpy_calls`. The results come as blocks of the kernel's own.
"""

from __future__ import annotations

from contextlib import nullcontext

from weft.codegen.c_types import c_type
from weft.codegen.direct_calls import direct_call, tried_call
from weft.codegen.draw_calls import emit_draw
from weft.codegen.exits import Store
from weft.codegen.expressions import index_text
from weft.codegen.fourier_calls import fourier_call
from weft.codegen.kernel import Kernel
from weft.codegen.references import extent_value
from weft.codegen.sorting_calls import sorting_call
from weft.ir.call_types import result_types
from weft.ir.exprs import Index, Value
from weft.ir.nodes import NumpyCall
from weft.library.linear_algebra import arrays_of
from weft.support import abi


def emit_numpy_call(kernel: Kernel, node: NumpyCall) -> None:
    """The call, and the names of what it gives."""
    kernel.writer.comment(node.span)
    if node.tried:
        _emit_tried(kernel, node)
        return
    if emit_draw(kernel, node, lambda: _emit_given(kernel, node, called=True)[0]):
        return
    first, shapes = _emit_given(kernel, node, called=False)
    ways = (direct_call, fourier_call, sorting_call)
    direct = next((test for way in ways if (test := way(kernel, node, first))), None)
    with kernel.block(f"if (!{direct})") if direct else nullcontext():
        _emit_switch(kernel, node, len(kernel.numpy_calls) - 1)
    _emit_extents(kernel, node, shapes)
    for slot, result in enumerate(node.results, first):
        if isinstance(result.target, str):
            _emit_array(kernel, result.target, slot)
        else:
            name = kernel.new_value(result.target)
            kernel.line(f"{c_type(result.target.type)} {name};")
            kernel.line(f"__builtin_memcpy(&{name}, &out[{slot}], sizeof {name});")


def _emit_tried(kernel: Kernel, node: NumpyCall) -> None:
    """What it is given and what it changes in out[], the attempt, and what becomes of warnings since the mark."""
    store = Store(kernel, lent=True)
    for view in (*arrays_of(node), *node.changes):
        store.recipe(view)
    kernel.out_count = max(kernel.out_count, store.used)
    (done,) = (result.target for result in node.results)
    assert isinstance(done, Value)
    name = kernel.new_value(done)
    kernel.line(f"const {c_type(done.type)} {name} = {tried_call(kernel, node)};")
    kernel.line(f"ctx->settle(ctx, {kernel.scopes[-1].mark}, {name});")


def _emit_given(kernel: Kernel, node: NumpyCall, *, called: bool) -> tuple[int, dict[str, str]]:
    """The arguments in out[], and room for the results: where those begin, and their shapes. `called`: and the call."""
    store = Store(kernel, lent=True)
    recipe = store.sequence(node.given)
    first = store.used
    shapes: dict[str, str] = {}
    for result in node.results:
        slot = store.slot()
        if isinstance(result.target, str):
            shapes[result.target] = _room(kernel, result.target, slot)
    kernel.out_count = max(kernel.out_count, store.used)
    line = node.span.line if node.span else 0
    keywords = tuple(name for name, _ in node.keywords)
    types = result_types(node, kernel.program.containers)
    kernel.numpy_calls.append(abi.NumpyCall(node.function, line, recipe, keywords, first, types, bool(node.changes)))
    if called:
        _emit_switch(kernel, node, len(kernel.numpy_calls) - 1)
    return first, shapes


def _room(kernel: Kernel, name: str, slot: int) -> str:
    rank = kernel.container(name).rank
    room = kernel.names.claim(f"{kernel.pointer(name)}_shape")
    kernel.line(f"int64_t {room}[{max(rank, 1)}];")
    kernel.line(f"out[{slot}].a.shape = {room};")
    return room


def _emit_switch(kernel: Kernel, node: NumpyCall, number: int) -> None:
    with kernel.block(f"switch (ctx->call_python(ctx, {number}, out)) /* {node.function} */"):
        kernel.line("case WEFT_CALL_DONE:")
        kernel.line("    break;")
        kernel.line("case WEFT_CALL_LEAVE:")
        kernel.line(f"    goto fail_{node.site};")
        kernel.line("default:")
        kernel.line("    return WEFT_INTERRUPTED;")


def _emit_extents(kernel: Kernel, node: NumpyCall, shapes: dict[str, str]) -> None:
    """Extents known by the call only get their values; the others must be what they are elsewhere."""
    known: list[tuple[str, Index]] = []
    for name, shape in shapes.items():
        for axis, extent in enumerate(kernel.container(name).shape):
            value = extent_value(extent)
            if value is not None and value in node.sizes and not kernel.is_defined(value):
                kernel.line(f"const int64_t {kernel.new_value(value)} = {shape}[{axis}];")
            else:
                known.append((f"{shape}[{axis}]", extent))
    for found, extent in known:
        kernel.line(f"if (__builtin_expect({found} != {index_text(kernel, extent)}, 0))")
        kernel.line(f"    goto fail_{node.site};")


def _emit_array(kernel: Kernel, name: str, slot: int) -> None:
    pointer, type_ = kernel.pointer(name), c_type(kernel.container(name).dtype)
    block = kernel.declare(f"{pointer}_block", "weft_block *")
    kernel.line(f"weft_block *{block} = out[{slot}].a.block;")
    kernel.line(f"{type_} *{kernel.declare(pointer, f'{type_} *')} = {block}->data;")
    kernel.scopes[-1].blocks.append(block)
