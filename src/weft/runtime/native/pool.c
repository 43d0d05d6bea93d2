/* A small pool of threads for parallel regions.
 *
 * A region is `count` iterations cut into fixed chunks of `grain`. Each thread has a run of neighbouring chunks of its
 * own, the same in every region of that size, so that what it wrote is still in its cache when it reads it in the next;
 * one that is done helps the others. So which thread runs a chunk varies but the chunks themselves never do: a result
 * built from one partial value per chunk is the same for every width. One region runs at a time. A thread that finds
 * the pool busy (another Python thread is inside a region, or this region is nested in one) runs its own chunks inline:
 * it never waits for somebody else's work.
 *
 * Joining: `region` holds (generation << 32 | tickets left). A worker joins by taking a ticket, the owner closes the
 * region by taking all that are left; a late worker finds none and never touches the region's data. Idle workers spin
 * for a while and then sleep on the futex word `bell`: waking them costs more than most pauses between two regions of
 * one call. The while is short after the call and in calls with library products, where spinning starves OpenBLAS.
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

static struct {
    _Atomic uint64_t region;     /* generation << 32 | tickets left */
    _Atomic uint32_t bell;       /* rung once per region: workers sleep on it */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t finished;   /* workers that joined the region and are done */
    _Atomic uint32_t owner_waits;
    _Atomic int busy;            /* a region is running */
    _Atomic int stopping;
    _Atomic int64_t patience;    /* nanoseconds to spin for */
    int workers;
    int avoided;                 /* the processor that the first `placed` workers keep off, the owner's */
    int placed;
    int64_t placed_at;           /* nanoseconds */
    pthread_t threads[MAX_WORKERS];
    /* the region itself: written by its owner before tickets are handed out */
    weft_body body;
    void *env;
    int64_t count, grain;
    int runs;                    /* how many runs of chunks: one per thread that may take part */
    struct { _Alignas(64) _Atomic int64_t next; int64_t end; } run[MAX_WORKERS + 1];
    uint32_t float_control;           /* rounding and flush modes of the owner */
    _Atomic uint32_t float_flags;     /* floating-point exceptions raised by workers */
} pool;

typedef int32_t (*pool_poll)(void *call); /* what a call does in long pauses: look for signals */

static __thread int inside_region; /* this thread runs chunks right now */
static __thread int is_worker;
static __thread int own_run; /* the run of chunks this thread begins with, modulo their number */

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
static void run_chunks(void)
{
    int64_t count = pool.count, grain = pool.grain;
    for (int turn = 0, number = own_run % pool.runs; turn < pool.runs; turn++, number = (number + 1) % pool.runs) {
        for (;;) {
            int64_t chunk = atomic_fetch_add_explicit(&pool.run[number].next, 1, memory_order_relaxed);
            if (chunk >= pool.run[number].end) break;
            int64_t begin = chunk * grain;
            pool.body(pool.env, begin, count - begin < grain ? count : begin + grain);
        }
    }
}

static void share_out_chunks(int64_t chunks, int runs)
{
    pool.runs = runs;
    for (int number = 0; number < runs; number++) {
        pool.run[number].end = chunks * (number + 1) / runs;
        atomic_store_explicit(&pool.run[number].next, chunks * number / runs, memory_order_relaxed);
    }
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
static int take_ticket(void)
{
    uint64_t region = atomic_load(&pool.region);
    while ((uint32_t)region != 0)
        if (atomic_compare_exchange_weak(&pool.region, &region, region - 1)) return 1;
    return 0;
}

static void work_on_region(void)
{
    set_float_state(pool.float_control);
    run_chunks();
    atomic_fetch_or_explicit(&pool.float_flags, float_state() & FLOAT_FLAGS, memory_order_relaxed);
    atomic_fetch_add(&pool.finished, 1);
    if (atomic_load(&pool.owner_waits)) futex_wake(&pool.finished, 1);
}

static void *worker_main(void *number)
{
    inside_region = is_worker = 1;
    own_run = (int)(intptr_t)number + 1;
    while (!atomic_load(&pool.stopping)) {
        uint32_t bell = atomic_load(&pool.bell);
        if (take_ticket()) {
            work_on_region();
            continue;
        }
        if (spin_while_equal(&pool.bell, bell)) continue;
        atomic_fetch_add(&pool.sleepers, 1);
        if (!atomic_load(&pool.stopping)) futex_wait(&pool.bell, bell, NULL); /* returns at once if the bell has rung */
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

/* While this thread sleeps, `poll` is asked now and again: a body may wait for what it says. */
static void wait_for_workers(uint32_t joined, pool_poll poll, void *call)
{
    const struct timespec most = {.tv_nsec = 20000000};
    for (;;) {
        uint32_t finished = atomic_load(&pool.finished);
        if (finished == joined) return;
        if (spin_while_equal(&pool.finished, finished)) continue;
        atomic_store(&pool.owner_waits, 1);
        futex_wait(&pool.finished, finished, &most);
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

static void pool_run(weft_body body, void *env, int64_t count, int64_t grain, int width, pool_poll poll, void *call)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    int64_t chunks = (count - 1) / grain + 1;
    int free_pool = 0;
    if (width <= 1 || chunks <= 1 || inside_region || atomic_load(&pool.stopping) ||
        !atomic_compare_exchange_strong(&pool.busy, &free_pool, 1)) {
        run_inline(body, env, count, grain);
        return;
    }
    start_workers(width - 1);
    int64_t helpers = width - 1 < chunks - 1 ? width - 1 : chunks - 1;
    if (helpers > pool.workers) helpers = pool.workers;
    place_workers();
    pool.body = body, pool.env = env, pool.count = count, pool.grain = grain;
    share_out_chunks(chunks, (int)helpers + 1);
    atomic_store(&pool.finished, 0);
    atomic_store(&pool.float_flags, 0);
    pool.float_control = float_state() & ~(uint32_t)FLOAT_FLAGS;
    uint64_t generation = (atomic_load(&pool.region) >> 32) + 1;
    atomic_store(&pool.region, generation << 32 | (uint64_t)helpers);
    atomic_fetch_add(&pool.bell, 1);
    if (atomic_load(&pool.sleepers)) futex_wake(&pool.bell, (int)helpers);
    inside_region = 1;
    run_chunks();
    inside_region = 0;
    uint64_t closed = atomic_exchange(&pool.region, generation << 32);
    wait_for_workers((uint32_t)helpers - (uint32_t)closed, poll, call);
    set_float_state(float_state() | atomic_load(&pool.float_flags));
    atomic_store(&pool.busy, 0);
}

static void pool_after_fork_in_child(void)
{
    atomic_store(&pool.region, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.finished, 0);
    atomic_store(&pool.owner_waits, 0);
    atomic_store(&pool.busy, 0);
    pool.workers = pool.placed = 0;
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
    atomic_fetch_add(&pool.bell, 1);
    futex_wake(&pool.bell, INT_MAX);
    for (int i = 0; i < pool.workers; i++) pthread_join(pool.threads[i], NULL);
    pool.workers = 0;
    atomic_store(&pool.busy, 0);
}
