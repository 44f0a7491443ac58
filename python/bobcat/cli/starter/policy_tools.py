"""Tools for policy.yaml. Replace them by your own; rules can test what they declare.

A policy decides on the text of a path; only the tool knows the file. So each tool resolves links and refuses paths
outside of the workspace.
"""

import asyncio
import shlex
from pathlib import Path

from bobcat import ToolSet, tool

WORKSPACE = Path(__file__).resolve().parent


def _inside(path: str) -> Path:
    """Resolve `path` below the workspace. Raises `PermissionError` for a path outside."""
    found = (WORKSPACE / path).resolve()
    if not found.is_relative_to(WORKSPACE):
        raise PermissionError(f"{path} leads out of the workspace")
    return found


@tool(scope=("files:read",), effect="none")
async def read_file(path: str) -> str:
    """Read a text file of the project."""
    return _inside(path).read_text(encoding="utf-8")


@tool(scope=("files:read",), effect="none")
async def list_files(path: str = ".") -> list[str]:
    """List the names of a directory of the project."""
    return sorted(entry.name for entry in _inside(path).iterdir())


@tool(scope=("files:write",), reversible=False, effect="idempotent")
async def write_file(path: str, content: str) -> str:
    """Write a text file, or replace an existing one."""
    file = _inside(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
    return f"wrote {len(content)} characters"


@tool(scope=("shell",), cost="medium", reversible=False)
async def shell(cmd: str) -> str:
    """Run one program with its arguments, without a shell, and return its output."""
    program = await asyncio.create_subprocess_exec(
        *shlex.split(cmd), cwd=WORKSPACE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await program.communicate()
    return output.decode("utf-8", "replace")


tools = ToolSet.from_functions(read_file, list_files, write_file, shell)
