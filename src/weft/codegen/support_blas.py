"""C that calls NumPy's own BLAS (templates, see support_functions).

Matrices come as data, byte stride of rows, byte stride of columns. `libraries` is where the context keeps the pointers:
[0] is not null where BLAS integers have 64 bits, [1] is gemm, [2] is gemv, [3] is syrk, [4] and [5] ask for and set the
number of threads BLAS uses; a null pointer means there is none.

Large products are cut into parts, each a call of BLAS on one thread, which our threads share. The threads of BLAS
itself go on spinning for 25 to 100 ms after every product, on processors that our regions need. The parts
depend on the extents and the machine alone, so a product has the same bits for every number of threads.
"""

from __future__ import annotations

from typing import Final

BLAS_FUNCTIONS: Final = {
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
    # Whether BLAS is to be called part by part: it would use threads (beyond `cost.ALONE` terms), and need not.
    "takes_parts": """
static inline int weft_takes_parts_$S(void *const *libraries, double terms)
{
    return libraries[4] != 0 && libraries[5] != 0 && terms > 262144;
}
""",
    # Into how many parts an extent is cut, a power of two: as many as keep all processors busy, none of them thin. What
    # all parts read BLAS packs for each of them, which takes as long as some ten lines of a part.
    "parts": """
static inline int64_t weft_parts_$S(const weft_ctx *ctx, int64_t extent, int64_t thin, double terms)
{
    const int64_t least = terms > 16777216 ? thin : 32;
    int64_t parts = 1;
    while (parts < 2 * ctx->processors && extent / (2 * parts) >= least)
        parts *= 2;
    while (parts < ctx->processors && extent / (2 * parts) >= 16)
        parts *= 2;
    return parts;
}
""",
    # Parts that are called on all threads, BLAS itself on one each. What there is to warn of is told and not raised:
    # NumPy hears only of what is raised on its own thread, so BLAS is asked once more, with its threads.
    "share_parts": """
static int32_t weft_share_parts_$S(weft_ctx *ctx, void *const *libraries, weft_body body, void *all, int64_t parts,
                                   double terms)
{
    const int32_t before = &fp_flags();
    &fp_clear();
    ctx->blas(ctx, libraries + 4, 1);
    weft_pays(ctx, terms, 100000);
    ctx->parallel(ctx, body, all, parts, 1);
    ctx->blas(ctx, libraries + 4, -1);
    const int32_t raised = &fp_flags() & (WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    &fp_clear();
    &fp_raise(before);
    return raised;
}
""",
    # Of a matrix that is stored by rows a part is some of them; BLAS may use its threads for others.
    "gemv": """
typedef struct {
    void *const *libraries;
    int64_t rows, columns, ld, incx, incy, parts;
    const $T *a, *x;
    $T *y;
    int plain;
} weft_gemv_all_$S;

static void weft_gemv_rows_$S(const weft_gemv_all_$S *of, int64_t from, int64_t rows)
{
    typedef void gemv_32(int, int, int, int, $SCALAR, const void *, int, const void *, int, $SCALAR, void *, int);
    typedef void gemv_64(int, int, int64_t, int64_t, $SCALAR, const void *, int64_t, const void *, int64_t, $SCALAR,
                         void *, int64_t);
    const $T one = 1, zero = 0, *a = of->a + from * of->ld;
    $T *y = of->y + from * of->incy;
    if (rows == 0)
        return;
    if (of->libraries[0] != 0)
        ((gemv_64 *)of->libraries[2])(101, of->plain ? 111 : 112, rows, of->columns, $ONE, a, of->ld, of->x, of->incx,
                                      $ZERO, y, of->incy);
    else
        ((gemv_32 *)of->libraries[2])(101, of->plain ? 111 : 112, (int)rows, (int)of->columns, $ONE, a, (int)of->ld,
                                      of->x, (int)of->incx, $ZERO, y, (int)of->incy);
}

WEFT_OPAQUE static void weft_gemv_part_$S(void *raw, int64_t begin, int64_t end)
{
    const weft_gemv_all_$S *of = raw;
    const int64_t sixteens = of->rows / 16, from = sixteens * begin / of->parts * 16;
    weft_gemv_rows_$S(of, from, (end == of->parts ? of->rows : sixteens * end / of->parts * 16) - from);
}

static int weft_gemv_$S(weft_ctx *ctx, void *const *libraries, int64_t m, int64_t k, const char *a, int64_t a0,
                        int64_t a1, const char *b, int64_t b0, char *c, int64_t c0)
{
    const int64_t unit = sizeof($T), incx = k == 1 ? 1 : b0 / unit, incy = c0 / unit;
    if (libraries[2] == 0 || (k != 1 && b0 % unit) || c0 % unit || incx <= 0 || incy <= 0)
        return 0;
    int64_t ld = @leading(m, k, a0, a1);
    const int plain = ld != 0;
    if (!plain)
        ld = @leading(k, m, a1, a0);
    if (ld == 0 || (libraries[0] == 0 && (m | k | ld | incx | incy) > INT32_MAX))
        return 0;
    weft_gemv_all_$S all = {libraries, plain ? m : k, plain ? k : m, ld, incx, incy, 1, (const $T *)a, (const $T *)b,
                            ($T *)c, plain};
    const double terms = (double)m * (double)k;
    if (plain && @takes_parts(libraries, terms))
        all.parts = @parts(ctx, m, 16, terms);
    if (all.parts == 1 || @share_parts(ctx, libraries, weft_gemv_part_$S, &all, all.parts, terms))
        weft_gemv_rows_$S(&all, 0, all.rows);
    return 1;
}
""",
    # A product as BLAS takes it: matrices stored by rows or (112 in place of 111) by columns, leading dimensions in
    # elements that fit its integers. A part of it is some of its rows, or of its columns.
    "gemm_call": """
typedef struct {
    void *const *libraries;
    int64_t m, n, k, lda, ldb, ldc, parts;
    const $T *a, *b;
    $T *c, one, zero;
    int ta, tb, by_columns;
} weft_gemm_all_$S;

static void weft_gemm_call_$S(const weft_gemm_all_$S *of, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    typedef void gemm_32(int, int, int, int, int, int, $SCALAR, const void *, int, const void *, int, $SCALAR, void *,
                         int);
    typedef void gemm_64(int, int, int, int64_t, int64_t, int64_t, $SCALAR, const void *, int64_t, const void *,
                         int64_t, $SCALAR, void *, int64_t);
    const $T *a = of->a + (of->ta == 111 ? i0 * of->lda : i0), *b = of->b + (of->tb == 111 ? j0 : j0 * of->ldb);
    $T *c = of->c + i0 * of->ldc + j0;
    const $T one = of->one, zero = of->zero;
    if (i0 == i1 || j0 == j1)
        return;
    if (of->libraries[0] != 0)
        ((gemm_64 *)of->libraries[1])(101, of->ta, of->tb, i1 - i0, j1 - j0, of->k, $ONE, a, of->lda, b, of->ldb, $ZERO,
                                      c, of->ldc);
    else
        ((gemm_32 *)of->libraries[1])(101, of->ta, of->tb, (int)(i1 - i0), (int)(j1 - j0), (int)of->k, $ONE, a,
                                      (int)of->lda, b, (int)of->ldb, $ZERO, c, (int)of->ldc);
}

WEFT_OPAQUE static void weft_gemm_part_$S(void *raw, int64_t begin, int64_t end)
{
    const weft_gemm_all_$S *of = raw;
    const int64_t extent = of->by_columns ? of->n : of->m, eights = extent / 8;
    const int64_t from = eights * begin / of->parts * 8;
    const int64_t to = end == of->parts ? extent : eights * end / of->parts * 8;
    if (of->by_columns)
        weft_gemm_call_$S(of, 0, of->m, from, to);
    else
        weft_gemm_call_$S(of, from, to, 0, of->n);
}
""",
    # A matrix times its own transpose, as NumPy does it: one half is computed, the other copied. Parts are rows of this
    # triangle, the more the shorter they are.
    "syrk_block": """
static void weft_syrk_block_$S(const weft_gemm_all_$S *of, int64_t from, int64_t to)
{
    typedef void syrk_32(int, int, int, int, int, $SCALAR, const void *, int, $SCALAR, void *, int);
    typedef void syrk_64(int, int, int, int64_t, int64_t, $SCALAR, const void *, int64_t, $SCALAR, void *, int64_t);
    const int64_t n = of->n, ldc = of->ldc;
    const $T one = of->one, zero = 0, *a = of->a + (of->ta == 111 ? from * of->lda : from);
    $T *square = of->c, *corner = square + from * (ldc + 1);
    if (from == to)
        return;
    if (of->libraries[0] != 0)
        ((syrk_64 *)of->libraries[3])(101, 121, of->ta, to - from, of->k, $ONE, a, of->lda, $ZERO, corner, ldc);
    else
        ((syrk_32 *)of->libraries[3])(101, 121, of->ta, (int)(to - from), (int)of->k, $ONE, a, (int)of->lda, $ZERO,
                                      corner, (int)ldc);
    @gemm_call(of, from, to, to, n);
    for (int64_t i0 = from; i0 < to; i0 += 32)
        for (int64_t j0 = i0; j0 < n; j0 += 32)
            for (int64_t i = i0; i < to && i < i0 + 32; ++i)
                for (int64_t j = j0 > i ? j0 : i + 1; j < n && j < j0 + 32; ++j)
                    square[j * ldc + i] = square[i * ldc + j];
}

static int64_t weft_syrk_cut_$S(const weft_gemm_all_$S *of, int64_t part)
{
    const double left = 1 - (double)part / (double)of->parts; /* of the triangle */
    return part == of->parts ? of->n : (int64_t)((double)of->n * (1 - __builtin_sqrt(left))) / 8 * 8;
}

WEFT_OPAQUE static void weft_syrk_part_$S(void *raw, int64_t begin, int64_t end)
{
    for (int64_t part = begin; part < end; ++part)
        weft_syrk_block_$S(raw, weft_syrk_cut_$S(raw, part), weft_syrk_cut_$S(raw, part + 1));
}
""",
    "gemm_stored": """
static int weft_gemm_stored_$S(weft_ctx *ctx, void *const *libraries, int64_t m, int64_t n, int64_t k, $T scale,
                               int adds, const char *a, int64_t a0, int64_t a1, const char *b, int64_t b0, int64_t b1,
                               char *c, int64_t c0, int64_t c1)
{
    int64_t lda = @leading(m, k, a0, a1), ldb = @leading(k, n, b0, b1), ldc = @leading(m, n, c0, c1);
    int ta = 111, tb = 111;
    if (lda == 0)
        ta = 112, lda = @leading(k, m, a1, a0);
    if (ldb == 0)
        tb = 112, ldb = @leading(n, k, b1, b0);
    if (libraries[1] == 0 || lda == 0 || ldb == 0 || ldc == 0)
        return 0;
    if (libraries[0] == 0 && (m | n | k | lda | ldb | ldc) > INT32_MAX)
        return 0;
    weft_gemm_all_$S all = {libraries, m, n, k, lda, ldb, ldc, 1, (const $T *)a, (const $T *)b, ($T *)c,
                            scale, adds, ta, tb, m < 32 || n / 4 > m};
    const double terms = (double)m * (double)n * (double)k;
    const int takes_parts = @takes_parts(libraries, terms);
    if (libraries[3] != 0 && a == b && m == n && a0 == b1 && a1 == b0 && ta != tb && lda == ldb && !adds) {
        if (takes_parts) /* its transpose: half as many terms */
            all.parts = @parts(ctx, n / 4, 128, terms / 2);
        if (all.parts == 1 || @share_parts(ctx, libraries, weft_syrk_part_$S, &all, all.parts, terms / 2))
            @syrk_block(&all, 0, n);
        return 1;
    }
    if (takes_parts)
        all.parts = all.by_columns ? @parts(ctx, n, 512, terms) : @parts(ctx, m, 192, terms);
    const int32_t raised = all.parts > 1 ? @share_parts(ctx, libraries, weft_gemm_part_$S, &all, all.parts, terms) : 0;
    if (raised && adds) /* to what was there, which is gone */
        &fp_raise(raised);
    else if (raised || all.parts == 1)
        @gemm_call(&all, 0, m, 0, n);
    return 1;
}
""",
    # A matrix that BLAS does not take (every other column, rows from last to first) is copied along its memory, as
    # NumPy does; the copy, or null.
    "stored": """
static weft_block *weft_stored_$S(weft_ctx *ctx, int64_t rows, int64_t columns, const char **data, int64_t *s0,
                                  int64_t *s1)
{
    const int64_t unit = sizeof($T);
    if (@leading(rows, columns, *s0, *s1) != 0 || @leading(columns, rows, *s1, *s0) != 0)
        return 0;
    const int64_t size = &bytes(unit, (int64_t[]){rows, columns}, 2);
    weft_block *copy = size < 0 ? 0 : ctx->alloc(ctx, size);
    if (copy == 0)
        return 0;
    const int by_columns = __builtin_llabs(*s0) < __builtin_llabs(*s1);
    const int64_t lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
    const int64_t line = by_columns ? *s1 : *s0, step = by_columns ? *s0 : *s1;
    $T *to = copy->data;
    for (int64_t i = 0; i < lines; ++i)
        for (int64_t j = 0; j < length; ++j)
            *to++ = *(const $T *)(*data + i * line + j * step);
    *data = copy->data;
    *s0 = by_columns ? unit : length * unit;
    *s1 = by_columns ? length * unit : unit;
    return copy;
}
""",
    "gemm": """
static int weft_gemm_$S(weft_ctx *ctx, void *const *libraries, int64_t m, int64_t n, int64_t k, $T scale, int adds,
                        const char *a, int64_t a0, int64_t a1, const char *b, int64_t b0, int64_t b1, char *c,
                        int64_t c0, int64_t c1)
{
    if (libraries[1] == 0 || @leading(m, n, c0, c1) == 0)
        return 0;
    const int pays = m >= 4 && n >= 4 && (double)m * (double)n * (double)k >= 4096;
    const int is_own = a == b && m == n && a0 == b1 && a1 == b0; /* its transpose */
    weft_block *left = pays ? @stored(ctx, m, k, &a, &a0, &a1) : 0;
    weft_block *right = pays && !is_own ? @stored(ctx, k, n, &b, &b0, &b1) : 0;
    if (is_own)
        b = a, b0 = a1, b1 = a0;
    const int is_done = @gemm_stored(ctx, libraries, m, n, k, scale, adds, a, a0, a1, b, b0, b1, c, c0, c1);
    if (left != 0)
        ctx->release(ctx, left);
    if (right != 0)
        ctx->release(ctx, right);
    return is_done;
}
""",
}
