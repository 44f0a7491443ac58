"""The small conversions that the adapters share: names, arguments, turns and token counts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import Message, Usage
from bobcat.adapters.arguments import read_arguments
from bobcat.adapters.token_counts import count, together, without_cached
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.adapters.transcript import AssistantTurn, TextTurn, ToolOutput, ToolTurn, TurnCall, turns


@given(st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_every_tool_has_a_wire_name_of_its_own_that_leads_back_to_it(tools: list[str]) -> None:
    names = ToolNameMapping(tools)
    wires = [names.to_wire(tool) for tool in tools]
    assert len(set(wires)) == len(tools)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire) for wire in wires)
    assert [names.to_tool(wire) for wire in wires] == tools
    assert all(
        wire == tool for wire, tool in zip(wires, tools, strict=True) if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool)
    )


def test_names_that_clean_to_the_same_are_numbered_and_unknown_ones_are_cleaned() -> None:
    names = ToolNameMapping(["a.b", "a/b", "a_b", "x" * 70, "x" * 64])
    assert [names.to_wire(tool) for tool in ("a.b", "a/b", "a_b")] == ["a_b_2", "a_b_3", "a_b"]
    assert names.to_wire("x" * 70) == "x" * 62 + "_2"
    assert names.to_wire("no.such") == "no_such"
    assert names.to_tool("no_such") == "no_such"


@given(
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()), max_size=4)
)
def test_arguments_that_are_an_object_are_read_as_sent(arguments: dict[str, Any]) -> None:
    assert read_arguments(json.dumps(arguments)) == (arguments, None)
    assert read_arguments(arguments) == (arguments, None)


@given(st.none() | st.text() | st.integers() | st.lists(st.integers()))
def test_everything_else_is_no_arguments_or_a_problem(sent: object) -> None:
    read, problem = read_arguments(sent)
    assert (read == {} and problem is None) or (list(read) == ["_raw_arguments"] and problem) or isinstance(sent, str)


@pytest.mark.parametrize(
    ("sent", "args", "problem"),
    [
        (None, {}, None),
        ("", {}, None),
        (7, {"_raw_arguments": "7"}, "arguments must be a JSON object, got int"),
        ("7", {"_raw_arguments": "7"}, "arguments must be a JSON object, got int"),
        ("Infinity", {"_raw_arguments": "Infinity"}, "arguments are not JSON: `Infinity` is not a JSON value"),
    ],
)
def test_arguments_that_are_not_an_object_are_kept_as_sent(
    sent: object, args: dict[str, Any], problem: str | None
) -> None:
    assert read_arguments(sent) == (args, problem)


def test_the_calls_of_one_reply_are_one_turn_and_so_are_their_answers() -> None:
    conversation = (
        Message("user", "go"),
        Message("assistant", "both", "read", "1", {"path": ["a"]}),
        Message("assistant", "", "read", "2", {}),
        Message("tool", "[ok] x", "read", "1"),
        Message("tool", "[error] y", "read", "2"),
        Message("assistant", ""),
        Message("assistant", "done"),
    )
    assert turns(conversation) == [
        TextTurn("user", "go"),
        AssistantTurn("both", (TurnCall("1", "read", {"path": ["a"]}), TurnCall("2", "read", {}))),
        ToolTurn((ToolOutput("1", "read", "[ok] x", False), ToolOutput("2", "read", "[error] y", True))),
        AssistantTurn("done", ()),
    ]


@pytest.mark.parametrize(("reported", "counted"), [(3, 3), (0, 0), (-1, None), (True, None), ("3", None), (2.5, None)])
def test_only_a_count_counts(reported: object, counted: int | None) -> None:
    assert count(reported) == counted


def test_cached_tokens_are_taken_out_of_a_total_once() -> None:
    assert without_cached(10, 4, None) == 6
    assert without_cached(3, 4, 1) == 0
    assert without_cached(None, 4) is None


def test_the_usage_of_two_replies_is_their_sum() -> None:
    assert together(None, None) is None
    assert together(Usage(1), None) == Usage(1)
    assert together(Usage(1, None, 2, None, "m"), Usage(2, None, None, None, "n")) == Usage(3, None, 2, None, "m")
