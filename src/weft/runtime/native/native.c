/* The dispatcher as one translation unit, and the functions `native.py` and `dispatcher.py` call. */
#define _GNU_SOURCE
#include "python_api.h"
#include "weft_abi.h"

static int default_width = 1; /* of parallel regions, for dispatchers without their own */

#include "pool.c"
#include "pace.c"
#include "memory.c"
#include "blas.c"
#include "context.c"
#include "convert.c"
#include "match.c"
#include "recipe.c"
#include "generators.c"
#include "variant.c"
#include "dispatch.c"
#include "calls.c"

static PyTypeObject *dispatcher_type;

/* ---------------------------------------------------------------- functions for Python */
static dispatcher *as_dispatcher(PyObject *object)
{
    if (Py_TYPE(object) == dispatcher_type) return (dispatcher *)object;
    PyErr_SetString(PyExc_TypeError, "not a dispatcher");
    return NULL;
}

static PyObject *none(void) { return new_reference(Py_None); }

/* new_dispatcher(positional_only, positional, has_args, has_keywords, names, defaults, globals, builtins, cells, py_func,
 *                on_miss, on_errstate); the names of *args and **kwargs are the last ones */
static PyObject *py_new_dispatcher(PyObject *module, PyObject *arguments)
{
    int positional_only, positional, has_args, has_keywords;
    PyObject *owned[OWNED_OBJECTS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iippOOOOOOOO", &positional_only, &positional, &has_args, &has_keywords, &owned[0],
                          &owned[1], &owned[2], &owned[3], &owned[4], &owned[5], &owned[6], &owned[7]))
        return NULL;
    Py_ssize_t count = PyTuple_Size(owned[0]);
    if (count < 0 || count > MAX_PARAMS || PyTuple_Size(owned[1]) != count || PyTuple_Size(owned[4]) < 0 ||
        positional_only > positional || positional + has_args + has_keywords > count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "malformed signature");
        return NULL;
    }
    dispatcher *self = (dispatcher *)PyType_GenericAlloc(dispatcher_type, 0); /* zeroed and tracked */
    if (!self) return NULL;
    self->vectorcall = dispatcher_call;
    self->param_count = (int)count;
    self->named = (int)count - has_args - has_keywords;
    self->has_args = has_args;
    self->has_keywords = has_keywords;
    self->positional_only = positional_only;
    self->positional = positional;
    for (int i = 0; i < OWNED_OBJECTS; i++) (&self->names)[i] = new_reference(owned[i]);
    return (PyObject *)self;
}

/* add_variant(dispatcher, address, tables, names, values, constants, library, on_resume, on_finish, on_warn,
 *             numpy_calls) */
static PyObject *py_add_variant(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *object = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : Py_None;
    dispatcher *self = as_dispatcher(object);
    if (!self) return NULL;
    variant *v = new_variant(arguments, (int[2]){self->param_count, (int)PyTuple_Size(self->cells)});
    if (!v) return NULL;
    variant **grown = realloc(self->variants, sizeof *grown * (size_t)(self->variant_count + 1));
    if (!grown) {
        free_variant(v);
        return PyErr_NoMemory();
    }
    self->variants = grown;
    self->variants[self->variant_count] = v;
    self->recent = self->variant_count++;
    return none();
}

static PyObject *py_clear_variants(PyObject *module, PyObject *arguments)
{
    PyObject *object;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O", &object) || !as_dispatcher(object)) return NULL;
    clear_variants((dispatcher *)object);
    return none();
}

/* set_threads(dispatcher or None, width): None sets the default of all; a dispatcher's 0 means that default. */
static PyObject *py_set_threads(PyObject *module, PyObject *arguments)
{
    PyObject *object;
    int width;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oi", &object, &width)) return NULL;
    if (object == Py_None) default_width = width < 1 ? 1 : width;
    else if (as_dispatcher(object)) ((dispatcher *)object)->width = width;
    else return NULL;
    return none();
}

/* counters(dispatcher) -> (counters of the dispatcher, calls of each variant) */
static PyObject *py_counters(PyObject *module, PyObject *arguments)
{
    PyObject *object;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O", &object) || !as_dispatcher(object)) return NULL;
    dispatcher *self = (dispatcher *)object;
    PyObject *counters = PyTuple_New(COUNTERS), *calls = PyTuple_New(self->variant_count);
    if (!counters || !calls) return NULL;
    for (int i = 0; i < COUNTERS; i++) PyTuple_SetItem(counters, i, PyLong_FromLongLong(self->counters[i]));
    for (int i = 0; i < self->variant_count; i++)
        PyTuple_SetItem(calls, i, PyLong_FromLongLong(self->variants[i]->calls));
    return Py_BuildValue("(NN)", counters, calls);
}

