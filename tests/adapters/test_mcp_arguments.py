"""Arguments of MCP tools: checked by the server's schema, with its defaults, before the policy evaluates them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from bobcat import AuditEvent, FinalAnswer, RunResult, ToolCall, compile_policy, run_agent
from bobcat.adapters.mcp import mcp_tools
from campaign import examples
from json_schemas import arguments, documents_with_defaults
from kernel.scripted import Scripted

HERE = Path(__file__).parent
NESTED = [sys.executable, str(HERE / "nested_server.py")]
ALL = compile_policy("rules: [{id: all, match: {}, decision: allow}]")


class Outcome:
    """Results of some calls: `messages` to the model, `evaluated` arguments, `codes` of refusals."""

    def __init__(self, reported: list[str], events: list[AuditEvent]) -> None:
        decided = [event.body for event in events if event.kind == "policy.evaluated"]
        self.reported = reported
        self.evaluated = [body["args"] for body in decided if "code" not in body]
        self.codes = [body.get("code") for body in decided]
        self.got = [json.loads(text.removeprefix("[ok] ")) for text in reported if text.startswith("[ok] ")]


def outcome(command: list[str], *calls: ToolCall, policy: Any = ALL) -> Outcome:
    agent = Scripted(*calls, FinalAnswer("done"))
    events: list[AuditEvent] = []

    async def run() -> RunResult:
        async with mcp_tools(command) as tools:
            return await run_agent(agent, "go", tools=tools, policy=policy, sinks=[events.append])

    result = asyncio.run(run())
    assert result.error is None
    return Outcome([message.content for message in agent.seen[-1] if message.role == "tool"], events)


def echoed(tmp_path: Path, schema: Mapping[str, Any], *args: Mapping[str, Any], policy: Any = ALL) -> Outcome:
    """Results of calls of a tool with `schema`, whose server answers with the arguments that it got."""
    schemas = tmp_path / "schemas.json"
    schemas.write_text(json.dumps({"echo": schema}))
    command = [sys.executable, str(HERE / "echo_server.py"), str(schemas)]
    return outcome(command, *(ToolCall("echo", dict(given)) for given in args), policy=policy)


def properties(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


FORCE = {"type": "boolean", "default": True}
NO_FORCE = compile_policy(
    """
rules:
  - id: no-force
    match: {any_of: [{args.force: true}, {args.options.force: true}, {'args["dry-run"]': true}, {args.from: true}]}
    decision: deny
    reason: too strong
  - {id: rest, match: {}, decision: allow}
