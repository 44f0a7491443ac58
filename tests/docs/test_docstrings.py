"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import bobcat


def _text(module: pkgutil.ModuleInfo) -> str:
    spec = module.module_finder.find_spec(module.name, None)  # type: ignore[call-arg]
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(bobcat.__path__, "bobcat.")
    if not module.name.startswith("bobcat._core") and ">>> " in _text(module)
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if "bobcat[" not in str(error):
            raise
        pytest.skip(str(error))  # the door of a framework that is not installed here: `make check-doors`
    ran = doctest.testmod(module)
    assert (ran.failed, ran.attempted > 0) == (0, True)
