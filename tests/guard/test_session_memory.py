"""The memory of a session: several submissions, processes and restarts remember together."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat import ApprovalDecision, Guard, MemoryStore, Policy, tool
from guard.session_policies import ASKED, CAPPED, SOURCED

PAYER = Path(__file__).with_name("session_payer.py")


@tool()
async def pay(amount: int) -> str:
    await asyncio.sleep(0)
    return "paid"


@tool(effect="none")
async def search(name: str) -> dict[str, str]:
    return {"email": f"{name.lower()}@corp.example"}


@tool()
async def mail(to: str) -> str:
    return "sent"


def test_submissions_of_one_guard_count_together_also_at_the_same_time() -> None:
    async def main() -> list[str]:
        async with Guard(CAPPED, [pay]) as guard:
            outcomes = await asyncio.gather(*(guard.submit("pay", {"amount": 1}) for _ in range(25)))
            other = await guard.check("pay", {"amount": 1})
            assert other.status == "denied"
        async with Guard(CAPPED, [pay]) as guard:
            assert (await guard.submit("pay", {"amount": 1})).status == "ok", "another session"
        return [each.status for each in outcomes]

    found = asyncio.run(main())
    assert (found.count("ok"), found.count("denied")) == (10, 15)


def test_a_check_counts_and_records_nothing() -> None:
    async def main() -> None:
        store = MemoryStore()
        async with Guard(CAPPED, [pay], store=store) as guard:
            for _ in range(20):
                assert (await guard.check("pay", {"amount": 1})).status == "ok"
            assert not await store.runs()
            assert (await guard.submit("pay", {"amount": 1})).status == "ok"

    asyncio.run(main())


def test_results_are_sources_for_later_submissions() -> None:
    async def main() -> list[str]:
        async with Guard(SOURCED, [search, mail], task="ask Ann; copy boss@corp.example") as guard:
            calls: list[tuple[str, dict[str, Any]]] = [
                ("mail", {"to": "boss@corp.example"}),
                ("mail", {"to": "ann@corp.example"}),
                ("search", {"name": "Ann"}),
                ("mail", {"to": "ann@corp.example"}),
                ("search", {"name": "Eve"}),
                ("mail", {"to": "eve@corp.example"}),
            ]
            return [(await guard.submit(*each)).status for each in calls]

    assert asyncio.run(main()) == ["ok", "denied", "ok", "ok", "ok", "denied"]


def test_a_session_goes_on_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'guard.db'}"

    async def submit(session: str, *calls: tuple[str, dict[str, Any]]) -> list[str]:
        async with Guard(SOURCED, [search, mail], task="ask Ann", store=store, session=session) as guard:
            return [(await guard.submit(*each)).status for each in calls]

    assert asyncio.run(submit("a", ("search", {"name": "Ann"}))) == ["ok"]
    assert asyncio.run(submit("a", ("mail", {"to": "ann@corp.example"}))) == ["ok"]
    assert asyncio.run(submit("b", ("mail", {"to": "ann@corp.example"}))) == ["denied"]


@pytest.mark.parametrize("granted", [True, False])
def test_a_call_that_waits_for_an_approval_counts_until_it_is_refused(granted: bool) -> None:
    async def main() -> tuple[str, str, str]:
        answer = asyncio.Event()

        async def approve(_: object) -> ApprovalDecision:
            await answer.wait()
            return ApprovalDecision(granted, "alice", "no")

        async with Guard(ASKED, [pay], on_approval=approve) as guard:
            first = asyncio.create_task(guard.submit("pay", {"amount": 1}))
            await asyncio.sleep(0.05)
            second = await guard.submit("pay", {"amount": 2})
            answer.set()
            done = await first
            third = await guard.submit("pay", {"amount": 3})
            return done.status, second.status, third.status

    expected = ("ok", "denied", "denied") if granted else ("denied", "denied", "denied")
    found = asyncio.run(main())
    assert found[:2] == expected[:2]
    # A refused call counts no longer: the third is asked, and refused by the approver, too.
    assert found[2] == "denied"


def test_a_refused_call_makes_room(tmp_path: Path) -> None:
    async def main() -> list[str]:
        answers = [False, True, True]

        async def approve(_: object) -> ApprovalDecision:
            return ApprovalDecision(answers.pop(0), "alice", "no")

        async with Guard(ASKED, [pay], on_approval=approve) as guard:
            return [(await guard.submit("pay", {"amount": each})).status for each in (1, 2, 3)]

    assert asyncio.run(main()) == ["denied", "ok", "denied"]


class Broken(MemoryStore):
    """Fails to read and to write the journal of the session."""

    broken = False

    async def append(self, record: Any) -> None:
        if self.broken and record.run_id.startswith("session:"):
            raise OSError("no space left")
        await super().append(record)


def test_a_session_that_cannot_be_recorded_permits_nothing() -> None:
    async def main() -> None:
        store = Broken()
        async with Guard(CAPPED, [pay], store=store, session="s") as guard:
            store.broken = True
            outcome = await guard.submit("pay", {"amount": 1})
            assert outcome.status == "denied"
            assert "the shared memory cannot be used" in (outcome.error or "")
            store.broken = False
            assert (await guard.submit("pay", {"amount": 1})).status == "ok"

    asyncio.run(main())


def test_processes_of_one_session_never_pass_its_cap_together(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'guard.db'}"
    command = [sys.executable, str(PAYER), store, "shared", "8"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = "".join(each.communicate(timeout=120)[0] for each in running).split()
    assert [each.returncode for each in running] == [0, 0, 0]
    assert (found.count("ok"), found.count("denied")) == (10, 14)


def test_an_invalid_task_or_session_is_refused() -> None:
    with pytest.raises(TypeError, match="task must be a non-empty string, got ''"):
        Guard(CAPPED, [pay], task="")
    with pytest.raises(TypeError, match="session must be a non-empty string, got 5"):
        Guard(CAPPED, [pay], session=5)  # type: ignore[arg-type]


def test_a_count_does_not_make_an_uncertain_unsafe_retry_run_without_an_approval() -> None:
    policy = Policy.compile("rules: [{id: pay, match: {tool: pay, run.count.pay.lt: 2}, decision: allow}]")

    class Lossy(MemoryStore):
        lost = True

        async def append_group(self, records: Any, lease: Any) -> None:
            self._lose(records)
            await super().append_group(records, lease)

        async def append_fenced(self, record: Any, lease: Any) -> None:
            self._lose([record])
            await super().append_fenced(record, lease)

        def _lose(self, records: Any) -> None:
            if self.lost and any(record.kind == "action.result" for record in records):
                raise OSError("no space left")

    async def main() -> tuple[int, list[str]]:
        paid, store = 0, Lossy()

        @tool(effect="unsafe")
        async def pay(amount: int) -> str:
            nonlocal paid
            paid += 1
            return "paid"

        async with Guard(policy, [pay], store=store, session="s") as guard:
            first = await guard.submit("pay", {"amount": 1}, key="k")
            store.lost = False
            again = await guard.resume(first.record_id)
        return paid, [first.status, again.status]

    paid, statuses = asyncio.run(main())
    assert paid == 1
    assert statuses == ["uncertain", "waiting"] or statuses == ["uncertain", "denied"]
