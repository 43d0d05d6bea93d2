/* Does a call fit a variant? Fetches the object of every slot, checks it and fills the kernel's arguments. */

enum slot_kind { SLOT_PARAM = 1, SLOT_GLOBAL, SLOT_CELL, SLOT_ATTRIBUTE, SLOT_ITEM, SLOT_MAPPING, SLOT_CONVERTED };
enum arg_kind {
    ARG_ARRAY = 1, ARG_PY_BOOL, ARG_PY_INT, ARG_PY_FLOAT, ARG_PY_COMPLEX, ARG_NP_SCALAR, ARG_STATIC, ARG_OBJECT,
    ARG_TUPLE, ARG_IGNORED, ARG_LIST, ARG_DICT,
};
enum match_result { NO_MATCH, MATCH, OVERLAP };
enum { MAX_NDIM = 16 };
static const int64_t MAX_EXTENT = (int64_t)1 << 40;

enum generator_slot { NO_GENERATOR, GENERATOR_WORDS, GENERATOR_NORMAL };
typedef struct { int kind, index, parent, generator; PyObject *name; } slot_record;
typedef struct {
    int kind, dtype, ndim, flags, same_as; /* flags: NumPy's that must be set */
    int written, array;                    /* array: number among the ARRAY slots */
    uint32_t ones, repeated;               /* axes: of length 1; with stride 0 and another length */
    int64_t dense_below;                   /* ARRAY: dense ones fit if they have fewer elements; 0: all do */
    int64_t length;                        /* TUPLE, LIST: items; ARRAY: the order of its axes (pack_order), 0: any */
    PyObject *value;                       /* STATIC: the value, OBJECT, TUPLE: the class (None: tuple), DICT: keys */
} arg_record;
typedef struct {
    int recipe_start, has_frames;
} exit_record;

typedef struct { int dtype, ndim; } result_record; /* ndim -1: a number */
typedef struct {
    int recipe_start, first, result_count; /* first: of its results in out[] */
    int changes;                           /* something besides its results: it cannot be repeated */
    result_record *results;
} call_record;

/* One compiled kernel with its tables. Reference-counted under the GIL: a running call keeps it alive. */
typedef struct {
    int64_t references, calls;
    pace pace;             /* of its brief regions */
    team_pace teams[TEAM_LOOPS]; /* of its loops for teams */
    int32_t (*kernel)(weft_ctx *, const weft_value *, weft_value *);
    int slot_count, out_count, exit_count, call_count, array_count, extent_count, made_count, has_writebacks, may_warn;
    int alone;             /* nothing with threads of its own is called */
    int generator_count;   /* slots with the words of one */
    slot_record *slots;
    arg_record *args;
    exit_record *exits;
    call_record *calls_made;
    result_record *results;
    int32_t *recipes;
    void **library;
    PyObject *names, *values, *constants;             /* tuples; names and values own what the records point to */
    PyObject *on_resume, *on_finish, *on_warn, *numpy_calls;
} variant;

typedef struct { PyArrayObject *array; weft_block *block; } made_array;

/* The memory of one call, carved from one piece. */
typedef struct {
    PyObject **objects;   /* slot objects, owned */
    int held;
    weft_value *values, *out;
    weft_block *blocks;   /* of argument arrays */
    int64_t *extents;     /* copies of argument shapes and strides: another thread may reshape an array meanwhile */
    int64_t *low, *high;  /* address range of each array */
    made_array *made;     /* result arrays so far */
    int made_count;
} call_frame;

typedef struct {
    PyObject *globals, *builtins, *cells;
    PyObject *const *bound; /* parameters */
} environment;

