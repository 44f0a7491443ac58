"""A run of three payments, killed at every point and at every pair of points, and raced by a second worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import pytest

from bobcat import DuplicateRecord, FileStore, RunResult, StepRecord, compile_policy, durable_approvals
from bobcat.approvals import Approvals
from bobcat.testing import crashsim
from crashsim import payments
from crashsim.payments import AMOUNTS

Factory = Callable[[crashsim.Stage], crashsim.Scenario]
BEFORE_ITS_EFFECT = "in pay, before it begins"


@lru_cache
def report_of(scenario: Factory, kills: int, workers: int) -> crashsim.Report:
    return crashsim.campaign(scenario, kills=kills, workers=workers)  # type: ignore[arg-type]


def nothing_wrong(report: crashsim.Report) -> bool:
    total = report.check().total
    return (total.double, total.lost, total.guessed, total.not_ended, total.failed) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("scenario", [payments.reconciled, payments.keyed])
def test_killed_at_every_pair_of_points_nothing_is_double_lost_or_uncertain(scenario: Factory) -> None:
    report = report_of(scenario, 2, 1)
    assert report.runs > 30 * report.points > 1200
    assert nothing_wrong(report)
    assert report.uncertain == 0


def test_without_a_reconciler_nothing_is_double_and_every_uncertain_outcome_is_reported() -> None:
    report = report_of(payments.unsafe, 2, 1)
    assert nothing_wrong(report)
    uncertain = [row for row in report.rows if row.uncertain]
    assert {name for row in uncertain for name in row.uncertain} == {f"pay {amount}" for amount in AMOUNTS}
    assert len(uncertain) > 300


def test_only_a_crash_between_an_intent_and_its_result_is_uncertain() -> None:
    report = crashsim.campaign(payments.unsafe)
    between = {"after store.append action.intent", "in pay, ", "before store.append action.result"}
    for row in report.rows[1:]:
        assert bool(row.uncertain) == any(row.places[0].startswith(place) for place in between), row


@pytest.mark.parametrize("scenario", [payments.keyed_reconciled, payments.fenced])
def test_two_workers_at_every_interleaving_do_nothing_twice(scenario: Factory) -> None:
    report = report_of(scenario, 0, 2)
    assert report.runs > 30 * report.points > 1200
    assert nothing_wrong(report)
    assert report.uncertain == 0


def test_two_workers_do_nothing_twice_without_a_reconciler_and_every_uncertain_outcome_is_reported() -> None:
    report = report_of(payments.unsafe, 0, 2)
    assert nothing_wrong(report)
    assert report.uncertain > 0


def test_a_reconciler_leaves_one_window_a_worker_that_is_stopped_inside_its_tool() -> None:
    report = report_of(payments.reconciled, 0, 2)
    assert {row.places[0] for row in report.faults} == {BEFORE_ITS_EFFECT}
    assert report.double == len(report.faults) > 0
    assert report.lost == report.guessed == report.uncertain == report.not_ended == 0


def test_outside_of_that_window_two_workers_do_nothing_twice() -> None:
    everywhere = report_of(payments.reconciled, 0, 2)
    elsewhere = [row for row in everywhere.rows if row.places and not row.places[0].startswith("in pay")]
    assert len(elsewhere) > 1200
    assert all(row.clean and not row.uncertain for row in elsewhere)
    report = crashsim.campaign(payments.reconciled, kills=0, workers=2, stop_in_tools=False, limit=200)
    assert nothing_wrong(report)
    assert {row.schedule for row in report.rows[1:]} <= {row.schedule for row in elsewhere}


@pytest.mark.parametrize("make", [payments.sqlite, lambda stage: FileStore(stage.directory, clock=stage.clock)])
def test_stores_on_the_disk_are_simulated_too(make: Callable[[crashsim.Stage], object]) -> None:
    report = crashsim.campaign(partial(payments.reconciled, make=make))  # type: ignore[arg-type]
    batches = make is payments.sqlite
    assert batches or report.points == report_of(payments.reconciled, 2, 1).points
    batch = "run.started, model.output of step 0, action.intent"
    assert any(batch in str(row.places) for row in report.rows) is batches
    assert nothing_wrong(report)
    assert report.uncertain == 0


def test_what_a_transactional_tool_wrote_is_kept_with_its_result_or_not_at_all() -> None:
    report = crashsim.campaign(payments.transactional)
    assert nothing_wrong(report)
    assert report.uncertain == 0
    assert any("transaction, commit" in place for row in report.rows for place in row.places)


def test_two_workers_never_commit_one_payment_twice() -> None:
    report = crashsim.campaign(payments.transactional, kills=0, workers=2, limit=100).check()
    assert not report.complete
    assert report.runs == 101
    assert report.double == report.lost == report.guessed == report.not_ended == 0


def approved(stage: crashsim.Stage) -> crashsim.Scenario:
    store = stage.store(payments.memory(stage))
    return payments.unsafe(stage, lambda _: store, on_approval=durable_approvals(store))


def test_an_uncertain_outcome_suspends_the_run_where_approvals_are_durable() -> None:
    report = crashsim.campaign(approved)
    assert nothing_wrong(report)
    suspended = [row for row in report.rows if row.status == "suspended"]
    assert len(suspended) == len([row for row in report.rows if row.uncertain]) == 12
    assert all(len(row.uncertain) == 1 for row in suspended)


ASKING = compile_policy("rules: [{id: pay, match: {tool: pay}, decision: approve_required, approvers: [alice]}]")


def answered(
    stage: crashsim.Stage, tool_of: Callable[[crashsim.Stage], crashsim.Scenario] = payments.keyed
) -> crashsim.Scenario:
    """Every payment waits for alice, who answers when the run is suspended."""
    store = stage.store(payments.memory(stage))

    async def answer(result: RunResult) -> None:
        for id in result.approvals:
            if (await Approvals(store).show(id)).status == "pending":
                await Approvals(store).grant(id, approver="alice")

    made = tool_of(stage)
    return replace(made, policy=ASKING, store=store, on_approval=durable_approvals(store), answer=answer)


@pytest.mark.parametrize("tool_of", [payments.keyed, payments.reconciled])
def test_no_approval_is_lost_and_none_is_used_twice(tool_of: Factory) -> None:
    scenario = partial(answered, tool_of=tool_of)
    report = crashsim.campaign(scenario, kills=2, workers=2, stop_in_tools=False, limit=300)
    assert nothing_wrong(report)
    assert {row.status for row in report.rows} == {"succeeded"}
    undisturbed = crashsim.replay(scenario, "undisturbed").outcome
    kinds = [record.kind for record in undisturbed.records]
    assert kinds.count("run.suspended") == kinds.count("approval.granted") == len(undisturbed.effects) == 3


class TwoMethods:
    """A store without leases."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], StepRecord] = {}

    async def append(self, record: StepRecord) -> None:
        if (record.run_id, record.seq) in self.rows:
            raise DuplicateRecord("taken")
        self.rows[record.run_id, record.seq] = record

    async def load(self, run_id: str) -> list[StepRecord]:
        return [self.rows[key] for key in sorted(self.rows) if key[0] == run_id]


