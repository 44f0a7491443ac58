"""The proxy under a policy that remembers: counts and sources over calls, restarts, and proxies that share a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_proxy.raw_client import ADAPTERS, RawClient, proxied, python

SERVER = python(ADAPTERS / "sdk_server.py")
POLICY = """
defaults: {on_missing_shadow: deny}
sources:
  sums: {tool: add, fields: [result]}
rules:
  - {id: own, match: {tool: add, args.a.from: [task, sums], run.count.add.lt: 3}, decision: allow}
  - {id: lines, match: {tool: lines, run.count.lines: {lt: 2, by: tenant}}, decision: allow}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def added(client: RawClient, *values: int) -> list[bool]:
    return [not client.call("add", a=value, b=1)["isError"] for value in values]


def test_a_proxy_remembers_its_calls_and_a_session_goes_on_after_a_restart(policy: Path, tmp_path: Path) -> None:
    memory = ("--store", f"sqlite:///{tmp_path / 'proxy.db'}", "--session", "desk", "--task", "add one to 4")
    with RawClient(proxied(policy, SERVER, *memory)) as client:
        client.initialize()
        assert added(client, 7, 4) == [False, True]
    with RawClient(proxied(policy, SERVER, *memory)) as client:
        client.initialize()
        assert added(client, 7, 4, 4, 4) == [False, True, True, False]
    with RawClient(proxied(policy, SERVER, *memory[:3], "hall", "--task", "add 9")) as client:
        client.initialize()
        assert added(client, 4, 9) == [False, True]


def test_proxies_of_a_tenant_count_together(policy: Path, tmp_path: Path) -> None:
    shared = ("--store", f"sqlite:///{tmp_path / 'proxy.db'}", "--tenant")

    def called(*options: str) -> list[bool]:
        with RawClient(proxied(policy, SERVER, *options)) as client:
            client.initialize()
            return [not client.call("lines", count=1)["isError"] for _ in range(2)]

    assert called(*shared, "acme") == [True, True]
    assert called(*shared, "acme") == [False, False]
    assert called(*shared, "other") == [True, True]
    assert called() == [False, False]


def test_a_session_needs_a_store(policy: Path) -> None:
    with RawClient(proxied(policy, SERVER, "--session", "desk")) as client:
        assert client.wait() == 2
        assert "`--session` needs `--store`" in client.stderr()
