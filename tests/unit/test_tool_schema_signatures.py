"""Tools as models see them: the JSON Schema of a signature, valid and true to the accepted arguments."""
# ruff: noqa: UP007, UP045 - both spellings of a union are tested

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict, TypeVar, Union
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import ToolDef, ToolMetadata, ToolSet, tool
from bobcat.errors import ArgumentError
from bobcat.tools.decorator import definition_of
from bobcat.tools.schema import (
    Style,
    tooldef_to_json_schema,
    toolset_to_anthropic_tools,
    toolset_to_openai_tools,
    with_input_schema,
)
from bobcat.tools.signature import bind_arguments
from stable_ids import stable_id

UserId = NewType("UserId", int)
Item = TypeVar("Item", int, str)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Address:
    street: str
    number: int | None = None
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    label: str
    children: list[Tree] = dataclasses.field(default_factory=list)


class Query(TypedDict):
    text: str
    limit: NotRequired[int]


class Partly(TypedDict, total=False):
    text: str


class Point(NamedTuple):
    x: int
    y: int = 0


class Longest:
    description = "a short text"
    max_length = 10


class AtLeast:
    ge = 1


def definition(fn: Callable[..., Awaitable[Any]]) -> ToolDef:
    return ToolDef("it", "", fn, None, ToolMetadata("low", True, ()))


def schema_of(annotation: Any, style: Style = Style.STANDARD) -> dict[str, Any]:
    async def it(value: Any) -> None: ...

    it.__annotations__["value"] = annotation
    schema = tooldef_to_json_schema(definition(it), style=style)
    jsonschema.Draft202012Validator.check_schema(schema)
    found: dict[str, Any] = schema["properties"]["value"]
    return found


TEXT, WHOLE, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, TEXT),
        (int, WHOLE),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, NULL),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Path, TEXT),
        (Any, {}),
        (object, {}),
        (complex, {}),
        (UserId, WHOLE),
        (Item, {"anyOf": [WHOLE, TEXT]}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": WHOLE}),
        (Sequence[str], {"type": "array", "items": TEXT}),
        (list[Any], {"type": "array"}),
        (set[str], {"type": "array", "items": TEXT, "uniqueItems": True}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": WHOLE}),
        (Mapping[str, Any], {"type": "object"}),
        (tuple, {"type": "array"}),
        (tuple[int, ...], {"type": "array", "items": WHOLE}),
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Colour, {"enum": ["red", "blue"]}),
        (Level, {"enum": [1, 2]}),
        (Literal[Colour.RED], {"enum": ["red"]}),
        (Optional[str], {"anyOf": [TEXT, NULL]}),
        (int | str, {"anyOf": [WHOLE, TEXT]}),
        (Union[int, Any], {}),
        (Annotated[str, "a city"], {"type": "string", "description": "a city"}),
        (Annotated[str, Longest()], {"type": "string", "description": "a short text", "maxLength": 10}),
        (Annotated[int, AtLeast()], {"type": "integer", "minimum": 1}),
        (Annotated[list[int], Longest()],
         {"type": "array", "items": WHOLE, "description": "a short text", "maxItems": 10}),
        ("int", WHOLE),
        ("no_such_name", {}),
        (list["no_such_name"], {}),  # type: ignore[name-defined]  # noqa: F821
        ({"not": "a type"}, {}),
    ],
    ids=stable_id,
)  # fmt: skip
def test_a_type_has_its_schema(annotation: object, expected: dict[str, Any]) -> None:
    assert schema_of(annotation) == expected


# lynx-agent defect 81
def test_an_optional_written_with_a_bar_is_the_type_or_null() -> None:
    assert schema_of(str | None) == {"anyOf": [TEXT, NULL]} == schema_of(Optional[str])


# lynx-agent defect 81
def test_a_tuple_has_one_schema_per_place() -> None:
    pair = {"type": "array", "prefixItems": [TEXT, WHOLE], "minItems": 2, "maxItems": 2}
    assert schema_of(tuple[str, int]) == pair


