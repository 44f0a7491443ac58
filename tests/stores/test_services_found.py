"""The servers of tests: what is not there is a skip with its reason, and in CI a failure."""

from __future__ import annotations

import pytest

import services


def test_a_missing_server_is_a_skip_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(services.REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="`postgres` is not installed"):
        services.absent("`postgres` is not installed")


def test_a_missing_server_is_a_failure_where_servers_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(services.REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match="`postgres` is not installed"):
        services.absent("`postgres` is not installed")


def test_a_server_that_is_named_and_does_not_answer_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(services.REDIS_URL, "redis://127.0.0.1:9/0")
    with pytest.raises(services.Unavailable, match="`BOBCAT_TEST_REDIS_URL` is set, and its server does not answer"):
        services._found(services.REDIS_URL, "redis://127.0.0.1:9/0", services._redis_answers)


def test_a_program_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(services.Unavailable, match="`no-such-server` is not installed"):
        services._binary("no-such-server")


def test_a_started_server_is_gone_after_it_was_closed(own_redis: services.Server) -> None:
    server = services.RedisServer()
    server.start()
    process = server._process
    assert process is not None
    assert server.answers()
    server.close()
    assert process.poll() is not None
    assert not server.directory.exists()
