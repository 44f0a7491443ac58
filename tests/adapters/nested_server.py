"""An MCP server made with the official SDK, whose tools take nested models with defaults. Run as a script."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:  # the first generation
    from mcp.server.fastmcp import FastMCP as Server


class Mode(BaseModel):
    """How to delete."""

    force: bool = True
    depth: int = 3


class Options(BaseModel):
    """What to delete."""

    mode: Mode = Field(default_factory=Mode)
    extra: Mode | None = None
    recursive: bool = False


class Soft(BaseModel):
    """One way to delete."""

    kind: Literal["soft"] = "soft"
    days: int = 30


class Hard(BaseModel):
    """Another way to delete."""

    kind: Literal["hard"]
    wipe: bool = True


def build() -> Any:
    """The server. Any: of whichever generation of the SDK is installed."""
    server: Any = Server("nested")

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def delete(path: str, options: Options = Options()) -> str:  # noqa: B008 - as servers are written
        """Delete."""
        return json.dumps({"path": path, "options": options.model_dump()})

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def purge(options: Annotated[Options, Field(default_factory=Options)]) -> str:
        """Purge."""
        return json.dumps({"options": options.model_dump()})

    @server.tool()  # type: ignore[untyped-decorator, unused-ignore]
    def remove(how: list[Soft | Hard]) -> str:
        """Remove."""
        return json.dumps({"how": [way.model_dump() for way in how]})

    return server


if __name__ == "__main__":
    build().run("stdio")
