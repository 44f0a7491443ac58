"""A candidate policy beside the enforced one: it decides the same calls, and has no effect on them.

Called by the driver of a run and by the decision server. INVARIANT: nothing of a candidate reaches a decision, the
arguments of a call or an approval; a candidate that cannot decide is a divergence.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from msgspec import UnsetType
from msgspec.structs import replace as replaced

from bobcat._core import RunState, evaluate_beside
from bobcat.bundle import Policy
from bobcat.model.decision import ActionRequest, Decision, Verdict, obligations_of
from bobcat.model.decision_change import compare, then_of_decision
from bobcat.model.frozen import deep_freeze, thaw
from bobcat.runtime.evaluate import complete_transform, evaluate_or_deny, with_known_verdict
from bobcat.runtime.memory import reads_task
from bobcat.text.json_text import format_exception

HOST_SECONDS = 0.1
"""Longest time in seconds that a decision waits for a candidate with Python rules that are not compiled."""
MAX_GROUPS = 1_000
"""Groups of divergences that a tally keeps apart; later ones are counted by kind only."""

Bind = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # Any: arguments of any call
OTHER_MEMORY = (
    "candidate has rules that remember what the policy does not: no state is kept for them; use `bobcat replay`, or "
    "count the same in a monitored rule of the policy"
)
NO_MEMORY = "candidate has rules that remember, and no state is kept here; use `bobcat replay`"

_ERRORS = ("<rule_error:", "<default:evaluation_error>")


class Candidate:
    """A policy that decides beside another one. Raises `TypeError` and `ValueError` for one that cannot."""

    def __init__(
        self,
        policy: Policy,
        task: str | None = None,
        *,
        beside: Policy | None = None,
        narrow_with: Policy | None = None,
    ) -> None:
        """`beside` is the policy whose monitored rules are in force in `policy`: the two share the state of a run.

        `narrow_with` narrows the candidate as it does the enforced policy.
        """
        if beside is None:
            check_kind(policy)
            policy = policy if narrow_with is None else policy.narrow_with(narrow_with)
        self.policy = policy
        self._deciding = policy
        """The policy that evaluates: the same, with the definitions of memory of the enforced one."""
        self._shares_state = beside is not None and policy.remembers
        self._problem: str | None = None
        self._known: tuple[Policy, Policy | None] | None = None
        self._plain = policy.manifest.profile == "strict" and not policy.manifest.host_rules and not policy.remembers
        self._task = task if reads_task(policy) else None
        self._threaded = bool(policy.manifest.host_rules)
        self._late: threading.Thread | None = None
        self._lock = threading.Lock()

    def for_run(self, policy: Policy, task: str | None) -> Candidate:
        """The same candidate beside a policy, for a task. One that remembers reads the state that `policy` keeps."""
        found = copy(self)
        found._task = task if reads_task(self.policy) else None
        if self.policy.remembers:
            known = self._known  # read once: other threads decide, too
            if known is None or known[0] is not policy:
                known = self._known = policy, with_memory_of(self.policy, policy)
            shared = known[1]
            found._shares_state, found._deciding = shared is not None, shared or self.policy
            found._problem = OTHER_MEMORY if shared is None else None
        return found

    def divergence(
        self, request: ActionRequest, decision: Decision, bind: Bind | None = None, state: RunState | None = None
    ) -> dict[str, Any] | None:
        """Decide `request` and compare with the enforced `decision`; None if a call has the same outcome under both.

        `kind` of a divergence is `tightened`, `loosened`, `unclear` (other arguments, approvers or obligations) or
        `error`.
        """
        return self._compared(decision, lambda: self._decided(request, bind, state if self._shares_state else None))

    def decide(self, policy: Policy, request: ActionRequest) -> tuple[Decision, dict[str, Any] | None] | None:
        """The decision of `policy` and the divergence, in one call of the core.

        None where that is not possible: the caller decides, and calls `divergence`.
        """
        if not self._plain or self._task is not None:
            return None
        try:
            pair = evaluate_beside(policy, self.policy, request, request.context)
        except Exception:
            return None
        if isinstance(pair, Decision):  # PERF: the usual case
            return pair, None
        if pair is None:
            return None
        decision, found = pair
        if decision.transform_args is not None or found.transform_args is not None:
            return None
        return decision, self._compared(decision, lambda: found)

    def _compared(self, decision: Decision, decide: Callable[[], Decision]) -> dict[str, Any] | None:
        try:
            if self._problem is not None:
                raise ValueError(self._problem)
            found = decide()
            if _alike(decision, found):
                return None
            kind = _kind(with_known_verdict(decision), found)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also `SystemExit` and `RecursionError`
            found, kind = Decision(decision.verdict, format_exception(error), _ERRORS[1:]), "error"
        if kind is None:
            return None
        return {
            "kind": kind,
            "verdict": None if kind == "error" else str(found.verdict),
            "reason": found.reason or "",
            "matched_rules": list(found.matched_rules),
            "bundle_id": self.policy.id,
        }

    def _decided(self, request: ActionRequest, bind: Bind | None, state: RunState | None) -> Decision:
        if self._task is not None and request.context.task is None:
            request = replace(request, context=replace(request.context, task=self._task))
        return self._in_thread(request, bind, state) if self._threaded else self._evaluated(request, bind, state)

    def _evaluated(self, request: ActionRequest, bind: Bind | None, state: RunState | None) -> Decision:
        decision = evaluate_or_deny(self._deciding, request, state)
        if decision.transform_args is not None and bind is not None:
            decision = complete_transform(self._deciding, request, decision, bind, state=state)
        return with_known_verdict(decision)

    def _in_thread(self, request: ActionRequest, bind: Bind | None, state: RunState | None) -> Decision:
        """Decide in a thread, which is left behind when it takes too long; at most one is."""
        with self._lock:
            return self._awaited(request, bind, state)

    def _awaited(self, request: ActionRequest, bind: Bind | None, state: RunState | None) -> Decision:
        if self._late is not None and self._late.is_alive():
            raise TimeoutError("an earlier decision of the candidate still runs")
        own = ActionRequest(request.tool, deep_freeze(thaw(request.args)), request.declared, request.context)
        found: list[Decision | BaseException] = []

        def decide() -> None:
            try:
                found.append(self._evaluated(own, bind, state))
            except BaseException as error:
                found.append(error)

        self._late = threading.Thread(target=decide, name="bobcat-candidate", daemon=True)
        self._late.start()
        self._late.join(HOST_SECONDS)
        if not found:
            raise TimeoutError(f"the candidate took longer than {HOST_SECONDS} s")
        if isinstance(found[0], Decision):
            return found[0]
        raise RuntimeError(format_exception(found[0]))


def beside(policy: Policy, candidate: Candidate | None, task: str | None) -> Candidate | None:
    """The candidate of a run with this task: the one given, or the policy's own monitored rules."""
    if candidate is not None:
        return candidate.for_run(policy, task)
    monitored = policy.monitored
    return None if monitored is None else Candidate(monitored, task, beside=policy)


