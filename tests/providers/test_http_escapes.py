"""The tables of escapes and look-alikes of `net.http`, through a guard and real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from bobcat import Guard, compile_policy
from bobcat.guard import Outcome
from bobcat.providers.web.provider import http
from providers.escapes_http import ADDRESSES, ESCAPES, LOOK_ALIKES, Row
from providers.sites import OTHER, PUBLIC, SECRET, Answer, Seen, Web, web


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("web")) as found:
        yield found


class Rebinding:
    """A resolver whose names rebind: to the loopback address after the first answer, or before it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host == "rebound.example":
            return ["127.0.0.1"]
        if host in ("rebind.example", "rebinding.example"):
            return [PUBLIC] if self.asked.count(host) == 1 else ["127.0.0.1"]
        if host == "localhost.shop.example":
            return [PUBLIC]
        if host not in ADDRESSES:
            raise OSError("Name or service not known")
        return ADDRESSES[host]


def run(sites: Web, row: Row, **more: Any) -> tuple[Outcome, list[Seen]]:
    """Submit the call of a row; return the outcome and the requests that the sites got."""
    sites.clear()
    for name in ("shop", "tls shop"):
        sites.sites[name].answers.update({target: _placed(sites, each) for target, each in row.answers.items()})
    options: dict[str, Any] = {
        "schemes": ("http", "https"),
        "ports": (sites.port, sites.tls_port),
        "allow_addresses": (PUBLIC, OTHER),
        "resolver": Rebinding(),
        "verify": sites.verify,
        "max_bytes": 10_000,
        "max_request_bytes": 10_000,
        "timeout_seconds": 1.0,
        "headers": {f"https://shop.example:{sites.tls_port}": {"Authorization": f"Bearer {SECRET}"}},
        **row.options,
    }

    async def submit() -> Outcome:
        async with Guard(compile_policy(row.policy), http(**options), **more) as guard:
            return await guard.submit("net.http", {"url": sites.placed(row.url), **row.args})

    outcome = asyncio.run(submit())
    return outcome, sites.seen_by(*(name for name in sites.sites if "trap" not in name))


def _placed(sites: Web, answer: Answer) -> Answer:
    return sites.placed(answer.decode("latin-1")).encode("latin-1") if _plain(answer) else answer


def _plain(answer: Answer) -> bool:
    return isinstance(answer, bytes) and len(answer) < 1000 and b"content-encoding" not in answer


def _names(rows: Sequence[Row]) -> list[str]:
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    return names


def _secret_elsewhere(sites: Web) -> list[str]:
    return [
        name
        for name, site in sites.sites.items()
        if name != "tls shop" and any(SECRET.encode() in seen.raw for seen in site.seen)
    ]


@pytest.mark.parametrize("row", ESCAPES, ids=_names(ESCAPES))
def test_an_escape_reaches_no_trap(sites: Web, row: Row) -> None:
    outcome, seen = run(sites, row)
    assert not sites.trapped()
    assert not _secret_elsewhere(sites)
    assert outcome.status == row.status, outcome
    assert row.says in (outcome.error or "")
    if row.silent:
        assert seen == []


@pytest.mark.parametrize("row", LOOK_ALIKES, ids=_names(LOOK_ALIKES))
def test_a_look_alike_is_answered(sites: Web, row: Row) -> None:
    outcome, _ = run(sites, row)
    assert not sites.trapped()
    assert not _secret_elsewhere(sites)
    assert outcome.status == "ok", outcome
    text = json.dumps(outcome.value)
    assert row.says in text
    assert SECRET not in text
    if row.holds is not None:
        # The order of the requests: http sites, then those with TLS; a chain begins at http.
        requests = [
            Seen(each.method, each.target, _unplaced(sites, each.headers), each.body, each.raw)
            for each in sites.seen_by("shop", "tls shop", "cdn", "tls cdn")
        ]
        assert row.holds(outcome.value, requests), requests


def _unplaced(sites: Web, headers: dict[str, str]) -> dict[str, str]:
    return {name: value.replace(str(sites.port), "PORT") for name, value in headers.items()}


def test_the_tables_are_large_enough() -> None:
    assert len(ESCAPES) >= 80
    assert len(LOOK_ALIKES) >= 60
