/* The part of the Python and NumPy C interfaces the dispatcher uses, declared here so that neither Python.h nor NumPy's
 * headers need to be installed. The Python functions belong to the stable ABI; the layouts are those of NumPy 2 on a
 * 64-bit machine. `native.py` compares every layout with what Python says about real arrays before the first call, and
 * leaves Weft in Python when one does not match.
 */
#ifndef WEFT_PYTHON_API_H
#define WEFT_PYTHON_API_H
#include <stddef.h>
#include <stdint.h>

typedef struct PyTypeObject PyTypeObject;
typedef struct PyObject { int64_t ob_refcnt; PyTypeObject *ob_type; } PyObject;
typedef struct PyThreadState PyThreadState;
typedef int64_t Py_ssize_t;
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);

/* ---------------------------------------------------------------- objects */
void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
int PyObject_RichCompareBool(PyObject *, PyObject *, int);
PyObject *PyObject_GetAttr(PyObject *, PyObject *);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
PyObject *PyObject_CallObject(PyObject *, PyObject *);
PyObject *PyVectorcall_Call(PyObject *, PyObject *, PyObject *);
int PyObject_IsTrue(PyObject *);
PyObject *PyObject_Repr(PyObject *);
void PyObject_GC_Track(void *);
void PyObject_GC_UnTrack(void *);
void PyObject_GC_Del(void *);
PyObject *PyType_GenericAlloc(PyTypeObject *, Py_ssize_t);
int PyTraceMalloc_Untrack(unsigned int, uintptr_t);
#define NUMPY_TRACE_DOMAIN 389047 /* under which NumPy tells tracemalloc of its arrays */

extern PyObject _Py_NoneStruct;
extern PyTypeObject PyBool_Type, PyLong_Type, PyFloat_Type, PyComplex_Type, PyTuple_Type, PyUnicode_Type, PySlice_Type,
    PyList_Type, PyDict_Type;
extern PyObject *PyExc_SystemError, *PyExc_TypeError, *PyExc_ValueError, *PyExc_MemoryError;
#define Py_None (&_Py_NoneStruct)
#define Py_TYPE(o) (((PyObject *)(o))->ob_type)
#define Py_EQ 2

static inline PyObject *new_reference(PyObject *o) { Py_IncRef(o); return o; }

/* ---------------------------------------------------------------- values */
PyObject *PyBool_FromLong(long);
PyObject *PyLong_FromLongLong(long long);
PyObject *PyFloat_FromDouble(double);
PyObject *PyComplex_FromDoubles(double, double);
long long PyLong_AsLongLong(PyObject *);
long long PyLong_AsLongLongAndOverflow(PyObject *, int *);
void *PyLong_AsVoidPtr(PyObject *);
double PyFloat_AsDouble(PyObject *);
double PyComplex_RealAsDouble(PyObject *);
double PyComplex_ImagAsDouble(PyObject *);
PyObject *PyTuple_New(Py_ssize_t);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyList_New(Py_ssize_t);
PyObject *PyList_GetItem(PyObject *, Py_ssize_t);
Py_ssize_t PyList_Size(PyObject *);
int PyList_SetItem(PyObject *, Py_ssize_t, PyObject *);
int PyList_Append(PyObject *, PyObject *);
PyObject *PyDict_New(void);
int PyDict_SetItem(PyObject *, PyObject *, PyObject *);
PyObject *PyDict_GetItemWithError(PyObject *, PyObject *);
int PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **);
Py_ssize_t PyDict_Size(PyObject *);
PyObject *PyCell_Get(PyObject *);
PyObject *PyUnicode_AsEncodedString(PyObject *, const char *, const char *);
PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
char *PyBytes_AsString(PyObject *);
Py_ssize_t PyBytes_Size(PyObject *);
PyObject *Py_BuildValue(const char *, ...);
int PyArg_ParseTuple(PyObject *, const char *, ...);
void *PyCapsule_GetPointer(PyObject *, const char *);
PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
int PyContextVar_Get(PyObject *, PyObject *, PyObject **);

/* ---------------------------------------------------------------- errors, threads */
void PyErr_SetString(PyObject *, const char *);
PyObject *PyErr_Format(PyObject *, const char *, ...);
PyObject *PyErr_NoMemory(void);
PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
void PyErr_Restore(PyObject *, PyObject *, PyObject *);
int PyErr_CheckSignals(void);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *);

