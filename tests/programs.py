"""Small programs and requests for tests of the Rust module."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bobcat import _core
from bobcat.ir import construct, schema
from bobcat.ir.canonical import encode
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata

EVERY = construct.all_([])
CONTEXT = ExecutionContext(Principal("user", "u"), "dev", ".", "", 0, datetime(2026, 1, 1, tzinfo=UTC))
METADATA = ToolMetadata("low", True, ())


def request_of(tool: str = "shell", /, **args: Any) -> ActionRequest:
    """A call of `tool`."""
    return ActionRequest(tool, args, METADATA, CONTEXT)


def program_of(*rules: schema.AnyRule, host_rules: tuple[Any, ...] = (), **options: Any) -> _core.Program:
    """A program of these rules."""
    return _core.Program(encode(construct.policy(rules, **options)), host_rules)


def host_rule(name: str, priority: int = 0) -> schema.HostRule:
    """The IR of a host rule."""
    return schema.HostRule(name, priority, "tests", name, "0" * 64)


def tool_is(name: str, verdict: Any, **options: Any) -> schema.IrRule:
    """A rule about one tool."""
    return construct.rule(f"{name}-{verdict}", construct.leaf("tool", (), "eq", name), verdict, **options)


SHELL = program_of(tool_is("shell", "allow", reason="fine"))
