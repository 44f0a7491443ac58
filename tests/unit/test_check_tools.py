"""`check` beside the tools: names, arguments, types and values that no tool has, and rules that none can meet."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from bobcat import tool
from bobcat.lint.argument_schema import ToolFacts
from bobcat.lint.check import check_source
from bobcat.tools.schema import tooldef_to_json_schema, with_input_schema
from bobcat.tools.toolset import ToolSet


@tool(scope=("fs:write",), reversible=False, cost="high")
async def write_file(
    path: str, mode: Literal["w", "a"] = "w", lines: int = 3, tags: list[str] | None = None, force: bool = False
) -> str:
    return path


@tool(scope=("fs:read",))
async def read_file(path: str) -> str:
    return path


@tool()
async def anything(**options: Any) -> str:
    return ""


MCP = {
    "type": "object",
    "properties": {
        "repo": {"$ref": "#/$defs/repo"},
        "page": {"type": "integer", "minimum": 1, "maximum": 100},
        "filter": {
            "anyOf": [{"type": "string"}, {"type": "object", "properties": {"state": {"enum": ["open", "closed"]}}}]
        },
        "dry-run": {"type": "boolean"},
    },
    "$defs": {
        "filter": {"type": "object", "properties": {"state": {"enum": ["open", "closed"]}}},
        "repo": {
            "type": "object",
            "properties": {"owner": {"type": "string"}, "name": {"type": "string"}},
            "additionalProperties": False,
        },
    },
}


@tool()
async def list_issues(**arguments: Any) -> str:
    return ""


def facts(*functions: Any) -> dict[str, ToolFacts]:
    tools = ToolSet.from_functions(*functions)
    found = {}
    for name in tools.names():
        metadata = tools.get(name).metadata
        declared = {
            "cost": metadata.cost,
            "reversible": metadata.reversible,
            "scope": list(metadata.scope),
            "has_shadow": metadata.has_shadow,
        }
        found[name] = ToolFacts(name, tooldef_to_json_schema(tools.get(name)), declared)
    return found


OWN = facts(write_file, read_file)
with_input_schema(list_issues, MCP)
SERVER = facts(list_issues)
CODES = {"W0138", "W0139", "W0140", "W0141", "N0102"}


def codes(match: str, tools: dict[str, ToolFacts] = OWN, decision: str = "deny") -> list[str]:
    text = f"rules: [{{id: a, match: {{{match}}}, decision: {decision}}}]"
    return [item.code for item in check_source(text, "p", tools=tools) if item.code in CODES - {"N0102"}]


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ("tool: wrte_file", ["W0138"]),
        ("tool.in: [write_file, raed_file]", ["W0138"]),
        ("not: {tool: raed_file}", ["W0138"]),
        ("tool: write_file, args.pth: x", ["W0139"]),
        ("tool.in: [read_file, write_file], args.mdoe: w", ["W0139"]),
        ("args.nothing: x", ["W0139"]),
        ("tool: read_file, args.mode: w", ["W0139"]),
        ("tool: write_file, args.path.x: w", ["W0139"]),
        ("tool: write_file, args.pth.exists: true", ["W0139"]),
        ("tool: write_file, args.lines: '5'", ["W0140"]),
        ("tool: write_file, args.lines.gt: '5'", ["W0140"]),
        ("tool: write_file, args.lines.matches: '^5$'", ["W0140"]),
        ("tool: write_file, args.path.gt: 5", ["W0140"]),
        ("tool: write_file, args.mode: x", ["W0140"]),
        ("tool: write_file, args.mode.in: [w, x]", ["W0140"]),
        ("tool: write_file, args.mode.starts_with: r", ["W0140"]),
        ("tool: write_file, args.force: 'yes'", ["W0140"]),
        ("tool: write_file, args.force: 1", ["W0140"]),
        ("tool: write_file, args.path.any: {eq: x}", ["W0140"]),
        ("tool: write_file, not: {args.mode: x}", ["W0140"]),
        ("tool: read_file, declared.cost: high", ["W0141"]),
        ("tool: read_file, declared.reversible: false", ["W0141"]),
        ("declared.scope.contains: fs:delete", ["W0141"]),
        ("tool.starts_with: delete_", ["W0141"]),
        ("tool.matches: '^exec'", ["W0141"]),
        ("any_of: [{declared.cost: medium}, {tool.ends_with: _mail}]", ["W0141"]),
    ],
)
def test_what_no_tool_has_is_found(match: str, found: list[str]) -> None:
    assert codes(match) == found


@pytest.mark.parametrize(
    "match",
    [
        "tool: write_file, args.path: x",
        "tool.in: [read_file, write_file], args.mode: w",
        "args.mode: w",
        "tool: write_file, args.tags.contains: x",
        "tool: write_file, args.tags.any: {eq: x}",
        "tool: write_file, args.lines.gt: 5",
        "tool: write_file, args.lines.in: [1, 2]",
        "tool: write_file, args.tags: null",
        "tool: write_file, args.force: true",
        "tool: write_file, args.path.eq: {ref: context.extra.path}",
        "tool: write_file, args.other.exists: false",
        "declared.scope.contains: fs:read",
        "declared.reversible: false",
        "context.environment: prod",
        "tool.starts_with: read_",
        "not: {tool: write_file}",
        "",
    ],
)
def test_what_a_tool_has_is_not_reported(match: str) -> None:
    assert codes(match) == []


def test_a_tool_that_takes_any_argument_is_asked_about_none() -> None:
    assert codes("tool: anything, args.x.y: 5", facts(anything)) == []


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ("args.repo.owner: x", []),
        ("args.repo.ownr: x", ["W0139"]),
        ("args.repo.owner: 5", ["W0140"]),
        ("args.page.gt: 50", []),
        ("args.page.gt: 100", ["W0140"]),
        ("args.page.le: 0", ["W0140"]),
        ("args.page.between: [200, 300]", ["W0140"]),
        ("args.filter: x", []),
        ("args.filter.state: open", []),
        ("args.filter.state: opne", ["W0140"]),
        ("'args[\"dry-run\"]': true", []),
        ("'args[\"dryrun\"]': true", ["W0139"]),
    ],
)
def test_the_schema_of_a_server_is_read_in_depth(match: str, found: list[str]) -> None:
    assert codes(f"tool: list_issues, {match}", SERVER) == found


def test_suggestions_name_tools_and_arguments() -> None:
    unknown = "{id: a, match: {tool: wrte_file}, decision: deny}"
    text = f"rules: [{unknown}, {{id: b, match: {{tool: read_file, args.pth: x}}, decision: deny}}]"
    helps = [item.help for item in check_source(text, "p", tools=OWN) if item.code in ("W0138", "W0139")]
    assert helps == ["did you mean `write_file`?", "did you mean `args.path`?"]


def test_a_transform_that_writes_an_argument_which_its_tool_does_not_take_is_found() -> None:
    text = (
        "rules: [{id: a, match: {tool: read_file}, decision: transform, transform: {jsonpath: $.args.limit, set: 5}}]"
    )
    assert "W0139" in [item.code for item in check_source(text, "p", tools=OWN)]


def test_tools_that_no_rule_is_about_are_noted() -> None:
    found = check_source("rules: [{id: a, match: {tool: read_file}, decision: deny}]", "p", tools=OWN)
    (note,) = [item for item in found if item.code == "N0102"]
    assert note.message == "no rule is about the tool `write_file`: `on_no_match` decides its calls, `deny`"
    assert check_source("rules: [{match: {}, decision: deny}]", "p", tools=OWN) == ()


def test_the_calls_that_lints_show_are_taken_by_the_tools() -> None:
    text = "rules: [{id: a, match: {tool: write_file, not: {args.mode: a}}, decision: allow}]"
    assert "W0127" in [item.code for item in check_source(text, "p")]
    assert "W0127" not in [item.code for item in check_source(text, "p", tools=OWN)]


@pytest.mark.parametrize(
    "match",
    [
        "tool.lower.eq: {ref: context.environment}",
        "tool: write_file, args.mode.lower.eq: {ref: context.environment}",
        "declared.scope.any.eq: {ref: context.workspace}",
    ],
)
def test_a_test_that_reads_another_path_depends_on_the_call(match: str) -> None:
    assert codes(match) == []


FACTS = {
    name: ToolFacts(name, {"type": "object", "properties": {"mode": {"enum": ["w", "a"]}}}, {})
    for name in ("pay", "read")
}


@pytest.mark.parametrize(
    ("match", "unknown"),
    [
        ("{tool: pay, run.count.pay.lt: 3}", []),
        ("{tool: pay, run.count.pya.lt: 3}", ["pya"]),
        ("{tool: pay, run.formerly: {result: {tool.in: [read, raed]}}}", ["raed"]),
        ("{tool: pay, args.mode.from: found}", ["search"]),
        ("{tool: pay, args.mode.from: task}", []),
    ],
)
def test_tools_of_counts_sequences_and_sources_are_compared_with_the_known_ones(match: str, unknown: list[str]) -> None:
    sources = "sources: {found: {tool: search, fields: [id]}}"
    text = f"{sources}\nrules: [{{id: r, match: {match}, decision: allow}}, {{match: {{tool: read}}, decision: allow}}]"
    found = [item for item in check_source(text, "p", tools=FACTS) if item.code.startswith(("W0138", "W0140", "W0141"))]
    assert [item.message.split("`")[3] for item in found] == unknown
