"""`make demo`: a policy becomes a bundle, a scripted agent works behind it, and a denied call is explained.

    python examples/demo.py [DIRECTORY]

Everything happens in a scratch directory (DIRECTORY, when given, is used and kept): real files, a real subprocess, a
real SQLite database. No network and no API key. NO_COLOR is respected.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ops_tools import ops_tools
from rich.console import Console
from rich.text import Text

from bobcat import (
    ActionRequest,
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    ExecutionContext,
    FinalAnswer,
    Message,
    Policy,
    Principal,
    ToolCall,
    ToolSet,
    jsonl_sink,
    run_agent,
)

POLICY = Path(__file__).parent / "policies" / "ops.yaml"
PRINCIPAL = Principal("agent", "ops-bot")
STYLES = {
    "allow": "green",
    "deny": "bold red",
    "dry_run": "cyan",
    "approve_required": "yellow",
    "transform": "magenta",
}
EXPLAINED = 5
SCRIPT = (
    ToolCall("fs.write", {"path": "notes/today.md", "content": "release 1.4.2\n"}),
    ToolCall("shell", {"cmd": "cat notes/today.md"}),
    ToolCall("query", {"sql": "SELECT name, version FROM services"}),
    ToolCall("shell", {"cmd": "sh -c 'rm -rf /'"}),
    ToolCall("query", {"sql": "UPDATE services SET version = '0'"}),
    ToolCall("fs.delete", {"path": "notes/today.md"}),
    ToolCall("http", {"method": "POST", "url": "https://bot:s3cret@hooks.example.com/deploy", "body": "1.4.2"}),
    ToolCall("deploy", {"service": "billing", "version": "1.4.2"}),
    ToolCall("shell", {"cmd": "cat billing.version"}),
)


class ScriptedAgent:
    """Plays the model: proposes the calls of the script, one after the other, whatever the answers are."""

    def __init__(self, script: Sequence[ToolCall]) -> None:
        self._script = list(script)

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        answered = sum(message.role == "tool" for message in conversation)
        if answered < len(self._script):
            return self._script[answered]
        return FinalAnswer(f"{answered} calls proposed")


class Trail:
    """A sink that tells the story of a run, one paragraph per call."""

    def __init__(self, console: Console) -> None:
        self._console = console

    async def __call__(self, event: AuditEvent) -> None:
        body = event.body
        match event.kind:
            case "step.proposed":
                arguments = ", ".join(f"{name}={value!r}" for name, value in body["args"].items())
                self._line(f"\n{body['seq'] + 1}. ", "dim", f"{body['tool']}({arguments})", "bold")
            case "policy.evaluated":
                verdict = body["verdict"]
                why = " · ".join(filter(None, [*body["matched_rules"], body["reason"]]))
                self._line("   ", "", f"{verdict:<17}", STYLES[verdict], why, "dim")
                if "args" in body and verdict == "transform":
                    self._line("   runs as          ", "dim", str(dict(body["args"])), STYLES["transform"])
            case "approval.requested":
                self._line("   asked            ", "dim", ", ".join(body["approvers"]), "")
            case "approval.granted":
                self._line("   granted by       ", "dim", body["approver"], "green")

    def result(self, conversation_result: str) -> None:
        """Print the messages to the model."""
        self._line("   to the model     ", "dim", conversation_result, "")

    def _line(self, *parts: str) -> None:
        line = Text()
        for text, style in zip(parts[::2], parts[1::2], strict=False):
            line.append(text, style)
        self._console.print(line, soft_wrap=True)


class Listening(ScriptedAgent):
    """A scripted agent that also shows each answer it gets."""

    def __init__(self, script: Sequence[ToolCall], trail: Trail) -> None:
        super().__init__(script)
        self._trail = trail

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        if conversation[-1].role == "tool":
            self._trail.result(conversation[-1].content.splitlines()[0])
        return await super().step(conversation)


async def alice(request: ApprovalRequest) -> ApprovalDecision:
    """Plays the approver: looks at what would run, and agrees."""
    await asyncio.sleep(0)
    return ApprovalDecision(request.request.tool == "deploy", "alice")


def new_database(path: Path) -> sqlite3.Connection:
    """A small service registry."""
    database = sqlite3.connect(path)
    with database:
        database.execute("CREATE TABLE services (name TEXT PRIMARY KEY, version TEXT)")
        database.executemany("INSERT INTO services VALUES (?, ?)", [("billing", "1.4.1"), ("search", "2.0.0")])
    return database


def compile_to_file(console: Console, target: Path) -> Policy:
    """Compile the policy, write the bundle, and load it back: what a worker would do."""
    started = time.perf_counter()
    Policy.compile(POLICY).save(target)
    bundle = Policy.load(target)
    took = (time.perf_counter() - started) * 1000
    console.print(f"compiled [bold]{POLICY.name}[/bold]: {len(bundle.rules)} rules in {took:.0f} ms", highlight=False)
    console.print(f"bundle   {target.name}, digest {bundle.id}", highlight=False, soft_wrap=True)
    return bundle


def explain_denied(console: Console, bundle: Policy, tools: ToolSet, context: ExecutionContext) -> None:
    """Why the change in prod was denied, rule by rule and clause by clause."""
    call = SCRIPT[EXPLAINED - 1]
    request = ActionRequest(call.tool, call.args, tools.get(call.tool).metadata, context)
    parts = bundle.explain(request).to_text().strip().split("\n\n")
    reached = [part for part in parts if ": not reached" not in part.splitlines()[0]]
    console.print(f"\n[bold]why was call {EXPLAINED} denied?[/bold]")
    console.print(Text("\n\n".join(reached)), soft_wrap=True)
    console.print(f"\n{len(parts) - len(reached)} rules after it were not reached", style="dim")


async def main(scratch: Path) -> int:
    """The demo, in `scratch`."""
    width = None if sys.stdout.isatty() else 200
    console = Console(highlight=False, width=width, color_system=None if os.environ.get("NO_COLOR") else "auto")
    workspace = scratch / "workspace"
    (workspace / "notes").mkdir(parents=True)
    database = new_database(scratch / "registry.sqlite")
    tools = ops_tools(workspace, database)
    bundle = compile_to_file(console, scratch / "ops.bobcat")
    trail = Trail(console)
    audit = scratch / "audit.jsonl"
    seen: list[AuditEvent] = []

    async def keep(event: AuditEvent) -> None:
        seen.append(event)

    with audit.open("w") as handle:
        result = await run_agent(
            Listening(SCRIPT, trail),
            "roll out billing 1.4.2",
            tools=tools,
            policy=bundle,
            sinks=[trail, jsonl_sink(handle), keep],
            on_approval=alice,
            principal=PRINCIPAL,
            environment="prod",
            workspace=str(workspace),
        )
    verdicts = [event.body["verdict"] for event in seen if event.kind == "policy.evaluated"]
    console.print(f"\nthe agent says: {result.final_answer or result.error}")
    summary = Text("verdicts: ")
    for verdict, style in STYLES.items():
        summary.append(f"{verdict} {verdicts.count(verdict)}  ", style)
    console.print(summary)
    console.print(f"audit:    {len(audit.read_text().splitlines())} events in {audit.name}")
    context = ExecutionContext(PRINCIPAL, "prod", str(workspace), "demo", EXPLAINED - 1, seen[0].timestamp)
    explain_denied(console, bundle, tools, context)
    database.close()
    return 0 if result.error is None and set(verdicts) == set(STYLES) else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(asyncio.run(main(Path(sys.argv[1]))))
    with tempfile.TemporaryDirectory(prefix="bobcat-demo-") as directory:
        sys.exit(asyncio.run(main(Path(directory))))
