"""Binding: what loops carry and branches yield, and who owns which memory.

A region owns one count on each block it allocates and on each REF container it binds, and releases them at its end.
A REF container is a set of C variables: address, block, extents, and byte strides unless it is dense.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.codegen.access import block_text, is_strided, stride_name, view_data, view_strides
from weft.codegen.c_types import c_type
from weft.codegen.expressions import emit_exprs, index_text
from weft.codegen.kernel import Kernel, Scope, bare
from weft.ir.exprs import Expr, Index, Value
from weft.ir.nodes import NOTHING, Carry, Container, View
from weft.support.errors import InternalError
from weft.support.records import record


@record
class _Assignment:
    name: str
    type: str
    text: str
    block: bool = False  # a memory block: owned by the variable


def extent_value(extent: Index) -> Value | None:
    """The value an extent is, if it is just one."""
    match extent.terms:
        case (((value,), 1),):
            return value
        case _:
            return None


def declare_targets(kernel: Kernel, targets: Iterable[Value | str]) -> None:
    """The C variables of carries or results, without values yet. The present region owns what they will be bound to."""
    for target in targets:
        if isinstance(target, Value):
            kernel.line(f"{c_type(target.type)} {kernel.new_value(target)};")
        else:
            _declare_reference(kernel, target)


def declare_carries(kernel: Kernel, carries: Sequence[Carry]) -> None:
    """The C variables of carries with their first values."""
    for carry in carries:
        if isinstance(carry.target, str):
            _declare_reference(kernel, carry.target)
    references = [carry for carry in carries if isinstance(carry.target, str)]
    assign_targets(kernel, [x.target for x in references], [x.init for x in references], first=True)
    scalars = [(carry.target, carry.init) for carry in carries if isinstance(carry.target, Value)]
    texts = emit_exprs(kernel, [init for _, init in scalars if not isinstance(init, View)])
    for (target, _), text in zip(scalars, texts, strict=True):
        kernel.line(f"{c_type(target.type)} {kernel.new_value(target)} = {bare(text)};")


def _declare_reference(kernel: Kernel, target: str) -> None:
    container = kernel.container(target)
    pointer = kernel.declare(kernel.pointer(target), f"{c_type(container.dtype)} *")
    kernel.line(f"{c_type(container.dtype)} *{pointer} = 0;")
    kernel.line(f"weft_block *{kernel.declare(f'{pointer}_block', 'weft_block *')} = 0;")
    own = _own_extents(kernel, container)
    kernel.own_extents[target] = [value.id for value in own]
    names = [kernel.new_value(value) for value in own]
    if is_strided(container):
        names += [kernel.declare(stride_name(kernel, container, axis), "int64_t") for axis in range(container.rank)]
    if names:
        kernel.line(f"int64_t {', '.join(f'{name} = 0' for name in names)};")
    kernel.scopes[-1].blocks.append(f"{pointer}_block")


def _own_extents(kernel: Kernel, container: Container) -> list[Value]:
    """Extents that the binding defines: values that nothing has defined before."""
    own: list[Value] = []
    for extent in container.shape:
        value = extent_value(extent)
        if value is not None and value not in own and not kernel.is_defined(value):
            own.append(value)
    return own


def assign_targets(
    kernel: Kernel,
    targets: Sequence[Value | str],
    items: Sequence[Expr | View],
    *,
    first: bool = False,
    releases: Iterable[str] = (),
) -> None:
    """All targets at once, as `a, b = b, a`: every new value is computed before the first is assigned.

    New blocks are retained before `releases` and the old blocks are let go. In a first binding nothing is old, and the
    items cannot mention the targets.
    """
    assignments = _assignments(kernel, targets, items)
    changed = [_retain(kernel, x) if x.block and x.text != "0" else x for x in assignments if x.text != x.name]
    if not first and (len(changed) > 1 or any(x.block for x in changed)):
        changed = [_Assignment(x.name, x.type, kernel.bind(x.text, x.type, "next"), x.block) for x in changed]
    if not first:
        _release(kernel, [*releases, *(x.name for x in changed if x.block)])
    for assignment in changed:
        kernel.line(f"{assignment.name} = {bare(assignment.text)};")
    if first:
        _release(kernel, releases)


def _release(kernel: Kernel, blocks: Iterable[str]) -> None:
    for block in blocks:
        kernel.line(f"ctx->release(ctx, {block});")


def _retain(kernel: Kernel, assignment: _Assignment) -> _Assignment:
    text = f"{kernel.support.machine('retain')}({assignment.text})"
    return _Assignment(assignment.name, assignment.type, text, block=True)


def _assignments(kernel: Kernel, targets: Sequence[Value | str], items: Sequence[Expr | View]) -> list[_Assignment]:
    scalars = [item for item in items if not isinstance(item, View)]
    texts = iter(emit_exprs(kernel, scalars))
    assignments: list[_Assignment] = []
    for target, item in zip(targets, items, strict=True):
        if isinstance(target, Value) and not isinstance(item, View):
            assignments.append(_Assignment(kernel.value(target), c_type(target.type), next(texts)))
        elif isinstance(target, str) and isinstance(item, View):
            assignments += _binding(kernel, kernel.container(target), item)
        else:
            raise InternalError(f"a view and a scalar do not go together: {target}, {item}")
    return assignments


def _binding(kernel: Kernel, container: Container, view: View) -> list[_Assignment]:
    pointer = kernel.pointer(container.name)
    if view.container == NOTHING:
        unset = [(f"{c_type(container.dtype)} *", pointer, False), ("weft_block *", f"{pointer}_block", True)]
        return [_Assignment(name, type_, "0", block) for type_, name, block in unset]
    parts = [
        _Assignment(pointer, f"{c_type(container.dtype)} *", view_data(kernel, view)),
        _Assignment(f"{pointer}_block", "weft_block *", block_text(kernel, view.container), block=True),
    ]
    pending = list(kernel.own_extents[container.name])
    for extent, text in zip(container.shape, view.shape, strict=True):
        value = extent_value(extent)
        if value is not None and value.id in pending:
            pending.remove(value.id)
            parts.append(_Assignment(kernel.value(value), "int64_t", index_text(kernel, text)))
    if not is_strided(container):
        return parts
    for axis, stride in enumerate(view_strides(kernel, view)):
        parts.append(_Assignment(stride_name(kernel, container, axis), "int64_t", stride))
    return parts


def release_scope(kernel: Kernel) -> None:
    """Let go of what the innermost region owns."""
    _release(kernel, kernel.scopes[-1].blocks)


def leave_to_loop(kernel: Kernel, depth: int) -> tuple[Scope, list[str]]:
    """The loop body that a Break or Continue leaves, and what the regions up to it own, innermost first."""
    blocks: list[str] = []
    for scope in reversed(kernel.scopes):
        blocks += scope.blocks
        if scope.loop is not None:
            if depth == 0:
                return scope, blocks
            depth -= 1
    raise InternalError("a Break or Continue outside of a loop")
