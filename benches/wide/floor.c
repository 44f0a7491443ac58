/* The floor under the wide workloads, never shipped: a policy compiled by hand for one kind of request, in C.
 *
 *     Policy(...).  decide(policy, request) -> decision.  offset(type, name) -> where instances have a slot
 *
 * It decides as Bobcat does on every request of the workload, and takes all that an author of C would take who knows the
 * workload: requests have exactly these types, an argument is never of another type, the steps of a decision are not
 * counted, nothing is explained. Fields are read by the offsets of their slots, each once a decision; a tool is found in
 * a dict; its rules stand one after the other in one block, in order, with their tests in them; the rules of every tool
 * are a second block, which is walked beside it, and of which those that want one caller are found in a dict.
 *
 * The tests are words: see `Word`. `floor.py` writes them. */

#define PY_SSIZE_T_CLEAN
#define _GNU_SOURCE
#include <Python.h>
#include <structmember.h>
#include <stdint.h>
#include <string.h>

extern void *pattern_new(const char *text, size_t length);
extern int pattern_matches(const void *pattern, const char *text, size_t length);

enum { MAX_FIELDS = 64, MAX_OPERANDS = 16 };
enum { DECISION_FIELDS = 8, TRANSFORM_ARGS = 4 };

typedef enum {
    ALL, ANY, NOT,
    EQ_TEXT, IN_TEXTS, MATCHES, CONTAINS,
    EQ_BOOL,
    EQ_NUMBER, IN_NUMBERS, GT, GE, LT, LE, BETWEEN, NOT_BETWEEN,
    HAS, HAS_ANY, HAS_ALL,
} Op;

/* A test, or a connective before its items, which end before word `end`. */
typedef struct {
    uint8_t op, field;
    uint16_t count;
    uint32_t end;
    union {
        const char *text;
        void *pattern;
        double number;
    } one;
    union {
        size_t length;
        double number;
        struct Operand *operands;
    } two;
} Word;

typedef struct Operand {
    const char *text;
    size_t length;
    double number;
} Operand;

typedef struct {
    uint32_t order, from, end;
    uint32_t changes; /* 0: not a transform; 1: sets a key; 2: deletes it */
    PyObject *decision, *key, *value;
} Rule;

typedef struct {
    Rule *rules;
    Word *words;
    uint32_t count, word_count;
} Bucket;

typedef struct {
    uint8_t source; /* an argument, or a slot of the declaration, the context or the caller */
    Py_ssize_t offset;
    PyObject *key;
} FieldSpec;

typedef struct {
    PyObject_HEAD
    Py_ssize_t tool, args, declared, context, principal, reversible, shadow;
    Py_ssize_t decision_slots[DECISION_FIELDS];
    PyTypeObject *decision_type, *frozen_type;
    uint32_t field_count;
    FieldSpec fields[MAX_FIELDS];
    PyObject *tools;   /* tool -> the number of its bucket */
    PyObject *callers; /* caller -> the numbers of rules of every tool that want it */
    uint32_t caller_field;
    Bucket *buckets;
    uint32_t bucket_count;
    Bucket everywhere;
    uint32_t *anyone; /* those of them that want no one caller */
    uint32_t anyone_count;
    PyObject *no_match, *no_shadow;
    PyObject *kept; /* what the words point into */
} Policy;

static PyTypeObject PolicyType;

/* --- reading a request --- */

typedef struct {
    const Policy *policy;
    PyObject *request, *args;
    uint64_t read;
    PyObject *values[MAX_FIELDS];
} Call;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static PyObject *fetch(Call *call, uint32_t at) {
    const Policy *policy = call->policy;
    const FieldSpec *field = &policy->fields[at];
    PyObject *found;
    switch (field->source) {
        case 0: found = PyDict_GetItemWithError(call->args, field->key); break;
        case 1: found = SLOT(SLOT(call->request, policy->declared), field->offset); break;
        case 2: found = SLOT(SLOT(call->request, policy->context), field->offset); break;
        default:
            found = SLOT(SLOT(SLOT(call->request, policy->context), policy->principal), field->offset);
    }
    call->values[at] = found;
    call->read |= 1ULL << at;
    return found;
}

