"""Actions that may have run: detection, reconciliation, and the conditions for another attempt.

The outcome of an intent without a recorded result is uncertain until one of these resolves it: the tool's reconciler,
the tool's declared effect, or a decision by a rule about uncertain retries. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Verdict
from bobcat.model.frozen import FrozenDict
from bobcat.model.run import Happened, NotHappened, ToolDef, Unknown
from bobcat.runtime.commands import Interrupted, Reconcile, ReconcilerReplied
from bobcat.runtime.reply import Proposal
from bobcat.runtime.state import RunState, Steps, expect

UNCERTAIN_MARKER = "<default:on_uncertain>"
"""In `matched_rules`: an unsafe action that may have run waits for an approval, whichever rule allowed it before."""
UNCERTAIN_REASON = "an earlier attempt may have taken effect, and running the tool again is not safe"
RESTORED = "the store was restored since the run began — what the run did after its last record is unknown"
MAY_HAVE_HAPPENED = "an earlier attempt of this action may have taken effect"

NO_FACTS: Mapping[str, Any] = FrozenDict()
UNCERTAIN: Mapping[str, Any] = FrozenDict({"uncertain_retry": True})
"""`context.extra` of an uncertain retry."""


class UncertainOutcome(NamedTuple):
    """The open intents of a step, and the stricter of the tool's effects at that time and now.

    In a run that is older than the last restore of its store, the tuple may be empty: the intent may be among the lost
    records.
    """

    intents: tuple[StepRecord, ...]
    effect: str


def find_uncertain(run: RunState, step: int, tool: ToolDef) -> UncertainOutcome | None:
    """The uncertain outcome of a step. A tool whose effect changed since counts as unsafe."""
    intents = run.setup.journal.open.get(step, ())
    if not intents and not run.setup.restored:
        return None
    # An older journal has no effects. Its tools got no key and no fence, but a tool that is harmless now was so then.
    now = tool.metadata.effect
    unnamed = now if now in ("none", "idempotent") else "unsafe"
    effects = {now, *(intent.body.get("effect", unnamed) for intent in intents)}
    return UncertainOutcome(intents, now if len(effects) == 1 else "unsafe")


def reconcile(
    run: RunState, call: Proposal, tool: ToolDef, uncertain: UncertainOutcome, key: str
) -> Steps[Happened | NotHappened | Unknown]:
    """Determine the outcome, by the reconciler, or because a transaction commits only together with its result.

    `key` is the action's key; all its intents share it.
    """
    last = uncertain.intents[-1] if uncertain.intents else None
    if last is not None:
        key = last.idempotency_key
    answer: Happened | NotHappened | Unknown = Unknown()
    if tool.reconcile_fn is not None:
        args = call.args if last is None else last.body.get("args", call.args)
        event = yield Reconcile(tool, key, args)
        if isinstance(event, Interrupted):
            raise (yield from run.interrupted(event, "reconcile", seq=run.step))
        answer = expect(event, ReconcilerReplied).answer
        body: dict[str, Any] = {"seq": run.step, "tool": call.tool, "intent_key": key}
        body["outcome"] = _OUTCOMES[type(answer)]
        if isinstance(answer, Unknown) and answer.reason:
            body["reason"] = answer.reason
        yield from run.emit("action.reconciled", body)
    if isinstance(answer, Unknown) and uncertain.effect == "transactional":
        answer = NotHappened()
    if isinstance(answer, NotHappened) and uncertain.intents:
        together = uncertain.effect == "transactional"
        why = "its transaction was not committed" if together else "the reconciler says that it did not happen"
        yield from close_intents(run, call, tuple(intent.seq for intent in uncertain.intents), why, key)
    return answer


def close_intents(run: RunState, call: Proposal, intents: tuple[int, ...], reason: str, key: str) -> Steps[None]:
    """Record that these intents of the present step are abandoned."""
    body = {"step": run.step, "tool": call.tool, "reason": reason, "intents": list(intents)}
    yield from run.append("action.abandoned", body, key)


def require_approval(decision: Decision) -> Decision:
    """The decision for an unsafe uncertain retry that `decision` would run without a rule about such retries."""
    reason = f"{UNCERTAIN_REASON} ({decision.reason})" if decision.reason else UNCERTAIN_REASON
    return Decision(
        Verdict.APPROVE_REQUIRED,
        reason,
        (*decision.matched_rules, UNCERTAIN_MARKER),
        decision.approvers,
        decision.transform_args,
        decision.timeout_seconds,
        obligations=decision.obligations,
    )


def depends_on_uncertainty(decision: Decision, without: Decision) -> bool:
    """Return true if the uncertainty changed the decision: another verdict, or other rules, than without it."""
    return decision.verdict is not without.verdict or tuple(decision.matched_rules) != tuple(without.matched_rules)


def with_uncertainty(context: ExecutionContext) -> ExecutionContext:
    """The same context with the marker of an uncertain retry."""
    return replace(context, extra=FrozenDict({**context.extra, **UNCERTAIN}))


def without_uncertainty(request: ActionRequest) -> ActionRequest:
    """The same request without the marker of an uncertain retry."""
    context = request.context
    extra = {name: value for name, value in context.extra.items() if name not in UNCERTAIN}
    certain = replace(context, extra=FrozenDict(extra))
    return ActionRequest(request.tool, request.args, request.declared, certain)


_OUTCOMES = {Happened: "happened", NotHappened: "not_happened", Unknown: "unknown"}
