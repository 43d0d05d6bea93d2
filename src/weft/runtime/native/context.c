/* What a kernel may call through its context: memory, room for shapes, poll, parallel regions, warnings.
 *
 * One `call_state` lives on the stack of each call. A kernel may allocate, release and warn from inside a parallel
 * region, so these take the state's lock; it is a single uncontended atomic otherwise.
 */
#include <stdlib.h>
#include <string.h>

enum {
    INLINE_BLOCKS = 8,          /* block headers on the stack before malloc */
    INLINE_EXTENTS = 64,        /* int64 on the stack for shapes and strides of results */
    INLINE_WARNINGS = 8,
    MAX_FUEL = 256,             /* polls are cheap (a coarse clock); few iterations in between keep Ctrl-C prompt */
    CHECK_MILLISECONDS = 20,
    ALIGNMENT = 64,
    WORK_PER_NANOSECOND = 8,    /* of a loop for a team, about */
    WAKE_NANOSECONDS = 150000,  /* as long as it takes to wake threads, at most */
};

static const double HUGE_WORK = 1e300; /* more than any region: in a loop that one thread runs all are announced */
static const double WAKING_WORK = 8;   /* so much pays for waking threads */

typedef struct extents_chunk { struct extents_chunk *next; int64_t room[]; } extents_chunk;
typedef struct { int32_t flags, site; } recorded_warning;

typedef struct call_state {
    weft_ctx ctx;               /* first: a weft_ctx * is a call_state * */
    _Atomic int lock;
    PyThreadState *thread;      /* while the GIL is released */
    _Atomic int interrupted;    /* a Python error is set */
    int alone;                  /* nothing with threads of its own is called */
    pace *pace;                 /* of the kernel's brief regions, */
    int64_t paced_since;        /* timed since then; 0: not */
    team_pace *teams, *timed;   /* of the kernel's loops for teams; that of the loop that runs */
    int64_t timed_since;
    double timed_work;
    int here;                   /* the next region is run by this thread, in the chunks that threads would have */
    const void *variant;        /* the kernel running and its frame, for calls of Python */
    void *frame;
    int64_t last_check;         /* coarse milliseconds */
    int64_t last_poll, fuel_given;
    weft_block *blocks;         /* blocks of this call, newest first */
    int blocks_used, extents_used, warnings_count, warnings_room;
    int warnings_marked;        /* those from here on may be taken back */
    extents_chunk *chunks;
    recorded_warning *warnings; /* inline_warnings or malloc */
    weft_block inline_blocks[INLINE_BLOCKS];
    int64_t inline_extents[INLINE_EXTENTS];
    recorded_warning inline_warnings[INLINE_WARNINGS];
} call_state;

static void lock_state(call_state *state)
{
    while (atomic_exchange_explicit(&state->lock, 1, memory_order_acquire)) cpu_relax();
}
static void unlock_state(call_state *state) { atomic_store_explicit(&state->lock, 0, memory_order_release); }

/* ---------------------------------------------------------------- memory */
static int is_inline_block(call_state *state, weft_block *block)
{
    return block >= state->inline_blocks && block < state->inline_blocks + INLINE_BLOCKS;
}

static weft_block *new_header(call_state *state)
{
    if (state->blocks_used < INLINE_BLOCKS) return &state->inline_blocks[state->blocks_used++];
    return malloc(sizeof(weft_block));
}

static void link_block(call_state *state, weft_block *block)
{
    block->prev = NULL;
    block->next = state->blocks;
    if (block->next) block->next->prev = block;
    state->blocks = block;
}

/* Takes the block out of the list; its data is freed here unless somebody else took it (data == NULL). */
static void drop_block(call_state *state, weft_block *block)
{
    if (block->prev) block->prev->next = block->next;
    else state->blocks = block->next;
    if (block->next) block->next->prev = block->prev;
    state->ctx.counters[2] -= block->size_bytes;
    free_memory(block->data, block->size_bytes);
    block->data = NULL;
    if (!is_inline_block(state, block)) free(block);
    else if (block == &state->inline_blocks[state->blocks_used - 1]) state->blocks_used--;
}

/* A block with memory that is free_memory's from now on; NULL, and the memory as it was, if there is none. */
static weft_block *new_block(call_state *state, void *data, int64_t size_bytes)
{
    lock_state(state);
    weft_block *block = new_header(state);
    if (block) {
        *block = (weft_block){.data = data, .size_bytes = size_bytes, .owners = 1};
        link_block(state, block);
        int64_t *counters = state->ctx.counters;
        counters[0] += 1;
        counters[1] += size_bytes;
        counters[2] += size_bytes;
        if (counters[2] > counters[3]) counters[3] = counters[2];
    }
    unlock_state(state);
    return block;
}

static weft_block *context_alloc(weft_ctx *ctx, int64_t size_bytes)
{
    if (size_bytes < 0) return NULL;
    void *data = take_memory(size_bytes);
    weft_block *block = data ? new_block((call_state *)ctx, data, size_bytes) : NULL;
    if (!block) free_memory(data, size_bytes);
    return block;
}

