"""C that calls functions of linear algebra by NumPy's own inner loops (see direct_calls).

`library` holds the loop, its data, and how to ask for and set the number of threads of BLAS. What operands and results
are is a table of `weft_operand`: the bytes of an element, axes of a stack of matrices, axes of a matrix and what these
are: 0 the rows, 1 the columns, 2 whichever is less. Results follow the operands.

`&name(` calls another of these functions.
"""

from __future__ import annotations

from typing import Final

LINEAR_FUNCTIONS: Final = {
    "core_of": """
enum { WEFT_CORES = 6, WEFT_STACK = 8 };

typedef struct {
    int8_t unit, stack, rank, axes[2];
} weft_operand;

typedef struct {
    void *const *library;
    int operands, axes;
    int64_t extents[WEFT_STACK];   /* of the stack, the last axes last */
    int64_t dimensions[4];         /* of a matrix, behind the number of matrices; -1: not known yet */
    char *pointers[WEFT_CORES];
    int64_t across[WEFT_CORES][WEFT_STACK], along[2 * WEFT_CORES]; /* steps in a stack, and in a matrix */
} weft_core;

static inline weft_core weft_core_of(void *const *library, const weft_operand *kinds, int operands)
{
    weft_core core = {.library = library, .operands = operands, .dimensions = {1, -1, -1, -1}};
    for (int k = 0; k < operands; ++k)
        core.axes = kinds[k].stack > core.axes ? kinds[k].stack : core.axes;
    for (int axis = 0; axis < core.axes; ++axis)
        core.extents[axis] = 1;
    return core;
}
""",
    # Operands that are there: extents that fit, and memory that the loop can read. 0: it cannot.
    "core_given": """
static int weft_core_given(weft_core *core, const weft_operand *kinds, int given, const weft_value *out)
{
    int64_t *along = core->along;
    for (int k = 0; k < given; ++k) {
        const weft_array *array = &out[k].a;
        int64_t *extents = core->extents + core->axes - kinds[k].stack, *across = core->across[k] + core->axes;
        across -= kinds[k].stack;
        for (int axis = 0; axis < kinds[k].stack; ++axis) {
            const int64_t extent = array->shape[axis];
            if (extent == 1)
                continue;
            if (extent != extents[axis] && extents[axis] != 1)
                return 0;
            extents[axis] = extent;
            across[axis] = array->strides[axis];
        }
        for (int axis = 0; axis < kinds[k].rank; ++axis) {
            const int64_t extent = array->shape[kinds[k].stack + axis], step = array->strides[kinds[k].stack + axis];
            int64_t *known = &core->dimensions[1 + kinds[k].axes[axis]];
            if (*known < 0)
                *known = extent;
            if (*known != extent || extent < 1 || extent > 1 << 20 || step % kinds[k].unit)
                return 0;
            *along++ = step;
        }
        core->pointers[k] = array->data;
        if ((uintptr_t)array->data % 8)
            return 0;
    }
    for (int axis = 0; axis < core->axes; ++axis)
        if (core->extents[axis] < 1)
            return 0;
    return 1;
}
""",
    # Dense results in memory made for them; a number goes to its place in out[]. 0: there is no memory.
    "core_results": """
static int weft_core_results(weft_ctx *ctx, weft_core *core, const weft_operand *kinds, int given, weft_value *out)
{
    int64_t *along = core->along, *dimensions = core->dimensions + 1;
    if (dimensions[2] < 0)
        dimensions[2] = dimensions[0] < dimensions[1] ? dimensions[0] : dimensions[1];
    for (int k = 0; k < given; ++k)
        along += kinds[k].rank;
    for (int k = given; k < core->operands; ++k, ++out) {
        int64_t *shape = (int64_t *)out->a.shape, bytes = kinds[k].unit;
        core->pointers[k] = (char *)out;
        if (kinds[k].stack + kinds[k].rank == 0)
            continue;
        for (int axis = kinds[k].rank; axis-- > 0;) {
            shape[kinds[k].stack + axis] = dimensions[kinds[k].axes[axis]];
            along[axis] = bytes;
            bytes *= dimensions[kinds[k].axes[axis]];
        }
        along += kinds[k].rank;
        for (int axis = core->axes; axis-- > 0;) {
            shape[axis] = core->extents[axis];
            core->across[k][axis] = bytes;
            if (__builtin_mul_overflow(bytes, core->extents[axis], &bytes))
                return 0;
        }
        out->a.block = ctx->alloc(ctx, bytes);
        if (!out->a.block)
            return 0;
        out->a.data = core->pointers[k] = out->a.block->data;
    }
    return 1;
}
""",
    # All matrices of the stack; what was raised. Where there are enough of them threads share them, and BLAS has one.
    # Calls of small ones wait for each other: each takes a lock of BLAS.
    "core_run": """
WEFT_OPAQUE static void weft_core_part(void *raw, int64_t begin, int64_t end)
{
    typedef void inner_loop(char **, const int64_t *, const int64_t *, void *);
    const weft_core *core = raw;
    const int last = core->axes - 1;
    for (int64_t at = begin, run = 1; at < end; at += run) {
        char *pointers[WEFT_CORES];
        int64_t steps[3 * WEFT_CORES], dimensions[4];
        if (last >= 0)
            run = core->extents[last] - at % core->extents[last];
        if (run > end - at)
            run = end - at;
        for (int k = 0; k < core->operands; ++k) {
            int64_t rest = at;
            pointers[k] = core->pointers[k];
            for (int axis = last; axis >= 0; rest /= core->extents[axis--])
                pointers[k] += rest % core->extents[axis] * core->across[k][axis];
            steps[k] = last < 0 ? 0 : core->across[k][last];
        }
        __builtin_memcpy(steps + core->operands, core->along, sizeof core->along);
        __builtin_memcpy(dimensions, core->dimensions, sizeof dimensions);
        dimensions[0] = run;
        ((inner_loop *)core->library[0])(pointers, dimensions, steps, core->library[1]);
    }
}

static int32_t weft_core_run(weft_ctx *ctx, weft_core *core, double cost)
{
    const double rows = (double)core->dimensions[1], columns = (double)core->dimensions[2];
    const double terms = cost * rows * rows * (rows + (columns > 0 ? columns : 0.0)); /* of one matrix */
    int64_t count = 1, grain = (int64_t)(65536.0 / (terms + 512.0)) + 1;
    for (int axis = 0; axis < core->axes; ++axis)
        count *= core->extents[axis];
    const int shares = terms >= 400.0 && count > grain && (rows < 400.0 || count >= 2 * ctx->processors);
    const int32_t before = &fp_flags();
    &fp_clear();
    if (shares && core->library[2] && core->library[3]) {
        if (grain < count / (8 * ctx->width))
            grain = count / (8 * ctx->width);
        ctx->blas(ctx, core->library + 2, 1);
        weft_pays(ctx, (double)count * (terms + 512.0), 65536.0);
        ctx->parallel(ctx, weft_core_part, core, count, grain);
        ctx->blas(ctx, core->library + 2, -1);
    } else
        weft_core_part(core, 0, count);
    const int32_t raised = &fp_flags() & (WEFT_FP_DIVIDE | WEFT_FP_OVERFLOW | WEFT_FP_INVALID);
    &fp_clear();
    &fp_raise(before);
    return raised;
}
""",
    # A call with its operands in out[0]... and room for its results in out[first]... . 0: nothing was done.
    "core_call": """
__attribute__((cold, noinline)) static int weft_core_call(weft_ctx *ctx, void *const *library, weft_value *out,
                                                          int first, const weft_operand *kinds, int given, int operands,
                                                          double cost)
{
    weft_core core = &core_of(library, kinds, operands);
    if (!library[0] || !&core_given(&core, kinds, given, out))
        return 0;
    for (int k = given; k < operands; ++k)
        if (kinds[k].stack + kinds[k].rank)
            out[first + k - given].a.block = 0;
    if (&core_results(ctx, &core, kinds, given, out + first) && !&core_run(ctx, &core, cost)) {
        ctx->counters[5] += 1;
        return 1;
    }
    for (int k = given; k < operands; ++k)
        if (kinds[k].stack + kinds[k].rank)
            ctx->release(ctx, out[first + k - given].a.block);
    return 0;
}
""",
    # All parts of operands and results that are there. 0: it did not go well.
    "core_try": """
static int weft_core_try(weft_ctx *ctx, void *const *library, const weft_value *out, const weft_operand *kinds,
                         int operands, double cost)
{
    weft_core core = &core_of(library, kinds, operands);
    return library[0] && &core_given(&core, kinds, operands, out) && !&core_run(ctx, &core, cost);
}
""",
}
