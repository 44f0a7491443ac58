"""Schemas of remote tools: what cannot be used, older spellings, and bounded work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bobcat import ToolDef, ToolMetadata
from bobcat.errors import ArgumentError
from bobcat.tools.schema import tooldef_to_json_schema, with_input_schema
from bobcat.tools.schema_check import MAX_NODES
from bobcat.tools.signature import bind_arguments


def remote(schema: Mapping[str, Any]) -> ToolDef:
    async def call(**kwargs: Any) -> None: ...

    return ToolDef("remote", "", with_input_schema(call, schema), None, ToolMetadata("low", True, ()))


def refusal(schema: Mapping[str, Any], args: Mapping[str, Any]) -> tuple[str, str] | None:
    try:
        bind_arguments(remote(schema), args)
    except ArgumentError as error:
        return error.code, str(error)
    return None


def one(member: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": member}, **more}


@pytest.mark.parametrize(
    "schema, problem",
    [
        ({"required": "x"}, "`required` must be a list"),
        ({"required": [1]}, "`required` must be a list of strings"),
        ({"properties": []}, "`properties` must be an object"),
        (one(3), "a schema is an object or a boolean, not an integer"),
        (one({"type": []}), "`type` must name types of JSON"),
        (one({"type": "any"}), "`type` must name types of JSON"),
        (one({"minimum": "3"}), "`minimum` must be a number"),
        (one({"multipleOf": 0}), "`multipleOf` must be a number above 0"),
        (one({"maxLength": -1}), "`maxLength` must be an integer, at least 0"),
        (one({"maxItems": 1.5}), "`maxItems` must be an integer, at least 0"),
        (one({"anyOf": []}), "`anyOf` must be a list"),
        (one({"allOf": {}}), "`allOf` must be a list"),
        (one({"enum": "a"}), "`enum` must be a list"),
        (one({"pattern": 1}), "`pattern` must be a string"),
        (one({"pattern": "("}), "a `pattern` cannot be used"),
        (one({"pattern": r"(a)\1"}), "a `pattern` cannot be used"),
        (one({"patternProperties": {"(?!a)": True}}), "a `pattern` cannot be used"),
        (one({"uniqueItems": 1}), "`uniqueItems` must be a boolean"),
        (one({"$ref": "#/properties/none"}), "`$ref` names a location that is not in the schema"),
        (one({"$ref": "other.json"}), "`$ref` must lead into the same document"),
        (one({"$ref": "#anchor"}), "`$ref` must lead into the same document"),
        (one({"$ref": 1}), "`$ref` must lead into the same document"),
        (one({"$recursiveRef": "#"}), "`$recursiveRef` is not supported"),
        (one({"unevaluatedItems": False}), "`unevaluatedItems` is not supported"),
        (one({"$id": "https://example.com/x"}), "`$id` inside a schema is not supported"),
        (one({"anyOf": [{"minLength": n} for n in range(MAX_NODES)]}), f"more than {MAX_NODES} subschemas"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_schema_refuses_every_call_and_says_why(schema: dict[str, Any], problem: str) -> None:
    for args in ({}, {"x": 1}):
        found = refusal(schema, args)
        assert found is not None
        assert found[0] == "tool_schema"
        assert problem in found[1]


def test_a_schema_that_is_nested_too_deeply_refuses_every_call() -> None:
    member: dict[str, Any] = {}
    for _ in range(5000):
        member = {"items": member, "type": "array"}
    found = refusal(one(member), {})
    assert found is not None
    assert found[0] == "tool_schema"
    assert found[1].endswith("the schema of its arguments cannot be used: it is nested too deeply")


@pytest.mark.parametrize(
    "member, fits, fails",
    [
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a"], ["a", 1]),
        ({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, ["a", 1], ["a", "b"]),
        ({"minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"minimum": 1, "exclusiveMinimum": False}, 1, 0),
        ({"dependencies": {"a": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}),
        ({"dependencies": {"a": {"required": ["b"]}}}, {"a": 1, "b": 1}, {"a": 1}),
        ({"pattern": "^\\u00e9$"}, "é", "e"),
        ({"pattern": "^\\\\u00e9$"}, "\\u00e9", "é"),
        ({"pattern": "^[\\w-]+@x\\.com$"}, "a-b@x.com", "a@xycom"),
        ({"format": "date-time", "type": "string"}, "not checked", 1),
        ({"type": "integer"}, 1.0, 1.5),
        ({"enum": [1]}, 1.0, True),
        ({"const": [True]}, [True], [1]),
        ({"uniqueItems": True}, [1, True, "1"], [1, 1.0]),
    ],
)
def test_spellings_of_older_drafts_and_values_of_json_are_known(member: Any, fits: Any, fails: Any) -> None:
    assert refusal(one(member), {"x": fits}) is None
    found = refusal(one(member), {"x": fails})
    assert found is not None
    assert found[0] in ("argument_type", "argument_value", "unknown_argument", "missing_argument")


def test_a_text_with_lone_surrogates_matches_no_pattern() -> None:
    assert refusal(one({"pattern": ""}), {"x": "\ud800"}) == (
        "argument_value", 'argument `x`: must match the pattern ""',
    )  # fmt: skip


@pytest.mark.parametrize("count", [100, 10_000])
def test_the_work_of_a_check_grows_with_the_arguments_only(count: int) -> None:
    item = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
    }
    schema = one({"type": "array", "items": item, "uniqueItems": True})
    assert refusal(schema, {"x": [{"a": n, "b": None} for n in range(count)]}) is None
    every = one({"allOf": [{"allOf": [{"items": {"not": {"const": n}}} for n in range(300)]}] * 3})
    found = refusal(every, {"x": [f"{n}" for n in range(count)]})
    assert found == (
        "tool_schema",
        "tool 'remote' cannot be called like this: it takes too many steps to check these arguments",
    )


def test_a_schema_of_an_object_in_itself_makes_no_endless_default() -> None:
    node = {"type": "object", "properties": {"n": {"default": 1}, "next": {"$ref": "#/$defs/node"}}}
    schema = one({"$ref": "#/$defs/node"}, **{"$defs": {"node": node}})
    assert bind_arguments(remote(schema), {}) == {}
    assert bind_arguments(remote(schema), {"x": {"next": {}}}) == {"x": {"n": 1, "next": {"n": 1}}}


def test_a_default_that_the_schema_refuses_must_be_given() -> None:
    schema = one({"type": "integer", "default": "10"})
    assert refusal(schema, {}) == ("argument_type", "argument `x`: expected an integer, got a string")
    assert bind_arguments(remote(schema), {"x": 10}) == {"x": 10}


def test_a_schema_that_is_given_later_is_the_one_that_counts() -> None:
    async def call(**kwargs: Any) -> None: ...

    definition = ToolDef("it", "", call, None, ToolMetadata("low", True, ()))
    assert bind_arguments(definition, {"x": "a"}) == {"x": "a"}
    with_input_schema(call, one({"type": "integer"}))
    with pytest.raises(ArgumentError, match="expected an integer, got a string"):
        bind_arguments(definition, {"x": "a"})
    assert tooldef_to_json_schema(definition)["properties"] == {"x": {"type": "integer"}}
