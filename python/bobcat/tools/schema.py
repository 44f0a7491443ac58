"""JSON Schema of a tool's arguments, from its signature, as models see it.

Called by the adapters. Calls are checked by the same schema (`bobcat.tools.signature`).
"""

from __future__ import annotations

from bobcat.model.run import INPUT_SCHEMA, ToolDef
from bobcat.tools.function_schema import function_schema, with_input_schema
from bobcat.tools.signature import supplied_parameters
from bobcat.tools.toolset import ToolSet
from bobcat.tools.type_schema import JsonSchema, Style


def tooldef_to_json_schema(td: ToolDef, *, style: Style = Style.STANDARD) -> JsonSchema:
    """The JSON Schema (draft 2020-12) of a tool's arguments: an object with one property per parameter.

    Every parameter that can be given by name is a property, with its default when JSON can represent it; those without
    a default are required. `**kwargs` makes the object open; `*args` cannot be given and is left out.
    """
    return function_schema(td.fn, given=supplied_parameters(td), opaque=td.opaque_args, style=style)


def toolset_to_anthropic_tools(tools: ToolSet, *, style: Style = Style.STANDARD) -> list[JsonSchema]:
    """The tools in the shape of Anthropic's Messages API, in the set's order."""
    return [
        {"name": td.name, "description": _description(td), "input_schema": tooldef_to_json_schema(td, style=style)}
        for td in tools.tools.values()
    ]


def toolset_to_openai_tools(tools: ToolSet, *, style: Style = Style.STANDARD) -> list[JsonSchema]:
    """The tools in the shape of OpenAI's Chat Completions API, in the set's order."""
    return [
        {
            "type": "function",
            "function": {
                "name": td.name,
                "description": _description(td),
                "parameters": tooldef_to_json_schema(td, style=style),
            },
        }
        for td in tools.tools.values()
    ]


def _description(td: ToolDef) -> str:
    return td.description or f"Tool {td.name}"


__all__ = [
    "INPUT_SCHEMA",
    "Style",
    "tooldef_to_json_schema",
    "toolset_to_anthropic_tools",
    "toolset_to_openai_tools",
    "with_input_schema",
]
