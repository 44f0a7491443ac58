"""One step of a run: a proposed call, from its proposal to the message the model gets back.

    proposed → gated → bound → decided → [approved] → intent → run or previewed → outcome → result → told

Under another `Manner` the intent comes before the approval, and the approval is answered after the outcome.

INVARIANT: no `Execute` without a decision that permits it, nor, in a journaled run, before its intent is durable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bobcat.approvals import Answer
from bobcat.frozen import FrozenDict, deep_freeze, thaw
from bobcat.journal import StepRecord
from bobcat.kernel.audit import (
    EVALUATED,
    EXTRA_FAILED,
    REEVALUATED,
    REPEATED_CALL,
    TRANSFORM_REFUSED,
    UNKNOWN_TOOL,
    decided_body,
    evaluated_body,
    refused_body,
)
from bobcat.kernel.commands import (
    Approved,
    AskApproval,
    Decide,
    Decided,
    Execute,
    ExtraFailed,
    ExtraGiven,
    GetExtra,
    Interrupted,
    Suspended,
    ToolReturned,
)
from bobcat.kernel.doubt import (
    MAY_HAVE_HAPPENED,
    NOTHING,
    RESTORED,
    UNCERTAIN,
    close_intents,
    doubt_about,
    investigate,
    is_about_doubt,
    with_approval,
)
from bobcat.kernel.extra import checked_facts
from bobcat.kernel.judging import with_known_verdict
from bobcat.kernel.reply import Proposal
from bobcat.kernel.state import NOT_BEGUN, RunState, Steps, expect
from bobcat.mediator import refused, with_args
from bobcat.model import (
    ActionRequest,
    ActionResult,
    ApprovalRequest,
    Decision,
    ExecutionContext,
    Happened,
    ToolDef,
    Unknown,
    Verdict,
)
from bobcat.plain_json import describe, show
from bobcat.tools import GIVEN, ArgumentError, given_parameters

NO_EXTRA = "the facts that this call is judged by cannot be had"


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
        yield from _announce_refusal(run, call, tool, wall, stop.reason, REPEATED_CALL)
        raise (yield from run.fail(stop, seq=run.step))
    if orphan is not None or setup.restored:
        yield from _announce_uncertain(run, call, orphan)
    try:
        known, args = _resolve(run, call, tool)
    except ArgumentError as error:
        yield from _announce_refusal(run, call, tool, wall, str(error), error.code)
        yield from _not_made(run, call, f"{error}; {MAY_HAVE_HAPPENED}" if orphan and count_all else str(error))
        return
    yield from _Action(run, call, known, orphan is not None or setup.restored).run_with(args, wall)


def tell(run: RunState, call: Proposal, text: str) -> None:
    """Give the model its answer."""
    run.conversation.append(("tool", text, call.tool, call.call_id or f"step_{run.step}"))


class _Action:
    """A call of a known tool with arguments it takes."""

    __slots__ = (
        "call", "completed", "doubt", "extra", "intent", "key", "manner", "observed", "run", "seq", "tool", "uncertain",
    )  # fmt: skip

    def __init__(self, run: RunState, call: Proposal, tool: ToolDef, uncertain: bool) -> None:
        self.run = run
        self.manner = run.manner
        self.call = call
        self.tool = tool
        self.uncertain = uncertain
        self.doubt: str | None = None
        """The effect of an action that may have run. An `unsafe` one runs again only if a rule is about the doubt."""
        self.completed: list[tuple[Mapping[str, Any], ...]] = []
        """The arguments that defaults were added to, for each judgement of the present decision."""
        self.extra: Mapping[str, Any] = NOTHING
        """The facts that the call is judged by."""
        self.intent = -1
        self.seq = run.step
        self.observed = run.setup.observed
        self.key = ""
        if run.setup.journaled:
            self.key = run.key(run.step, call.tool, call.args)

    def run_with(self, args: Mapping[str, Any], wall: datetime) -> Steps[None]:
        """Have the call judged, and do what the decision lets happen."""
        if self.uncertain and self.manner.resolves_doubt and (yield from self.settle_doubt()):
            return
        self.extra = self.run.setup.extra
        request = ActionRequest(self.call.tool, args, self.tool.metadata, self.context(wall))
        error = None
        if self.run.setup.asks_extra:
            self.extra, error = yield from self.facts(request)
            request = ActionRequest(self.call.tool, args, self.tool.metadata, self.context(wall))
        if error is None:
            request, decision = yield from self.decide(request)
        else:
            decision = Decision(Verdict.DENY, NO_EXTRA)
            if self.observed:
                body = refused_body(self.call, self.tool, request.context, decision, EXTRA_FAILED, args)
                yield from self.run.emit(EVALUATED, {**body, "error": error})
        if not self.manner.intent_follows_approval:
            yield from self.intend(request, decision)
            yield from self.stop_if_cancelled()
        refusal = refused(decision, transforms_any_verdict=self.manner.transforms_any_verdict)
        if refusal is not None:
            if self.manner.intent_follows_approval:
                yield from self.intend(request, decision)
            yield from self.announce("action.started", request, decision)
            refusal = self.with_doubt(refusal)
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

    def context(self, wall: datetime) -> ExecutionContext:
        """The context that the call is judged in, with the facts that are known."""
        setup, extra = self.run.setup, self.extra
        if self.uncertain:
            extra = FrozenDict({**extra, **UNCERTAIN})
        return ExecutionContext(
            setup.principal, setup.environment, setup.workspace, setup.correlation_id, self.seq, wall, extra
        )

    def facts(self, request: ActionRequest) -> Steps[tuple[Mapping[str, Any], str | None]]:
        """The facts that the call is judged by, off the journal when they are there, and why there are none."""
        setup = self.run.setup
        known = setup.journal.extras.get(self.seq)
        if known is not None and not setup.renews_extra:
            try:
                return checked_facts(known), None
            except (TypeError, ValueError) as error:
                return NOTHING, describe(error)
        event = yield GetExtra(request)
        if isinstance(event, Interrupted):
            raise (yield from self.run.interrupted(event, "extra", seq=self.seq))
        if isinstance(event, ExtraFailed):
            yield from self.run.append("step.extra", {"step": self.seq, "error": event.error})
            return NOTHING, event.error
        given = expect(event, ExtraGiven).extra
        yield from self.run.append("step.extra", {"step": self.seq, "extra": given})
        return given, None

    def settle_doubt(self) -> Steps[bool]:
        """Find out what became of an action that may have run. True when it happened, and the step is over."""
        doubt = doubt_about(self.run, self.seq, self.tool)
        if doubt is None:
            return False
        answer = yield from investigate(self.run, self.call, self.tool, doubt, self.key)
        self.uncertain = isinstance(answer, Unknown)
        if isinstance(answer, Happened):
            verdict = doubt.intents[-1].body.get("verdict", "allow") if doubt.intents else "allow"
            result = ActionResult(True, answer.value)
            yield from self.settle(Decision(Verdict(verdict)), result, denied=False, reconciled=True)
            return True
        self.doubt = doubt.effect if self.uncertain else None
        return False

    @property
    def can_repeat(self) -> bool:
        """True when an earlier attempt may have taken effect, and another one would make it happen twice."""
        return self.doubt == "unsafe"

    def with_doubt(self, refusal: str) -> str:
        """A refusal of an action that may have happened all the same, which the model must know."""
        return f"{refusal}; {MAY_HAVE_HAPPENED}" if self.uncertain and self.manner.resolves_doubt else refusal

    def about_doubt(self, request: ActionRequest, decision: Decision) -> Steps[Decision]:
        """The decision, unless it would run an unsafe action again without a word about the doubt."""
        if not self.can_repeat or decision.verdict not in (Verdict.ALLOW, Verdict.TRANSFORM):
            return decision
        context = replace(request.context, extra=self.extra)
        calm = ActionRequest(request.tool, request.args, request.declared, context)
        without = yield from self.judgement(calm)
        return decision if is_about_doubt(decision, without) else with_approval(decision)

    def judgement(self, request: ActionRequest) -> Steps[Decision]:
        """Ask the policy."""
        decided = expect((yield Decide(request)), Decided)
        self.completed.append(decided.completed)
        return decided.decision

    def decide(self, request: ActionRequest, kind: str = EVALUATED) -> Steps[tuple[ActionRequest, Decision]]:
        """The decision, announced by an event of `kind`, and the request with the arguments it is about."""
        judged = request if self.manner.read_only else with_args(request, thaw(request.args))
        self.completed.clear()
        decision = yield from self.judgement(judged)
        decision = yield from self.about_doubt(request, with_known_verdict(decision))
        code = None
        effective = decision.transform_args if self.transforms(decision) else None
        if isinstance(effective, Mapping):
            try:
                request = with_args(request, self.effective(dict(effective)))
            except Exception as error:
                reason, code = f"transformed arguments cannot be used: {describe(error)}", TRANSFORM_REFUSED
                decision = Decision(Verdict.DENY, reason, decision.matched_rules)
        if self.observed:
            completed = self.completed
            body = (
                evaluated_body(request, decision, judged=judged.args, completed=completed, code=code, doubt=self.doubt)
                if self.manner.audits_decisions
                else self.with_effective(decided_body(self.seq, decision), request)
            )
            yield from self.run.emit(kind, body)
        return request, decision

    def effective(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments that a decision puts in place of the proposed ones, as the tool gets them.

        They go through the same door as the proposed ones. Raises for what the tool does not take.
        """
        given = given_parameters(self.tool)
        if not given.isdisjoint(args):
            names = ", ".join(f"`{name}`" for name in sorted(given.intersection(args)))
            raise ValueError(f"the run itself gives {names}")
        if self.manner.binds_arguments:
            return self.run.signature(self.call.tool).bind(args)
        frozen: Mapping[str, Any] = deep_freeze(args)
        return frozen

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
        body: dict[str, Any] = {"seq": self.seq, "approvers": list(decision.approvers)}
        yield from self.run.emit("approval.requested", {**body, "uncertain": True} if self.can_repeat else body)
        if earlier is None:
            event = yield AskApproval(self.question(shown, decision))
        else:
            event = Approved(earlier)
        if isinstance(event, Interrupted):
            why = self.run.why(event)
            yield from self.run.emit("approval.denied", {"seq": self.seq, "ok": False, "error": why})
            raise (yield from self.run.interrupted(event, "approval", seq=self.seq))
        if isinstance(event, Suspended):
            raise (yield from self.run.suspend(event.approvals))
        answer = expect(event, Approved).answer
        asked = request
        if answer.refusal is None and answer.args is not None:
            request, answer = yield from self.judge_again(request, decision, answer, answer.args)
        told = self.manner.approval_precedes_action
        if answer.refusal is not None:
            body = {"seq": self.seq, "ok": False, "error": answer.refusal, "approver": answer.approver}
            if told:
                yield from self.run.emit("approval.denied", body)
            yield from self.settle(decision, ActionResult(False, error=self.with_doubt(answer.refusal)), denied=True)
            return None
        if told:
            body = {"seq": self.seq, "ok": True, "error": None, "approver": answer.approver}
            yield from self.run.emit("approval.granted", self.with_effective(body, request))
        if earlier is None:
            edited = None if request is asked else request.args
            by = {"granted_by": list(answer.by)} if answer.by else {}
            yield from self.record_approval(
                "approval.granted", asked, decision, approver=answer.approver, edited=edited, **by
            )
        return request

    def question(self, shown: ActionRequest, decision: Decision) -> ApprovalRequest:
        """What the approver is asked, and for which attempt at this step of which run."""
        setup, correlation_id = self.run.setup, shown.context.correlation_id
        if not self.key or not self.manner.journals_approvals:
            return ApprovalRequest(
                shown, decision, correlation_id, uncertain=self.can_repeat, definition=self.tool.definition
            )
        begun = setup.journal.begun.get(self.seq, 0)
        return ApprovalRequest(
            shown,
            decision,
            correlation_id,
            setup.run_id,
            setup.bundle_id,
            begun,
            uncertain=self.can_repeat,
            definition=self.tool.definition,
        )

    def record_approval(self, kind: str, request: ActionRequest, decision: Decision, **more: object) -> Steps[None]:
        """Keep on record that an approval is waited for, or that it was granted, and for what."""
        if self.key and self.manner.journals_approvals:
            body = {"step": self.seq, "tool": self.call.tool, "args": self.run.out(request.args), **more}
            body["bundle_id"] = self.run.setup.bundle_id
            body["matched_rules"] = list(decision.matched_rules)
            body["approvers"] = list(decision.approvers)
            if self.tool.definition:
                body["definition"] = self.tool.definition
            if self.can_repeat:
                body["uncertain"] = True
            yield from self.run.append(kind, body, self.key)

    def granted_before(self, request: ActionRequest, decision: Decision) -> Answer | None:
        """The grant on record for exactly this, when nothing was begun on its account and it would count today."""
        grant = self.run.setup.journal.grants.get(self.seq)
        if grant is None or not self.manner.journals_approvals:
            return None
        approver, text = grant.get("approver"), self.manner.json
        same = (
            grant.get("tool") == self.call.tool
            and grant.get("bundle_id") == self.run.setup.bundle_id
            and text(grant.get("args")) == text(request.args)
            and list(grant.get("matched_rules", ())) == list(decision.matched_rules)
            and grant.get("definition", "") == self.tool.definition
            and grant.get("uncertain", False) is self.can_repeat
        )
        by = tuple(grant.get("granted_by") or (approver,))
        if not same or not isinstance(approver, str) or len(set(by)) < decision.approvals_needed:
            return None
        if decision.approvers and not set(by) <= set(decision.approvers):
            return None
        edited = grant.get("edited")
        return Answer(approver, None, edited if isinstance(edited, Mapping) else None)

    def judge_again(
        self, request: ActionRequest, decision: Decision, answer: Answer, edited: Mapping[str, Any]
    ) -> Steps[tuple[ActionRequest, Answer]]:
        """Judge what an approver made of the arguments: they must be allowed, or fall to the rule just satisfied."""
        try:
            again = with_args(request, self.run.signature(self.call.tool).bind(dict(edited)))
        except Exception as error:
            return request, Answer(answer.approver, f"denied: the approver's args cannot be used: {show(error)}")
        again, second = yield from self.decide(again, REEVALUATED)
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
            if self.manner.resolves_doubt:
                body["effect"] = self.tool.metadata.effect
            self.intent = yield from self.run.append("action.intent", self.with_effective(body, request), self.key)

    def execute(self, request: ActionRequest, decision: Decision) -> Steps[None]:
        """Run the tool, or its shadow for a dry run, and settle the outcome."""
        shadow = decision.verdict is Verdict.DRY_RUN
        if decision.verdict is not Verdict.APPROVE_REQUIRED:
            yield from self.announce("action.dry_run" if shadow else "action.started", request, decision)
        event = yield Execute(request, self.tool, shadow, self.key or self.key_without_journal())
        if isinstance(event, Interrupted):
            why = self.run.why(event)
            fate = "it may have taken effect" if event.started else "it was not started"
            if not event.started:
                yield from self.abandon(event)
            yield from self.run.emit("action.failed", {"seq": self.seq, "reason": f"{why}; {fate}"})
            raise (yield from self.run.interrupted(event, "execute", seq=self.seq))
        denied = decision.verdict is Verdict.APPROVE_REQUIRED and not self.manner.approval_precedes_action
        yield from self.settle(decision, expect(event, ToolReturned).result, denied)

    def abandon(self, event: Interrupted) -> Steps[None]:
        """Put on record that the intent came to nothing: the action was not begun, or was undone."""
        if self.key and self.manner.journals_ends and event.lost is None:
            yield from close_intents(self.run, self.call, (self.intent,), NOT_BEGUN, self.key)

    def settle(
        self, decision: Decision, result: ActionResult, denied: bool, *, reconciled: bool = False
    ) -> Steps[None]:
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
            text = show(error)
            if denied and self.manner.says_denied_once:
                text = text.removeprefix("denied: ")
            message = f"{'[denied]' if denied else '[error]'} {text}"
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
        if reconciled:
            record["reconciled"] = True
        # A transaction is committed with the record of its result: before that, there is nothing to tell.
        together = self.key and self.tool.metadata.effect == "transactional" and self.manner.resolves_doubt
        if together:
            yield from self.run.append("action.result", record, self.key)
        if self.observed:
            if decision.verdict is Verdict.APPROVE_REQUIRED and not self.manner.approval_precedes_action:
                answer = "approval.granted" if ok else "approval.denied"
                yield from self.run.emit(answer, {"seq": self.seq, "ok": ok, "error": error})
            yield from self.run.emit(kind, body)
        if self.key and not together:
            yield from self.run.append("action.result", record, self.key)
        tell(self.run, self.call, message)

    def key_without_journal(self) -> str:
        """The key for a tool that takes one, in a run that nobody resumes: the correlation id stands for the run's."""
        if not GIVEN.get(self.tool.metadata.effect):
            return ""
        return self.run.key(self.seq, self.call.tool, self.call.args)

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
        raise ArgumentError(f"unknown tool: {call.tool!r}", UNKNOWN_TOOL)
    if call.problem is not None:
        raise ArgumentError(call.problem, call.code)
    if not run.manner.binds_arguments:
        return tool, call.args
    try:
        return tool, run.signature(call.tool).bind(call.args)
    except ArgumentError:
        raise
    except ValueError as error:  # a default that cannot be frozen
        raise ArgumentError(str(error), "tool_signature") from error


