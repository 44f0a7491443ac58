"""Sets of tools are their own, and lines of JSON are JSON: defects of lynx-agent that must not return."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import (
    AuditEvent,
    FinalAnswer,
    StepRecord,
    ToolCall,
    ToolSet,
    compile_policy,
    jsonl_sink,
    run_agent,
    step_record_from_json,
    step_record_to_json,
    tool,
)

NOW = datetime(2026, 1, 31, tzinfo=UTC)
ODD = {"nan": float("nan"), "inf": float("-inf"), "set": {"b", "a", "c"}, "bytes": b"x"}


def strictly(line: str) -> Any:
    return json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


# lynx-agent defect 83
def test_a_tool_set_does_not_follow_the_mapping_it_was_made_of() -> None:
    @tool()
    async def work() -> None: ...

    given = dict(ToolSet.from_functions(work).tools)
    tools = ToolSet(given)
    given.clear()
    assert tools.names() == ("work",)
    with pytest.raises(TypeError):
        tools.tools["other"] = tools.get("work")  # type: ignore[index]


# lynx-agent defect 83
def test_a_shadow_attached_later_is_no_way_around_the_missing_one() -> None:
    """The set keeps what it was made of: policy and execution both see a tool without a shadow."""
    ran: list[str] = []

    @tool(reversible=False)
    async def wipe() -> None:
        ran.append("wiped")

    tools = ToolSet.from_functions(wipe)

    @wipe.shadow  # type: ignore[attr-defined]
    async def preview() -> None: ...

    class Agent:
        reported = ""

        async def step(self, conversation: Any) -> Any:
            self.reported = conversation[-1].content
            return FinalAnswer("done") if len(conversation) > 1 else ToolCall("wipe", {})

    agent = Agent()
    policy = compile_policy("rules: [{id: r, match: {declared.has_shadow: false}, decision: dry_run}]")
    asyncio.run(run_agent(agent, "t", tools=tools, policy=policy))
    assert (agent.reported, ran) == ("[error] tool 'wipe' has no shadow; cannot dry-run", [])
    assert ToolSet.from_functions(wipe).get("wipe").metadata.has_shadow


# lynx-agent defect 84
def test_audit_lines_and_journal_lines_are_always_json() -> None:
    stream = io.StringIO()
    asyncio.run(jsonl_sink(stream)(AuditEvent("c", "b", 0, "step.proposed", NOW, {"args": ODD})))
    shown = {"nan": "NaN", "inf": "-Infinity", "set": ["a", "b", "c"], "bytes": "b'x'"}
    assert strictly(stream.getvalue())["body"] == {"args": shown}
    line = step_record_to_json(StepRecord("r", 0, "model.output", "", {"args": ODD}, NOW))
    assert strictly(line)["body"] == {"args": shown}
    assert step_record_from_json(line).body == {"args": shown}


# lynx-agent defect 84
def test_a_line_does_not_depend_on_the_order_of_hashes() -> None:
    code = "from bobcat.text.json_text import json_text; print(json_text({'s': {'a', 'b', 'c', ('d',), 5}}))"
    lines = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(lines) == 1
