/* The callable: binds arguments, finds the variant that fits, runs its kernel without the GIL, builds the result. */

enum { FRAME_BYTES = 3072, MAX_PARAMS = 256 };

/* Counters of one dispatcher, in the order `dispatcher.py` names them. */
enum {
    COUNT_CALLS, COUNT_MISSES, COUNT_PYTHON, COUNT_EXITS, COUNT_ALLOCATIONS, COUNT_BYTES, COUNT_PEAK, COUNT_REGIONS,
    COUNT_NUMPY, COUNTERS,
};

typedef struct {
    PyObject head;
    vectorcallfunc vectorcall;
    int param_count, named, positional_only, positional; /* named: those before *args and **kwargs */
    int has_args, has_keywords;
    int width;
    /* owned; the order is that of new_dispatcher's arguments, for traverse and clear */
    PyObject *names, *defaults, *globals, *builtins, *cells, *py_func, *on_miss, *on_errstate;
    variant **variants;
    int variant_count, recent;
    int64_t counters[COUNTERS];
} dispatcher;
enum { OWNED_OBJECTS = 8 };

static PyObject *errstate_variable, *errstate_default, *missing_marker;
static PyObject *warnings_names, *filters_name, *on_filters;

/* ---------------------------------------------------------------- binding */
static int find_param(const dispatcher *self, PyObject *keyword)
{
    for (int i = self->positional_only; i < self->named; i++)
        if (PyTuple_GetItem(self->names, i) == keyword) return i;
    for (int i = self->positional_only; i < self->named; i++) /* a name that is not interned */
        if (PyObject_RichCompareBool(PyTuple_GetItem(self->names, i), keyword, Py_EQ) == 1) return i;
    return -1;
}

static PyObject *tuple_of(PyObject *const *objects, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) PyTuple_SetItem(tuple, i, new_reference(objects[i]));
    return tuple;
}

/* What `*args` and `**kwargs` are in a call, owned by the caller of `bind`. */
typedef struct { PyObject *args, *keywords; } rest_objects;

static void drop_rest(rest_objects *rest)
{
    if (rest->args) Py_DecRef(rest->args);
    if (rest->keywords) Py_DecRef(rest->keywords);
}

/* Makes the objects of `*args` and `**kwargs`; the dict is filled by `bind`. 0: no memory. */
static int open_rest(const dispatcher *self, PyObject *const *args, Py_ssize_t nargs, rest_objects *rest)
{
    Py_ssize_t more = nargs > self->positional ? nargs - self->positional : 0;
    if (self->has_args) rest->args = tuple_of(args + nargs - more, (int)more);
    if (self->has_keywords) rest->keywords = PyDict_New();
    return (rest->args || !self->has_args) && (rest->keywords || !self->has_keywords);
}

