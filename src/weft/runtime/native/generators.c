/* NumPy's generators of random numbers: the words a kernel sees of one, and its lock while the kernel runs.
 *
 * The words are the `bitgen_t` of its bit generator (numpy/random/bitgen.h): the state's address and four functions. The
 * lock is what NumPy's own methods hold while they draw. It may be taken again by the thread that has it, so a kernel may
 * call such methods. Several are taken in the order of their addresses: two kernels never wait for each other. */

static const char BIT_GENERATOR[] = "bit generator"; /* names of such slots, as in support/generators.py */
static const char KEPT_NORMAL[] = "kept normal number";
enum { BIT_GENERATOR_WORDS = 5, KEPT_NORMAL_WORDS = 2, FIRST_PLACE = 2, LAST_PLACE = 8 };

static PyObject *words_array(uint64_t *words, int64_t count, PyObject *owner)
{
    static const int64_t stride = sizeof(uint64_t);
    PyArray_Descr *descr = (PyArray_Descr *)new_reference((PyObject *)dtypes[DT_U64].descr);
    PyObject *array = numpy.new_array(numpy.array_type, descr, 1, &count, &stride, words, NPY_WRITEABLE, NULL);
    if (array && numpy.set_base((PyArrayObject *)array, new_reference(owner)) < 0) {
        Py_DecRef(array);
        array = NULL;
    }
    return array;
}

/* Where a RandomState keeps a normal number for the next draw: it has a copy of the words of its bit generator, behind it
 * where that copy is, then an int that says whether there is a number, and the number. NULL: not in this NumPy. */
static uint64_t *kept_normal(PyObject *generator, const uint64_t *words)
{
    uint64_t *object = (uint64_t *)generator;
    for (int place = FIRST_PLACE; place <= LAST_PLACE; place++) {
        uint64_t *copy = object + place, *behind = copy + BIT_GENERATOR_WORDS;
        if (memcmp(copy, words, sizeof *words * BIT_GENERATOR_WORDS) == 0 && behind[0] == (uint64_t)(uintptr_t)copy &&
            (uint32_t)behind[1] <= 1)
            return behind + 1;
    }
    return NULL;
}

static PyObject *generator_words(PyObject *generator, int of_normal)
{
    PyObject *bits = PyObject_GetAttrString(generator, "_bit_generator");
    PyObject *capsule = bits ? PyObject_GetAttrString(bits, "capsule") : NULL;
    uint64_t *words = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    PyObject *array = NULL;
    if (words && of_normal) {
        uint64_t *kept = kept_normal(generator, words);
        if (kept) array = words_array(kept, KEPT_NORMAL_WORDS, generator);
    } else if (words) array = words_array(words, BIT_GENERATOR_WORDS, bits);
    if (capsule) Py_DecRef(capsule);
    if (bits) Py_DecRef(bits);
    return array;
}

/* Calls `acquire` or `release`; -1 with an error. */
static int use_lock(PyObject *lock, const char *method)
{
    PyObject *answer = PyObject_CallMethod(lock, method, NULL);
    if (!answer) return -1;
    Py_DecRef(answer);
    return 0;
}

/* Gives back the locks and the references to them. An error that is set stays. */
static void unlock_generators(PyObject **locks, int count)
{
    PyObject *type, *value, *traceback;
    if (!count) return;
    PyErr_Fetch(&type, &value, &traceback);
    while (count-- > 0) {
        if (use_lock(locks[count], "release") < 0) PyErr_Clear();
        Py_DecRef(locks[count]);
    }
    PyErr_Restore(type, value, traceback);
}

/* The locks of all generators among the slots, each once, by address; how many, -1 with an error. */
static int find_locks(const variant *v, const call_frame *frame, PyObject **locks)
{
    int count = 0;
    for (int k = 0; k < v->slot_count; k++) {
        if (v->slots[k].generator != GENERATOR_WORDS) continue;
        PyObject *lock = PyObject_GetAttrString(((PyArrayObject *)frame->objects[k])->base, "lock");
        if (!lock) {
            while (count > 0) Py_DecRef(locks[--count]);
            return -1;
        }
        int place = 0;
        while (place < count && (uintptr_t)locks[place] < (uintptr_t)lock) place++;
        if (place < count && locks[place] == lock) {
            Py_DecRef(lock);
            continue;
        }
        memmove(locks + place + 1, locks + place, sizeof *locks * (size_t)(count - place));
        locks[place] = lock;
        count++;
    }
    return count;
}

/* Takes the locks of a call's generators; how many, -1 with an error and none of them. */
static int lock_generators(const variant *v, const call_frame *frame, PyObject **locks)
{
    int count = v->generator_count ? find_locks(v, frame, locks) : 0;
    for (int i = 0; i < count; i++) {
        if (use_lock(locks[i], "acquire") == 0) continue;
        for (int k = i; k < count; k++) Py_DecRef(locks[k]);
        unlock_generators(locks, i);
        return -1;
    }
    return count;
}
