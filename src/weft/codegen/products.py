"""Matrix products: one call of a support function per pair of matrices, batch axes as loops around it.

The pairs of a batch are shared out to threads where BLAS would use one for each:

    static void f_body_0(void *raw, int64_t begin, int64_t end) { for (pair = begin; pair < end; ++pair) product(...); }
    ...
    ctx->parallel(ctx, f_body_0, &env, pairs, grain);
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from weft.analysis.cost import ALONE
from weft.analysis.memory import Memory
from weft.codegen.access import element, view_strides
from weft.codegen.expressions import index_text
from weft.codegen.fp_flags import clear_flags, hardware_flags, raised_flags, report
from weft.codegen.kernel import Kernel
from weft.codegen.outlining import emit_outlined, outline
from weft.codegen.scalars import Operand
from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index
from weft.ir.nodes import MatMul, View

_TERMS_A_POINT: Final = 8  # that take as long as a point of a map
_BLAS_LETTERS: Final = {DType.FLOAT32: "s", DType.FLOAT64: "d", DType.COMPLEX64: "c", DType.COMPLEX128: "z"}


def emit_matmul(kernel: Kernel, node: MatMul) -> None:
    """`output = lhs @ rhs` for every point of the batch axes."""
    kernel.writer.comment(node.span)
    dtype = kernel.container(node.output.container).dtype
    kinds = "oi" if dtype.kind in "fc" else ""
    with kernel.block():
        if node.warn >= 0 and _is_number(kernel, node):
            # A finite number has met nothing to warn of, and looking at it costs less than the processor's flags.
            _emit_product(kernel, node)
            corner = element(kernel, node.output.at((const_index(0),) * node.output.rank))
            finite = kernel.scalars().apply("isfinite", (Operand(corner, dtype),), DType.BOOL)
            with kernel.block(f"if (__builtin_expect(!{finite}, 0))"), hardware_flags(kernel, node.warn, kinds):
                _emit_product(kernel, node)
            return
        if node.output.rank > 2 and not kernel.parallel and kernel.flags is None:
            _emit_shared(kernel, node, kinds if node.warn >= 0 else "")
            return
        with hardware_flags(kernel, node.warn, kinds):
            _emit_product(kernel, node)


def _is_number(kernel: Kernel, node: MatMul) -> bool:
    """Whether the product is a single float that can be computed once more."""
    memory = Memory(kernel.program.containers)
    inputs = memory.roots(node.lhs.container) | memory.roots(node.rhs.container)
    return (
        kernel.container(node.output.container).dtype.kind == "f"
        and all(extent.constant == 1 for extent in node.output.shape)
        and inputs.isdisjoint(memory.roots(node.output.container))
    )


def _emit_product(kernel: Kernel, node: MatMul) -> None:
    with ExitStack() as stack:
        batch: list[Index] = []
        for extent in node.output.shape[:-2]:
            point, name = kernel.fresh("batch")
            batch.append(point)
            head = f"for (int64_t {name} = 0; {name} < {index_text(kernel, extent)}; ++{name})"
            stack.enter_context(kernel.block(head))
        _emit_pair(kernel, node, tuple(batch))


def _emit_shared(kernel: Kernel, node: MatMul, kinds: str) -> None:
    """All pairs of a batch, shared out to threads."""
    extents = [f"({index_text(kernel, extent)})" for extent in node.output.shape[:-2]]
    flags = [kernel.names.claim("fp")] if kinds else []

    def emit() -> None:
        if kinds:
            clear_flags(kernel)
        pair = kernel.names.claim("pair")
        with kernel.block(f"for (int64_t {pair} = begin; {pair} < end; ++{pair})"):
            batch: list[Index] = []
            for axis, extent in enumerate(extents):
                point, name = kernel.fresh("batch")
                batch.append(point)
                turns = " / ".join([pair, *extents[axis + 1 :]])
                kernel.line(f"const int64_t {name} = {turns}{f' % {extent}' if axis else ''};")
            _emit_pair(kernel, node, tuple(batch))
        for flag in flags:
            kernel.line(f"{flag} |= {raised_flags(kernel, kinds)};")

    body = outline(kernel, flags, emit)
    pairs = kernel.bind(" * ".join(extents), "int64_t", "pairs")
    sizes = (*node.output.shape[-2:], node.lhs.shape[-1])
    terms = kernel.bind(" * ".join(f"(double)({index_text(kernel, size)})" for size in sizes), "double", "terms")
    points = f"{terms} <= {ALONE} ? {terms} * (double){pairs} / {_TERMS_A_POINT} : 0"
    emit_outlined(kernel, body, pairs, kernel.bind(points, "double", "points"))
    for flag in flags:
        report(kernel, f"env.{flag}", node.warn)


def _emit_pair(kernel: Kernel, node: MatMul, batch: tuple[Index, ...]) -> None:
    """The product of one pair of matrices."""
    dtype = kernel.container(node.output.container).dtype
    rows, columns = (index_text(kernel, extent) for extent in node.output.shape[-2:])
    inner = index_text(kernel, node.lhs.shape[-1])
    matrices = [_matrix(kernel, view, batch) for view in (node.lhs, node.rhs, node.output)]
    function, libraries = _function(kernel, dtype)
    kernel.line(f"{function}({libraries}{rows}, {columns}, {inner},")
    for number, text in enumerate(matrices):
        kernel.line(f"    {text}{');' if number == 2 else ','}")


def _matrix(kernel: Kernel, view: View, batch: tuple[Index, ...]) -> str:
    """Address and the two byte strides."""
    corner = element(kernel, view.at((*batch, const_index(0), const_index(0))))
    strides = view_strides(kernel, view)[-2:]
    return f"(char *)&{corner}, {strides[0]}, {strides[1]}"


def _function(kernel: Kernel, dtype: DType) -> tuple[str, str]:
    """The support function and, for types BLAS knows, the argument that leads to the library."""
    letter = _BLAS_LETTERS.get(dtype)
    if letter is None:
        return kernel.support.need("product_loops", dtype), ""
    wanted = ["blas_ilp64", f"cblas_{letter}gemm", f"cblas_{letter}gemv", f"cblas_{letter}syrk"]
    for start in range(len(kernel.libraries)):
        if kernel.libraries[start : start + len(wanted)] == wanted:
            break
    else:
        start = len(kernel.libraries)
        kernel.libraries += wanted
    offset = f" + {start}" if start else ""
    return kernel.support.need("product", dtype), f"ctx, ctx->library{offset}, "
