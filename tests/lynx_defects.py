"""Shared by the tests of lynx-agent's defects: requests, decisions, and the refusal of a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat.compiler import compile_policy
from bobcat.errors import PolicyCompileError
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Principal, ToolMetadata, Verdict

ALLOWING = "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"
"""The most dangerous defaults: whatever slips past the rules is allowed."""


def context(**fields: Any) -> ExecutionContext:
    """A context with the given fields."""
    given = {
        "principal": Principal("user", "u"),
        "environment": "dev",
        "workspace": ".",
        "correlation_id": "c",
        "step_seq": 0,
        "timestamp": datetime(2026, 1, 31, 12, tzinfo=UTC),
        **fields,
    }
    return ExecutionContext(**given)


def call(
    tool: str = "t",
    args: Mapping[str, Any] | None = None,
    *,
    declared: ToolMetadata | None = None,
    at: ExecutionContext | None = None,
) -> ActionRequest:
    """A proposed call of a harmless tool."""
    return ActionRequest(tool, args or {}, declared or ToolMetadata("low", True, ()), at or context())


def decide(
    source: str | Mapping[str, Any],
    request: ActionRequest,
    *host_rules: Callable[..., Any],
    at: ExecutionContext | None = None,
) -> Decision:
    """The strict profile's decision."""
    return compile_policy(source, python_rules=host_rules, uncompiled="callable").evaluate(request, at)


def verdict(source: str | Mapping[str, Any], **args: Any) -> Verdict:
    """The strict profile's verdict on a call with these arguments."""
    return decide(source, call(args=args)).verdict


def refusal(source: str | Mapping[str, Any]) -> PolicyCompileError:
    """The error that refuses the policy."""
    with pytest.raises(PolicyCompileError) as found:
        compile_policy(source)
    assert found.value.diagnostics
    return found.value


def one_rule(match: str, decision: str = "deny") -> str:
    """A policy of one rule, its match in flow style, over defaults that allow."""
    return f"{ALLOWING}rules:\n- id: r\n  match: {match}\n  decision: {decision}\n"
