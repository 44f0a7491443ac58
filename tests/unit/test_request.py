"""`Request` writes the request that `request_from_json` reads, with the same defaults."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import (
    ActionRequest,
    Policy,
    Principal,
    Request,
    RequestError,
    ToolMetadata,
    ToolSet,
    evaluate,
    evaluate_json,
    request_from_json,
    request_to_json,
    tool,
)


@tool(cost="medium", reversible=True, scope=("fs:write",), blast_radius_hint=3)
async def write(path: str) -> None:
    """Writes."""


def test_a_tool_alone_is_a_request_with_every_default() -> None:
    assert Request("shell") == request_from_json({"tool": "shell"})
    assert type(Request("shell", {"cmd": "ls"})) is ActionRequest


def test_the_defaults_are_those_of_the_core() -> None:
    matches = {
        "tool": "shell",
        "declared.cost": "high",
        "declared.reversible": False,
        "declared.scope": [],
        "declared.has_shadow": False,
        "declared.effect": "unsafe",
        "context.principal.id": "anonymous",
        "context.principal.kind": "user",
        "context.environment": "dev",
        "context.workspace": ".",
    }
    rule = {"id": "r", "match": {key: value for key, value in matches.items() if value != []}, "decision": "allow"}
    policy = Policy.compile({"rules": [rule]})
    for found in (evaluate(policy, Request("shell")), *evaluate_json(policy, b'{"tool": "shell"}')):
        assert found.matched_rules == ("r",)


def test_every_part_of_a_request_can_be_given() -> None:
    when = datetime(2026, 1, 2, tzinfo=UTC)
    request = Request(
        "write",
        {"path": "a"},
        principal=Principal("agent", "bot", "Bot"),
        environment="prod",
        declared={"cost": "low"},
        extra={"ticket": 7},
        workspace="/srv",
        correlation_id="c",
        step_seq=3,
        timestamp=when,
    )
    assert request == request_from_json(request_to_json(request))
    context = request.context
    given = (context.environment, context.workspace, context.correlation_id, context.step_seq, context.timestamp)
    assert given == ("prod", "/srv", "c", 3, when)
    assert (context.principal, context.extra, request.args) == (
        Principal("agent", "bot", "Bot"),
        {"ticket": 7},
        {"path": "a"},
    )
    assert request.declared == ToolMetadata("low", False, ())


@pytest.mark.parametrize(
    ("given", "principal"),
    [
        ("ada", Principal("user", "ada")),
        (Principal("service", "s"), Principal("service", "s")),
        ({"kind": "agent", "id": "a"}, Principal("agent", "a")),
    ],
)
def test_a_principal_is_an_id_a_value_or_a_mapping(given: Any, principal: Principal) -> None:
    assert Request("t", principal=given).context.principal == principal


def test_declarations_come_from_a_tool_in_every_form() -> None:
    definition = ToolSet.from_functions(write).get("write")
    for declared in (write, definition, definition.metadata):
        assert Request("write", declared=declared).declared == ToolMetadata("medium", True, ("fs:write",), 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"declared": {"costs": "low"}}, "`declared` has no key `costs`"),
        ({"principal": {"id": "a"}}, "`context.principal.kind` must be a string"),
    ],
)
def test_a_mapping_with_other_keys_is_refused(options: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Request("t", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tool": write}, "tool must be the name of a tool, got function"),
        ({"args": ["ls"]}, "args must be a mapping, got list"),
        ({"extra": "x"}, "extra must be a mapping, got str"),
        ({"principal": 3}, "principal must be a Principal, the id of a user or a mapping, got int"),
        ({"declared": "low"}, "declared must be a function with @tool, .* got str"),
        ({"declared": len}, "declared must be a function with @tool, .* got builtin_function_or_method"),
    ],
)
def test_a_value_of_another_type_is_refused(options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Request(**{"tool": "t", **options})


def test_the_class_that_lynx_agent_has_keeps_its_parameters() -> None:
    assert list(inspect.signature(ActionRequest).parameters) == ["tool", "args", "declared", "context"]
