"""agent-hooks (AGENT-HOOKS-0.1): an interceptor that decides `pre_tool_call` with a `Guard`.

    interceptor = GuardInterceptor(guard)
    emitter = InterceptionEmitter(resolver=interceptor.resolver(ask)).register(interceptor, name="bobcat")

The host runs the tool. The submission is recorded before the tool, and ends at `post_tool_call`. A call that needs an
approval is a liftable deny; `resolver` lifts it. Every fault is a deny.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bobcat.approvals import ApprovalHandler
from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import answer_text
from bobcat.guards.split_call import SplitCall
from bobcat.text.json_text import format_exception, json_text

try:
    from agent_hooks import ApprovalOutcome, ApprovalRequest, ApprovalResolution, Decision, Transform, Verdict
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[agent-hooks]'`", name=error.name) from error

Context = Mapping[str, Any]  # Any: a JSON document
CallId = tuple[str, str]


class GuardInterceptor:
    """Decides the tool calls of an agent-hooks host; permits everything at other points.

    Register it last in a sequential profile: it decides the arguments that the interceptors before it have left. A
    call that ran with other arguments than those decided, or that was never decided, is denied at `post_tool_call`, so
    that its result does not reach the model. Without `escalate`, the guard's own `on_approval` or store answers
    approvals, within the host's timeout, and no verdict is liftable.
    """

    def __init__(self, guard: Guard, *, escalate: bool = True) -> None:
        self._guard = guard
        self._escalate = escalate
        self._running: dict[CallId, SplitCall] = {}

    async def intercept(self, context: Context) -> Verdict:
        """Return the verdict on one interception."""
        try:
            point = context["interception_point"]
            if point == "pre_tool_call":
                return await self._before(context)
            if point == "post_tool_call":
                return await self._after(context)
            if point == "agent_shutdown":
                await self._end(context["session"]["id"])
        except Exception as error:
            return Verdict.deny(reason="bobcat:failed", message=format_exception(error))
        return Verdict.allow()

    def resolver(self, on_approval: ApprovalHandler) -> GuardResolver:
        """Return the host's approval resolver: `on_approval` is asked, and the policy judges its answer."""
        return GuardResolver(self, on_approval)

    async def begin(self, context: Context, **options: Any) -> Verdict:
        """Submit the call of a context, and return the verdict. `options` are the keywords of `Guard.submit`."""
        call, place = context["tool_call"], _place(context)
        if place in self._running:
            return Verdict.deny(reason="bobcat:invalid", message=f"the call {place[1]!r} is running already")
        begun = await SplitCall.begin(self._guard, call["name"], dict(call["args"]), **options)
        if begun.args is None:
            return _refusal(begun.outcome)
        self._running[place] = begun
        if _same(begun.args, call["args"]):
            return Verdict.allow()
        return Verdict(Decision.TRANSFORM, transform=Transform("$target", _json(begun.args)))

    async def _before(self, context: Context) -> Verdict:
        call = context["tool_call"]
        if not self._escalate:
            return await self.begin(context)
        decided = await self._guard.check(call["name"], dict(call["args"]), run=_never)
        if decided.status != "waiting":
            return await self.begin(context)
        return Verdict.escalate(reason="bobcat:waiting", message=decided.reason or "an approval is required")

    async def _after(self, context: Context) -> Verdict:
        begun, call, result = self._running.pop(_place(context), None), context["tool_call"], context["tool_result"]
        if begun is None or begun.args is None:
            return Verdict.deny(reason="bobcat:undecided", message="the guard has not permitted this call")
        if not _same(begun.args, call["args"]):
            await begun.abandon()
            return Verdict.deny(reason="bobcat:changed", message="the call ran with arguments that were not decided")
        if result.get("is_error"):
            await begun.end(json_text(result["value"]), failed=True)
        else:
            await begun.end(result["value"])
        return Verdict.allow()

    async def _end(self, session: str) -> None:
        for place in [each for each in self._running if each[0] == session]:
            await self._running.pop(place).abandon()


class GuardResolver:
    """Approval resolver of a host: asks a handler, and submits the call with its answer."""

    def __init__(self, interceptor: GuardInterceptor, on_approval: ApprovalHandler) -> None:
        self._interceptor = interceptor
        self._on_approval = on_approval

    async def resolve(self, request: ApprovalRequest) -> ApprovalResolution:
        """Answer one liftable deny. Those of other interceptors stay."""
        verdict, identity = request.verdict, request.context_identity
        if request.interception_point.value != "pre_tool_call" or verdict.reason != "bobcat:waiting":
            return ApprovalResolution(ApprovalOutcome.UNRESOLVED, identity)
        answer = await self._interceptor.begin(request.context, on_approval=self._on_approval)
        granted = ApprovalOutcome.APPROVE if answer.decision.permits else ApprovalOutcome.REJECT
        return ApprovalResolution(granted, identity, answer)


async def _never(**_: Any) -> None:
    """Stands for the tool where a call is only decided."""


def _place(context: Context) -> CallId:
    return context["session"]["id"], context["tool_call"]["id"]


def _refusal(outcome: Outcome | None) -> Verdict:
    if outcome is None:
        return Verdict.deny(reason="bobcat:failed")
    return Verdict.deny(reason=f"bobcat:{outcome.status}", message=answer_text(outcome))


def _json(args: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json_text(args))
    return found


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return json_text(one) == json_text(other)
