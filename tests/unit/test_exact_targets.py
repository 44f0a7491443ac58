"""Allowlists and gates compare exact strings: no object of a call has a say in what it is equal to."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import (
    ActionBlocked,
    ActionRequest,
    Allowlist,
    ApprovalRequest,
    ConfirmationGate,
    Decision,
    ExecutionContext,
    MemoryStore,
    Principal,
    StoredConfirmationGate,
    ToolMetadata,
    Verdict,
)
from bobcat.approvals.grants import grant_key, may_approve


class Chameleon(str):
    """A text that is equal to the one that is allowed."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "ops@example.com"

    def __hash__(self) -> int:
        return hash("ops@example.com")

    def __repr__(self) -> str:
        raise AssertionError("shown")


class Thing:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("ops@example.com")


TARGETS = [Chameleon("evil@example.com"), Thing(), 1, None, ""]


def question(to: Any, approvers: tuple[str, ...] = ()) -> ApprovalRequest:
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime(2026, 1, 1, tzinfo=UTC))
    request = ActionRequest("send", {"to": to}, ToolMetadata("low", True, ()), context)
    return ApprovalRequest(request, Decision(Verdict.APPROVE_REQUIRED, approvers=approvers), "c")


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: type(target).__name__)
def test_an_allowlist_permits_no_object_that_says_it_is_on_the_list(target: Any) -> None:
    allowed = Allowlist(["ops@example.com"], target=lambda request: request.args["to"])
    assert not allowed.permits(target)
    with pytest.raises(ActionBlocked):
        allowed.require(target)
    with pytest.raises(ActionBlocked):
        asyncio.run(allowed(question(target)))
    assert asyncio.run(allowed(question("ops@example.com"))).granted  # type: ignore[union-attr]
    assert not asyncio.run(allowed(question("evil@example.com"))).granted  # type: ignore[union-attr]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: type(target).__name__)
def test_no_gate_spends_a_grant_on_an_object_that_says_it_is_the_target(target: Any) -> None:
    gate = ConfirmationGate(target=lambda request: request.args["to"])
    gate.grant("ops@example.com")
    stored = StoredConfirmationGate(MemoryStore(), target=lambda request: request.args["to"])
    asyncio.run(stored.grant("ops@example.com"))
    with pytest.raises(ActionBlocked):
        gate.consume(target)
    with pytest.raises(ActionBlocked):
        asyncio.run(gate(question(target)))
    with pytest.raises(ActionBlocked):
        asyncio.run(stored.consume(target))
    with pytest.raises(ActionBlocked):
        asyncio.run(stored(question(target)))
    with pytest.raises(ActionBlocked):
        gate.grant(target)
    assert gate.consume("ops@example.com") is not None
    assert asyncio.run(stored.consume("ops@example.com")) is not None


@pytest.mark.parametrize(
    "args", [{"to": Chameleon("x")}, {Chameleon("to"): "x"}, {"to": Thing()}], ids=["str", "key", "thing"]
)
def test_a_grant_for_exact_arguments_is_not_spent_on_objects(args: Any) -> None:
    gate = ConfirmationGate()
    gate.grant("send", args={"to": "ops@example.com"})
    assert gate.consume("send", args=args) is None
    with pytest.raises(ValueError):
        grant_key("send", args, None)


@pytest.mark.parametrize("item", [Chameleon("a"), Thing(), 1, "", None], ids=lambda item: type(item).__name__)
def test_an_allowlist_holds_exact_strings(item: Any) -> None:
    with pytest.raises(TypeError, match="an allowlist holds strings that are not empty"):
        Allowlist([item])


def test_an_approver_is_compared_by_the_characters_of_the_name() -> None:
    assert not may_approve(Chameleon("mallory"), ("ops@example.com",))
    assert not may_approve("mallory", (Chameleon("alice"),))
    assert may_approve("alice", (Chameleon("alice"),))
    assert not may_approve(Chameleon("alice"), (), ("alice",))