/* Fills `bound` (borrowed); 0 when CPython would raise a TypeError, which is then left to CPython. */
static int bind(const dispatcher *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords, PyObject **bound,
                rest_objects *rest)
{
    if (nargs > self->positional && !self->has_args) return 0;
    for (int i = 0; i < self->named; i++) bound[i] = i < nargs && i < self->positional ? args[i] : NULL;
    Py_ssize_t keyword_count = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t k = 0; k < keyword_count; k++) {
        PyObject *keyword = PyTuple_GetItem(keywords, k);
        int i = find_param(self, keyword);
        if (i < 0 && rest->keywords && PyDict_SetItem(rest->keywords, keyword, args[nargs + k]) == 0) continue;
        if (i < 0 || bound[i]) return 0;
        bound[i] = args[nargs + k];
    }
    int next = self->named;
    if (rest->args) bound[next++] = rest->args;
    if (rest->keywords) bound[next] = rest->keywords;
    for (int i = 0; i < self->named; i++) {
        if (bound[i]) continue;
        bound[i] = PyTuple_GetItem(self->defaults, i);
        if (bound[i] == missing_marker) return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------- leaving for Python */
static PyObject *call_with_tuple(PyObject *function, PyObject *const *objects, int count)
{
    PyObject *tuple = tuple_of(objects, count);
    if (!tuple) return NULL;
    PyObject *result = PyObject_Vectorcall(function, &tuple, 1, NULL);
    Py_DecRef(tuple);
    return result;
}

/* 1: go on, 0: run in Python, -1: error. NumPy keeps its error modes in a context variable; the default warns. */
static int errstate_allows(dispatcher *self)
{
    PyObject *current = NULL;
    if (PyContextVar_Get(errstate_variable, NULL, &current) < 0) return -1;
    int is_default = current == errstate_default;
    if (current) Py_DecRef(current);
    if (is_default) return 1;
    PyObject *answer = PyObject_Vectorcall(self->on_errstate, NULL, 0, NULL);
    if (!answer) return -1;
    int allowed = PyObject_IsTrue(answer);
    Py_DecRef(answer);
    return allowed;
}

/* Could a RuntimeWarning be raised as an error? Asked again only when the list of filters looks different: another list,
 * another length or another first entry (the functions of `warnings` put new ones in front). */
static int filters_raise(void)
{
    static PyObject *known, *known_first;
    static Py_ssize_t known_size;
    static int raises;
    PyObject *filters = PyDict_GetItemWithError(warnings_names, filters_name);
    if (!filters || Py_TYPE(filters) != &PyList_Type) return 1;
    Py_ssize_t size = PyList_Size(filters);
    PyObject *first = size > 0 ? PyList_GetItem(filters, 0) : Py_None;
    if (filters == known && first == known_first && size == known_size) return raises;
    PyObject *before[2] = {known, known_first}; /* held, so that no other object takes their place in memory */
    known = new_reference(filters);
    known_first = new_reference(first);
    known_size = size;
    PyObject *answer = PyObject_Vectorcall(on_filters, NULL, 0, NULL);
    raises = !answer || PyObject_IsTrue(answer);
    if (answer) Py_DecRef(answer);
    else PyErr_Clear();
    for (int i = 0; i < 2; i++)
        if (before[i]) Py_DecRef(before[i]);
    return raises;
}

static int raise_warnings(const variant *v, const call_state *state)
{
    PyObject *list = PyList_New(0);
    if (!list) return -1;
    for (int i = 0; i < state->warnings_count; i++) {
        PyObject *pair = Py_BuildValue("(ii)", (int)state->warnings[i].flags, (int)state->warnings[i].site);
        int failed = !pair || PyList_Append(list, pair) < 0;
        if (pair) Py_DecRef(pair);
        if (failed) {
            Py_DecRef(list);
            return -1;
        }
    }
    PyObject *result = PyObject_Vectorcall(v->on_warn, &list, 1, NULL);
    Py_DecRef(list);
    if (!result) return -1;
    Py_DecRef(result);
    return 0;
}

/* callback(exit index, decoded, slots); takes over the reference to `decoded`. */
static PyObject *call_exit(PyObject *callback, int exit_index, PyObject *decoded, const call_frame *frame,
                           int slot_count)
{
    PyObject *arguments[3] = {PyLong_FromLongLong(exit_index), decoded, tuple_of(frame->objects, slot_count)};
    PyObject *result = arguments[0] && arguments[2] ? PyObject_Vectorcall(callback, arguments, 3, NULL) : NULL;
    for (int i = 0; i < 3; i++)
        if (arguments[i]) Py_DecRef(arguments[i]);
    return result;
}

/* ---------------------------------------------------------------- the kernel */
static PyObject *finish_exit(dispatcher *self, const variant *v, int code, call_frame *frame, call_state *state)
{
    if (atomic_load(&state->interrupted)) return NULL; /* the error is set */
    if (code == WEFT_NO_MEMORY) return PyErr_NoMemory();
    if (code < 0 || code >= v->exit_count)
        return PyErr_Format(PyExc_SystemError, "a compiled kernel left through exit %d of %d", code, v->exit_count);
    decoder d = {v, frame, state, v->recipes + v->exits[code].recipe_start, 0, NULL};
    PyObject *decoded = decode(&d);
    if (d.shared) Py_DecRef(d.shared);
    if (!decoded) return NULL;
    if (state->warnings_count && raise_warnings(v, state) < 0) {
        Py_DecRef(decoded);
        return NULL;
    }
    if (v->exits[code].has_frames) self->counters[COUNT_EXITS]++;
    if (v->has_writebacks) return call_exit(v->on_finish, code, decoded, frame, v->slot_count);
    if (v->exits[code].has_frames) return call_exit(v->on_resume, code, decoded, frame, v->slot_count);
    return decoded;
}

static void add_counters(dispatcher *self, const call_state *state)
{
    self->counters[COUNT_ALLOCATIONS] += state->ctx.counters[0];
    self->counters[COUNT_BYTES] += state->ctx.counters[1];
    self->counters[COUNT_REGIONS] += state->ctx.counters[4];
    self->counters[COUNT_NUMPY] += state->ctx.counters[5];
    if (state->ctx.counters[3] > self->counters[COUNT_PEAK]) self->counters[COUNT_PEAK] = state->ctx.counters[3];
}

static PyObject *run_kernel(dispatcher *self, variant *v, call_frame *frame)
{
    call_state state;
    PyObject *locks[v->generator_count + 1];
    int locked = lock_generators(v, frame, locks);
    if (locked < 0) return NULL;
    int width = self->width > 0 ? self->width : default_width;
    open_state(&state, width, v->library, v->alone, &v->pace, v->teams, v, frame);
    self->counters[COUNT_CALLS]++;
    v->calls++;
    state.thread = PyEval_SaveThread();
    int32_t code = v->kernel(&state.ctx, frame->values, frame->out);
    PyEval_RestoreThread(state.thread);
    unlock_generators(locks, locked);
    if (state.ctx.counters[0] | state.ctx.counters[4] | state.ctx.counters[5]) add_counters(self, &state);
    PyObject *result = finish_exit(self, v, code, frame, &state);
    close_state(&state);
    return result;
}

/* ---------------------------------------------------------------- one call */
static size_t frame_size(const variant *v)
{
    return sizeof(weft_value) * (size_t)(v->slot_count + v->out_count) + sizeof(PyObject *) * (size_t)v->slot_count +
           (sizeof(weft_block) + 2 * sizeof(int64_t)) * (size_t)v->array_count +
           sizeof(int64_t) * (size_t)v->extent_count + sizeof(made_array) * (size_t)v->made_count;
}

static void carve_frame(call_frame *frame, const variant *v, void *memory)
{
    char *next = memory;
#define CARVE(field, count) (frame->field = (void *)next, next += sizeof *frame->field * (size_t)(count))
    CARVE(values, v->slot_count);
    CARVE(out, v->out_count);
    CARVE(objects, v->slot_count);
    CARVE(blocks, v->array_count);
    CARVE(low, v->array_count);
    CARVE(high, v->array_count);
    CARVE(extents, v->extent_count);
    CARVE(made, v->made_count);
#undef CARVE
    frame->held = frame->made_count = 0;
}

/* Tries one variant. MATCH: *result is the call's result or NULL with an error set. */
static enum match_result try_variant(dispatcher *self, variant *v, const environment *env, PyObject **result)
{
    int64_t room[FRAME_BYTES / sizeof(int64_t)];
    size_t needed = frame_size(v);
    void *memory = needed <= sizeof room ? room : malloc(needed);
    *result = NULL;
    if (!memory) {
        PyErr_NoMemory();
        return MATCH;
    }
    call_frame frame;
    carve_frame(&frame, v, memory);
    v->references++; /* fetching attributes and running the kernel may let other threads clear the variants */
    enum match_result match = match_slots(v, env, &frame);
    if (match == MATCH && v->may_warn && filters_raise()) match = OVERLAP;
    if (match == MATCH) *result = run_kernel(self, v, &frame);
    drop_objects(&frame);
    if (memory != room) free(memory);
    free_variant(v);
    return match;
}

static enum match_result try_variants(dispatcher *self, const environment *env, PyObject **result)
{
    int recent = self->recent, overlap = 0;
    for (int i = -1; i < self->variant_count; i++) {
        int index = i < 0 ? recent : i;
        if (i == recent || index >= self->variant_count) continue;
        enum match_result match = try_variant(self, self->variants[index], env, result);
        if (match == MATCH) {
            self->recent = index;
            return MATCH;
        }
        overlap |= match == OVERLAP;
    }
    return overlap ? OVERLAP : NO_MATCH;
}

/* The call with its parameters bound in `env`; `args`, `nargsf` and `keywords` are as they came. */
static PyObject *call_bound(dispatcher *self, const environment *env, PyObject *const *args, size_t nargsf,
                            PyObject *keywords)
{
    PyObject *result = NULL;
    int allowed = errstate_allows(self);
    if (allowed < 0) return NULL;
    enum match_result match = allowed ? try_variants(self, env, &result) : OVERLAP;
    if (match == MATCH) return result;
    if (match == OVERLAP) {
        self->counters[COUNT_PYTHON]++;
        return PyObject_Vectorcall(self->py_func, args, nargsf, keywords);
    }
    self->counters[COUNT_MISSES]++;
    return call_with_tuple(self->on_miss, env->bound, self->param_count);
}

static PyObject *dispatcher_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    dispatcher *self = (dispatcher *)callable;
    Py_ssize_t nargs = (Py_ssize_t)(nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET);
    environment env = {self->globals, self->builtins, self->cells, args};
    if (!keywords && nargs == self->param_count && nargs == self->positional)
        return call_bound(self, &env, args, nargsf, keywords);
    PyObject *filled[MAX_PARAMS], *result = NULL;
    rest_objects rest = {NULL, NULL};
    env.bound = filled;
    if (!open_rest(self, args, nargs, &rest)) result = PyErr_NoMemory();
    else if (bind(self, args, nargs, keywords, filled, &rest)) result = call_bound(self, &env, args, nargsf, keywords);
    else result = PyObject_Vectorcall(self->py_func, args, nargsf, keywords);
    drop_rest(&rest);
    return result;
}