"""
)


@pytest.mark.parametrize(
    "schema, args",
    [
        (properties(force=FORCE), {}),
        (properties(**{"dry-run": FORCE}), {}),
        (properties(**{"from": FORCE}), {}),
        (properties(options=properties(force=FORCE)), {"options": {}}),
        (properties(options=properties(force=FORCE)), {}),
        (properties(options={**properties(force=FORCE), "default": {}}), {}),
        ({"type": "object", "allOf": [properties(force=FORCE)]}, {}),
        ({**properties(options={"allOf": [{"$ref": "#/$defs/o"}]}), "$defs": {"o": properties(force=FORCE)}}, {}),
        ({**properties(force={"$ref": "#/$defs/f"}), "$defs": {"f": FORCE}}, {}),
        ({"type": "object", "$ref": "#/definitions/o", "definitions": {"o": properties(force=FORCE)}}, {}),
        ({"type": "object", "anyOf": [properties(force=FORCE), {"required": ["x"]}]}, {}),
        ({"type": "object", "oneOf": [properties(force=FORCE), {"required": ["x"]}]}, {}),
        ({"type": "object", "if": {"required": ["x"]}, "else": properties(force=FORCE)}, {}),
        ({"type": "object", "dependentSchemas": {"x": properties(force=FORCE)}}, {"x": 1}),
        (properties(force={"anyOf": [{"type": "boolean", "default": True}, {"type": "null"}]}), {}),
        ({"type": "object", "patternProperties": {"^opt": properties(force=FORCE)}}, {"options": {}}),
        ({"type": "object", "additionalProperties": properties(force=FORCE)}, {"options": {}}),
    ],
)  # fmt: skip
def test_a_default_of_the_server_is_evaluated_wherever_the_schema_has_it(
    tmp_path: Path, schema: dict[str, Any], args: dict[str, Any]
) -> None:
    denied = echoed(tmp_path, schema, args, policy=NO_FORCE)
    assert denied.reported == ["[denied] too strong"]
    sent = echoed(tmp_path, schema, args)
    assert [answer["got"] for answer in sent.got] == sent.evaluated
    assert "true" in json.dumps(sent.evaluated)


def test_defaults_in_items_are_bound(tmp_path: Path) -> None:
    schema = properties(jobs={"type": "array", "items": properties(force=FORCE, name={"type": "string"})})
    found = echoed(tmp_path, schema, {"jobs": [{"name": "a"}, {"name": "b", "force": False}]})
    expected = {"jobs": [{"name": "a", "force": True}, {"name": "b", "force": False}]}
    assert (found.evaluated, found.got[0]["got"]) == ([expected], expected)


def test_a_default_that_depends_on_another_default_is_bound(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "if": {"properties": {"mode": {"const": "hard"}}, "required": ["mode"]},
        "then": properties(force=FORCE),
        "properties": {"mode": {"default": "hard"}},
    }
    assert echoed(tmp_path, schema, {}).evaluated == [{"mode": "hard", "force": True}]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "allOf": [properties(force=FORCE), properties(force={"default": False})]},
        {"type": "object", "anyOf": [properties(force=FORCE), properties(force={"default": False})]},
        properties(force={"anyOf": [FORCE, {"default": "yes"}]}),
    ],
)
def test_a_call_is_refused_where_two_defaults_could_be_meant(tmp_path: Path, schema: dict[str, Any]) -> None:
    found = echoed(tmp_path, schema, {}, {"force": True})
    assert "as it has more than one default" in found.reported[0] or "as they has" in found.reported[0]
    assert found.codes == ["argument_value", None]


def test_a_null_default_and_a_required_one_are_not_bound(tmp_path: Path) -> None:
    schema = {**properties(a={"default": None}, b={"type": "integer", "default": 1}), "required": ["b"]}
    found = echoed(tmp_path, schema, {"b": 2}, {})
    assert found.evaluated == [{"b": 2}]
    assert found.reported[1] == "[error] missing argument `b` for tool 'echo'"


@pytest.mark.parametrize(
    "member, value, reported",
    [
        ({"type": "boolean"}, "true", "argument `x`: expected a boolean, got a string"),
        ({"type": "boolean"}, 1, "argument `x`: expected a boolean, got an integer"),
        ({"type": "integer"}, 2.5, "argument `x`: expected an integer, got a number"),
        ({"type": "integer"}, True, "argument `x`: expected an integer, got a boolean"),
        ({"enum": ["a", "b"]}, "c", 'argument `x`: expected one of "a", "b", got another one'),
        ({"type": ["string", "null"]}, 1, "argument `x`: expected a string or null, got an integer"),
        ({"type": "string", "pattern": "^a+$"}, "b", 'argument `x`: must match the pattern "^a+$"'),
        (properties(y={"type": "array", "items": {"type": "string"}}), {"y": ["a", 1]},
         "argument `x.y[1]`: expected a string, got an integer"),
        ({**properties(), "additionalProperties": False}, {"y": 1}, "argument `x`: unknown key `y`; it takes none"),
        ({**properties(), "required": ["y"]}, {}, "argument `x`: missing key `y`"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, None,
         "argument `x`: expected a string or an integer, got null"),
    ],
)  # fmt: skip
def test_a_value_that_the_schema_refuses_is_located_and_not_sent(
    tmp_path: Path, member: dict[str, Any], value: Any, reported: str
) -> None:
    found = echoed(tmp_path, properties(x=member), {"x": value})
    assert found.reported == [f"[error] {reported}"]
    assert found.codes[0] in ("argument_type", "argument_value")
    assert found.evaluated == []


@pytest.mark.parametrize(
    "schema, problem",
    [
        (properties(x={"type": "text"}), "`type` must name types of JSON"),
        (properties(x={"$ref": "https://example.com/x.json"}), "`$ref` must lead into the same document"),
        (properties(x={"$ref": "#/$defs/none"}), "`$ref` names a location that is not in the schema"),
        (properties(x={"pattern": "(?=a)b"}), "a `pattern` cannot be used"),
        (properties(x={"$dynamicRef": "#x"}), "`$dynamicRef` is not supported"),
        ({**properties(), "unevaluatedProperties": False}, "`unevaluatedProperties` is not supported"),
    ],
)
def test_a_schema_that_cannot_be_used_refuses_every_call(tmp_path: Path, schema: dict[str, Any], problem: str) -> None:
    found = echoed(tmp_path, schema, {}, {"x": 1})
    assert all(problem in text for text in found.reported)
    assert found.codes == ["tool_schema", "tool_schema"]


def test_a_pattern_that_backtracks_and_a_reference_that_explodes_take_bounded_work(tmp_path: Path) -> None:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {
        **properties(x={"type": "string", "pattern": "^(a+)+$"}, y={"$ref": "#/$defs/d0"}, z={"$ref": "#/$defs/z"}),
        "$defs": {**twice, "d40": {"type": ["integer", "string"]}, "z": {"$ref": "#/$defs/z"}},
    }
    found = echoed(tmp_path, schema, {"x": "a" * 50 + "!"}, {"y": 1}, {"z": 1})
    assert found.codes == ["argument_value", "tool_schema", "argument_too_deep"]
    assert "it takes too many steps to check these arguments" in found.reported[1]


def test_what_a_model_of_the_server_would_use_is_what_was_evaluated() -> None:
    calls = (
        ToolCall("delete", {"path": "a"}),
        ToolCall("delete", {"path": "a", "options": {"recursive": True}}),
        ToolCall("purge", {}),
        ToolCall("purge", {"options": {"mode": {"depth": 1}, "extra": {}}}),
        ToolCall("remove", {"how": [{}, {"kind": "hard"}, {"kind": "soft", "days": 1}]}),
    )
    found = outcome(NESTED, *calls)
    used = [_without_nulls(answer) for answer in found.got]
    assert len(used) == len(calls)
    assert used == [_without_nulls(evaluated) for evaluated in found.evaluated]
    denied = outcome(
        NESTED,
        *calls,
        policy=compile_policy(
            """
