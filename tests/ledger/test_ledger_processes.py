"""Processes, twenty in a campaign, never pass a cap together, and what a killed process had reserved stays spent."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

import campaign
from bobcat import Cap, Ledger, LedgerError
from ledger.awaited import awaited

SPENDER = str(Path(__file__).with_name("spender.py"))
CAP = [Cap("tenant", usd=200)]
PROCESSES, ROUNDS = (20, 20) if campaign.SIZE else (6, 20)
MICRO = 1_000_000


def start(place: str, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, SPENDER, place, mode], stdout=subprocess.PIPE, text=True)


@awaited
async def test_processes_never_pass_the_cap_together(place: str) -> None:
    async with Ledger(place, CAP) as ledger:
        started = [start(place, str(ROUNDS)) for _ in range(PROCESSES)]
        samples = []
        while any(each.poll() is None for each in started):
            (balance,) = await ledger.balances(tenant="acme")
            samples.append(balance.spent + balance.reserved)
            await asyncio.sleep(0.002)
        made = [int(each.communicate()[0]) for each in started]
        assert [each.returncode for each in started] == [0] * PROCESSES
        assert max(samples) <= 200 * MICRO
        assert max(samples) >= 150 * MICRO, "the reservations were seen"
        assert sum(made) >= 5, "calls were made"
        (balance,) = await ledger.balances(tenant="acme")
        (spending,) = await ledger.spending("tenant")
        assert balance.reserved == 0
        assert balance.spent == spending.usd
        assert 0 < balance.spent <= 200 * MICRO
        assert await ledger.unsettled() == []


@awaited
async def test_a_process_that_is_killed_after_the_reply_has_spent_its_reservation(place: str) -> None:
    process = start(place, "kill")
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == ("replied\n", -9)
    async with Ledger(place, CAP) as ledger:
        with pytest.raises(LedgerError) as refused:
            await ledger.reserve(usd=51, tenant="acme")
        error = refused.value
        assert (error.code, error.reserved, error.asked) == ("exhausted", 150 * MICRO, 51 * MICRO)
        (left,) = await ledger.unsettled()
        assert (left.run, left.usd) == ("killed", 150 * MICRO)
        await ledger.commit(left.id, usd=3)
        await ledger.reserve(usd=51, tenant="acme")


@awaited
async def test_processes_with_other_caps_count_for_each_other(place: str) -> None:
    async with Ledger(place, CAP) as early, Ledger(place, [Cap("day", usd=100, by="tenant")]) as other:
        held = await early.reserve(usd=60, tenant="acme")
        await early.commit(await early.reserve(usd=30, tenant="acme"), usd=30)
        async with Ledger(place, [Cap("day", usd=100, by="tenant"), Cap("thread", usd=5)]) as late:
            for ledger in (other, late):
                (balance, *_) = await ledger.balances(tenant="acme", thread="t")
                assert (balance.spent, balance.reserved) == (30 * MICRO, 60 * MICRO)
            await early.release(held)
            (balance, *_) = await late.balances(tenant="acme", thread="t")
            assert (balance.spent, balance.reserved) == (30 * MICRO, 0)
            with pytest.raises(LedgerError, match="no room"):
                await other.reserve(usd=71, tenant="acme")


@awaited
async def test_a_cancelled_reservation_is_given_back(place: str) -> None:
    async with Ledger(place, CAP) as ledger:
        for delay in (0.0, 0.0005, 0.002, 0.01):
            task = asyncio.create_task(ledger.reserve(usd=1, tenant="acme"))
            await asyncio.sleep(delay)
            task.cancel()
            done = await asyncio.gather(task, return_exceptions=True)
            if not isinstance(done[0], BaseException):
                await ledger.release(done[0])
        assert await ledger.unsettled() == []
        (balance,) = await ledger.balances(tenant="acme")
        assert balance.remaining == 200 * MICRO


@awaited
async def test_threads_of_one_process_share_a_ledger(place: str) -> None:
    async with Ledger(place, [Cap("run", tokens=50)]) as ledger:

        async def one() -> bool:
            try:
                await ledger.reserve(model="gpt-5", output_tokens=10, run="r")
            except LedgerError:
                return False
            return True

        began = time.monotonic()
        assert sum(await asyncio.gather(*[one() for _ in range(20)])) == 5
        assert time.monotonic() - began < 30