static inline PyObject *value_of(Call *call, uint32_t at) {
    return call->read >> at & 1 ? call->values[at] : fetch(call, at);
}

static inline const char *text_of(PyObject *value, size_t *length) {
    if (PyUnicode_IS_COMPACT_ASCII(value)) {
        *length = (size_t)PyUnicode_GET_LENGTH(value);
        return (const char *)PyUnicode_DATA(value);
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    *length = (size_t)size;
    return text;
}

static inline int is(PyObject *value, const char *text, size_t length) {
    size_t size;
    const char *own = text_of(value, &size);
    return size == length && memcmp(own, text, length) == 0;
}

static inline double number_of(PyObject *value) {
    return PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : (double)PyLong_AsLong(value);
}

static int has(PyObject *list, const char *text, size_t length) {
    Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
    PyObject **items = PySequence_Fast_ITEMS(list);
    for (Py_ssize_t at = 0; at < size; at++) {
        if (is(items[at], text, length)) {
            return 1;
        }
    }
    return 0;
}

/* --- tests --- */

static int test(Call *call, const Word *word) {
    PyObject *value = value_of(call, word->field);
    if (value == NULL) {
        return 0;
    }
    size_t length;
    const char *text;
    double number;
    switch ((Op)word->op) {
        case EQ_TEXT: return is(value, word->one.text, word->two.length);
        case IN_TEXTS:
            text = text_of(value, &length);
            for (uint32_t at = 0; at < word->count; at++) {
                const Operand *each = &word->two.operands[at];
                if (each->length == length && memcmp(each->text, text, length) == 0) {
                    return 1;
                }
            }
            return 0;
        case MATCHES: text = text_of(value, &length); return pattern_matches(word->one.pattern, text, length);
        case CONTAINS:
            text = text_of(value, &length);
            return memmem(text, length, word->one.text, word->two.length) != NULL;
        case EQ_BOOL: return (value == Py_True) == (word->count != 0);
        case EQ_NUMBER: return number_of(value) == word->one.number;
        case IN_NUMBERS:
            number = number_of(value);
            for (uint32_t at = 0; at < word->count; at++) {
                if (word->two.operands[at].number == number) {
                    return 1;
                }
            }
            return 0;
        case GT: return number_of(value) > word->one.number;
        case GE: return number_of(value) >= word->one.number;
        case LT: return number_of(value) < word->one.number;
        case LE: return number_of(value) <= word->one.number;
        case BETWEEN: number = number_of(value); return word->one.number <= number && number <= word->two.number;
        case NOT_BETWEEN: number = number_of(value); return number < word->one.number || number > word->two.number;
        case HAS: return has(value, word->one.text, word->two.length);
        case HAS_ANY:
            for (uint32_t at = 0; at < word->count; at++) {
                if (has(value, word->two.operands[at].text, word->two.operands[at].length)) {
                    return 1;
                }
            }
            return 0;
        case HAS_ALL:
            for (uint32_t at = 0; at < word->count; at++) {
                if (!has(value, word->two.operands[at].text, word->two.operands[at].length)) {
                    return 0;
                }
            }
            return 1;
        case ALL: case ANY: case NOT: break;
    }
    return 0;
}

static int holds(Call *call, const Word *words, uint32_t at) {
    const Word *word = &words[at];
    switch ((Op)word->op) {
        case ALL:
            for (uint32_t item = at + 1; item < word->end; item = words[item].end) {
                if (!holds(call, words, item)) {
                    return 0;
                }
            }
            return 1;
        case ANY:
            for (uint32_t item = at + 1; item < word->end; item = words[item].end) {
                if (holds(call, words, item)) {
                    return 1;
                }
            }
            return 0;
        case NOT: return !holds(call, words, at + 1);
        default: return test(call, word);
    }
}

static inline int fires(Call *call, const Bucket *bucket, const Rule *rule) {
    for (uint32_t at = rule->from; at < rule->end; at = bucket->words[at].end) {
        if (!holds(call, bucket->words, at)) {
            return 0;
        }
    }
    return 1;
}

/* The first rule before `below` that fires; NULL: none. */
static const Rule *scan(Call *call, const Bucket *own, uint32_t below) {
    const Policy *policy = call->policy;
    const Rule *first = NULL;
    for (uint32_t at = 0; own != NULL && at < own->count && own->rules[at].order < below; at++) {
        if (fires(call, own, &own->rules[at])) {
            first = &own->rules[at];
            below = first->order;
            break;
        }
    }
    const Bucket *all = &policy->everywhere;
    PyObject *named = NULL;
    if (PyDict_GET_SIZE(policy->callers) != 0) {
        named = PyDict_GetItemWithError(policy->callers, value_of(call, policy->caller_field));
    }
    for (Py_ssize_t at = 0; named != NULL && at < PyTuple_GET_SIZE(named); at++) {
        const Rule *rule = &all->rules[PyLong_AsLong(PyTuple_GET_ITEM(named, at))];
        if (rule->order >= below) {
            break;
        }
        if (fires(call, all, rule)) {
            first = rule;
            below = rule->order;
            break;
        }
    }
    for (uint32_t at = 0; at < policy->anyone_count; at++) {
        const Rule *rule = &all->rules[policy->anyone[at]];
        if (rule->order >= below) {
            break;
        }
        if (fires(call, all, rule)) {
            return rule;
        }
    }
    return first;
}

/* --- decisions --- */

static PyObject *changed(const Rule *rule, PyObject *args) {
    PyObject *copy = PyDict_Copy(args);
    if (copy == NULL) {
        return NULL;
    }
    if (rule->changes == 1 ? PyDict_SetItem(copy, rule->key, rule->value)
                           : (PyDict_Contains(copy, rule->key) == 1 && PyDict_DelItem(copy, rule->key))) {
        Py_CLEAR(copy);
    }
    return copy;
}

/* The decision of a rule with other arguments; a transform of an allowed call is the only one in the workload. */
static PyObject *with_args(const Policy *policy, PyObject *decision, PyObject *args) {
    PyObject *frozen = PyObject_CallOneArg((PyObject *)policy->frozen_type, args);
    if (frozen == NULL) {
        return NULL;
    }
    PyObject *made = policy->decision_type->tp_alloc(policy->decision_type, 0);
    if (made == NULL) {
        Py_DECREF(frozen);
        return NULL;
    }
    for (int at = 0; at < DECISION_FIELDS; at++) {
        PyObject *value = at == TRANSFORM_ARGS ? frozen : SLOT(decision, policy->decision_slots[at]);
        SLOT(made, policy->decision_slots[at]) = at == TRANSFORM_ARGS ? value : Py_NewRef(value);
    }
    return made;
}

static PyObject *transformed(Call *call, const Bucket *own, const Rule *rule) {
    PyObject *args = changed(rule, call->args);
    if (args == NULL) {
        return NULL;
    }
    call->args = args;
    call->read = 0;
    PyObject *decision = NULL;
    if (scan(call, own, rule->order) == NULL) {
        decision = with_args(call->policy, rule->decision, args);
    } else {
        PyErr_SetString(PyExc_NotImplementedError, "no rule of the workload outranks a transform");
    }
    Py_DECREF(args);
    return decision;
}

static PyObject *decide(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !Py_IS_TYPE(arguments[0], &PolicyType)) {
        PyErr_SetString(PyExc_TypeError, "decide(policy, request)");
        return NULL;
    }
    const Policy *policy = (const Policy *)arguments[0];
    Call call;
    call.policy = policy;
    call.request = arguments[1];
    call.args = SLOT(call.request, policy->args);
    call.read = 0;
    PyObject *number = PyDict_GetItemWithError(policy->tools, SLOT(call.request, policy->tool));
    const Bucket *own = number == NULL ? NULL : &policy->buckets[PyLong_AsLong(number)];
    const Rule *rule = scan(&call, own, UINT32_MAX);
    if (rule == NULL) {
        PyObject *declared = SLOT(call.request, policy->declared);
        int kept = SLOT(declared, policy->reversible) == Py_True || SLOT(declared, policy->shadow) == Py_True;
        return Py_NewRef(kept ? policy->no_match : policy->no_shadow);
    }
    return rule->changes ? transformed(&call, own, rule) : Py_NewRef(rule->decision);
}

