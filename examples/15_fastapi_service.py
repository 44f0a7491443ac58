"""A FastAPI service: runs in the background, approvals over HTTP, events as a stream of JSON lines.

Serve it with `uvicorn 15_fastapi_service:app`; run as a script, it talks to itself without a network.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient
from pydantic import BaseModel

from bobcat import (
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    FinalAnswer,
    Message,
    Policy,
    Principal,
    RunResult,
    ToolCall,
    ToolSet,
    run_agent,
    tool,
)

POLICY = Policy.compile("""
rules:
  - {id: status, match: {tool: status, args.service.in: [web, jobs]}, decision: allow}
  - id: restart
    match: {tool: restart, args.service.in: [web, jobs]}
    decision: approve_required
    approvers: [ann, bob]
    timeout_seconds: 60
""")
app = FastAPI()


@tool()
async def status(service: str) -> str:
    """The state of a service."""
    return f"{service} is down"


@tool(reversible=False)
async def restart(service: str) -> str:
    """Restart a service."""
    return f"{service} is up"


class Agent:
    """Looks, then restarts."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        answers = [message.content for message in conversation if message.role == "tool"]
        if len(answers) == 2:
            return FinalAnswer(answers[-1])
        return ToolCall(["status", "restart"][len(answers)], {"service": "web"})


@dataclass
class Run:
    """A run in progress: its task, its events, and the approval that it waits for."""

    events: asyncio.Queue[AuditEvent | None] = field(default_factory=asyncio.Queue)
    waiting: asyncio.Future[ApprovalDecision] | None = None
    task: asyncio.Task[RunResult] | None = None


RUNS: dict[str, Run] = {}


class Start(BaseModel):
    """The user and the task."""

    user: str
    task: str


class Answer(BaseModel):
    """An approver's answer. A real service takes the name from its authentication, not from the body."""

    approver: str
    granted: bool


@app.post("/runs")
async def start(body: Start) -> dict[str, str]:
    """Begin a run."""
    run_id = str(uuid4())
    run = RUNS[run_id] = Run()

    async def approve(request: ApprovalRequest) -> ApprovalDecision:
        run.waiting = asyncio.get_running_loop().create_future()
        return await run.waiting

    async def go() -> RunResult:
        try:
            return await run_agent(
                Agent(), body.task, tools=ToolSet.from_functions(status, restart), policy=POLICY,
                principal=Principal("user", body.user), sinks=[run.events.put], on_approval=approve,
            )  # fmt: skip
        finally:
            await run.events.put(None)

    run.task = asyncio.create_task(go())
    return {"run": run_id}


@app.get("/runs/{run_id}/events")
async def events(run_id: str) -> StreamingResponse:
    """Stream the events of the run, up to a pending approval or the end."""
    run = find(run_id)

    async def lines() -> AsyncIterator[str]:
        while (event := await run.events.get()) is not None:
            yield json.dumps({"kind": event.kind, "verdict": event.body.get("verdict")}) + "\n"
            if event.kind == "approval.requested":
                return

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@app.post("/runs/{run_id}/approval")
async def answer(run_id: str, body: Answer) -> dict[str, str]:
    """Answer the approval that a run waits for. Whether the answer counts is for the policy to say."""
    run = find(run_id)
    if run.waiting is None or run.waiting.done():
        raise HTTPException(409, "nothing is waited for")
    run.waiting.set_result(ApprovalDecision(body.granted, body.approver))
    return {"taken": body.approver}


@app.get("/runs/{run_id}")
async def result(run_id: str) -> dict[str, str | None]:
    """The outcome of a run."""
    run = find(run_id)
    assert run.task is not None
    ended = await run.task
    return {"answer": ended.final_answer, "error": ended.error}


def find(run_id: str) -> Run:
    if run_id not in RUNS:
        raise HTTPException(404, "no such run")
    return RUNS[run_id]


def main() -> None:
    with TestClient(app) as client:
        for approver in ("ann", "mallory"):
            run = client.post("/runs", json={"user": "ann", "task": "get web up"}).json()["run"]
            print(client.get(f"/runs/{run}/events").text, end="")
            print(client.post(f"/runs/{run}/approval", json={"approver": approver, "granted": True}).json())
            print(client.get(f"/runs/{run}").json())
        print(client.post(f"/runs/{run}/approval", json={"approver": "ann", "granted": True}).status_code)
        print(client.get("/runs/nothing").status_code)


if __name__ == "__main__":
    main()