static void context_release(weft_ctx *ctx, weft_block *block)
{
    call_state *state = (call_state *)ctx;
    if (!block || block->object) return;
    lock_state(state);
    if (--block->owners <= 0) drop_block(state, block);
    unlock_state(state);
}

static int64_t *context_extents(weft_ctx *ctx, int32_t count)
{
    call_state *state = (call_state *)ctx;
    if (count < 0) count = 0;
    int64_t *room = NULL;
    lock_state(state);
    if (state->extents_used + count <= INLINE_EXTENTS) {
        room = state->inline_extents + state->extents_used;
        state->extents_used += count;
    } else {
        extents_chunk *chunk = malloc(sizeof(extents_chunk) + sizeof(int64_t) * (size_t)count);
        if (chunk) {
            chunk->next = state->chunks;
            state->chunks = chunk;
            room = chunk->room;
        }
    }
    unlock_state(state);
    return room;
}

/* ---------------------------------------------------------------- warnings: one entry per site, in order */
static void record_warning(call_state *state, int32_t flags, int32_t site)
{
    for (int i = state->warnings_marked; i < state->warnings_count; i++)
        if (state->warnings[i].site == site) {
            state->warnings[i].flags |= flags;
            return;
        }
    if (state->warnings_count == state->warnings_room) {
        int room = 2 * state->warnings_room;
        recorded_warning *grown = malloc(sizeof(recorded_warning) * (size_t)room);
        if (!grown) return; /* without memory a warning may be lost */
        memcpy(grown, state->warnings, sizeof(recorded_warning) * (size_t)state->warnings_count);
        if (state->warnings != state->inline_warnings) free(state->warnings);
        state->warnings = grown;
        state->warnings_room = room;
    }
    state->warnings[state->warnings_count++] = (recorded_warning){flags, site};
}

static void context_warn(weft_ctx *ctx, int32_t flags, int32_t site)
{
    if (!flags) return;
    lock_state((call_state *)ctx);
    record_warning((call_state *)ctx, flags, site);
    unlock_state((call_state *)ctx);
}

/* Entries behind a mark are apart from those before it until it is settled. */
static int32_t context_mark(weft_ctx *ctx)
{
    call_state *state = (call_state *)ctx;
    int before = state->warnings_marked;
    state->warnings_marked = state->warnings_count;
    return before;
}

static void context_settle(weft_ctx *ctx, int32_t mark, int32_t keep)
{
    call_state *state = (call_state *)ctx;
    int begin = state->warnings_marked, end = state->warnings_count;
    state->warnings_marked = mark;
    state->warnings_count = begin;
    for (int i = begin; keep && i < end; i++) { /* its own place is the last that this may write to */
        recorded_warning one = state->warnings[i];
        record_warning(state, one.flags, one.site);
    }
}

/* ---------------------------------------------------------------- interrupts */
static int64_t coarse_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Fewer iterations until the next poll when the last ones were slow, slowly more again when they were quick. */
static void refill(call_state *state, int64_t now)
{
    int64_t took = now - state->last_poll;
    if (took > CHECK_MILLISECONDS / 2) state->fuel_given = state->fuel_given * (CHECK_MILLISECONDS / 4) / took;
    else if (took <= CHECK_MILLISECONDS / 4) state->fuel_given = 2 * state->fuel_given + 1;
    if (state->fuel_given > MAX_FUEL) state->fuel_given = MAX_FUEL;
    state->ctx.fuel = state->fuel_given;
    state->last_poll = now;
}

/* Python handles signals in its main thread only, which is the process's first (after fork: the one that forked). */
static int can_handle_signals(void) { return !is_worker && syscall(SYS_gettid) == getpid(); }

static int32_t context_poll(weft_ctx *ctx)
{
    call_state *state = (call_state *)ctx;
    if (is_worker) { /* the owner's GIL cannot be taken from here; fuel is shared and only a hint */
        ctx->fuel = MAX_FUEL;
        return atomic_load(&state->interrupted);
    }
    int64_t now = coarse_milliseconds();
    refill(state, now);
    int due = now - state->last_check >= CHECK_MILLISECONDS && !atomic_load(&state->interrupted);
    if (due) state->last_check = now;
    if (!due || !can_handle_signals()) return atomic_load(&state->interrupted);
    PyEval_RestoreThread(state->thread);
    if (PyErr_CheckSignals() != 0) atomic_store(&state->interrupted, 1);
    state->thread = PyEval_SaveThread();
    return atomic_load(&state->interrupted);
}

/* ---------------------------------------------------------------- the rest */
static int32_t poll_call(void *call) { return context_poll((weft_ctx *)call); }

