"""`mcp_tools` against real servers over stdio: the official SDK at both ends, and a hand-written hostile server.

The same tests run with either generation of the SDK; `test_other_sdks.py` runs them with the one not installed here.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat import CancelToken, FinalAnswer, RunResult, ToolCall, ToolSet, compile_policy, run_agent
from bobcat.adapters.mcp import mcp_tools
from bobcat.errors import McpServerError, McpToolError
from bobcat.tools.schema import toolset_to_anthropic_tools
from docs.markdown_blocks import run_page
from kernel.scripted import Scripted

HERE = Path(__file__).parent
SDK = [sys.executable, str(HERE / "sdk_server.py")]
ODD = [sys.executable, str(HERE / "hostile_server.py")]
ALL = compile_policy("rules: [{id: all, match: {}, decision: allow}]")


def _reported(*calls: ToolCall, policy: Any = ALL, **more: Any) -> list[str]:
    """The model's message about each of `calls`, made in one run."""
    agent = Scripted(calls, FinalAnswer("done"))

    async def run() -> RunResult:
        async with mcp_tools(SDK) as tools:
            return await run_agent(agent, "go", tools=tools, policy=policy, **more)

    result = asyncio.run(run())
    assert result.error is None
    return [message.content for message in agent.seen[1] if message.role == "tool"]


# lynx-agent defect 79
def test_text_comes_back_as_text_and_errors_are_failures() -> None:
    reported = _reported(
        ToolCall("add", {"a": 1, "b": 41}),
        ToolCall("notes.tag", {"note": "n", "colour": "blue", "text": "new"}),
        ToolCall("lines", {"count": 2}),
        ToolCall("picture", {}),
        ToolCall("fail", {"text": "disk is full"}),
        ToolCall("add", {"a": "not a number"}),
    )
    assert reported[:4] == ["[ok] 42", "[ok] n is blue, new", "[ok] line 0\nline 1", "[ok] [image: image/png, 8 bytes]"]
    assert reported[4].startswith("[error] McpToolError: ")
    assert "disk is full" in reported[4]
    assert reported[5] == "[error] argument `a`: expected an integer, got a string"


# lynx-agent defect 79
def test_a_model_is_shown_the_schemas_that_the_server_declares() -> None:
    async def listed() -> ToolSet:
        async with mcp_tools(SDK) as tools:
            return tools

    tools = asyncio.run(listed())
    assert tools.names() == ("add", "die", "environment", "fail", "hang", "lines", "notes.tag", "picture")
    add, tag = tools.get("add"), tools.get("notes.tag")
    assert (add.description, tag.description) == ("Add two numbers.", "MCP tool: notes.tag")
    assert (add.metadata.cost, add.metadata.reversible, add.metadata.scope) == ("medium", False, ("mcp:tool",))
    assert not add.metadata.has_shadow
    shown = {tool["name"]: tool["input_schema"] for tool in toolset_to_anthropic_tools(tools)}
    assert shown["add"]["type"] == "object"
    assert shown["add"]["required"] == ["a"]
    assert shown["add"]["properties"]["b"]["description"] == "the second number"
    assert shown["notes.tag"]["properties"]["colour"]["enum"] == ["red", "blue"]


def test_the_policy_evaluates_the_servers_defaults_too() -> None:
    policy = compile_policy(
        """
rules:
  - {id: no-red, match: {args.colour: red}, decision: deny, reason: too loud}
  - {id: rest, match: {}, decision: allow}
"""
    )
    reported = _reported(
        ToolCall("notes.tag", {"note": "n"}),
        ToolCall("notes.tag", {"note": "n", "colour": "blue"}),
        ToolCall("notes.tag", {"colour": "blue"}),
        policy=policy,
    )
    assert reported == [
        "[denied] too loud",
        "[ok] n is blue",
        "[error] missing argument `note` for tool 'notes.tag'",
    ]


def test_the_caller_says_what_the_tools_are() -> None:
    async def listed() -> ToolSet:
        options: Any = {"default_cost": "low", "default_reversible": True, "default_scope": ("math",)}
        async with mcp_tools(shlex.join([*ODD, "pages"]), **options) as tools:
            return tools

    metadata = asyncio.run(listed()).get("tool0").metadata
    assert (metadata.cost, metadata.reversible, metadata.scope) == ("low", True, ("math",))


def test_environment_and_directory_reach_the_server_which_ends_with_the_block(tmp_path: Path) -> None:
    async def ask() -> str:
        async with mcp_tools(SDK, env={"NOTES": "here"}, cwd=tmp_path) as tools:
            return str(await tools.get("environment").fn(name="NOTES"))

    said, pid = asyncio.run(ask()).rsplit(", ", 1)
    assert said == f"here in {tmp_path.resolve()}"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_what_the_block_raises_comes_out_as_it_is() -> None:
    async def main() -> None:
        async with mcp_tools([*ODD, "pages"]):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())


