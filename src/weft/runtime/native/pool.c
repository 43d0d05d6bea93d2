/* A small pool of threads for parallel regions.
 *
 * A region is `count` iterations cut into fixed chunks of `grain`. Each thread has a run of neighbouring chunks of its
 * own, the same in every region of that size, so that what it wrote is still in its cache when it reads it in the next;
 * one that is done helps the others. So which thread runs a chunk varies but the chunks themselves never do: a result
 * built from one partial value per chunk is the same for every width. One region runs at a time. A thread that finds
 * the pool busy (another Python thread is inside a region, or this region is nested in one) runs its own chunks inline:
 * it never waits for somebody else's work.
 *
 * A region of a microsecond should still pay, so a region costs as little as it can: one cache line goes from its owner
 * to the workers (`pool.region`), and one from each worker back (`desk.done`). The owner never asks who takes part. It
 * waits until as many chunks are done as there are; a worker that comes late finds all of them taken and has touched
 * nothing of the region but its description. `generation` is odd while a region is open, and what lies beside it is
 * written only in between: who reads the same odd number before and after has read one description.
 *
 * Idle workers spin for a while and then sleep on `generation`: waking them costs more than most pauses between two
 * regions of one call. The while is short after the call, and in calls of what has threads of its own (LAPACK, or a BLAS
 * that cannot be told to use one), which spinning starves.
 *
 * A team is a region of another kind: each thread runs the body once, with its rank and their number, and waits for the
 * others inside (`weft_meet`). So all of them must be there when it begins. Workers join until the owner closes the list,
 * which it does when all have come or after a while; nobody comes later, and one may be a team.
 *
 * After fork only the calling thread exists in the child; the pool is reset there and starts new workers when needed.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORKERS = 255, MOVES_NANOSECONDS = 1000000, SPIN_NANOSECONDS = 5000, LONG_SPIN_NANOSECONDS = 100000 };
enum { JOIN_NANOSECONDS = 5000 }; /* for those that are awake to join a team */

typedef struct {
    weft_body body;
    void *env;
    int64_t count, grain;        /* grain 0: a team */
    uint32_t generation;
    uint32_t runs;               /* of chunks: one per thread that may take part */
    uint32_t float_control;      /* rounding and flush modes of the owner */
} region;

/* What one thread has: number 0 is the owner's, the others belong to the workers. */
typedef struct {
    _Alignas(64) _Atomic uint64_t taken; /* generation << 32 | chunks of its run that somebody has taken */
    _Alignas(64) _Atomic uint64_t done;  /* generation << 32 | chunks that this thread has run, all at once when it is done */
    uint32_t float_flags;                /* floating-point exceptions that were raised in them */
} desk;

static struct {
    struct {
        _Alignas(64) _Atomic uint32_t generation;
        _Atomic uint32_t runs, float_control;
        _Atomic(weft_body) body;
        _Atomic(void *) env;
        _Atomic int64_t count, grain;
    } region;
    struct {
        _Alignas(64) _Atomic uint64_t joined; /* generation << 32 | TEAM_CLOSED | workers */
        _Atomic uint64_t width;               /* generation << 32 | threads, once it is closed */
        _Alignas(64) weft_seat seats[MAX_WORKERS + 1];
    } team;
    _Alignas(64) _Atomic uint32_t sleepers;
    _Atomic uint32_t owner_waits;
    _Atomic uint32_t ended;      /* counts what workers end while the owner sleeps on it */
    _Atomic int stopping;
    _Atomic int64_t patience;    /* nanoseconds to spin for */
    _Alignas(64) _Atomic int busy; /* a region is running */
    int workers;
    uint32_t runs;               /* of the last region */
    int avoided;                 /* the processor that the first `placed` workers keep off, the owner's */
    int placed;
    int64_t placed_at;           /* nanoseconds */
    pthread_t threads[MAX_WORKERS];
    desk desks[MAX_WORKERS + 1];
} pool;

typedef int32_t (*pool_poll)(void *call); /* what a call does in long pauses: look for signals */

static __thread int inside_region; /* this thread runs chunks right now */
static __thread int is_worker;
static __thread uint32_t own_number; /* of this thread's desk: the run of chunks it begins with */

