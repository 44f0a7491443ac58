"""A policy that the strict profile refuses, without the parts that it refuses: so that the rest can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from bobcat.diagnostics import Diagnostic, Severity
from bobcat.frontend.lynx import compile_lynx
from bobcat.frontend.lynx_source import Unreadable, read_text
from bobcat.frontend.nodes import plain_data
from bobcat.frontend.report import Report
from bobcat.frontend.source import compose
from bobcat.frontend.strict import compile_strict
from bobcat.ir.schema import Policy

MAX_ROUNDS = 20
"""How often parts are taken out: a part may be refused only once another one is gone."""

_PART = re.compile(r"\$\.(\w+)(?:\[(\d+)\]|\.([^.\[]+)|\[\"([^\"]+)\"\])?")


@dataclass(frozen=True, slots=True)
class Rest:
    """The rest of a policy in both profiles, and the ids of the rules that were left out."""

    lynx: Policy
    strict: Policy
    left_out: tuple[str, ...]


def rest_of(text: str, name: str) -> Rest | None:
    """What remains of a policy text without the parts that strict refuses; None when nothing can be compared."""
    pair = _both_readings(text, name)
    if pair is None:
        return None
    lynx_data, strict_data = pair
    left_out: list[str] = []
    for _ in range(MAX_ROUNDS):
        strict = compile_strict(strict_data, name)
        if strict.policy is not None:
            lynx = compile_lynx(lynx_data, name)
            return None if lynx.policy is None else Rest(lynx.policy, strict.policy, tuple(left_out))
        if not _take_out(strict.diagnostics, lynx_data, strict_data, left_out):
            return None
    return None


def _both_readings(text: str, name: str) -> tuple[Any, Any] | None:  # Any: YAML data
    """The data as each profile reads them, with the rules named; None when one of them cannot read it."""
    report = Report(name)
    try:
        root = compose(text, report)
        if root is None or report.has_errors():
            return None
        strict_data = deepcopy(plain_data(root))
        lynx_data = deepcopy(read_text(text)[0])
    except (Unreadable, TypeError, ValueError, RecursionError):
        return None
    if not (isinstance(lynx_data, dict) and isinstance(strict_data, dict)):
        return None
    mine, theirs = lynx_data.get("rules"), strict_data.get("rules")
    if not (isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs)):
        return None
    for index, rule in (*enumerate(mine), *enumerate(theirs)):
        if isinstance(rule, dict):
            rule["id"] = rule.get("id") or f"rule_{index}"
    return lynx_data, strict_data


def _take_out(found: tuple[Diagnostic, ...], lynx_data: Any, strict_data: Any, left_out: list[str]) -> bool:
    """Remove the parts that the errors are about, from both readings; False when that is not possible."""
    indexes: set[int] = set()
    keys: set[tuple[str, str | None]] = set()
    for item in found:
        if item.severity is not Severity.ERROR:
            continue
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
