"""Every public value can be pickled, copied, replaced, taken apart and matched, through either door."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest

import bobcat
import bobcat.lynx
from bobcat.journal.records import step_record_from_json, step_record_to_json

NOW = datetime(2026, 1, 2, tzinfo=UTC)


async def act(n: int = 1) -> int:
    """Acts."""
    return n


def values(api: Any) -> dict[str, Any]:
    """One of every kind."""
    principal, metadata = api.Principal("user", "u"), api.ToolMetadata("low", True, ("a",))
    context = api.ExecutionContext(principal, "dev", ".", "c", 0, NOW)
    request = api.ActionRequest("act", {"a": [1, {"b": 2}]}, metadata, context)
    decision = api.Decision(api.Verdict.ALLOW, "reason", ("rule",))
    definition = api.ToolDef("act", "Acts.", act, None, metadata)
    tools, result = api.ToolSet({"act": definition}), api.RunResult("c", "b", "answer", None, 2, api.Usage(1, 2))
    record = api.StepRecord("r", 0, "kind", "", MappingProxyType({"a": 1}), NOW)
    outcome = api.NodeOutcome("node", result, 0, 1)
    found = (
        principal, metadata, context, request, decision, definition, tools, result, outcome, api.Usage(1, 2),
        api.Budget(steps=3), api.Message("user", "text"), api.ToolCall("act", {"a": 1}), api.FinalAnswer("text"),
        api.ActionResult(True, 5), api.ApprovalRequest(request, decision, "c"), api.ApprovalDecision(True, "me"),
        api.AuditEvent("c", "b", 0, "kind", NOW, {"a": 1}), step_record_from_json(step_record_to_json(record)),
        api.StepView(0, "act", {}, "allow", True, "text"), api.RunView("r", 1, 1),
        api.GraphResult(result, (outcome,), 1),
        api.GraphNode(None, tools, api.compile_policy("{rules: [], version: 1}")),
        api.compile_graph("{start: a, edges: [{from: a, to: b, when: {answer_matches: ^x$}}]}"),
    )  # fmt: skip
    return {type(value).__name__: value for value in found}


VALUES = [
    pytest.param(value, id=f"{api.__name__}.{name}")
    for api in (bobcat, bobcat.lynx)
    for name, value in values(api).items()
]


def test_no_kind_of_value_is_left_out() -> None:
    for api in (bobcat, bobcat.lynx):
        kinds = {name for name in api.__all__ if dataclasses.is_dataclass(getattr(api, name))}
        assert not kinds & set(bobcat.lynx.__all__) - set(values(api))


@pytest.mark.parametrize("value", VALUES)
def test_a_value_can_be_pickled_and_copied(value: Any) -> None:
    for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value), dataclasses.replace(value)):
        assert twin == value
        assert type(twin) is type(value)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_can_be_taken_apart(value: Any) -> None:
    names = [field.name for field in dataclasses.fields(value)]
    assert list(dataclasses.asdict(value)) == names
    assert len(dataclasses.astuple(value)) == len(names)
    assert type(value).__match_args__ == tuple(names)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_cannot_be_changed(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(value, name)
    with pytest.raises((TypeError, AttributeError)):
        value.something_else = 1


@pytest.mark.parametrize("api", [bobcat, bobcat.lynx])
def test_the_mappings_that_a_value_makes_itself_are_read_only(api: Any) -> None:
    made = values(api)
    for mapping in (made["ExecutionContext"].extra, made["ToolSet"].tools, made["StepRecord"].body):
        with pytest.raises(TypeError):
            mapping["new"] = 1


@pytest.mark.parametrize("api", [bobcat, bobcat.lynx])
def test_values_are_matched_by_position(api: Any) -> None:
    match values(api)["ToolCall"]:
        case api.ToolCall(tool, {"a": number}):
            assert (tool, number) == ("act", 1)
        case _:
            raise AssertionError


def test_a_record_whose_body_is_no_mapping_is_refused() -> None:
    with pytest.raises(TypeError, match="the body of a record must be a mapping, not list"):
        step_record_from_json('{"run_id":"r","seq":0,"kind":"k","body":[["a",1]],"timestamp":"2026-01-02T00:00:00"}')
