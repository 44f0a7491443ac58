"""The check of arguments by a JSON Schema agrees with `jsonschema`, on random schemas and random arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema
from hypothesis import given

from bobcat import ToolDef, ToolMetadata
from bobcat.errors import ArgumentError
from bobcat.model.frozen import deep_freeze
from bobcat.tools.schema import with_input_schema
from bobcat.tools.schema_check import Compiler, Work
from bobcat.tools.signature import bind_arguments
from json_schemas import arguments, documents, documents_with_defaults


def remote(schema: Mapping[str, Any]) -> ToolDef:
    async def call(**kwargs: Any) -> None: ...

    return ToolDef("remote", "", with_input_schema(call, schema), None, ToolMetadata("low", True, ()))


def is_valid(schema: Mapping[str, Any], args: Any) -> bool | None:
    """The result of `jsonschema`; None where it does not terminate."""
    try:
        return bool(jsonschema.Draft202012Validator(schema).is_valid(args))
    except RecursionError:
        return None


@given(schema=documents(), args=arguments)
def test_a_schema_lets_through_what_jsonschema_calls_valid(schema: dict[str, Any], args: dict[str, Any]) -> None:
    expected = is_valid(schema, args)
    try:
        found = Compiler(schema, python=False).compile(schema).test(deep_freeze(args), Work(args)) is None
    except RecursionError:
        assert expected is None
        return
    if expected is None:  # an endless reference, behind a member that is missing or wrong anyway
        assert not found
        return
    assert found == expected


@given(schema=documents(), args=arguments)
def test_a_tool_gets_no_arguments_that_its_schema_refuses(schema: dict[str, Any], args: dict[str, Any]) -> None:
    expected = is_valid(schema, args)
    try:
        bound = bind_arguments(remote(schema), args)
    except ArgumentError:
        assert not expected
    else:
        assert bound == args
        assert expected


@given(schema=documents_with_defaults(), args=arguments)
def test_bound_defaults_fit_the_schema_and_change_nothing_that_was_given(
    schema: dict[str, Any], args: dict[str, Any]
) -> None:
    try:
        bound = bind_arguments(remote(schema), args)
    except ArgumentError:
        return
    assert is_valid(schema, bound)
    assert contains(bound, args)
    assert bind_arguments(remote(schema), bound) == bound


def contains(whole: Any, part: Any) -> bool:
    """True if a value is another one with members of objects added, at any depth."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(name in whole and contains(whole[name], item) for name, item in part.items())
    if isinstance(whole, list) and isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return type(whole) is type(part) and bool(whole == part)
