/* Builds the Python object of an exit from its flat recipe and the values the kernel stored (support/abi.py). */

enum recipe_op {
    OP_CONST = 1, OP_SLOT, OP_PY_BOOL, OP_PY_INT, OP_PY_FLOAT, OP_PY_COMPLEX, OP_NP_SCALAR, OP_ARRAY, OP_TUPLE, OP_LIST,
    OP_UNION, OP_UNBOUND, OP_VIEW, OP_CALL, OP_DICT, OP_SHARED, OP_LIST_OF,
};

typedef struct {
    const variant *v;
    call_frame *frame;
    call_state *state;
    const int32_t *word; /* the next to read */
    int lends;           /* arrays only show the kernel's memory, for as long as a call of Python takes */
    PyObject *shared;    /* objects that stand in several places, by number; NULL until there is one */
} decoder;

static PyObject *unbound_marker;

/* ---------------------------------------------------------------- NumPy scalars */
static PyObject *make_np_scalar(const weft_value *value, int dtype)
{
    union { int64_t i; float f[2]; double d[2]; } raw;
    switch (dtype) {
    case DT_F32: raw.f[0] = (float)value->f; break;
    case DT_F64: raw.d[0] = value->f; break;
    case DT_C64: raw.f[0] = (float)value->c[0]; raw.f[1] = (float)value->c[1]; break;
    case DT_C128: raw.d[0] = value->c[0]; raw.d[1] = value->c[1]; break;
    case DT_BOOL: raw.i = value->i != 0; break;
    default: raw.i = value->i; break; /* the low bytes come first on this machine */
    }
    return numpy.scalar(&raw, dtypes[dtype].descr, NULL);
}

/* ---------------------------------------------------------------- arrays */
static int is_same_array(const PyArrayObject *array, const weft_array *wanted, int dtype, int ndim)
{
    if (array->data != wanted->data || array->ndim != ndim) return 0;
    if (array->descr->type_num != dtypes[dtype].type_num) return 0;
    for (int d = 0; d < ndim; d++)
        if (array->shape[d] != wanted->shape[d] || array->strides[d] != wanted->strides[d]) return 0;
    return 1;
}

/* The same elements: strides along axes of length 1 do not count, and of no elements only the shape does. */
static int has_same_elements(const PyArrayObject *array, const weft_array *wanted, int dtype, int ndim)
{
    int empty = 0;
    if (array->ndim != ndim || array->descr->type_num != dtypes[dtype].type_num) return 0;
    for (int d = 0; d < ndim; d++) {
        if (array->shape[d] != wanted->shape[d]) return 0;
        if (array->shape[d] == 0) empty = 1;
    }
    if (empty) return 1;
    for (int d = 0; d < ndim; d++)
        if (array->shape[d] > 1 && array->strides[d] != wanted->strides[d]) return 0;
    return array->data == wanted->data;
}

/* An array over existing memory, without base. */
static PyArrayObject *array_over(void *data, int dtype, int ndim, const int64_t *shape, const int64_t *strides,
                                 int flags)
{
    PyArray_Descr *descr = (PyArray_Descr *)new_reference((PyObject *)dtypes[dtype].descr);
    return (PyArrayObject *)numpy.new_array(numpy.array_type, descr, ndim, shape, strides, data, flags, NULL);
}

static PyObject *view_of(const weft_array *a, int dtype, int ndim, PyObject *base)
{
    int flags = ((PyArrayObject *)base)->flags & NPY_WRITEABLE;
    PyArrayObject *view = array_over(a->data, dtype, ndim, a->shape, a->strides, flags);
    if (!view) return NULL;
    if (numpy.set_base(view, new_reference(base)) < 0) {
        Py_DecRef((PyObject *)view);
        return NULL;
    }
    return (PyObject *)view;
}

