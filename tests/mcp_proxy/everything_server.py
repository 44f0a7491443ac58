"""An MCP server with everything that the conformance suite calls, by the official SDK 1.x: `stdio`, or `http PORT`."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import Any, Literal

from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.fastmcp.prompts.base import UserMessage
from mcp.types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    ImageContent,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic import AnyUrl, BaseModel, Field

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(60))).decode()
WAV = base64.b64encode(b"RIFF$\x00\x00\x00WAVEfmt " + bytes(28)).decode()
server = FastMCP("everything", port=int(sys.argv[2]) if len(sys.argv) > 2 else 8000)
low: Any = server._mcp_server


def image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mimeType="image/png")


def embedded(uri: str, mime: str, text: str) -> EmbeddedResource:
    found = TextResourceContents(uri=AnyUrl(uri), mimeType=mime, text=text)
    return EmbeddedResource(type="resource", resource=found, _meta={"shop/origin": "test"})


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


@server.tool(structured_output=False)
def test_simple_text() -> TextContent:
    """Simple text."""
    return text("This is a simple text response for testing.")


@server.tool(structured_output=False)
def test_image_content() -> ImageContent:
    """Image content."""
    return image()


@server.tool(structured_output=False)
def test_audio_content() -> AudioContent:
    """Audio content."""
    return AudioContent(type="audio", data=WAV, mimeType="audio/wav")


@server.tool(structured_output=False)
def test_embedded_resource() -> EmbeddedResource:
    """Embedded resource."""
    return embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@server.tool(structured_output=False)
def test_multiple_content_types() -> list[Any]:
    """Multiple content types."""
    data = json.dumps({"test": "data", "value": 123})
    return [
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", data),
    ]


@server.tool(structured_output=False)
async def test_tool_with_logging(ctx: Context) -> str:
    """Tool with logging."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(words)
        await asyncio.sleep(0.05)
    return "logged"


@server.tool(structured_output=False)
async def test_tool_with_progress(ctx: Context) -> str:
    """Tool with progress."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return "done"


@server.tool(structured_output=False)
def test_error_handling() -> str:
    """Error handling."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool(structured_output=False)
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Sampling."""
    message = SamplingMessage(role="user", content=text(prompt))
    answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {getattr(answer.content, 'text', '')}"


class User(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


async def asked(ctx: Context, message: str, schema: dict[str, Any]) -> str:
    answer = await ctx.session.elicit(message, schema, related_request_id=ctx.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@server.tool(structured_output=False)
async def test_elicitation(message: str, ctx: Context) -> str:
    """Elicitation."""
    return f"User response: {await asked(ctx, message, User.model_json_schema())}"


@server.tool(structured_output=False)
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Elicitation sep1034 defaults."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return f"Elicitation completed: {await asked(ctx, 'defaults', {'type': 'object', 'properties': properties})}"


@server.tool(structured_output=False)
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Elicitation sep1330 enums."""
    titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
    plain = {"type": "string", "enum": ["option1", "option2", "option3"]}
    properties = {
        "untitledSingle": plain,
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": plain},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return f"Elicitation completed: {await asked(ctx, 'enums', {'type': 'object', 'properties': properties})}"


@server.tool(structured_output=False)
async def test_reconnection() -> str:
    """Reconnection."""
    return "reconnected"


@server.tool()
def measure(kind: Literal["a", "b"] = "a") -> dict[str, float]:
    """Return a structured result."""
    return {"value": 1.5, "tiny": 1e-9, "whole": 2.0}


@server.resource("test://static-text", mime_type="text/plain", description="A text")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png", description="A picture")
def static_binary() -> bytes:
    return base64.b64decode(PNG)


@server.resource("test://template/{id}/data", mime_type="application/json", description="A template")
def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.resource("test://watched-resource", mime_type="text/plain", description="A watched text")
def watched() -> str:
    return "watched"


@server.prompt(description="A prompt")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@server.prompt(description="A prompt with arguments")
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt(description="A prompt with a resource")
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:
    found = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [UserMessage(found), UserMessage("Please process the embedded resource above.")]


@server.prompt(description="A prompt with a picture")
def test_prompt_with_image() -> list[Any]:
    return [UserMessage(image()), UserMessage("Please analyze the image above.")]


@server.completion()
async def complete(_ref: Any, _argument: Any, _context: Any) -> Completion:
    return Completion(values=["paris", "park"], total=2, hasMore=False)


@low.set_logging_level()
async def set_level(_level: Any) -> None:
    return None


@low.subscribe_resource()
async def subscribe(_uri: Any) -> None:
    return None


@low.unsubscribe_resource()
async def unsubscribe(_uri: Any) -> None:
    return None


SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}},
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
_list_tools = server.list_tools


@low.list_tools()
async def list_tools() -> list[Tool]:
    description = "Tool with JSON Schema 2020-12 features"
    extra = Tool(name="json_schema_2020_12_tool", description=description, inputSchema=SCHEMA_2020)
    return [*await _list_tools(), extra]


if __name__ == "__main__":
    server.run("streamable-http" if sys.argv[1] == "http" else "stdio")