static void context_parallel(weft_ctx *ctx, weft_body body, void *env, int64_t count, int64_t grain)
{
    call_state *state = (call_state *)ctx;
    if (!inside_region) {
        if (state->here) {
            state->here = 0;
            run_inline(body, env, count, grain < 1 ? 1 : grain);
            return;
        }
        ctx->counters[4] += 1;
        pool_expect(state->alone);
    }
    pool_run(body, env, count, grain, (int)ctx->width, poll_call, state);
}

static void context_team(weft_ctx *ctx, weft_body body, void *env)
{
    call_state *state = (call_state *)ctx;
    if (!inside_region) {
        ctx->counters[4] += 1;
        pool_expect(state->alone);
    }
    double patience = state->timed ? state->timed_work / WORK_PER_NANOSECOND / 8 : 0;
    pool_team(body, env, (int)ctx->width, patience > WAKE_NANOSECONDS ? WAKE_NANOSECONDS : (int64_t)patience, poll_call, state);
}

static int32_t context_together(weft_ctx *ctx, int32_t loop, double work)
{
    call_state *state = (call_state *)ctx;
    if (inside_region) return 0;
    if (loop >= TEAM_LOOPS || atomic_exchange(&state->teams[loop].held, 1)) return 1;
    state->timed = &state->teams[loop];
    state->timed_work = work;
    state->timed_since = nanoseconds();
    if (way_of(state->timed) == ALONE) ctx->brief = HUGE_WORK;
    return way_of(state->timed) == TEAM;
}

static void context_apart(weft_ctx *ctx)
{
    call_state *state = (call_state *)ctx;
    if (inside_region || !state->timed) return;
    ctx->brief = WEFT_BRIEF;
    int64_t took = nanoseconds() - state->timed_since;
    if (state->paced_since && way_of(state->timed) != REGIONS) state->paced_since += took; /* of no region */
    end_try(state->timed, (double)took / state->timed_work);
    atomic_store(&state->timed->held, 0);
    state->timed = NULL;
}

static void context_idle(weft_ctx *ctx)
{
    (void)ctx;
    sched_yield();
}

/* A region is cut in the same chunks whoever runs it: at their ends loops are not vectorized, and functions may have other
 * last bits there. Threads are woken for brief regions only in a call that has had some of them: more will follow. */
static void context_choose(weft_ctx *ctx, double work)
{
    call_state *state = (call_state *)ctx;
    if (inside_region) return;
    int waits = ctx->counters[6]++ < 4 && work < WAKING_WORK;
    state->here = ctx->width <= 1 || ctx->brief == HUGE_WORK || waits ||
                  !shares_region(state->pace, work, &state->paced_since);
}

static void context_turn(weft_ctx *ctx)
{
    call_state *state = (call_state *)ctx;
    if (ctx->brief < WEFT_BRIEF_IN_LOOPS) ctx->brief = WEFT_BRIEF_IN_LOOPS;
    if (state->paced_since) begin_turn(state->pace, &state->paced_since);
}

static int32_t context_call_python(weft_ctx *ctx, int32_t call, weft_value *out); /* calls.c */

static void open_state(call_state *state, int width, void *const *library, int alone, pace *pace, team_pace *teams,
                       const void *variant, void *frame)
{
    int64_t now = coarse_milliseconds();
    state->ctx = (weft_ctx){
        .fuel = 0, /* the first iterations are watched closely: they may be slow */
        .poll = context_poll, .alloc = context_alloc, .release = context_release, .extents = context_extents,
        .parallel = context_parallel, .choose = context_choose, .turn = context_turn,
        .together = context_together, .apart = context_apart, .team = context_team, .idle = context_idle, .seats = pool.team.seats,
        .warn = context_warn, .mark = context_mark, .settle = context_settle, .call_python = context_call_python, .library = library,
        .blas = context_blas, .width = width, .processors = blas.processors, .brief = WEFT_BRIEF,
    };
    atomic_init(&state->lock, 0);
    atomic_init(&state->interrupted, 0);
    state->alone = alone;
    state->pace = pace;
    state->teams = teams;
    state->timed = NULL;
    state->paced_since = 0;
    state->here = 0;
    state->variant = variant;
    state->frame = frame;
    state->last_check = state->last_poll = now;
    state->fuel_given = 0;
    state->blocks = NULL;
    state->chunks = NULL;
    state->blocks_used = state->extents_used = state->warnings_count = state->warnings_marked = 0;
    state->warnings = state->inline_warnings;
    state->warnings_room = INLINE_WARNINGS;
}

/* Frees whatever the call left behind. */
static void close_state(call_state *state)
{
    if (state->ctx.counters[4]) pool_expect(0);
    if (state->timed) atomic_store(&state->timed->held, 0);
    if (state->paced_since) release_pace(state->pace, state->paced_since);
    while (state->blocks) drop_block(state, state->blocks);
    while (state->chunks) {
        extents_chunk *next = state->chunks->next;
        free(state->chunks);
        state->chunks = next;
    }
    if (state->warnings != state->inline_warnings) free(state->warnings);
}