/* ---------------------------------------------------------------- slots */
static PyObject *fetch_borrowed(const slot_record *slot, const environment *env, PyObject **objects)
{
    PyObject *found;
    switch (slot->kind) {
    case SLOT_PARAM: return env->bound[slot->index];
    case SLOT_GLOBAL:
        found = PyDict_GetItemWithError(env->globals, slot->name);
        return found ? found : PyDict_GetItemWithError(env->builtins, slot->name);
    case SLOT_ITEM: /* the parent was checked: a tuple, or a list */
        found = objects[slot->parent];
        return Py_TYPE(found) == &PyList_Type ? PyList_GetItem(found, slot->index) : PyTuple_GetItem(found, slot->index);
    case SLOT_MAPPING: return PyDict_GetItemWithError(objects[slot->parent], slot->name);
    default: return NULL;
    }
}

static PyObject *generator_words(PyObject *generator, int of_normal); /* generators.c */

/* New reference, or NULL without an error: the slot's object does not exist. */
static PyObject *fetch_slot(const slot_record *slot, const environment *env, PyObject **objects)
{
    PyObject *object;
    if (slot->kind == SLOT_CELL) object = PyCell_Get(PyTuple_GetItem(env->cells, slot->index));
    else if (slot->kind == SLOT_ATTRIBUTE) object = PyObject_GetAttr(objects[slot->index], slot->name);
    else if (slot->generator) object = generator_words(objects[slot->index], slot->generator == GENERATOR_NORMAL);
    else if (slot->kind == SLOT_CONVERTED) object = convert(objects[slot->index], slot->name);
    else {
        object = fetch_borrowed(slot, env, objects);
        if (object) Py_IncRef(object);
    }
    if (!object && PyErr_Occurred()) PyErr_Clear();
    return object;
}

/* ---------------------------------------------------------------- static values */
static int same_double(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static int static_equal(PyObject *a, PyObject *b);

static int tuples_equal(PyObject *a, PyObject *b)
{
    Py_ssize_t n = PyTuple_Size(a);
    if (n != PyTuple_Size(b)) return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!static_equal(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i))) return 0;
    return 1;
}

static int slices_equal(PyObject *a, PyObject *b)
{
    struct slice { PyObject head; PyObject *start, *stop, *step; } *x = (void *)a, *y = (void *)b;
    return static_equal(x->start, y->start) && static_equal(x->stop, y->stop) && static_equal(x->step, y->step);
}

/* Same type and equal, floats by their bits (0.0 is not -0.0, NaN is NaN), containers item by item. */
static int static_equal(PyObject *a, PyObject *b)
{
    if (a == b) return 1;
    if (Py_TYPE(a) != Py_TYPE(b)) return 0;
    if (Py_TYPE(a) == &PyFloat_Type) return same_double(PyFloat_AsDouble(a), PyFloat_AsDouble(b));
    if (Py_TYPE(a) == &PyComplex_Type)
        return same_double(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b)) &&
               same_double(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b));
    if (Py_TYPE(a) == &PyTuple_Type) return tuples_equal(a, b);
    if (Py_TYPE(a) == &PySlice_Type) return slices_equal(a, b);
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal > 0;
}

/* ---------------------------------------------------------------- containers */
/* The very class in `value`, or tuple itself. */
static int check_tuple(const arg_record *arg, PyObject *object)
{
    PyTypeObject *wanted = arg->value == Py_None ? &PyTuple_Type : (PyTypeObject *)arg->value;
    return Py_TYPE(object) == wanted && PyTuple_Size(object) == arg->length;
}

/* Exactly these keys, in this order: iteration over the dict gives what it gave when the program was compiled. */
static int check_dict(const arg_record *arg, PyObject *object)
{
    PyObject *key, *held;
    Py_ssize_t place = 0, count = PyTuple_Size(arg->value);
    if (Py_TYPE(object) != &PyDict_Type || PyDict_Size(object) != count) return 0;
    for (Py_ssize_t i = 0; PyDict_Next(object, &place, &key, &held); i++)
        if (i >= count || !static_equal(key, PyTuple_GetItem(arg->value, i))) return 0;
    return 1;
}

