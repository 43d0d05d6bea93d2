/* Variants: read from the flat tables `dispatcher.py` packs, checked, kept and freed. */

/* A reader of int64 words that never runs past the end; the first fault sticks. */
typedef struct { const int64_t *word, *end; int bad; } table_reader;

static int64_t next_word(table_reader *reader)
{
    if (reader->word >= reader->end) {
        reader->bad = 1;
        return 0;
    }
    return *reader->word++;
}

static int next_within(table_reader *reader, int64_t low, int64_t high)
{
    int64_t value = next_word(reader);
    if (value < low || value > high) reader->bad = 1;
    return reader->bad ? 0 : (int)value;
}

static int has_items(const arg_record *arg) { return arg->kind == ARG_TUPLE || arg->kind == ARG_LIST; }

static int is_named(PyObject *name, const char *text)
{
    PyObject *wanted = Py_BuildValue("s", text);
    int same = wanted && PyObject_RichCompareBool(name, wanted, Py_EQ) == 1;
    if (wanted) Py_DecRef(wanted);
    return same;
}

static void read_slot(table_reader *reader, variant *v, int k, const int limits[2])
{
    slot_record *slot = &v->slots[k];
    slot->kind = next_within(reader, SLOT_PARAM, SLOT_CONVERTED);
    int highest = slot->kind == SLOT_PARAM ? limits[0] - 1 : slot->kind == SLOT_CELL ? limits[1] - 1
                : slot->kind == SLOT_ATTRIBUTE || slot->kind == SLOT_CONVERTED ? k - 1 : 1 << 30;
    slot->index = next_within(reader, 0, highest);
    slot->parent = next_within(reader, slot->kind == SLOT_ITEM || slot->kind == SLOT_MAPPING ? 0 : -1, k - 1);
    slot->name = PyTuple_GetItem(v->names, k);
    if (slot->kind == SLOT_CONVERTED && slot->name)
        slot->generator = is_named(slot->name, BIT_GENERATOR) ? GENERATOR_WORDS
                        : is_named(slot->name, KEPT_NORMAL) ? GENERATOR_NORMAL : NO_GENERATOR;
    v->generator_count += slot->generator == GENERATOR_WORDS;
    if (!slot->name || (slot->kind == SLOT_ITEM && !has_items(&v->args[slot->parent]))) reader->bad = 1;
}

static void read_arg(table_reader *reader, variant *v, int k)
{
    static const int layout_flags[] = {0, NPY_C_CONTIGUOUS, NPY_F_CONTIGUOUS};
    arg_record *arg = &v->args[k];
    arg->kind = next_within(reader, ARG_ARRAY, ARG_DICT);
    arg->dtype = next_within(reader, 0, DT_COUNT - 1);
    arg->ndim = next_within(reader, 0, MAX_NDIM);
    arg->flags = NPY_ALIGNED | layout_flags[next_within(reader, 0, 2)];
    arg->ones = (uint32_t)next_word(reader);
    arg->written = next_within(reader, 0, 1);
    if (arg->written) arg->flags |= NPY_WRITEABLE;
    arg->same_as = next_within(reader, -1, k - 1);
    arg->length = next_word(reader);
    arg->repeated = (uint32_t)next_word(reader);
    arg->dense_below = next_word(reader);
    arg->value = PyTuple_GetItem(v->values, k);
    if (!arg->value || (arg->kind == ARG_DICT && PyTuple_Size(arg->value) < 0)) reader->bad = 1;
    if (arg->kind != ARG_ARRAY) return;
    if (arg->same_as >= 0 && v->args[arg->same_as].kind != ARG_ARRAY) reader->bad = 1;
    arg->array = v->array_count++;
    v->extent_count += 2 * arg->ndim;
}

/* Copies the words of one recipe and checks them; where the next one begins. `arrays`: how many it can make. */
static int read_recipe(table_reader *reader, variant *v, int used, int *arrays)
{
    int count = next_within(reader, 1, 1 << 24);
    for (int i = 0; i < count && !reader->bad; i++) v->recipes[used++] = (int32_t)next_word(reader);
    if (reader->bad) return used;
    recipe_check check = {v->recipes + used - count, v->recipes + used, v->out_count, v->slot_count,
                          (int)PyTuple_Size(v->constants), 0};
    if (!check_recipe(&check) || check.word != check.end) reader->bad = 1;
    if (arrays) *arrays = check.arrays;
    return used;
}

static int read_exits(table_reader *reader, variant *v)
{
    int used = 0, arrays = 0;
    for (int e = 0; e < v->exit_count && !reader->bad; e++) {
        v->exits[e].has_frames = next_within(reader, 0, 1);
        v->exits[e].recipe_start = used;
        used = read_recipe(reader, v, used, &arrays);
        if (arrays > v->made_count) v->made_count = arrays;
    }
    return used;
}

