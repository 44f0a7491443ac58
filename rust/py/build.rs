//! Tells the compiler of the interpreter that it builds for: whether it has a lock (`cfg(Py_GIL_DISABLED)`).

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
