"""C of products of a large matrix with vectors in one sweep through memory (templates, see support_functions).

    y = A x  and  w = A^T z, where z may be y

Rows are taken a few at a time: their products with x are summed up in registers, and the rows times their elements of z
are added to a line of sums. Where z is y, those of the step before are added, which are still in the second cache. The
matrix is cut into chunks of rows that threads share, each with a line of its own; the lines are joined in order. How
many there are depends on the extents alone, and so do the bits. Together they take a MiB at most.
"""

from __future__ import annotations

from typing import Final

SWEEP_FUNCTIONS: Final = {
    # If `dots`: sums[r] = row r at `a` times x. If `adds`: line += row r at `b` times factors[r].
    "sweep_rows": """
#if defined(__AVX512F__)
typedef $T weft_wide_$S __attribute__((vector_size(64), aligned($B / 8), may_alias));
#else
typedef $T weft_wide_$S __attribute__((vector_size(32), aligned($B / 8), may_alias));
#endif

typedef struct {
    int64_t rows, n, chunks, lead, y0, z0;
    const char *a, *z;
    const $T *x;
    char *y;
    $T *lines;
    int32_t follows, raised;
} weft_swept_$S;

static inline __attribute__((always_inline)) void weft_sweep_rows_$S(const int rows, const int dots, const int adds,
                                                                     int64_t n, const char *a, const char *b,
                                                                     int64_t lead, const $T *x, $T *sums,
                                                                     const $T *factors, $T *line)
{
    enum { unit = sizeof($T), width = sizeof(weft_wide_$S) / sizeof($T) };
    weft_wide_$S total[8] = {{0}}, by[8] = {{0}};
    for (int r = 0; adds && r < rows; ++r)
        by[r] += factors[r];
    int64_t j = 0;
    for (; j + width <= n; j += width) {
        weft_wide_$S sum = {0}, right = {0};
        if (dots)
            right = *(const weft_wide_$S *)(x + j);
        if (adds)
            sum = *(const weft_wide_$S *)(line + j);
        for (int r = 0; r < rows; ++r) {
            if (dots)
                total[r] += *(const weft_wide_$S *)(a + r * lead + j * unit) * right;
            if (adds)
                sum += *(const weft_wide_$S *)(b + r * lead + j * unit) * by[r];
        }
        if (adds)
            *(weft_wide_$S *)(line + j) = sum;
    }
    for (int r = 0; r < rows; ++r) {
        $T rest = 0;
        for (int64_t k = j; k < n; ++k) {
            if (dots)
                rest += *(const $T *)(a + r * lead + k * unit) * x[k];
            if (adds)
                line[k] += *(const $T *)(b + r * lead + k * unit) * factors[r];
        }
        for (int l = 0; dots && l < width; ++l)
            rest += total[r][l];
        if (dots)
            sums[r] = rest;
    }
}
""",
    "sweep_chunk": """
static void weft_sweep_chunk_$S(const weft_swept_$S *of, int64_t from, int64_t to, $T *line)
{
    const int64_t n = of->n, lead = of->lead;
    for (int64_t i = from; i < to;) {
        const char *a = of->a + i * lead;
        const int count = to - i >= 8 ? 8 : 1;
        $T sums[8], factors[8];
        for (int r = 0; r < count; ++r)
            factors[r] = *(const $T *)(of->z + (i + r) * of->z0);
        if (count == 8)
            @sweep_rows(8, 1, 1, n, a, a, lead, of->x, sums, factors, line);
        else
            @sweep_rows(1, 1, 1, n, a, a, lead, of->x, sums, factors, line);
        for (int r = 0; r < count; ++r)
            *($T *)(of->y + (i + r) * of->y0) = sums[r];
        i += count;
    }
}
""",
    # The sums of some rows are the factors of the step after: it adds these rows while it reads the next ones.
    "sweep_following": """
static inline __attribute__((always_inline)) void weft_sweep_following_$S(const int rows, const weft_swept_$S *of,
                                                                          int64_t from, int64_t to, $T *line)
{
    const int64_t n = of->n, lead = of->lead;
    $T sums[8], factors[8];
    for (int64_t i = from, count; i < to; i += count) {
        const char *a = of->a + i * lead;
        count = to - i >= rows ? rows : 1;
        if (count == 1)
            @sweep_rows(1, 1, 0, n, a, a, lead, of->x, sums, factors, line);
        else if (i == from)
            @sweep_rows(rows, 1, 0, n, a, a, lead, of->x, sums, factors, line);
        else
            @sweep_rows(rows, 1, 1, n, a, a - rows * lead, lead, of->x, sums, factors, line);
        for (int r = 0; r < count; ++r)
            *($T *)(of->y + (i + r) * of->y0) = factors[r] = sums[r];
        if (count == 1)
            @sweep_rows(1, 0, 1, n, a, a, lead, of->x, sums, factors, line);
        else if (to - i < 2 * rows) /* the last that are so many */
            @sweep_rows(rows, 0, 1, n, a, a, lead, of->x, sums, factors, line);
    }
}
""",
    # 0: nothing was done, or something to warn of has happened, and each product is to be made by itself.
    "sweep": """
WEFT_OPAQUE static void weft_sweep_share_$S(void *raw, int64_t begin, int64_t end)
{
    weft_swept_$S *of = raw;
    const int32_t before = &fp_flags();
    &fp_clear();
    for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t from = of->rows * chunk / of->chunks, to = of->rows * (chunk + 1) / of->chunks;
        $T *line = of->lines + chunk * of->n;
        for (int64_t j = 0; j < of->n; ++j)
            line[j] = 0;
        if (of->follows && of->n <= 131072 / (int64_t)sizeof($T))
            @sweep_following(4, of, from, to, line);
        else if (of->follows)
            @sweep_following(2, of, from, to, line);
        else
            @sweep_chunk(of, from, to, line);
    }
    const int32_t raised = &fp_flags() & (WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    if (raised)
        __atomic_fetch_or(&of->raised, raised, __ATOMIC_RELAXED);
    &fp_raise(before);
}

static int weft_sweep_$S(weft_ctx *ctx, int64_t m, int64_t n, const char *a, int64_t a0, int64_t a1, const char *x,
                         int64_t x0, char *y, int64_t y0, const char *z, int64_t z0, char *w, int64_t w0, int follows)
{
    enum { unit = sizeof($T) };
    if (a1 != unit && a0 == unit && !follows) { /* stored by columns: the rows of the transpose */
        const char *from = x;
        char *to = y;
        int64_t swap = m;
        m = n, n = swap, x = z, z = from, y = w, w = to;
        swap = a0, a0 = a1, a1 = swap;
        swap = x0, x0 = z0, z0 = swap;
        swap = y0, y0 = w0, w0 = swap;
    }
    if (a1 != unit || x0 != unit || a0 % unit || m < 64 || n < 64 || (double)m * (double)n * unit < 2097152.0)
        return 0;
    int64_t chunks = 16;
    while (chunks > 1 && (chunks * n * unit > 1048576 || m / chunks < 32))
        chunks /= 2;
    if (chunks == 1 || (follows && n * unit > 262144))
        return 0;
    weft_block *block = ctx->alloc(ctx, chunks * n * unit);
    if (!block)
        return 0;
    weft_swept_$S of = {.rows = m, .n = n, .chunks = chunks, .lead = a0, .y0 = y0, .z0 = z0, .a = a, .z = z,
                        .x = (const $T *)x, .y = y, .lines = block->data, .follows = follows};
    ctx->parallel(ctx, weft_sweep_share_$S, &of, chunks, 1);
    const int32_t before = &fp_flags();
    &fp_clear();
    for (int64_t j = 0; j < n; ++j) {
        $T sum = of.lines[j];
        for (int64_t chunk = 1; chunk < chunks; ++chunk)
            sum += of.lines[chunk * n + j];
        *($T *)(w + j * w0) = sum;
    }
    of.raised |= &fp_flags() & (WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    &fp_raise(before);
    ctx->release(ctx, block);
    return !of.raised;
}
""",
}