# lynx-agent defect 81
def test_variable_parameters_are_no_properties() -> None:
    async def call(path: str, *rest: str, **options: int) -> None: ...

    schema = tooldef_to_json_schema(definition(call))
    assert list(schema["properties"]) == schema["required"] == ["path"]
    assert schema["additionalProperties"] == WHOLE


# lynx-agent defect 81
def test_a_parameter_with_a_leading_underscore_is_shown_because_the_tool_needs_it() -> None:
    async def call(_id: int) -> None: ...

    assert tooldef_to_json_schema(definition(call))["required"] == ["_id"]


def test_a_dataclass_is_an_object_of_its_fields() -> None:
    assert schema_of(Address) == {
        "type": "object",
        "properties": {
            "street": TEXT,
            "number": {"anyOf": [WHOLE, NULL]},
            "tags": {"type": "array", "items": TEXT},
        },
        "additionalProperties": False,
        "required": ["street"],
    }


def test_a_typed_dict_requires_what_it_does_not_mark() -> None:
    assert schema_of(Query)["required"] == ["text"]
    assert schema_of(Query)["properties"] == {"text": TEXT, "limit": WHOLE}
    assert "required" not in schema_of(Partly)


def test_a_named_tuple_is_an_array_with_optional_places() -> None:
    assert schema_of(Point) == {"type": "array", "prefixItems": [WHOLE, WHOLE], "minItems": 1, "maxItems": 2}


def test_a_type_that_contains_itself_is_a_definition() -> None:
    async def plant(tree: Tree, other: Tree | None = None) -> None: ...

    schema = tooldef_to_json_schema(definition(plant))
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"tree": {"label": "a", "children": [{"label": "b", "children": []}]}, "other": None})
    assert not validator.is_valid({"tree": {"label": "a", "children": [{"label": 1}]}})


class TypeAliasType:
    """The value of `type Json = list[Json] | int` in Python 3.12."""

    __name__ = "Json"

    @property
    def __value__(self) -> Any:
        return list[self] | int  # type: ignore[valid-type]


def test_an_alias_that_contains_itself_is_a_definition() -> None:
    async def call(value: int) -> None: ...

    call.__annotations__ = {"value": TypeAliasType()}
    schema = tooldef_to_json_schema(definition(call))
    assert schema["properties"] == {"value": {"$ref": "#/$defs/Json"}}
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"value": [[], [[1]]]})
    assert not validator.is_valid({"value": ["x"]})


def test_defaults_are_listed_when_json_can_represent_them() -> None:
    async def call(
        a: int = 1, b: Colour = Colour.RED, c: object = object(), d: float = float("nan"), e: tuple[int, ...] = (1, 2)
    ) -> None: ...

    properties = tooldef_to_json_schema(definition(call))["properties"]
    assert {name: schema.get("default", "none") for name, schema in properties.items()} == {
        "a": 1, "b": "red", "c": "none", "d": "none", "e": [1, 2],
    }  # fmt: skip


def test_a_wrapper_that_passes_arguments_on_has_the_schema_of_what_it_wraps() -> None:
    async def real(path: str, mode: str = "r") -> None: ...

    @functools.wraps(real)
    async def wrapper(*args: Any, **kwargs: Any) -> None:
        await real(*args, **kwargs)

    assert tooldef_to_json_schema(definition(wrapper)) == tooldef_to_json_schema(definition(real))


def test_methods_partials_and_callable_objects_have_schemas() -> None:
    class Disk:
        async def read(self, path: str, size: int) -> None: ...

        async def __call__(self, path: str, size: int) -> None: ...

    whole = {"path": TEXT, "size": WHOLE}
    assert tooldef_to_json_schema(definition(Disk().read))["properties"] == whole
    assert tooldef_to_json_schema(definition(Disk()))["properties"] == whole
    bound = tooldef_to_json_schema(definition(functools.partial(Disk().read, size=5)))
    assert bound["required"] == ["path"]
    assert bound["properties"]["size"] == {"type": "integer", "default": 5}


