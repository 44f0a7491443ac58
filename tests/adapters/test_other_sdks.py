"""The same tests with other releases of the vendors' packages, each set in an environment of its own.

The environments are made from the package registry and thrown away, so these tests run in campaigns only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import bobcat

ROOT = Path(__file__).parents[2]
PACKAGE = Path(bobcat.__file__).parents[1]
NEEDED = ["msgspec", "PyYAML", "google-re2", "click", "rich", "pytest", "hypothesis", "jsonschema"]
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


@pytest.fixture
def environment() -> Iterator[Path]:
    """An empty virtual environment."""
    with tempfile.TemporaryDirectory(prefix="bobcat-sdk-") as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        yield Path(place)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_adapters_work_with_other_releases(name: str, environment: Path) -> None:
    packages, files = SETS[name]
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED, *packages], check=True)
    tests = [str(path) for file in files for path in (ROOT / "tests").glob(f"*/test_{file}.py")]
    assert len(tests) == len(files)
    # What warns in a release that is not the current one is no fault of ours.
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-W", "default", *tests]
    found = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=found, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:]
    assert " skipped" not in done.stdout