/* The array's memory is the caller's: the very argument, or a view of it. */
static PyObject *argument_array(decoder *d, const weft_array *a, int dtype, int ndim)
{
    const variant *v = d->v;
    PyObject *owner = a->block->object;
    if (has_same_elements((PyArrayObject *)owner, a, dtype, ndim)) return new_reference(owner);
    for (int k = 0; k < v->slot_count; k++)
        if (v->args[k].kind == ARG_ARRAY && is_same_array((PyArrayObject *)d->frame->objects[k], a, dtype, ndim))
            return new_reference(d->frame->objects[k]);
    return view_of(a, dtype, ndim, owner);
}

/* Dense from the block's first byte to its last, in whatever order of axes? */
static int covers_block(const weft_array *a, int dtype, int ndim)
{
    int64_t size = dtypes[dtype].size, elements = 1, expected = size;
    for (int d = 0; d < ndim; d++) elements *= a->shape[d];
    if (a->data != a->block->data || elements * size < a->block->size_bytes) return 0;
    uint32_t left = 0;
    for (int d = 0; d < ndim; d++)
        if (a->shape[d] != 1) left |= 1u << d;
    while (left && elements) { /* peel off the axis with the expected stride */
        int found = -1;
        for (int d = 0; d < ndim; d++)
            if (left >> d & 1 && a->strides[d] == expected) found = d;
        if (found < 0) return 0;
        left &= ~(1u << found);
        expected *= a->shape[found];
    }
    return 1;
}

/* NumPy frees the memory of an array with OWNDATA through its handler. */
static void give_memory(PyArrayObject *array, weft_block *block)
{
    array->memory_handler = new_reference(result_memory);
    array->flags |= NPY_OWNDATA;
    block->data = NULL;
}

/* Bytes that own the block, as base of arrays that cover only part of it. */
static PyObject *block_owner(weft_block *block)
{
    int64_t shape = block->size_bytes;
    PyArrayObject *owner = array_over(block->data, DT_U8, 1, &shape, NULL, NPY_WRITEABLE);
    if (owner) give_memory(owner, block);
    return (PyObject *)owner;
}

static PyObject *own_array(decoder *d, const weft_array *a, int dtype, int ndim)
{
    call_frame *frame = d->frame;
    weft_block *block = a->block;
    PyObject *owner = NULL, *array;
    for (int i = 0; i < frame->made_count; i++) {
        if (frame->made[i].block != block) continue;
        if (is_same_array(frame->made[i].array, a, dtype, ndim)) return new_reference((PyObject *)frame->made[i].array);
        if (!owner) owner = (PyObject *)frame->made[i].array;
    }
    if (owner) array = view_of(a, dtype, ndim, owner);
    else if (covers_block(a, dtype, ndim)) {
        array = (PyObject *)array_over(a->data, dtype, ndim, a->shape, a->strides, NPY_WRITEABLE);
        if (array) give_memory((PyArrayObject *)array, block);
    } else {
        owner = block_owner(block);
        if (!owner) return NULL;
        array = view_of(a, dtype, ndim, owner);
        Py_DecRef(owner); /* the view holds it */
    }
    if (array) frame->made[frame->made_count++] = (made_array){(PyArrayObject *)array, block};
    return array;
}

/* `fresh`: a new object, even where it is all of an argument. */
static PyObject *decode_array(decoder *d, int fresh)
{
    const weft_array *a = &d->frame->out[d->word[0]].a;
    int dtype = d->word[1], ndim = d->word[2];
    d->word += 3;
    /* No function that is called writes to them, but many copy what is read-only. */
    if (d->lends) return (PyObject *)array_over(a->data, dtype, ndim, a->shape, a->strides, NPY_WRITEABLE);
    if (!a->block) {
        PyErr_SetString(PyExc_SystemError, "a compiled kernel returned an array without memory");
        return NULL;
    }
    if (!a->block->object) return own_array(d, a, dtype, ndim);
    return fresh ? view_of(a, dtype, ndim, a->block->object) : argument_array(d, a, dtype, ndim);
}

/* ---------------------------------------------------------------- all recipes */
static PyObject *decode(decoder *d);

