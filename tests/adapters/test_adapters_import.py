"""Importing the adapters costs nothing: a vendor's package is imported when its adapter is used."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from bobcat.adapters import ClaudeAgent, CrewAIAgent, LangGraphAgent, OpenAIAgent, crewai_tools, mcp_tools
vendors = {"anthropic", "crewai", "langchain_core", "langgraph", "mcp", "openai", "pydantic"}
print(sorted(vendors & set(sys.modules)))
"""


def test_importing_the_adapters_imports_no_vendors_package() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