/* ---------------------------------------------------------------- scalars */
static void read_np_scalar(PyObject *object, int dtype, weft_value *value)
{
    const void *p = object + 1; /* the value follows the object head */
    switch (dtype) {
    case DT_BOOL: value->i = *(const uint8_t *)p != 0; break;
    case DT_I8: value->i = *(const int8_t *)p; break;
    case DT_I16: value->i = *(const int16_t *)p; break;
    case DT_I32: value->i = *(const int32_t *)p; break;
    case DT_U8: value->i = *(const uint8_t *)p; break;
    case DT_U16: value->i = *(const uint16_t *)p; break;
    case DT_U32: value->i = *(const uint32_t *)p; break;
    case DT_I64: case DT_U64: value->i = *(const int64_t *)p; break;
    case DT_F32: value->f = *(const float *)p; break;
    case DT_F64: value->f = *(const double *)p; break;
    case DT_C64: value->c[0] = ((const float *)p)[0]; value->c[1] = ((const float *)p)[1]; break;
    default: value->c[0] = ((const double *)p)[0]; value->c[1] = ((const double *)p)[1]; break;
    }
}

static int read_py_int(PyObject *object, weft_value *value)
{
    int overflow = 0;
    value->i = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

static int check_scalar(const arg_record *arg, PyObject *object, weft_value *value)
{
    PyTypeObject *type = Py_TYPE(object);
    switch (arg->kind) {
    case ARG_PY_BOOL:
        if (type != &PyBool_Type) return 0;
        value->i = PyObject_IsTrue(object);
        return 1;
    case ARG_PY_INT: return type == &PyLong_Type && read_py_int(object, value);
    case ARG_PY_FLOAT:
        if (type != &PyFloat_Type) return 0;
        value->f = PyFloat_AsDouble(object);
        return 1;
    case ARG_PY_COMPLEX:
        if (type != &PyComplex_Type) return 0;
        value->c[0] = PyComplex_RealAsDouble(object);
        value->c[1] = PyComplex_ImagAsDouble(object);
        return 1;
    case ARG_NP_SCALAR:
        if (type != dtypes[arg->dtype].scalar_type) return 0;
        read_np_scalar(object, arg->dtype, value);
        return 1;
    case ARG_STATIC: return static_equal(object, arg->value);
    case ARG_OBJECT: return type == (PyTypeObject *)arg->value;
    case ARG_TUPLE: return check_tuple(arg, object);
    case ARG_LIST: return type == &PyList_Type && PyList_Size(object) == arg->length;
    case ARG_DICT: return check_dict(arg, object);
    default: return arg->kind == ARG_IGNORED;
    }
}

/* ---------------------------------------------------------------- arrays */
/* From the slowest axis to the fastest, strides do not grow, and the same axes are repeated; those of length 1 do not
 * count. */
static int in_order(const arg_record *arg, const PyArrayObject *array)
{
    int64_t last = INT64_MAX;
    uint32_t repeated = 0;
    for (int64_t code = arg->length; code > 1; code >>= 4) {
        int axis = (int)(code & 15);
        int64_t stride = array->strides[axis] < 0 ? -array->strides[axis] : array->strides[axis];
        if (array->shape[axis] == 1) continue;
        if (stride > last) return 0;
        if (stride == 0) repeated |= 1u << axis;
        last = stride;
    }
    return repeated == arg->repeated;
}

/* A kernel for strides takes small dense arrays too, which are not worth another; for large ones there is a faster one,
 * made or to be made. */
static int wants_dense_kernel(const arg_record *arg, const PyArrayObject *array)
{
    if (!arg->dense_below || !(array->flags & (NPY_C_CONTIGUOUS | NPY_F_CONTIGUOUS))) return 0;
    int64_t size = 1;
    for (int d = 0; d < array->ndim && size; d++) {
        if (array->shape[d] > MAX_EXTENT / size) return 1;
        size *= array->shape[d];
    }
    return size >= arg->dense_below;
}

static int array_fits(const arg_record *arg, PyObject *object)
{
    if (Py_TYPE(object) != numpy.array_type) return 0;
    const PyArrayObject *array = (const PyArrayObject *)object;
    return array->ndim == arg->ndim && (array->flags & arg->flags) == arg->flags &&
           array->descr->type_num == dtypes[arg->dtype].type_num && array->descr->byteorder != FOREIGN_BYTE_ORDER &&
           in_order(arg, array) && !wants_dense_kernel(arg, array);
}

/* Copies the shape and strides, checks the extents, finds the address range; returns 0 when the array does not fit. */
static int read_array(const arg_record *arg, PyObject *object, call_frame *frame, int64_t *extents, weft_value *value)
{
    PyArrayObject *array = (PyArrayObject *)object;
    int64_t low = (int64_t)array->data, high = low + dtypes[arg->dtype].size;
    uint32_t ones = 0;
    int empty = 0;
    for (int d = 0; d < arg->ndim; d++) {
        int64_t extent = array->shape[d], stride = array->strides[d];
        extents[d] = extent;
        extents[arg->ndim + d] = stride;
        if (extent > MAX_EXTENT) return 0;
        if (extent == 1) ones |= 1u << d;
        if (extent == 0) empty = 1;
        if (stride > 0) high += stride * (extent - 1);
        else low += stride * (extent - 1);
    }
    if (ones != arg->ones) return 0;
    frame->low[arg->array] = low;
    frame->high[arg->array] = empty ? low : high;
    weft_block *block = &frame->blocks[arg->array];
    *block = (weft_block){.data = array->data, .size_bytes = empty ? 0 : high - low, .owners = 1, .object = object};
    value->a = (weft_array){array->data, block, extents, extents + arg->ndim};
    return 1;
}

static int same_array(const weft_array *a, const weft_array *b, int ndim)
{
    if (a->data != b->data) return 0;
    for (int d = 0; d < ndim; d++)
        if (a->shape[d] != b->shape[d] || a->strides[d] != b->strides[d]) return 0;
    return 1;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Bytes from the first to the last of one "item" made of the axes with |stride| < limit; other strides: *step. */
static int64_t item_span(const weft_array *array, int ndim, int64_t size, int64_t limit, int64_t *step)
{
    for (int d = 0; d < ndim; d++) {
        if (array->shape[d] == 1) continue;
        int64_t stride = array->strides[d] < 0 ? -array->strides[d] : array->strides[d];
        if (stride >= limit) *step = gcd(*step, stride);
        else size += stride * (array->shape[d] - 1);
    }
    return size;
}

/* Proof that two arrays share no byte though their ranges meet: for some split into inner and outer axes, the outer
 * strides are all multiples of one step within which the inner items lie apart (columns, halves of a matrix,
 * a[::2] and a[1::2]). `distance` is from the lowest byte of a to that of b. */
static int interleaved(const weft_array *a, int a_ndim, int64_t a_size, const weft_array *b, int b_ndim, int64_t b_size,
                       int64_t distance)
{
    const weft_array *sides[2] = {a, b};
    int ndims[2] = {a_ndim, b_ndim};
    for (int side = 0; side < 2; side++)
        for (int d = 0; d < ndims[side]; d++) {
            int64_t limit = sides[side]->strides[d], step = 0;
            if (limit < 0) limit = -limit;
            int64_t a_span = item_span(a, a_ndim, a_size, limit, &step);
            int64_t b_span = item_span(b, b_ndim, b_size, limit, &step);
            if (step == 0) continue;
            int64_t offset = (distance % step + step) % step;
            if (offset >= a_span && offset + b_span <= step) return 1;
        }
    return 0;
}

static int ranges_meet(const call_frame *frame, int i, int j)
{
    int empty = frame->low[i] == frame->high[i] || frame->low[j] == frame->high[j];
    return !empty && frame->low[i] < frame->high[j] && frame->low[j] < frame->high[i];
}

/* How slot k relates to the earlier array slot j. */
static enum match_result check_pair(const variant *v, const call_frame *frame, int j, int k)
{
    const arg_record *first = &v->args[j], *second = &v->args[k];
    const weft_array *a = &frame->values[j].a, *b = &frame->values[k].a;
    int comparable = first->dtype == second->dtype && first->ndim == second->ndim;
    int identical = comparable && same_array(a, b, first->ndim);
    if (second->same_as == j) return identical ? MATCH : NO_MATCH;
    if (!(first->written || second->written) || !ranges_meet(frame, first->array, second->array)) return MATCH;
    /* Both are the same as a third slot: already checked against that one. */
    if (first->same_as >= 0 && first->same_as == second->same_as) return MATCH;
    if (identical) return NO_MATCH;
    int64_t distance = frame->low[second->array] - frame->low[first->array];
    if (interleaved(a, first->ndim, dtypes[first->dtype].size, b, second->ndim, dtypes[second->dtype].size, distance))
        return MATCH;
    return OVERLAP;
}

/* May two elements of the array share memory? Each axis must step over all that lies below it. */
static int overlaps_itself(const weft_array *a, int ndim, int64_t size)
{
    uint32_t left = 0;
    int64_t span = size;
    for (int d = 0; d < ndim; d++) {
        if (a->shape[d] == 0) return 0;
        if (a->shape[d] > 1) left |= 1u << d;
    }
    while (left) {
        int smallest = -1;
        int64_t stride = 0;
        for (int d = 0; d < ndim; d++) {
            int64_t absolute = a->strides[d] < 0 ? -a->strides[d] : a->strides[d];
            if (left >> d & 1 && (smallest < 0 || absolute < stride)) smallest = d, stride = absolute;
        }
        if (stride < span) return 1;
        span += stride * (a->shape[smallest] - 1);
        left &= ~(1u << smallest);
    }
    return 0;
}

static enum match_result check_aliases(const variant *v, const call_frame *frame)
{
    enum match_result result = MATCH;
    for (int k = 0; k < v->slot_count; k++) {
        const arg_record *arg = &v->args[k];
        if (arg->kind == ARG_OBJECT && v->has_writebacks)
            for (int j = 0; j < k; j++) /* attributes assigned through one name would not be seen through the other */
                if (v->args[j].kind == ARG_OBJECT && frame->objects[j] == frame->objects[k]) result = OVERLAP;
        if (arg->kind != ARG_ARRAY) continue;
        int dense = (arg->flags & (NPY_C_CONTIGUOUS | NPY_F_CONTIGUOUS)) != 0;
        if (arg->written && !dense && overlaps_itself(&frame->values[k].a, arg->ndim, dtypes[arg->dtype].size))
            result = OVERLAP;
        for (int j = 0; j < k; j++) {
            if (v->args[j].kind != ARG_ARRAY) continue;
            enum match_result pair = check_pair(v, frame, j, k);
            if (pair == NO_MATCH) return NO_MATCH;
            if (pair == OVERLAP) result = OVERLAP;
        }
        if (arg->same_as >= 0) frame->values[k].a.block = frame->values[arg->same_as].a.block;
    }
    return result;
}

/* ---------------------------------------------------------------- the whole call */
static void drop_objects(call_frame *frame)
{
    while (frame->held > 0) Py_DecRef(frame->objects[--frame->held]);
}

static enum match_result match_slots(const variant *v, const environment *env, call_frame *frame)
{
    int64_t *extents = frame->extents;
    for (int k = 0; k < v->slot_count; k++) {
        const arg_record *arg = &v->args[k];
        PyObject *object = fetch_slot(&v->slots[k], env, frame->objects);
        if (!object) return NO_MATCH;
        frame->objects[frame->held++] = object;
        if (arg->kind == ARG_ARRAY) {
            if (!array_fits(arg, object)) return NO_MATCH;
            if (!read_array(arg, object, frame, extents, &frame->values[k])) return NO_MATCH;
            extents += 2 * arg->ndim;
        } else if (!check_scalar(arg, object, &frame->values[k])) return NO_MATCH;
    }
    return v->array_count || v->has_writebacks ? check_aliases(v, frame) : MATCH;
}