/* ---------------------------------------------------------------- machine */
#if defined(__x86_64__)
enum { FLOAT_FLAGS = 0x3f };
static inline void cpu_relax(void) { __builtin_ia32_pause(); }
static inline uint32_t float_state(void) { return __builtin_ia32_stmxcsr(); }
static inline void set_float_state(uint32_t state) { __builtin_ia32_ldmxcsr(state); }
#else
#include <fenv.h>
enum { FLOAT_FLAGS = FE_ALL_EXCEPT };
static inline void cpu_relax(void) { __asm__ volatile("" ::: "memory"); }
static inline uint32_t float_state(void) { return fetestexcept(FE_ALL_EXCEPT); }
static inline void set_float_state(uint32_t state)
{
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(state & FE_ALL_EXCEPT);
}
#endif

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most, 0, 0);
}
static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Spin until *word differs from `value` or the spin time is over; nonzero when it differs. */
static int spin_while_equal(_Atomic uint32_t *word, uint32_t value)
{
    int64_t begin = nanoseconds();
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) return 1;
            cpu_relax();
        }
    } while (nanoseconds() - begin < atomic_load_explicit(&pool.patience, memory_order_relaxed));
    return 0;
}

/* ---------------------------------------------------------------- chunks */
enum { MOST_CHUNKS = 0x7fffffff }; /* they are counted in half a word */

static inline uint64_t counted(uint32_t generation, uint32_t chunks) { return (uint64_t)generation << 32 | chunks; }

static int64_t chunks_of(const region *r) { return (r->count - 1) / r->grain + 1; }

/* The next chunk of a run, counted from its first; `length` or more: there is none left for this region. */
static uint32_t take_chunk(uint32_t generation, uint32_t number, uint32_t length)
{
    uint64_t taken = atomic_load_explicit(&pool.desks[number].taken, memory_order_relaxed);
    for (;;) {
        int32_t age = (int32_t)(generation - (uint32_t)(taken >> 32));
        uint32_t next = age == 0 ? (uint32_t)taken : 0;
        if (age < 0 || next >= length) return length;
        if (atomic_compare_exchange_weak_explicit(&pool.desks[number].taken, &taken, counted(generation, next + 1),
                                                  memory_order_acq_rel, memory_order_relaxed))
            return next;
    }
}

/* Runs what can be taken, this thread's own run first; how many chunks that were. */
static uint32_t run_chunks(const region *r)
{
    int64_t chunks = chunks_of(r);
    uint32_t ran = 0;
    for (uint32_t turn = 0, number = own_number; turn < r->runs; turn++, number = (number + 1) % r->runs) {
        int64_t first = chunks * number / r->runs;
        uint32_t length = (uint32_t)(chunks * (number + 1) / r->runs - first);
        for (uint32_t next; (next = take_chunk(r->generation, number, length)) < length; ran++) {
            int64_t begin = (first + next) * r->grain;
            r->body(r->env, begin, r->count - begin < r->grain ? r->count : begin + r->grain);
        }
    }
    return ran;
}

static void run_inline(weft_body body, void *env, int64_t count, int64_t grain)
{
    for (int64_t begin = 0; begin < count;) {
        int64_t end = count - begin < grain ? count : begin + grain;
        body(env, begin, end);
        begin = end;
    }
}

/* ---------------------------------------------------------------- workers */

/* The region of that generation, if it is open and has a run for this thread. */
static int read_region(region *r, uint32_t generation)
{
    if (generation % 2 == 0) return 0;
    r->generation = generation;
    r->runs = atomic_load_explicit(&pool.region.runs, memory_order_relaxed);
    r->float_control = atomic_load_explicit(&pool.region.float_control, memory_order_relaxed);
    r->body = atomic_load_explicit(&pool.region.body, memory_order_relaxed);
    r->env = atomic_load_explicit(&pool.region.env, memory_order_relaxed);
    r->count = atomic_load_explicit(&pool.region.count, memory_order_relaxed);
    r->grain = atomic_load_explicit(&pool.region.grain, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&pool.region.generation, memory_order_relaxed) == generation && own_number < r->runs;
}

