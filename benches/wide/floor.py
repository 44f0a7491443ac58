"""The floor as an engine: compiles `floor.c` and a workload for it. The C is built into `.build/wide-floor`."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import bobcat
from bobcat.model.decision import Decision, ExecutionContext, Principal, ToolMetadata
from bobcat.model.frozen import FrozenDict
from engines.by_hand import Answers
from wide.generate import JsonObject, WideWorkload
from wide.matches import Leaf, Match, ordered

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / ".build" / "wide-floor"
NAME = "wide_floor"
OPERATORS = (
    "all any not eq_text in_texts matches contains eq_bool eq_number in_numbers gt ge lt le between not_between "
    "has has_any has_all"
).split()
"""The words of `floor.c`, in the order of its `Op`."""

Words = list[tuple[int, int, int, tuple[Any, ...]]]  # Any: JSON
_LAYOUT = (
    *((bobcat.ActionRequest, name) for name in ("tool", "args", "declared", "context")),
    (ExecutionContext, "principal"),
    (ToolMetadata, "reversible"),
    (ToolMetadata, "has_shadow"),
)
_SOURCES = {"args": 0, "declared": 1, "context": 2, "principal": 3}
_OWNERS: dict[str, type] = {"declared": ToolMetadata, "context": ExecutionContext, "principal": Principal}


class _Fields:
    """The fields that a policy reads, numbered."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, path: str) -> int:
        return self.numbers.setdefault(path, len(self.numbers))

    def specs(self) -> tuple[tuple[int, int, str], ...]:
        return tuple(self._spec(path) for path in self.numbers)

    def _spec(self, path: str) -> tuple[int, int, str]:
        *owners, name = path.split(".")
        owner = owners[-1]
        return _SOURCES[owner], 0 if owner == "args" else _offset(_OWNERS[owner], name), name


def floor_policy(work: WideWorkload) -> Any:  # Any: an object of the extension
    """The workload, compiled for `decide` of the extension."""
    fields, answers = _Fields(), Answers(work.policy)
    by_tool: dict[str, list[tuple[Any, ...]]] = {}
    everywhere: list[tuple[Any, ...]] = []
    callers: dict[str, list[int]] = {}
    anyone: list[int] = []
    for order, (number, tools, match) in enumerate(ordered(work.policy)):
        rule = (order, tuple(_words(match, fields)), answers.of_rule[number], *_change(work.policy["rules"][number]))
        for tool in tools or ():
            by_tool.setdefault(tool, []).append(rule)
        if tools is None:
            wanted = _callers(match)
            for caller in wanted:
                callers.setdefault(caller, []).append(len(everywhere))
            if not wanted:
                anyone.append(len(everywhere))
            everywhere.append(rule)
    caller_field = fields.number("context.principal.id")
    return extension().Policy(
        tuple(_offset(owner, name) for owner, name in _LAYOUT),
        tuple(_offset(Decision, name) for name in Decision.__slots__),
        Decision,
        FrozenDict,
        fields.specs(),
        {tool: at for at, tool in enumerate(by_tool)},
        tuple(tuple(rules) for rules in by_tool.values()),
        tuple(everywhere),
        {caller: tuple(numbers) for caller, numbers in callers.items()},
        caller_field,
        tuple(anyone),
        answers.no_match,
        answers.no_shadow,
    )


def _change(rule: JsonObject) -> tuple[int, str | None, Any]:  # Any: JSON
    change = rule.get("transform")
    if change is None:
        return 0, None, None
    key = change["jsonpath"].removeprefix("$.args.")
    return (1, key, change["set"]) if "set" in change else (2, key, None)


def _callers(match: Match) -> list[str]:
    """The callers of which a match wants one; none if it may be true for any."""
    for item in match.items:
        if isinstance(item, Leaf) and item.path == "context.principal.id" and item.operator in ("eq", "in"):
            return [item.operand] if item.operator == "eq" else list(item.operand)
    return []


def _words(match: Match, fields: _Fields) -> Iterator[tuple[int, int, int, tuple[Any, ...]]]:
    words: Words = []
    for item in match.items:
        _append(words, item, fields)
    return iter(words)


def _append(words: Words, item: Match | Leaf, fields: _Fields) -> None:
    if isinstance(item, Leaf):
        operands = item.operand if isinstance(item.operand, list) else [item.operand]
        operator = OPERATORS.index(_operator(item))
        words.append((operator, fields.number(item.path), len(words) + 1, tuple(operands)))
        return
    at = len(words)
    words.append((0, 0, 0, ()))
    for each in item.items:
        _append(words, each, fields)
    words[at] = (OPERATORS.index(item.connective), 0, len(words), ())


def _operator(leaf: Leaf) -> str:
    first = leaf.operand[0] if isinstance(leaf.operand, list) else leaf.operand
    texts = isinstance(first, str)
    match leaf.operator:
        case "eq":
            return "eq_bool" if isinstance(first, bool) else "eq_text" if texts else "eq_number"
        case "in":
            return "in_texts" if texts else "in_numbers"
        case "contains" | "contains_any" | "contains_all" if leaf.reads_list:
            return leaf.operator.replace("contains", "has")
        case operator:
            return operator


def _offset(owner: type, name: str) -> int:
    """The offset of a slot in instances of `owner`: that of `PyMemberDef` in its descriptor."""
    return int(extension().offset(owner, name))


@cache
def extension() -> Any:  # Any: an extension module
    """The extension, compiled when a source of it is newer."""
    target = BUILD / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = [HERE / "floor.c", *sorted((HERE / "patterns").rglob("*.[tr][os]*"))]
    if not target.exists() or target.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        _build(target)
    specification = importlib.util.spec_from_file_location(NAME, target)
    if specification is None or specification.loader is None:
        raise SystemExit(f"{target} is no extension module")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _build(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    manifest = HERE / "patterns" / "Cargo.toml"
    cargo = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", str(manifest)]
    subprocess.run([*cargo, "--target-dir", str(BUILD / "patterns")], check=True)
    library = BUILD / "patterns" / "release" / "libwide_patterns.a"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    undefined = ["-undefined", "dynamic_lookup"] if sysconfig.get_platform().startswith("macosx") else []
    options = ["-O3", "-fPIC", "-shared", "-Wall", "-Wextra", f"-I{sysconfig.get_path('include')}", *undefined]
    libraries = [str(library), "-lpthread", "-ldl", "-lm"]
    subprocess.run([*compiler, *options, str(HERE / "floor.c"), *libraries, "-o", str(target)], check=True)
