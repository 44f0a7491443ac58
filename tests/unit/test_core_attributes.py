"""Attributes of requests in the core: read from known slots, by name everywhere else."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

import bobcat
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata

POLICY = """
version: 1
defaults: {on_no_match: allow, on_missing_shadow: allow}
rules:
  - {id: tool, match: {tool: shell}, decision: deny, reason: tool}
  - {id: args, match: {args.n: 7}, decision: deny, reason: args}
  - {id: cost, match: {declared.cost: odd}, decision: deny, reason: cost}
  - {id: environment, match: {context.environment: prod}, decision: deny, reason: environment}
  - {id: principal, match: {context.principal.id: mallory}, decision: deny, reason: principal}
"""


def context(*, environment: str = "dev", principal: str = "ann") -> ExecutionContext:
    return ExecutionContext(Principal("user", principal), environment, ".", "", 0, datetime(2026, 1, 31, tzinfo=UTC))


def request(**changes: Any) -> ActionRequest:  # Any: attributes of different types
    plain = ActionRequest("ls", {"n": 1}, ToolMetadata(cost="low", reversible=True, scope=()), context())
    return dataclasses.replace(plain, **changes)


def reasons(call: Any) -> str:  # Any: what has the attributes of a request
    return bobcat.evaluate(bobcat.compile_policy(POLICY), call).reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tool": "shell"}, "tool"),
        ({"args": {"n": 7}}, "args"),
        ({"declared": ToolMetadata(cost="odd", reversible=True, scope=())}, "cost"),
        ({"context": context(environment="prod")}, "environment"),
        ({"context": context(principal="mallory")}, "principal"),
        ({}, "no rule matched; default policy"),
    ],
)
def test_every_part_of_a_request_is_read(changes: dict[str, Any], reason: str) -> None:
    assert reasons(request(**changes)) == reason


def test_what_a_slot_holds_now_is_read() -> None:
    call = request()
    object.__setattr__(call, "tool", "shell")
    assert reasons(call) == "tool"


def test_a_property_of_a_subclass_is_asked() -> None:
    class Disguised(ActionRequest):
        @property
        def tool(self) -> str:  # type: ignore[override]
            return "shell"

        @tool.setter
        def tool(self, value: str) -> None:
            pass

    plain = request()
    call = Disguised(plain.tool, plain.args, plain.declared, plain.context)
    assert reasons(call) == "tool"


def test_an_empty_slot_is_no_request() -> None:
    call = request()
    object.__delattr__(call, "tool")
    with pytest.raises(TypeError, match="no attribute `tool`"):
        reasons(call)


def test_an_empty_slot_of_the_context_is_absent() -> None:
    prod = context(environment="prod")
    object.__delattr__(prod, "environment")
    assert reasons(request(context=prod)) == "no rule matched; default policy"