static void end_work(desk *own, const region *r, uint32_t ran)
{
    own->float_flags = float_state() & FLOAT_FLAGS;
    atomic_store(&own->done, counted(r->generation, ran));
    if (atomic_load(&pool.owner_waits)) {
        atomic_fetch_add(&pool.ended, 1);
        futex_wake(&pool.ended, 1);
    }
}

static void work_on_region(const region *r)
{
    desk *own = &pool.desks[own_number];
    set_float_state(r->float_control);
    uint32_t ran = run_chunks(r);
    if (ran) end_work(own, r, ran);
}

enum { TEAM_CLOSED = 1 << 16 };

/* Joins a team; its rank, or 0 where that is too late. */
static uint32_t join_team(uint32_t generation)
{
    uint64_t joined = atomic_load_explicit(&pool.team.joined, memory_order_relaxed);
    do
        if (joined >> 32 != generation || joined & TEAM_CLOSED) return 0;
    while (!atomic_compare_exchange_weak_explicit(&pool.team.joined, &joined, joined + 1, memory_order_acq_rel,
                                                  memory_order_relaxed));
    return (uint32_t)joined + 1;
}

static void work_in_team(const region *r)
{
    desk *own = &pool.desks[own_number];
    uint32_t rank = join_team(r->generation);
    uint64_t width;
    if (!rank) return;
    for (int turn = 1; (width = atomic_load_explicit(&pool.team.width, memory_order_acquire)) >> 32 != r->generation; turn++) {
        cpu_relax();
        if (turn % 4096 == 0) sched_yield();
    }
    set_float_state(r->float_control);
    r->body(r->env, rank, (int64_t)(uint32_t)width);
    end_work(own, r, 1);
}

static void *worker_main(void *number)
{
    inside_region = is_worker = 1;
    own_number = (uint32_t)(intptr_t)number + 1;
    while (!atomic_load(&pool.stopping)) {
        region r;
        uint32_t generation = atomic_load_explicit(&pool.region.generation, memory_order_acquire);
        if (read_region(&r, generation)) (r.grain ? work_on_region : work_in_team)(&r);
        if (spin_while_equal(&pool.region.generation, generation)) continue;
        atomic_fetch_add(&pool.sleepers, 1);
        if (!atomic_load(&pool.stopping)) futex_wait(&pool.region.generation, generation, NULL); /* not if it has changed */
        atomic_fetch_sub(&pool.sleepers, 1);
    }
    return NULL;
}

/* At most `wanted` workers exist afterwards, fewer if the system gives no more threads. Signals stay with Python. */
static void start_workers(int wanted)
{
    if (wanted > MAX_WORKERS) wanted = MAX_WORKERS;
    if (pool.workers >= wanted) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.workers < wanted &&
           !pthread_create(&pool.threads[pool.workers], NULL, worker_main, (void *)(intptr_t)pool.workers))
        pool.workers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Workers keep off the processor the owner is on. A scheduler that saves power puts a thread that wakes up on the
 * processor of the one that woke it, where the two take turns until it looks again some milliseconds later. */
static void place_workers(void)
{
    int here = sched_getcpu();
    if (here < 0 || (here == pool.avoided && pool.placed == pool.workers)) return;
    int64_t now = nanoseconds();
    if (pool.placed == pool.workers && now - pool.placed_at < MOVES_NANOSECONDS) return;
    cpu_set_t others;
    if (sched_getaffinity(0, sizeof others, &others)) return;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others))
        for (int i = 0; i < pool.workers; i++) pthread_setaffinity_np(pool.threads[i], sizeof others, &others);
    pool.avoided = here;
    pool.placed = pool.workers;
    pool.placed_at = now;
}

/* How many chunks the workers have run and are done with. */
static uint32_t chunks_done(const region *r)
{
    uint32_t chunks = 0;
    for (uint32_t number = 1; number < r->runs; number++) {
        uint64_t done = atomic_load_explicit(&pool.desks[number].done, memory_order_acquire);
        if (done >> 32 == r->generation) chunks += (uint32_t)done;
    }
    return chunks;
}