/* describe(array) -> what this file believes about it, for the self-test. */
static PyObject *py_describe(PyObject *module, PyObject *arguments)
{
    PyObject *object;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O", &object)) return NULL;
    PyArrayObject *a = (PyArrayObject *)object;
    PyObject *shape = PyTuple_New(a->ndim), *strides = PyTuple_New(a->ndim);
    if (!shape || !strides) return NULL;
    for (int d = 0; d < a->ndim; d++) {
        PyTuple_SetItem(shape, d, PyLong_FromLongLong(a->shape[d]));
        PyTuple_SetItem(strides, d, PyLong_FromLongLong(a->strides[d]));
    }
    return Py_BuildValue("(iLNNiiiLii)", Py_TYPE(object) == numpy.array_type, (long long)a->data, shape, strides,
                         a->descr->type_num, (int)a->descr->byteorder, a->flags, (long long)a->descr->itemsize,
                         a->base != NULL, a->memory_handler == numpy.default_memory_handler);
}

static PyObject *py_stop_threads(PyObject *module, PyObject *arguments)
{
    (void)module, (void)arguments;
    PyThreadState *thread = PyEval_SaveThread();
    pool_stop();
    PyEval_RestoreThread(thread);
    return none();
}

static PyObject *py_free_memory(PyObject *module, PyObject *arguments)
{
    (void)module, (void)arguments;
    return PyLong_FromLongLong(free_kept_memory());
}

static PyMethodDef functions[] = {
    {"new_dispatcher", py_new_dispatcher, METH_VARARGS, NULL},
    {"add_variant", py_add_variant, METH_VARARGS, NULL},
    {"clear_variants", py_clear_variants, METH_VARARGS, NULL},
    {"set_threads", py_set_threads, METH_VARARGS, NULL},
    {"counters", py_counters, METH_VARARGS, NULL},
    {"describe", py_describe, METH_VARARGS, NULL},
    {"stop_threads", py_stop_threads, METH_VARARGS, NULL},
    {"free_memory", py_free_memory, METH_VARARGS, NULL},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---------------------------------------------------------------- start */
static PyMemberDef members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(dispatcher, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot type_slots[] = {
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_dealloc, dispatcher_dealloc}, {Py_tp_traverse, dispatcher_traverse},
    {Py_tp_clear, dispatcher_clear}, {Py_tp_members, members}, {0, NULL},
};
static PyType_Spec type_spec = {
    "weft.runtime.dispatcher", sizeof(dispatcher), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    type_slots,
};

static int fill_dtypes(PyObject *numbers, PyObject *scalar_types)
{
    if (PyTuple_Size(numbers) != DT_COUNT || PyTuple_Size(scalar_types) != DT_COUNT) return -1;
    for (int i = 0; i < DT_COUNT; i++) {
        dtypes[i].type_num = (int)PyLong_AsLongLong(PyTuple_GetItem(numbers, i));
        dtypes[i].scalar_type = (PyTypeObject *)new_reference(PyTuple_GetItem(scalar_types, i));
        dtypes[i].descr = numpy.descr_from_type(dtypes[i].type_num);
        if (!dtypes[i].descr) return -1;
        dtypes[i].size = (int)dtypes[i].descr->itemsize;
    }
    return 0;
}

static PyObject *function_tuple(void)
{
    PyObject *tuple = PyTuple_New(FUNCTIONS);
    for (int i = 0; tuple && i < FUNCTIONS; i++) {
        PyObject *function = PyCFunction_NewEx(&functions[i], NULL, NULL);
        if (!function) return NULL;
        PyTuple_SetItem(tuple, i, function);
    }
    return tuple;
}

/* weft_native_start((array_api, type numbers, scalar types, errstate variable, its default, unbound, missing, numpy,
 *                    names of the module `warnings`, "filters", whether filters may raise a RuntimeWarning))
 * -> the functions above, in order. Called once, holding the GIL. */
PyObject *weft_native_start(PyObject *configuration)
{
    PyObject *array_api, *numbers, *scalar_types;
    if (!PyArg_ParseTuple(configuration, "OOOOOOOOOOO", &array_api, &numbers, &scalar_types, &errstate_variable,
                          &errstate_default, &unbound_marker, &missing_marker, &numpy_module, &warnings_names,
                          &filters_name, &on_filters))
        return NULL;
    Py_IncRef(configuration); /* its items are used for the life of the process */
    if (load_numpy(array_api) < 0 || fill_dtypes(numbers, scalar_types) < 0) return NULL;
    dispatcher_type = (PyTypeObject *)PyType_FromSpec(&type_spec);
    if (!dispatcher_type) return NULL;
    result_memory = PyCapsule_New(&result_handler, "mem_handler", NULL);
    if (!result_memory) return NULL;
    pool_init();
    memory_init();
    blas_init();
    return function_tuple();
}
