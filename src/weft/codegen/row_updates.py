"""A map that computes the rows of a matrix, in one sweep with the products of this matrix and vectors.

before:  Map [i, j] { A[i, j] += u[i] * v[j] };  matmul x = y @ A sweep
after:   int32_t done = -1;
         {
             struct f_env_0 env = {...};
             const weft_rows_before before = {f_body_0, &env, 0, n, m, 8 * m};
             done = weft_sweep_f64(ctx, ..., A, ..., &before);
             if (done < 0)
                 ... the body, as in other maps
         }
         if (done <= 0)
             product(...);
"""

from __future__ import annotations

from weft.analysis.sweeps import RowUpdate
from weft.codegen.access import view_strides
from weft.codegen.expressions import index_text
from weft.codegen.kernel import Kernel
from weft.codegen.nests import emit_map, is_outlined
from weft.codegen.outlining import Outlined
from weft.codegen.products import emit_sweep, emit_unswept, sweep_call
from weft.ir.nodes import full_view


def emit_row_update(kernel: Kernel, update: RowUpdate) -> None:
    """The map and the products behind it."""
    node, products, name = update.map, update.products, update.matrix
    if not is_outlined(kernel, node) or sweep_call(kernel, products) is None:
        emit_map(kernel, node)
        emit_sweep(kernel, *products)
        return
    done = kernel.names.claim("done")
    kernel.line(f"int32_t {kernel.declare(done, 'int32_t')} = -1;")

    def along(body: Outlined, step: str) -> str:
        low, high = (index_text(kernel, end + update.shift) for end in node.ranges[0])
        lead = view_strides(kernel, full_view(kernel.container(name)))[0]
        before = kernel.names.claim("before")
        fields = ", ".join([body.name, "&env", low, high, step, lead])
        kernel.line(f"const weft_rows_before {before} = {{{fields}}};")
        kernel.line(f"{done} = {sweep_call(kernel, products, f'&{before}')};")
        return f"{done} < 0"

    emit_map(kernel, node, along)
    emit_unswept(kernel, products, done)
