"""Reduction of a policy to the parts that the strict profile accepts, so that they can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.lynx.policy import compile_lynx
from bobcat.frontend.lynx.source import UnreadableSource, read_text
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.strict.policy import compile_strict
from bobcat.frontend.yaml.nodes import plain_data
from bobcat.frontend.yaml.source import compose
from bobcat.ir.schema import IrPolicy

MAX_ROUNDS = 20
"""Maximum rounds of removal: an error may appear only after another part is removed."""

_PART = re.compile(r"\$\.(\w+)(?:\[(\d+)\]|\.([^.\[]+)|\[\"([^\"]+)\"\])?")


@dataclass(frozen=True, slots=True)
class ReducedPolicy:
    """The rest of a policy in both profiles, and the ids of the removed rules."""

    lynx: IrPolicy
    strict: IrPolicy
    left_out: tuple[str, ...]


def reduce_policy(text: str, name: str) -> ReducedPolicy | None:
    """Return a policy text without the parts that strict rejects; None if nothing can be compared."""
    pair = _both_readings(text, name)
    if pair is None:
        return None
    lynx_data, strict_data = pair
    left_out: list[str] = []
    for _ in range(MAX_ROUNDS):
        strict = compile_strict(strict_data, name)
        if strict.policy is not None:
            lynx = compile_lynx(lynx_data, name)
            return None if lynx.policy is None else ReducedPolicy(lynx.policy, strict.policy, tuple(left_out))
        if not _remove_refused(strict.errors, lynx_data, strict_data, left_out):
            return None
    return None


def _both_readings(text: str, name: str) -> tuple[Any, Any] | None:  # Any: YAML data
    """Return the data as each profile reads them, with the rules named; None if one profile cannot read it."""
    report = DiagnosticCollector(name)
    try:
        root = compose(text, report)
        if root is None or report.has_errors():
            return None
        strict_data = deepcopy(plain_data(root))
        lynx_data = deepcopy(read_text(text)[0])
    except (UnreadableSource, TypeError, ValueError, RecursionError):
        return None
    if not (isinstance(lynx_data, dict) and isinstance(strict_data, dict)):
        return None
    lynx_rules, strict_rules = lynx_data.get("rules"), strict_data.get("rules")
    if not (isinstance(lynx_rules, list) and isinstance(strict_rules, list) and len(lynx_rules) == len(strict_rules)):
        return None
    for index, rule in (*enumerate(lynx_rules), *enumerate(strict_rules)):
        if isinstance(rule, dict):
            rule["id"] = rule.get("id") or f"rule_{index}"
    return lynx_data, strict_data


def _remove_refused(found: tuple[Diagnostic, ...], lynx_data: Any, strict_data: Any, left_out: list[str]) -> bool:
    """Remove the parts with errors from both readings; False if that is not possible."""
    indexes: set[int] = set()
    keys: set[tuple[str, str | None]] = set()
    for item in found:
        part = _PART.match(item.span.path) if item.span is not None else None
        if part is None:
            return False
        head, index, *names = part.groups()
        if head == "rules" and index is not None:
            indexes.add(int(index))
        else:
            keys.add((head, next(filter(None, names), None)))
    for index in sorted(indexes, reverse=True):
        rule = strict_data["rules"][index]
        left_out.insert(0, str(rule["id"]) if isinstance(rule, Mapping) else f"rule_{index}")
        del lynx_data["rules"][index], strict_data["rules"][index]
    for head, name in keys:
        for data in (lynx_data, strict_data):
            inner = data.get(head)
            if name is not None and isinstance(inner, dict):
                inner.pop(name, None)
            else:
                data.pop(head, None)
    return bool(indexes or keys)
