"""Locks of the doors: each has what the tests beside a door need, the plugins of pytest's options among them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOORS = sorted((ROOT / "tests" / "doors").glob("*/requirements.txt"))
NEEDED = re.findall(r"^([\w.-]+)>=", (ROOT / "tests" / "doors" / "requirements.in").read_text(), re.MULTILINE)
PLUGIN_OPTIONS = {"timeout": "pytest-timeout"}


@pytest.mark.parametrize("lock", DOORS, ids=[lock.parent.name for lock in DOORS])
def test_a_lock_has_what_the_tests_need(lock: Path) -> None:
    assert NEEDED
    locked = set(re.findall(r"^([\w.-]+)==", lock.read_text(), re.MULTILINE))
    assert locked.issuperset(NEEDED)


def test_the_plugins_whose_options_pytest_reads_are_among_them() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    plugins = {plugin for option, plugin in PLUGIN_OPTIONS.items() if option in options}
    assert plugins
    assert plugins.issubset(NEEDED)
