"""Runs whose records are written in batches, killed at points and pairs, and raced by a second worker.

At all points in campaigns, as `test_campaigns.py` does with other runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import campaign
from bobcat import FinalAnswer, Message, ToolCall
from bobcat.stores.protocol import batching
from bobcat.testing import crashsim
from crashsim import payments
from crashsim.batches import BatchingMemoryStore

Factory = Callable[..., crashsim.Scenario]
LIMIT = campaign.limit(250)
pytestmark = pytest.mark.campaign


class Thinking(payments.Payer):
    """A model that takes its time: results are written meanwhile."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        await asyncio.sleep(1)
        return await super().step(conversation)


def batched(stage: crashsim.Stage, *, scenario: Factory, agent: Any = payments.Payer) -> crashsim.Scenario:
    store = BatchingMemoryStore(clock=stage.clock)
    assert batching(store) is store
    return replace(scenario(stage), store=store, agent=agent)


AGENTS = pytest.mark.parametrize("agent", [payments.Payer, Thinking])


def clean(report: crashsim.Report) -> bool:
    total = report.check().total
    return (total.double, total.lost, total.guessed, total.not_ended, total.failed) == (0, 0, 0, 0, 0)


@AGENTS
@pytest.mark.parametrize("scenario", [payments.reconciled, payments.keyed])
def test_killed_at_pairs_of_points_nothing_is_double_lost_or_uncertain(scenario: Factory, agent: Any) -> None:
    report = crashsim.campaign(partial(batched, scenario=scenario, agent=agent), kills=2, limit=LIMIT)
    assert report.runs > (LIMIT or 400)
    assert clean(report)
    assert report.uncertain == 0


@AGENTS
def test_without_a_reconciler_every_uncertain_outcome_is_reported(agent: Any) -> None:
    report = crashsim.campaign(partial(batched, scenario=payments.unsafe, agent=agent), kills=2, limit=LIMIT)
    assert clean(report)
    uncertain = {name for row in report.rows for name in row.uncertain}
    assert uncertain == {f"pay {amount}" for amount in payments.AMOUNTS}


@AGENTS
@pytest.mark.parametrize("scenario", [payments.keyed_reconciled, payments.fenced, payments.unsafe])
def test_two_interleaved_workers_do_nothing_twice(scenario: Factory, agent: Any) -> None:
    report = crashsim.campaign(partial(batched, scenario=scenario, agent=agent), kills=0, workers=2, limit=LIMIT)
    assert report.runs > (LIMIT or 400)
    assert clean(report)


@AGENTS
def test_a_reconciler_leaves_one_window_a_worker_that_is_stopped_inside_its_tool(agent: Any) -> None:
    report = crashsim.campaign(
        partial(batched, scenario=payments.reconciled, agent=agent), kills=0, workers=2, limit=LIMIT
    )
    assert {row.places[0] for row in report.faults} == {"in pay, before it begins"}


def test_a_batch_holds_all_records_up_to_an_effect() -> None:
    instant = crashsim.replay(partial(batched, scenario=payments.keyed), "undisturbed").outcome.traces[0]
    writes = [point.place for point in instant if point.place.startswith("before store.")]
    assert writes == [
        "before store.begin",
        "before store.append run.started, model.output of step 0, action.intent of step 0",
        "before store.append action.result of step 0, model.output of step 1, action.intent of step 1",
        "before store.append action.result of step 1, model.output of step 2, action.intent of step 2",
        "before store.conclude action.result of step 2, model.output of step 3, final of step 3",
    ]


def test_a_result_is_written_while_the_model_is_asked() -> None:
    slow = crashsim.replay(partial(batched, scenario=payments.keyed, agent=Thinking), "undisturbed").outcome.traces[0]
    writes = [point.place for point in slow if point.place.startswith("before store.")]
    assert writes == [
        "before store.begin",
        "before store.append run.started",
        "before store.append model.output of step 0, action.intent of step 0",
        "before store.append action.result of step 0",
        "before store.append model.output of step 1, action.intent of step 1",
        "before store.append action.result of step 1",
        "before store.append model.output of step 2, action.intent of step 2",
        "before store.append action.result of step 2",
        "before store.conclude model.output of step 3, final of step 3",
    ]