/* ---------------------------------------------------------------- a type of our own (limited API, PEP 384) */
typedef struct { int slot; void *pfunc; } PyType_Slot;
typedef struct { const char *name; int basicsize; int itemsize; unsigned int flags; PyType_Slot *slots; } PyType_Spec;
typedef struct { const char *name; int type; Py_ssize_t offset; int flags; const char *doc; } PyMemberDef;
typedef struct { const char *name; void *function; int flags; const char *doc; } PyMethodDef;
typedef int (*visitproc)(PyObject *, void *);
PyObject *PyType_FromSpec(PyType_Spec *);
PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *self, PyObject *module);
#define Py_tp_call 50
#define Py_tp_clear 51
#define Py_tp_dealloc 52
#define Py_tp_traverse 71
#define Py_tp_members 72
#define Py_TPFLAGS_DEFAULT (1u << 18)
#define Py_TPFLAGS_HAVE_GC (1u << 14)
#define Py_TPFLAGS_HAVE_VECTORCALL (1u << 11)
#define Py_TPFLAGS_DISALLOW_INSTANTIATION (1u << 7)
#define Py_T_PYSSIZET 19
#define Py_READONLY 1
#define METH_VARARGS 1
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << 63)

/* ---------------------------------------------------------------- NumPy */
typedef struct {
    PyObject head;
    PyTypeObject *scalar_type;
    char kind, type, byteorder, former_flags;
    int type_num;
    uint64_t flags;
    int64_t itemsize, alignment;
} PyArray_Descr;

typedef struct {
    PyObject head;
    char *data;
    int ndim;
    int64_t *shape, *strides;
    PyObject *base;
    PyArray_Descr *descr;
    int flags;
    PyObject *weak_references;
    void *buffer_info;
    PyObject *memory_handler;
} PyArrayObject;

#define NPY_C_CONTIGUOUS 0x0001
#define NPY_F_CONTIGUOUS 0x0002
#define NPY_OWNDATA 0x0004
#define NPY_ALIGNED 0x0100
#define NPY_WRITEABLE 0x0400
#define NPY_ABI_MAJOR 2 /* high byte of PyArray_GetNDArrayCVersion */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FOREIGN_BYTE_ORDER '>'
#else
#define FOREIGN_BYTE_ORDER '<'
#endif

typedef PyObject *(*new_array_function)(PyTypeObject *, PyArray_Descr *, int, const int64_t *, const int64_t *, void *,
                                        int, PyObject *);
static struct {
    PyTypeObject *array_type;
    unsigned int (*abi_version)(void);
    PyArray_Descr *(*descr_from_type)(int);                    /* new reference */
    PyObject *(*scalar)(void *, PyArray_Descr *, PyObject *);
    new_array_function new_array;                              /* steals the descr */
    int (*set_base)(PyArrayObject *, PyObject *);              /* steals the base */
    PyObject *default_memory_handler;                          /* of NumPy's own arrays */
} numpy;

/* ABI order of dtypes (support/abi.py DTYPES): NumPy's type number, item size, scalar type. */
enum {
    DT_BOOL, DT_I8, DT_I16, DT_I32, DT_I64, DT_U8, DT_U16, DT_U32, DT_U64, DT_F32, DT_F64, DT_C64, DT_C128,
    DT_COUNT,
};
static struct { int type_num; int size; PyTypeObject *scalar_type; PyArray_Descr *descr; } dtypes[DT_COUNT];

static inline int load_numpy(PyObject *array_api_capsule)
{
    void **api = PyCapsule_GetPointer(array_api_capsule, NULL);
    if (!api) return -1;
    numpy.abi_version = (unsigned int (*)(void))api[0];
    numpy.array_type = api[2];
    numpy.descr_from_type = (PyArray_Descr * (*)(int)) api[45];
    numpy.scalar = (PyObject * (*)(void *, PyArray_Descr *, PyObject *)) api[60];
    numpy.new_array = (new_array_function)api[94];
    numpy.set_base = (int (*)(PyArrayObject *, PyObject *))api[282];
    if (numpy.abi_version() >> 24 != NPY_ABI_MAJOR) {
        PyErr_Format(PyExc_SystemError, "NumPy's C interface has version %x", numpy.abi_version());
        return -1;
    }
    numpy.default_memory_handler = *(PyObject **)api[306];
    return 0;
}
#endif
