"""C of matrix products (templates, see support_functions): NumPy's own BLAS where it has one, our loops otherwise.

Matrices come as data, byte stride of rows, byte stride of columns, `libraries` as in `support_blas.py`.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.support_blas import BLAS_FUNCTIONS
from weft.codegen.support_tiles import TILE_FUNCTIONS

PRODUCT_FUNCTIONS: Final = {
    **TILE_FUNCTIONS,
    **BLAS_FUNCTIONS,
    # Numbers one after the other: where they are, or copied to some room.
    "line": """
__attribute__((noinline)) static const $T *weft_line_$S(int64_t count, const char *from, int64_t step, $T *room)
{
    if (step == sizeof($T))
        return (const $T *)from;
    for (int64_t p = 0; p < count; ++p)
        room[p] = *(const $T *)(from + p * step);
    return room;
}
""",
    "dot": """
static $T weft_dot_$S(int64_t k, const char *a, int64_t a1, const char *b, int64_t b0)
{
    $T total = 0, rooms[2][512];
    for (int64_t begin = 0; begin < k; begin += 512) {
        const int64_t count = k - begin > 512 ? 512 : k - begin;
        const $T *left = @line(count, a + begin * a1, a1, rooms[0]);
        const $T *right = @line(count, b + begin * b0, b0, rooms[1]);
        $T lane[8] = {0};
        int64_t p = 0;
        for (; p + 8 <= count; p += 8)
            for (int l = 0; l < 8; ++l)
                lane[l] = @multiply_add(lane[l], left[p + l], right[p + l]);
        for (int l = 0; l < 7; ++l)
            if (p + l < count)
                lane[l] = @multiply_add(lane[l], left[p + l], right[p + l]);
        total = @join(total, @join(@join(@join(lane[0], lane[1]), @join(lane[2], lane[3])),
                                   @join(@join(lane[4], lane[5]), @join(lane[6], lane[7]))));
    }
    return total;
}
""",
    "product_loops": """
static void weft_product_loops_$S(int64_t m, int64_t n, int64_t k, const char *a, int64_t a0, int64_t a1,
                                  const char *b, int64_t b0, int64_t b1, char *c, int64_t c0, int64_t c1)
{
    if (n == 1) {
        for (int64_t i = 0; i < m; ++i)
            *($T *)(c + i * c0) = @dot(k, a + i * a0, a1, b, b0);
        return;
    }
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            *($T *)(c + i * c0 + j * c1) = 0;
    const int64_t unit = sizeof($T), rows = 64, columns = 512;
    for (int64_t p0 = 0; p0 < k; p0 += rows)
        for (int64_t j0 = 0; j0 < n; j0 += columns)
            for (int64_t i = 0; i < m; ++i)
                for (int64_t p = p0; p < k && p < p0 + rows; ++p) {
                    const $T left = *(const $T *)(a + i * a0 + p * a1);
                    const int64_t width = n - j0 < columns ? n - j0 : columns;
                    const char *from = b + p * b0 + j0 * b1;
                    char *to = c + i * c0 + j0 * c1;
                    if (b1 == unit && c1 == unit) {
                        const $T *right = (const $T *)from;
                        $T *sum = ($T *)to;
#pragma omp simd
                        for (int64_t j = 0; j < width; ++j)
                            sum[j] = @multiply_add(sum[j], left, right[j]);
                    } else {
                        for (int64_t j = 0; j < width; ++j)
                            *($T *)(to + j * c1)
                                = @multiply_add(*($T *)(to + j * c1), left, *(const $T *)(from + j * b1));
                    }
                }
}
""",
    "product": """
static void weft_product_$S(weft_ctx *ctx, void *const *libraries, int64_t m, int64_t n, int64_t k, const char *a,
                            int64_t a0, int64_t a1, const char *b, int64_t b0, int64_t b1, char *c, int64_t c0,
                            int64_t c1)
{
    if (m == 0 || n == 0)
        return;
    if (m == 1 || (n != 1 && c1 != sizeof($T))) { /* the transposed product */
        const char *other = a;
        int64_t swap = m;
        m = n, n = swap, a = b, b = other;
        swap = a0, a0 = b1, b1 = swap;
        swap = a1, a1 = b0, b0 = swap;
        swap = c0, c0 = c1, c1 = swap;
    }
    /* BLAS does not pay for few terms. It is quicker at it with real numbers than with complex ones. */
    const double terms = (double)m * (double)n * (double)k;
    const int is_complex = sizeof($T) != sizeof($R), is_wide = n >= (int64_t)(32 / sizeof($T));
    if (n != 1 && c1 == sizeof($T) && k <= 16
        && (is_complex ? terms <= 4096 || (k <= 8 && (m <= 8 || n <= 8)) : terms <= (is_wide ? 512 : 64))) {
        if (is_wide && !is_complex)
            @product_tiles(m, n, k, a, a0, a1, b, b0, b1, c, c0);
        else if (is_wide)
            @product_shared(ctx, m, n, k, a, a0, a1, b, b0, b1, c, c0);
        else
            @product_few(m, n, k, a, a0, a1, b, b0, b1, c, c0);
        return;
    }
    if (!is_complex && m >= 16 && n <= 4 && k >= 2 && k <= (n == 1 ? 3 : 4) && (n == 1 || c1 == sizeof($T))) {
        @product_thin(ctx, m, n, k, a, a0, a1, b, b0, b1, c, c0);
        return;
    }
    if (k != 0 && (m > 8 || n > 8 || k > 8 || n != 1)) {
        if (n == 1 && m != 1 && @gemv(ctx, libraries, m, k, a, a0, a1, b, b0, c, c0))
            return;
        if (n != 1 && @gemm(ctx, libraries, m, n, k, 1, 0, a, a0, a1, b, b0, b1, c, c0, c1))
            return;
    }
    @product_loops(m, n, k, a, a0, a1, b, b0, b1, c, c0, c1);
}
""",
    # `c = scale * a @ b`, or `c += scale * a @ b`. It is not asked for where BLAS does not pay.
    "product_scaled": """
static void weft_product_scaled_$S(weft_ctx *ctx, void *const *libraries, int64_t m, int64_t n, int64_t k, $T scale,
                                   int adds, const char *a, int64_t a0, int64_t a1, const char *b, int64_t b0,
                                   int64_t b1, char *c, int64_t c0, int64_t c1)
{
    if (c1 != sizeof($T)) { /* the transposed product */
        const char *other = a;
        int64_t swap = m;
        m = n, n = swap, a = b, b = other;
        swap = a0, a0 = b1, b1 = swap;
        swap = a1, a1 = b0, b0 = swap;
        swap = c0, c0 = c1, c1 = swap;
    }
    if (m != 0 && n != 0 && k != 0 && @gemm(ctx, libraries, m, n, k, scale, adds, a, a0, a1, b, b0, b1, c, c0, c1))
        return;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            $T *sum = ($T *)(c + i * c0 + j * c1);
            const $T product = scale * @dot(k, a + i * a0, a1, b + j * b1, b0);
            *sum = adds ? *sum + product : product;
        }
}
""",
}
