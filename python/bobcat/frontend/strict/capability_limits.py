"""The keys of capabilities beside `resource`: limits of arguments, and the tests that they stand for."""

from __future__ import annotations

import re
from typing import Any

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.capability_actions import Action
from bobcat.frontend.strict.fields import number, string, wrong_type
from bobcat.frontend.strict.keys import Key, parse_key
from bobcat.frontend.strict.rules import MAX_PRIORITY
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import InvalidValue, entries, string_of, value

# Any: JSON, and nodes of operands.
Tests = dict[str, Any]
_SIZE = re.compile(r"(?P<number>[0-9]+)(?: ?(?P<unit>[kKMG]i?)?B)?")
_UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_METHOD = re.compile(r"[A-Z]+")
_REDIRECTS = ("none", "judged")
_NAMES = {"program": "args.program", "server": "args.server", "database": "args.database"}
_LISTS = {"tools": "args.tool"}


class Limits:
    """Reading of these keys. Methods return None after they have reported an error."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report

    def tests(self, key: str, node: Node, action: Action) -> Tests | None:
        """Return the tests that a key stands for, as the entries of a match."""
        match key:
            case "program" | "server" | "database":
                return _one_of(_NAMES[key], texts(node, key, self._report))
            case "tools":
                return _one_of(_LISTS[key], texts(node, key, self._report))
            case "argv":
                return self._argv(node)
            case "timeout_seconds":
                seconds = number(node, key, (0, MAX_PRIORITY), self._report, integer=False)
                return None if seconds is None else {"args.timeout_seconds.between": [0, seconds]}
            case "max_rows":
                rows = number(node, key, (0, MAX_PRIORITY), self._report, integer=True)
                return None if rows is None else {"args.max_rows.between": [0, rows]}
            case "max_bytes":
                size = self._size(node)
                if size is None:
                    return None
                bounded: Tests = {"args.max_bytes.between": [0, size]}
                return {f"args.{action.content}.byte_length.le": size} if action.content else bounded
            case "methods":
                return self._methods(node)
            case "redirects":
                return self._redirects(node)
            case "statements":
                return _one_of(f"args.{action.text}.sql.kind", texts(node, key, self._report))
        raise AssertionError(key)

    def _argv(self, node: Node) -> Tests | None:
        if isinstance(node, SequenceNode):
            return {"args.argv.eq": node}
        if not isinstance(node, MappingNode) or not node.value:
            help = "write `argv: {first.in: [status, log]}`, or the list of all arguments"
            wrong_type(node, "argv", "a mapping of operators, or a list of arguments", self._report, help=help)
            return None
        tests: Tests = {}
        for name, (key_node, item) in entries(node, self._report).items():
            key = parse_key(f"args.argv.{name}")
            if not isinstance(key, Key) or (key.path != ("argv",) and key.path != ("argv", key.facet)):
                help = "write `first.in: [...]`, `none.starts_with: ...` or another operator of lists"
                self._report.add("E0303", key_node, operator=shown(name), quoted="", help=help)
                return None
            # `args.argv.first: x` of a rule reads an entry `first`; the arguments of a program have none.
            bare = key.bare and key.path == ("argv", "first") and not isinstance(item, MappingNode)
            tests[f"args.argv.{name}.eq" if bare else f"args.argv.{name}"] = item
        return tests

    def _size(self, node: Node) -> int | None:
        """Return a number of bytes."""
        found = value(node, self._report) if isinstance(node, ScalarNode) else None
        if isinstance(found, InvalidValue):
            return None
        if type(found) is int and found >= 0:
            return found
        parts = _SIZE.fullmatch(found) if isinstance(found, str) else None
        if parts is None:
            help = "write a number of bytes, or one with `KB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`"
            wrong_type(node, "max_bytes", "a size", self._report, help=help)
            return None
        return int(parts["number"]) * _UNITS[parts["unit"] or ""]

    def _methods(self, node: Node) -> Tests | None:
        methods = texts(node, "methods", self._report)
        wrong = next((name for name in methods or () if not _METHOD.fullmatch(name)), None)
        if wrong is not None:
            help = f"write `{wrong.upper()}`" if _METHOD.fullmatch(wrong.upper()) else None
            self._report.add("E0206", node, key="methods", value=shown(wrong), known="names in capitals", help=help)
            return None
        return _one_of("args.method", methods)

    def _redirects(self, node: Node) -> Tests | None:
        text = string(node, "redirects", self._report)
        if text is None:
            return None
        if text not in _REDIRECTS:
            near = closest(text, _REDIRECTS)
            help = f"did you mean `{near}`?" if near else None
            self._report.add("E0206", node, key="redirects", value=shown(text), known=listed(_REDIRECTS), help=help)
            return None
        return {"args.redirects": "none"} if text == "none" else {"args.redirects.in": list(_REDIRECTS)}


def texts(node: Node, key: str, report: DiagnosticCollector) -> list[str] | None:
    """Return the strings of a string or of a list that is not empty; None after an error has been reported."""
    items = node.value if isinstance(node, SequenceNode) else [node]
    found = [string_of(item, report) for item in items]
    texts = [text for text in found if text]
    if not texts or len(texts) < len(found):
        kind = "an empty list" if not items else "an empty string" if "" in found else ""
        wrong_type(node, key, "a string, or a list of strings", report, kind=kind)
        return None
    return texts


def _one_of(path: str, names: list[str] | None) -> Tests | None:
    if names is None:
        return None
    return {path: names[0]} if len(names) == 1 else {f"{path}.in": names}
