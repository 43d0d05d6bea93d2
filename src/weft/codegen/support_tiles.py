"""C of products of matrices of which two extents are small (templates, see support_functions).

A call of BLAS costs more than such a product, and for a wide or tall one it packs what is read only once. Here the sums
of up to four rows and the columns of two vectors stay in registers. Additions are fused where the processor can, as in
BLAS; every sum runs over the inner extent in order. A complex sum is multiplied by one, as BLAS does with its factor:
that makes a NaN of an infinity.
"""

from __future__ import annotations

from typing import Final

FLOAT_TILES: Final = {
    "lanes_multiply_add": """
typedef $T weft_lanes_$S __attribute__((vector_size(32), aligned($B / 8), may_alias));

static inline weft_lanes_$S weft_lanes_multiply_add_$S(weft_lanes_$S sum, $T left, weft_lanes_$S right)
{
#if defined(__x86_64__) && defined(__FMA__) && $B == 64
    return __builtin_ia32_vfmaddpd256(left - (weft_lanes_$S){0}, right, sum);
#elif defined(__x86_64__) && defined(__FMA__)
    return __builtin_ia32_vfmaddps256(left - (weft_lanes_$S){0}, right, sum);
#else
    return sum + left * right;
#endif
}
""",
    # The parts of complex numbers exchanged.
    "lanes_swap": """
static inline weft_lanes_$S weft_lanes_swap_$S(weft_lanes_$S a)
{
    typedef int$B_t places __attribute__((vector_size(32)));
#if $B == 64
    const places other = {1, 0, 3, 2};
#else
    const places other = {1, 0, 3, 2, 5, 4, 7, 6};
#endif
#ifdef __clang__
    weft_lanes_$S swapped;
    for (int lane = 0; lane < 256 / $B; ++lane)
        swapped[lane] = a[other[lane]];
    return swapped;
#else
    return __builtin_shuffle(a, other);
#endif
}
""",
    # a + i b
    "lanes_turn": """
static inline weft_lanes_$S weft_lanes_turn_$S(weft_lanes_$S a, weft_lanes_$S b)
{
#if defined(__x86_64__) && defined(__AVX__) && $B == 64
    return __builtin_ia32_addsubpd256(a, @lanes_swap(b));
#elif defined(__x86_64__) && defined(__AVX__)
    return __builtin_ia32_addsubps256(a, @lanes_swap(b));
#elif $B == 64
    return a + (weft_lanes_$S){-1, 1, -1, 1} * @lanes_swap(b);
#else
    return a + (weft_lanes_$S){-1, 1, -1, 1, -1, 1, -1, 1} * @lanes_swap(b);
#endif
}
""",
    "tile": """
static inline __attribute__((always_inline)) void weft_tile_$S(const int rows, const int vectors, int64_t k,
                                                               const char *a, int64_t a0, int64_t a1, const char *b,
                                                               int64_t b0, char *c, int64_t c0)
{
    typedef $T lanes __attribute__((vector_size(32), aligned($B / 8), may_alias));
    lanes sum[4][2] = {{{0}}};
    for (int64_t p = 0; p < k; ++p)
        for (int v = 0; v < vectors; ++v) {
            const lanes right = ((const lanes *)(b + p * b0))[v];
            for (int r = 0; r < rows; ++r)
                sum[r][v] = @lanes_multiply_add(sum[r][v], *(const $T *)(a + r * a0 + p * a1), right);
        }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v)
            ((lanes *)(c + r * c0))[v] = sum[r][v];
}
""",
}
# `plain` sums up the left real parts times both parts of the right, `turned` the left imaginary ones.
COMPLEX_TILES: Final = {
    "tile": """
static inline __attribute__((always_inline)) void weft_tile_$S(const int rows, const int vectors, int64_t k,
                                                               const char *a, int64_t a0, int64_t a1, const char *b,
                                                               int64_t b0, char *c, int64_t c0)
{
    typedef $R lanes __attribute__((vector_size(32), aligned($B / 16), may_alias));
    lanes plain[4][2] = {{{0}}}, turned[4][2] = {{{0}}};
    for (int64_t p = 0; p < k; ++p)
        for (int v = 0; v < vectors; ++v) {
            const lanes right = ((const lanes *)(b + p * b0))[v];
            for (int r = 0; r < rows; ++r) {
                const $T left = *(const $T *)(a + r * a0 + p * a1);
                plain[r][v] = @@lanes_multiply_add(plain[r][v], __real__ left, right);
                turned[r][v] = @@lanes_multiply_add(turned[r][v], __imag__ left, right);
            }
        }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) {
            const lanes sum = @@lanes_turn(plain[r][v], turned[r][v]);
            ((lanes *)(c + r * c0))[v] = @@lanes_multiply_add(sum, 0, @@lanes_swap(sum));
        }
}
""",
}
TILE_FUNCTIONS: Final = {
    # Columns that fill no vector are computed together with some before once more. Real products come here with few
    # terms: one vector at a time will do. `k` is at most 16, columns of the result are neighbours, enough for a vector.
    "product_tiles": """
static void weft_product_tiles_$S(int64_t m, int64_t n, int64_t k, const char *a, int64_t a0, int64_t a1,
                                  const char *b, int64_t b0, int64_t b1, char *c, int64_t c0)
{
    enum { full = 32 / sizeof($T), part = 256 };
    const int64_t unit = sizeof($T);
    for (int64_t from = 0; from < m; from += part) {
        const int64_t to = m - from < part ? m : from + part;
        for (int64_t j = 0; j < n;) {
            const int two = sizeof($T) != sizeof($R) && b1 == unit && j + 2 * full <= n;
            const int64_t at = j + full <= n ? j : n - full;
            const char *right = b + at * b1;
            char *sums = c + at * unit;
            int64_t step = b0, i = from;
            $T block[16][full];
            if (b1 != unit) {
                for (int64_t p = 0; p < k; ++p)
                    @line(full, right + p * b0, b1, block[p]);
                right = (const char *)block, step = sizeof block[0];
            }
            if (two) {
                for (; i + 4 <= to; i += 4)
                    @tile(4, 2, k, a + i * a0, a0, a1, right, step, sums + i * c0, c0);
                for (; i < to; ++i)
                    @tile(1, 2, k, a + i * a0, a0, a1, right, step, sums + i * c0, c0);
            } else {
                for (; i + 4 <= to; i += 4)
                    @tile(4, 1, k, a + i * a0, a0, a1, right, step, sums + i * c0, c0);
                for (; i < to; ++i)
                    @tile(1, 1, k, a + i * a0, a0, a1, right, step, sums + i * c0, c0);
            }
            j += two ? 2 * full : full;
        }
    }
}
""",
    # Many rows or columns are shared out to threads, and what flags these raise is raised here.
    "product_shared": """
typedef struct {
    int64_t m, n, k, a0, a1, b0, b1, c0, parts;
    const char *a, *b;
    char *c;
    int32_t raised;
} weft_tiles_$S;

WEFT_OPAQUE static void weft_tiles_share_$S(void *raw, int64_t begin, int64_t end)
{
    weft_tiles_$S *all = raw;
    const int64_t extent = all->n > all->m ? all->n : all->m;
    const int64_t from = begin * 256, to = end == all->parts ? extent : end * 256;
    const int32_t before = &fp_flags();
    &fp_clear();
    if (all->n > all->m)
        @product_tiles(all->m, to - from, all->k, all->a, all->a0, all->a1, all->b + from * all->b1, all->b0, all->b1,
                       all->c + from * (int64_t)sizeof($T), all->c0);
    else
        @product_tiles(to - from, all->n, all->k, all->a + from * all->a0, all->a0, all->a1, all->b, all->b0, all->b1,
                       all->c + from * all->c0, all->c0);
    const int32_t raised = &fp_flags();
    __atomic_fetch_or(&all->raised, raised, __ATOMIC_RELAXED);
    &fp_raise(before);
}

static void weft_product_shared_$S(weft_ctx *ctx, int64_t m, int64_t n, int64_t k, const char *a, int64_t a0,
                                   int64_t a1, const char *b, int64_t b0, int64_t b1, char *c, int64_t c0)
{
    const int64_t parts = (n > m ? n : m) / 256;
    if (parts < 2 || (double)m * (double)n * (double)k < 262144) {
        @product_tiles(m, n, k, a, a0, a1, b, b0, b1, c, c0);
        return;
    }
    weft_tiles_$S all = {m, n, k, a0, a1, b0, b1, c0, parts, a, b, c, 0};
    ctx->parallel(ctx, weft_tiles_share_$S, &all, parts, parts / 16 + 1);
    &fp_raise(all.raised);
}
""",
    # Many rows times a matrix of at most four rows and columns, which stays in registers.
    "product_thin": """
typedef struct {
    int64_t a0, a1, b0, b1, c0;
    const char *a, *b;
    char *c;
    int32_t raised, kind;
} weft_thin_$S;

static inline __attribute__((always_inline)) void weft_thin_rows_$S(const weft_thin_$S *all, int n, int k,
                                                                    int64_t begin, int64_t end)
{
    $T right[4][4];
    for (int p = 0; p < k; ++p)
        for (int j = 0; j < n; ++j)
            right[p][j] = *(const $T *)(all->b + p * all->b0 + j * all->b1);
    for (int64_t i = begin; i < end; ++i) {
        const char *row = all->a + i * all->a0;
        $T left[4];
        for (int p = 0; p < k; ++p)
            left[p] = *(const $T *)(row + p * all->a1);
        for (int j = 0; j < n; ++j) {
            $T sum = left[0] * right[0][j];
            for (int p = 1; p < k; ++p)
                sum = @fused(sum, left[p], right[p][j]);
            (($T *)(all->c + i * all->c0))[j] = sum;
        }
    }
}

WEFT_OPAQUE static void weft_thin_share_$S(void *raw, int64_t begin, int64_t end)
{
    weft_thin_$S *all = raw;
    const int32_t before = &fp_flags();
    &fp_clear();
    switch (all->kind) {
        case 12: weft_thin_rows_$S(all, 1, 2, begin, end); break;
        case 13: weft_thin_rows_$S(all, 1, 3, begin, end); break;
        case 22: weft_thin_rows_$S(all, 2, 2, begin, end); break;
        case 23: weft_thin_rows_$S(all, 2, 3, begin, end); break;
        case 24: weft_thin_rows_$S(all, 2, 4, begin, end); break;
        case 32: weft_thin_rows_$S(all, 3, 2, begin, end); break;
        case 33: weft_thin_rows_$S(all, 3, 3, begin, end); break;
        case 34: weft_thin_rows_$S(all, 3, 4, begin, end); break;
        case 42: weft_thin_rows_$S(all, 4, 2, begin, end); break;
        case 43: weft_thin_rows_$S(all, 4, 3, begin, end); break;
        default: weft_thin_rows_$S(all, 4, 4, begin, end); break;
    }
    const int32_t raised = &fp_flags();
    __atomic_fetch_or(&all->raised, raised, __ATOMIC_RELAXED);
    &fp_raise(before);
}

static void weft_product_thin_$S(weft_ctx *ctx, int64_t m, int64_t n, int64_t k, const char *a, int64_t a0, int64_t a1,
                                 const char *b, int64_t b0, int64_t b1, char *c, int64_t c0)
{
    weft_thin_$S all = {a0, a1, b0, b1, c0, a, b, c, 0, (int32_t)(10 * n + k)};
    const double work = (double)(m * n * k);
    if (weft_pays(ctx, work, 16384))
        ctx->parallel(ctx, weft_thin_share_$S, &all, m, m / 16 + 1);
    else
        weft_thin_share_$S(&all, 0, m);
    &fp_raise(all.raised);
}
""",
    "product_few": """
static void weft_product_few_$S(int64_t m, int64_t n, int64_t k, const char *a, int64_t a0, int64_t a1, const char *b,
                                int64_t b0, int64_t b1, char *c, int64_t c0)
{
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            $T sum = 0;
            for (int64_t p = 0; p < k; ++p)
                sum = @multiply_add(sum, *(const $T *)(a + i * a0 + p * a1), *(const $T *)(b + p * b0 + j * b1));
            (($T *)(c + i * c0))[j] = @multiply_add(($T)0, ($T)1, sum);
        }
}
""",
}
