"""The pages of `bobcat ui`: runs, timelines, approvals and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import FinalAnswer, MemoryStore
from bobcat.stores.protocol import DurableStore
from bobcat.ui import run_pages
from bobcat.workers import Jobs
from kernel.scripted import Tools, call
from ui.console import Browser, send, served, suspended

ATTACK = "<script>alert(1)</script>\"'\x1b[2J\u202e"
Work = Callable[[DurableStore, Browser], Awaitable[Any]]


def on_store(work: Work, *, answers: bool = True) -> Any:
    async def main() -> Any:
        store = MemoryStore()
        async with served(store, answers=answers) as browser:
            return await work(store, browser)

    return asyncio.run(main())


def test_a_grant_lets_the_run_go_on() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        tools = Tools()
        asked = (await suspended(store, call("restart", targets=["web"]), tools=tools)).result.approvals[0]
        alice = await browser.of("alice")
        page = await alice.get(f"/approvals/{asked}")
        for shown in ("restarts are checked", "targets: [&quot;web&quot;]", "You answer as <b>alice</b>", "step 0"):
            assert shown in page.text
        sent = await send(alice, page, "grant", reason="known customer")
        assert (sent.status_code, sent.headers["location"]) == (303, f"/approvals/{asked}?answered=1")
        after = await alice.get(sent.headers["location"])
        assert "granted by alice; run r-1 is suspended and was never queued" in after.text
        assert "known customer" in after.text
        assert 'id="grant"' not in after.text
        done = await suspended(store, FinalAnswer("ok"), tools=tools)
        assert done.result.outcome == "succeeded"

    on_store(work)


def test_a_denial_reaches_the_model_with_its_reason() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        asked = (await suspended(store)).result.approvals[0]
        bob = await browser.of("bob")
        page = await bob.get(f"/approvals/{asked}")
        assert (await send(bob, page, "deny", reason="not today")).status_code == 303
        done = await suspended(store, FinalAnswer("ok"))
        assert "not today" in done.tool_messages[-1]
        run = (await bob.get("/run?id=r-1")).text
        assert "denied" in run
        assert "&lt;b&gt;web&lt;/b&gt;" in run

    on_store(work)


def test_of_two_answers_one_counts_and_the_other_is_refused_with_the_reason() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        asked = (await suspended(store)).result.approvals[0]
        alice, bob = await browser.of("alice"), await browser.of("bob")
        pages = [await each.get(f"/approvals/{asked}") for each in (alice, bob)]
        sent = await asyncio.gather(send(alice, pages[0], "grant"), send(bob, pages[1], "grant"))
        assert sorted(each.status_code for each in sent) == [303, 409]
        late = next(each for each in sent if each.status_code == 409)
        assert "Your answer does not count" in late.text
        assert "was granted by" in late.text
        [entry] = [each async for each in _answers(store, asked)]
        assert entry["granted"] is True

    async def _answers(store: DurableStore, id: str) -> Any:
        entry = await store.get("approval", id)
        assert entry is not None
        for answer in entry.body["answers"]:
            yield answer

    on_store(work)


def test_two_approvers_are_needed_where_the_rule_says_so() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        asked = (await suspended(store, call("deploy", version="1"))).result.approvals[0]
        alice, bob = await browser.of("alice"), await browser.of("bob")
        first = await send(alice, await alice.get(f"/approvals/{asked}"), "grant")
        again = await alice.get(first.headers["location"])
        assert "other approvers are needed" in again.text
        assert 'id="grant"' not in again.text
        await send(bob, await bob.get(f"/approvals/{asked}"), "grant")
        assert "granted by bob" in (await bob.get(f"/approvals/{asked}?answered=1")).text

    on_store(work)


@pytest.mark.parametrize(("name", "why"), [("carol", "who is not among the approvers"), ("", "you can only read")])
def test_who_may_not_answer_has_no_form_and_no_effect(name: str, why: str) -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        asked = (await suspended(store)).result.approvals[0]
        alice, other = await browser.of("alice"), await browser.of(name)
        page = await other.get(f"/approvals/{asked}")
        assert why in page.text
        assert 'id="grant"' not in page.text
        sent = await send(other, await alice.get(f"/approvals/{asked}"), "grant")
        assert sent.status_code == 403
        assert "pending" in (await alice.get(f"/approvals/{asked}")).text

    on_store(work)


def test_without_permission_to_answer_nothing_is_written() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        asked = (await suspended(store)).result.approvals[0]
        before = await store.get("approval", asked)
        alice = await browser.of("alice")
        page = await alice.get(f"/approvals/{asked}")
        assert "--allow-answers" in page.text
        assert "<button>Sign out" in page.text
        assert 'id="grant"' not in page.text
        assert (await alice.post(f"/approvals/{asked}/grant")).status_code == 403
        assert await store.get("approval", asked) == before

    on_store(work, answers=False)


def test_an_expired_and_a_changed_question_are_not_answered() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        asked = (await suspended(store)).result.approvals[0]
        alice = await browser.of("alice")
        page = await alice.get(f"/approvals/{asked}")
        sent = await send(alice, page, "grant", digest="0" * 64)
        assert (sent.status_code, "another one now" in sent.text) == (409, True)
        await suspended(store, call("restart", targets=["db"]), run_id="r-1")
        assert (await send(alice, page, "grant", reason="x" * 3_000)).status_code == 413

    on_store(work)


def test_runs_are_filtered_and_paged() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        jobs = Jobs(store)
        for number in range(run_pages.PAGE + 5):
            await jobs.enqueue("report", {"n": number}, run_id=f"job-{number:02}", tenant=f"t{number % 2}")
        await suspended(store, call("echo", text="hi"), FinalAnswer("done"))
        alice = await browser.of("alice")
        first = (await alice.get("/runs")).text
        assert first.count('<th scope="row">') == run_pages.PAGE
        address = first.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
        second = (await alice.get(address)).text
        assert second.count('<th scope="row">') == 6
        assert "Older runs" not in second
        shown = [{part.split("/run?id=")[1].split('"')[0] for part in page.split('<th scope="row">')[1:]}
                 for page in (first, second)]  # fmt: skip
        assert len(shown[0] | shown[1]) == run_pages.PAGE + 6
        tenant = (await alice.get("/runs", params={"tenant": "t1", "status": "queued"})).text
        assert tenant.count('<th scope="row">') == (run_pages.PAGE + 5) // 2
        assert (await alice.get("/runs", params={"kind": "other"})).text.count("No run was found") == 1
        ended = (await alice.get("/runs", params={"status": "succeeded"})).text
        assert ended.count('<th scope="row">') == 1
        for bad in ({"status": "odd"}, {"after": "x"}, {"after": "2026-01-01~a"}):
            answer = await alice.get("/runs", params=bad)
            assert (answer.status_code, "not valid" in answer.text) == (400, True)

    on_store(work)


def test_a_timeline_has_steps_approvals_usage_and_the_answer() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        await suspended(store, call("echo", text=ATTACK), FinalAnswer(ATTACK))
        alice = await browser.of("alice")
        page = (await alice.get("/run?id=r-1&refresh=yes")).text
        assert "step 0: echo" in page
        assert "attempt 1" in page
        assert "Final answer" in page
        assert 'http-equiv="refresh" content="5"' in page
        assert "<script>" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page
        assert (await alice.get("/run?id=none")).status_code == 404
        assert (await alice.get("/approvals/none")).status_code == 404
        assert (await alice.get("/elsewhere")).status_code == 404

    on_store(work)


def test_a_run_with_any_name_has_a_page() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        alice = await browser.of("alice")
        for name in ("a/b c?d#e%2f", "ä&b", "..", "a\nb", ATTACK):
            await suspended(store, call("echo", text="x"), FinalAnswer("ok"), run_id=name)
            listed = (await alice.get("/runs")).text
            address = listed.split('<th scope="row"><a href="')[1].split('"')[0]
            page = await alice.get(address)
            assert page.status_code == 200
            assert "Final answer" in page.text

    on_store(work)


def test_damage_is_shown_instead_of_failing() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        asked = (await suspended(store)).result.approvals[0]
        await store.put("approval", "broken", {"status": "pending"}, expected=0)
        await store.put("job", "r-1", {"name": 5}, expected=0)
        alice = await browser.of("alice")
        page = (await alice.get("/approvals")).text
        assert "broken" in page
        assert asked in page
        assert (await alice.get("/run?id=r-1")).status_code == 200
        assert (await alice.get("/runs")).status_code == 200

    on_store(work)


def test_a_store_that_is_away_is_a_page_too() -> None:
    async def work(store: DurableStore, browser: Browser) -> None:
        alice = await browser.of("alice")

        async def away(**_: object) -> None:
            from bobcat.errors import StoreError

            raise StoreError("unavailable", "the server has gone")

        vars(store)["runs"] = away
        page = await alice.get("/runs")
        assert (page.status_code, "the server has gone" in page.text) == (503, True)

    on_store(work)


def test_a_place_in_the_list_keeps_microseconds() -> None:
    moment = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
    cursor = run_pages.Filters(after=f"{moment.isoformat()}~a~b").cursor
    assert cursor is not None
    assert (cursor.updated, cursor.run_id) == (moment, "a~b")
