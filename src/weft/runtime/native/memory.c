/* Memory for temporaries and results: malloc's, aligned for vector code.
 *
 * Large pieces given back are kept for the next call: fresh pages from the system cost a fault each, several times
 * the work of a typical kernel. That goes for temporaries, and for results once nobody has them any more: an array that
 * leaves has a memory handler of ours, through which NumPy gives its memory back.
 *
 * What is kept is bounded in number and in bytes. Up to KEPT_FIRM_BYTES it is ours; the system may take what goes beyond
 * whenever it is short of memory (MADV_FREE), and what it has not taken costs nothing to use again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEPT_PIECES = 16, KEPT_MINIMUM_BYTES = 256 << 10, HUGE_MINIMUM_BYTES = 4 << 20, SLACK = 8 };
enum { HUGE_PAGE_BYTES = 2 << 20 };
static const int64_t KEPT_FIRM_BYTES = 256 << 20;

static struct {
    _Atomic int lock;
    int count;
    int64_t bytes, limit_bytes;
    struct { void *data; int64_t size_bytes; } pieces[KEPT_PIECES]; /* the oldest first */
} kept;

static int64_t rounded_size(int64_t size_bytes) { return size_bytes < 64 ? 64 : (size_bytes + 63) & ~(int64_t)63; }

/* Another thread may have been inside at the moment of fork: the child then forgets what was kept. */
static void memory_after_fork_in_child(void)
{
    if (atomic_load(&kept.lock)) kept.count = 0, kept.bytes = 0;
    atomic_store(&kept.lock, 0);
}

/* An eighth of the machine's memory, but no less than what is kept firmly. */
static void memory_init(void)
{
    int64_t memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    kept.limit_bytes = memory_bytes / 8 > KEPT_FIRM_BYTES ? memory_bytes / 8 : KEPT_FIRM_BYTES;
    pthread_atfork(NULL, NULL, memory_after_fork_in_child);
}

static void lock_kept(void) { while (atomic_exchange_explicit(&kept.lock, 1, memory_order_acquire)) cpu_relax(); }
static void unlock_kept(void) { atomic_store_explicit(&kept.lock, 0, memory_order_release); }

/* The smallest kept piece that is large enough, and at most an eighth larger: a result holds on to all of it. */
static void *take_kept(int64_t size_bytes)
{
    void *data = NULL;
    int best = -1;
    lock_kept();
    for (int i = kept.count - 1; i >= 0; i--) {
        int64_t size = kept.pieces[i].size_bytes;
        if (size < size_bytes || size - size_bytes > size_bytes / SLACK) continue;
        if (best < 0 || size < kept.pieces[best].size_bytes) best = i;
    }
    if (best >= 0) {
        data = kept.pieces[best].data;
        kept.bytes -= kept.pieces[best].size_bytes;
        kept.count--;
        for (int j = best; j < kept.count; j++) kept.pieces[j] = kept.pieces[j + 1];
    }
    unlock_kept();
    return data;
}

/* Tells the system about the whole pages of that size inside. A wish: failing is no harm. */
static void advise(void *data, int64_t size_bytes, uintptr_t page_bytes, int advice)
{
    uintptr_t first = ((uintptr_t)data + page_bytes - 1) & ~(page_bytes - 1);
    uintptr_t end = ((uintptr_t)data + (uintptr_t)size_bytes) & ~(page_bytes - 1);
    if (first < end) madvise((void *)first, end - first, advice);
}

static void *take_memory(int64_t size_bytes)
{
    if (size_bytes > ((int64_t)1 << 46)) return NULL;
    int64_t rounded = rounded_size(size_bytes);
    if (rounded >= KEPT_MINIMUM_BYTES) {
        void *data = take_kept(rounded);
        if (data) return data;
    }
    void *data = aligned_alloc(64, (size_t)rounded);
    /* One fault per 2 MiB instead of one per 4 KiB, as NumPy asks for its own large arrays. */
    if (data && rounded >= HUGE_MINIMUM_BYTES) advise(data, rounded, 4096, MADV_HUGEPAGE);
    return data;
}

/* `size_bytes` may be less than the piece has, never more. The oldest kept pieces make room for the newest. */
static void free_memory(void *data, int64_t size_bytes)
{
    int64_t rounded = rounded_size(size_bytes);
    if (!data) return;
    if (rounded < KEPT_MINIMUM_BYTES || rounded > kept.limit_bytes || (uintptr_t)data % 64) {
        free(data);
        return;
    }
    void *unwanted[KEPT_PIECES];
    int dropped = 0;
    lock_kept();
    while (kept.count - dropped == KEPT_PIECES || kept.bytes + rounded > kept.limit_bytes) {
        kept.bytes -= kept.pieces[dropped].size_bytes;
        unwanted[dropped] = kept.pieces[dropped].data;
        dropped++;
    }
    if (kept.bytes + rounded > KEPT_FIRM_BYTES) advise(data, rounded, HUGE_PAGE_BYTES, MADV_FREE);
    kept.count -= dropped;
    for (int i = 0; i < kept.count; i++) kept.pieces[i] = kept.pieces[i + dropped];
    kept.pieces[kept.count].data = data;
    kept.pieces[kept.count++].size_bytes = rounded;
    kept.bytes += rounded;
    unlock_kept();
    for (int i = 0; i < dropped; i++) free(unwanted[i]);
}

/* ---------------------------------------------------------------- what NumPy calls for arrays that have left */
static void *handler_malloc(void *state, size_t size) { (void)state; return take_memory((int64_t)size); }

static void *handler_calloc(void *state, size_t count, size_t size)
{
    int64_t bytes;
    (void)state;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *data = take_memory(bytes);
    return data ? memset(data, 0, (size_t)bytes) : NULL;
}

/* May lose the alignment: then the memory is not kept later. */
static void *handler_realloc(void *state, void *data, size_t size)
{
    (void)state;
    return size >> 46 ? NULL : realloc(data, (size_t)rounded_size((int64_t)size));
}

static void handler_free(void *state, void *data, size_t size) { (void)state; free_memory(data, (int64_t)size); }

/* NumPy's PyDataMem_Handler, version 1. */
static struct {
    char name[127];
    uint8_t version;
    void *state;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *, size_t);
} result_handler = {"weft", 1, NULL, handler_malloc, handler_calloc, handler_realloc, handler_free};

static PyObject *result_memory; /* the capsule NumPy wants it in */

/* Gives everything kept back to the system; returns how many bytes that were. */
static int64_t free_kept_memory(void)
{
    void *pieces[KEPT_PIECES];
    lock_kept();
    int count = kept.count;
    int64_t bytes = kept.bytes;
    for (int i = 0; i < count; i++) pieces[i] = kept.pieces[i].data;
    kept.count = 0;
    kept.bytes = 0;
    unlock_kept();
    for (int i = 0; i < count; i++) free(pieces[i]);
    return bytes;
}
