"""Simulation of time, crashes and stopped workers; refusal of everything that cannot be simulated."""

from __future__ import annotations

import asyncio
import io
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bobcat import Budget, FinalAnswer, MemoryStore, Message, ToolCall, compile_policy, run_agent, tool
from bobcat.testing import crashsim
from crashsim import payments
from crashsim.payments import scenario


class Once:
    """Calls the tool once."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        return ToolCall("act", {}) if len(conversation) == 1 else FinalAnswer(conversation[-1].content)


POLICY = compile_policy("rules: [{id: act, match: {tool: act}, decision: allow}]")


def acting(stage: crashsim.Stage, body: Callable[[], Any], effect: Any = "none", **options: Any) -> crashsim.Scenario:
    """One call of a tool that does this."""

    @tool(effect=effect)
    async def act() -> str:
        return str(await body())

    found = scenario(stage, act, **options)
    return crashsim.Scenario(
        task="act", agent=Once, tools=found.tools, policy=POLICY, store=found.store, options=found.options
    )


def test_a_tool_that_waits_takes_no_time_and_keeps_its_lease() -> None:
    def patient(stage: crashsim.Stage) -> crashsim.Scenario:
        async def wait() -> float:
            before = stage.clock.seconds
            await asyncio.sleep(500)
            return stage.clock.seconds - before

        return acting(stage, wait)

    began = time.monotonic()
    shown = crashsim.replay(patient, "undisturbed")
    assert shown.outcome.result.final_answer == "[ok] 500.0"
    renewals = [each.place for each in shown.outcome.traces[0] if each.place == "after store.renew"]
    assert len(renewals) == 51, "a lease of 30 s is renewed every ten, and before the result is written"
    assert time.monotonic() - began < 30


def test_limits_of_time_are_kept_in_simulated_time() -> None:
    def late(stage: crashsim.Stage) -> crashsim.Scenario:
        async def hang() -> None:
            await asyncio.sleep(7200)

        return acting(stage, hang, options={"budget": Budget(duration_seconds=600)})

    with pytest.raises(crashsim.SimulationError, match=r"without faults, the run ends as failed: .*600"):
        crashsim.campaign(late)


def test_what_is_left_of_a_dead_worker_does_nothing() -> None:
    ends: list[str] = []

    def clinging(stage: crashsim.Stage) -> crashsim.Scenario:
        async def cling() -> str:
            try:
                await crashsim.point("the middle")
            except asyncio.CancelledError:
                ends.append("cancelled")
            finally:
                try:
                    stage.world.happen("last words")
                finally:
                    await asyncio.sleep(1)
            return "done"

        return acting(stage, cling)

    shown = crashsim.replay(clinging, "undisturbed")
    middle = next(each.number for each in shown.outcome.traces[0] if each.place == "the middle")
    killed = crashsim.replay(clinging, f"kill@{middle}").outcome
    assert [effect.worker for effect in killed.effects] == ["worker 2"]
    assert [record.kind for record in killed.records].count("run.resumed") == 1
    assert ends == []


def test_a_death_between_two_effects_is_found_where_there_is_a_point() -> None:
    def half(point: bool) -> crashsim.Report:
        def both(stage: crashsim.Stage) -> crashsim.Scenario:
            async def both_of() -> None:
                stage.world.happen("first", once="first")
                if point:
                    await crashsim.point()
                stage.world.happen("second", once="second")

            return acting(stage, both_of, "unsafe")

        return crashsim.campaign(both)

    assert half(point=True).points == half(point=False).points + 1
    torn = [row for row in half(point=True).rows if row.places == ("crashsim.point()",)]
    assert [row.uncertain for row in torn] == [("first + second",)]


def test_outside_of_a_simulation_a_point_is_nothing() -> None:
    async def main() -> int:
        await crashsim.point("here")
        return 7

    assert asyncio.run(main()) == 7


def test_threads_of_asyncio_are_run_in_place() -> None:
    def threaded(stage: crashsim.Stage) -> crashsim.Scenario:
        async def work() -> str:
            return await asyncio.to_thread(lambda: "worked")

        return acting(stage, work)

    assert crashsim.replay(threaded, "undisturbed").outcome.result.final_answer == "[ok] worked"
    assert crashsim.campaign(threaded).check().runs > 20


def test_tasks_of_a_tool_are_stopped_and_killed_with_their_worker() -> None:
    def busy(stage: crashsim.Stage) -> crashsim.Scenario:
        async def several() -> str:
            async def one(name: str) -> None:
                await asyncio.sleep(1)
                stage.world.happen(name, once=name)

            async with asyncio.TaskGroup() as group:
                for name in "abc":
                    group.create_task(one(name))
            return "done"

        return acting(stage, several, "idempotent")

    report = crashsim.campaign(busy, kills=1, workers=2, limit=400).check()
    assert report.double == report.lost == 0
    assert report.points > 30


def test_every_run_can_be_had_again() -> None:
    first, second = (crashsim.campaign(payments.unsafe, kills=2, workers=2, limit=150, seed=3) for _ in range(2))
    assert first == second
    other = crashsim.campaign(payments.unsafe, kills=2, workers=2, limit=150, seed=4)
    assert other != first
    assert len(other.rows) == len(first.rows) == 151
    chosen = [row for row in first.rows if row.uncertain][-3:]
    assert [crashsim.replay(payments.unsafe, row.schedule).row for row in chosen] == chosen


def test_a_replay_shows_every_step_and_what_came_of_it() -> None:
    text = str(crashsim.replay(payments.reconciled, "stop@16+22"))
    assert "  stopped at 16: in pay, before it begins\nworker 2" in text
    assert "  stopped at 22: in pay, before it begins\nwhat happened\n" in text
    assert "  pay 10, by worker 1\n  pay 10, by worker 2\n" in text
    assert text.endswith("stop@16+22: succeeded\n  double: pay 10")


@pytest.mark.parametrize("text", ["", "kill", "kill@0", "kill@1+2+3", "stop@x", "pause@3"])
def test_an_invalid_schedule_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid schedule .*: write kill@12, kill@12\+7, stop@12"):
        crashsim.replay(payments.keyed, text)


def test_a_scenario_that_is_not_the_same_twice_is_refused() -> None:
    seen: list[int] = []

    def other_points(stage: crashsim.Stage) -> crashsim.Scenario:
        seen.append(1)

        async def more() -> None:
            for _ in seen:
                await crashsim.point("again")

        return acting(stage, more)

    with pytest.raises(crashsim.SimulationError, match=r"not deterministic: point .* was .*, then again"):
        crashsim.campaign(other_points)

    def other_effects(stage: crashsim.Stage) -> crashsim.Scenario:
        seen.append(1)

        async def other() -> None:
            stage.world.happen("act", len(seen))

        return acting(stage, other)

    with pytest.raises(crashsim.SimulationError, match="not deterministic: without faults, it had 1 × act"):
        crashsim.campaign(other_effects)


def test_a_run_that_never_ends_is_reported() -> None:
    def waiting(stage: crashsim.Stage) -> crashsim.Scenario:
        async def wait() -> None:
            await asyncio.get_running_loop().create_future()

        return acting(stage, wait, options={"budget": Budget(duration_seconds=None)})

    with pytest.raises(crashsim.SimulationError, match=r"never occurs, at .*wait"):
        crashsim.campaign(waiting)

    class Chatter(Once):
        async def step(self, conversation: Sequence[Message]) -> ToolCall:
            return ToolCall("act", {})

    def endless(stage: crashsim.Stage) -> crashsim.Scenario:
        async def nothing() -> None: ...

        found = acting(stage, nothing)
        return crashsim.Scenario(
            task="act", agent=Chatter, tools=found.tools, policy=POLICY, store=found.store,
            options={"budget": Budget(steps=None)},
        )  # fmt: skip

    with pytest.raises(crashsim.SimulationError, match="has not ended: is its run bounded"):
        crashsim.campaign(endless)


@pytest.mark.parametrize(
    "reach",
    [
        lambda: asyncio.open_connection("localhost", 1),
        lambda: asyncio.create_subprocess_exec("true"),
        lambda: asyncio.get_running_loop().getaddrinfo("localhost", 1),
    ],
)
def test_the_world_outside_is_refused(reach: Callable[[], Any]) -> None:
    with pytest.raises(crashsim.SimulationError, match=r"was called in a simulation, which has no sockets"):
        crashsim.campaign(lambda stage: acting(stage, reach))


def test_what_a_scenario_raises_comes_through() -> None:
    def broken(stage: crashsim.Stage) -> crashsim.Scenario:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        crashsim.campaign(broken)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"kills": 3}, "kills must be 0, 1 or 2 and workers 1 or 2, got kills=3"),
        ({"workers": 0}, "got kills=1 and workers=0"),
        ({"limit": 0}, "limit must be at least 1, got 0"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        crashsim.campaign(payments.keyed, **options)


def test_progress_is_reported_after_every_run() -> None:
    reported: list[crashsim.Progress] = []
    report = crashsim.campaign(payments.keyed, workers=2, limit=60, progress=reported.append)
    assert [each.phase for each in reported] == ["killed once"] * report.points + ["stopped"] * (60 - report.points)
    assert [each.done for each in reported[: report.points]] == list(range(1, report.points + 1))
    assert {each.total for each in reported[: report.points]} == {report.points}
    assert {each.faults for each in reported} == {0}


def test_a_simulated_store_is_of_no_use_elsewhere() -> None:
    kept: list[Any] = []

    def leaking(stage: crashsim.Stage) -> crashsim.Scenario:
        kept.append(stage.store(MemoryStore(clock=stage.clock)))
        return payments.keyed(stage)

    crashsim.campaign(leaking, kills=0)
    with pytest.raises(crashsim.SimulationError, match="outside of its simulation"):
        asyncio.run(kept[0].load("r"))


def test_points_change_nothing_about_a_run() -> None:
    stages: list[crashsim.Stage] = []

    def seen(stage: crashsim.Stage) -> crashsim.Scenario:
        stages.append(stage)
        return payments.keyed(stage)

    simulated = crashsim.replay(seen, "undisturbed").outcome
    given = payments.keyed(stages[0])
    store = MemoryStore()

    async def plain() -> Any:
        await run_agent(
            given.agent(), given.task, tools=given.tools, policy=given.policy, store=store, run_id="simulated"  # type: ignore[arg-type]
        )  # fmt: skip
        return await store.load("simulated")

    records = asyncio.run(plain())
    assert [(each.kind, each.idempotency_key) for each in records] == [
        (each.kind, each.idempotency_key) for each in simulated.records
    ]
    assert records[0].body["binding"] == simulated.records[0].body["binding"] | {"agent": "Payer"}


def test_a_policy_and_the_journal_see_simulated_time() -> None:
    policy = compile_policy(
        "rules: [{id: act, match: {tool: act, context.timestamp.ge: '2030-01-01T00:01:00Z'}, decision: allow}]"
    )

    class Later(Once):
        async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
            await asyncio.sleep(60)
            return await super().step(conversation)

    def dated(stage: crashsim.Stage) -> crashsim.Scenario:
        async def nothing() -> str:
            return stage.clock().isoformat()

        found = acting(stage, nothing)
        return crashsim.Scenario(task="act", agent=Later, tools=found.tools, policy=policy, store=found.store)

    first, second = (crashsim.replay(dated, "undisturbed").outcome for _ in range(2))
    assert first.result.final_answer == "[ok] 2030-01-01T00:01:00+00:00"
    assert [record.timestamp for record in first.records] == [record.timestamp for record in second.records]
    assert {(record.timestamp - first.records[0].timestamp).total_seconds() for record in first.records} == {0, 60, 120}


def test_a_bar_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    report = crashsim.campaign(payments.reconciled, kills=1, workers=2, limit=96)
    assert report.double == 3
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert re.search(r"killed once\W* (\d+)/\1\b", shown)
    assert re.search(r"stopped\W* (\d+)/\1\b.*3 with faults", shown)
