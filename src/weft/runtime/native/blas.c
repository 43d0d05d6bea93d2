/* BLAS on the threads that call it.
 *
 * Kernels cut large products into parts and share them out to the threads of the pool. Meanwhile BLAS shall use none of
 * its own: there would be more threads than processors, and its threads spin for long after each product. How many it
 * uses is one number for the whole process: the first call that wants it to be one keeps it, the last one puts it back.
 */
static struct {
    _Atomic int lock;
    int holders;                /* calls of kernels that want it to be one */
    int width;                  /* what it was before; kept by the child of a fork that came in between, else 0 */
    int64_t processors;         /* of the machine */
} blas;

/* `threads`: a function that tells the number and one that sets it; `change`: 1, and -1 when it is done. */
static void context_blas(weft_ctx *ctx, void *const *threads, int32_t change)
{
    (void)ctx;
    while (atomic_exchange_explicit(&blas.lock, 1, memory_order_acquire)) cpu_relax();
    void (*set_threads)(int) = (void (*)(int))threads[1];
    if (change > 0 && !blas.holders) {
        if (!blas.width) blas.width = ((int (*)(void))threads[0])();
        set_threads(1);
    }
    blas.holders += change;
    if (!blas.holders) {
        set_threads(blas.width);
        blas.width = 0;
    }
    atomic_store_explicit(&blas.lock, 0, memory_order_release);
}

/* BLAS itself is not called here: another thread may have been in it, with one of its locks. */
static void blas_after_fork_in_child(void)
{
    blas.holders = 0;
    atomic_store(&blas.lock, 0);
}

static void blas_init(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    blas.processors = processors < 1 ? 1 : processors;
    pthread_atfork(NULL, NULL, blas_after_fork_in_child);
}
