/* Calls of NumPy's own functions from inside a kernel: takes the GIL, lends the arguments, takes or copies the results. */

/* The floating-point flags of this thread, taken down: NumPy looks at them, and so does the kernel after the call. */
static uint64_t take_fp_flags(void)
{
    uint64_t flags = 0;
#if defined(__x86_64__)
    flags = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((unsigned)flags & ~0x3fu);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpsr\n\tmsr fpsr, xzr" : "=r"(flags) : : "memory");
#endif
    return flags;
}

static void put_fp_flags(uint64_t flags)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((unsigned)flags);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpsr, %0" : : "r"(flags) : "memory");
#endif
}

enum { ADOPTED_MINIMUM_BYTES = 64 << 10 }; /* NumPy keeps small pieces of memory for itself */

/* The memory of an array that nobody else has, if it is malloc's; NULL if it must be copied. The array then has none.
 * Memory of ours begins at a multiple of 64 bytes and has whole ones of them: this must not be taken for such a piece. */
static weft_block *adopted_memory(call_state *state, PyArrayObject *array, int64_t size_bytes)
{
    if (size_bytes < ADOPTED_MINIMUM_BYTES || array->head.ob_refcnt != 1 || !(array->flags & NPY_OWNDATA) ||
        array->base || array->memory_handler != numpy.default_memory_handler || (uintptr_t)array->data % 64 == 0)
        return NULL;
    weft_block *block = new_block(state, array->data, size_bytes);
    if (!block) return NULL;
    array->flags &= ~NPY_OWNDATA;
    PyTraceMalloc_Untrack(NUMPY_TRACE_DOMAIN, (uintptr_t)array->data);
    return block;
}

/* One result into out[]. The caller of NumPy has checked the types; this only keeps a mistake there from doing harm. */
static int store_result(call_state *state, const result_record *expected, PyObject *object, weft_value *place)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int ndim = expected->ndim < 0 ? 0 : expected->ndim;
    if (Py_TYPE(object) != numpy.array_type || array->ndim != ndim || !(array->flags & NPY_C_CONTIGUOUS)) return 0;
    if (array->descr->type_num != dtypes[expected->dtype].type_num || array->descr->byteorder == FOREIGN_BYTE_ORDER)
        return 0;
    int64_t size = dtypes[expected->dtype].size;
    for (int d = 0; d < ndim; d++) {
        if (array->shape[d] > MAX_EXTENT) return 0;
        size *= array->shape[d];
    }
    if (expected->ndim < 0) {
        memcpy(place, array->data, (size_t)size);
        return 1;
    }
    weft_block *block = adopted_memory(state, array, size);
    if (!block) {
        block = context_alloc(&state->ctx, size);
        if (!block) return 0;
        memcpy(block->data, array->data, (size_t)size);
    }
    memcpy((int64_t *)place->a.shape, array->shape, sizeof(int64_t) * (size_t)ndim);
    place->a.block = block;
    place->a.data = block->data;
    return 1;
}

static int32_t store_results(call_state *state, const call_record *call, PyObject *results, weft_value *out)
{
    if (Py_TYPE(results) != &PyTuple_Type || PyTuple_Size(results) != call->result_count) return WEFT_CALL_LEAVE;
    for (int i = 0; i < call->result_count; i++)
        if (!store_result(state, &call->results[i], PyTuple_GetItem(results, i), &out[call->first + i]))
            return WEFT_CALL_LEAVE;
    return WEFT_CALL_DONE;
}

/* What the kernel has to warn of so far comes first. */
static int pass_on_warnings(call_state *state)
{
    if (!state->warnings_count) return 0;
    int failed = raise_warnings(state->variant, state);
    state->warnings_count = state->warnings_marked = 0;
    return failed;
}

static int32_t call_numpy(call_state *state, int32_t number, weft_value *out)
{
    const variant *v = state->variant;
    if (number < 0 || number >= v->call_count) {
        PyErr_Format(PyExc_SystemError, "a compiled kernel made call %d of %d", number, v->call_count);
        return WEFT_CALL_FAILED;
    }
    if (pass_on_warnings(state) < 0) return WEFT_CALL_FAILED;
    const call_record *call = &v->calls_made[number];
    decoder d = {v, state->frame, state, v->recipes + call->recipe_start, 1};
    PyObject *arguments = decode(&d);
    if (d.shared) Py_DecRef(d.shared);
    if (!arguments) return WEFT_CALL_FAILED;
    PyObject *results = PyObject_Vectorcall(PyTuple_GetItem(v->numpy_calls, number), &arguments, 1, NULL);
    int32_t outcome = results ? store_results(state, call, results, out) : WEFT_CALL_FAILED;
    if (results && results != Py_None && outcome == WEFT_CALL_LEAVE && call->changes) {
        PyErr_NoMemory(); /* the types were checked: there is no room for them, and Python must not draw again */
        outcome = WEFT_CALL_FAILED;
    }
    if (results) Py_DecRef(results);
    Py_DecRef(arguments); /* after the results: they may be views of them */
    return outcome;
}

static int32_t context_call_python(weft_ctx *ctx, int32_t number, weft_value *out)
{
    call_state *state = (call_state *)ctx;
    uint64_t flags = take_fp_flags();
    pool_expect(0);
    PyEval_RestoreThread(state->thread);
    ctx->counters[5] += 1;
    int32_t outcome = call_numpy(state, number, out);
    if (outcome == WEFT_CALL_FAILED) atomic_store(&state->interrupted, 1); /* the error is set */
    state->thread = PyEval_SaveThread();
    put_fp_flags(flags);
    return outcome;
}