static PyObject *decode_sequence(decoder *d, int is_list)
{
    int n = *d->word++;
    PyObject *sequence = is_list ? PyList_New(n) : PyTuple_New(n);
    for (int i = 0; sequence && i < n; i++) {
        PyObject *item = decode(d);
        if (!item) {
            Py_DecRef(sequence);
            return NULL;
        }
        if (is_list) PyList_SetItem(sequence, i, item);
        else PyTuple_SetItem(sequence, i, item);
    }
    return sequence;
}

static PyObject *decode_call(decoder *d)
{
    PyObject *cls = PyTuple_GetItem(d->v->constants, *d->word++), *items = decode_sequence(d, 0);
    if (!items) return NULL;
    PyObject *named = PyObject_CallObject(cls, items);
    Py_DecRef(items);
    return named;
}

static PyObject *decode_dict(decoder *d)
{
    int n = *d->word++;
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < n; i++) {
        PyObject *key = decode(d), *value = key ? decode(d) : NULL;
        int failed = !value || PyDict_SetItem(dict, key, value) < 0;
        if (key) Py_DecRef(key);
        if (value) Py_DecRef(value);
        if (failed) {
            Py_DecRef(dict);
            return NULL;
        }
    }
    return dict;
}

/* An object that occurs more than once: built where it is first met, the same one afterwards. */
static PyObject *decode_shared(decoder *d)
{
    const int32_t *end = d->word + 2 + d->word[1];
    PyObject *number = PyLong_FromLongLong(d->word[0]), *result = NULL;
    if (!d->shared) d->shared = PyDict_New();
    if (number && d->shared) result = PyDict_GetItemWithError(d->shared, number);
    if (result) result = new_reference(result);
    else if (number && d->shared) {
        d->word += 2;
        result = decode(d);
        if (result && PyDict_SetItem(d->shared, number, result) < 0) {
            Py_DecRef(result);
            result = NULL;
        }
    }
    if (number) Py_DecRef(number);
    d->word = end;
    return result;
}

static PyObject *list_element(const char *data, int python, int dtype)
{
    if (!python) return numpy.scalar((void *)data, dtypes[dtype].descr, NULL);
    switch (dtype) {
    case DT_BOOL: return PyBool_FromLong(*data != 0);
    case DT_I64: return PyLong_FromLongLong(*(const int64_t *)data);
    case DT_F64: return PyFloat_FromDouble(*(const double *)data);
    default: return PyComplex_FromDoubles(((const double *)data)[0], ((const double *)data)[1]);
    }
}

