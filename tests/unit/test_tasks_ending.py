"""Ending tasks of one's own, and whose a cancellation is."""

from __future__ import annotations

import asyncio

import pytest

from bobcat.aio.tasks import being_cancelled, cancel_and_wait, wait_shielded


async def _slow_to_end(entered: asyncio.Event, leave: asyncio.Event) -> None:
    entered.set()
    try:
        await asyncio.sleep(60)
    finally:
        await leave.wait()


@pytest.mark.parametrize("how", [cancel_and_wait, wait_shielded])
def test_a_cancellation_of_who_waits_is_passed_on_once_the_task_is_over(how: object) -> None:
    async def main() -> None:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(_slow_to_end(entered, leave))
        await entered.wait()
        waiting = asyncio.create_task(how(task))  # type: ignore[operator]
        await asyncio.sleep(0)
        waiting.cancel()
        task.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
        leave.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert task.cancelled()
        assert waiting.cancelled()

    asyncio.run(main())


def test_the_end_of_a_task_is_no_cancellation_of_who_ends_it() -> None:
    async def main() -> None:
        await cancel_and_wait(asyncio.create_task(asyncio.sleep(60)))
        assert not being_cancelled()

    asyncio.run(main())


def test_what_a_task_raises_while_it_is_ended_comes_out() -> None:
    async def breaks() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise OSError("broken")

    async def main() -> None:
        task = asyncio.create_task(breaks())
        await asyncio.sleep(0)
        with pytest.raises(OSError, match="broken"):
            await cancel_and_wait(task)

    asyncio.run(main())


def test_a_cancelled_error_raised_by_hand_is_not_a_cancellation() -> None:
    async def main() -> None:
        try:
            raise asyncio.CancelledError
        except asyncio.CancelledError:
            assert not being_cancelled()

    asyncio.run(main())
