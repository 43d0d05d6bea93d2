"""C of products of a large matrix with vectors in one sweep through memory (templates, see support_functions).

    y = A x  and  w = A^T z, where z may be y; or one of the two

Rows are taken a few at a time: their products with x are summed up in registers, and the rows times their elements of z
are added to a line of sums. Where z is y, those of the step before are added, which are still in the second cache. The
matrix is cut into chunks of rows that threads share, each with a line of its own; the lines are joined in order. How
many there are depends on the extents alone, and so do the bits. Together they take a MiB at most. What takes no time
is `cold`, so that the compiler takes none for it.

A map that computes the matrix may go along with the sweep: its body runs for a few rows (`before`), which are then read
while they are in the caches.
"""

from __future__ import annotations

from typing import Final

SWEEP_FUNCTIONS: Final = {
    # Columns that fill no vector, from `j` on; `totals` is what was summed up before.
    "sweep_ends": """
__attribute__((cold, noinline)) static void weft_sweep_ends_$S(int rows, int64_t j, int64_t n, const char *a,
                                                               const char *b, int64_t lead, const $T *x,
                                                               const $T *totals, int64_t width, $T *sums,
                                                               const $T *factors, $T *line)
{
    for (int r = 0; r < rows; ++r) {
        $T sum = 0;
        for (int64_t k = j; a && k < n; ++k)
            sum += ((const $T *)(a + r * lead))[k] * x[k];
        for (int64_t k = j; b && k < n; ++k)
            line[k] += ((const $T *)(b + r * lead))[k] * factors[r];
        for (int64_t l = 0; l < width; ++l)
            sum += totals[r * width + l];
        if (a)
            sums[r] = sum;
    }
}
""",
    # What a chunk needs, and a few of its rows. If `dots`: sums[r] = row r at `a` times x. If `adds`: line += row r at
    # `b` times factors[r].
    "sweep_rows": """
#ifndef WEFT_ROWS_BEFORE /* rows from `low` to `high` are `step` points each, in memory `lead` bytes apart */
#define WEFT_ROWS_BEFORE
typedef struct { weft_body body; void *env; int64_t low, high, step, lead; } weft_rows_before;
#endif

#if defined(__AVX512F__)
typedef $T weft_wide_$S __attribute__((vector_size(64), aligned($B / 8), may_alias));
#else
typedef $T weft_wide_$S __attribute__((vector_size(32), aligned($B / 8), may_alias));
#endif

typedef struct weft_swept_$S weft_swept_$S;
typedef void weft_chunk_$S(const weft_swept_$S *of, int64_t from, int64_t to, $T *line);
struct weft_swept_$S {
    int64_t rows, n, chunks, lead, y0, z0;
    const char *a, *z;
    const $T *x;
    char *y;
    $T *lines;
    weft_chunk_$S *chunk;
    const weft_rows_before *before;
    int32_t raised;
};

/* The map's own flags are its own business; those of the sweep stand. */
__attribute__((noinline)) static void weft_sweep_before_$S(const weft_rows_before *before, int64_t from, int64_t to)
{
    from = (from > before->low ? from : before->low) - before->low;
    to = (to < before->high ? to : before->high) - before->low;
    if (from >= to)
        return;
    const int32_t raised = &fp_flags();
    before->body(before->env, from * before->step, to * before->step);
    &fp_clear();
    &fp_raise(raised);
}

static inline __attribute__((always_inline)) void weft_sweep_rows_$S(const int rows, const int dots, const int adds,
                                                                     int64_t n, const char *a, const char *b,
                                                                     int64_t lead, const $T *x, $T *sums,
                                                                     const $T *factors, $T *line)
{
    enum { unit = sizeof($T), width = sizeof(weft_wide_$S) / sizeof($T) };
    weft_wide_$S totals[8] = {{0}}, by[8] = {{0}};
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
                totals[r] += *(const weft_wide_$S *)(a + r * lead + j * unit) * right;
            if (adds)
                sum += *(const weft_wide_$S *)(b + r * lead + j * unit) * by[r];
        }
        if (adds)
            *(weft_wide_$S *)(line + j) = sum;
    }
    weft_wide_$S kept[8]; /* totals that have an address are not kept in registers */
    for (int r = 0; dots && r < rows; ++r)
        kept[r] = totals[r];
    @sweep_ends(rows, j, n, dots ? a : 0, adds ? b : 0, lead, x, (const $T *)kept, dots ? width : 0, sums, factors,
                line);
}
""",
    # A chunk of rows, eight at a time but for the last of the matrix.
    "sweep_eights": """
static inline __attribute__((always_inline)) void weft_sweep_eights_$S(const int dots, const int adds,
                                                                       const weft_swept_$S *of, int64_t from,
                                                                       int64_t to, $T *line)
{
    const int64_t n = of->n, lead = of->lead;
    for (int64_t i = from, rows; i < to; i += rows) {
        const char *a = of->a + i * lead;
        $T sums[8], factors[8];
        rows = to - i < 8 ? 1 : 8;
        if (of->before)
            weft_sweep_before_$S(of->before, i, i + rows);
        for (int r = 0; adds && r < rows; ++r)
            factors[r] = *(const $T *)(of->z + (i + r) * of->z0);
        if (rows == 8)
            @sweep_rows(8, dots, adds, n, a, a, lead, of->x, sums, factors, line);
        else
            @sweep_rows(1, dots, adds, n, a, a, lead, of->x, sums, factors, line);
        for (int r = 0; dots && r < rows; ++r)
            *($T *)(of->y + (i + r) * of->y0) = sums[r];
    }
}
""",
    "sweep_apart": """
static void weft_sweep_apart_$S(const weft_swept_$S *of, int64_t from, int64_t to, $T *line)
{
    @sweep_eights(1, 1, of, from, to, line);
}
""",
    "sweep_dots": """
static void weft_sweep_dots_$S(const weft_swept_$S *of, int64_t from, int64_t to, $T *line)
{
    @sweep_eights(1, 0, of, from, to, line);
}
""",
    "sweep_adds": """
static void weft_sweep_adds_$S(const weft_swept_$S *of, int64_t from, int64_t to, $T *line)
{
    @sweep_eights(0, 1, of, from, to, line);
}
""",
    # The sums of four rows are the factors of the step after, which adds these rows while it reads the next ones.
    "sweep_following": """
static void weft_sweep_following_$S(const weft_swept_$S *of, int64_t from, int64_t to, $T *line)
{
    const int64_t n = of->n, lead = of->lead;
    $T sums[8], factors[8];
    for (int64_t i = from, rows; i < to; i += rows) {
        const char *a = of->a + i * lead;
        rows = to - i < 4 ? 1 : 4;
        if (of->before)
            weft_sweep_before_$S(of->before, i, i + rows);
        if (rows == 1)
            @sweep_rows(1, 1, 0, n, a, a, lead, of->x, sums, factors, line);
        else if (i == from)
            @sweep_rows(4, 1, 0, n, a, a, lead, of->x, sums, factors, line);
        else
            @sweep_rows(4, 1, 1, n, a, a - 4 * lead, lead, of->x, sums, factors, line);
        for (int r = 0; r < rows; ++r)
            *($T *)(of->y + (i + r) * of->y0) = factors[r] = sums[r];
        if (rows == 1)
            @sweep_rows(1, 0, 1, n, a, a, lead, of->x, sums, factors, line);
        else if (to - i < 8) /* the last four */
            @sweep_rows(4, 0, 1, n, a, a, lead, of->x, sums, factors, line);
    }
}
""",
    # 1: all is done; -1: nothing is; 0: something to warn of has happened, and each product is to be made by itself.
    "sweep": """
WEFT_OPAQUE static void weft_sweep_share_$S(void *raw, int64_t begin, int64_t end)
{
    weft_swept_$S *of = raw;
    const int32_t before = &fp_flags();
    const int64_t eights = of->rows / 8;
    &fp_clear();
    for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t from = eights * chunk / of->chunks * 8, to = eights * (chunk + 1) / of->chunks * 8;
        $T *line = 0;
        if (of->lines)
            line = __builtin_memset(of->lines + chunk * of->n, 0, (uint64_t)of->n * sizeof($T));
        of->chunk(of, from, chunk + 1 == of->chunks ? of->rows : to, line);
    }
    const int32_t raised = &fp_flags() & (WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    if (raised)
        __atomic_fetch_or(&of->raised, raised, __ATOMIC_RELAXED);
    &fp_raise(before);
}

__attribute__((cold, noinline)) static int weft_sweep_$S(weft_ctx *ctx, weft_chunk_$S *by_rows,
                                                         weft_chunk_$S *by_columns, int64_t m, int64_t n,
                                                         const char *a, int64_t a0, int64_t a1, const char *x,
                                                         int64_t x0, char *y, int64_t y0, const char *z, int64_t z0,
                                                         char *w, int64_t w0, const weft_rows_before *ahead)
{
    enum { unit = sizeof($T) };
    weft_chunk_$S *chunk = by_rows;
    const int follows = z != 0 && z == y;
    if (a1 != unit && a0 == unit) { /* the rows of the transpose */
        const char *from = x;
        char *to = y;
        int64_t swap = m;
        m = n, n = swap, x = z, z = from, y = w, w = to;
        swap = a0, a0 = a1, a1 = swap;
        swap = x0, x0 = z0, z0 = swap;
        swap = y0, y0 = w0, w0 = swap;
        chunk = by_columns;
    }
    if (!chunk || a1 != unit || x0 != unit || a0 % unit || m < 64 || n < 64
        || (ahead && (ahead->lead != a0 || ahead->high - ahead->low > m + 8)))
        return -1;
    /* What the caches hold is read twice for little, and of long rows they do not hold eight. */
    if ((double)m * (double)n * unit < (follows ? 6e6 : 2e6) || (follows && n * unit > 131072))
        return -1;
    const int64_t line = w ? n * unit : 0;
    int64_t chunks = 16;
    while (chunks > 1 && (chunks * line > 1048576 || m / chunks < 32))
        chunks /= 2;
    weft_block *block = line && chunks > 1 ? ctx->alloc(ctx, chunks * line) : 0;
    if (line && !block)
        return -1;
    weft_swept_$S of = {.rows = m, .n = n, .chunks = chunks, .lead = a0, .y0 = y0, .z0 = z0, .a = a, .z = z,
                        .x = (const $T *)x, .y = y, .lines = block ? block->data : 0, .chunk = chunk, .before = ahead};
    if (ahead) { /* rows that are not swept */
        weft_sweep_before_$S(ahead, ahead->low, 0);
        weft_sweep_before_$S(ahead, m, ahead->high);
    }
    ctx->parallel(ctx, weft_sweep_share_$S, &of, chunks, 1);
    const int32_t before = &fp_flags();
    &fp_clear();
    for (int64_t j = 0; line && j < n; ++j) {
        $T sum = of.lines[j];
        for (int64_t k = 1; k < chunks; ++k)
            sum += of.lines[k * n + j];
        *($T *)(w + j * w0) = sum;
    }
    of.raised |= &fp_flags() & (WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    &fp_raise(before);
    if (block)
        ctx->release(ctx, block);
    return !of.raised;
}
""",
}
