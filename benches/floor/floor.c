/* The floor under a decision, never shipped: what CPython takes for a call into C that decides by the tool alone.
 *
 *     nothing(policy, request) -> None
 *     Floor(request_type, {tool: decision}, default).decide is  decide(floor, request) -> decision
 *
 * The field `tool` is read by its slot's offset, the tool is looked up in a dict, and the decision is there already.
 * `benches/engines/floor.py` compiles this file and holds it against `bobcat.evaluate` on the same policy. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyTypeObject *request_type;
    Py_ssize_t tool_offset;
    PyObject *decisions;
    PyObject *otherwise;
} Floor;

static PyTypeObject FloorType;

static int floor_init(PyObject *object, PyObject *args, PyObject *kwargs) {
    Floor *self = (Floor *)object;
    PyObject *type, *decisions, *otherwise;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyType_Type, &type, &PyDict_Type, &decisions, &otherwise)) {
        return -1;
    }
    PyObject *slot = PyObject_GetAttrString(type, "tool");
    if (slot == NULL) {
        return -1;
    }
    if (!Py_IS_TYPE(slot, &PyMemberDescr_Type)) {
        Py_DECREF(slot);
        PyErr_SetString(PyExc_TypeError, "`tool` is not a slot");
        return -1;
    }
    self->tool_offset = ((PyMemberDescrObject *)slot)->d_member->offset;
    Py_DECREF(slot);
    Py_INCREF(type);
    Py_XSETREF(self->request_type, (PyTypeObject *)type);
    Py_INCREF(decisions);
    Py_XSETREF(self->decisions, decisions);
    Py_INCREF(otherwise);
    Py_XSETREF(self->otherwise, otherwise);
    return 0;
}

static void floor_dealloc(PyObject *object) {
    Floor *self = (Floor *)object;
    Py_XDECREF(self->request_type);
    Py_XDECREF(self->decisions);
    Py_XDECREF(self->otherwise);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *nothing(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    (void)args;
    (void)count;
    Py_RETURN_NONE;
}

static PyObject *decide(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !Py_IS_TYPE(args[0], &FloorType)) {
        PyErr_SetString(PyExc_TypeError, "decide(floor, request)");
        return NULL;
    }
    Floor *self = (Floor *)args[0];
    if (!Py_IS_TYPE(args[1], self->request_type)) {
        PyErr_SetString(PyExc_TypeError, "not a request");
        return NULL;
    }
    PyObject *tool = *(PyObject **)((char *)args[1] + self->tool_offset);
    PyObject *found = tool == NULL ? NULL : PyDict_GetItemWithError(self->decisions, tool);
    if (found == NULL) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        found = self->otherwise;
    }
    Py_INCREF(found);
    return found;
}

static PyTypeObject FloorType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bobcat_floor.Floor",
    .tp_basicsize = sizeof(Floor),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = floor_init,
    .tp_dealloc = floor_dealloc,
};

static PyMethodDef functions[] = {
    {"nothing", (PyCFunction)(void (*)(void))nothing, METH_FASTCALL, "Returns None."},
    {"decide", (PyCFunction)(void (*)(void))decide, METH_FASTCALL, "The decision of the request's tool."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "bobcat_floor", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit_bobcat_floor(void) {
    if (PyType_Ready(&FloorType) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    Py_INCREF(&FloorType);
    if (PyModule_AddObject(module, "Floor", (PyObject *)&FloorType) < 0) {
        Py_DECREF(&FloorType);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