def test_a_server_that_dies_fails_its_calls_and_nothing_hangs() -> None:
    async def main() -> list[str]:
        said: list[str] = []
        async with mcp_tools(SDK) as tools:
            for name in ("die", "picture"):
                with pytest.raises(Exception) as caught:
                    await asyncio.wait_for(tools.get(name).fn(), 20)
                said.append(type(caught.value).__name__)
        with pytest.raises(McpServerError, match="is gone"):
            await tools.get("picture").fn()
        return said

    assert "TimeoutError" not in asyncio.run(main())


def test_the_kill_switch_ends_a_call_that_hangs() -> None:
    token = CancelToken()
    agent = Scripted(ToolCall("hang", {}))

    async def main() -> RunResult:
        async with mcp_tools(SDK) as tools:
            asyncio.get_running_loop().call_later(0.3, token.cancel, "enough")
            return await asyncio.wait_for(run_agent(agent, "go", tools=tools, policy=ALL, cancel=token), 20)

    assert asyncio.run(main()).error == "cancelled: enough"


def test_several_calls_may_be_under_way_at_once() -> None:
    async def main() -> list[Any]:
        async with mcp_tools(SDK) as tools:
            add = tools.get("add").fn
            return await asyncio.gather(*(add(a=n, b=n) for n in range(5)))

    assert asyncio.run(main()) == ["0", "2", "4", "6", "8"]


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["no-such-program-anywhere"], "MCP server `no-such-program-anywhere` does not work: FileNotFoundError: "),
        ([*SDK, "--die"], "does not work: "),
        ([*ODD, "toolless"], "does not work: .*Method not found"),
        ([*ODD, "twice"], "lists tool `same` twice"),
        ([*ODD, "endless"], "lists its tools in more than 100 pages"),
    ],
)
def test_a_server_that_does_not_work_is_a_clear_error(command: list[str], error: str) -> None:
    async def main() -> None:
        async with mcp_tools(command):
            pass

    with pytest.raises(McpServerError, match=error):
        asyncio.run(main())


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    async def main() -> None:
        async with mcp_tools([*ODD, "silent"], connect_timeout_seconds=0.5):
            pass

    with pytest.raises(McpServerError, match=r"did not answer within 0\.5 s"):
        asyncio.run(main())


def test_every_page_of_tools_is_read_and_every_kind_of_content_is_text() -> None:
    async def main() -> list[str]:
        async with mcp_tools([*ODD, "pages"]) as tools:
            assert tools.names() == ("tool0", "tool1", "tool2")
            with pytest.raises(McpToolError, match="tool 'tool0' failed without a reason"):
                await tools.get("tool0").fn()
            return [await tools.get(name).fn() for name in ("tool1", "tool2")]

    assert asyncio.run(main()) == [
        '{"rows": 3}',
        "see:\nthe text of a.txt\n[resource: file:///b.bin, application/x-b, 3 bytes]\n"
        "[resource: file:///c]\n[audio: audio/wav, 4 bytes]",
    ]


@pytest.mark.parametrize(("command", "kind"), [("", "string"), ("  ", "string"), ([], "list")])
def test_an_empty_command_is_refused(command: str | list[str], kind: str) -> None:
    async def main() -> None:
        async with mcp_tools(command):
            pass

    with pytest.raises(ValueError, match=f"mcp_tools: command {kind} cannot be empty"):
        asyncio.run(main())


def test_a_missing_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)

    async def main() -> None:
        async with mcp_tools(SDK):
            pass

    with pytest.raises(ImportError, match=r"mcp_tools requires the 'mcp' package.*'bobcat\[mcp\]'"):
        asyncio.run(main())


ROOT = HERE.parents[1]
PRINTED = """('delete_note', 'read_note')
[ok] feed the cat
[error] McpToolError: there is no note `nothing`
[denied] notes are kept
"""


def test_the_example_prints_the_same_with_either_generation() -> None:
    program = ROOT / "examples" / "22_mcp_tools.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace("Error executing tool read_note: ", "") == PRINTED


def test_the_page_about_adapters_runs_with_either_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "how-to" / "adapters.md").read_text(encoding="utf-8")
    section = "```python\nimport asyncio\nfrom bobcat import compile_policy, run_agent\n```\n" + page.partition(
        "## An MCP server"
    )[2]  # fmt: skip
    (tmp_path / "page.md").write_text(section)
    monkeypatch.chdir(tmp_path)
    assert run_page(tmp_path / "page.md", tmp_path) >= 3
