"""The same tests with other releases of the vendors' packages, each set in an environment of its own.

The environments are made from the package registry and thrown away, so these tests run in campaigns only.
"""

from __future__ import annotations

import pytest

from other_releases import run_with

NEEDED = ("msgspec", "PyYAML", "google-re2", "click", "rich", "httpx")
SETS = {
    "second generation of MCP": (
        ["mcp>=2,<3"],
        ["mcp_tools", "mcp_pins", "mcp_arguments", "mcp_proxy_sdks", "mcp_several", "mcp_servers"],
    ),
    "the first release of the second generation of MCP": (
        ["mcp==2.0.0"],
        ["mcp_tools", "mcp_pins", "mcp_arguments", "mcp_proxy_sdks", "mcp_several", "mcp_servers"],
    ),
    "the oldest releases that the extras allow": (
        ["anthropic==1.0.0", "openai==2.0.0", "langgraph==1.2.0", "mcp==1.24.0"],
        [
            "claude_agent",
            "openai_agent",
            "model_options",
            "langgraph_agent",
            "langgraph_subgraphs",
            "mcp_tools",
            "mcp_pins",
            "mcp_arguments",
            "mcp_proxy_sdks",
            "mcp_several",
            "mcp_servers",
        ],
    ),
    "CrewAI": (["crewai>=1.15"], ["crewai_agent", "crewai_tools"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_adapters_work_with_other_releases(name: str) -> None:
    packages, files = SETS[name]
    run_with([*NEEDED, *packages], [f"*/test_{file}.py" for file in files], skips=False)
