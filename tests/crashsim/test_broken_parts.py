"""A campaign can fail: tools, reconcilers and stores that are broken in one way each, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from bobcat import Happened, MemoryStore, NotHappened, StepRecord, tool
from bobcat.stores.protocol import Lease
from bobcat.testing import crashsim
from crashsim import payments
from crashsim.payments import scenario


def not_idempotent(stage: crashsim.Stage) -> crashsim.Scenario:
    """Declared idempotent, and every time is another payment."""

    @tool(effect="idempotent")
    async def pay(amount: int) -> str:
        stage.world.happen("pay", amount)
        return "paid"

    return scenario(stage, pay)


def keyless(stage: crashsim.Stage) -> crashsim.Scenario:
    """Declared keyed, and the bank does not get the key."""

    @tool(effect="keyed")
    async def pay(amount: int, idempotency_key: str) -> str:
        stage.world.happen("pay", amount)
        return "paid"

    return scenario(stage, pay)


def made_up_keys(stage: crashsim.Stage) -> crashsim.Scenario:
    """Declared keyed, and every attempt has a key of its own."""

    @tool(effect="keyed")
    async def pay(amount: int, idempotency_key: str) -> str:
        stage.world.happen("pay", amount, once=f"{idempotency_key}{len(stage.world.effects)}{stage.clock()}")
        return "paid"

    return scenario(stage, pay)


def denying(stage: crashsim.Stage) -> crashsim.Scenario:
    """The reconciler says that nothing ever happened."""

    @tool(effect="unsafe")
    async def pay(amount: int) -> str:
        stage.world.happen("pay", amount)
        return "paid"

    @pay.reconcile  # type: ignore[attr-defined, untyped-decorator]
    async def did_pay(key: str, args: Mapping[str, Any]) -> NotHappened:
        return NotHappened()

    return scenario(stage, pay)


class Buffered(MemoryStore):
    """Acknowledges a record before it is kept: the last one is lost with its worker."""

    held: StepRecord | None = None

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        self.held = None
        return await super().acquire(run_id, owner=owner, seconds=seconds)

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        held, self.held = self.held, record
        if held is not None:
            await super().append_fenced(held, lease)

    async def release(self, lease: Lease) -> None:
        if self.held is not None:
            await super().append_fenced(self.held, lease)
        await super().release(lease)


def buffered(stage: crashsim.Stage) -> crashsim.Scenario:
    return payments.unsafe(stage, lambda _: Buffered(clock=stage.clock))


@pytest.mark.parametrize("broken", [not_idempotent, keyless, made_up_keys, denying, buffered])
def test_what_is_done_twice_is_found_by_one_death(broken: Callable[[crashsim.Stage], crashsim.Scenario]) -> None:
    report = crashsim.campaign(broken)
    assert report.double > 0
    assert all(row.places for row in report.rows if row.double)
    with pytest.raises(crashsim.CrashSimError, match=r"kill@\d+: .*double pay 10") as found:
        report.check()
    assert found.value.report is report
    assert f"print(crashsim.replay({broken.__name__}, 'kill@" in str(found.value)


def test_a_payment_that_is_taken_for_done_and_was_not_is_lost() -> None:
    def agreeing(stage: crashsim.Stage) -> crashsim.Scenario:
        @tool(effect="unsafe")
        async def pay(amount: int) -> str:
            stage.world.happen("pay", amount)
            return "paid"

        @pay.reconcile  # type: ignore[attr-defined, untyped-decorator]
        async def did_pay(key: str, args: Mapping[str, Any]) -> Happened:
            return Happened("paid")

        return scenario(stage, pay)

    report = crashsim.campaign(agreeing)
    assert report.double == 0
    assert {row.places[0] for row in report.rows if row.lost} == {
        *(f"after store.append action.intent of step {step}" for step in range(3)),
        "in pay, before it begins",
    }
    with pytest.raises(crashsim.CrashSimError, match="lost pay 10"):
        report.check()


def test_a_payment_that_is_taken_for_failed_and_was_made_is_guessed() -> None:
    def gives_up(stage: crashsim.Stage) -> crashsim.Scenario:
        @tool(effect="unsafe")
        async def pay(amount: int) -> str:
            if stage.world.happened("pay", amount):
                raise RuntimeError("the bank refuses a second one")
            stage.world.happen("pay", amount)
            return "paid"

        @pay.reconcile  # type: ignore[attr-defined, untyped-decorator]
        async def did_pay(key: str, args: Mapping[str, Any]) -> NotHappened:
            return NotHappened()

        return scenario(stage, pay)

    report = crashsim.campaign(gives_up)
    assert report.double == report.lost == 0
    assert {row.places[0] for row in report.rows if row.guessed} == {
        *(f"before store.append action.result of step {step}" for step in range(3)),
        "in pay, after its end",
    }
    with pytest.raises(crashsim.CrashSimError, match="guessed pay 10"):
        report.check()


class Unfenced(MemoryStore):
    """Ignores the fence: a worker that lost the run can continue."""

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        await self.append(record)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        state = self._state(lease.run_id)
        return await super().renew(replace(lease, fence=state.fence, owner=state.owner or ""), seconds=seconds)


class NeverBusy(MemoryStore):
    """Gives the run to everybody, under one fence."""

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        return await super().acquire(run_id, owner="everybody", seconds=seconds)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        return lease

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        await self.append(record)


@pytest.mark.parametrize("store", [Unfenced, NeverBusy])
def test_a_store_that_does_not_fence_is_found_by_two_workers(store: type[MemoryStore]) -> None:
    def open_to_all(stage: crashsim.Stage) -> crashsim.Scenario:
        return payments.reconciled(stage, lambda _: store(clock=stage.clock))

    assert crashsim.campaign(open_to_all).check().double == 0
    report = crashsim.campaign(open_to_all, kills=0, workers=2, stop_in_tools=False, limit=300)
    assert report.double > 0


def test_a_runner_that_guesses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.runtime.step.find_uncertain", lambda run, step, tool: None)
    report = crashsim.campaign(payments.unsafe)
    assert report.double == 6
    assert report.uncertain == 0


def test_a_runner_that_goes_on_without_its_lease_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def trusting(self: Any) -> None:
        return None

    monkeypatch.setattr("bobcat.runtime.lease.LeaseKeeper.ensure_valid", trusting)
    report = crashsim.campaign(payments.reconciled, kills=0, workers=2, stop_in_tools=False, limit=300)
    assert {row.places[0] for row in report.rows if row.double} == {
        f"after store.append action.intent of step {step}" for step in range(3)
    }


class Forgetful(MemoryStore):
    """Loses the first record of a run when its lease changes hands."""

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        self._runs.get(run_id, {}).pop(0, None)
        return await super().acquire(run_id, owner=owner, seconds=seconds)


def test_a_run_that_cannot_go_on_is_reported() -> None:
    report = crashsim.campaign(lambda stage: payments.reconciled(stage, lambda _: Forgetful(clock=stage.clock)))
    assert report.not_ended > 0
    assert report.double == 0
    with pytest.raises(crashsim.CrashSimError, match="failed: journal refused: "):
        report.check()