def test_a_store_of_two_methods_survives_a_death_and_does_not_keep_a_second_worker_out() -> None:
    def two_methods(stage: crashsim.Stage) -> crashsim.Scenario:
        return payments.reconciled(stage, lambda _: stage.store(TwoMethods(), in_place=True))

    report = crashsim.campaign(two_methods)
    assert nothing_wrong(report)
    assert report.points < report_of(payments.reconciled, 2, 1).points
    assert crashsim.campaign(two_methods, kills=0, workers=2, stop_in_tools=False, limit=300).double > 0


def test_the_table_of_the_durability_page_is_what_comes_of_it() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "durability.md").read_text(encoding="utf-8")
    rows = {
        "`unsafe`, with a reconciler": payments.reconciled,
        "`unsafe`, without": payments.unsafe,
    }
    twice = {**rows, "`keyed`": payments.keyed}
    beside = {**rows, "`keyed`, with a reconciler": payments.keyed_reconciled, "`fenced`": payments.fenced}
    for kills, workers, how, each_of in ((2, 1, "killed", twice), (0, 2, "two workers", beside)):
        for name, scenario in each_of.items():
            report = report_of(scenario, kills, workers)
            figures = (report.points, report.runs, report.double, report.lost, report.uncertain, report.guessed)
            line = f"| {name} | {how} | {' | '.join(f'{each:,}' for each in figures)} |"
            assert line in page, f"the page lacks: {line}"
