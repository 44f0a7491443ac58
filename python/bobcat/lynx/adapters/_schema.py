"""Tools as JSON Schema in lynx-agent's shape, under its path."""

from __future__ import annotations

from bobcat.model.run import ToolDef
from bobcat.tools import schema
from bobcat.tools.schema import Style
from bobcat.tools.toolset import ToolSet
from bobcat.tools.type_schema import JsonSchema

__all__ = ["tooldef_to_json_schema", "toolset_to_anthropic_tools", "toolset_to_openai_tools"]


def tooldef_to_json_schema(td: ToolDef) -> JsonSchema:
    """Return the schema of a tool's arguments."""
    return schema.tooldef_to_json_schema(td, style=Style.LYNX)


def toolset_to_anthropic_tools(tools: ToolSet) -> list[JsonSchema]:
    """Return the tools in the format of Anthropic's Messages API."""
    return schema.toolset_to_anthropic_tools(tools, style=Style.LYNX)


def toolset_to_openai_tools(tools: ToolSet) -> list[JsonSchema]:
    """Return the tools in the format of OpenAI's Chat Completions API."""
    return schema.toolset_to_openai_tools(tools, style=Style.LYNX)
