"""Obligations in the source of a policy of lynx-agent 2.11: a list of names, or of `{id, phase, params}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bobcat.diagnostics.catalogue import diagnose
from bobcat.errors import PolicyCompileError, PolicyWarning, warn_caller
from bobcat.lynx.v2_11.core.types import PHASES, Obligation
from bobcat.model.frozen import deep_freeze
from bobcat.text.display import safe_text

KEY = "obligations"
Table = Mapping[Any, tuple[Obligation, ...]]  # Any: rules of the `lynx` profile have ids of any type
"""The obligations of a policy's rules, by `rule_key` of their ids."""


def has_obligations(data: object) -> bool:
    """Return true if a rule of a policy, given as plain data, has the key."""
    return any(isinstance(rule, Mapping) and KEY in rule for rule in _rules(data))


def without_obligations(data: Mapping[str, Any]) -> dict[str, Any]:  # Any: plain data
    """Return a policy without the obligations of its rules."""
    rules = [
        {key: value for key, value in rule.items() if key != KEY} if isinstance(rule, Mapping) else rule
        for rule in _rules(data)
    ]
    return {**data, "rules": rules}


def obligations_of(data: Mapping[str, Any]) -> Table:  # Any: plain data
    """Return the obligations of each rule that has some.

    Raises `PolicyCompileError` for malformed ones, and for two rules that share an id but not their obligations.
    """
    table: dict[Any, tuple[Obligation, ...]] = {}
    for index, rule in enumerate(_rules(data)):
        id = rule.get("id") or f"rule_{index}"
        key, found = rule_key(id), _read(rule.get(KEY), id)
        if table.setdefault(key, found) != found:
            raise PolicyCompileError(
                f"Rule {id!r}: two rules have this id and different obligations; give each rule an id of its own"
            )
    return {key: found for key, found in table.items() if found}


def rule_key(id: object) -> object:
    """Return a hashable key that distinguishes ids as `repr` does: an id of the `lynx` profile may be a list."""
    return id if type(id) is str else (type(id).__name__, repr(id))


def _rules(data: object) -> list[Any]:
    rules = data.get("rules") if isinstance(data, Mapping) else None
    return list(rules) if isinstance(rules, list | tuple) else []


def _read(raw: object, rule: object) -> tuple[Obligation, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list | tuple):
        raise PolicyCompileError(f"Rule {rule!r}: obligations must be a list, got {type(raw).__name__}")
    return tuple(_one(item, f"Rule {rule!r}: obligations[{index}]") for index, item in enumerate(raw))


def _one(item: object, place: str) -> Obligation:
    if isinstance(item, str):
        item = {"id": item}
    if not isinstance(item, Mapping):
        raise PolicyCompileError(f"{place} must be a string id or a mapping, got {type(item).__name__}")
    id, phase, params = item.get("id"), item.get("phase", "post"), item.get("params", {})
    if not isinstance(id, str) or not id:
        raise PolicyCompileError(f"{place} needs a non-empty string 'id'")
    if phase not in PHASES:
        raise PolicyCompileError(f"{place}.phase must be 'pre' or 'post', got {phase!r}")
    if not isinstance(params, Mapping):
        raise PolicyCompileError(f"{place}.params must be a mapping, got {type(params).__name__}")
    unknown = [key for key in item if key not in ("id", "phase", "params")]
    if unknown:
        found = diagnose("W0202", None, where=place, keys=", ".join(f"`{key}`" for key in unknown))
        warn_caller(safe_text(f"{found.code}: {found.message}"), PolicyWarning)
    try:
        return Obligation(id, phase, deep_freeze(dict(params)))
    except ValueError as error:
        raise PolicyCompileError(f"{place}.params cannot be used: {error}") from error
