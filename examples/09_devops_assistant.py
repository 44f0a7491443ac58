"""A DevOps assistant, and all five verdicts: allowed, transformed, denied, previewed, approved by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from bobcat import (
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    FinalAnswer,
    Message,
    Policy,
    ToolCall,
    ToolSet,
    callback_sink,
    run_agent,
    shadow,
    tool,
)

POLICY = Path(__file__).parent / "policies" / "devops.yaml"
PLAN = [
    ToolCall("kubectl", {"cmd": "kubectl get pods"}),
    ToolCall("kubectl", {"cmd": "kubectl get pods; kubectl delete ns app"}),
    ToolCall("kubectl", {"cmd": "kubectl get pods | tee /etc/motd"}),
    ToolCall("logs", {"pod": "web-1", "lines": 100000}),
    ToolCall("scale", {"app": "web", "replicas": 3}),
    ToolCall("scale", {"app": "web", "replicas": 300}),
]


@tool(scope=("cluster:read",))
async def kubectl(cmd: str) -> str:
    """Run a kubectl command."""
    return "web-1 Running"


@tool(scope=("cluster:read",))
async def logs(pod: str, lines: int) -> str:
    """The last lines of a pod's log."""
    return f"{lines} lines of {pod}"


@tool(reversible=False, scope=("cluster:write",), blast_radius_hint=3)
async def scale(app: str, replicas: int) -> str:
    """Set the number of replicas."""
    return f"{app} has {replicas} replicas"


@shadow(scale)
async def scale_shadow(app: str, replicas: int) -> str:
    return f"{app} would have {replicas} replicas"


class Agent:
    """Follows a plan."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        done = sum(message.role == "tool" for message in conversation)
        return PLAN[done] if done < len(PLAN) else FinalAnswer("done")


async def oncall(request: ApprovalRequest) -> ApprovalDecision:
    """Plays the person on call."""
    return ApprovalDecision(True, "oncall", "traffic is up")


def show(event: AuditEvent) -> None:
    body = event.body
    if event.kind == "step.proposed":
        print(f"{body['tool']}({', '.join(f'{name}={value!r}' for name, value in body['args'].items())})")
    elif event.kind == "policy.evaluated":
        print(f"    {body['verdict']}  {body['matched_rules'][-1]}")


async def main() -> None:
    tools = ToolSet.from_functions(kubectl, logs, scale)
    policy = Policy.compile(POLICY)
    for environment in ("staging", "prod"):
        print(f"--- {environment}")
        await run_agent(
            Agent(), "look after web", tools=tools, policy=policy, environment=environment,
            sinks=[callback_sink(show)], on_approval=oncall,
        )  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main())
