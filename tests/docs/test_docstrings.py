"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import bobcat

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(bobcat.__path__, "bobcat.")
    if not module.name.startswith("bobcat._core")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if "bobcat[" not in str(error):
            raise
        pytest.skip(str(error))  # the door of a framework that is not installed here: `make check-doors`
    assert doctest.testmod(module).failed == 0
