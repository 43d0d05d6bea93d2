/* Arrays of what is no array: the characters of a string, the numbers in a list, what NumPy makes of an object. */

static PyObject *numpy_module;

/* The characters of a string as an array of uint32. A string never changes. */
static PyObject *code_points(PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-32-le", "surrogatepass");
    if (!bytes) return NULL;
    PyObject *array = PyObject_CallMethod(numpy_module, "frombuffer", "Os", bytes, "u4");
    Py_DecRef(bytes);
    return array;
}

/* One number of a list into an array of the type `held`; 0 where it is of another type than the letter says. */
static int store_number(PyObject *number, char letter, char held, char *data, int64_t place)
{
    PyTypeObject *type = Py_TYPE(number);
    if (letter == 'f') {
        if (type != &PyFloat_Type) return 0;
        ((double *)data)[place] = PyFloat_AsDouble(number);
        return 1;
    }
    if (type != (letter == 'i' ? &PyLong_Type : &PyBool_Type)) return 0;
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || (held == 'f' && (value > 1LL << 53 || value < -(1LL << 53)))) return 0;
    if (held == 'f') ((double *)data)[place] = (double)value;
    else if (held == 'i') ((int64_t *)data)[place] = value;
    else data[place] = (char)value;
    return 1;
}

/* The items of a tuple or list in a list, which must have that length. */
static int store_row(PyObject *row, const char *letters, int64_t width, char held, char *data, int64_t place)
{
    int tuple = letters[-1] == '(';
    if (Py_TYPE(row) != (tuple ? &PyTuple_Type : &PyList_Type)) return 0;
    if ((tuple ? PyTuple_Size(row) : PyList_Size(row)) != width) return 0;
    for (int64_t k = 0; k < width; k++) {
        PyObject *number = tuple ? PyTuple_GetItem(row, k) : PyList_GetItem(row, k);
        if (!number || !store_number(number, letters[tuple ? k : 0], held, data, place + k)) return 0;
    }
    return 1;
}

/* The numbers in a list, as support/number_lists.py says; NULL where it is no such list. */
static PyObject *list_numbers(PyObject *list, const char *letters)
{
    int tuples = *letters == '(', lists = *letters == '[';
    letters += tuples || lists;
    Py_ssize_t count = PyList_Size(list);
    PyObject *first = lists && count > 0 ? PyList_GetItem(list, 0) : NULL;
    if (lists && (!first || Py_TYPE(first) != &PyList_Type)) return NULL;
    int64_t width = lists ? PyList_Size(first) : tuples ? (int64_t)strlen(letters) : 1;
    char held = strchr(letters, 'f') ? 'f' : strchr(letters, 'i') ? 'i' : 'b';
    int64_t shape[2] = {tuples ? count * width : count, width};
    int type_num = dtypes[held == 'f' ? DT_F64 : held == 'i' ? DT_I64 : DT_BOOL].type_num;
    PyObject *array =
        numpy.new_array(numpy.array_type, numpy.descr_from_type(type_num), 1 + lists, shape, NULL, NULL, 0, NULL);
    char *data = array ? ((PyArrayObject *)array)->data : NULL;
    for (Py_ssize_t k = 0; array && k < count; k++) {
        PyObject *item = PyList_GetItem(list, k);
        int fits = item && (tuples || lists ? store_row(item, letters, width, held, data, k * width)
                                            : store_number(item, *letters, held, data, k));
        if (!fits) {
            Py_DecRef(array);
            array = NULL;
        }
    }
    return array;
}

static PyObject *convert_list(PyObject *list, PyObject *name)
{
    PyObject *bytes = PyUnicode_AsEncodedString(name, "ascii", "strict");
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    PyObject *array = text && strncmp(text, "list ", 5) == 0 ? list_numbers(list, text + 5) : NULL;
    if (bytes) Py_DecRef(bytes);
    return array;
}

/* The array of a foreign object by a function of NumPy. It must be the same memory whenever it is asked for: only then
 * does it not matter that the program asks later. */
static PyObject *convert(PyObject *object, PyObject *name)
{
    if (Py_TYPE(object) == &PyUnicode_Type) return code_points(object);
    if (Py_TYPE(object) == &PyList_Type) return convert_list(object, name);
    PyObject *function = PyObject_GetAttr(numpy_module, name);
    if (!function) return NULL;
    PyObject *array = PyObject_Vectorcall(function, &object, 1, NULL);
    PyObject *again = array ? PyObject_Vectorcall(function, &object, 1, NULL) : NULL;
    int steady = again && Py_TYPE(array) == numpy.array_type && Py_TYPE(again) == numpy.array_type &&
                 ((PyArrayObject *)array)->data == ((PyArrayObject *)again)->data;
    Py_DecRef(function);
    if (again) Py_DecRef(again);
    if (array && !steady) {
        Py_DecRef(array);
        array = NULL;
    }
    return array;
}
