"""Counts and sums over more than one session of a hook: `by: session` and `by: principal`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobcat import Policy, Request
from bobcat._core import HookSession, RunState
from bobcat.runtime.scopes import amounts_of, measures_by
from bobcat.runtime.tally import Tally
from bobcat.text.json_text import json_text
from campaign import examples
from hooks.hosts import Ended, call, native
from hooks.test_hook_sessions import HOOKS, Kept, decision, hooks

POLICY = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - {id: few, match: {tool: pay, run.count.pay: {lt: 3, by: principal}}, decision: allow}
  - id: some
    match: {tool: buy, run.sum.buy.amount: {with_this: {le: 100}, within: 1d, by: principal}}
    decision: allow
  - {id: gift, match: {tool: buy, args.gift: true}, decision: allow}
  - {id: own, match: {tool: edit, run.count.edit: {lt: 2, by: session}}, decision: allow}
  - {id: rent, match: {tool: rent, run.count.rent: {lt: 2, by: tenant}}, decision: allow}
"""


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path, POLICY)


def test_sessions_of_one_principal_count_together(kept: Kept) -> None:
    answers = [kept.ask(HOOKS[number % 2], "pay", {"n": number}, session_id=f"s{number % 3}") for number in range(5)]
    assert answers == ["allow", "allow", "allow", "deny", "deny"]
    assert kept.ask(native, "pay", {}, "codex") == "allow"
    assert len(list(kept.state.glob("*.scope"))) == 2


@hooks
def test_a_call_that_is_refused_or_not_measured_is_not_counted(kept: Kept, hook: Any) -> None:
    assert kept.ask(hook, "buy", {"amount": 101}) == "deny"
    assert kept.ask(hook, "edit", {}) == "allow"
    (scope,) = kept.state.glob("*.scope")
    assert scope.read_bytes().count(b"\tcall\t") == 0
    assert kept.ask(hook, "buy", {"amount": 100}, session_id="s2") == "allow"
    assert kept.ask(hook, "buy", {"amount": 1}, session_id="s3") == "deny"


@hooks
def test_a_call_that_a_sum_cannot_take_permits_nothing_more(kept: Kept, hook: Any) -> None:
    assert kept.ask(hook, "buy", {"amount": 1}) == "allow"
    assert kept.ask(hook, "buy", {"amount": "one", "gift": True}) == "allow"
    assert kept.ask(hook, "buy", {"amount": 1}, session_id="s2") == "deny"


@hooks
def test_a_count_by_session_is_that_of_the_session(kept: Kept, hook: Any) -> None:
    assert [kept.ask(hook, "edit", {}) for _ in range(3)] == ["allow", "allow", "deny"]
    assert kept.ask(hook, "edit", {}, session_id="s2") == "allow"


@hooks
def test_a_host_names_no_tenant(kept: Kept, hook: Any) -> None:
    assert kept.ask(hook, "rent", {}) == "deny"


@hooks
def test_a_call_without_a_session_has_no_state(kept: Kept, hook: Any) -> None:
    assert kept.ask(hook, "pay", {}, "cursor", conversation_id=None) == "deny"
    assert not kept.state.exists()


@hooks
def test_a_damaged_record_of_a_principal_permits_nothing(kept: Kept, hook: Any) -> None:
    assert kept.ask(hook, "pay", {}) == "allow"
    (scope,) = kept.state.glob("*.scope")
    scope.write_bytes(scope.read_bytes()[:-5])
    ended = kept.give(hook, "claude-code", call("claude-code", "pay", {}))
    assert (ended.code, ended.out) == (2, b"")
    assert str(scope).encode() in ended.err


def test_an_edit_of_the_policy_counts_the_same_calls(kept: Kept) -> None:
    for number in range(3):
        kept.ask(native, "pay", {"n": 1}, session_id=f"s{number}")
    kept.write(POLICY.replace("lt: 3, by", "lt: 4, within: 1h, by"))
    assert [kept.ask(native, "pay", {}, session_id=f"s{number}") for number in range(2)] == ["allow", "deny"]


