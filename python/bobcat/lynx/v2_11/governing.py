"""Governing of single calls: what `ToolGuard` and the MCP proxy of lynx-agent 2.11 share.

Decisions and executions are those of a run of `bobcat.lynx`; a sink that fails is reported, as in a run. New programs
use `bobcat.Guard`, which also journals and waits for approvals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from bobcat.approvals import ApprovalHandler, auto_deny
from bobcat.bundle import Policy
from bobcat.executors import Executor
from bobcat.lynx.core.types import now_utc
from bobcat.lynx.v2_11.core.mediator import mediate
from bobcat.lynx.v2_11.core.types import ActionResult, Decision
from bobcat.lynx.v2_11.deciding import decide
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata, Verdict
from bobcat.model.frozen import deep_freeze, thaw
from bobcat.model.run import AuditEvent
from bobcat.runtime.arguments import check_surroundings
from bobcat.runtime.compat import LYNX_2_5
from bobcat.runtime.options import Options, checked
from bobcat.sinks import AnySink
from bobcat.sinks.fanout import Fanout
from bobcat.text.json_text import format_exception
from bobcat.tools.toolset import ToolSet

UNKNOWN_TOOL, INVALID_ARGUMENTS = "<unknown_tool>", "<invalid_arguments>"
"""Matched rules of calls that are denied before the policy is asked."""
UNDECLARED = ToolMetadata("high", False, ())
"""The declaration of an unknown tool."""

Args = Mapping[str, Any]  # Any: arguments of any call


class Governor:
    """Decides calls and executes what the decisions permit. Raises `TypeError` for arguments of the wrong type."""

    def __init__(
        self,
        *,
        policy: Policy,
        tools: ToolSet,
        sinks: Sequence[AnySink],
        on_approval: ApprovalHandler | None,
        no_approval: str,
        principal: Principal,
        environment: str,
        workspace: str,
        correlation_id: str,
        executor: Executor | None,
    ) -> None:
        checked(Options(tools=tools, policy=policy), LYNX_2_5)
        check_surroundings(
            sinks=sinks, principal=principal, environment=environment, store=None, executor=executor, cancel=None
        )
        self.policy = policy
        self.tools = tools
        self.sinks = tuple(sinks)
        self.on_approval = on_approval or auto_deny(no_approval)
        self.principal = principal
        self.environment = environment
        self.workspace = workspace
        self.executor = executor
        self._correlation_id = correlation_id
        self._fanout = Fanout(self.sinks, timeout_seconds=inf, reporter=LYNX_2_5.name)
        self._events = 0

    @property
    def correlation_id(self) -> str:
        """The id that all events carry."""
        return self._correlation_id

    async def emit(self, kind: str, body: Mapping[str, Any]) -> None:  # Any: the values of an event's body
        """Deliver an event to the sinks; `seq` counts events."""
        event = AuditEvent(self._correlation_id, self.policy.id, self._events, kind, now_utc(), dict(body))
        self._events += 1
        await self._fanout.deliver(event)

    def request(
        self, tool: str, args: Args, declared: ToolMetadata, step_seq: int, extra: Args | None = None
    ) -> tuple[ActionRequest, str | None]:
        """Return the request of a call, and the reason why its arguments cannot be used, or None."""
        problem, found = None, args
        try:
            found = deep_freeze(dict(args))
        except (TypeError, ValueError) as error:
            problem = f"the arguments cannot be used: {format_exception(error)}"
        context = ExecutionContext(
            self.principal, self.environment, self.workspace, self._correlation_id, step_seq, now_utc(),
            deep_freeze(dict(extra or {})),
        )  # fmt: skip
        return ActionRequest(tool, found, declared, context), problem

    def decide(self, request: ActionRequest) -> Decision:
        """Return the policy's decision; a policy that cannot be evaluated denies."""
        return decide(self.policy, request)

    async def enforce(self, request: ActionRequest, decision: Decision, tools: ToolSet | None = None) -> ActionResult:
        """Execute what the decision permits, by `tools`. Once a required sink has failed, nothing is executed."""
        if self._fanout.failure is not None:
            return ActionResult(False, error=f"denied: {self._fanout.failure}")
        return await mediate(request, decision, tools or self.tools, self.on_approval, self.executor)


def denial(reason: str, marker: str) -> Decision:
    """The decision on a call that the policy is not asked about."""
    return Decision(Verdict.DENY, reason, (marker,))


def decision_body(decision: Decision) -> dict[str, Any]:  # Any: the values of an event's body
    """The body of `policy.evaluated`, without the name of the call."""
    return {
        "verdict": decision.verdict.value,
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
    }


def value_text(value: object) -> str:
    """The text of a tool's value for a model: a string as it is, nothing for None, else JSON or the `repr`."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value)
    except (RecursionError, TypeError, ValueError):
        return repr(value)


def shown_args(args: Args) -> dict[str, Any]:
    """A copy of arguments for an event; a sink's changes have no effect on the call."""
    try:
        copied: dict[str, Any] = thaw(dict(args))
    except (TypeError, ValueError):
        return dict(args)
    return copied
