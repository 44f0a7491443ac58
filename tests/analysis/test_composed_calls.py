"""Calls with texts composed of the parts that a policy tests, with values of other paths, and with counts of a run."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat import Policy
from bobcat.analysis import Proof, Witness, can, diff

Match = dict[str, Any]  # Any: a match as a policy has it


def permits(match: Match) -> Policy:
    return Policy.compile({"rules": [{"id": "a", "match": {"tool": "t", **match}, "decision": "allow"}]})


@pytest.mark.parametrize(
    "parts",
    [
        {"args.c.shell.all": {"program": "kubectl", "first": "get", "argv.any.starts_with": "secret/"}},
        {"args.c.shell.length": 2, "args.c.shell.all": {"program.in": ["cat", "wc"], "argv.length": 3}},
        {"args.c.shell.any": {"name.glob": "mkfs*", "argv.all.matches": "^/dev/sd[a-f][0-9]{2}$", "argv.length": 1}},
        {"args.c.shell.any": {"via.contains": "sudo", "name": "reboot"}},
        {"args.c.shell.length": 1, "args.c.shell.all": {"effect": "read", "argv.any.contains": "two words"}},
        {"args.c.path": {"within": "./notes", "suffix": ".md", "components.any.starts_with": "."}},
        {"args.c.path": {"within": "/srv/data", "name.matches": "^[0-9]{8}$", "is_absolute": True}},
        {"args.c.url": {"scheme": "ftp", "host.within": "files.example", "port": 2121, "path.ends_with": ".tar.gz"}},
        {"args.c.url": {"host": "a.example", "path.matches": "^/v[0-9]+/", "query_keys.contains": "a b"}},
        {"args.c.email": {"local.matches": "^[a-z]{3}[0-9]$", "domain.within": "corp.example"}},
        {"args.c.json": {"user.id": 7, "items.all.starts_with": "sku-", "items.length": 2}},
        {"args.c.sql": {"kind": "delete", "tables.contains": "audit.events"}},
        {"args.c.cidr": {"within": "10.0.0.0/8", "prefix.ge": 24}},
        {"args.c.cidr": {"within": "192.168.4.0/22", "prefix": 29}},
    ],
)
def test_a_call_with_such_parts_is_found(parts: Match) -> None:
    assert isinstance(can(permits(parts), tool="t"), Witness)


def test_a_program_decides_its_name() -> None:
    known = {"args.c.shell.all.program.in": ["cat", "wc"], "args.c.shell.length.gt": 0}
    assert can(permits({**known, "args.c.shell.any.name.matches": "^(rm|mkfs.*)$"}), tool="t") == Proof()
    assert isinstance(can(permits({**known, "args.c.shell.any.name.matches": "^(rm|wc)$"}), tool="t"), Witness)


@pytest.mark.parametrize(
    "compared",
    [
        {"args.to.eq": {"ref": "context.principal.id"}},
        {"args.to.eq": {"ref": "args.order.owner"}, "args.to.ends_with": "@corp.example"},
        {"args.to.in": {"ref": "args.order.owners"}},
        {"args.amount.gt": {"ref": "args.order.total"}},
        {"not": {"args.to.eq": {"ref": "args.order.owner"}}},
    ],
)
def test_a_call_with_such_values_of_two_paths_is_found(compared: Match) -> None:
    assert isinstance(can(permits(compared), tool="t"), Witness)


def test_two_constants_are_equal_or_not() -> None:
    own = permits({"args.to.eq": {"ref": "context.principal.id"}})
    assert can(own, tool="t", when={"args.to": "ada", "context.principal.id": "bob"}) == Proof()
    assert isinstance(can(own, tool="t", when={"args.to": "ada", "context.principal.id": "ada"}), Witness)
    others = Policy.compile({
        "rules": [
            {"id": "own", "match": {"tool": "t", "args.to.eq": {"ref": "context.principal.id"}}, "decision": "deny"},
            {"id": "all", "match": {"tool": "t"}, "decision": "allow", "priority": -1},
        ]
    })  # fmt: skip
    assert can(others, tool="t", when={"args.to": "ada", "context.principal.id": "ada"}) == Proof()


@pytest.mark.parametrize("measured", ["run.count.pay", "run.sum.pay.amount", "run.sum.pay.amount.with_this"])
def test_a_higher_bound_of_a_measure_tightens_nothing(measured: str) -> None:
    low, high = (permits({f"{measured}.lt": bound}) for bound in (500, 900))
    assert {region.change for region in diff(low, high).regions} == {"loosening"}
    assert {region.change for region in diff(high, low).regions} == {"tightening"}


def test_bounds_of_a_count_are_those_of_an_integer() -> None:
    assert diff(permits({"run.count.pay.lt": 3}), permits({"run.count.pay.le": 2})).same
    assert not diff(permits({"run.sum.pay.amount.lt": 3}), permits({"run.sum.pay.amount.le": 2})).same
    assert can(permits({"run.count.pay.lt": 0}), tool="t") == Proof()


def test_bounds_of_different_measures_are_apart() -> None:
    assert not diff(permits({"run.count.pay.lt": 3}), permits({"run.count.refund.lt": 3})).same
