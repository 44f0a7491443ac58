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
    assert doctest.testmod(import_module(name)).failed == 0
