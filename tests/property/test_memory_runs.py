"""Runs under rules that remember: each decision in the journal is that of a slow reading of the journal before it.

The runs have parallel calls, failures, denials, previews and approvals. Their workers are killed up to three times, or
stopped while another worker has the run, at any await.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import StepRecord
from bobcat.runtime.recorded_step import explain_step, recorded_step
from bobcat.testing import crashsim
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.schedule import FaultSchedule
from bobcat.testing.crashsim.simulate import simulate
from campaign import examples
from oracle.memory_journal import PERMITS, Made, microseconds, run_before, verdict
from property.memory_conditions import TOOLS
from property.memory_scenarios import Talker, World, worlds

DECISIONS = ("action.intent", "approval.requested")


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with closing(Outside()) as found:
        yield found


def scenario(world: World, stage: crashsim.Stage) -> crashsim.Scenario:
    return crashsim.Scenario(
        task="go",
        agent=lambda: Talker(world),
        tools=world.tools(stage),
        policy=world.policy,
        store=world.store(stage),
        on_approval=world.answer,
        lease_seconds=world.lease,
    )


def check(world: World, records: Sequence[StepRecord]) -> Counter[str]:
    """Compare each decision with the slow reading; return how many were compared."""
    checked: Counter[str] = Counter()
    for number, record in enumerate(records):
        body = record.body
        if record.kind not in DECISIONS:
            continue
        call = Made(body["tool"], dict(body["args"]))
        trace = run_before(records[:number], body["step"])
        again = any(isinstance(name, tuple) and name[0] == body["step"] for name in trace.names)
        expected = verdict(world.rules, trace.at(microseconds(body.get("at", record.timestamp))), call)
        if again and expected == "allow":
            expected = "approve_required"  # an unsafe call that may have happened
        found = body.get("verdict", "approve_required")
        assert found == expected, (number, body["step"])
        checked[found] += 1
        checked["again"] += again
    return checked


def check_explained(world: World, records: Sequence[StepRecord]) -> Counter[str]:
    """Rebuild each decision after the records up to any later one; return how many were compared."""
    checked: Counter[str] = Counter()
    last: dict[int, StepRecord] = {}
    for number, record in enumerate(records, 1):
        if record.kind in DECISIONS:
            last[record.body["step"]] = record
        elif record.kind not in ("action.result", "action.abandoned", "run.resumed"):
            continue
        if "step" not in record.body:
            continue
        decided = last[record.body["step"]]
        found = recorded_step(records[:number], world.policy, decided.body["step"])
        expected = decided.body.get("verdict", "approve_required")
        assert explain_step(world.policy, found).decision.verdict == expected, (number, decided)
        assert found.request.context.timestamp.isoformat() == decided.body["at"]
        assert ("uncertain_retry" in found.request.context.extra) == ("uncertain_effect" in decided.body)
        checked[expected] += 1
        checked["again"] += "uncertain_effect" in decided.body
    return checked


MARKED = {"context.extra.uncertain_retry": True}
RETRIED: list[dict[str, Any]] = [
    MARKED,
    {"run.count.find.gt": 0},
    {"run.count.pay.gt": 1},
    {"run.count": {"of": MARKED, "gt": 0}},
    {"run.count": {"of": {"tool": "find"}, "within": 8, "gt": 0}},
    {"run.last": {"tool": "find"}},
    {"run.formerly": {"result": {"tool": "pay"}}},
]
"""Conditions that earlier attempts at the same call change."""

retried = st.builds(
    lambda world, rules, effects, at: replace(world, rules=rules, effects=effects, faults=FaultSchedule("kill", at)),
    worlds(),
    st.lists(
        st.tuples(
            st.sampled_from(RETRIED), st.booleans(), st.sampled_from(["deny", "approve_required", "dry_run", "allow"])
        ),
        min_size=1,
        max_size=3,
    ).filter(lambda rules: any(match is not MARKED for match, _, _ in rules)),
    st.fixed_dictionaries(dict.fromkeys(TOOLS, st.sampled_from(["unsafe", "unsafe", "idempotent", "reconciled"]))),
    st.lists(st.integers(14, 24), min_size=2, max_size=3).map(tuple),
)
"""Worlds whose workers are killed at the first calls, more than once."""


@pytest.mark.campaign
@settings(max_examples=examples(120), deadline=None)
@given(world=st.one_of(worlds(), retried, retried))
def test_every_recorded_step_is_explained_with_the_verdict_on_record(world: World, outside: Outside) -> None:
    check_explained(world, simulate(lambda stage: scenario(world, stage), world.faults, outside).records)


@pytest.mark.campaign
@settings(max_examples=examples(120), deadline=None)
@given(world=worlds())
def test_every_decision_of_a_run_is_that_of_the_slow_reading_of_its_journal(world: World, outside: Outside) -> None:
    outcome = simulate(lambda stage: scenario(world, stage), world.faults, outside)
    assert outcome.result.status == "succeeded", outcome.result
    checked = check(world, outcome.records)
    assert sum(checked[each] for each in (*PERMITS, "deny", "dry_run")) >= 2


def call(tool: str) -> tuple[str, dict[str, Any], int]:
    return tool, {"to": "ann", "n": 0, "who": {"to": "ann"}}, 1


def test_attempts_that_count_once_are_counted_at_the_last_one_live_and_after_a_resume(outside: Outside) -> None:
    windowed = {"run.count": {"of": {"tool": "find"}, "within": 10, "gt": 0}}
    kinds = dict.fromkeys(("pay", "read", "find"), "idempotent")
    world = World(
        [(windowed, False, "deny")],
        kinds,
        [{"name": "ann"}],
        [[call("find")], [call("read")]],
        1,
        FaultSchedule(),
        5,
        False,
    )
    most = 0
    for first in range(14, 22):
        for second in range(14, 22):
            killed = replace(world, faults=FaultSchedule("kill", (first, second)))
            records = simulate(partial(scenario, killed), killed.faults, outside).records
            check(killed, records)
            most = max(most, sum(each.kind == "action.intent" and each.body["step"] == 0 for each in records))
    assert most == 3


def test_a_preview_after_an_uncertain_attempt_is_not_its_result(outside: Outside) -> None:
    rules = [
        ({"run.formerly": {"result": {"tool": "find"}}}, False, "deny"),
        ({"run.count.find.gt": 0}, False, "dry_run"),
    ]
    kinds = dict.fromkeys(("pay", "read", "find"), "unsafe")
    world = World(rules, kinds, [{"name": "ann"}], [[call("find")], [call("pay")]], 1, FaultSchedule(), 5, False)
    previewed = 0
    for first in range(17, 20):
        for second in range(20, 34):
            killed = replace(world, faults=FaultSchedule("kill", (first, second)))
            records = simulate(partial(scenario, killed), killed.faults, outside).records
            check(killed, records)
            check_explained(killed, records)
            steps = [
                each.body.get("verdict") for each in records if each.kind == "action.intent" and each.body["step"] == 0
            ]
            previewed += steps[-2:] == ["allow", "dry_run"]
    assert previewed
