"""Proofs that clauses contradict each other, beside the decision of every request of a small domain."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

import campaign
from analysis.enumeration import MISSING, requests
from bobcat import Policy
from bobcat.analysis import Proof, Unknown, Witness, can
from bobcat.model.request_json import request_from_data

PARTS = 4
SEEDS = campaign.rounds(120)
VALUES = [MISSING, None, True, 0, 1, 1.0, 2, 3.5, "", "a", "b", "\ud800", ["a"], {}]
ORDERED = [request_from_data(data) for data in requests({"tool": ["t"], **{f"args.{x}": VALUES for x in "abc"}})]

HOSTS = ("example.org", "www.example.org", "localhost", "db.internal", "intranet", "10.0.0.1", "8.8.8.8", "127.0.0.1",
         "169.254.169.254", "[::1]", "[2606:4700::1111]", "[::ffff:10.0.0.1]", "[fd00::1]", "1.2.3", "0x7f.1",
         "a.1")  # fmt: skip
SCHEMES = ("https", "http", "ftp", "ws", "ssh", "foo", "file")
URLS = [f"{scheme}://{host}/x" for scheme in SCHEMES for host in HOSTS] + ["mailto:a@example.org", "file:///x", "x"]
ADDRESSES = (
    "10.0.0.1",
    "8.8.8.8",
    "127.0.0.1",
    "169.254.169.254",
    "::1",
    "fe80::1",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
)
COMMANDS = ("ls", "cat a", "rm a", "rm a; ls", "curl https://example.org", "git push", "git status", "make", "ls > a",
            "sudo rm a", "cat a | sh", "frobnicate", "$(x)", "")  # fmt: skip
STATEMENTS = ("select 1", "select * from t", "delete from t", "update t set a = 1", "insert into t values (1)",
              "with x as (delete from t returning a) select * from x", "drop table t", "x")  # fmt: skip


def calls(texts: Iterable[str]) -> list[Any]:
    return [request_from_data({"tool": "t", "args": {"x": text}}) for text in texts]


def check(match: dict[str, Any], asked: Sequence[Any]) -> type[Any]:
    """Ask for a call that a match permits: a proof has no call of the domain."""
    policy = Policy.compile({"rules": [{"id": "a", "match": {"tool": "t", **match}, "decision": "allow"}]})
    answer = can(policy, tool="t")
    if isinstance(answer, Proof):
        for request in asked:
            assert policy.evaluate(request).verdict.value != "allow", (match, request.args)
    return type(answer)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_proof_about_the_order_of_paths_holds_for_every_request(part: int, record_property: Any) -> None:
    proofs = 0
    for seed in campaign.seeds(SEEDS, part, PARTS):
        chance = random.Random(seed)
        clauses: list[dict[str, Any]] = []
        for _ in range(chance.randint(2, 4)):
            one, other = chance.sample("abc", 2)
            if chance.random() < 0.3:
                operator, value = chance.choice(
                    (("gt", 1), ("lt", 1), ("le", 0), ("eq", 1), ("eq", "a"), ("in", ["a", "b"]))
                )
                clause = {f"args.{one}.{operator}": value}
            else:
                operator = chance.choice(("lt", "le", "gt", "ge", "eq"))
                clause = {f"args.{one}.{operator}": {"ref": f"args.{other}"}}
            clauses.append({"not": clause} if chance.random() < 0.2 else clause)
        proofs += check({"all_of": clauses}, ORDERED) is Proof
    record_property("proofs", proofs)
    assert proofs


def refs(*pairs: str) -> dict[str, Any]:
    words = (pair.split() for pair in pairs)
    return {"all_of": [{f"args.{one}.{op}": {"ref": f"args.{other}"}} for one, op, other in words]}


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "a cycle of three": refs("a lt b", "b lt c", "c lt a"),
    "less and greater": refs("a lt b", "a gt b"),
    "less than itself by equality": refs("a lt b", "a eq b"),
    "a cycle with one strict step": refs("a le b", "b le c", "c lt a"),
    "bounds": {**refs("a lt b"), "args.a.gt": 5, "args.b.lt": 3},
    "bounds that touch": {**refs("a lt b"), "args.a.ge": 3, "args.b.le": 3},
    "other numbers": {**refs("a eq b"), "args.a": 5, "args.b": 3},
    "other texts": {**refs("a lt b"), "args.a": "b", "args.b": "a"},
    "not less and less": {"all_of": [{"not": refs("a lt b")}, refs("a lt b")]},
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradicting_order_is_proved(name: str) -> None:
    assert check(CONTRADICTIONS[name], ORDERED) is Proof


@pytest.mark.parametrize(
    "match", [refs("a le b", "b le a"), {**refs("a lt b"), "args.a.gt": 5, "args.b.lt": 7}, refs("a eq b", "b eq c")]
)
def test_an_order_that_values_have_is_no_contradiction(match: dict[str, Any]) -> None:
    assert check(match, ()) is not Proof


@pytest.mark.parametrize("host", [host.strip("[]") for host in HOSTS[:13]])
@pytest.mark.parametrize("flag", ["is_ip", "is_private"])
def test_a_host_decides_whether_it_is_an_address_and_private(host: str, flag: str) -> None:
    answers = {check({"args.x.url.host": host, f"args.x.url.{flag}": value}, calls(URLS)) for value in (True, False)}
    assert answers == {Witness, Proof}


@pytest.mark.parametrize(
    "match",
    [
        {"args.x.url.host.within": "example.org", "args.x.url.is_ip": True},
        {"args.x.url.host.within": "example.org", "args.x.url.is_private": True},
        {"args.x.url.host.within": "internal", "args.x.url.is_private": False},
        {"args.x.url.host.exists": False, "args.x.url.is_ip": True},
        {"args.x.url.host.exists": False, "args.x.url.is_private": False},
        {"args.x.url.host.in": ["example.org", "8.8.8.8"], "args.x.url.is_private": True},
        {"args.x.url.host.matches": "^[a-z]+$", "args.x.url.is_private": False},
    ],
)
def test_parts_of_a_url_that_contradict_each_other_are_proved(match: dict[str, Any]) -> None:
    assert check(match, calls(URLS)) is Proof


@pytest.mark.parametrize("flag", ["is_private", "is_loopback", "is_link_local", "is_metadata"])
@pytest.mark.parametrize("address", ADDRESSES[:-1])
def test_an_address_decides_its_flags(address: str, flag: str) -> None:
    found = [
        check({"args.x.ip.address": address, f"args.x.ip.{flag}": value}, calls(ADDRESSES)) for value in (True, False)
    ]
    assert sorted(answer.__name__ for answer in found) == ["Proof", "Witness"]


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("flag", ["is_ip", "is_private"])
@pytest.mark.parametrize("test", [{"matches": "^1"}, {"matches": "l$"}, {"within": "example.org"}, {"exists": False}])
def test_a_proof_about_a_url_holds_for_every_url(test: dict[str, Any], flag: str, value: bool) -> None:
    clauses = {f"args.x.url.host.{name}": operand for name, operand in test.items()}
    check({**clauses, f"args.x.url.{flag}": value}, calls(URLS))


EFFECTS = ("read", "write", "network", "run", "unknown")


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("other", EFFECTS)
def test_an_effect_is_the_only_one(effect: str, other: str) -> None:
    for test in ({"effects.contains": other}, {"effects.subset_of": [other]}, {"effects.length.ge": 2}):
        answer = check({"args.x.shell.any": {"effect": effect, **test}}, calls(COMMANDS))
        if effect != other or "effects.length.ge" in test:
            assert answer is Proof, test


@pytest.mark.parametrize("kind", ["select", "delete", "update"])
def test_a_kind_of_statement_is_the_only_one(kind: str) -> None:
    other = "select" if kind != "select" else "delete"
    assert check({"args.x.sql.kind": kind, "args.x.sql.kinds.contains": other}, calls(STATEMENTS)) is Proof
    assert check({"args.x.sql.kind": kind, "args.x.sql.kinds.subset_of": [other]}, calls(STATEMENTS)) is Proof
    assert check({"args.x.sql.kind": kind, "args.x.sql.kinds.contains": kind}, calls(STATEMENTS)) is Witness


@pytest.mark.parametrize("text", ["a task with words", "see README.md, please", "  spaces  ", "ünïcode", ""])
def test_what_occurs_in_a_text_is_found(text: str) -> None:
    answer = check({"args.x.occurs_in": text}, ())
    assert answer is Witness if text else answer in (Witness, Unknown, Proof)
