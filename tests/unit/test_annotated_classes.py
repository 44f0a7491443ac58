"""Annotations that are checked by what they say: literals with bytes, and models of pydantic."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from bobcat import ToolDef, ToolSet, tool
from bobcat.errors import ArgumentError
from bobcat.tools.schema import tooldef_to_json_schema
from bobcat.tools.signature import ToolSignature


class Mark(Enum):
    START = b"\x01"
    NAME = "name"


class Line(BaseModel):
    text: str = Field(min_length=1)
    after: Line | None = None


class Order(BaseModel):
    lines: list[Line]
    currency: str = Field(alias="cur", default="EUR")


class Unfinished(BaseModel):
    later: NoSuchName  # type: ignore[name-defined]  # noqa: F821


@tool()
async def marked(mark: Literal["a", b"b"]) -> str:
    return "x"


@tool()
async def member(mark: Mark) -> str:
    return "x"


@tool()
async def ordered(order: Order, first: Line | None = None, orders: list[Order] | None = None) -> str:
    return "x"


@tool()
async def unfinished(it: Unfinished) -> str:
    return "x"


@tool()
async def paid(amount: Decimal) -> str:
    return "x"


def defined(fn: Callable[..., Any]) -> ToolDef:
    return ToolSet.from_functions(fn).get(fn.__name__)


LINE = {"text": "a"}
FITS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (marked, {"mark": "a"}),
    (marked, {"mark": b"b"}),
    (member, {"mark": b"\x01"}),
    (member, {"mark": "name"}),
    (ordered, {"order": {"lines": []}}),
    (ordered, {"order": {"lines": [{"text": "a", "after": {"text": "b"}}], "cur": "USD"}, "first": LINE}),
    (ordered, {"order": {"lines": [LINE]}, "orders": [{"lines": []}], "first": None}),
    (unfinished, {"it": 5}),
    (paid, {"amount": "1.5"}),
    (paid, {"amount": 1.5}),
]
REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (marked, {"mark": "b"}, "b'b'"),
    (marked, {"mark": b"a"}, "got bytes"),
    (marked, {"mark": ["a"]}, "got an array"),
    (member, {"mark": "START"}, "one of b"),
    (ordered, {"order": 5}, "an object"),
    (ordered, {"order": {}}, "lines"),
    (ordered, {"order": {"lines": [{"text": ""}]}}, r"order.lines\[0\]"),
    (ordered, {"order": {"lines": [{"text": "a", "after": {"text": 1}}]}}, r"lines\[0\].after"),
    (ordered, {"order": {"lines": []}, "first": {}}, "first"),
    (ordered, {"order": {"lines": []}, "orders": [{"cur": "EUR"}]}, "orders"),
]


@pytest.mark.parametrize(("fn", "args"), FITS)
def test_what_an_annotation_says_is_taken(fn: Callable[..., Any], args: dict[str, Any]) -> None:
    bound = ToolSignature(defined(fn)).bind(args)
    assert {name: bound[name] for name in args} == args


@pytest.mark.parametrize(("fn", "args", "reported"), REFUSED)
def test_what_an_annotation_does_not_say_is_refused(
    fn: Callable[..., Any], args: dict[str, Any], reported: str
) -> None:
    with pytest.raises(ArgumentError, match=reported):
        ToolSignature(defined(fn)).bind(args)


def test_models_see_json_types_only() -> None:
    properties = tooldef_to_json_schema(defined(marked))["properties"]
    assert properties == {"mark": {"enum": ["a"]}}
    schema = tooldef_to_json_schema(defined(ordered))
    assert schema["properties"]["order"] == {"$ref": "#/$defs/Order"}
    assert set(schema["$defs"]) == {"Order", "Order.Line", "Line", "Line.Line"}
    assert schema["$defs"]["Order"]["properties"]["cur"]["default"] == "EUR"


def test_pydantic_is_never_imported() -> None:
    text = """
import sys
from bobcat import ToolSet, tool
from bobcat.tools.signature import ToolSignature

class Other: ...

@tool()
async def fn(it: Other): ...

ToolSignature(ToolSet.from_functions(fn).get("fn")).bind({"it": 1})
assert "pydantic" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0
