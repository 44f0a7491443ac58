"""One step of a run: a proposed call, from its proposal to the message the model gets back.

    proposed → gated → bound → decided → [approved] → intent → run or previewed → outcome → result → told

Under another `Manner` the intent comes before the approval, and the approval is answered after the outcome.

INVARIANT: no `Execute` without a decision that permits it, nor, in a journaled run, before its intent is durable.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bobcat.approvals import Answer
from bobcat.frozen import FrozenDict, deep_freeze, thaw
from bobcat.journal import StepRecord, idempotency_key
from bobcat.kernel.commands import Approved, AskApproval, Decide, Decided, Execute, Interrupted, ToolReturned
from bobcat.kernel.reply import Proposal
from bobcat.kernel.state import RunState, Steps, expect
from bobcat.limits import duration_stop
from bobcat.mediator import refused, with_args
from bobcat.model import (
    ActionRequest,
    ActionResult,
    ApprovalRequest,
    Decision,
    ExecutionContext,
    ToolDef,
    Verdict,
)
from bobcat.plain_json import describe, show
from bobcat.tools import ArgumentError

_NOTHING: Mapping[str, Any] = FrozenDict()
_UNCERTAIN: Mapping[str, Any] = FrozenDict({"uncertain_retry": True})


def perform(run: RunState, call: Proposal, wall: datetime) -> Steps[None]:
    """Take the step `run.step` with `call`, made at `wall`. Returns when the model has its answer, or ends the run."""
    setup, count_all = run.setup, run.manner.counts_every_proposal
    stop = run.repeated(call) if count_all else None
    orphan = None
    if setup.journal.records:
        replayed = setup.journal.results.get(run.step)
        if replayed is not None:
            yield from _replay(run, call, replayed)
            return
        orphan = setup.journal.uncertain(run.step)
    if setup.observed:
        yield from run.emit("step.proposed", {"seq": run.step, "tool": call.tool, "args": call.args})
    tool = setup.tools.tools.get(call.tool)
    if tool is not None and not count_all:
        stop = run.repeated(call)
    if stop is not None:
        raise (yield from run.fail(stop, seq=run.step))
    if orphan is not None:
        yield from _announce_uncertain(run, call, orphan)
    try:
        tool, args = _resolve(run, call, tool)
    except ValueError as error:
        yield from run.emit("action.failed", {"seq": run.step, "reason": str(error)})
        tell(run, call, f"[error] {error}")
        return
    yield from _Action(run, call, tool, orphan is not None).run_with(args, wall)


def tell(run: RunState, call: Proposal, text: str) -> None:
    """Give the model its answer."""
    run.conversation.append(("tool", text, call.tool, call.call_id or f"step_{run.step}"))


class _Action:
    """A call of a known tool with arguments it takes."""

    __slots__ = ("call", "key", "manner", "observed", "run", "seq", "tool", "uncertain")

    def __init__(self, run: RunState, call: Proposal, tool: ToolDef, uncertain: bool) -> None:
        self.run = run
        self.manner = run.manner
        self.call = call
        self.tool = tool
        self.uncertain = uncertain
        self.seq = run.step
        self.observed = run.setup.observed
        self.key = ""
        if run.setup.journaled:
            self.key = idempotency_key(run.setup.run_id, run.step, call.tool, call.args, text=run.manner.json)

    def run_with(self, args: Mapping[str, Any], wall: datetime) -> Steps[None]:
        """Have the call judged, and do what the decision lets happen."""
        setup = self.run.setup
        context = ExecutionContext(
            setup.principal,
            setup.environment,
            setup.workspace,
            setup.correlation_id,
            self.seq,
            wall,
            _UNCERTAIN if self.uncertain else _NOTHING,
        )
        request = ActionRequest(self.call.tool, args, self.tool.metadata, context)
        request, decision = yield from self.decide(request)
        if not self.manner.intent_follows_approval:
            yield from self.intend(request, decision)
            yield from self.stop_if_cancelled()
        refusal = refused(decision, transforms_any_verdict=self.manner.transforms_any_verdict)
        if refusal is not None:
            if self.manner.intent_follows_approval:
                yield from self.intend(request, decision)
            yield from self.announce("action.started", request, decision)
            yield from self.settle(decision, ActionResult(False, error=refusal), decision.verdict is Verdict.DENY)
            return
        if decision.verdict is Verdict.APPROVE_REQUIRED:
            yield from self.announce("action.started", request, decision)
            approved = yield from self.approve(request, decision)
            if approved is None:
                return
            request = approved
        if self.manner.intent_follows_approval and (self.observed or self.key):
            # PERF: without an intent or an event to hold back, the driver's own look before `Execute` is enough.
            yield from self.stop_if_cancelled()
            yield from self.intend(request, decision)
        yield from self.execute(request, decision)

    def decide(self, request: ActionRequest) -> Steps[tuple[ActionRequest, Decision]]:
        """The decision, and the request with the arguments it is about."""
        judged = request if self.manner.read_only else with_args(request, thaw(request.args))
        decision = expect((yield Decide(judged)), Decided).decision
        verdict: object = decision.verdict
        if not isinstance(verdict, Verdict):
            reason = f"unknown verdict {show(verdict)!r}"
            decision = Decision(Verdict.DENY, reason, tuple(decision.matched_rules))
        effective = decision.transform_args if self.transforms(decision) else None
        if isinstance(effective, Mapping):
            try:
                request = with_args(request, deep_freeze(dict(effective)))
            except Exception as error:
                reason = f"transformed arguments cannot be used: {describe(error)}"
                decision = Decision(Verdict.DENY, reason, decision.matched_rules)
        if self.observed:
            body = {
                "seq": self.seq,
                "verdict": decision.verdict.value,
                "reason": decision.reason,
                "matched_rules": list(decision.matched_rules),
            }
            yield from self.run.emit("policy.evaluated", self.with_effective(body, request))
        return request, decision

    def transforms(self, decision: Decision) -> bool:
        """Whether the decision's own arguments are the ones that run."""
        if self.manner.transforms_any_verdict:
            return decision.verdict is not Verdict.DENY
        return decision.verdict is Verdict.TRANSFORM

    def approve(self, request: ActionRequest, decision: Decision) -> Steps[ActionRequest | None]:
        """The request as approved, or None when the step ended in a refusal."""
        # The handler gets a copy: what it does to it must not reach what runs.
        shown = with_args(request, self.run.out(deep_freeze(thaw(request.args))))
        earlier = self.granted_before(request, decision)
        if earlier is None:
            yield from self.record_approval("approval.requested", request, decision)
        yield from self.run.emit("approval.requested", {"seq": self.seq, "approvers": list(decision.approvers)})
        if earlier is None:
            event = yield AskApproval(ApprovalRequest(shown, decision, request.context.correlation_id))
        else:
            event = Approved(earlier)
        if isinstance(event, Interrupted):
            why = f"cancelled: {event.cancelled}" if event.cancelled else duration_stop(self.run.setup.budget).error
            yield from self.run.emit("approval.denied", {"seq": self.seq, "ok": False, "error": why})
            raise (yield from self.run.interrupted(event, "approval", seq=self.seq))
        answer = expect(event, Approved).answer
        asked = request
        if answer.refusal is None and answer.args is not None:
            request, answer = yield from self.judge_again(request, decision, answer, answer.args)
        told = self.manner.approval_precedes_action
        if answer.refusal is not None:
            body = {"seq": self.seq, "ok": False, "error": answer.refusal, "approver": answer.approver}
            if told:
                yield from self.run.emit("approval.denied", body)
            yield from self.settle(decision, ActionResult(False, error=answer.refusal), denied=True)
            return None
        if told:
            body = {"seq": self.seq, "ok": True, "error": None, "approver": answer.approver}
            yield from self.run.emit("approval.granted", self.with_effective(body, request))
        if earlier is None:
            edited = None if request is asked else request.args
            yield from self.record_approval(
                "approval.granted", asked, decision, approver=answer.approver, edited=edited
            )
        return request

    def record_approval(self, kind: str, request: ActionRequest, decision: Decision, **more: object) -> Steps[None]:
        """Keep on record that an approval is waited for, or that it was granted, and for what."""
        if self.key and self.manner.journals_approvals:
            body = {"step": self.seq, "tool": self.call.tool, "args": self.run.out(request.args), **more}
            body["matched_rules"] = list(decision.matched_rules)
            body["approvers"] = list(decision.approvers)
            yield from self.run.append(kind, body, self.key)

    def granted_before(self, request: ActionRequest, decision: Decision) -> Answer | None:
        """The grant on record for exactly this, when nothing was begun on its account and it would count today."""
        grant = self.run.setup.journal.grants.get(self.seq)
        if grant is None or self.uncertain or not self.manner.journals_approvals:
            return None
        approver, text = grant.get("approver"), self.manner.json
        same = (
            grant.get("tool") == self.call.tool
            and text(grant.get("args")) == text(request.args)
            and list(grant.get("matched_rules", ())) == list(decision.matched_rules)
        )
        if not same or not isinstance(approver, str) or (decision.approvers and approver not in decision.approvers):
            return None
        edited = grant.get("edited")
        return Answer(approver, None, edited if isinstance(edited, Mapping) else None)

    def judge_again(
        self, request: ActionRequest, decision: Decision, answer: Answer, edited: Mapping[str, Any]
    ) -> Steps[tuple[ActionRequest, Answer]]:
        """Judge what an approver made of the arguments: they must be allowed, or fall to the rule just satisfied."""
        try:
            args = self.run.signature(self.call.tool).bind(deep_freeze(dict(edited)))
            again = with_args(request, FrozenDict(args))
        except Exception as error:
            return request, Answer(answer.approver, f"denied: the approver's args cannot be used: {show(error)}")
        again, second = yield from self.decide(again)
        same_rule = second.verdict is Verdict.APPROVE_REQUIRED and second.matched_rules == decision.matched_rules
        if second.verdict is Verdict.ALLOW or same_rule:
            return again, answer
        text = f"denied: the arguments as edited by {answer.approver} are decided {second.verdict.value}"
        return request, Answer(answer.approver, f"{text} — {second.reason}" if second.reason else text)

    def stop_if_cancelled(self) -> Steps[None]:
        """End the run here when the switch was thrown: everything is decided, nothing has run."""
        moment = yield from self.run.look()
        if moment.cancelled is not None:
            raise (yield from self.run.cancel(moment.cancelled, "pre_execute", seq=self.seq))

    def intend(self, request: ActionRequest, decision: Decision) -> Steps[None]:
        """Write the intent. Whatever happens after it, the journal knows that the action may have run."""
        if self.key:
            body = {"step": self.seq, "tool": self.call.tool, "verdict": decision.verdict.value}
            yield from self.run.append("action.intent", self.with_effective(body, request), self.key)

    def execute(self, request: ActionRequest, decision: Decision) -> Steps[None]:
        """Run the tool, or its shadow for a dry run, and settle the outcome."""
        shadow = decision.verdict is Verdict.DRY_RUN
        if decision.verdict is not Verdict.APPROVE_REQUIRED:
            yield from self.announce("action.dry_run" if shadow else "action.started", request, decision)
        event = yield Execute(request, self.tool, shadow, self.key)
        if isinstance(event, Interrupted):
            why = f"cancelled: {event.cancelled}" if event.cancelled else duration_stop(self.run.setup.budget).error
            fate = "it may have taken effect" if event.started else "it was not started"
            yield from self.run.emit("action.failed", {"seq": self.seq, "reason": f"{why}; {fate}"})
            raise (yield from self.run.interrupted(event, "execute", seq=self.seq))
        denied = decision.verdict is Verdict.APPROVE_REQUIRED and not self.manner.approval_precedes_action
        yield from self.settle(decision, expect(event, ToolReturned).result, denied)

    def settle(self, decision: Decision, result: ActionResult, denied: bool) -> Steps[None]:
        """Record how the action came out, and tell the model. `denied` says that what is not ok was refused."""
        if denied:
            self.run.forgive()
        strict = self.manner.strict_results
        ok = result.ok is True if strict else result.ok
        error: object = result.error
        body: dict[str, Any] = {"seq": self.seq}
        if ok:
            dry = decision.verdict is Verdict.DRY_RUN
            kind = "action.dry_run_completed" if dry else "action.completed"
            body["duration_ms"] = result.duration_ms
            message = f"{'[dry_run]' if dry else '[ok]'} {show(result.value)}"
        else:
            if strict and not isinstance(error, str):
                error = show(error)
            kind = "action.denied" if denied else "action.failed"
            body["reason"] = error
            message = f"{'[denied]' if denied else '[error]'} {show(error)}"
        if self.observed:
            if decision.verdict is Verdict.APPROVE_REQUIRED and not self.manner.approval_precedes_action:
                answer = "approval.granted" if ok else "approval.denied"
                yield from self.run.emit(answer, {"seq": self.seq, "ok": ok, "error": error})
            yield from self.run.emit(kind, body)
        if self.key:
            record: dict[str, Any] = {
                "step": self.seq,
                "tool": self.call.tool,
                "verdict": decision.verdict.value,
                "ok": ok,
                "error": error,
                "duration_ms": result.duration_ms,
                "message": message,
            }
            if self.uncertain:
                record["uncertain_retry"] = True
            yield from self.run.append("action.result", record, self.key)
        tell(self.run, self.call, message)

    def announce(self, kind: str, request: ActionRequest, decision: Decision) -> Steps[None]:
        """Say that the action is about to be dealt with."""
        if self.observed:
            body = {"seq": self.seq, "verdict": decision.verdict.value}
            yield from self.run.emit(kind, self.with_effective(body, request))

    def with_effective(self, body: dict[str, Any], request: ActionRequest) -> dict[str, Any]:
        """`body` with the effective arguments, when they are not the proposed ones: an auditor must see what runs."""
        if self.manner.audits_effective_args and request.args is not self.call.args:
            body["args"] = request.args
        return body