/* --- compiling --- */

static PyObject *offset(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    PyObject *slot = count == 2 ? PyObject_GetAttr(arguments[0], arguments[1]) : NULL;
    if (slot == NULL || !Py_IS_TYPE(slot, &PyMemberDescr_Type)) {
        Py_XDECREF(slot);
        PyErr_SetString(PyExc_TypeError, "offset(type, name of a slot)");
        return NULL;
    }
    Py_ssize_t found = ((PyMemberDescrObject *)slot)->d_member->offset;
    Py_DECREF(slot);
    return PyLong_FromSsize_t(found);
}

static int read_operand(Operand *operand, PyObject *value) {
    if (PyUnicode_Check(value)) {
        Py_ssize_t size;
        operand->text = PyUnicode_AsUTF8AndSize(value, &size);
        operand->length = (size_t)size;
        return operand->text == NULL ? -1 : 0;
    }
    operand->number = PyFloat_AsDouble(value);
    return PyErr_Occurred() ? -1 : 0;
}

/* A word is (op, field, end, operands). */
static int read_word(Word *word, PyObject *tuple) {
    unsigned int op, field, end;
    PyObject *operands;
    if (!PyArg_ParseTuple(tuple, "IIIO!", &op, &field, &end, &PyTuple_Type, &operands)) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(operands);
    if (count > MAX_OPERANDS) {
        PyErr_SetString(PyExc_ValueError, "too many operands");
        return -1;
    }
    Operand read[MAX_OPERANDS] = {{0}};
    for (Py_ssize_t at = 0; at < count; at++) {
        if (read_operand(&read[at], PyTuple_GET_ITEM(operands, at))) {
            return -1;
        }
    }
    *word = (Word){.op = (uint8_t)op, .field = (uint8_t)field, .count = (uint16_t)count, .end = end};
    switch ((Op)op) {
        case ALL: case ANY: case NOT: break;
        case EQ_TEXT: case CONTAINS: case HAS:
            word->one.text = read[0].text;
            word->two.length = read[0].length;
            break;
        case MATCHES:
            word->one.pattern = pattern_new(read[0].text, read[0].length);
            if (word->one.pattern == NULL) {
                PyErr_Format(PyExc_ValueError, "not a pattern: %s", read[0].text);
                return -1;
            }
            break;
        case EQ_BOOL: word->count = read[0].number != 0; break;
        case EQ_NUMBER: case GT: case GE: case LT: case LE: word->one.number = read[0].number; break;
        case BETWEEN: case NOT_BETWEEN:
            word->one.number = read[0].number;
            word->two.number = read[1].number;
            break;
        case IN_TEXTS: case IN_NUMBERS: case HAS_ANY: case HAS_ALL:
            word->two.operands = PyMem_Malloc((size_t)count * sizeof(Operand));
            if (word->two.operands == NULL) {
                PyErr_NoMemory();
                return -1;
            }
            memcpy(word->two.operands, read, (size_t)count * sizeof(Operand));
            break;
    }
    return 0;
}

