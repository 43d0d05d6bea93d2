"""Ways out of a kernel: results and resume points, stored in `out[]`, and recipes that build Python objects of them.

in:   Return(value), Site(frames) with bundles of expressions, views and constants
out:  C that fills out[], `return n;`, and entry n of `KernelInfo.exits`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from weft.codegen.access import block_text, leaving_strides, view_data
from weft.codegen.c_types import store_scalar
from weft.codegen.expressions import emit_expr, index_text
from weft.codegen.kernel import Kernel, bare
from weft.ir.dtypes import PYTHON_NAMES, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value
from weft.ir.nodes import Anew, Bundle, Choice, Constant, Listed, Missing, Pack, Return, Site, SlotObject, Storage, View
from weft.support import abi
from weft.support.records import record


def emit_return(kernel: Kernel, node: Return) -> None:
    """Store the result and leave."""
    kernel.writer.comment(node.span)
    with kernel.block():
        store = Store(kernel)
        recipe = store.with_writebacks(store.recipe(node.value), node.writebacks)
        line = node.span.line if node.span else 0
        _leave(kernel, abi.Exit(recipe, (), line), store)


def emit_site(kernel: Kernel, node: Site) -> None:
    """The block that guards jump to. It stands in the place of the site, where the live values are in scope."""
    if node.number not in kernel.guarded:
        return
    kernel.writer.comment(node.span)
    with kernel.block("if (0)"):
        kernel.line(f"fail_{node.number}:;")
        store = Store(kernel)
        frames = tuple(abi.Frame(frame.function, frame.path, frame.names) for frame in node.frames)
        names = abi.Sequence(tuple(store.sequence(frame.values) for frame in node.frames))
        recipe = store.with_writebacks(names, node.writebacks)
        reason = "; ".join(dict.fromkeys(kernel.guarded[node.number]))
        _leave(kernel, abi.Exit(recipe, frames, node.span.line if node.span else 0, reason), store)


def _leave(kernel: Kernel, exit_: abi.Exit, store: Store) -> None:
    kernel.out_count = max(kernel.out_count, store.used)
    kernel.exits.append(exit_)
    kernel.line(f"return {len(kernel.exits) - 1};")


@record(frozen=False)
class Store:
    """Fills out[] from 0 upwards; every exit uses the same slots again.

    What is only `lent`, for a call of Python, keeps its owner; its shapes are room of the kernel's own.
    """

    kernel: Kernel
    used: int = 0
    lent: bool = False

    def recipe(self, bundle: Bundle) -> abi.Recipe:
        """Store what a bundle needs; how to build it."""
        match bundle:
            case Value() | Const() | Op() | Index():
                return self._scalar(bundle)
            case View():
                return self._array(bundle)
            case Anew(view=view):
                return self._array(view)._replace(fresh=True)
            case Constant(index=index):
                return abi.Const(index)
            case SlotObject(slot=slot):
                return abi.FromSlot(slot)
            case Pack():
                return self._pack(bundle)
            case Listed():
                return self._listed(bundle)
            case Choice():
                return self._choice(bundle)
            case Missing():
                return abi.Unbound()
            case _:
                assert_never(bundle)

    def sequence(self, items: Iterable[Bundle], *, is_list: bool = False) -> abi.Sequence:
        """The same for several."""
        return abi.Sequence(tuple(self.recipe(item) for item in items), is_list)

    def _pack(self, bundle: Pack) -> abi.Sequence:
        items = tuple(self.recipe(item) for item in bundle.items)
        return abi.Sequence(items, bundle.is_list, bundle.is_dict, bundle.share, bundle.cls)

    def _listed(self, bundle: Listed) -> abi.ListOf:
        array = self._array(bundle.view)
        return abi.ListOf(array.out, _scalar_kind(bundle.type), bundle.share)

    def with_writebacks(self, recipe: abi.Recipe, writebacks: tuple[Bundle, ...]) -> abi.Recipe:
        """A recipe with the attributes that were assigned, in programs that do."""
        if not self.kernel.program.writebacks:
            return recipe
        return abi.Sequence((recipe, self.sequence(writebacks)))

    def slot(self) -> int:
        """The next free place in out[]."""
        self.used += 1
        return self.used - 1

    def _scalar(self, expr: Expr) -> abi.Recipe:
        text = emit_expr(self.kernel, expr)
        slot = self.slot()
        for line in store_scalar(f"out[{slot}]", text, expr.type.dtype):
            self.kernel.line(line)
        return abi.Scalar(slot, _scalar_kind(expr.type))

    def _array(self, view: View) -> abi.Array:
        kernel, slot = self.kernel, self.slot()
        place = f"out[{slot}].a"
        kernel.line(f"{place}.data = {view_data(kernel, view)};")
        if not self.lent:
            kernel.line(f"{place}.block = {block_text(kernel, view.container)};")
        shape = kernel.names.claim("shape")
        if view.rank == 0:
            kernel.line(f"{place}.shape = {place}.strides = 0;")
        else:
            self._room(shape, 2 * view.rank)
            for axis, extent in enumerate(view.shape):
                kernel.line(f"{shape}[{axis}] = {index_text(kernel, extent)};")
            for axis, stride in enumerate(leaving_strides(kernel, view)):
                kernel.line(f"{shape}[{view.rank + axis}] = {stride};")
            kernel.line(f"{place}.shape = {shape};")
            kernel.line(f"{place}.strides = {shape} + {view.rank};")
        container = kernel.container(view.container)
        return abi.Array(slot, container.dtype.value, view.rank, fresh=container.storage is Storage.ARGUMENT)

    def _room(self, name: str, count: int) -> None:
        """Room for a shape: until the call is over where it is lent, else until the program has been left."""
        if self.lent:
            self.kernel.line(f"int64_t {name}[{count}];")
            return
        self.kernel.line(f"int64_t *{name} = ctx->extents(ctx, {count});")
        self.kernel.line(f"if ({name} == 0)")
        self.kernel.line("    return WEFT_NO_MEMORY;")

    def _choice(self, bundle: Choice) -> abi.Recipe:
        """Only the chosen item is stored: the others may have no value here."""
        kernel = self.kernel
        tag = emit_expr(kernel, bundle.tag)
        slot = self.slot()
        kernel.line(f"out[{slot}].i = (int64_t){tag};")
        alternatives: list[abi.Recipe] = []
        with kernel.block(f"switch ({bare(tag)})"):
            for number, item in enumerate(bundle.items):
                with kernel.block(f"case {number}:"):
                    alternatives.append(self.recipe(item))
                    kernel.line("break;")
        return abi.Union(slot, tuple(alternatives))


def _scalar_kind(type_: ScalarType) -> str:
    return PYTHON_NAMES[type_.dtype] if type_.python else type_.dtype.value
