"""`ReloadingPolicy`: one whole policy at any moment, replaced by newer signed releases only."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import (
    AuditEvent,
    Budget,
    BundleError,
    FinalAnswer,
    Guard,
    Policy,
    ReloadingPolicy,
    Request,
    SourceError,
    ToolCall,
    ToolSet,
    run_agent,
    tool,
)
from bobcat.distribution import publish, sign_release
from distribution.releases import KEY, OTHER_KEY, TRUST, altered, policy, release, unsigned

READ = Request("read")


class Held:
    """A source whose bundle a test sets; it counts its requests."""

    name, remote = "held", True

    def __init__(self, data: bytes | None) -> None:
        self.data, self.asked, self.tags = data, 0, True

    def fetch(self, tag: str | None) -> tuple[bytes, str | None] | None:
        self.asked += 1
        if self.data is None:
            raise SourceError("unreachable", "away")
        own = str(hash(self.data))
        if tag == own:
            return None
        return self.data, own if self.tags else None


def following(source: Any, **options: Any) -> ReloadingPolicy:
    return ReloadingPolicy(source, trust=[TRUST], every=0, **options)


def problem(found: ReloadingPolicy) -> str | None:
    noted = found.status().problem
    return None if noted is None else noted.code


def test_a_newer_release_replaces_the_policy(tmp_path: Path) -> None:
    publish(release(1), tmp_path)
    found = following(tmp_path)
    first = found.current
    assert (found.evaluate(READ).reason, found.refresh()) == ("p1", False)
    publish(release(2), tmp_path)
    assert found.refresh() is True
    assert (found.evaluate(READ).reason, first.evaluate(READ).reason) == ("p2", "p1")
    status = found.status()
    assert (status.epoch, status.bundle, status.reloads, status.current) == (2, policy(2).id, 1, True)


BAD = {
    "old_epoch": release(1),
    "epoch_reused": release(3, epoch=2),
    "unsigned": unsigned(3),
    "bad_signature": release(3)[:-20] + b"0" + release(3)[-19:],
    "not_a_bundle": b"rules: []",
    "truncated": release(3)[:-1],
    "expired": release(3, expires=datetime(2020, 1, 1, tzinfo=UTC)),
}


@pytest.mark.parametrize("tags", [True, False])
@pytest.mark.parametrize("code", BAD)
def test_a_bad_bundle_changes_nothing_and_is_visible(code: str, tags: bool, tmp_path: Path) -> None:
    events: list[AuditEvent] = []
    source = Held(release(2))
    source.tags = tags
    found = following(source, keep=tmp_path / "kept", sinks=[events.append])
    kept = (tmp_path / "kept").read_bytes()
    source.data = BAD[code]
    assert [found.refresh() for _ in range(3)] == [False] * 3
    status = found.status()
    code = "digest_mismatch" if code == "bad_signature" else code
    assert (found.evaluate(READ).reason, problem(found), status.refused, status.current) == ("p2", code, 1, False)
    assert [(event.kind, event.body["code"], event.bundle_id) for event in events] == [
        ("policy.reload_refused", code, policy(2).id)
    ]
    assert (tmp_path / "kept").read_bytes() == kept
    source.data = release(4)
    assert found.refresh() is True
    assert (problem(found), events[-1].kind, events[-1].body["epoch"], events[-1].seq) == (
        None,
        "policy.reloaded",
        4,
        1,
    )


def test_no_altered_byte_of_a_bundle_is_accepted() -> None:
    source = Held(release(1))
    found = following(source)
    for data in altered(release(2)):
        source.data = data
        assert found.refresh() is False
        assert found.current.id == policy(1).id
    source.data = release(2, key=OTHER_KEY)
    assert (found.refresh(), problem(found)) == (False, "unsigned")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from(["good", "bad", "away"])), max_size=12))
def test_the_epoch_never_falls_and_an_epoch_is_one_policy(steps: list[tuple[int, int, str]]) -> None:
    source = Held(release(1, epoch=1))
    found = following(source)
    in_force = (1, policy(1).id)
    for epoch, number, how in steps:
        data = release(number, epoch=epoch)
        source.data = {"good": data, "bad": data[:-1], "away": None}[how]
        if how == "good" and epoch > in_force[0]:
            in_force = (epoch, policy(number).id)
        found.refresh()
        status = found.status()
        assert (status.epoch, status.bundle) == in_force
        assert found.current.id == status.bundle
        assert status.current is (how == "good" and (epoch, policy(number).id) == in_force)


def test_a_source_that_is_away_leaves_the_policy_in_force() -> None:
    source = Held(release(1))
    found = following(source, max_age=0.05)
    source.data = None
    time.sleep(0.06)
    assert (found.refresh(), found.evaluate(READ).reason, problem(found)) == (False, "p1", "unreachable")
    assert (found.status().stale, found.status().failures, found.status().refused) == (True, 1, 0)
    source.data = release(1)
    assert (found.refresh(), problem(found), found.status().stale) == (False, None, False)


def test_a_process_begins_with_the_kept_release_or_not_at_all(tmp_path: Path) -> None:
    kept, away = tmp_path / "kept", Held(None)
    with pytest.raises(SourceError, match="away"):
        following(away, keep=kept)
    assert not kept.exists()
    following(Held(release(3)), keep=kept)
    found = following(away, keep=kept)
    assert (found.evaluate(READ).reason, problem(found), found.status().checked) == ("p3", "unreachable", None)
    older = following(Held(release(2)), keep=kept)
    assert (older.evaluate(READ).reason, problem(older)) == ("p3", "old_epoch")
    with pytest.raises(BundleError, match="lowest") as caught:
        following(Held(release(2)), min_epoch=3)
    assert caught.value.code == "old_epoch"


@pytest.mark.parametrize("data", [b"damaged", unsigned(9), release(9, key=OTHER_KEY), release(9)[:-1]])
def test_a_kept_file_that_cannot_be_trusted_is_not_used(data: bytes, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(data)
    with pytest.raises(SourceError):
        following(Held(None), keep=kept)
    assert following(Held(release(1)), keep=kept).evaluate(READ).reason == "p1"
    assert kept.read_bytes() == release(1)


def test_workers_that_keep_one_file_never_lower_its_epoch(tmp_path: Path) -> None:
    kept, slow = tmp_path / "kept", Held(release(1))
    lagging = following(slow, keep=kept)
    following(Held(release(5)), keep=kept)
    slow.data = release(3)
    assert (lagging.refresh(), problem(lagging), kept.read_bytes()) == (False, "old_epoch", release(5))


def test_a_release_that_expires_stays_and_says_so() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=1)
    source = Held(release(1, expires=soon))
    found = following(source)
    assert found.status().current is True
    time.sleep(max((soon - datetime.now(UTC)).total_seconds(), 0) + 0.01)
    status = found.status()
    assert (status.expired, status.current, found.evaluate(READ).reason) == (True, False, "p1")
    source.data = release(1, expires=soon + timedelta(days=1))  # the same release, signed again
    assert (found.refresh(), found.status().current, found.status().reloads) == (False, True, 0)
    source.data = release(1, expires=soon + timedelta(hours=1))
    assert (found.refresh(), problem(found)) == (False, "old_epoch")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"trust": None}, ValueError),
        ({"trust": TRUST}, TypeError),
        ({"trust": []}, BundleError),
        ({"trust": ["ab"]}, BundleError),
        ({"trust": [TRUST], "every": -1}, ValueError),
        ({"trust": [TRUST], "every": float("nan")}, ValueError),
        ({"trust": [TRUST], "max_age": 0}, ValueError),
        ({"trust": [TRUST], "min_epoch": -1}, BundleError),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ReloadingPolicy(Held(release(1)), **options)


def test_the_thread_checks_until_the_policy_is_gone(tmp_path: Path) -> None:
    source = Held(release(1))
    found = ReloadingPolicy(source, trust=[TRUST], every=0.01)
    source.data = release(2)
    wait_until(lambda found=found: found.current.id == policy(2).id)
    del found
    gc.collect()
    time.sleep(0.1)
    before = source.asked
    time.sleep(0.1)
    assert source.asked == before


def test_a_forked_worker_follows_too(tmp_path: Path) -> None:
    publish(release(1), tmp_path)
    found = ReloadingPolicy(tmp_path, trust=[TRUST], every=0.01)
    child = os.fork()
    if child == 0:
        wait_until(lambda: found.current.id == policy(2).id, fail=False)
        os._exit(0 if found.current.id == policy(2).id else 1)
    publish(release(2), tmp_path)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found.close()


def wait_until(holds: Any, *, fail: bool = True) -> None:
    until = time.monotonic() + 20
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    assert holds() or not fail


def test_ten_thousand_decisions_during_a_hundred_swaps_are_each_of_one_policy() -> None:
    """Threads decide while releases change: the reason and the rule of a decision are of the same release."""
    source = Held(release(1))
    found = following(source)
    reasons = {f"r{number}": f"p{number}" for number in range(1, 103)}
    decided: list[list[tuple[str, str]]] = [[] for _ in range(2)]
    swapped = threading.Event()

    def decide(into: list[tuple[str, str]]) -> None:
        while not swapped.is_set() or len(into) < 5_000:
            decision = found.evaluate(READ)
            into.append((decision.matched_rules[0], decision.reason or ""))

    threads = [threading.Thread(target=decide, args=(each,)) for each in decided]
    for thread in threads:
        thread.start()
    for number in range(2, 102):
        source.data = release(number)
        assert found.refresh() is True
    swapped.set()
    for thread in threads:
        thread.join()
    every = [pair for each in decided for pair in each]
    assert len(every) >= 10_000
    assert all(reasons[rule] == reason for rule, reason in every)
    for each in decided:
        numbers = [int(rule[1:]) for rule, _ in each]
        assert numbers == sorted(numbers)
    assert found.status().reloads == 100


# A guard and a run.


@tool(cost="low")
async def read() -> str:
    """Read."""
    return "text"


def test_a_guard_takes_the_new_policy_at_the_next_submission(tmp_path: Path) -> None:
    source = Held(release(1))
    found = following(source)
    with Guard(found, [read], log=tmp_path / "log.jsonl") as guard:
        one = guard.submit_sync("read", {})
        source.data = release(2)
        found.refresh()
        two = guard.submit_sync("read", {})
    assert [one.matched_rules, two.matched_rules] == [("r1",), ("r2",)]
    text = (tmp_path / "log.jsonl").read_text()
    assert text.index(policy(1).id) < text.index(policy(2).id)


@pytest.mark.parametrize("session", [None, "s"])
def test_a_guard_remembers_over_a_new_policy(session: str | None) -> None:
    def limited(most: int) -> bytes:
        text = f"rules: [{{id: few, match: {{tool: read, run.count.read.lt: {most}}}, decision: allow}}]"
        return sign_release(Policy.compile(text).to_bytes(), KEY, epoch=most)

    source = Held(limited(2))
    found = following(source)
    with Guard(found, [read], session=session) as guard:
        assert [guard.submit_sync("read", {}).ok for _ in range(3)] == [True, True, False]
        source.data = limited(3)
        assert found.refresh() is True
        assert [guard.submit_sync("read", {}).ok for _ in range(2)] == [True, False]


def test_a_run_keeps_the_policy_it_began_with() -> None:
    source = Held(release(1))
    found = following(source)
    events: list[AuditEvent] = []

    class Agent:
        async def step(self, conversation: Any) -> Any:
            if len(conversation) == 1:
                source.data = release(2)
                assert await asyncio.to_thread(found.refresh) is True
                return ToolCall("read", {})
            return FinalAnswer("done")

    async def run() -> Any:
        return await run_agent(
            Agent(),
            "t",
            tools=ToolSet.from_functions(read),
            policy=found,
            sinks=[events.append],
            budget=Budget(steps=4),
        )

    assert asyncio.run(run()).outcome == "succeeded"
    assert {event.bundle_id for event in events} == {policy(1).id}
    assert found.current.id == policy(2).id
    assert {event.bundle_id for event in events} | {asyncio.run(run()).bundle_id} == {policy(1).id, policy(2).id}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_sink_may_check_again_from_its_event(kind: str) -> None:
    source, seen = Held(release(1)), []

    def again(event: AuditEvent) -> None:
        seen.append((event.kind, found.current.id, found.refresh()))

    async def again_async(event: AuditEvent) -> None:
        again(event)

    found = following(source, sinks=[again if kind == "sync" else again_async])
    source.data = release(2)
    checked = threading.Thread(target=found.refresh, daemon=True)
    checked.start()
    checked.join(20)
    assert not checked.is_alive()
    source.data = unsigned(3)
    assert not found.refresh()
    assert seen == [("policy.reloaded", policy(2).id, False), ("policy.reload_refused", policy(2).id, False)]


def test_events_are_in_order_over_concurrent_checks() -> None:
    source, seen = Held(release(1)), []
    found = following(source, sinks=[lambda event: seen.append(event.seq)])
    for number in range(2, 12):
        source.data = release(number)
        checks = [threading.Thread(target=found.refresh) for _ in range(3)]
        for check in checks:
            check.start()
        for check in checks:
            check.join()
    assert sorted(seen) == list(range(10))
