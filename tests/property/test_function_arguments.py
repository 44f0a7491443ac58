"""Random signatures, random arguments: nothing reaches a function that its schema refuses, no default is unjudged."""
# ruff: noqa: UP007, UP045 - both spellings of a union are tried

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict, Union

import hypothesis.strategies as st
import jsonschema
import msgspec
from hypothesis import given

from bobcat import AuditEvent, FinalAnswer, MemoryStore, ToolCall, ToolSet, compile_policy, run_agent, tool
from bobcat.tools.schema import tooldef_to_json_schema
from json_schemas import values
from kernel.scripted import Scripted

ALL = compile_policy("rules: [{id: all, match: {}, decision: allow}]")


class Colour(StrEnum):
    RED = "a"


class Level(Enum):
    LOW = 1
    HIGH = 2.5


class Query(TypedDict):
    a: str
    b: NotRequired[int]


@dataclass
class Tree:
    a: int
    b: list[Tree] = field(default_factory=list)


class Place(NamedTuple):
    x: int
    y: bool = False


class Unknown: ...


SIMPLE: list[Any] = [
    str, int, float, bool, None, bytes, datetime, Any, object, Unknown, "Later", Colour, Level, Query, Tree, Place,
    list, dict, set, tuple, Literal["a", 1, True, None], Annotated[int, msgspec.Meta(ge=1, lt=5)],
    Annotated[str | None, msgspec.Meta(min_length=1, pattern="^a")], Annotated[list[int], msgspec.Meta(max_length=2)],
]  # fmt: skip
annotations = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: st.one_of(
        inner.map(lambda kind: list[kind]),
        inner.map(lambda kind: Sequence[kind]),
        inner.map(lambda kind: dict[str, kind]),
        inner.map(lambda kind: Mapping[str, kind]),
        inner.map(lambda kind: set[kind]),
        inner.map(lambda kind: tuple[kind, ...]),
        inner.map(lambda kind: Optional[kind]),
        st.tuples(inner, inner).map(lambda kinds: Union[kinds[0], kinds[1]]),
        st.tuples(inner, inner).map(lambda kinds: tuple[kinds[0], kinds[1]]),
    ),
    max_leaves=4,
)
parameters = st.lists(st.tuples(annotations, st.one_of(st.none(), st.tuples(values))), min_size=1, max_size=3).map(
    lambda found: sorted(found, key=lambda parameter: parameter[1] is not None)
)


def strict(schema: Mapping[str, Any]) -> jsonschema.Draft202012Validator:
    """`jsonschema` with integers that are no floats, as functions have them."""
    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=checker)(schema)


@given(parameters=parameters, data=st.data(), observed=st.booleans(), journaled=st.booleans())
def test_a_function_gets_what_its_schema_takes_and_the_policy_has_evaluated(
    parameters: list[tuple[Any, tuple[Any] | None]], data: st.DataObject, observed: bool, journaled: bool
) -> None:
    got: list[dict[str, Any]] = []
    names = [f"p{index}" for index in range(len(parameters))]
    written = [name + (f"=defaults[{index}][0]" if parameters[index][1] else "") for index, name in enumerate(names)]
    scope: dict[str, Any] = {"got": got, "defaults": [default for _, default in parameters]}
    exec(f"async def it({', '.join(written)}):\n    got.append(dict(locals()))", scope)
    fn = scope["it"]
    fn.__annotations__ = {name: annotation for name, (annotation, _) in zip(names, parameters, strict=True)}
    tools = ToolSet.from_functions(tool()(fn))
    schema = tooldef_to_json_schema(tools.get("it"))
    jsonschema.Draft202012Validator.check_schema(schema)
    args = data.draw(st.dictionaries(st.sampled_from([*names, "zz"]), values, max_size=4), label="arguments")
    events: list[AuditEvent] = []
    options: dict[str, Any] = {"store": MemoryStore(), "run_id": "r"} if journaled else {}
    options["sinks"] = [events.append] if observed else []
    agent = Scripted(ToolCall("it", args), FinalAnswer("done"))
    result = asyncio.run(run_agent(agent, "go", tools=tools, policy=ALL, **options))
    assert result.error is None
    valid = strict(schema).is_valid(args)
    assert bool(got) == valid, (schema, agent.seen[-1][-1].content)
    if valid:
        expected = {name: default[0] for name, (_, default) in zip(names, parameters, strict=True) if default} | args
        assert got == [expected]
        assert strict(schema).is_valid(expected)
    if observed:
        (body,) = [event.body for event in events if event.kind == "policy.evaluated"]
        assert (body["verdict"], body["args"]) == (("allow", expected) if valid else ("deny", args))
