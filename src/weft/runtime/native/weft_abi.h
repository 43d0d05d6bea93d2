/* The kernel ABI, version 3: what a compiled kernel may call and how values cross. Mirrors support/abi.py.
 *
 *   int32_t kernel(weft_ctx *ctx, const weft_value *args, weft_value *out);
 *
 * args[k] is slot k (only ARRAY and scalar slots are filled). The kernel stores what an exit needs in out[] and
 * returns the exit's index (>= 0), WEFT_INTERRUPTED or WEFT_NO_MEMORY. It runs without the GIL and never touches a
 * Python object. This header needs nothing but <stdint.h>, so that one nest compiles in a tenth of a second.
 */
#ifndef WEFT_ABI_H
#define WEFT_ABI_H
#include <stdint.h>

#define WEFT_ABI_VERSION 3
#define WEFT_INTERRUPTED (-1)
#define WEFT_NO_MEMORY (-2)
#define WEFT_BRIEF 8.0 /* regions with less work, in what pays most often, are announced to `choose`; */
#define WEFT_BRIEF_IN_LOOPS 64.0

/* Memory with an owner count. `data` comes from aligned_alloc(64, ...), so NumPy may free() it once handed over.
 * Blocks of arguments have object != 0 and are never freed by release. */
typedef struct weft_block weft_block;
struct weft_block {
    void *data;
    int64_t size_bytes;
    int64_t owners;
    void *object;             /* the argument's PyObject, or 0 */
    weft_block *next, *prev;  /* all blocks of one call, so that any exit can free what is left */
};

typedef struct {
    void *data;               /* element [0, 0, ...] */
    weft_block *block;        /* the memory it lies in */
    const int64_t *shape;     /* ndim extents */
    const int64_t *strides;   /* ndim strides in bytes */
} weft_array;

typedef union {
    int64_t i;                /* bool and all integers (uint64 by bit pattern) */
    double f;                 /* float32 and float64 */
    double c[2];              /* complex64 and complex128 */
    weft_array a;
} weft_value;

/* How far one thread of a team is: meetings it has come to; those of the first thread also say after which one all leave. */
typedef struct {
    uint64_t reached;         /* leaves << 32 | meetings */
    uint64_t unused[7];       /* a cache line of its own */
} weft_seat;

typedef struct weft_ctx weft_ctx;
typedef void (*weft_body)(void *env, int64_t begin, int64_t end);
struct weft_ctx {
    int64_t fuel;                                            /* loop iterations until the next poll */
    int32_t (*poll)(weft_ctx *);                             /* refills fuel; nonzero: leave with WEFT_INTERRUPTED */
    weft_block *(*alloc)(weft_ctx *, int64_t size_bytes);    /* one owner; 0 when there is no memory */
    void (*release)(weft_ctx *, weft_block *);               /* one owner less; frees at zero */
    int64_t *(*extents)(weft_ctx *, int32_t count);          /* room for shapes and strides of out[] arrays, until exit */
    void (*parallel)(weft_ctx *, weft_body, void *env, int64_t count, int64_t grain);
    void (*choose)(weft_ctx *, double work);                 /* who runs the brief region that follows: weft_pays */
    void (*turn)(weft_ctx *);                                /* a turn begins of a loop around regions: what it takes
                                                                may be compared with what others took */
    int32_t (*together)(weft_ctx *, int32_t loop, double work); /* whether a team shall run the loop of this number */
    void (*apart)(weft_ctx *);                               /* that it is done, whoever ran it */
    void (*team)(weft_ctx *, weft_body, void *env);          /* body(env, rank, width) on several threads at once */
    void (*idle)(weft_ctx *);                                /* what a thread of a team does that has waited for long */
    weft_seat *seats;                                        /* of the threads of a team; all 0 when it begins */
    void (*warn)(weft_ctx *, int32_t flags, int32_t site);   /* flags: WEFT_FP_*; remembered, raised after the call */
    int32_t (*mark)(weft_ctx *);                             /* warnings from here on may be taken back, by `settle` */
    void (*settle)(weft_ctx *, int32_t mark, int32_t keep);  /* of the innermost mark */
    int32_t (*call_python)(weft_ctx *, int32_t call, weft_value *out); /* WEFT_CALL_*; see KernelInfo.numpy_calls */
    void *const *library;                                    /* KernelInfo.libraries, resolved */
    void (*blas)(weft_ctx *, void *const *threads, int32_t change); /* 1: BLAS shall run on the threads that call it, -1:
                                                                as before; `threads`: BLAS_THREADS */
    int64_t counters[8];                                     /* 0 allocations, 1 bytes allocated, 2 live, 3 peak live,
                                                                4 parallel regions, 5 NumPy calls,
                                                                6 brief regions */
    int64_t width;                                           /* threads that may share a region */
    int64_t processors;                                      /* of the machine, whatever this program may use */
    double brief;                                            /* WEFT_BRIEF, or more */
    void *state;                                             /* the caller's own */
};

/* What call_python answers. DONE: an array result has its block and data in out[], its extents in the room the kernel
 * gave as `shape`; a number lies at the start of its weft_value. LEAVE: Python shall repeat the statement. Else the kernel
 * returns WEFT_INTERRUPTED. */
#define WEFT_CALL_DONE 0
#define WEFT_CALL_LEAVE 1
#define WEFT_CALL_FAILED 2

#define WEFT_FP_DIVIDE 1
#define WEFT_FP_OVERFLOW 2
#define WEFT_FP_UNDERFLOW 4
#define WEFT_FP_INVALID 8

#if defined(__GNUC__) && !defined(__clang__)
#define WEFT_OPAQUE __attribute__((noipa))
#else
#define WEFT_OPAQUE __attribute__((noinline))
#endif

/* What one file of a kernel defines and another one calls. */
#define WEFT_HIDDEN __attribute__((visibility("hidden")))

/* A long file is compiled several times at once, each time some of its pieces. */
#ifndef WEFT_PIECE
#define WEFT_PIECE(number) 1
#endif

/* Vectors of 64 bytes are done at once. Processors of the fourth Zen generation do them in two halves. Compilers that do
 * not know a Zen generation take it for the third; the fourth has no AVX-VNNI, those after it have. */
#if defined(__AVX512F__) && (defined(__AVXVNNI__) || !(defined(__znver3__) || defined(__znver4__)))
#define WEFT_LONG_VECTORS
#endif

/* A function with much arithmetic for each access: the widest vectors there are, which for others do not pay. */
#if defined(__GNUC__) && !defined(__clang__) && defined(WEFT_LONG_VECTORS)
#define WEFT_WIDE __attribute__((target("prefer-vector-width=512")))
#else
#define WEFT_WIDE
#endif

/* Whether threads may share so much work: then it is a region for ctx->parallel. Where `least` pays most often with
 * threads that are awake, eight times as much (WEFT_BRIEF) pays for waking them, and less than a quarter never pays. */
static inline int weft_pays(weft_ctx *ctx, double work, double least)
{
    if (4 * work < least)
        return 0;
    if (work < ctx->brief * least)
        ctx->choose(ctx, work / least);
    return 1;
}

static inline int32_t weft_poll(weft_ctx *ctx) { return --ctx->fuel < 0 && ctx->poll(ctx); }
#endif