def test_of_sessions_at_once_those_pass_that_fit_under_the_cap(kept: Kept) -> None:
    def pay(number: int) -> Ended:
        text = call("claude-code", "pay", {"n": number}, session_id=f"s{number}")
        return kept.give(HOOKS[number % 10 == 0], "claude-code", text)

    with ThreadPoolExecutor(16) as pool:
        answers = sorted(decision(ended) for ended in pool.map(pay, range(16)))
    assert answers == ["allow"] * 3 + ["deny"] * 13


MEASURES = """
rules:
  - {id: a, match: {tool: pay, run.count.pay: {lt: 3, by: principal}}, decision: allow}
  - {id: b, match: {tool: pay, run.sum.pay.n: {lt: 3, by: principal}}, decision: allow}
  - {id: c, match: {tool: pay, run.sum.pay.n: {lt: 3, by: principal, within: 5s}}, decision: allow}
  - {id: d, match: {tool: pay, run.count.pay: {lt: 3, by: principal, within: 2s}}, decision: allow}
"""
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["pay", "pay", "other"]),
        st.one_of(st.integers(-3, 9), st.integers(-9, 9).map(lambda n: n / 8), st.sampled_from([None, "x"])),
        st.integers(-1, 3),
    ),
    max_size=12,
)


@pytest.mark.campaign
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(calls=CALLS)
def test_values_are_those_of_the_journal_of_a_store(tmp_path_factory: pytest.TempPathFactory, calls: list[Any]) -> None:
    place, policy = tmp_path_factory.mktemp("scopes"), Policy.compile(MEASURES)
    measures = measures_by(policy)["principal"]
    tally, counter, clock = Tally(measures), RunState(policy), datetime(2026, 1, 1, tzinfo=UTC)
    for number, (tool, amount, seconds) in enumerate(calls):
        clock += timedelta(seconds=seconds)
        args = {} if amount is None else {"n": amount}
        request = Request(tool, args, timestamp=clock)
        stamp = clock.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        session = HookSession.open(policy, place, "codex", f"s{number % 3}")
        session.share("agent", "codex", stamp)
        values = session.state.values(request)
        wanted = tally.values(clock)
        for name in measures:
            value = values[name]
            assert (isinstance(value, dict), isinstance(wanted[name], str)) in ((True, True), (False, False)), name
            assert isinstance(value, dict) or value == pytest.approx(wanted[name])
        data = {"tool": tool, "args": args, "context": {"timestamp": stamp}}
        session.call(json_text(data), id=None, tool=tool, args=json_text(args))
        session.close()
        if found := amounts_of(request, measures, counter):
            tally.call(str(number), found, clock)


def test_damaged_snapshots_change_no_value(tmp_path: Path) -> None:
    policy, clock = Policy.compile(MEASURES), datetime(2026, 1, 1, tzinfo=UTC)
    stamp = clock.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    request, args = Request("pay", {"n": 1}, timestamp=clock), json_text({"n": 1})
    data = json_text({"tool": "pay", "args": {"n": 1}, "context": {"timestamp": stamp}})
    for number in range(140):
        session = HookSession.open(policy, tmp_path, "codex", f"s{number % 2}")
        session.share("agent", "codex", stamp)
        session.call(data, id=None, tool="pay", args=args)
        session.close()
    files = [path for path in tmp_path.iterdir() if path.suffix in (".snapshot", ".layer")]
    assert {path.suffix for path in files} == {".snapshot", ".layer"}
    for path in files:
        whole = path.read_bytes()
        for at in range(0, len(whole), len(whole) // 9 + 1):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            session = HookSession.open(policy, tmp_path, "codex", "s0")
            session.share("agent", "codex", stamp)
            values = session.state.values(request)
            if session.repair():
                session.share("agent", "codex", stamp)
                values = session.state.values(request)
            assert list(values.values()) == [140] * 4, path
            del session
        path.write_bytes(whole)
