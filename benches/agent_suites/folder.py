"""Suites in a directory: `tools.py`, `policy.yaml`, and `tasks.yaml` with tasks of users and goals of attackers.

`tools.py` has a function `tools(planted)` that makes a `ToolSet` over fresh data, in which the planted text stands
where an attacker can write. A task or a goal has a `text` and `calls`, each of them a mapping with `tool` and `args`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from agent_suites.suite import Calls, Goal, Suite, Task
from bobcat import Policy

Json = Any  # Any: YAML


class SuiteError(Exception):
    """A suite that cannot be run, with the file and the reason."""


def load(place: Path) -> Suite:
    """The suite in a directory. Raises `SuiteError`, and the errors of its policy."""
    for name in ("tools.py", "policy.yaml", "tasks.yaml"):
        if not (place / name).is_file():
            raise SuiteError(f"{place} has no {name}")
    spec = importlib.util.spec_from_file_location(f"agent_suite_{place.name}", place / "tools.py")
    if spec is None or spec.loader is None:
        raise SuiteError(f"{place / 'tools.py'} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, "tools", None)):
        raise SuiteError(f"{place / 'tools.py'} has no function `tools(planted)`")
    data = yaml.safe_load((place / "tasks.yaml").read_text(encoding="utf-8"))
    if not isinstance(data, Mapping) or not {"tasks"} <= set(data) <= {"tasks", "goals"}:
        raise SuiteError(f"{place / 'tasks.yaml'}: a mapping with `tasks` and `goals` is expected")
    where = place / "tasks.yaml"
    tasks = tuple(Task(*_entry(where, "task", each)) for each in _list(where, "tasks", data["tasks"]))
    goals = tuple(Goal(*_entry(where, "goal", each)) for each in _list(where, "goals", data.get("goals", [])))
    if not tasks:
        raise SuiteError(f"{where}: no tasks")
    return Suite(place.resolve().name, module.tools, tasks, goals, {"": Policy.compile(place / "policy.yaml")})


def _list(where: Path, name: str, value: Json) -> Sequence[Json]:
    if not isinstance(value, list):
        raise SuiteError(f"{where}: `{name}` is not a list")
    return value


def _entry(where: Path, kind: str, value: Json) -> tuple[str, Calls]:
    """The text and the calls of a task or a goal."""
    if not isinstance(value, Mapping) or set(value) != {"text", "calls"} or not isinstance(value["text"], str):
        raise SuiteError(f"{where}: a {kind} has a `text` and `calls`, not {value!r:.200}")
    calls = []
    for call in _list(where, "calls", value["calls"]):
        if not isinstance(call, Mapping) or not {"tool"} <= set(call) <= {"tool", "args"}:
            raise SuiteError(f"{where}: a call has a `tool` and `args`, not {call!r:.200}")
        calls.append((str(call["tool"]), dict(call.get("args") or {})))
    if not calls:
        raise SuiteError(f"{where}: a {kind} without calls: {value['text']!r:.200}")
    return value["text"], tuple(calls)