rules:
  - {id: force, match: {args.options.mode.force: true}, decision: deny}
  - {id: wipe, match: {args.how.exists: true}, decision: allow}
"""
        ),
    )
    assert [text.split(" ")[0] for text in denied.reported] == ["[denied]"] * 4 + ["[ok]"]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("value", [b"x", (1, b"x"), {"a", "b"}])
def test_a_value_without_a_json_form_is_not_sent_to_a_server(tmp_path: Path, value: Any) -> None:
    found = echoed(tmp_path, properties(), {"x": value})
    assert found.codes == ["argument_type"]
    assert "expected a JSON value, got `" in found.reported[0]
    assert found.reported[0].startswith("[error] argument `x[1]`" if type(value) is tuple else "[error] argument `x`")


@settings(max_examples=examples(5), suppress_health_check=list(HealthCheck), deadline=None)
@given(
    schemas=st.lists(documents_with_defaults(), min_size=10, max_size=10),
    calls=st.lists(st.tuples(st.integers(0, 9), arguments), min_size=40, max_size=40),
)
def test_a_server_gets_nothing_that_its_schema_refuses_and_nothing_unevaluated(
    tmp_path_factory: pytest.TempPathFactory, schemas: list[dict[str, Any]], calls: list[tuple[int, dict[str, Any]]]
) -> None:
    path = tmp_path_factory.mktemp("schemas") / "schemas.json"
    path.write_text(json.dumps({f"t{index}": schema for index, schema in enumerate(schemas)}))
    command = [sys.executable, str(HERE / "echo_server.py"), str(path)]
    found = outcome(command, *(ToolCall(f"t{index}", args) for index, args in calls))
    assert [answer["got"] or {} for answer in found.got] == found.evaluated
    for answer in found.got:
        schema = schemas[int(answer["tool"].removeprefix("t"))]
        jsonschema.Draft202012Validator(schema).validate(answer["got"] or {})
