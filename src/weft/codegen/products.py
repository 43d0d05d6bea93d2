"""Matrix products: one call of a support function per pair of matrices, batch axes as loops around it.

The pairs of a batch are shared out to threads where BLAS would use one for each:

    static void f_body_0(void *raw, int64_t begin, int64_t end) { for (pair = begin; pair < end; ++pair) product(...); }
    ...
    ctx->parallel(ctx, f_body_0, &env, pairs, grain);

Where they are larger, and all have one factor in common, while the rows of the other and of the result lie one behind
the other, they are one product of all rows.

Products of a large matrix and a vector are sweeps through it, which two of one matrix share (`support_sweeps.py`):

    if (weft_sweep_f64(ctx, ..., m, n, A, ...) <= 0) { product(...); product(...); }
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from weft.analysis.cost import ALONE
from weft.analysis.memory import Memory
from weft.analysis.sweeps import MatrixVector, follows, is_sweep, matrix_vector
from weft.codegen.access import element, view_strides
from weft.codegen.expressions import emit_expr, index_text
from weft.codegen.fp_flags import clear_flags, hardware_flags, raised_flags, report
from weft.codegen.kernel import Kernel
from weft.codegen.outlining import emit_outlined, outline
from weft.codegen.scalars import Operand
from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index
from weft.ir.nodes import MatMul, View
from weft.support.abi import BLAS_THREADS

_TERMS_A_POINT: Final = 8  # that take as long as a point of a map
_BLAS_LETTERS: Final = {DType.FLOAT32: "s", DType.FLOAT64: "d", DType.COMPLEX64: "c", DType.COMPLEX128: "z"}


def emit_matmul(kernel: Kernel, node: MatMul) -> None:
    """`output = lhs @ rhs` for every point of the batch axes."""
    if node.sweep and is_sweep(node, Memory(kernel.program.containers)):
        emit_sweep(kernel, node)
    else:
        _emit_plain(kernel, node)


def emit_sweep(kernel: Kernel, *products: MatMul) -> None:
    """A product of a matrix and a vector, or two that share a sweep.

    They are made as others where the sweep says that it has not made them, or that they may have to warn.
    """
    call = sweep_call(kernel, products)
    if call is None:
        for node in products:
            (emit_sweep if len(products) > 1 else _emit_plain)(kernel, node)
        return
    kernel.writer.comment(products[0].span)
    emit_unswept(kernel, products, kernel.bind(call, "int32_t", "done"))


def emit_unswept(kernel: Kernel, products: Sequence[MatMul], done: str) -> None:
    """The products one by one, where a sweep has not made them."""
    with kernel.block(f"if ({done} <= 0)"):
        for node in products:
            _emit_plain(kernel, node)


def sweep_call(kernel: Kernel, products: Sequence[MatMul], before: str = "0") -> str | None:
    """The call of a sweep, with what is to be done `before` its rows; None where there is none for these products."""
    shown = [product for product in map(matrix_vector, products) if product is not None]
    chunks = ["0", "0"] if kernel.parallel or kernel.map_depth else _chunks(kernel, shown)
    if chunks == ["0", "0"]:
        return None
    matrix, dtype = shown[0].matrix, kernel.container(shown[0].matrix.container).dtype
    lines = [_line(kernel, view) for product in shown for view in (product.vector, product.output)]
    lines += [f"0, {dtype.itemsize}"] * (4 - len(lines))
    extents = [index_text(kernel, extent) for extent in matrix.shape]
    texts = ", ".join([*chunks, *extents, _matrix(kernel, matrix, ()), *lines, before])
    return f"{kernel.support.need('sweep', dtype)}(ctx, {texts})"


def _chunks(kernel: Kernel, products: Sequence[MatrixVector]) -> list[str]:
    """The support functions for a matrix stored by rows, and for one stored by columns; "0" for what it is not."""
    if len(products) == 1:
        names = ("sweep_dots", "sweep_adds")
    else:
        names = ("sweep_following", "") if follows(*products) else ("sweep_apart", "sweep_apart")
    matrix = products[0].matrix
    dtype, strides = kernel.container(matrix.container).dtype, view_strides(kernel, matrix)
    return [
        kernel.support.need(name, dtype) if name and stride != str(dtype.itemsize) else "0"
        for name, stride in zip(names, strides, strict=True)
    ]


def _emit_plain(kernel: Kernel, node: MatMul) -> None:
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
            _emit_batch(kernel, node, kinds if node.warn >= 0 else "")
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


def _emit_batch(kernel: Kernel, node: MatMul, kinds: str) -> None:
    """All pairs of a batch: as one where that can be done and BLAS uses threads of its own, else shared out to ours."""
    extents = [f"({index_text(kernel, extent)})" for extent in node.output.shape[:-2]]
    pairs = kernel.bind(" * ".join(extents), "int64_t", "pairs")
    sizes = (*node.output.shape[-2:], node.lhs.shape[-1])
    terms = kernel.bind(" * ".join(f"(double)({index_text(kernel, size)})" for size in sizes), "double", "terms")
    together = _rows_together(kernel, node)
    if not together:
        _emit_shared(kernel, node, kinds, pairs, terms)
        return
    together = [f"{terms} > {ALONE}", *together]
    with kernel.block(f"if ({' && '.join(together)})"), hardware_flags(kernel, node.warn, kinds):
        _emit_pair(kernel, node, (const_index(0),) * len(extents), times=f"{pairs} * ")
    with kernel.block("else"):
        _emit_shared(kernel, node, kinds, pairs, terms)


def _rows_together(kernel: Kernel, node: MatMul) -> list[str]:
    """When the rows of all pairs are those of one matrix; nothing if they never are."""
    batch = range(node.output.rank - 2)
    if any(number in batch for axis in node.rhs.axes for number, _ in axis.terms):
        return []
    extents = [index_text(kernel, extent) for extent in node.output.shape]
    conditions: list[str] = []
    for view in (node.lhs, node.output):
        strides = view_strides(kernel, view)
        conditions += (f"{strides[axis]} == ({extents[axis + 1]}) * {strides[axis + 1]}" for axis in batch)
    return conditions


def _emit_shared(kernel: Kernel, node: MatMul, kinds: str, pairs: str, terms: str) -> None:
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
    points = f"{terms} <= {ALONE} ? {terms} * (double){pairs} / {_TERMS_A_POINT} : 0"
    emit_outlined(kernel, body, pairs, kernel.bind(points, "double", "points"))
    for flag in flags:
        report(kernel, body.flag(flag), node.warn)


def _emit_pair(kernel: Kernel, node: MatMul, batch: tuple[Index, ...], times: str = "") -> None:
    """The product of one pair of matrices; or of several that have their rows one behind the other."""
    dtype = kernel.container(node.output.container).dtype
    rows, columns = (index_text(kernel, extent) for extent in node.output.shape[-2:])
    rows = f"{times}({rows})" if times else rows
    inner = index_text(kernel, node.lhs.shape[-1])
    matrices = [_matrix(kernel, view, batch) for view in (node.lhs, node.rhs, node.output)]
    scaled = node.adds or node.scale is not None
    function, libraries = _function(kernel, dtype, scaled=scaled)
    scale = f" {'1' if node.scale is None else emit_expr(kernel, node.scale)}, {int(node.adds)}," if scaled else ""
    kernel.line(f"{function}({libraries}{rows}, {columns}, {inner},{scale}")
    for number, text in enumerate(matrices):
        kernel.line(f"    {text}{');' if number == 2 else ','}")


def _line(kernel: Kernel, view: View) -> str:
    """Address of a column and the byte stride along it."""
    return _matrix(kernel, view, ()).rpartition(", ")[0]


def _matrix(kernel: Kernel, view: View, batch: tuple[Index, ...]) -> str:
    """Address and the two byte strides."""
    corner = element(kernel, view.at((*batch, const_index(0), const_index(0))))
    strides = view_strides(kernel, view)[-2:]
    return f"(char *)&{corner}, {strides[0]}, {strides[1]}"


def _function(kernel: Kernel, dtype: DType, *, scaled: bool) -> tuple[str, str]:
    """The support function and, for types BLAS knows, the argument that leads to the library."""
    letter = _BLAS_LETTERS.get(dtype)
    if letter is None:
        return kernel.support.need("product_loops", dtype), ""
    wanted = ["blas_ilp64", *(f"cblas_{letter}{name}" for name in ("gemm", "gemv", "syrk")), *BLAS_THREADS]
    for start in range(len(kernel.libraries)):
        if kernel.libraries[start : start + len(wanted)] == wanted:
            break
    else:
        start = len(kernel.libraries)
        kernel.libraries += wanted
    offset = f" + {start}" if start else ""
    name = "product_scaled" if scaled else "product"
    return kernel.support.need_unit(name, dtype), f"ctx, ctx->library{offset}, "
