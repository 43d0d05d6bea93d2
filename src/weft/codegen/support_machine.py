"""C that belongs to the machine rather than to an element type: memory, owners, floating-point flags.

`&name(` calls another of these functions.
"""

from __future__ import annotations

from typing import Final

MACHINE_FUNCTIONS: Final = {
    # Nobody writes it, but the compiler cannot know.
    "zero": """
__attribute__((weak)) WEFT_HIDDEN int32_t weft_zero;
""",
    "retain": """
static inline weft_block *weft_retain(weft_block *block)
{
    if (block)
        ++block->owners;
    return block;
}
""",
    # Whether an array may take over a block: nobody else holds it, no more than half of it would lie idle, and threads
    # do not share the work, as they do from `shared` bytes on.
    "takes": """
static inline int weft_takes(const weft_ctx *ctx, const weft_block *block, const void *data, int64_t bytes,
                             int64_t shared)
{
    const int own = block && block->owners == 1 && !block->object && block->data == data;
    return own && bytes <= block->size_bytes && bytes >= block->size_bytes / 2 && (ctx->width <= 1 || bytes < shared);
}
""",
    # The floating-point flags of this thread, as WEFT_FP_* bits.
    "fp_clear": """
static inline void weft_fp_clear(void)
{
    __asm__ volatile("" ::: "memory");
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x3fu);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpsr, xzr");
#endif
    __asm__ volatile("" ::: "memory");
}
""",
    "fp_flags": """
static inline int32_t weft_fp_flags(void)
{
    uint32_t raised = 0; /* bits: 0 invalid, 2 divide, 3 overflow (x86); 0 invalid, 1 divide, 2 overflow (ARM) */
    __asm__ volatile("" ::: "memory");
#if defined(__x86_64__)
    raised = __builtin_ia32_stmxcsr();
    raised = (raised & 1) | (raised >> 1 & 6);
#elif defined(__aarch64__)
    uint64_t fpsr;
    __asm__ volatile("mrs %0, fpsr" : "=r"(fpsr));
    raised = (uint32_t)fpsr & 7;
#endif
    return (raised & 1 ? WEFT_FP_INVALID : 0) | (raised & 2 ? WEFT_FP_DIVIDE : 0) | (raised & 4 ? WEFT_FP_OVERFLOW : 0);
}
""",
    "fp_raise": """
static inline void weft_fp_raise(int32_t flags)
{
    const uint32_t invalid = (flags & WEFT_FP_INVALID) != 0, divide = (flags & WEFT_FP_DIVIDE) != 0;
    const uint32_t overflow = (flags & WEFT_FP_OVERFLOW) != 0;
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | invalid | divide << 2 | overflow << 3);
#elif defined(__aarch64__)
    uint64_t fpsr;
    __asm__ volatile("mrs %0, fpsr" : "=r"(fpsr));
    __asm__ volatile("msr fpsr, %0" : : "r"(fpsr | invalid | divide << 1 | overflow << 2));
#endif
    __asm__ volatile("" ::: "memory");
}
""",
    # Bytes of an array, or -1 where they do not fit int64.
    "bytes": """
static inline int64_t weft_bytes(int64_t itemsize, const int64_t *shape, int rank)
{
    int64_t size = itemsize, empty = 0;
    for (int axis = 0; axis < rank; ++axis)
        empty |= shape[axis] <= 0;
    for (int axis = 0; axis < rank && !empty; ++axis)
        if (__builtin_mul_overflow(size, shape[axis], &size))
            return -1;
    return empty ? 0 : size;
}
""",
    # Iterations per chunk: fixed by the size of the work, so that results never depend on the number of threads.
    "grain": """
static inline int64_t weft_grain(int64_t count, double points)
{
    const int64_t parts = points >= 64.0 * 4096.0 ? 64 : (int64_t)(points / 4096.0) + 1;
    return count / parts + 1;
}
""",
    # The same for `rows` of `width` iterations each: whole groups of rows abreast where there are enough of them.
    "grain_of_rows": """
static inline int64_t weft_grain_of_rows(int64_t rows, int64_t width, double points, int64_t abreast)
{
    const int64_t grain = &grain(rows, points);
    return rows >= 64 ? (grain + abreast - 1) / abreast * abreast * width : &grain(rows * width, points);
}
""",
    # Leaves of a tree per piece: a power of two times a leaf, so that no more than 64 pieces are needed.
    "piece": """
static inline int64_t weft_piece(int64_t count, int64_t leaf, int64_t least)
{
    int64_t piece = leaf;
    while (piece < least || (count - 1) / piece >= 64)
        piece *= 2;
    return piece;
}
""",
    # Results per row, where each row may run on another thread: the bits do not depend on it.
    "row": """
static inline int64_t weft_row(int64_t count, int64_t most)
{
    const int64_t row = (count / 8 + 64) & -64;
    return row < 128 ? 128 : row > most ? most : row;
}
""",
    # Blocks of rows that threads share, each with `width` totals of its own, for which there are `room` places. Their
    # number does not depend on that of threads.
    "blocks": """
static inline int64_t weft_blocks(double points, int64_t rows, int64_t width, int64_t room)
{
    int64_t blocks = width > 0 ? room / width : 1;
    if (blocks > 64)
        blocks = 64;
    const int64_t large = points / 16384.0 < rows / 4 ? (int64_t)(points / 16384.0) : rows / 4;
    const int64_t small = points / 4096.0 < rows / 16 ? (int64_t)(points / 4096.0) : rows / 16;
    const int64_t most = large > small ? large : small;
    int64_t even = 1; /* so that half of the rows are half of the blocks */
    while (2 * even <= blocks && 2 * even <= most)
        even *= 2;
    return even;
}
""",
    # A Fourier transform by its inner loop (see fourier_calls), along an axis of out[0] or (-1) along both of two.
    # `kind`: c of complex numbers, r of real ones, R and I where half of it is enough. 0: nothing was done.
    "fourier_lines": """
static weft_block *weft_fourier_lines(weft_ctx *ctx, void *const *library, const char *data, const int64_t lines[4],
                                      int64_t points, int kind, int is_first, int inverse)
{
    /* lines: how many, from one to the next, elements of each, from one to the next */
    typedef void inner_loop(char **, const int64_t *, const int64_t *, void *);
    const int64_t count = kind == 'R' ? points / 2 + 1 : points, size = kind == 'I' ? 8 : 16;
    const int64_t rows = lines[0], length = lines[2];
    weft_block *made = ctx->alloc(ctx, rows * count * size), *wide = 0;
    if (!made)
        return 0;
    int64_t across = lines[1], along = lines[3];
    if (kind == 'r') {
        wide = ctx->alloc(ctx, rows * length * 16);
        if (!wide) {
            ctx->release(ctx, made);
            return 0;
        }
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < length; ++j) {
                char *to = (char *)wide->data + (i * length + j) * 16;
                __builtin_memset(to, 0, 16);
                __builtin_memcpy(to, data + i * across + j * along, 8);
            }
        data = wide->data;
        across = length * 16;
        along = 16;
    }
    double factor = inverse ? 1.0 / (double)points : 1.0;
    char *pointers[3] = {(char *)data, (char *)&factor, made->data};
    const int64_t dimensions[3] = {rows, length, count};
    const int64_t steps[5] = {across, 0, is_first ? size : count * size, along, is_first ? rows * size : size};
    void *const *loop = library + (kind == 'R' && points % 2 ? 2 : 0);
    ((inner_loop *)loop[0])(pointers, dimensions, steps, loop[1]);
    if (wide)
        ctx->release(ctx, wide);
    return made;
}
""",
    "fourier_call": """
__attribute__((cold, noinline)) static int weft_fourier_call(weft_ctx *ctx, void *const *library, weft_value *out,
                                                             int first, int kind, int rank, int axis, int64_t points,
                                                             int inverse)
{
    const weft_array *given = &out[0].a;
    weft_array *result = &out[first].a;
    int64_t *shape = (int64_t *)result->shape;
    const int both = axis < 0, at = both ? 1 : axis;
    const int64_t length = given->shape[at], rows = rank == 2 ? given->shape[1 - at] : 1;
    if (points == INT64_MIN)
        points = kind == 'I' ? 2 * (length - 1) : length;
    const int64_t most = 1 << 20;
    if (!library[0] || (kind == 'R' && !library[2]) || length < 1 || length > most || rows < 1 || rows > most)
        return 0;
    if (points < 1 || points > most)
        return 0;
    const int64_t lines[4] = {rows, rank == 2 ? given->strides[1 - at] : 0, length, given->strides[at]};
    if (((uintptr_t)given->data | (uint64_t)lines[1] | (uint64_t)lines[3]) % 8)
        return 0;
    const int32_t before = &fp_flags();
    &fp_clear();
    weft_block *made = &fourier_lines(ctx, library, given->data, lines, points, kind, rank == 2 && !at, inverse);
    if (made && both) {
        const int64_t columns[4] = {length, 16, rows, length * 16};
        weft_block *half = made;
        made = &fourier_lines(ctx, library, half->data, columns, rows, 'c', 1, inverse);
        ctx->release(ctx, half);
    }
    const int32_t raised = &fp_flags() & (WEFT_FP_DIVIDE | WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    &fp_clear();
    &fp_raise(before);
    if (made && raised)
        ctx->release(ctx, made);
    if (!made || raised)
        return 0;
    shape[at] = kind == 'R' ? points / 2 + 1 : points;
    if (rank == 2)
        shape[1 - at] = rows;
    result->block = made;
    result->data = made->data;
    ctx->counters[5] += 1;
    return 1;
}
""",
    # A few numbers of 8 bytes, sorted (see sorting_calls), as integers of the same order. 0: nothing was done.
    "sorting_call": """
__attribute__((noinline)) static int weft_sorting_call(weft_ctx *ctx, weft_value *out, int first, int kind, int rank,
                                                       int is_float)
{
    enum { MOST = 64 };
    const weft_array *given = &out[0].a;
    int64_t keys[MOST], from[MOST], count = 1;
    for (int axis = 0; axis < rank; ++axis)
        count *= given->shape[axis] <= MOST && count <= MOST ? given->shape[axis] : MOST + 1;
    if (count < 1 || count > MOST)
        return 0;
    for (int64_t k = 0; k < count; ++k) {
        int64_t key, rest = k, place = k;
        const char *data = given->data;
        for (int axis = rank; axis-- > 0; rest /= given->shape[axis])
            data += rest % given->shape[axis] * given->strides[axis];
        __builtin_memcpy(&key, data, 8);
        if (is_float) {
            if ((key & INT64_MAX) > 0x7ff0000000000000 || key == INT64_MIN)
                return 0;
            key ^= (int64_t)((uint64_t)(key >> 63) >> 1);
        }
        for (; place > 0 && keys[place - 1] > key; --place) {
            keys[place] = keys[place - 1];
            from[place] = from[place - 1];
        }
        keys[place] = key;
        from[place] = k;
    }
    if (kind == 'a')
        for (int64_t k = 1; k < count; ++k)
            if (keys[k] == keys[k - 1])
                return 0;
    if (is_float && kind != 'a' && kind != 'A')
        for (int64_t k = 0; k < count; ++k)
            keys[k] ^= (int64_t)((uint64_t)(keys[k] >> 63) >> 1);
    if (kind == 'm') {
        double ends[2], middle;
        for (int k = 0; k < 2; ++k)
            if (is_float)
                __builtin_memcpy(&ends[k], &keys[(count - 1 + k) / 2], 8);
            else
                ends[k] = (double)keys[(count - 1 + k) / 2];
        if (__builtin_fabs(ends[0]) > 8e307 || __builtin_fabs(ends[1]) > 8e307)
            return 0;
        middle = count % 2 ? ends[0] : (ends[0] + ends[1]) / 2.0;
        __builtin_memcpy(&out[first], &middle, 8);
    } else {
        weft_array *result = &out[first].a;
        weft_block *made = ctx->alloc(ctx, count * 8);
        if (!made)
            return 0;
        __builtin_memcpy(made->data, kind == 's' ? keys : from, count * 8);
        ((int64_t *)result->shape)[0] = count;
        result->block = made;
        result->data = made->data;
    }
    ctx->counters[5] += 1;
    return 1;
}
""",
    "trips": """
static inline uint64_t weft_trips(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0)
        return start < stop ? ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1 : 0;
    return start > stop ? ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1 : 0;
}
""",
    "compare_signed_unsigned": """
static inline int weft_compare_signed_unsigned(int64_t a, uint64_t b)
{
    return a < 0 || (uint64_t)a < b ? -1 : (uint64_t)a > b;
}
""",
}