def candidate_of(policy: Policy, candidate: Policy | None, narrow_with: Policy | None = None) -> Candidate | None:
    """The candidate beside a policy. Raises `TypeError` and `ValueError` for one that cannot be compared with it."""
    if candidate is None:
        return None
    found = Candidate(candidate, narrow_with=narrow_with)
    checked: object = policy  # the caller's argument, which is checked later
    if isinstance(checked, Policy):
        if policy.monitored is not None:
            raise ValueError(
                "policy has monitored rules, which are compared in place of a candidate; pass one of the two"
            )
        check_candidate(found.policy, policy)
    return found


def check_kind(policy: object) -> None:
    """Raise `TypeError` for anything but a policy."""
    if not isinstance(policy, Policy):
        raise TypeError(
            f"candidate must be a Policy, got {type(policy).__name__}; make one with Policy.compile or Policy.load"
        )


def check_candidate(candidate: Policy, policy: Policy | None = None) -> None:
    """Raise `ValueError` for a candidate that remembers otherwise than `policy`, which keeps the state; None: no state
    is kept.
    """
    if candidate.remembers and (policy is None or with_memory_of(candidate, policy) is None):
        raise ValueError(OTHER_MEMORY if policy is not None else NO_MEMORY)


def with_memory_of(candidate: Policy, policy: Policy) -> Policy | None:
    """The candidate with the definitions of memory of `policy`, so that it reads the same state.

    None if it has definitions that `policy` does not have: nothing has counted for these.
    """
    own, kept = candidate.ir.memory, policy.ir.memory
    if own == kept:
        return candidate
    if isinstance(own, UnsetType) or isinstance(kept, UnsetType):
        return None
    if any(kept.get(name) != definition for name, definition in own.items()):
        return None
    return Policy.from_policy(
        replaced(candidate.ir, memory=kept), host_rules=tuple(fn for _, _, fn in candidate.python_rules)
    )


class Divergences:
    """Counts of a candidate's decisions and divergences, for a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decided = 0
        self._kinds: Counter[str] = Counter()
        self._groups: Counter[tuple[str, str, str, tuple[str, ...], tuple[str, ...], str]] = Counter()

    def count(self, tool: str, decision: Decision, divergence: Mapping[str, Any] | None) -> None:
        """Count one decision."""
        with self._lock:
            self._decided += 1
            if divergence is None:
                return
            kind, new = str(divergence["kind"]), str(divergence["verdict"] or "error")
            self._kinds[kind] += 1
            rules = tuple(decision.matched_rules), tuple(divergence["matched_rules"])
            key = kind, str(decision.verdict), new, *rules, tool
            if key in self._groups or len(self._groups) < MAX_GROUPS:
                self._groups[key] += 1

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The counts, with the most frequent groups first."""
        with self._lock:
            groups = sorted(self._groups.items(), key=lambda each: (-each[1], each[0]))
            return {
                "decided": self._decided,
                "diverged": dict(sorted(self._kinds.items())),
                "groups": [
                    {"kind": kind, "old": old, "new": new, "old_rules": list(old_rules), "new_rules": list(new_rules),
                     "tool": tool, "count": count}
                    for (kind, old, new, old_rules, new_rules, tool), count in groups
                ],
            }  # fmt: skip


def _alike(decision: Decision, found: Decision) -> bool:
    """Return true if the same rules decide alike, without arguments or approvers that could differ."""
    verdict = decision.verdict
    return (
        found.verdict is verdict
        and found.matched_rules == decision.matched_rules
        and found.transform_args is None
        and decision.transform_args is None
        and verdict is not Verdict.APPROVE_REQUIRED
        and found.obligations == decision.obligations
    )


def _kind(decision: Decision, found: Decision) -> str | None:
    same = decision.verdict is found.verdict and tuple(decision.matched_rules) == tuple(found.matched_rules)
    if any(name.startswith(_ERRORS) for name in found.matched_rules):
        return None if same else "error"
    if (decision.transform_args is None) != (found.transform_args is None) and decision.verdict is found.verdict:
        return "unclear"
    direction = compare(then_of_decision(decision), found)
    if direction is not None and direction != "other_rules":
        return direction
    permitted = decision.verdict is not Verdict.DENY
    return "unclear" if permitted and obligations_of(decision) != obligations_of(found) else None