/* The floating-point exceptions that workers raised. */
static uint32_t flags_of_workers(const region *r)
{
    uint32_t flags = 0;
    for (uint32_t number = 1; number < r->runs; number++)
        if (atomic_load_explicit(&pool.desks[number].done, memory_order_relaxed) >> 32 == r->generation)
            flags |= pool.desks[number].float_flags;
    return flags;
}

/* Waits until workers have run so many chunks. While this thread sleeps, `poll` is asked now and again: a body may wait
 * for what it says. */
static void wait_for_chunks(const region *r, uint32_t chunks, pool_poll poll, void *call)
{
    const struct timespec most = {.tv_nsec = 20000000};
    int64_t begin = 0;
    for (int turn = 1; chunks_done(r) < chunks; turn++) {
        cpu_relax();
        if (turn % 16) continue;
        int64_t now = nanoseconds();
        if (!begin) begin = now;
        if (now - begin < atomic_load_explicit(&pool.patience, memory_order_relaxed)) continue;
        uint32_t ended = atomic_load(&pool.ended);
        atomic_store(&pool.owner_waits, 1);
        if (chunks_done(r) < chunks) futex_wait(&pool.ended, ended, &most);
        atomic_store(&pool.owner_waits, 0);
        poll(call);
    }
}

/* ---------------------------------------------------------------- for the dispatcher */

/* Whether more regions are likely to follow soon, with nothing in between that has threads of its own. */
static void pool_expect(int more)
{
    atomic_store_explicit(&pool.patience, more ? LONG_SPIN_NANOSECONDS : SPIN_NANOSECONDS, memory_order_relaxed);
}

static void open_region(const region *r)
{
    atomic_thread_fence(memory_order_release); /* what is written here is seen after the last region was seen closed */
    atomic_store_explicit(&pool.region.runs, r->runs, memory_order_relaxed);
    atomic_store_explicit(&pool.region.float_control, r->float_control, memory_order_relaxed);
    atomic_store_explicit(&pool.region.body, r->body, memory_order_relaxed);
    atomic_store_explicit(&pool.region.env, r->env, memory_order_relaxed);
    atomic_store_explicit(&pool.region.count, r->count, memory_order_relaxed);
    atomic_store_explicit(&pool.region.grain, r->grain, memory_order_relaxed);
    atomic_store_explicit(&pool.region.generation, r->generation, memory_order_release);
    /* One that goes to sleep at this very moment may be missed, and sleeps through a region whose chunks others take. */
    if (atomic_load_explicit(&pool.sleepers, memory_order_relaxed)) futex_wake(&pool.region.generation, INT_MAX);
}

/* Desks that the last region did not have remember a generation of long ago, and generations come round again. */
static void clear_desks(const region *r)
{
    for (uint32_t number = pool.runs; number < r->runs; number++) {
        atomic_store(&pool.desks[number].taken, counted(r->generation - 1, 0));
        atomic_store(&pool.desks[number].done, counted(r->generation - 1, 0));
    }
    pool.runs = r->runs;
}

/* With workers: the pool is this thread's. */
static void share_region(region *r, int64_t chunks, pool_poll poll, void *call)
{
    r->generation = atomic_load_explicit(&pool.region.generation, memory_order_relaxed) + 1;
    clear_desks(r);
    r->float_control = float_state() & ~(uint32_t)FLOAT_FLAGS;
    place_workers();
    open_region(r);
    inside_region = 1;
    uint32_t ran = run_chunks(r);
    inside_region = 0;
    wait_for_chunks(r, (uint32_t)chunks - ran, poll, call);
    set_float_state(float_state() | flags_of_workers(r));
    atomic_store_explicit(&pool.region.generation, r->generation + 1, memory_order_release);
}

/* Waits for the workers that a team could have; how many there are. */
static uint32_t close_team(const region *r, int64_t patience)
{
    int64_t begin = nanoseconds();
    for (int turn = 1; (uint32_t)atomic_load_explicit(&pool.team.joined, memory_order_relaxed) < r->runs - 1; turn++) {
        cpu_relax();
        if (turn % 16 == 0 && nanoseconds() - begin > patience) break;
    }
    return (uint32_t)atomic_fetch_or(&pool.team.joined, TEAM_CLOSED);
}

