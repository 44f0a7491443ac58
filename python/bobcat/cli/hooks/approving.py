"""Durable approvals of hook calls: a question in a store, and an answer that counts for one proposal of the same call.

Two calls are the same with equal tool, effective arguments, principal and workspace under one policy; sessions do not
count. The question is that of a run with `durable_approvals`, so approvers, k of n, expiry and refusals are the same.
A document per call counts the answers that were consumed: of two hooks that find the same answer, one consumes it.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from bobcat.approvals import Answer, Pending, ask, durable_approvals
from bobcat.approvals.binding import canonical
from bobcat.approvals.hook_calls import CALL_KIND
from bobcat.bundle import Policy
from bobcat.cli.hooks.answer import Answer as HookAnswer
from bobcat.cli.hooks.answer import choose, obligation_problem, rewrite_problem, stated_reason
from bobcat.cli.hooks.call import HookError
from bobcat.cli.hooks.remember import Remembering
from bobcat.errors import ApprovalError, StoreError
from bobcat.ir.canonical import EncodingError
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.frozen import thaw
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.runtime.mediator import effective_args, with_args
from bobcat.stores.protocol import DurableStore, VersionConflict
from bobcat.stores.urls import open_store, shown_url

_CALL = b"bobcat/hook-call/v1\0"
PENDING = "approval_pending"
"""The code in the record of a call whose approval is open."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer to a call that needs an approval, the effective decision, and fields for its record. Any: JSON."""

    answer: HookAnswer
    decision: Decision
    more: Mapping[str, Any]


def settle(url: str, memory: Remembering, decision: Decision, *, grant: bool) -> Settled:
    """Ask for the approval that `decision` requires, or consume the answer to it. Raises `HookError`."""
    reason = stated_reason(decision)
    problem = obligation_problem(decision, reason) or rewrite_problem(memory.call, decision.transform_args, reason)
    if problem is not None:  # no approval could make the host run it
        return Settled(HookAnswer("deny", problem), decision, {})
    try:
        return asyncio.run(_settle(url, memory, decision, grant=grant))
    except (StoreError, ApprovalError) as error:
        raise HookError(f"the approvals in `{shown_url(url)}` cannot be used ({error.code}): {error}") from error
    except EncodingError as error:
        raise HookError(f"the question cannot be recorded: {error}") from error


async def _settle(url: str, memory: Remembering, decision: Decision, *, grant: bool) -> Settled:
    policy, call = memory.policy, memory.call
    request = with_args(call.request, effective_args(call.request, decision))
    id = _call_id(policy, request)
    async with aclosing(open_store(url)) as store:
        while True:
            entry = await store.get(CALL_KIND, id)
            count = 0 if entry is None else int(entry.body["answers"])
            answer = await _ask(store, ApprovalRequest(
                request, decision, request.context.correlation_id, run_id=id, bundle_id=policy.id, round=count,
            ))  # fmt: skip
            consumed = not isinstance(answer, Pending)
            if entry is None or consumed:
                body = {"answers": count + consumed, "tool": request.tool, "workspace": request.context.workspace}
                try:
                    await store.put(CALL_KIND, id, body, expected=0 if entry is None else entry.version)
                except VersionConflict:
                    continue  # another hook consumed this answer, or asked the same
            if isinstance(answer, Pending):
                return _pending(url, answer.approval, decision)
            return _answered(answer, memory, decision, grant=grant)


async def _ask(store: DurableStore, request: ApprovalRequest) -> Answer | Pending:
    """Ask in the store. A store that fails is no refusal by a person: its error is raised."""
    handler, failures = durable_approvals(store), list[StoreError | ApprovalError]()

    async def handle(req: ApprovalRequest, /) -> ApprovalDecision | Pending:
        try:
            return await handler(req)
        except (StoreError, ApprovalError) as error:
            failures.append(error)
            raise

    answer = await ask(handle, request)
    if failures:
        raise failures[0]
    return answer


def _pending(url: str, approval: str, decision: Decision) -> Settled:
    command = f"bobcat approvals grant {approval} --approver NAME --store {shlex.quote(shown_url(url))}"
    text = (
        f"approval required ({stated_reason(decision)}): it waits as {approval}. A person grants it with `{command}`; "
        "then the same call is permitted once"
    )
    return Settled(HookAnswer("deny", text), decision, {"approvals": [approval], "code": PENDING})


def _answered(answer: Answer, memory: Remembering, decision: Decision, *, grant: bool) -> Settled:
    if answer.refusal is not None:
        return _refused(answer.refusal.removeprefix("denied: "), decision)
    effective = decision
    if answer.args is not None:
        effective = memory.decide(with_args(memory.call.request, thaw(answer.args)))
        same = effective.verdict is Verdict.APPROVE_REQUIRED and effective.matched_rules == decision.matched_rules
        if effective.verdict is not Verdict.ALLOW and not same:
            text = f"the arguments as edited by {answer.approver} are decided {effective.verdict}"
            return _refused(f"{text}: {stated_reason(effective)}", decision)
        edited = answer.args if effective.transform_args is None else effective.transform_args
        effective = replace(effective, transform_args=edited)
    new = effective.transform_args
    permitted = replace(effective, verdict=Verdict.ALLOW if new is None else Verdict.TRANSFORM)
    chosen = choose(memory.call, permitted, grant=grant)
    return Settled(chosen, replace(decision, transform_args=new), {"approver": answer.approver})


def _refused(text: str, decision: Decision) -> Settled:
    return Settled(HookAnswer("deny", text), decision, {})


def _call_id(policy: Policy, request: ActionRequest) -> str:
    """The id of a call: the same whenever the same call is proposed. Raises `EncodingError`."""
    context = request.context
    principal = [context.principal.kind, context.principal.id]
    about = [policy.id, request.tool, request.args, principal, context.workspace]
    return f"hook-{sha256(_CALL + canonical(about)).hexdigest()[:32]}"
