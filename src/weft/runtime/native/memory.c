/* Memory for temporaries and results: malloc's, aligned for vector code, freed by free() (NumPy frees results so).
 *
 * Large pieces given back are kept for the next call: fresh pages from the system cost a fault each, several times
 * the work of a typical kernel. What is kept is bounded in number and in bytes.
 */
#include <stdlib.h>
#include <sys/mman.h>

enum { KEPT_PIECES = 8, KEPT_MINIMUM_BYTES = 256 << 10, HUGE_MINIMUM_BYTES = 4 << 20 };
static const int64_t KEPT_LIMIT_BYTES = 256 << 20;

static struct {
    _Atomic int lock;
    int count;
    int64_t bytes;
    struct { void *data; int64_t size_bytes; } pieces[KEPT_PIECES];
} kept;

static int64_t rounded_size(int64_t size_bytes) { return size_bytes < 64 ? 64 : (size_bytes + 63) & ~(int64_t)63; }

/* Another thread may have been inside at the moment of fork: the child then forgets what was kept. */
static void memory_after_fork_in_child(void)
{
    if (atomic_load(&kept.lock)) kept.count = 0, kept.bytes = 0;
    atomic_store(&kept.lock, 0);
}

static void memory_init(void) { pthread_atfork(NULL, NULL, memory_after_fork_in_child); }

static void lock_kept(void) { while (atomic_exchange_explicit(&kept.lock, 1, memory_order_acquire)) cpu_relax(); }
static void unlock_kept(void) { atomic_store_explicit(&kept.lock, 0, memory_order_release); }

/* A kept piece of exactly this size: results are handed to NumPy, so a larger piece would waste memory for long. */
static void *take_kept(int64_t size_bytes)
{
    void *data = NULL;
    lock_kept();
    for (int i = kept.count - 1; i >= 0; i--) {
        if (kept.pieces[i].size_bytes != size_bytes) continue;
        data = kept.pieces[i].data;
        kept.bytes -= size_bytes;
        kept.count--;
        for (int j = i; j < kept.count; j++) kept.pieces[j] = kept.pieces[j + 1];
        break;
    }
    unlock_kept();
    return data;
}

/* One fault per 2 MiB instead of one per 4 KiB, as NumPy asks for its own large arrays. A wish: failing is no harm. */
static void want_huge_pages(void *data, int64_t size_bytes)
{
    uintptr_t first = ((uintptr_t)data + 4095) & ~(uintptr_t)4095;
    uintptr_t end = ((uintptr_t)data + (uintptr_t)size_bytes) & ~(uintptr_t)4095;
    madvise((void *)first, end - first, MADV_HUGEPAGE);
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
    if (data && rounded >= HUGE_MINIMUM_BYTES) want_huge_pages(data, rounded);
    return data;
}

/* The oldest kept pieces make room for the newest. */
static void free_memory(void *data, int64_t size_bytes)
{
    int64_t rounded = rounded_size(size_bytes);
    if (!data) return;
    if (rounded < KEPT_MINIMUM_BYTES || rounded > KEPT_LIMIT_BYTES) {
        free(data);
        return;
    }
    void *unwanted[KEPT_PIECES];
    int dropped = 0;
    lock_kept();
    while (kept.count - dropped == KEPT_PIECES || kept.bytes + rounded > KEPT_LIMIT_BYTES) {
        kept.bytes -= kept.pieces[dropped].size_bytes;
        unwanted[dropped] = kept.pieces[dropped].data;
        dropped++;
    }
    kept.count -= dropped;
    for (int i = 0; i < kept.count; i++) kept.pieces[i] = kept.pieces[i + dropped];
    kept.pieces[kept.count].data = data;
    kept.pieces[kept.count++].size_bytes = rounded;
    kept.bytes += rounded;
    unlock_kept();
    for (int i = 0; i < dropped; i++) free(unwanted[i]);
}

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
