"""The 16-digit bundle id that lynx-agent 2.5, or 2.11, gives a policy, from the policy's plain data.

The id hashes the rules as written, with every string that names a predicate replaced by that predicate. It does not
cover Python code, and Bobcat does not use it as an identity. It lets users compare audit trails and pins of lynx-agent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

MAX_SIZE = 2_000_000
"""Values in a policy's canonical form, predicates expanded."""


class NoLynxId(ValueError):
    """lynx-agent gives this policy no id: it raises, or does not terminate."""


def lynx_id(
    data: Any,  # Any: plain data, checked by failing
    python_rules: Iterable[tuple[str, int]] = (),
    *,
    obligations: bool = False,
) -> str:
    """Return the id of a policy. `python_rules` are `(name, priority)` in argument order. Raises `ValueError`.

    With `obligations`, it is the id that lynx-agent 2.11 gives, which hashes the obligations of each rule.
    """
    try:
        text = json.dumps(
            _canonical(data if data is not None else {}, python_rules, obligations),
            sort_keys=True,
            separators=(",", ":"),
            default=_fallback,
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]
    except NoLynxId:
        raise
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError, RecursionError) as error:
        raise NoLynxId(f"lynx-agent has no id for this policy: {type(error).__name__}: {error}") from error


def _canonical(data: Any, python_rules: Iterable[tuple[str, int]], obligations: bool) -> dict[str, Any]:
    defaults = data.get("defaults", {}) or {}
    inliner = _Inliner(data.get("predicates", {}) or {})
    return {
        "version": int(data.get("version", 1)),
        "defaults": {
            "on_missing_shadow": defaults.get("on_missing_shadow", "approve_required").lower(),
            "on_no_match": defaults.get("on_no_match", "deny").lower(),
        },
        "rules": [_rule(rule, index, inliner, obligations) for index, rule in enumerate(data.get("rules", []) or [])],
        "python_rules": [
            {"name": name, "priority": priority} for name, priority in sorted(python_rules, key=lambda rule: -rule[1])
        ],
    }


def _rule(rule: Any, index: int, inliner: _Inliner, obligations: bool) -> dict[str, Any]:
    verdict = rule.get("decision", rule.get("verdict", "deny"))
    id = rule.get("id") or f"rule_{index}"
    decision = {
        "verdict": verdict.lower() if isinstance(verdict, str) else str(verdict),
        "approvers": list(rule.get("approvers", []) or []),
        "timeout_seconds": rule.get("timeout_seconds"),
        "transform": dict(rule.get("transform") or {}),
        "reason": rule.get("reason", ""),
    }
    if obligations:
        decision["obligations"] = list(rule.get("obligations") or [])
    return {
        "id": id,
        "priority": int(rule.get("priority", 0)),
        "match": inliner.inline(rule.get("match", {})),
        "decision": decision,
    }


class _Inliner:
    """Expander of predicates: replaces every string that names one, values included; each predicate is expanded
    once.
    """

    def __init__(self, predicates: Any) -> None:
        self._predicates = predicates
        self._known: dict[str, tuple[Any, int] | None] = {}
        self._size = 0

    def inline(self, spec: Any) -> Any:
        found, size = self._inline(spec)
        self._size += size
        if self._size > MAX_SIZE:
            raise NoLynxId(f"more than {MAX_SIZE} values after predicate expansion")
        return found

    def _inline(self, spec: Any) -> tuple[Any, int]:
        if isinstance(spec, str):
            return self._named(spec) if spec in self._predicates else (spec, 1)
        if isinstance(spec, Mapping):
            pairs = [(key, self._inline(value)) for key, value in sorted(spec.items())]
            return {key: value for key, (value, _) in pairs}, self._sum(size for _, (_, size) in pairs)
        if isinstance(spec, list | tuple):
            items = [self._inline(item) for item in spec]
            return [value for value, _ in items], self._sum(size for _, size in items)
        return spec, 1

    def _named(self, name: str) -> tuple[Any, int]:
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self._inline(self._predicates[name])
        known = self._known[name]
        if known is None:
            raise NoLynxId(f"the predicate {name!r} refers to itself")
        return known

    def _sum(self, sizes: Iterable[int]) -> int:
        total = 1 + sum(sizes)
        if total > MAX_SIZE:
            raise NoLynxId(f"more than {MAX_SIZE} values after predicate expansion")
        return total


def _fallback(value: Any) -> Any:  # Any: what JSON lacks
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return list(value)
    return repr(value)
