"""The rules of a workload as expressions of another language: one text per rule, ready for the engine's parser.

A rule that names tools is filed under them, as the engines are called for one tool at a time; the others stand apart.
Nothing guards against missing arguments: the requests of the workload have them, and guards would cost engines time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from corpora.mixed import JsonObject

Leaf = Callable[[str, str, Any], str]  # Any: the operand, JSON


@dataclass(frozen=True, slots=True)
class Language:
    """An engine's spelling of connectives; `leaf` writes one comparison of a path, an operator and an operand."""

    conjunction: str
    disjunction: str
    negation: str
    leaf: Leaf

    def text(self, match: JsonObject) -> str:
        """A match without its clauses about the tool."""
        parts = [self._entry(key, value) for key, value in match.items() if key not in ("tool", "tool.in")]
        return f" {self.conjunction} ".join(parts)

    def _entry(self, key: str, value: Any) -> str:  # Any: JSON
        if key == "any_of":
            return "(" + f" {self.disjunction} ".join(f"({self.text(item)})" for item in value) + ")"
        if key == "not":
            return f"{self.negation}({self.text(value)})"
        path, _, operator = key.rpartition(".")
        if operator in OPERATORS:
            return self.leaf(path, operator, value)
        return self.leaf(key, "eq", value)


OPERATORS = frozenset({"matches", "in", "contains", "contains_any", "gt", "between"})


@dataclass(slots=True)
class Filed:
    """Rules by tool, and those about every tool; each with its number in the policy, in order."""

    by_tool: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    everywhere: list[tuple[int, str]] = field(default_factory=list)


def file_rules(rules: Iterable[JsonObject], language: Language) -> Filed:
    """The rules as texts of a language."""
    filed = Filed()
    for number, rule in enumerate(rules):
        match = rule["match"]
        pair = (number, language.text(match))
        tools = [match["tool"]] if "tool" in match else match.get("tool.in")
        if tools is None:
            filed.everywhere.append(pair)
            continue
        for tool in tools:
            filed.by_tool.setdefault(tool, []).append(pair)
    return filed


def quoted(value: Any) -> str:  # Any: JSON
    """A constant in the spelling that JSON and most expression languages share."""
    return json.dumps(value)


def chain(rules: Iterable[tuple[int, str]]) -> str:
    """The number of the first rule that holds, else -1: conditions nested in the order of the rules."""
    text = "-1"
    for number, condition in reversed(list(rules)):
        text = f"{condition} ? {number} : {text}"
    return text
