"""A worker's run pays from the ledger of its job, and gives its deltas to the receiver of the job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from bobcat import Cap, FinalAnswer, Ledger, Message, Policy, Prices, TextDelta, ToolSet, Usage
from bobcat.workers import Job, Workers
from workers.conftest import House

PRICES = Prices.from_mapping({"m": {"input": 0, "output": 10}}, date="2026-11-01")


class Writer:
    """Streams an answer of 1,000 tokens, which cost a cent."""

    model = "m"
    max_output_tokens = 1000

    async def step(self, conversation: Sequence[Message]) -> FinalAnswer:
        raise AssertionError("it streams")

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Any]:
        yield TextDelta("do")
        yield TextDelta("ne")
        yield FinalAnswer("done", Usage(0, 1000, model="m"))


def test_a_job_names_its_ledger_and_a_receiver_of_deltas(house: House) -> None:
    heard: dict[str, list[Any]] = {}
    app = Workers(max_attempts=3)

    async def main() -> None:
        async with Ledger(house.store, [Cap("tenant", usd="0.015")], prices=PRICES) as ledger:

            @app.run("write")
            def write(job: Job) -> dict[str, Any]:
                return {
                    "agent": Writer(), "task": "write", "tools": ToolSet.from_functions(),
                    "policy": Policy.compile("rules: []"), "ledger": ledger.account(tenant=job.tenant),
                    "on_delta": lambda event: heard.setdefault(job.run_id, []).append(event),
                }  # fmt: skip

            for run_id, tenant in (("r1", "acme"), ("r2", "acme"), ("r3", "other")):
                await house.jobs.enqueue("write", run_id=run_id, tenant=tenant)
                await house.work(app)
            statuses = [await house.status(run_id) for run_id in ("r1", "r2", "r3")]
            assert statuses == ["succeeded", "failed", "succeeded"]
            assert (await house.jobs.get("r2")).attempts == 1, "what cannot be paid is not tried again"
            assert "cannot be paid" in ((await house.jobs.get("r2")).error or "")
            spent = {(row.name, row.usd, row.calls) for row in await ledger.spending("run")}
            assert spent == {("r1", 10_000, 1), ("r3", 10_000, 1)}

    asyncio.run(main())
    texts = {run_id: [each.text for each in parts if isinstance(each, TextDelta)] for run_id, parts in heard.items()}
    assert {run_id: "".join(parts) for run_id, parts in texts.items()} == {"r1": "done", "r3": "done"}
