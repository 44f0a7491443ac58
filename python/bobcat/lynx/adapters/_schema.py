"""Tools as JSON Schema in lynx-agent's shape, under its path."""

from __future__ import annotations

from bobcat import tool_schema
from bobcat.model import ToolDef
from bobcat.tool_schema import Style
from bobcat.tools import ToolSet
from bobcat.type_schema import JsonSchema

__all__ = ["tooldef_to_json_schema", "toolset_to_anthropic_tools", "toolset_to_openai_tools"]


def tooldef_to_json_schema(td: ToolDef) -> JsonSchema:
    """The schema of a tool's arguments."""
    return tool_schema.tooldef_to_json_schema(td, style=Style.LYNX)


def toolset_to_anthropic_tools(tools: ToolSet) -> list[JsonSchema]:
    """The tools in the shape of Anthropic's Messages API."""
    return tool_schema.toolset_to_anthropic_tools(tools, style=Style.LYNX)


def toolset_to_openai_tools(tools: ToolSet) -> list[JsonSchema]:
    """The tools in the shape of OpenAI's Chat Completions API."""
    return tool_schema.toolset_to_openai_tools(tools, style=Style.LYNX)