def _resolve(run: RunState, call: Proposal, tool: ToolDef | None) -> tuple[ToolDef, Mapping[str, Any]]:
    """The tool, and the arguments with its defaults. Raises `ArgumentError` with the text for the model."""
    if tool is None:
        raise ArgumentError(f"unknown tool: {call.tool!r}")
    if call.problem is not None:
        raise ArgumentError(call.problem)
    if not run.manner.binds_arguments:
        return tool, call.args
    bound = run.signature(call.tool).bind(call.args)
    return tool, bound if bound is call.args else FrozenDict(bound)


def _replay(run: RunState, call: Proposal, result: Mapping[str, Any]) -> Steps[None]:
    """Feed a journaled result back: it happened, so it is neither judged nor run again."""
    body = {"seq": run.step, "tool": result.get("tool"), "ok": result.get("ok"), "verdict": result.get("verdict")}
    yield from run.emit("step.replayed", body)
    if str(result.get("message", "")).startswith("[denied]"):
        run.forgive()
    tell(run, call, show(result.get("message", "")))


def _announce_uncertain(run: RunState, call: Proposal, orphan: StepRecord) -> Steps[None]:
    body = {
        "seq": run.step,
        "tool": call.tool,
        "intent_key": orphan.idempotency_key,
        "reason": "intent journaled without result — action may have executed",
    }
    yield from run.emit("action.uncertain", body)