def _announce_refusal(
    run: RunState, call: Proposal, tool: ToolDef | None, wall: datetime, reason: str, code: str
) -> Steps[None]:
    """Announce the decision on a call that the run refuses by itself: the policy is not asked about it."""
    setup = run.setup
    if setup.observed and run.manner.audits_decisions:
        context = ExecutionContext(
            setup.principal, setup.environment, setup.workspace, setup.correlation_id, run.step, wall, setup.extra
        )
        yield from run.emit(EVALUATED, refused_body(call, tool, context, Decision(Verdict.DENY, reason), code))


def _not_made(run: RunState, call: Proposal, error: str) -> Steps[None]:
    """A call that cannot be made: of an unknown tool, or with arguments that it does not take."""
    yield from run.emit("action.failed", {"seq": run.step, "reason": error})
    message = f"[error] {error}"
    if run.setup.journaled and run.manner.journals_ends:
        body = {"step": run.step, "tool": call.tool, "verdict": None, "ok": False, "error": error, "duration_ms": 0}
        yield from run.append("action.result", {**body, "message": message}, run.key(run.step, call.tool, call.args))
    tell(run, call, message)


def _replay(run: RunState, call: Proposal, result: Mapping[str, Any]) -> Steps[None]:
    """Feed a journaled result back: it happened, so it is neither judged nor run again."""
    body = {"seq": run.step, "tool": result.get("tool"), "ok": result.get("ok"), "verdict": result.get("verdict")}
    yield from run.emit("step.replayed", body)
    if str(result.get("message", "")).startswith("[denied]"):
        run.forgive()
    tell(run, call, show(result.get("message", "")))


def _announce_uncertain(run: RunState, call: Proposal, orphan: StepRecord | None) -> Steps[None]:
    body = {
        "seq": run.step,
        "tool": call.tool,
        "intent_key": None if orphan is None else orphan.idempotency_key,
        "reason": RESTORED if orphan is None else "intent journaled without result — action may have executed",
    }
    yield from run.emit("action.uncertain", body)
