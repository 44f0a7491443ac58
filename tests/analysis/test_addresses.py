"""Addresses: ranges, and the classes of addresses, which are exact together."""

from __future__ import annotations

import ipaddress
import random

import pytest

import campaign
from bobcat import Policy, Request
from bobcat.analysis import Proof, Witness, can

SEEDS = campaign.rounds(40)
FLAGS = ("is_private", "is_loopback", "is_link_local", "is_metadata")
BASES = (
    "0.0.0.0", "10.0.0.0", "100.100.100.200", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.0",
    "192.0.0.0", "198.18.0.0", "224.0.0.0", "8.8.8.8", "::", "::1", "::2:0:0", "64:ff9b::7f00:1", "64:ff9b::808:808",
    "2001:db8::", "2002:7f00:1::", "2002:a9fe:a9fe::", "2606::1", "3fff::", "fd00:ec2::254", "fe80::", "ff00::",
)  # fmt: skip


def network(chance: random.Random) -> str:
    base = ipaddress.ip_address(chance.choice(BASES))
    prefix = chance.randint(0 if base.version == 4 else 97, base.max_prefixlen) if chance.random() < 0.7 else 0
    prefix = prefix or chance.choice((1, 4, 8, 12, 16, 20, 28, 31))
    return str(ipaddress.ip_network((base, prefix), strict=False))


def addresses(chance: random.Random, networks: list[str]) -> list[str]:
    """Return the ends of networks, addresses beside them and within."""
    found: list[str] = list(BASES)
    for each in map(ipaddress.ip_network, networks):
        first, last = int(each.network_address), int(each.broadcast_address)
        inside = [chance.randint(first, last) for _ in range(20)]
        kind = type(each.network_address)
        numbers = [
            number for number in (first - 1, first, last, last + 1, *inside) if 0 <= number < 2**each.max_prefixlen
        ]
        found += [str(kind(number)) for number in numbers]
    return found


def match_source(chance: random.Random, networks: list[str]) -> dict[str, object]:
    clauses: list[dict[str, object]] = [
        {"args.x.ip": {name: chance.random() < 0.5}} for name in FLAGS if chance.random() < 0.5
    ]
    for each in networks:
        within: dict[str, object] = {"args.x.ip.within": each}
        clauses.append(within if chance.random() < 0.6 else {"not": within})
    if chance.random() < 0.3:
        clauses.append({"args.x.ip": {"version": chance.choice((4, 6))}})
    return {"tool": "t", "all_of": clauses}


@pytest.mark.filterwarnings("ignore")  # random rules are what `check` warns of
def test_ranges_and_flags_have_a_call_or_a_proof() -> None:
    answers = set()
    for seed in campaign.seeds(SEEDS, 0, 1):
        chance = random.Random(seed)
        networks = [network(chance) for _ in range(chance.randint(1, 3))]
        policy = Policy.compile({"rules": [{"id": "a", "match": match_source(chance, networks), "decision": "allow"}]})
        answer = can(policy, tool="t")
        assert isinstance(answer, Witness | Proof), (seed, answer)
        answers.add(type(answer))
        if isinstance(answer, Proof):
            for text in addresses(chance, networks):
                assert policy.evaluate(Request("t", {"x": text})).verdict.value != "allow", (seed, text)
    assert answers == {Witness, Proof}


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ({"within": "10.0.0.0/8", "is_private": False}, Proof),
        ({"within": "8.0.0.0/8", "is_private": True}, Proof),
        ({"within": "8.0.0.0/6", "is_private": True}, Witness),
        ({"within": "fd00::/8", "is_metadata": True}, Witness),
        ({"within": "2002::/16", "is_loopback": True}, Witness),
        ({"within": "::/0", "version": 4}, Proof),
        ({"within": "10.0.0.0/8", "address": "10.1.2.3"}, Witness),
        ({"within": "10.0.0.0/8", "address": "11.1.2.3"}, Proof),
    ],
)
def test_parts_of_an_address_are_those_of_one_address(
    parts: dict[str, object], answer: type[Witness] | type[Proof]
) -> None:
    rule = {"id": "a", "match": {"tool": "t", "args.x.ip": parts}, "decision": "allow"}
    assert isinstance(can({"rules": [rule]}, tool="t"), answer)
