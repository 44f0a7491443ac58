"""Random programs of workers on a queue, beside a model: one owner, fair order, counted attempts, final ends.

A program queues runs, claims them, completes, suspends and answers them, cancels them, kills workers, and lets time
pass. Time is simulated: see `simulated_time`.
"""

from __future__ import annotations

import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import campaign
from bobcat.errors import JobError
from bobcat.stores.protocol import Lease, LeaseLost, QueueEntry, StatusConflict
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.workers import Jobs
from stores.simulated_time import SimulatedStores

LEASE = 1000.0
EXAMPLES = {"memory": 40, "sqlite": 12, "file": 8, "postgres": 6, "redis": 8}
FINAL = ("succeeded", "failed", "cancelled")
TENANTS = ("", "a", "b", "c")


@dataclass(slots=True)
class Known:
    """A run as the model has it. Times are seconds since the program began."""

    run_id: str
    tenant: str
    priority: int
    run_at: float
    place: int
    status: str = "queued"
    attempts: int = 0
    lease: Lease | None = None
    ends: float = 0.0
    lost: list[Lease] = field(default_factory=list)


class Programs(RuleBasedStateMachine):
    """Programs on one store of a kind."""

    stores: SimulatedStores

    def __init__(self) -> None:
        super().__init__()
        self.store = self.stores.store()
        self.label = uuid.uuid4().hex[:10]
        self.kind = f"kind-{self.label}"
        self.jobs = Jobs(self.store)
        self.time = 0.0
        self.places = count()
        self.runs: list[Known] = []
        self.waited: dict[str, Counter[str]] = {}
        """For each tenant that waits, the runs that others were given meanwhile."""

    def do(self, call: Any) -> Any:
        return self.stores.run(call)

    def running(self) -> list[Known]:
        return [run for run in self.runs if run.status == "running"]

    def due(self) -> list[Known]:
        return [run for run in self.runs if run.status == "queued" and run.run_at <= self.time]

    def dead(self) -> list[Known]:
        return [run for run in self.running() if run.ends <= self.time]

    @rule(tenant=st.sampled_from(TENANTS), priority=st.sampled_from((0, 0, 5)), after=st.sampled_from((0, 0, 0, 1500)))
    def enqueue(self, tenant: str, priority: int, after: int) -> None:
        run_id = f"{self.label}-{len(self.runs)}"
        name = f"{tenant}-{self.label}" if tenant else ""
        moment = self.do(self.store.now()) + timedelta(seconds=after - 1)
        self.do(self.jobs.enqueue(self.kind, run_id=run_id, tenant=name, priority=priority, run_at=moment))
        self.runs.append(Known(run_id, name, priority, self.time + after - 1, next(self.places)))

    @rule(version=st.sampled_from(("", "v1")))
    def claim(self, version: str) -> None:
        request = ClaimRequest({self.kind: None}, version=version)
        claim: Claim | None = self.do(self.store.claim(uuid.uuid4().hex, request, seconds=LEASE))
        dead, due = self.dead(), self.due()
        if claim is None:
            assert not dead
            assert not due
            return
        (run,) = [run for run in self.runs if run.run_id == claim.lease.run_id]
        if claim.taken_over:
            assert run in dead, f"{run} was taken over"
            assert run.lease is not None
            assert claim.lease.fence > run.lease.fence
            run.lost.append(run.lease)
        else:
            assert not dead, f"{run} was taken before the runs of dead workers"
            assert run in due, f"{run} was taken"
            self.check_order(run, due)
        run.status, run.lease, run.ends = "running", claim.lease, self.time + LEASE
        run.attempts += 1
        assert claim.entry.attempts == run.attempts

    def check_order(self, taken: Known, due: list[Known]) -> None:
        """Within the tenant the first one is taken, and no tenant waits for more than two runs of another one."""
        best = min(
            (run for run in due if run.tenant == taken.tenant), key=lambda run: (-run.priority, run.run_at, run.place)
        )
        assert taken is best, f"{taken} was taken before {best}"
        waiting = {run.tenant for run in due}
        self.waited = {tenant: self.waited.get(tenant, Counter()) for tenant in waiting - {taken.tenant}}
        for tenant, others in self.waited.items():
            others[taken.tenant] += 1
            assert others[taken.tenant] <= 2, f"{tenant!r} waits, and {taken.tenant!r} got {others[taken.tenant]} runs"

    @precondition(lambda self: self.running())
    @rule(data=st.data(), status=st.sampled_from(("succeeded", "failed", "suspended")))
    def end(self, data: st.DataObject, status: Any) -> None:
        run = data.draw(st.sampled_from(self.running()))
        assert run.lease is not None
        if run.ends <= self.time:
            with pytest.raises(LeaseLost):
                self.do(self.store.set_status(run.run_id, status, lease=run.lease))
            return
        self.do(self.store.set_status(run.run_id, status, lease=run.lease))
        self.do(self.store.release(run.lease))
        run.status = status
        run.attempts -= status != "failed"

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self.running()))
        assert run.lease is not None
        run.lease = self.do(self.store.renew(run.lease, seconds=LEASE))
        run.ends = self.time + LEASE

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def try_again(self, data: st.DataObject) -> None:
        """A worker that is alive queues its run again, for later."""
        run = data.draw(st.sampled_from(self.running()))
        assert run.lease is not None
        if run.ends <= self.time:
            return
        moment = self.do(self.store.now()) + timedelta(seconds=500)
        entry = QueueEntry(self.kind, moment, run.tenant, run.priority, run.attempts)
        with pytest.raises(StatusConflict):
            self.do(self.store.queue(run.run_id, entry, expected=("running",), owner="another"))
        self.do(self.store.queue(run.run_id, entry, expected=("running",), owner=run.lease.owner))
        run.status, run.run_at, run.place = "queued", self.time + 500, next(self.places)

    @precondition(lambda self: any(run.status == "suspended" for run in self.runs))
    @rule(data=st.data())
    def grant(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from([run for run in self.runs if run.status == "suspended"]))
        self.do(self.store.set_status(run.run_id, "queued", expected=("suspended",)))
        run.status = "queued"

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self.runs))
        alive = run.status == "running" and run.ends > self.time
        if run.status in ("succeeded", "cancelled"):
            with pytest.raises(JobError, match="is over"):
                self.do(self.jobs.cancel(run.run_id))
        elif not alive:
            self.do(self.jobs.cancel(run.run_id))
            if run.status == "running" and run.lease is not None:
                run.lost.append(run.lease)
                run.attempts -= 1
            run.status = "cancelled"

    @rule(seconds=st.sampled_from((200.0, 700.0, 1600.0)))
    def let_time_pass(self, seconds: float) -> None:
        """Workers that do not renew meanwhile are dead afterwards, as if they had been killed."""
        self.stores.advance(seconds)
        self.time += seconds

    @invariant()
    def only_the_last_owner_writes(self) -> None:
        for run in self.runs:
            for lease in run.lost[-1:]:
                with pytest.raises(LeaseLost):
                    self.do(self.store.renew(lease, seconds=LEASE))

    @invariant()
    def the_store_agrees(self) -> None:
        for run in self.runs:
            found = self.do(self.store.run(run.run_id))
            assert (found.status, found.queue.attempts) == (run.status, run.attempts), run
            assert found.held is (run.status == "running" and run.ends > self.time), run
            if run.status in FINAL:
                with suppress(StatusConflict):
                    entry = replace(found.queue, priority=9)
                    self.do(self.store.queue(run.run_id, entry, expected=("queued", "running", "suspended")))
                    pytest.fail(f"{run} was queued again")

    def teardown(self) -> None:
        self.stores.end(self.store)


@pytest.mark.parametrize("kind", list(EXAMPLES))
@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_programs_of_workers_keep_the_order_and_the_owners(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    stores = SimulatedStores(kind, tmp_path, request)
    machine = type("ProgramsOnStore", (Programs,), {"stores": stores})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=campaign.examples(EXAMPLES[kind]),
                stateful_step_count=40,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        stores.close()
