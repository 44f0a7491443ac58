"""Adapters for agents and tools of other vendors. Each needs its extra: `pip install 'bobcat[anthropic]'`.

| extra | provides |
|---|---|
| `anthropic` | `ClaudeAgent`: Claude, through the Messages API |
| `openai` | `OpenAIAgent`: models behind a Chat Completions API; `openai_compatible_agent`: servers of a table |
| `openai` | `OpenAIResponsesAgent`: OpenAI's models, through the Responses API |
| `litellm` | `LiteLLMAgent`: models of every vendor that LiteLLM knows |
| `langgraph` | `LangGraphAgent`: a compiled LangGraph graph |
| `crewai` | `CrewAIAgent`, `crewai_tools`: a crew, and its tools behind the policy |
| `mcp` | `mcp_tools`: the tools of an MCP server; `mcp_pins`: the digests of their definitions |

Importing this package imports none of the vendors' packages; using a name does.
"""

from __future__ import annotations

from bobcat.adapters.anthropic_sdk import ClaudeAgent
from bobcat.adapters.crewai_adapter import CrewAIAgent, crewai_tools
from bobcat.adapters.langgraph_adapter import LangGraphAgent
from bobcat.adapters.litellm_agent import LiteLLMAgent
from bobcat.adapters.mcp import mcp_pins, mcp_tools
from bobcat.adapters.openai_responses import OpenAIResponsesAgent
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.adapters.providers import PROVIDERS, Provider, openai_compatible_agent, resolve_credentials

__all__ = [
    "PROVIDERS", "ClaudeAgent", "CrewAIAgent", "LangGraphAgent", "LiteLLMAgent", "OpenAIAgent", "OpenAIResponsesAgent",
    "Provider", "crewai_tools", "mcp_pins", "mcp_tools", "openai_compatible_agent", "resolve_credentials",
]  # fmt: skip