/* A rule is (order, words, decision, changes, key, value). */
static int read_bucket(Bucket *bucket, PyObject *rules) {
    Py_ssize_t count = PyTuple_GET_SIZE(rules), words = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        words += PyTuple_GET_SIZE(PyTuple_GET_ITEM(PyTuple_GET_ITEM(rules, at), 1));
    }
    char *block = PyMem_Calloc(1, (size_t)count * sizeof(Rule) + (size_t)words * sizeof(Word) + 1);
    if (block == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *bucket = (Bucket){(Rule *)block, (Word *)(block + (size_t)count * sizeof(Rule)), (uint32_t)count, (uint32_t)words};
    uint32_t from = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        Rule *rule = &bucket->rules[at];
        PyObject *own;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rules, at), "IO!OIOO", &rule->order, &PyTuple_Type, &own,
                              &rule->decision, &rule->changes, &rule->key, &rule->value)) {
            return -1;
        }
        rule->from = from;
        for (Py_ssize_t each = 0; each < PyTuple_GET_SIZE(own); each++) {
            Word *word = &bucket->words[from + each];
            if (read_word(word, PyTuple_GET_ITEM(own, each))) {
                return -1;
            }
            word->end += rule->from;
        }
        from += (uint32_t)PyTuple_GET_SIZE(own);
        rule->end = from;
    }
    return 0;
}

