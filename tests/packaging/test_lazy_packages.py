"""Packages load their names on first use, each listed once, in the stub beside `__init__.py`."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bobcat

ROOT = Path(bobcat.__file__).parent
STUBS = sorted(ROOT.rglob("__init__.pyi"))
PACKAGES = [".".join(("bobcat", *stub.parent.relative_to(ROOT).parts)) for stub in STUBS]


def test_the_packages_with_many_names_are_lazy() -> None:
    assert {"bobcat", "bobcat.approvals", "bobcat.bundle", "bobcat.stores", "bobcat.workers"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_listed_name_is_found_and_is_no_module(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    assert [name for name in module.__all__ if inspect.ismodule(getattr(module, name))] == []
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", ["bobcat.approvals", "bobcat.bundle", "bobcat.stores", "bobcat.testing"])
def test_a_package_loads_nothing_before_a_name_is_used(package: str) -> None:
    code = f"import sys, {package}; print([name for name in sys.modules if name.startswith('{package}.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_missing_driver_of_a_dispatcher_is_named_with_its_extra() -> None:
    code = """
import sys
sys.modules["procrastinate"] = None
import bobcat.workers
try:
    bobcat.workers.ProcrastinateDispatcher
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bobcat[workers,postgres]" in done.stdout
