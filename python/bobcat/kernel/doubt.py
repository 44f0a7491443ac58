"""An action that may have run: whether it did, and what may be done about it.

An intent on record without an outcome is a doubt, and stays one until something settles it: the tool's reconciler, the
effect that the tool declares, or a decision that is about the doubt. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bobcat.frozen import FrozenDict
from bobcat.journal import StepRecord
from bobcat.kernel.commands import Interrupted, Reconcile, Reconciled
from bobcat.kernel.reply import Proposal
from bobcat.kernel.state import RunState, Steps, expect
from bobcat.model import Decision, Happened, NotHappened, ToolDef, Unknown, Verdict

UNCERTAIN_MARKER = "<default:on_uncertain>"
"""In `matched_rules`: an unsafe action that may have run waits for an approval, whatever allowed it before."""
UNCERTAIN_REASON = "an earlier attempt may have taken effect, and running the tool again is not safe"
RESTORED = "the store was restored since the run began — what the run did after its last record is unknown"
MAY_HAVE_HAPPENED = "an earlier attempt of this action may have taken effect"

NOTHING: Mapping[str, Any] = FrozenDict()
UNCERTAIN: Mapping[str, Any] = FrozenDict({"uncertain_retry": True})
"""`context.extra` of a call that is in doubt."""


class Doubt(NamedTuple):
    """The intents of a step that nothing closes, and the effect that the tool had then and has now. In a run that is
    older than the last restore of its store, there may be none: the intent may be among what was lost.
    """

    intents: tuple[StepRecord, ...]
    effect: str


def doubt_about(run: RunState, step: int, tool: ToolDef) -> Doubt | None:
    """What is in doubt about a step. A tool whose effect changed since counts as unsafe."""
    intents = run.setup.journal.open.get(step, ())
    if not intents and not run.setup.restored:
        return None
    # An older journal names no effect. Then nobody got a key or a fence, but what is harmless now was so then.
    now = tool.metadata.effect
    unnamed = now if now in ("none", "idempotent") else "unsafe"
    effects = {now, *(intent.body.get("effect", unnamed) for intent in intents)}
    return Doubt(intents, now if len(effects) == 1 else "unsafe")


def investigate(
    run: RunState, call: Proposal, tool: ToolDef, doubt: Doubt, key: str
) -> Steps[Happened | NotHappened | Unknown]:
    """What became of the action: by its reconciler, or because a transaction happens with its result or not at all.

    `key` is the action's; each of its intents has the same.
    """
    last = doubt.intents[-1] if doubt.intents else None
    if last is not None:
        key = last.idempotency_key
    answer: Happened | NotHappened | Unknown = Unknown()
    if tool.reconcile_fn is not None:
        args = call.args if last is None else last.body.get("args", call.args)
        event = yield Reconcile(tool, key, args)
        if isinstance(event, Interrupted):
            raise (yield from run.interrupted(event, "reconcile", seq=run.step))
        answer = expect(event, Reconciled).answer
        body: dict[str, Any] = {"seq": run.step, "tool": call.tool, "intent_key": key}
        body["outcome"] = _OUTCOMES[type(answer)]
        if isinstance(answer, Unknown) and answer.reason:
            body["reason"] = answer.reason
        yield from run.emit("action.reconciled", body)
    if isinstance(answer, Unknown) and doubt.effect == "transactional":
        answer = NotHappened()
    if isinstance(answer, NotHappened) and doubt.intents:
        together = doubt.effect == "transactional"
        why = "its transaction was not committed" if together else "the reconciler says that it did not happen"
        yield from close_intents(run, call, tuple(intent.seq for intent in doubt.intents), why, key)
    return answer


def close_intents(run: RunState, call: Proposal, intents: tuple[int, ...], reason: str, key: str) -> Steps[None]:
    """Put on record that nothing came of these intents of the present step."""
    body = {"step": run.step, "tool": call.tool, "reason": reason, "intents": list(intents)}
    yield from run.append("action.abandoned", body, key)


def with_approval(decision: Decision) -> Decision:
    """The decision that an unsafe action in doubt gets, when `decision` would have run it without a word about that."""
    reason = f"{UNCERTAIN_REASON} ({decision.reason})" if decision.reason else UNCERTAIN_REASON
    return Decision(
        Verdict.APPROVE_REQUIRED,
        reason,
        (*decision.matched_rules, UNCERTAIN_MARKER),
        decision.approvers,
        decision.transform_args,
        decision.timeout_seconds,
    )


def is_about_doubt(decision: Decision, without: Decision) -> bool:
    """Whether the doubt made a difference: another verdict, or other rules, than the same call gets without it."""
    return decision.verdict is not without.verdict or tuple(decision.matched_rules) != tuple(without.matched_rules)


_OUTCOMES = {Happened: "happened", NotHappened: "not_happened", Unknown: "unknown"}
