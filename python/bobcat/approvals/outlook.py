"""The effect of an answer: how the run of an approval goes on."""

from __future__ import annotations

from bobcat.approvals.hook_calls import workspace_of
from bobcat.approvals.record import Approval
from bobcat.approvals.waking import JOB_KIND, waiting_runs
from bobcat.stores.protocol import DurableStore
from bobcat.text.display import safe_text

PROPOSE = "bobcat.propose"
"""Tool of the questions about proposed rules; no policy permits a call of it."""


async def outlook(store: DurableStore, approval: Approval) -> str:
    """Describe the effect of the answer in one safe line."""
    if await workspace_of(store, approval.run_id) is not None:
        permitted = "permitted, once" if approval.status == "granted" else "refused, and after that asked about again"
        return f"the next proposal of the same call is {permitted}"
    if approval.tool == PROPOSE:
        return "the answer counts when the rule is proposed again"
    run_id = (await waiting_runs(store, approval.run_id))[-1]
    run, has_job = await store.run(run_id), await store.get(JOB_KIND, run_id) is not None
    return _run_outlook(safe_text(run_id), None if run is None else run.status, has_job=has_job)


def _run_outlook(run_id: str, status: str | None, *, has_job: bool) -> str:
    """Describe how a run resumes after its approval is answered."""
    if status == "queued" and has_job:
        return f"run {run_id} is queued"
    if not has_job:
        state = "has not ended" if status is None else f"is {status}"
        return f"run {run_id} {state} and was never queued: it resumes when its program calls `run_agent` for it again"
    if status == "failed":
        return f"run {run_id} is failed: `bobcat runs resume {run_id}` queues it again"
    return f"run {run_id} is {status or 'not begun'}"
