"""One step of a run: a proposed call, from its proposal to the message the model gets back.

    proposed → gated → bound → decided → [approved] → intent → run or previewed → outcome → result → answered

Under other `CompatOptions` the intent comes before the approval, and the approval is answered after the outcome.

INVARIANT: no `Execute` without a decision that permits it, nor, in a journaled run, before its intent is durable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bobcat.approvals import Answer
from bobcat.errors import ArgumentError
from bobcat.journal.index import EFFECTFUL_VERDICTS
from bobcat.journal.legacy_names import is_refusal
from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Obligation, Verdict, obligations_of
from bobcat.model.frozen import deep_freeze, thaw
from bobcat.model.masking import redacted_paths
from bobcat.model.run import ActionResult, ApprovalRequest, Happened, ToolDef, Unknown
from bobcat.runtime.audit import (
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
from bobcat.runtime.commands import (
    NOTHING_OPENED,
    Approved,
    AskApproval,
    Decide,
    Decided,
    Execute,
    ExtraFailed,
    ExtraGiven,
    GetExtra,
    Interrupted,
    Perform,
    Performed,
    Suspended,
    ToolReturned,
)
from bobcat.runtime.evaluate import with_known_verdict
from bobcat.runtime.extra import checked_facts
from bobcat.runtime.mediator import refused, with_args
from bobcat.runtime.memory import RETRY, call_key, decision_fields, intent_fields, replay_attempts
from bobcat.runtime.obligations import ObligationCall, ObligationOutcome, in_phase, refusal_of
from bobcat.runtime.reply import Proposal
from bobcat.runtime.state import NOT_BEGUN, RunState, StepOutcome, Steps, expect
from bobcat.runtime.uncertainty import (
    MAY_HAVE_HAPPENED,
    NO_FACTS,
    RESTORED,
    close_intents,
    depends_on_uncertainty,
    find_uncertain,
    reconcile,
    require_approval,
    with_uncertainty,
)
from bobcat.text.json_text import format_exception, safe_str
from bobcat.tools.signature import SUPPLIED, supplied_parameters

NO_EXTRA = "the facts for this call cannot be obtained"


def run_step(run: RunState, call: Proposal, wall: datetime) -> Steps[None]:
    """Take the step `run.step` with `call`, made at `wall`. Returns when the model has its answer, or ends the run."""
    setup, count_all = run.setup, run.compat.counts_every_proposal
    run.masked = setup.redacted
    stop = run.repeated(call) if count_all else None
    orphan = None
    if setup.journal.records:
        replayed = setup.journal.results.get(run.step)
        if replayed is not None:
            yield from _replay(run, call, replayed, wall)
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
        text = f"{error}; {MAY_HAVE_HAPPENED}" if orphan and count_all else str(error)
        run.last = StepOutcome(ActionResult(False, error=text), code=error.code)
        yield from _record_invalid_call(run, call, text)
        return
    yield from _Action(run, call, known, orphan is not None or setup.restored).evaluate_and_execute(args, wall)


def run_context(run: RunState, seq: int, at: datetime, extra: Mapping[str, Any]) -> ExecutionContext:
    """The context of a call at a step of the run."""
    setup = run.setup
    context = (setup.principal, setup.environment, setup.workspace, setup.correlation_id, seq, at, extra)
    return ExecutionContext(*context, task=setup.user_task)


def remember_attempts(run: RunState, step: int, tool: ToolDef | None, result: Mapping[str, Any] | None = None) -> str:
    """Give the recorded attempts at a step to the memory of the run, with the result that is on record.

    Returns the name of the last one in the memory; empty without one.
    """
    setup = run.setup
    if run.memory is None:
        return ""
    extra = setup.journal.extras.get(step, setup.extra)
    declared = None if tool is None else tool.metadata

    def context_at(at: datetime, retry: bool) -> ExecutionContext:
        context = run_context(run, step, at, extra)
        return with_uncertainty(context) if retry else context

    return replay_attempts(run.memory, setup.journal, step, declared, context_at, result)


def append_tool_message(run: RunState, call: Proposal, text: str) -> None:
    """Give the model its answer."""
    run.conversation.append(("tool", text, call.tool, call.call_id or f"step_{run.step}"))


class _Action:
    """A call of a known tool with arguments it takes."""

    __slots__ = (
        "call",
        "compat",
        "completed",
        "diverged",
        "extra",
        "intent",
        "key",
        "memory_key",
        "obligations",
        "observed",
        "run",
        "seq",
        "tool",
        "uncertain",
        "uncertain_effect",
    )  # fmt: skip

    def __init__(self, run: RunState, call: Proposal, tool: ToolDef, uncertain: bool) -> None:
        self.run = run
        self.compat = run.compat
        self.call = call
        self.tool = tool
        self.uncertain = uncertain
        self.uncertain_effect: str | None = None
        """The effect of an action that may have run. An `unsafe` one runs again only under a rule about uncertain
        retries.
        """
        self.diverged: Mapping[str, Any] | None = None  # Any: JSON
        self.completed: list[tuple[Mapping[str, Any], ...]] = []
        """The arguments after defaults were added, for each evaluation of the present decision."""
        self.extra: Mapping[str, Any] = NO_FACTS
        """The facts that the policy reads for this call."""
        self.intent = -1
        self.memory_key = ""
        """The name of the call in the memory of the run, once it may have happened."""
        self.seq = run.step
        self.obligations: tuple[Obligation, ...] = ()
        """Those of the decisions that permit the call, or of the one that refuses it."""
        self.observed = run.setup.observed
        self.key = ""
        if run.setup.journaled:
            self.key = run.key(run.step, call.tool, call.args)

    def evaluate_and_execute(self, args: Mapping[str, Any], wall: datetime) -> Steps[None]:
        """Evaluate the call, and do what the decision permits."""
        if self.uncertain and self.compat.resolves_uncertain and (yield from self.resolve_uncertain()):
            return
        if self.can_repeat:
            remember_attempts(self.run, self.seq, self.tool)
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
            yield from self.run.record_decision(decision)
        if not self.compat.intent_follows_approval:
            yield from self.write_intent(request, decision)
            yield from self.stop_if_cancelled()
        self.obligations = obligations_of(decision)
        refusal = refused(decision, transforms_any_verdict=self.compat.transforms_any_verdict)
        if refusal is not None:
            if self.compat.intent_follows_approval:
                yield from self.write_intent(request, decision)
            yield from self.emit_started("action.started", request, decision)
            refusal = self.with_uncertainty_note(refusal)
            yield from self.record_result(
                decision, ActionResult(False, error=refusal), decision.verdict is Verdict.DENY
            )
            return
        if decision.verdict is Verdict.APPROVE_REQUIRED:
            yield from self.emit_started("action.started", request, decision)
            approved = yield from self.approve(request, decision)
            if approved is None:
                return
            request = approved
        if self.obligations and not (yield from self.perform_before(request, decision)):
            return
        if self.compat.intent_follows_approval and (self.observed or self.key or self.run.memory is not None):
            # PERF: without an intent or an event to hold back, the driver's own check before `Execute` suffices.
            yield from self.stop_if_cancelled()
            yield from self.write_intent(request, decision)
        yield from self.execute(request, decision)

    def perform_before(self, request: ActionRequest, decision: Decision) -> Steps[bool]:
        """Perform the obligations that the effect depends on. Returns false when the step ended in a refusal."""
        waiting = in_phase(self.obligations, "before")
        if not waiting:
            return True
        event = yield Perform(waiting, self.obligation_call(request, decision), gates=True)
        if isinstance(event, Interrupted):
            raise (yield from self.run.interrupted(event, "obligation", seq=self.seq))
        outcomes = expect(event, Performed).outcomes
        yield from self.note_obligations(outcomes)
        last = outcomes[-1]
        if not last.code:
            return True
        self.obligations = ()
        failure = ActionResult(False, error=self.with_uncertainty_note(refusal_of(last)))
        yield from self.record_result(decision, failure, denied=True, code=last.code)
        return False

    def perform_after(self, decision: Decision, result: ActionResult, *, refused: bool) -> Steps[None]:
        """Perform the obligations that follow the outcome; of a refused call, all. Their failures change nothing."""
        waiting = in_phase(self.obligations, None if refused else "after")
        known = self.run.decided
        if not waiting or known is None:
            return
        event = yield Perform(waiting, self.obligation_call(known[0], decision, result), gates=False)
        if isinstance(event, Interrupted):
            raise (yield from self.run.interrupted(event, "obligation", seq=self.seq))
        yield from self.note_obligations(expect(event, Performed).outcomes)

    def obligation_call(
        self, request: ActionRequest, decision: Decision, result: ActionResult | None = None
    ) -> ObligationCall:
        """The call as handlers of obligations see it."""
        run_id = self.run.setup.run_id if self.key else ""
        return ObligationCall(with_args(request, self.run.visible_args(request.args)), decision, result, run_id)

    def note_obligations(self, outcomes: tuple[ObligationOutcome, ...]) -> Steps[None]:
        """Record and announce the outcomes of obligations."""
        if not outcomes:
            return
        body = {"step": self.seq, "tool": self.call.tool, "outcomes": [each.to_json() for each in outcomes]}
        yield from self.run.append("step.obligations", body)
        for each in outcomes:
            kind = "obligation.failed" if each.code else "obligation.performed"
            yield from self.run.emit(kind, {"seq": self.seq, "tool": self.call.tool, **each.to_json()})

    def context(self, wall: datetime) -> ExecutionContext:
        """The context of the call's evaluation, with the known facts."""
        context = run_context(self.run, self.seq, wall, self.extra)
        return with_uncertainty(context) if self.uncertain else context

    def facts(self, request: ActionRequest) -> Steps[tuple[Mapping[str, Any], str | None]]:
        """The facts for the call, from the journal when recorded there, and the reason why they are missing."""
        setup = self.run.setup
        known = setup.journal.extras.get(self.seq)
        if known is not None and not setup.renews_extra:
            try:
                return checked_facts(known), None
            except (TypeError, ValueError) as error:
                return NO_FACTS, format_exception(error)
        event = yield GetExtra(request)
        if isinstance(event, Interrupted):
            raise (yield from self.run.interrupted(event, "extra", seq=self.seq))
        if isinstance(event, ExtraFailed):
            yield from self.run.append("step.extra", {"step": self.seq, "error": event.error})
            return NO_FACTS, event.error
        given = expect(event, ExtraGiven).extra
        yield from self.run.append("step.extra", {"step": self.seq, "extra": given})
        return given, None

    def resolve_uncertain(self) -> Steps[bool]:
        """Reconcile an action that may have run. Returns true when it happened, and the step is over."""
        uncertain = find_uncertain(self.run, self.seq, self.tool)
        if uncertain is None:
            return False
        answer = yield from reconcile(self.run, self.call, self.tool, uncertain, self.key)
        self.uncertain = isinstance(answer, Unknown)
        if isinstance(answer, Happened):
            verdict = uncertain.intents[-1].body.get("verdict", "allow") if uncertain.intents else "allow"
            self.memory_key = remember_attempts(self.run, self.seq, self.tool)
            result = ActionResult(True, answer.value)
            yield from self.record_result(Decision(Verdict(verdict)), result, denied=False, reconciled=True)
            return True
        self.uncertain_effect = uncertain.effect if self.uncertain else None
        return False

    @property
    def can_repeat(self) -> bool:
        """Return true if an earlier attempt may have taken effect, and another one would repeat the effect."""
        return self.uncertain_effect == "unsafe"

    @property
    def read(self) -> Mapping[str, Any]:
        """The fields of a recorded decision about an uncertain retry, and about the session that it came after."""
        retry = {RETRY: self.uncertain_effect} if self.uncertain else NO_FACTS
        return retry if self.run.memory is None else {**retry, **self.run.memory.read}

    def with_uncertainty_note(self, refusal: str) -> str:
        """A denial of an action that may nevertheless have happened, with a note for the model."""
        return f"{refusal}; {MAY_HAVE_HAPPENED}" if self.uncertain and self.compat.resolves_uncertain else refusal

    def guard_uncertain_retry(self, request: ActionRequest, decision: Decision) -> Steps[Decision]:
        """The decision, unless it would repeat an unsafe action without a rule about uncertain retries."""
        if not self.can_repeat or decision.verdict not in (Verdict.ALLOW, Verdict.TRANSFORM):
            return decision
        context = replace(request.context, extra=self.extra)
        certain_request = ActionRequest(request.tool, request.args, request.declared, context)
        without = yield from self.evaluate(certain_request)
        return decision if depends_on_uncertainty(decision, without) else require_approval(decision)

    def evaluate(self, request: ActionRequest) -> Steps[Decision]:
        """Ask the policy."""
        decided = expect((yield Decide(request)), Decided)
        self.completed.append(decided.completed)
        self.diverged = decided.diverged
        if decided.shared:
            yield from self.run.append("step.shared", {"step": self.seq, "values": dict(decided.shared)})
        return decided.decision

    def decide(self, request: ActionRequest, kind: str = EVALUATED) -> Steps[tuple[ActionRequest, Decision]]:
        """The decision, announced by an event of `kind`, and the request with the arguments it is about."""
        evaluated = request if self.compat.read_only else with_args(request, thaw(request.args))
        self.completed.clear()
        decision = yield from self.evaluate(evaluated)
        diverged, enforced = self.diverged, decision
        decision = yield from self.guard_uncertain_retry(request, with_known_verdict(decision))
        code = None
        effective = decision.transform_args if self.transforms(decision) else None
        if isinstance(effective, Mapping):
            try:
                request = with_args(request, self.effective_args(dict(effective)))
            except Exception as error:
                reason, code = f"transformed arguments cannot be used: {format_exception(error)}", TRANSFORM_REFUSED
                decision = Decision(Verdict.DENY, reason, decision.matched_rules)
        if decision.obligations or self.run.masked:
            self.run.masked = redacted_paths((*self.obligations, *obligations_of(decision)))
        if self.observed:
            completed = self.completed
            body = (
                evaluated_body(
                    request,
                    decision,
                    evaluated=evaluated.args,
                    completed=completed,
                    code=code,
                    uncertain_effect=self.uncertain_effect,
                    call_id=self.call.call_id,
                )
                if self.compat.audits_decisions
                else self.with_effective_args(decided_body(self.seq, decision), request)
            )
            yield from self.run.emit(kind, body)
        if diverged is not None:
            yield from self.run.note_divergence(self.seq, with_known_verdict(enforced), diverged)
        yield from self.run.record_decision(decision)
        self.run.decided = request, decision
        self.run.evaluated_args = evaluated.args
        return request, decision

    def effective_args(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The decision's own arguments, as the tool gets them.

        They are validated like the proposed ones. Raises for arguments that the tool does not take.
        """
        given = supplied_parameters(self.tool)
        if not given.isdisjoint(args):
            names = ", ".join(f"`{name}`" for name in sorted(given.intersection(args)))
            raise ValueError(f"the run itself gives {names}")
        if self.compat.binds_arguments:
            return self.run.signature(self.call.tool).bind(args)
        frozen: Mapping[str, Any] = deep_freeze(args)
        return frozen

    def transforms(self, decision: Decision) -> bool:
        """Return true if the decision's own arguments are the effective ones."""
        if self.compat.transforms_any_verdict:
            return decision.verdict is not Verdict.DENY
        return decision.verdict is Verdict.TRANSFORM

    def approve(self, request: ActionRequest, decision: Decision) -> Steps[ActionRequest | None]:
        """The request as approved, or None when the step ended in a refusal."""
        # The handler gets a copy: its changes must not reach the arguments that run.
        shown = with_args(request, self.run.visible_args(deep_freeze(thaw(request.args))))
        earlier = self.granted_before(request, decision)
        if earlier is None:
            fields = {} if self.run.memory is None else decision_fields(request, self.read)
            yield from self.record_approval("approval.requested", request, decision, **fields)
        body: dict[str, Any] = {"seq": self.seq, "approvers": list(decision.approvers)}
        yield from self.run.emit("approval.requested", {**body, "uncertain": True} if self.can_repeat else body)
        if earlier is None:
            event = yield AskApproval(self.question(shown, decision))
        else:
            event = Approved(earlier)
        if isinstance(event, Interrupted):
            why = self.run.reason_text(event)
            yield from self.run.emit("approval.denied", {"seq": self.seq, "ok": False, "error": why})
            raise (yield from self.run.interrupted(event, "approval", seq=self.seq))
        if isinstance(event, Suspended):
            raise (yield from self.run.suspend(event, uncertain=self.can_repeat))
        answer = expect(event, Approved).answer
        asked = request
        if answer.refusal is None and answer.args is not None:
            request, answer = yield from self.reevaluate(request, decision, answer, answer.args)
        answer_first = self.compat.approval_precedes_action
        if answer.refusal is not None:
            body = {"seq": self.seq, "ok": False, "error": answer.refusal, "approver": answer.approver}
            if answer_first:
                yield from self.run.emit("approval.denied", body)
            yield from self.record_result(
                decision, ActionResult(False, error=self.with_uncertainty_note(answer.refusal)), denied=True
            )
            return None
        if answer_first:
            body = {"seq": self.seq, "ok": True, "error": None, "approver": answer.approver}
            yield from self.run.emit("approval.granted", self.with_effective_args(body, request))
        if earlier is None:
            edited = None if request is asked else request.args
            by = {"granted_by": list(answer.by)} if answer.by else {}
            yield from self.record_approval(
                "approval.granted", asked, decision, approver=answer.approver, edited=edited, **by
            )
        return request

    def question(self, shown: ActionRequest, decision: Decision) -> ApprovalRequest:
        """The approval request: the question, and the attempt at this step of this run."""
        setup = self.run.setup
        asked = ApprovalRequest(
            shown,
            decision,
            shown.context.correlation_id,
            uncertain=self.can_repeat,
            definition=self.tool.definition,
            notes=() if self.run.memory is None else self.run.memory.notes(shown),
        )
        if not self.key or not self.compat.journals_approvals:
            return asked
        attempt, known = setup.journal.started_counts.get(self.seq, 0), setup.journal.asked
        filled = self.filled_by_defaults(shown) if known else frozenset()
        return replace(asked, run_id=setup.run_id, bundle_id=setup.bundle_id, round=attempt, asked=known, filled=filled)

    def filled_by_defaults(self, request: ActionRequest) -> frozenset[str]:
        """The arguments that the call leaves out, and that have the tool's own defaults."""
        if not self.compat.binds_arguments:
            return frozenset()
        args, bound = request.args, self.run.signature(self.call.tool).bind(self.call.args)
        left_out = bound.keys() - self.call.args.keys()
        return frozenset(name for name in left_out if name in args and args[name] == bound[name])

    def record_approval(self, kind: str, request: ActionRequest, decision: Decision, **more: object) -> Steps[None]:
        """Record that an approval is pending or was granted, and its question."""
        if self.key and self.compat.journals_approvals:
            body = {"step": self.seq, "tool": self.call.tool, "args": self.run.visible_args(request.args), **more}
            body["bundle_id"] = self.run.setup.bundle_id
            body["matched_rules"] = list(decision.matched_rules)
            body["approvers"] = list(decision.approvers)
            if self.tool.definition:
                body["definition"] = self.tool.definition
            if self.can_repeat:
                body["uncertain"] = True
            yield from self.run.append(kind, body, self.key)

    def granted_before(self, request: ActionRequest, decision: Decision) -> Answer | None:
        """The recorded grant for exactly this request, if no action used it and it is still valid."""
        grant = self.run.setup.journal.grants.get(self.seq)
        if grant is None or not self.compat.journals_approvals:
            return None
        approver, text = grant.get("approver"), self.compat.json
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

    def reevaluate(
        self, request: ActionRequest, decision: Decision, answer: Answer, edited: Mapping[str, Any]
    ) -> Steps[tuple[ActionRequest, Answer]]:
        """Evaluate the arguments that an approver edited: they must be allowed, or match the rule just satisfied."""
        try:
            edited_request = with_args(request, self.run.signature(self.call.tool).bind(dict(edited)))
        except Exception as error:
            return request, Answer(answer.approver, f"denied: the approver's args cannot be used: {safe_str(error)}")
        edited_request, second = yield from self.decide(edited_request, REEVALUATED)
        same_rule = second.verdict is Verdict.APPROVE_REQUIRED and second.matched_rules == decision.matched_rules
        if second.verdict is Verdict.ALLOW or same_rule:
            added = (each for each in obligations_of(second) if each not in self.obligations)
            self.obligations = (*self.obligations, *added)
            return edited_request, answer
        text = f"denied: the arguments as edited by {answer.approver} are decided {second.verdict.value}"
        return request, Answer(answer.approver, f"{text} — {second.reason}" if second.reason else text)

    def stop_if_cancelled(self) -> Steps[None]:
        """End the run here when the kill switch was thrown: the decision exists, no action has run."""
        reading = yield from self.run.read_clock()
        if reading.cancelled is not None:
            raise (yield from self.run.cancel(reading.cancelled, "pre_execute", seq=self.seq))

    def write_intent(self, request: ActionRequest, decision: Decision) -> Steps[None]:
        """Write the intent. From then on the journal shows that the action may have run."""
        attempt = self.run.setup.journal.started_counts.get(self.seq, 0) if self.can_repeat else 0
        if self.key:
            body = {"step": self.seq, "tool": self.call.tool, "verdict": decision.verdict.value}
            if self.compat.resolves_uncertain:
                body["effect"] = self.tool.metadata.effect
            if self.run.memory is not None:
                body.update(intent_fields(request, attempt, self.read))
            self.intent = yield from self.run.append("action.intent", self.with_effective_args(body, request), self.key)
        if self.run.memory is not None and decision.verdict.value in EFFECTFUL_VERDICTS:
            self.memory_key = call_key(self.seq, attempt)
            self.run.memory.intended(request, self.memory_key)

    def execute(self, request: ActionRequest, decision: Decision) -> Steps[None]:
        """Run the tool, or its shadow for a dry run, and record the outcome."""
        shadow = decision.verdict is Verdict.DRY_RUN
        if shadow and self.uncertain and not self.can_repeat:
            remember_attempts(self.run, self.seq, self.tool)
        if decision.verdict is not Verdict.APPROVE_REQUIRED:
            yield from self.emit_started("action.dry_run" if shadow else "action.started", request, decision)
        event = yield Execute(request, self.tool, shadow, self.key or self.key_without_journal())
        if isinstance(event, Interrupted):
            why = self.run.reason_text(event)
            effect_note = "it may have taken effect" if event.started else "it was not started"
            if event.started:
                unknown = ActionResult(False, error=f"{why}; {effect_note}")
                self.run.last = StepOutcome(unknown, decision, uncertain=True, opened=event.opened)
            if not event.started:
                yield from self.record_abandoned(event)
            body: dict[str, Any] = {"seq": self.seq, "reason": f"{why}; {effect_note}"}
            yield from self.run.emit("action.failed", _with_opened(body, event.opened))
            raise (yield from self.run.interrupted(event, "execute", seq=self.seq))
        denied = decision.verdict is Verdict.APPROVE_REQUIRED and not self.compat.approval_precedes_action
        returned = expect(event, ToolReturned)
        yield from self.record_result(decision, returned.result, denied, opened=returned.opened, returned=returned)

    def record_abandoned(self, event: Interrupted) -> Steps[None]:
        """Record that the intent was abandoned: the action did not start, or was undone."""
        if self.run.memory is not None and self.memory_key:
            self.run.memory.released(self.memory_key)
        if self.key and self.compat.journals_ends and event.lost is None:
            yield from close_intents(self.run, self.call, (self.intent,), NOT_BEGUN, self.key)

    def record_result(
        self,
        decision: Decision,
        result: ActionResult,
        denied: bool,
        *,
        reconciled: bool = False,
        opened: Mapping[str, Any] = NOTHING_OPENED,
        returned: ToolReturned | None = None,
        code: str = "",
    ) -> Steps[None]:
        """Record the action's outcome, and append it for the model. `denied` marks a failure that is a denial."""
        if denied:
            self.run.uncount_repeat()
            if self.run.memory is not None:
                self.run.memory.refused(call_key(self.seq))
            if self.uncertain:
                self.memory_key = remember_attempts(self.run, self.seq, self.tool)
        self.run.last = StepOutcome(result, decision, denied, code, opened=opened)
        strict = self.compat.strict_results
        ok = result.ok is True if strict else result.ok
        error: object = result.error
        body: dict[str, Any] = {"seq": self.seq}
        whole = None
        if ok:
            dry = decision.verdict is Verdict.DRY_RUN
            kind = "action.dry_run_completed" if dry else "action.completed"
            body["duration_ms"] = result.duration_ms
            tag = "[dry_run]" if dry else "[ok]"
            message = f"{tag} {safe_str(result.value)}"
            if returned is not None and returned.shown is not None:
                whole, message = message, f"{tag} {returned.shown}"
        else:
            if strict and not isinstance(error, str):
                error = safe_str(error)
            kind = "action.denied" if denied else "action.failed"
            body["reason"] = error
            text = safe_str(error)
            if denied and self.compat.single_denied_prefix:
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
        if whole is not None:
            record["whole"] = whole
        if code:
            record["code"] = body["code"] = code
        if self.uncertain:
            record["uncertain_retry"] = True
        if reconciled:
            record["reconciled"] = True
        _with_opened(record, opened)
        _with_opened(body, opened)
        if self.memory_key:
            record.update((yield from self.remember_result(ok is True, result.value)))
        # A transaction commits with the record of its result: before that there is no outcome to report.
        together = self.key and self.tool.metadata.effect == "transactional" and self.compat.resolves_uncertain
        if together:
            yield from self.run.append("action.result", record, self.key)
        if returned is not None and self.observed:
            yield from self.emit_compression(returned)
        if self.observed:
            if decision.verdict is Verdict.APPROVE_REQUIRED and not self.compat.approval_precedes_action:
                answer = "approval.granted" if ok else "approval.denied"
                yield from self.run.emit(answer, {"seq": self.seq, "ok": ok, "error": error})
            yield from self.run.emit(kind, body)
        if self.key and not together:
            yield from self.run.append("action.result", record, self.key)
        yield from self.run.show_result(record)
        append_tool_message(self.run, self.call, message)
        if self.obligations:
            yield from self.perform_after(decision, result, refused=denied)

    def remember_result(self, ok: bool, value: object) -> Steps[Mapping[str, Any]]:
        """Give the outcome of the call to the memory; return what its record needs for a resumed run."""
        memory = self.run.memory
        if memory is None:
            return {}
        at = (yield from self.run.read_clock()).wall
        if not ok:
            memory.failed(self.memory_key, at)
            return {"at": at.isoformat()}
        return {"at": at.isoformat(), **memory.returned(self.memory_key, value, at)}

    def emit_compression(self, returned: ToolReturned) -> Steps[None]:
        """Announce that a compressor shortened the text for the model, or failed."""
        body: dict[str, Any] = {"seq": self.seq, "tool": self.call.tool}
        if returned.compress_error is not None:
            yield from self.run.emit("step.compress_failed", {**body, "error": returned.compress_error})
        if returned.shown is not None:
            before, after = len(returned.result.value or ""), len(returned.shown)
            saved = {"before_chars": before, "after_chars": after, "est_tokens_saved": (before - after) // 4}
            yield from self.run.emit("step.compressed", {**body, **saved})

    def key_without_journal(self) -> str:
        """The key for a tool that takes one, in a run without a journal: the correlation id replaces the run id."""
        if not SUPPLIED.get(self.tool.metadata.effect):
            return ""
        return self.run.key(self.seq, self.call.tool, self.call.args)

    def emit_started(self, kind: str, request: ActionRequest, decision: Decision) -> Steps[None]:
        """Announce that the action is about to start."""
        if self.observed:
            body = {"seq": self.seq, "verdict": decision.verdict.value}
            yield from self.run.emit(kind, self.with_effective_args(body, request))

    def with_effective_args(self, body: dict[str, Any], request: ActionRequest) -> dict[str, Any]:
        """`body` with the effective arguments, when they differ from the proposed ones: an auditor must see the
        effective ones.
        """
        if self.compat.audits_effective_args and request.args is not self.call.args:
            body["args"] = request.args
        return body


def _with_opened(body: dict[str, Any], opened: Mapping[str, Any]) -> dict[str, Any]:
    """`body` with the facts of what the action opened, when it recorded some."""
    if opened:
        body["opened"] = opened
    return body


def _resolve(run: RunState, call: Proposal, tool: ToolDef | None) -> tuple[ToolDef, Mapping[str, Any]]:
    """The tool, and the arguments with its defaults. Raises `ArgumentError` with the text for the model."""
    if tool is None:
        raise ArgumentError(f"unknown tool: {call.tool!r}", UNKNOWN_TOOL)
    if call.problem is not None:
        raise ArgumentError(call.problem, call.code)
    if not run.compat.binds_arguments:
        return tool, call.args
    try:
        return tool, run.signature(call.tool).bind(call.args)
    except ArgumentError:
        raise
    except ValueError as error:  # a default value that cannot be frozen
        raise ArgumentError(str(error), "tool_signature") from error


def _announce_refusal(
    run: RunState, call: Proposal, tool: ToolDef | None, wall: datetime, reason: str, code: str
) -> Steps[None]:
    """Announce the decision on a call that the run denies without asking the policy."""
    setup = run.setup
    if setup.observed and run.compat.audits_decisions:
        context = run_context(run, run.step, wall, setup.extra)
        yield from run.emit(EVALUATED, refused_body(call, tool, context, Decision(Verdict.DENY, reason), code))
    yield from run.record_decision(Decision(Verdict.DENY, reason))


def _record_invalid_call(run: RunState, call: Proposal, error: str) -> Steps[None]:
    """Record a call that cannot be made: of an unknown tool, or with arguments that it does not take."""
    yield from run.emit("action.failed", {"seq": run.step, "reason": error})
    message = f"[error] {error}"
    body = {"step": run.step, "tool": call.tool, "verdict": None, "ok": False, "error": error, "duration_ms": 0}
    record = {**body, "message": message}
    if run.setup.journaled and run.compat.journals_ends:
        yield from run.append("action.result", record, run.key(run.step, call.tool, call.args))
    yield from run.show_result(record)
    append_tool_message(run, call, message)


def _replay(run: RunState, call: Proposal, result: Mapping[str, Any], wall: datetime) -> Steps[None]:
    """Replay a journaled result: the action happened, so it is neither evaluated nor run again."""
    body = {"seq": run.step, "tool": result.get("tool"), "ok": result.get("ok"), "verdict": result.get("verdict")}
    yield from run.emit("step.replayed", body)
    yield from run.show_result(result, replayed=True)
    remember_attempts(run, run.step, run.setup.tools.tools.get(call.tool), result)
    message = safe_str(result.get("message", ""))
    denied = is_refusal(result.get("message"))
    if denied:
        run.uncount_repeat()
        _take_back(run, call, wall)
    # The journal keeps the message to the model, not the value.
    value = message.removeprefix("[ok] ") if result.get("ok") is True else None
    run.last = StepOutcome(ActionResult(value is not None, value, result.get("error")), denied=denied)
    append_tool_message(run, call, message)


def _take_back(run: RunState, call: Proposal, wall: datetime) -> None:
    """Take back a call that an earlier attempt of the run decided, and that was refused."""
    tool = run.setup.tools.tools.get(call.tool)
    if run.memory is not None and tool is not None:
        context = run_context(run, run.step, wall, run.setup.journal.extras.get(run.step, run.setup.extra))
        run.memory.refused_before(ActionRequest(call.tool, call.args, tool.metadata, context))


def _announce_uncertain(run: RunState, call: Proposal, orphan: StepRecord | None) -> Steps[None]:
    body = {
        "seq": run.step,
        "tool": call.tool,
        "intent_key": None if orphan is None else orphan.idempotency_key,
        "reason": RESTORED if orphan is None else "intent journaled without result — action may have executed",
    }
    yield from run.emit("action.uncertain", body)
