/* A context for kernels under test: memory that is counted, parallel maps in chunks from the last to the first, or on two
 * threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include WEFT_ABI

typedef struct {
    weft_ctx ctx;
    weft_block *blocks;
    int64_t *extents[64];
    int32_t extents_count;
    int64_t allocations_left; /* the next allocation after so many fails */
    int64_t polls_left;
    int32_t warnings[64]; /* flags per site */
    int64_t chunks;
    int here; /* the next region is too brief for threads */
    int64_t threads;
} test_ctx;

static weft_block *test_alloc(weft_ctx *ctx, int64_t size_bytes)
{
    test_ctx *self = (test_ctx *)ctx;
    if (self->allocations_left-- == 0)
        return 0;
    weft_block *block = calloc(1, sizeof *block);
    block->data = aligned_alloc(64, (size_t)(size_bytes + 64) / 64 * 64);
    memset(block->data, 0x5a, (size_t)size_bytes);
    block->size_bytes = size_bytes;
    block->owners = 1;
    block->next = self->blocks;
    if (self->blocks)
        self->blocks->prev = block;
    self->blocks = block;
    ++ctx->counters[0];
    ++ctx->counters[2];
    if (ctx->counters[2] > ctx->counters[3])
        ctx->counters[3] = ctx->counters[2];
    return block;
}

static void test_free(test_ctx *self, weft_block *block)
{
    if (block->prev)
        block->prev->next = block->next;
    else
        self->blocks = block->next;
    if (block->next)
        block->next->prev = block->prev;
    free(block->data);
    free(block);
    --self->ctx.counters[2];
}

static void test_release(weft_ctx *ctx, weft_block *block)
{
    if (block == 0)
        return;
    if (--block->owners < 0)
        abort();
    if (block->owners == 0 && block->object == 0)
        test_free((test_ctx *)ctx, block);
}

static int64_t *test_extents(weft_ctx *ctx, int32_t count)
{
    test_ctx *self = (test_ctx *)ctx;
    return self->extents[self->extents_count++] = malloc(sizeof(int64_t) * (size_t)count);
}

typedef struct {
    weft_body body;
    void *env;
    int64_t count, grain, next;
} test_region;

static void *test_worker(void *raw)
{
    test_region *region = raw;
    for (;;) {
        const int64_t begin = __atomic_fetch_add(&region->next, region->grain, __ATOMIC_SEQ_CST);
        if (begin >= region->count)
            return 0;
        const int64_t end = begin + region->grain < region->count ? begin + region->grain : region->count;
        region->body(region->env, begin, end);
    }
}

static void test_choose(weft_ctx *ctx, double work) { ((test_ctx *)ctx)->here = work < 1; }
static void test_turn(weft_ctx *ctx) { ctx->brief = WEFT_BRIEF_IN_LOOPS; }

/* On one thread the last chunk comes first. */
static void test_parallel(weft_ctx *ctx, weft_body body, void *env, int64_t count, int64_t grain)
{
    if (((test_ctx *)ctx)->here) {
        ((test_ctx *)ctx)->here = 0;
        body(env, 0, count);
        return;
    }
    ++ctx->counters[4];
    if (((test_ctx *)ctx)->threads > 1) {
        test_region region = {body, env, count, grain, 0};
        pthread_t other;
        pthread_create(&other, 0, test_worker, &region);
        test_worker(&region);
        pthread_join(other, 0);
        return;
    }
    for (int64_t begin = (count - 1) / grain * grain; begin >= 0; begin -= grain) {
        body(env, begin, begin + grain < count ? begin + grain : count);
        ++((test_ctx *)ctx)->chunks;
    }
}


static void test_warn(weft_ctx *ctx, int32_t flags, int32_t site)
{
    __atomic_fetch_or(&((test_ctx *)ctx)->warnings[site], flags, __ATOMIC_RELAXED);
}

static int32_t test_poll(weft_ctx *ctx)
{
    ctx->fuel = 1;
    return ((test_ctx *)ctx)->polls_left-- == 0;
}

test_ctx *test_open(void *const *library, int64_t allocations, int64_t polls)
{
    test_ctx *self = calloc(1, sizeof *self);
    self->ctx.poll = test_poll;
    self->ctx.alloc = test_alloc;
    self->ctx.release = test_release;
    self->ctx.extents = test_extents;
    self->ctx.parallel = test_parallel;
    self->ctx.warn = test_warn;
    self->ctx.library = library;
    self->ctx.choose = test_choose;
    self->ctx.turn = test_turn;
    self->ctx.brief = WEFT_BRIEF;
    self->allocations_left = allocations;
    self->polls_left = polls;
    return self;
}

void test_threads(test_ctx *self, int64_t threads) { self->threads = threads; }
int32_t test_warnings(test_ctx *self, int32_t site) { return self->warnings[site]; }
int64_t test_peak(test_ctx *self) { return self->ctx.counters[3]; }
int64_t test_live(test_ctx *self) { return self->ctx.counters[2]; }
int64_t test_chunks(test_ctx *self) { return self->chunks; }

/* How many of the blocks still linked nobody will hand out, i.e. that the kernel forgot; then frees everything. */
void test_close(test_ctx *self)
{
    while (self->blocks)
        test_free(self, self->blocks);
    for (int32_t k = 0; k < self->extents_count; ++k)
        free(self->extents[k]);
    free(self);
}
