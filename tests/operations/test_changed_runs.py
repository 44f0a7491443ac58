"""`bobcat runs retry | cancel | delete | prune` on every store: by name and by condition."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import click
import pytest

from bobcat import StepRecord
from bobcat.stores.urls import open_store
from operations.conftest import Site


async def remains(store: Any, run_id: str) -> list[str]:
    """What the store still has of a run."""
    found = [] if await store.run(run_id) is None else ["run"]
    found += ["records"] if await store.load(run_id) else []
    found += ["job"] if await store.get("job", run_id) else []
    for kind in ("approval", "approval-step"):
        found += [kind for entry in await store.scan(kind) if entry.body["run_id"] == run_id]
    return found


def test_runs_are_retried_by_condition(site: Site) -> None:
    for number in range(3):
        site.queue("fail", f"f-{number}", "--tenant", "acme" if number else "bolt")
    site.queue("answer", "a-1", "--tenant", "acme")
    site.work()
    tried = site.bobcat("runs", "retry", "--tenant", "acme", "--dry-run")
    assert (tried.code, sorted(tried.out.splitlines())) == (0, ["f-1  would be queued", "f-2  would be queued"])
    assert tried.err == "2 runs would be queued\n"
    assert len(site.ids("--status", "dead")) == 3
    done = site.bobcat("runs", "retry", "--tenant", "acme", "--yes")
    assert (done.code, sorted(done.out.splitlines()), done.err) == (
        0,
        ["f-1  queued", "f-2  queued"],
        "2 runs queued\n",
    )
    assert site.ids("--status", "dead") == ["f-0"]


def test_runs_are_cancelled_by_condition_and_by_name(site: Site) -> None:
    for number in range(4):
        site.queue("answer", f"a-{number}", "--tenant", "acme" if number < 2 else "bolt")
    done = site.bobcat("runs", "cancel", "--tenant", "acme", "--reason", "a bad batch", "--format", "json")
    assert done.code == 0
    assert {each["run_id"]: each["outcome"] for each in done.json()} == {"a-0": "cancelled", "a-1": "cancelled"}
    assert site.bobcat("runs", "cancel", "a-2", "a-3", "a-2").code == 0
    assert len(site.ids("--status", "cancelled")) == 4
    shown = site.bobcat("runs", "show", "a-0", "--format", "json").json()
    assert shown["detail"]["error"] == "cancelled: a bad batch"


def test_a_refused_run_is_named_and_the_others_are_done(site: Site) -> None:
    site.queue("answer", "over")
    site.work()
    site.queue("answer", "open")
    done = site.bobcat("runs", "cancel", "over", "open", "absent")
    assert done.code == 1
    assert sorted(done.out.splitlines()) == [
        "absent  refused: there is no run `absent` in this store (unknown)",
        "open  cancelled",
        "over  refused: the run `over` is over (succeeded) (over)",
    ]
    assert done.err == "1 run cancelled, 2 runs refused\n"


def test_a_deleted_run_leaves_nothing_and_others_keep_everything(site: Site) -> None:
    for run_id in ("gone", "kept"):
        site.queue("ask", run_id)
    site.work()
    for run_id in ("gone", "kept"):
        site.bobcat("runs", "cancel", run_id)
    everything = ["run", "records", "job", "approval", "approval-step"]
    assert site.with_store(lambda store: remains(store, "gone")) == everything
    done = site.bobcat("runs", "delete", "gone")
    assert (done.code, done.out) == (0, "run gone is deleted\n")
    assert site.with_store(lambda store: remains(store, "gone")) == []
    assert site.with_store(lambda store: remains(store, "kept")) == everything
    again = site.bobcat("runs", "delete", "gone")
    assert (again.code, again.err) == (3, "error: there is no run `gone` in this store (unknown)\n")
    assert site.with_store(lambda store: remains(store, "gone")) == []


@pytest.mark.parametrize("name", ["answer", "ask"])
def test_an_open_run_is_never_deleted(site: Site, name: str) -> None:
    site.queue(name, "r")
    if name == "ask":
        site.work()
    done = site.bobcat("runs", "delete", "r")
    assert (done.code, done.out) == (4, "")
    assert "cancel it first (open)" in done.err
    assert site.bobcat("runs", "delete", "--status", "queued,suspended", "--yes").code == 1
    assert site.bobcat("runs", "prune", "--older", "0s", "--status", "queued,suspended").code == 1
    assert site.ids() == ["r"]


def test_a_run_that_a_process_holds_is_not_deleted(site: Site) -> None:
    site.queue("fail", "r")
    site.work()

    async def main() -> None:
        async with aclosing(open_store(site.url)) as store:
            lease = await store.acquire("r", owner="a program", seconds=60)
            done = await asyncio.to_thread(site.bobcat, "runs", "delete", "r")
            assert (done.code, done.err) == (4, "error: a process works on the run `r` (busy)\n")
            await store.release(lease)

    asyncio.run(main())
    assert site.bobcat("runs", "delete", "r").code == 0


def test_a_turn_of_a_thread_is_not_deleted(site: Site) -> None:
    async def made(store: Any) -> None:
        await store.append(StepRecord("thread:t#1", 0, "run.started", "", {}, datetime(2026, 1, 1, tzinfo=UTC)))
        await store.set_status("thread:t#1", "succeeded")

    site.with_store(made)
    done = site.bobcat("runs", "delete", "thread:t#1")
    assert (done.code, "belongs to a thread" in done.err) == (4, True)
    pruned = site.bobcat("runs", "prune", "--older", "0s")
    assert pruned.code == 0
    assert site.ids() == ["thread:t#1"]


def test_old_runs_are_pruned_by_age_and_status(site: Site) -> None:
    site.queue("answer", "done")
    site.queue("fail", "failed")
    site.queue("ask", "waits")
    site.work()
    assert site.bobcat("runs", "prune", "--older", "1h").err == "no runs\n"
    assert site.bobcat("runs", "prune", "--older", "0s", "--status", "succeeded", "--dry-run").out == (
        "done  would be deleted\n"
    )
    assert site.bobcat("runs", "prune", "--older", "0s", "--status", "succeeded").code == 0
    assert sorted(site.ids()) == ["failed", "waits"]
    assert site.bobcat("runs", "prune", "--older", "0s").code == 0
    assert site.ids() == ["waits"]


def test_a_deletion_that_was_killed_is_completed_by_the_next(site: Site) -> None:
    """Documents go before the run: one that was interrupted still finds the run."""
    site.queue("ask", "r")
    site.work()
    site.bobcat("runs", "cancel", "r")

    async def interrupted(store: Any) -> None:
        lease = await store.acquire("r", owner="erasing:1", seconds=0.01)
        await store.discard(await store.get("job", "r"))
        assert lease.fence
        await asyncio.sleep(0.05)

    site.with_store(interrupted)
    assert site.bobcat("runs", "delete", "r").code == 0
    assert site.with_store(lambda store: remains(store, "r")) == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_many_runs_are_confirmed_on_a_terminal(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from bobcat.cli import runs_bulk

    for run_id in ("a", "b"):
        site.queue("answer", run_id)
    asked: list[str] = []

    def answer(text: str, **options: Any) -> bool:
        asked.append(text)
        if len(asked) == 1:
            raise click.Abort
        return True

    monkeypatch.setattr(runs_bulk, "on_terminal", lambda: True)
    monkeypatch.setattr("click.confirm", answer)
    assert site.bobcat("runs", "cancel", "--all").code == 130
    assert len(site.ids("--status", "queued")) == 2
    assert site.bobcat("runs", "cancel", "--all").code == 0
    assert asked == ["cancel 2 runs?"] * 2
    assert site.bobcat("runs", "delete", "--all", "--yes").code == 0
    assert len(asked) == 2


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("command", ["retry", "cancel", "delete"])
@pytest.mark.parametrize("chosen", [[], ["r", "--all"], ["r", "--tenant", "acme"], ["--all", "--text", "x"]])
def test_either_names_or_conditions_or_all(site: Site, command: str, chosen: list[str]) -> None:
    site.queue("answer", "r")
    done = site.bobcat("runs", command, *chosen)
    assert done.code == 2
    assert "give RUNs, or conditions" in done.err
    assert site.ids("--status", "queued") == ["r"]