/* ---------------------------------------------------------------- life of a dispatcher */
static void clear_variants(dispatcher *self)
{
    variant **variants = self->variants;
    int count = self->variant_count;
    self->variants = NULL;
    self->variant_count = self->recent = 0;
    for (int i = 0; i < count; i++) free_variant(variants[i]);
    free(variants);
}

static int dispatcher_traverse(PyObject *object, visitproc visit, void *arg)
{
    dispatcher *self = (dispatcher *)object;
    int stop = visit((PyObject *)Py_TYPE(object), arg);
    PyObject **owned = &self->names;
    for (int i = 0; i < OWNED_OBJECTS && !stop; i++)
        if (owned[i]) stop = visit(owned[i], arg);
    for (int i = 0; i < self->variant_count && !stop; i++) {
        variant *v = self->variants[i];
        if (v->references > 1) continue; /* in use by a running call */
        PyObject *objects[] = {v->names,     v->values,    v->constants,  v->on_resume,
                               v->on_finish, v->on_warn, v->numpy_calls};
        for (int k = 0; k < 7 && !stop; k++) stop = visit(objects[k], arg);
    }
    return stop;
}

static int dispatcher_clear(PyObject *object)
{
    dispatcher *self = (dispatcher *)object;
    clear_variants(self);
    PyObject **owned = &self->names;
    for (int i = 0; i < OWNED_OBJECTS; i++) {
        PyObject *held = owned[i];
        owned[i] = NULL;
        if (held) Py_DecRef(held);
    }
    return 0;
}

static void dispatcher_dealloc(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    dispatcher_clear(object);
    PyObject_GC_Del(object);
    Py_DecRef(type);
}
