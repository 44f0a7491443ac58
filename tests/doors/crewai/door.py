"""CrewAI: a crew of one agent at a local server that answers like a model."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import crewai
from crewai.tools import tool as crewai_tool

from adapters.vendor_server import Vendor, serving
from bobcat.guards.crewai import guard_crew
from doors.adapter import Observed, Setup

PREFIX = ""
INTERRUPTS = False
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]
QUIET = {
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OPENAI_API_KEY": "none",
}


def reply(turn: Any) -> dict[str, Any]:
    """The model's answer that proposes the calls of a turn; without one it is done."""
    calls = [
        {"id": each.id, "type": "function", "function": {"name": each.tool, "arguments": json.dumps(dict(each.args))}}
        for each in turn or ()
    ]
    message = {"role": "assistant", "content": None if calls else "done", **({"tool_calls": calls} if calls else {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }


def make(setup: Setup, vendor: Vendor) -> crewai.Crew:
    """A crew with the tools of the setup behind its guard."""
    llm = crewai.LLM(model="openai/gpt-4o", base_url=vendor.url, api_key="test")
    tools = [crewai_tool(each.__name__)(each) for each in setup.functions]
    agent = crewai.Agent(role="writer", goal="tidy", backstory="old", llm=llm, tools=tools, verbose=False)
    task = crewai.Task(description="go", expected_output="done", agent=agent)
    return guard_crew(crewai.Crew(agents=[agent], tasks=[task], verbose=False), setup.guard)


@contextmanager
def served(setup: Setup) -> Iterator[Vendor]:
    """A model server with the turns of a setup, and a quiet CrewAI in a directory of its own."""
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch.dict(os.environ, {**QUIET, "CREWAI_STORAGE_DIR": place}),
        serving(*(reply(each) for each in [*setup.turns, None])) as vendor,
    ):
        yield vendor


async def run(setup: Setup) -> Observed:
    """Run the crew to its end."""
    with served(setup) as vendor:
        try:
            return _observed(vendor, await make(setup, vendor).kickoff_async())
        except Exception as error:
            return Observed(error=error)


def run_sync(setup: Setup) -> Observed:
    """Kick the crew off."""
    with served(setup) as vendor:
        try:
            return _observed(vendor, make(setup, vendor).kickoff())
        except Exception as error:
            return Observed(error=error)


def _observed(vendor: Vendor, result: Any) -> Observed:
    answers = [each for each in vendor.requests[-1]["messages"] if each["role"] == "tool"]
    return Observed([(each["tool_call_id"], each["content"]) for each in answers], final=str(result))


def model(turns: Any) -> crewai.BaseLLM:
    """The model of an example: CrewAI's own interface, without a server."""
    os.environ.update(QUIET)
    return _ScriptedLLM(model="fake", turns=iter([*turns, None]))


class _ScriptedLLM(crewai.BaseLLM):
    turns: Any = None

    def call(self, *_: Any, **__: Any) -> Any:
        """Give the next turn."""
        turn = next(self.turns)
        return "done" if turn is None else reply(turn)["choices"][0]["message"]["tool_calls"]

    def supports_function_calling(self) -> bool:
        """Propose calls as data."""
        return True
