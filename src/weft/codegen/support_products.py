"""C of matrix products (templates, see support_functions): NumPy's own BLAS where it has one, our loops otherwise.

Matrices come as data, byte stride of rows, byte stride of columns. `libraries` is where the context keeps the pointers:
[0] is not null where BLAS integers have 64 bits, [1] is gemm, [2] is gemv, [3] is syrk; a null pointer means there is
none.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.support_tiles import TILE_FUNCTIONS

PRODUCT_FUNCTIONS: Final = {
    **TILE_FUNCTIONS,
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
    # The leading dimension of a matrix stored by rows in elements, 0 where it is not stored so.
    "leading": """
static inline int64_t weft_leading_$S(int64_t rows, int64_t columns, int64_t s0, int64_t s1)
{
    const int64_t unit = sizeof($T);
    if (columns != 1 && s1 != unit)
        return 0;
    if (rows == 1)
        return columns;
    return s0 % unit == 0 && s0 >= columns * unit ? s0 / unit : 0;
}
""",
    "gemv": """
static int weft_gemv_$S(void *const *libraries, int64_t m, int64_t k, const char *a, int64_t a0, int64_t a1,
                        const char *b, int64_t b0, char *c, int64_t c0)
{
    typedef void gemv_32(int, int, int, int, $SCALAR, const void *, int, const void *, int, $SCALAR, void *, int);
    typedef void gemv_64(int, int, int64_t, int64_t, $SCALAR, const void *, int64_t, const void *, int64_t, $SCALAR,
                         void *, int64_t);
    const int64_t unit = sizeof($T), incx = k == 1 ? 1 : b0 / unit, incy = c0 / unit;
    if (libraries[2] == 0 || (k != 1 && b0 % unit) || c0 % unit || incx <= 0 || incy <= 0)
        return 0;
    int64_t rows = m, columns = k, ld = @leading(m, k, a0, a1);
    const int plain = ld != 0;
    if (!plain) {
        rows = k, columns = m;
        ld = @leading(k, m, a1, a0);
    }
    const $T one = 1, zero = 0;
    if (ld == 0)
        return 0;
    if (libraries[0] != 0)
        ((gemv_64 *)libraries[2])(101, plain ? 111 : 112, rows, columns, $ONE, a, ld, b, incx, $ZERO, c, incy);
    else if ((m | k | ld | incx | incy) > INT32_MAX)
        return 0;
    else
        ((gemv_32 *)libraries[2])(101, plain ? 111 : 112, (int)rows, (int)columns, $ONE, a, (int)ld, b, (int)incx,
                                  $ZERO, c, (int)incy);
    return 1;
}
""",
    # A matrix times its own transpose, as NumPy does it: one half is computed, the other copied.
    "syrk": """
static int weft_syrk_$S(void *const *libraries, int64_t n, int64_t k, $T scale, int trans, const char *a, int64_t lda,
                        char *c, int64_t ldc)
{
    typedef void syrk_32(int, int, int, int, int, $SCALAR, const void *, int, $SCALAR, void *, int);
    typedef void syrk_64(int, int, int, int64_t, int64_t, $SCALAR, const void *, int64_t, $SCALAR, void *, int64_t);
    const $T one = scale, zero = 0;
    if (libraries[3] == 0)
        return 0;
    if (libraries[0] != 0)
        ((syrk_64 *)libraries[3])(101, 121, trans, n, k, $ONE, a, lda, $ZERO, c, ldc);
    else if ((n | k | lda | ldc) > INT32_MAX)
        return 0;
    else
        ((syrk_32 *)libraries[3])(101, 121, trans, (int)n, (int)k, $ONE, a, (int)lda, $ZERO, c, (int)ldc);
    $T *square = ($T *)c;
    for (int64_t i0 = 0; i0 < n; i0 += 32)
        for (int64_t j0 = i0; j0 < n; j0 += 32)
            for (int64_t i = i0; i < n && i < i0 + 32; ++i)
                for (int64_t j = j0 > i ? j0 : i + 1; j < n && j < j0 + 32; ++j)
                    square[j * ldc + i] = square[i * ldc + j];
    return 1;
}
""",
    "gemm": """
static int weft_gemm_$S(void *const *libraries, int64_t m, int64_t n, int64_t k, $T scale, int adds, const char *a,
                        int64_t a0, int64_t a1, const char *b, int64_t b0, int64_t b1, char *c, int64_t c0,
                        int64_t c1)
{
    typedef void gemm_32(int, int, int, int, int, int, $SCALAR, const void *, int, const void *, int, $SCALAR, void *,
                         int);
    typedef void gemm_64(int, int, int, int64_t, int64_t, int64_t, $SCALAR, const void *, int64_t, const void *,
                         int64_t, $SCALAR, void *, int64_t);
    int64_t lda = @leading(m, k, a0, a1), ldb = @leading(k, n, b0, b1), ldc = @leading(m, n, c0, c1);
    int ta = 111, tb = 111;
    if (lda == 0)
        ta = 112, lda = @leading(k, m, a1, a0);
    if (ldb == 0)
        tb = 112, ldb = @leading(n, k, b1, b0);
    if (libraries[1] == 0 || lda == 0 || ldb == 0 || ldc == 0)
        return 0;
    const int own = a == b && m == n && a0 == b1 && a1 == b0 && ta != tb && lda == ldb; /* its transpose */
    if (own && !adds && @syrk(libraries, n, k, scale, ta, a, lda, c, ldc))
        return 1;
    const $T one = scale, zero = adds;
    if (libraries[0] != 0)
        ((gemm_64 *)libraries[1])(101, ta, tb, m, n, k, $ONE, a, lda, b, ldb, $ZERO, c, ldc);
    else if ((m | n | k | lda | ldb | ldc) > INT32_MAX)
        return 0;
    else
        ((gemm_32 *)libraries[1])(101, ta, tb, (int)m, (int)n, (int)k, $ONE, a, (int)lda, b, (int)ldb, $ZERO, c,
                                  (int)ldc);
    return 1;
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
        if (n == 1 && m != 1 && @gemv(libraries, m, k, a, a0, a1, b, b0, c, c0))
            return;
        if (n != 1 && @gemm(libraries, m, n, k, 1, 0, a, a0, a1, b, b0, b1, c, c0, c1))
            return;
    }
    @product_loops(m, n, k, a, a0, a1, b, b0, b1, c, c0, c1);
}
""",
    # `c = scale * a @ b`, or `c += scale * a @ b`. It is not asked for where BLAS does not pay.
    "product_scaled": """
static void weft_product_scaled_$S(void *const *libraries, int64_t m, int64_t n, int64_t k, $T scale, int adds,
                                   const char *a, int64_t a0, int64_t a1, const char *b, int64_t b0, int64_t b1,
                                   char *c, int64_t c0, int64_t c1)
{
    if (c1 != sizeof($T)) { /* the transposed product */
        const char *other = a;
        int64_t swap = m;
        m = n, n = swap, a = b, b = other;
        swap = a0, a0 = b1, b1 = swap;
        swap = a1, a1 = b0, b0 = swap;
        swap = c0, c0 = c1, c1 = swap;
    }
    if (m != 0 && n != 0 && k != 0 && @gemm(libraries, m, n, k, scale, adds, a, a0, a1, b, b0, b1, c, c0, c1))
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
