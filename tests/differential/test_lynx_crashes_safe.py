"""Runs that crash at a write, restart and are cancelled, with the default options, beside lynx-agent 2.5.

Both are killed around the same records. Tools are declared `idempotent` here, for lynx-agent runs again what may have
run. An intent is written before an approval there and after it here: a script with approvals has no death at an intent,
and none at the result of a refused one, which has no intent here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import lynx
import lynx.durability
import lynx.policy
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bobcat
import campaign
from lynx_runs import NAMES, Death, Script, comparable, play
from safe_differences import Event, common_events, common_records, head

DEADLY = ["run.started", "run.resumed", "model.output", "final"]
PLACES = ["model", "tool", "approval", "run.started", "step.proposed", "policy.evaluated", "action.started",
          "action.completed", "action.dry_run", "action.denied"]  # fmt: skip
UNASKED = [name for name in (*NAMES, "missing") if name != "deploy"]
BUDGETS = st.fixed_dictionaries({"steps": st.integers(0, 6), "duration_seconds": st.just(60)})
CANCELLED = st.tuples(st.sampled_from(PLACES), st.integers(1, 4))


def scripts(names: list[str], kinds: list[str], policies: list[str], approvers: list[Any], cancel_at: Any) -> Any:
    """Scripts with deaths at records of `kinds`."""
    call = st.tuples(st.sampled_from(names), st.sampled_from(["a", "a", "force", "fail"]), st.sampled_from([0, 0, 1]))
    death = st.builds(Death, st.integers(1, 4), st.booleans(), st.sampled_from(kinds))
    return st.builds(
        Script,
        calls=st.lists(call, max_size=5).map(tuple),
        policies=st.lists(st.sampled_from(policies), min_size=1, max_size=3).map(tuple),
        approver=st.sampled_from(approvers),
        budget=BUDGETS,
        cancel_at=cancel_at,
        deaths=st.lists(death, max_size=3).map(tuple),
        journaled=st.just(True),
        named=st.booleans(),
    ).map(_certain_twice)


def _certain_twice(script: Script) -> Script:
    """Without a second crash of a run that denies an uncertain action (`keeps_uncertain`: lynx-agent forgets it)."""
    return replace(script, deaths=script.deaths[:1]) if "uncertain-denied" in script.policies else script


def both(script: Script) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The attempts of either package, without what differs on purpose."""
    theirs = play(lynx, script, lynx.policy.compile_policy, lynx.durability.DuplicateRecord)
    mine = play(bobcat, script, bobcat.compile_policy, bobcat.DuplicateRecord, {"effect": "idempotent"})
    return [_common(attempt) for attempt in mine], [_common(attempt) for attempt in theirs]


def _common(attempt: dict[str, Any]) -> dict[str, Any]:
    result = attempt["result"]
    reported = [[(role, head(content), *rest) for role, content, *rest in seen] for seen in attempt["seen"]]
    events = common_events([(kind, body) for _, kind, _, _, body in attempt["events"]])
    outcome: dict[str, Any] = comparable(
        {
            "result": result and (result[0], *result[2:]),
            "seen": reported,
            "ran": attempt["ran"],
            "events": _known_calls(events),
            "journal": common_records([(kind, key, body) for _, _, kind, key, body in attempt["journal"]]),
        }
    )
    return outcome


def _known_calls(events: list[Event]) -> list[Event]:
    """Events except those of calls of an unknown tool: its absence is on record here, and replayed."""
    unknown = {body["seq"] for _, body in events if body.get("tool") == "missing"}
    return [(kind, body) for kind, body in events if body.get("seq") not in unknown]


def _decided_in_both(script: Script) -> Script:
    """Without calls of an unknown tool in a run that a decision cancels: lynx-agent does not decide on them."""
    if script.cancel_at is None or script.cancel_at[0] != "policy.evaluated":
        return script
    return replace(script, calls=tuple(call for call in script.calls if call[0] != "missing"))


RULES = ["plain", "uncertain-denied", "uncertain-asked"]
ANY = [*NAMES, "missing"]
SCRIPTS = st.one_of(
    scripts(ANY, [*DEADLY, "action.result"], RULES, ["alice"], st.none()),
    scripts(ANY, DEADLY, RULES, [None, "no"], st.none()),
    scripts(UNASKED, [*DEADLY, "action.result", "action.intent"], RULES[:2], ["alice"], st.none()),
)
CANCELLED_SCRIPTS = (
    scripts(ANY, [*DEADLY, "action.result"], RULES, ["alice"], CANCELLED)
    | scripts(ANY, DEADLY, RULES, [None, "no"], CANCELLED)
).map(_decided_in_both)


@settings(max_examples=campaign.examples(150), deadline=None)
@given(SCRIPTS)
def test_a_run_that_dies_is_the_same_run_when_it_is_started_again(script: Script) -> None:
    mine, theirs = both(script)
    assert mine == theirs


@settings(max_examples=campaign.examples(150), deadline=None)
@given(CANCELLED_SCRIPTS)
@example(
    Script(
        calls=(("echo", "force", 0),),
        approver="alice",
        cancel_at=("model", 1),
        deaths=(Death(1, False, "action.result"),),
        journaled=True,
    )
)
def test_a_run_that_is_cancelled_is_the_same_run_up_to_there(script: Script) -> None:
    """The stopping point differs on purpose: the switch ends a wait, is checked after an approval, and refuses no call
    that is refused already. It stops in the same attempt, with the same error, and never later than lynx-agent.
    """
    for mine, theirs in zip(*both(script), strict=True):
        if not (_cancelled(mine) or _cancelled(theirs)):
            assert mine == theirs
            continue
        assert mine["ran"] == theirs["ran"][: len(mine["ran"])]
        if mine["result"] is None:  # it died at the result of a refused call, before which lynx-agent was cancelled
            assert mine["events"][-1][0] == "action.denied"
            return
        if theirs["result"] is None:  # it went on up to a write at which it died, and which was not come to here
            return
        assert mine["result"][:3] == theirs["result"][:3]
        assert abs(mine["result"][3] - theirs["result"][3]) <= 1
        assert len(theirs["ran"]) - len(mine["ran"]) <= 1
        assert mine["events"][-1][0] == theirs["events"][-1][0]
        shared = min(len(mine["seen"]), len(theirs["seen"]))
        assert mine["seen"][:shared] == theirs["seen"][:shared]
        return


def _cancelled(attempt: dict[str, Any]) -> bool:
    return any(kind == "run.cancelled" for kind, _ in attempt["events"])