/* A field is (source, offset, key). */
static int read_fields(Policy *self, PyObject *fields) {
    Py_ssize_t count = PyTuple_GET_SIZE(fields);
    if (count > MAX_FIELDS) {
        PyErr_SetString(PyExc_ValueError, "too many fields");
        return -1;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        FieldSpec *field = &self->fields[at];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(fields, at), "bnO", &field->source, &field->offset, &field->key)) {
            return -1;
        }
    }
    self->field_count = (uint32_t)count;
    return 0;
}

static int policy_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    Policy *self = (Policy *)object;
    PyObject *layout, *slots, *fields, *buckets, *everywhere, *anyone, *callers;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!OOO!O!O!O!O!IO!OO", &PyTuple_Type, &layout, &PyTuple_Type, &slots,
                          &self->decision_type, &self->frozen_type, &PyTuple_Type, &fields, &PyDict_Type,
                          &self->tools, &PyTuple_Type, &buckets, &PyTuple_Type, &everywhere, &PyDict_Type, &callers,
                          &self->caller_field, &PyTuple_Type, &anyone, &self->no_match, &self->no_shadow)) {
        return -1;
    }
    if (!PyArg_ParseTuple(layout, "nnnnnnn", &self->tool, &self->args, &self->declared, &self->context,
                          &self->principal, &self->reversible, &self->shadow)) {
        return -1;
    }
    self->kept = Py_NewRef(args);
    self->callers = callers;
    for (int at = 0; at < DECISION_FIELDS; at++) {
        self->decision_slots[at] = PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, at));
    }
    self->bucket_count = (uint32_t)PyTuple_GET_SIZE(buckets);
    self->buckets = PyMem_Calloc(self->bucket_count + 1, sizeof(Bucket));
    self->anyone_count = (uint32_t)PyTuple_GET_SIZE(anyone);
    self->anyone = PyMem_Calloc(self->anyone_count + 1, sizeof(uint32_t));
    if (self->buckets == NULL || self->anyone == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t at = 0; at < self->anyone_count; at++) {
        self->anyone[at] = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(anyone, at));
    }
    for (uint32_t at = 0; at < self->bucket_count; at++) {
        if (read_bucket(&self->buckets[at], PyTuple_GET_ITEM(buckets, at))) {
            return -1;
        }
    }
    return read_fields(self, fields) || read_bucket(&self->everywhere, everywhere) || PyErr_Occurred() ? -1 : 0;
}

/* Policies live as long as the measuring process; their blocks and patterns are not freed. */
static void policy_dealloc(PyObject *object) {
    Py_XDECREF(((Policy *)object)->kept);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject PolicyType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "wide_floor.Policy",
    .tp_basicsize = sizeof(Policy),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = policy_init,
    .tp_dealloc = policy_dealloc,
};

static PyMethodDef functions[] = {
    {"decide", (PyCFunction)(void (*)(void))decide, METH_FASTCALL, "The decision on a request."},
    {"offset", (PyCFunction)(void (*)(void))offset, METH_FASTCALL, "The offset of a slot."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "wide_floor", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit_wide_floor(void) {
    if (PyType_Ready(&PolicyType) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    Py_INCREF(&PolicyType);
    if (PyModule_AddObject(module, "Policy", (PyObject *)&PolicyType) < 0) {
        Py_DECREF(&PolicyType);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