/* With workers: the pool is this thread's. Those that sleep are waited for as long as `patience`, in nanoseconds. */
static void lead_team(region *r, int64_t patience, pool_poll poll, void *call)
{
    r->generation = atomic_load_explicit(&pool.region.generation, memory_order_relaxed) + 1;
    clear_desks(r);
    r->float_control = float_state() & ~(uint32_t)FLOAT_FLAGS;
    place_workers();
    memset(pool.team.seats, 0, sizeof *pool.team.seats * r->runs);
    atomic_store_explicit(&pool.team.joined, counted(r->generation, 0), memory_order_relaxed);
    if (!atomic_load(&pool.sleepers) || patience < JOIN_NANOSECONDS) patience = JOIN_NANOSECONDS;
    open_region(r);
    uint32_t others = close_team(r, patience);
    atomic_store_explicit(&pool.team.width, counted(r->generation, others + 1), memory_order_release);
    inside_region = 1;
    r->body(r->env, 0, others + 1);
    inside_region = 0;
    wait_for_chunks(r, others, poll, call);
    set_float_state(float_state() | flags_of_workers(r));
    atomic_store_explicit(&pool.region.generation, r->generation + 1, memory_order_release);
}

/* Threads that may run at the same time: more of them would wait for each other's processors. */
static int processors(void)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) ? 1 : CPU_COUNT(&mine);
}

static void pool_team(weft_body body, void *env, int width, int64_t patience, pool_poll poll, void *call)
{
    int free_pool = 0, most = processors();
    if (width > most) width = most;
    if (width > 1 && !inside_region && !atomic_load(&pool.stopping) &&
        atomic_compare_exchange_strong(&pool.busy, &free_pool, 1)) {
        start_workers(width - 1);
        int helpers = width - 1 < pool.workers ? width - 1 : pool.workers;
        region r = {.body = body, .env = env, .runs = (uint32_t)helpers + 1};
        if (helpers) lead_team(&r, patience, poll, call);
        atomic_store_explicit(&pool.busy, 0, memory_order_release);
        if (helpers) return;
    }
    body(env, 0, 1);
}

static void pool_run(weft_body body, void *env, int64_t count, int64_t grain, int width, pool_poll poll, void *call)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    region r = {.body = body, .env = env, .count = count, .grain = grain};
    int64_t chunks = chunks_of(&r);
    int free_pool = 0;
    if (width <= 1 || chunks <= 1 || chunks > MOST_CHUNKS || inside_region || atomic_load(&pool.stopping) ||
        !atomic_compare_exchange_strong(&pool.busy, &free_pool, 1)) {
        run_inline(body, env, count, grain);
        return;
    }
    start_workers(width - 1);
    int64_t helpers = width - 1 < chunks - 1 ? width - 1 : chunks - 1;
    if (helpers > pool.workers) helpers = pool.workers;
    r.runs = (uint32_t)helpers + 1;
    share_region(&r, chunks, poll, call);
    atomic_store_explicit(&pool.busy, 0, memory_order_release);
}

static void pool_after_fork_in_child(void)
{
    uint32_t generation = atomic_load(&pool.region.generation);
    atomic_store(&pool.region.generation, generation + generation % 2);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.owner_waits, 0);
    atomic_store(&pool.busy, 0);
    pool.workers = pool.placed = 0;
    pool.runs = 0;
    inside_region = is_worker = 0;
}

static void pool_init(void)
{
    pool_expect(0);
    pthread_atfork(NULL, NULL, pool_after_fork_in_child);
}

/* Ends the workers at interpreter exit; later regions run inline. With a region still running nothing is ended. */
static void pool_stop(void)
{
    int free_pool = 0;
    atomic_store(&pool.stopping, 1);
    if (!atomic_compare_exchange_strong(&pool.busy, &free_pool, 1)) return;
    atomic_fetch_add(&pool.region.generation, 2); /* still closed, but workers look */
    futex_wake(&pool.region.generation, INT_MAX);
    for (int i = 0; i < pool.workers; i++) pthread_join(pool.threads[i], NULL);
    pool.workers = 0;
    atomic_store(&pool.busy, 0);
}
