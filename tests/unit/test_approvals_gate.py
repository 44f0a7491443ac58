"""Grants given ahead of time: what a grant is good for, which one is spent, and that it is spent once."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat import ActionBlocked, Allowlist, ConfirmationGate, MemoryStore, StoredConfirmationGate, current_scope
from bobcat.approvals import Grant, scope
from bobcat.errors import ActionBlocked as Blocked
from bobcat.errors import ApprovalError
from bobcat.ir.canonical import EncodingError
from documents import Documents


class Gate:
    """One way of calling for both gates."""

    def __init__(self, gate: ConfirmationGate | StoredConfirmationGate) -> None:
        self.gate = gate

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: object, **options: object) -> Any:
            result = getattr(self.gate, name)(*args, **options)
            return asyncio.run(result) if asyncio.iscoroutine(result) else result

        return call


@pytest.fixture(params=["memory", "store"])
def make(request: pytest.FixtureRequest) -> Callable[..., Gate]:
    if request.param == "memory":
        return lambda **options: Gate(ConfirmationGate(**options))
    return lambda **options: Gate(StoredConfirmationGate(Documents(), **options))  # type: ignore[arg-type]


def test_a_grant_is_good_for_one_action(make: Callable[..., Gate]) -> None:
    gate = make()
    gate.grant("pay", approver="alice")
    assert gate.consume("pay") == Grant("pay", None, "alice")
    assert gate.consume("pay") is None


def test_two_grants_are_good_for_two_actions(make: Callable[..., Gate]) -> None:
    gate = make()
    gate.grant("pay")
    gate.grant("pay")
    assert [gate.consume("pay") is not None for _ in range(3)] == [True, True, False]


def test_a_grant_for_another_target_is_left_alone(make: Callable[..., Gate]) -> None:
    gate = make()
    gate.grant("pay")
    assert gate.consume("Pay") is None
    assert gate.consume("pay") is not None


def test_a_grant_for_exact_arguments_is_good_for_no_others(make: Callable[..., Gate]) -> None:
    gate = make()
    gate.grant("pay", args={"amount": 40, "to": "bob"})
    for args in (
        {"amount": 41, "to": "bob"},
        {"amount": 40.0, "to": "bob"},
        {"amount": 40},
        {"amount": math.nan},
        None,
    ):
        assert gate.consume("pay", args=args) is None
    assert gate.consume("pay", args={"to": "bob", "amount": 40}) is not None


def test_arguments_that_are_no_json_cannot_be_granted(make: Callable[..., Gate]) -> None:
    for args in ({"x": math.nan}, {"x": object()}, {"x": "\ud800"}):
        with pytest.raises(EncodingError):
            make().grant("pay", args=args)


def test_a_grant_for_a_scope_is_good_in_that_scope_only(make: Callable[..., Gate]) -> None:
    gate = make()
    gate.grant("pay", scope="run-1")
    assert gate.consume("pay") is None
    assert gate.consume("pay", scope="run-2") is None
    with scope("run-1"):
        assert gate.consume("pay") == Grant("pay", "run-1", "gate")


def test_the_most_specific_grant_is_spent_first(make: Callable[..., Gate]) -> None:
    gate = make()
    args = {"amount": 1}
    gate.grant_any(approver="6")
    gate.grant_any(scope="s", approver="5")
    gate.grant("pay", approver="4")
    gate.grant("pay", scope="s", approver="3")
    gate.grant("pay", args=args, approver="2")
    gate.grant("pay", args=args, scope="s", approver="1")
    assert [gate.consume("pay", args=args, scope="s").approver for _ in range(6)] == list("123456")
    assert gate.consume("pay", args=args, scope="s") is None


def test_a_strict_gate_spends_nothing_that_was_not_given_for_the_scope(make: Callable[..., Gate]) -> None:
    gate = make(strict=True)
    gate.grant("pay")
    gate.grant_any()
    assert gate.consume("pay", scope="run-1") is None
    assert gate.consume("pay") is None
    gate.grant_any(scope="run-1")
    assert gate.consume("pay", scope="run-1") is not None


def test_only_a_grant_by_somebody_entitled_counts_and_others_are_left_alone(make: Callable[..., Gate]) -> None:
    gate = make()
    gate.grant("pay", approver="mallory")
    assert gate.consume("pay", approvers=("alice", "bob")) is None
    gate.grant("pay", approver="bob")
    assert gate.consume("pay", approvers=("alice", "bob")).approver == "bob"
    assert gate.consume("pay").approver == "mallory"


def test_what_is_required_and_not_granted_is_blocked(make: Callable[..., Gate]) -> None:
    gate = make()
    with pytest.raises(PermissionError, match="no grant for 'pay'") as blocked:
        gate.require("pay")
    assert isinstance(blocked.value, ActionBlocked)
    assert blocked.value.target == "pay"
    gate.grant("pay")
    gate.require("pay")


@pytest.mark.parametrize("wrong", ["", None, 7, b"pay"])
def test_an_invalid_name_is_not_a_target(make: Callable[..., Gate], wrong: object) -> None:
    with pytest.raises(Blocked):
        make().grant(wrong)
    with pytest.raises(Blocked):
        make().consume(wrong)


@pytest.mark.parametrize("options", [{"seconds": "60"}, {"seconds": True}, {"args": [1]}, {"args": "x"}])
def test_invalid_times_and_arguments_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"a lifetime must be a positive|the arguments of a call must be a mapping"):
        ConfirmationGate().grant("pay", **options)


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": -1}, {"seconds": math.nan}, {"scope": ""}])
def test_a_grant_that_could_never_count_is_refused(make: Callable[..., Gate], options: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError):
        make().grant("pay", **options)
    with pytest.raises(TypeError):
        make().grant("pay", approver="")


def test_a_stored_grant_ends_by_the_clock_of_the_store() -> None:
    store = Documents()
    gate = Gate(StoredConfirmationGate(store))  # type: ignore[arg-type]
    gate.grant("pay", seconds=60)
    gate.grant("read", seconds=60)
    store.wait(59)
    assert gate.consume("pay") is not None
    store.wait(1)
    assert gate.consume("read") is None


def test_a_grant_in_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("bobcat.approvals.gate.time.monotonic", lambda: now[0])
    gate = ConfirmationGate()
    gate.grant("pay", seconds=60)
    gate.grant("pay", seconds=61)
    now[0] += 60
    assert gate.consume("pay") is not None
    assert gate.consume("pay") is None


def test_only_the_consumer_of_a_stored_grant_gets_it_again() -> None:
    gate = Gate(StoredConfirmationGate(Documents()))  # type: ignore[arg-type]
    gate.grant("pay", approver="alice")
    assert gate.consume("pay", by="run-1/0/0").approver == "alice"
    assert gate.consume("pay", by="run-1/0/0").approver == "alice"
    assert gate.consume("pay", by="run-1/0/1") is None
    assert gate.consume("pay") is None


def test_a_spent_grant_does_not_come_back_from_somebody_who_may_not_grant_any_more() -> None:
    gate = Gate(StoredConfirmationGate(Documents()))  # type: ignore[arg-type]
    gate.grant("pay", approver="alice")
    assert gate.consume("pay", by="run-1/0/0", approvers=["alice"]).approver == "alice"
    assert gate.consume("pay", by="run-1/0/0", approvers=["bob"]) is None
    assert gate.consume("pay", by="run-1/0/0", granted_by=["alice"]) is None


def test_threads_spend_each_grant_once() -> None:
    gate = ConfirmationGate()
    for number in range(200):
        gate.grant("pay", approver=f"a{number}")
    with ThreadPoolExecutor(16) as pool:
        spent = [grant.approver for grant in pool.map(lambda _: gate.consume("pay"), range(400)) if grant is not None]
    assert sorted(spent) == sorted(f"a{number}" for number in range(200))


def test_gates_over_one_store_spend_each_grant_once() -> None:
    store = Documents()

    async def main() -> list[str]:
        gates = [StoredConfirmationGate(store) for _ in range(8)]  # type: ignore[arg-type]
        await asyncio.gather(*(gates[n % 8].grant("pay", approver=f"a{n}") for n in range(40)))
        found = await asyncio.gather(*(gates[n % 8].consume("pay") for n in range(80)))
        return sorted(grant.approver for grant in found if grant is not None)

    assert asyncio.run(main()) == sorted(f"a{number}" for number in range(40))
    assert store.conflicts > 0


def test_gates_of_different_names_share_nothing() -> None:
    store = Documents()
    one, two = (Gate(StoredConfirmationGate(store, name=name)) for name in ("one", "two"))  # type: ignore[arg-type]
    one.grant("pay")
    assert two.consume("pay") is None


GIVEN = st.tuples(
    st.sampled_from(["pay", "read", None]), st.sampled_from([None, "a", "b"]), st.sampled_from(["alice", "bob"])
)
SPENT = st.tuples(
    st.sampled_from(["pay", "read"]), st.sampled_from([None, "a", "b"]), st.sampled_from([(), ("alice",), ("bob", "c")])
)


@given(steps=st.lists(st.one_of(GIVEN.map(lambda g: ("grant", g)), SPENT.map(lambda s: ("spend", s))), max_size=30))
@settings(max_examples=campaign.examples(60), deadline=None)
@pytest.mark.parametrize("strict", [False, True])
def test_a_gate_does_what_a_list_of_grants_does(strict: bool, steps: list[tuple[str, Any]]) -> None:
    memory, stored = ConfirmationGate(strict=strict), StoredConfirmationGate(Documents(), strict=strict)  # type: ignore[arg-type]
    plain: list[tuple[str | None, str | None, str]] = []

    async def main() -> None:
        for what, (target, place, by) in steps:
            if what == "grant":
                plain.append((target, place, by))
                if target is None:
                    memory.grant_any(scope=place, approver=by)
                    await stored.grant_any(scope=place, approver=by)
                else:
                    memory.grant(target, scope=place, approver=by)
                    await stored.grant(target, scope=place, approver=by)
                continue
            fitting = [
                grant
                for grant in plain
                if grant[0] in (None, target)
                and (grant[1] == place if strict and place is not None else grant[1] in (None, place))
                and not (strict and place is None)
                and (not by or grant[2] in by)
            ]
            best = min(fitting, key=lambda grant: (grant[0] is None, grant[1] is None), default=None)
            expected = None if best is None else Grant(*best)
            assert memory.consume(target, scope=place, approvers=by) == expected
            assert await stored.consume(target, scope=place, approvers=by) == expected
            if best is not None:
                plain.remove(best)

    asyncio.run(main())


def test_an_allowlist_permits_exactly_what_is_on_it() -> None:
    listed = Allowlist(["ops@example.com", "read"])
    assert listed.permits("read")
    for other in ("Read", "read ", "", "ops@example.com.evil", 7, None):
        assert not listed.permits(other)  # type: ignore[arg-type]
    listed.require("read")
    with pytest.raises(ActionBlocked, match="'rm' is not on the allowlist"):
        listed.require("rm")
    assert not Allowlist([]).permits("read")


@pytest.mark.parametrize("wrong", ["read", [""], [7], [None]])
def test_an_allowlist_of_something_else_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError):
        Allowlist(wrong)


def test_scopes_nest_and_end() -> None:
    assert current_scope() is None
    with scope("outer"):
        with scope("inner"):
            assert current_scope() == "inner"
        assert current_scope() == "outer"
    assert current_scope() is None


def test_a_scope_ends_with_an_exception_too() -> None:
    def fails() -> None:
        with scope("inner"):
            raise LookupError

    with pytest.raises(LookupError):
        fails()
    assert current_scope() is None


@pytest.mark.parametrize("wrong", ["", None, 7])
def test_an_invalid_name_is_not_a_scope(wrong: Any) -> None:
    with pytest.raises(ValueError, match="a scope must be a non-empty string"), scope(wrong):
        pass


def test_grants_that_were_moved_to_another_place_are_damaged() -> None:
    async def main() -> None:
        store = MemoryStore()
        gate = StoredConfirmationGate(store)
        await gate.grant("mail", approver="alice")
        await gate.grant("drop", approver="alice")
        mail, drop = sorted(await store.scan("grant"), key=lambda entry: entry.body["target"] == "drop")
        await store.put("grant", drop.key, mail.body, expected=drop.version)
        with pytest.raises(ApprovalError) as refused:
            await gate.consume("drop")
        assert refused.value.code == "damaged"
        assert (await gate.consume("mail")).approver == "alice"

    asyncio.run(main())
