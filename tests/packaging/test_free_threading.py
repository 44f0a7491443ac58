"""The core needs the interpreter's lock, and says so to interpreters that run without it."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "rust" / "py" / "src" / "lib.rs"


def test_the_core_declares_that_it_needs_the_lock() -> None:
    declared = re.findall(r"^#\[(?:pyo3::)?pymodule(?:\((.*)\))?\]", SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert declared == ["gil_used = true"]


def test_an_interpreter_that_imports_the_core_has_its_lock() -> None:
    code = "import sys, bobcat._core; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    warned = sysconfig.get_config_var("Py_GIL_DISABLED") == 1  # such an interpreter says that it turns the lock on
    flags = ["-W", "ignore"] if warned else []
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