static void read_calls(table_reader *reader, variant *v, int used)
{
    int results = 0;
    for (int c = 0; c < v->call_count && !reader->bad; c++) {
        call_record *call = &v->calls_made[c];
        call->recipe_start = used;
        used = read_recipe(reader, v, used, NULL);
        call->changes = next_within(reader, 0, 1);
        call->first = next_within(reader, 0, v->out_count);
        call->result_count = next_within(reader, 0, v->out_count - call->first);
        call->results = v->results + results;
        for (int i = 0; i < call->result_count && !reader->bad; i++, results++) {
            v->results[results].dtype = next_within(reader, 0, DT_COUNT - 1);
            v->results[results].ndim = next_within(reader, -1, MAX_NDIM);
        }
    }
}

static void free_variant(variant *v)
{
    if (--v->references > 0) return;
    free(v->slots);
    free(v->args);
    free(v->exits);
    free(v->calls_made);
    free(v->results);
    free(v->recipes);
    free(v->library);
    PyObject *objects[] = {v->names, v->values, v->constants, v->on_resume, v->on_finish, v->on_warn, v->numpy_calls};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (objects[i]) Py_DecRef(objects[i]);
    free(v);
}

static int allocate_tables(variant *v, size_t words)
{
    v->slots = calloc((size_t)v->slot_count + 1, sizeof *v->slots);
    v->args = calloc((size_t)v->slot_count + 1, sizeof *v->args);
    v->exits = calloc((size_t)v->exit_count + 1, sizeof *v->exits);
    v->calls_made = calloc((size_t)v->call_count + 1, sizeof *v->calls_made);
    v->results = calloc(words + 1, sizeof *v->results);
    v->recipes = calloc(words + 1, sizeof *v->recipes);
    return v->slots && v->args && v->exits && v->calls_made && v->results && v->recipes;
}

static int read_library(variant *v, PyObject *addresses)
{
    Py_ssize_t n = PyTuple_Size(addresses);
    v->library = calloc((size_t)n + 1, sizeof *v->library);
    if (n < 0 || !v->library) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        v->library[i] = PyLong_AsVoidPtr(PyTuple_GetItem(addresses, i));
        if (!v->library[i] && PyErr_Occurred()) return -1;
    }
    return 0;
}

/* tables: slot_count, out_count, exit_count, has_writebacks, may_warn, alone, call_count; per slot: kind, index, parent, then
 * the arg's kind, dtype, ndim, layout, ones, written, same_as, length, repeated, dense_below; per exit: has_frames, word
 * count, words; per NumPy call: word count, words, changes, first, result count, per result: dtype, ndim. `limits`: how many
 * parameters and cells there are. */
static int read_tables(variant *v, PyObject *tables, const int limits[2])
{
    size_t words = (size_t)PyBytes_Size(tables) / sizeof(int64_t);
    const int64_t *first = (const int64_t *)PyBytes_AsString(tables);
    table_reader reader = {first, first + words, 0};
    v->slot_count = next_within(&reader, 0, 1 << 16);
    v->out_count = next_within(&reader, 0, 1 << 16);
    v->exit_count = next_within(&reader, 1, 1 << 20);
    v->has_writebacks = next_within(&reader, 0, 1);
    v->may_warn = next_within(&reader, 0, 1);
    v->alone = next_within(&reader, 0, 1);
    v->call_count = next_within(&reader, 0, 1 << 16);
    if (PyTuple_Size(v->numpy_calls) != v->call_count) return 0;
    if (reader.bad || PyTuple_Size(v->names) != v->slot_count || PyTuple_Size(v->values) != v->slot_count) return 0;
    if (!allocate_tables(v, words)) return 0;
    for (int k = 0; k < v->slot_count && !reader.bad; k++) {
        read_slot(&reader, v, k, limits);
        if (!reader.bad) read_arg(&reader, v, k);
    }
    int used = reader.bad ? 0 : read_exits(&reader, v);
    if (!reader.bad) read_calls(&reader, v, used);
    return !reader.bad && reader.word == reader.end;
}

static variant *new_variant(PyObject *arguments, const int limits[2])
{
    PyObject *self, *tables, *address, *addresses;
    variant *v = calloc(1, sizeof *v);
    if (!v) return PyErr_NoMemory(), NULL;
    v->references = 1;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOO", &self, &address, &tables, &v->names, &v->values, &v->constants,
                          &addresses, &v->on_resume, &v->on_finish, &v->on_warn, &v->numpy_calls)) {
        free(v);
        return NULL;
    }
    PyObject *owned[] = {v->names, v->values, v->constants, v->on_resume, v->on_finish, v->on_warn, v->numpy_calls};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) Py_IncRef(owned[i]);
    v->kernel = (int32_t (*)(weft_ctx *, const weft_value *, weft_value *))PyLong_AsVoidPtr(address);
    if (v->kernel && !read_library(v, addresses) && read_tables(v, tables, limits)) return v;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "malformed kernel tables");
    free_variant(v);
    return NULL;
}
