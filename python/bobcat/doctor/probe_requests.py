"""Probe requests for the rules of a policy: one that matches each rule, then variations of every clause.

A request is a JSON object, see `docs/reference/requests.md`. The order is deterministic and depends only on
the policy: plain requests first, no duplicates.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

from bobcat.doctor.candidate_values import MISSING, candidate_values, reference_values
from bobcat.errors import RequestError
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, IrPolicy, IrRule, Leaf, NotExpr
from bobcat.ir.visit import leaves
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_from_json

MAX_REQUESTS = 40_000
"""Maximum number of requests for one policy."""
MAX_ALTERNATIVES = 6
"""Number of ways to satisfy a match that are tried."""
MAX_PARTNERS = 12
"""Number of other rules that are matched together with a rule."""
TOOL = "some_tool"
"""The tool of a request if no clause specifies one."""

Request = dict[str, Any]  # Any: JSON
Path = tuple[str, ...]
Setting = dict[Path, Any]  # Any: JSON, or MISSING
"""Values by path: `("args", "amount")` to a value."""


def probe_requests(policy: IrPolicy) -> Iterator[Request]:
    """Yield the requests for a policy, at most `MAX_REQUESTS`."""
    seen: set[str] = set()
    for setting in _settings(policy):
        request = as_request(setting)
        if request is None:
            continue
        key = json.dumps(request, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield request
            if len(seen) >= MAX_REQUESTS:
                return


def probe_calls(policy: IrPolicy) -> Iterator[tuple[Request, ActionRequest]]:
    """Yield the requests that can be evaluated, with their JSON."""
    for request in probe_requests(policy):
        with suppress(RequestError):  # a value that its field can never have
            yield request, request_from_json(request)


def _settings(policy: IrPolicy) -> Iterator[Setting]:
    rules = [rule for rule in policy.rules if isinstance(rule, IrRule)]
    matching = [_alternatives(rule.match, holds=True) or [{}] for rule in rules]
    plain: tuple[Setting, ...] = ({}, {("declared", "reversible"): False})
    for declared in plain:
        yield declared
        for settings in matching:
            for setting in settings:
                yield {**declared, **setting}
    for rule, settings in zip(rules, matching, strict=True):
        yield from _varied(rule, settings[0])
    # A skipped rule matters if another rule then decides: match both at once.
    for index, rule in enumerate(rules):
        settings = list(_varied(rule, matching[index][0]))
        for partner in _partners(rules, index):
            for setting in settings:
                yield {**matching[partner][0], **setting}


def _partners(rules: list[IrRule], index: int) -> list[int]:
    """Return other rules: first those about the same tools, and among these first those with another verdict."""
    own_tools, verdict = _tools(rules[index]), rules[index].verdict
    rank: dict[int, tuple[bool, bool, int]] = {}
    for other, rule in enumerate(rules):
        tools = _tools(rule)
        if other != index and (not own_tools or not tools or own_tools & tools):
            rank[other] = (not (own_tools and tools), rule.verdict == verdict, other)
    return sorted(rank, key=rank.__getitem__)[:MAX_PARTNERS]


def _tools(rule: IrRule) -> set[str]:
    return {
        value
        for leaf in leaves(rule.match)
        if leaf.head == "tool"
        for value in candidate_values(leaf).true
        if isinstance(value, str)
    }


def _varied(rule: IrRule, setting: Setting) -> Iterator[Setting]:
    """Yield settings that match the rule, with one change each."""
    for leaf in leaves(rule.match):
        if reads_memory(leaf):
            continue
        for value in candidate_values(leaf).all():
            yield {**setting, (leaf.head, *leaf.path): value}
    if rule.transform is not None and rule.transform.path:
        for value in (MISSING, None, "text", 5, ["item"], {"key": 1}):
            yield {**setting, ("args", *rule.transform.path): value}


def _alternatives(expr: Expr, *, holds: bool) -> list[Setting]:
    """Return settings that probably make an expression true, or false."""
    match expr:
        case Leaf() if reads_memory(expr):  # the state of a run, which is no part of a request
            return [{}]
        case Leaf():
            found = candidate_values(expr)
            references = reference_values(expr)
            values = (found.true if holds else found.false)[:MAX_ALTERNATIVES]
            return [{**references, (expr.head, *expr.path): value} for value in values]
        case NotExpr(item):
            return _alternatives(item, holds=not holds)
        case AllExpr(items):
            return _every(items, holds=True) if holds else _either(items, holds=False)
        case AnyExpr(items):
            return _either(items, holds=True) if holds else _every(items, holds=False)


def _either(items: tuple[Expr, ...], *, holds: bool) -> list[Setting]:
    found = [_alternatives(item, holds=holds) for item in items[: 2 * MAX_ALTERNATIVES]]
    firsts = [settings[0] for settings in found if settings]
    return [*firsts, *(setting for settings in found for setting in settings[1:])][: 2 * MAX_ALTERNATIVES]


def _every(items: tuple[Expr, ...], *, holds: bool) -> list[Setting]:
    found: list[Setting] = [{}]
    for item in items:
        merged: list[Setting] = []
        for setting in _alternatives(item, holds=holds) or [{}]:
            for before in found:
                merged.append({**before, **setting})
                if before.keys() & setting.keys():
                    merged.append({**setting, **before})
        found = merged[:MAX_ALTERNATIVES]
    return found


def as_request(setting: Setting) -> Request | None:
    """Return the request for a setting; None if two values conflict."""
    request: Request = {"tool": TOOL, "args": {}, "declared": {"reversible": True}, "context": {}}
    for path, value in sorted(setting.items(), key=lambda item: len(item[0])):
        if not with_value(request, path, value):
            return None
    if not isinstance(request["tool"], str) or not isinstance(request["args"], Mapping):
        return None
    return {name: part for name, part in request.items() if part != {}}


def with_value(request: Request, path: Path, value: Any) -> bool:  # Any: JSON, or MISSING
    """Set a value in a request, or remove it; return false if another value is in the way."""
    *steps, last = path
    if not steps and value is MISSING:  # the tool is never missing, and the other parts are already empty
        return path != ("tool",)
    here: Any = request  # Any: JSON
    for step in steps:
        if step == "principal" and step not in here:
            here[step] = {"kind": "user", "id": "someone"}
        here = here.setdefault(step, {})
        if not isinstance(here, dict):
            return value is MISSING
    if value is not MISSING:
        here[last] = deepcopy(value)
    elif isinstance(here, dict):
        here.pop(last, None)
    return True