/* A list of the elements of an array of one axis. */
static PyObject *decode_list_of(decoder *d)
{
    const weft_array *a = &d->frame->out[d->word[0]].a;
    int python = d->word[1], dtype = d->word[2];
    d->word += 3;
    PyObject *list = PyList_New((Py_ssize_t)a->shape[0]);
    for (int64_t i = 0; list && i < a->shape[0]; i++) {
        PyObject *item = list_element((const char *)a->data + i * a->strides[0], python, dtype);
        if (!item) {
            Py_DecRef(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *decode_union(decoder *d)
{
    int64_t tag = d->frame->out[d->word[0]].i;
    int n = d->word[1];
    PyObject *result = NULL;
    d->word += 2;
    for (int i = 0; i < n; i++) {
        const int32_t *end = d->word + 1 + d->word[0];
        d->word++;
        if (i == tag) {
            result = decode(d);
            if (!result) return NULL;
        }
        d->word = end;
    }
    if (!result) PyErr_Format(PyExc_SystemError, "a compiled kernel chose alternative %lld of %d", (long long)tag, n);
    return result;
}

static PyObject *decode(decoder *d)
{
    int op = *d->word++;
    if (op == OP_UNBOUND) return new_reference(unbound_marker);
    if (op == OP_ARRAY || op == OP_VIEW) return decode_array(d, op == OP_VIEW);
    if (op == OP_UNION) return decode_union(d);
    if (op == OP_TUPLE || op == OP_LIST) return decode_sequence(d, op == OP_LIST);
    if (op == OP_CALL) return decode_call(d);
    if (op == OP_DICT) return decode_dict(d);
    if (op == OP_SHARED) return decode_shared(d);
    if (op == OP_LIST_OF) return decode_list_of(d);
    int index = *d->word++;
    const weft_value *value = &d->frame->out[index]; /* not an address for CONST and SLOT, and not used then */
    switch (op) {
    case OP_CONST: return new_reference(PyTuple_GetItem(d->v->constants, index));
    case OP_SLOT: return new_reference(d->frame->objects[index]);
    case OP_PY_BOOL: return PyBool_FromLong(value->i != 0);
    case OP_PY_INT: return PyLong_FromLongLong(value->i);
    case OP_PY_FLOAT: return PyFloat_FromDouble(value->f);
    case OP_PY_COMPLEX: return PyComplex_FromDoubles(value->c[0], value->c[1]);
    default: return make_np_scalar(value, *d->word++); /* OP_NP_SCALAR: the tables were checked when they came in */
    }
}

/* ---------------------------------------------------------------- checking a recipe before it is used */
typedef struct {
    const int32_t *word, *end;
    int out_count, slot_count, constant_count, arrays; /* arrays: how many the recipe can make */
} recipe_check;

static int in_range(int value, int limit) { return value >= 0 && value < limit; }

static int check_recipe(recipe_check *check);

static int check_items(recipe_check *check, int n)
{
    while (n-- > 0)
        if (!check_recipe(check)) return 0;
    return 1;
}

static int check_union(recipe_check *check)
{
    if (check->end - check->word < 2 || !in_range(check->word[0], check->out_count)) return 0;
    int n = check->word[1];
    check->word += 2;
    while (n-- > 0) {
        if (check->word >= check->end || !in_range(check->word[0], (int)(check->end - check->word))) return 0;
        const int32_t *stop = check->word + 1 + check->word[0];
        check->word++;
        if (!check_recipe(check) || check->word != stop) return 0;
    }
    return 1;
}

static int check_shared(recipe_check *check)
{
    if (check->end - check->word < 2 || !in_range(check->word[1], (int)(check->end - check->word) - 1)) return 0;
    const int32_t *stop = check->word + 2 + check->word[1];
    check->word += 2;
    return check_recipe(check) && check->word == stop;
}

static int is_python_dtype(int dtype)
{
    return dtype == DT_BOOL || dtype == DT_I64 || dtype == DT_F64 || dtype == DT_C128;
}

static int check_list_of(recipe_check *check)
{
    if (check->end - check->word < 3 || !in_range(check->word[0], check->out_count)) return 0;
    int python = check->word[1], dtype = check->word[2];
    check->word += 3;
    return in_range(python, 2) && in_range(dtype, DT_COUNT) && (!python || is_python_dtype(dtype));
}

/* Well-formed, with every index in range? Advances over one recipe. */
static int check_recipe(recipe_check *check)
{
    if (check->word >= check->end) return 0;
    int op = *check->word++;
    if (op == OP_UNBOUND) return 1;
    if (op == OP_UNION) return check_union(check);
    if (op == OP_SHARED) return check_shared(check);
    if (op == OP_LIST_OF) return check_list_of(check);
    if (check->word >= check->end) return 0;
    int first = *check->word++;
    if (op == OP_TUPLE || op == OP_LIST) return first >= 0 && check_items(check, first);
    if (op == OP_CALL) {
        if (!in_range(first, check->constant_count) || check->word >= check->end) return 0;
        int count = *check->word++;
        return count >= 0 && check_items(check, count);
    }
    if (op == OP_DICT) return in_range(first, 1 << 24) && check_items(check, 2 * first);
    if (op == OP_CONST) return in_range(first, check->constant_count);
    if (op == OP_SLOT) return in_range(first, check->slot_count);
    if (!in_range(first, check->out_count)) return 0;
    if (op >= OP_PY_BOOL && op <= OP_PY_COMPLEX) return 1;
    if (op != OP_NP_SCALAR && op != OP_ARRAY && op != OP_VIEW) return 0;
    if (check->word >= check->end || !in_range(*check->word++, DT_COUNT)) return 0;
    if (op == OP_NP_SCALAR) return 1;
    check->arrays++;
    return check->word < check->end && in_range(*check->word++, MAX_NDIM + 1);
}