def test_one_annotation_that_cannot_be_resolved_costs_no_other_its_type() -> None:
    async def call(a: int, b: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert tooldef_to_json_schema(definition(call))["properties"] == {"a": WHOLE, "b": {}}


def test_a_function_can_carry_the_schema_of_a_remote_tool() -> None:
    async def call(**kwargs: Any) -> None: ...

    declared = {"properties": {"q": TEXT}, "required": ["q"]}
    assert tooldef_to_json_schema(definition(with_input_schema(call, declared))) == {"type": "object", **declared}
    assert tooldef_to_json_schema(definition(print)) is not None  # type: ignore[arg-type]


def test_the_vendors_get_their_shapes() -> None:
    @tool()
    async def greet(name: str) -> str:
        """Say hello."""
        return name

    @tool()
    async def bare() -> None: ...

    tools = ToolSet.from_functions(greet, bare)
    anthropic, openai = toolset_to_anthropic_tools(tools), toolset_to_openai_tools(tools)
    arguments = {"type": "object", "properties": {"name": TEXT}, "required": ["name"], "additionalProperties": False}
    assert anthropic[0] == {"name": "greet", "description": "Say hello.", "input_schema": arguments}
    assert openai[0]["function"] == {"name": "greet", "description": "Say hello.", "parameters": arguments}
    assert [entry["type"] for entry in openai] == ["function", "function"]
    assert anthropic[1]["description"] == "Tool bare"


def test_the_lynx_style_spells_optionals_and_tuples_as_lynx_does() -> None:
    assert schema_of(Optional[str], Style.LYNX) == {"type": "string", "nullable": True}
    assert schema_of(dict[str, int], Style.LYNX) == {"type": "object"}

    async def call(a: str, b: int = 1, _c: int = 2) -> None: ...

    assert tooldef_to_json_schema(definition(call), style=Style.LYNX) == {
        "type": "object", "properties": {"a": TEXT, "b": WHOLE}, "required": ["a"],
    }  # fmt: skip


def test_the_lynx_style_agrees_with_lynx() -> None:
    from lynx.adapters._schema import tooldef_to_json_schema as reference  # type: ignore[import-untyped]

    async def call(
        a: str, b: Optional[int], c: list[str], d: dict[str, int], e: Literal["x", "y"], f: Union[int, str], g: bytes,
        h: tuple[int, str], i: Any, j: bool = True, k: float = 1.5, l: Optional[list[int]] = None,  # noqa: E741
    ) -> None: ...  # fmt: skip

    assert tooldef_to_json_schema(definition(call), style=Style.LYNX) == reference(definition(call))


SIMPLE = st.sampled_from([int, str, bool, int | None, list[str], Literal["a", "b"], Address, dict[str, int]])
ARGUMENTS = {int: 3, str: "t", bool: True, int | None: None, list[str]: ["t"], Literal["a", "b"]: "a",
             Address: {"street": "s"}, dict[str, int]: {"k": 1}}  # fmt: skip


@given(types=st.lists(SIMPLE, max_size=4), defaults=st.integers(0, 4), given_count=st.integers(0, 5))
def test_what_the_schema_takes_is_what_the_tool_takes(types: list[Any], defaults: int, given_count: int) -> None:
    """Names of arguments: the schema refuses what binding refuses, and no more."""
    first = max(0, len(types) - defaults)
    parameters = ", ".join(f"p{i}{'=None' if i >= first else ''}" for i in range(len(types)))
    scope: dict[str, Any] = {}
    exec(f"async def it({parameters}): ...", scope)
    fn = scope["it"]
    fn.__annotations__ = {f"p{i}": annotation for i, annotation in enumerate(types)}
    found = definition(fn)
    args = {f"p{i}": ARGUMENTS[types[i]] if i < len(types) else 1 for i in range(given_count)}
    valid = jsonschema.Draft202012Validator(tooldef_to_json_schema(found)).is_valid(args)
    try:
        bind_arguments(found, args)
    except ArgumentError:
        assert not valid
    else:
        assert valid


def test_a_decorated_tool_is_reflected_through_its_definition() -> None:
    @tool(name="other")
    async def named(x: int) -> None: ...

    found = definition_of(named)
    assert found is not None
    assert toolset_to_anthropic_tools(ToolSet.from_functions(named))[0]["name"] == "other"
