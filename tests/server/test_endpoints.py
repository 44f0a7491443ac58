"""The endpoints of a decision server: AuthZEN, Bobcat's JSON, authentication, limits and reloads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bobcat import Policy
from bobcat.distribution import ReloadingPolicy
from bobcat.server import Limits, create_app
from bobcat.server.limits import Tokens

POLICY = """
rules:
  - {id: read, match: {tool: read, args.path.starts_with: notes/, context.principal.id: alice}, decision: allow}
  - {id: own, match: {tool: edit, context.extra.resource.id.starts_with: a}, decision: allow, priority: 2}
  - {id: prod, match: {tool: edit, context.environment: prod}, decision: deny, reason: not in prod, priority: 3}
  - {id: ask, match: {tool: pay}, decision: approve_required, approvers: [bob]}
  - {id: rewrite, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, append: " LIMIT 1"}}
  - {id: now, match: {tool: time, context.timestamp.gt: "2020-01-01T00:00:00Z"}, decision: allow}
"""
TOKEN = "a-token-of-some-length"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    Policy.compile(POLICY).save(tmp_path / "policy.bundle")
    return tmp_path / "policy.bundle"


@pytest.fixture
def client(bundle: Path) -> TestClient:
    return TestClient(create_app(ReloadingPolicy(bundle, trust=None, every=0)))


def evaluation(tool: str = "read", **properties: Any) -> dict[str, Any]:
    return {
        "subject": {"type": "user", "id": "alice"},
        "action": {"name": tool, "properties": properties},
        "resource": {"type": "file", "id": "a1"},
    }


def ask(client: TestClient, body: Any, path: str = "/access/v1/evaluation") -> Any:
    return client.post(path, json=body)


def test_an_evaluation_is_true_for_allow_only(client: TestClient) -> None:
    assert ask(client, evaluation(path="notes/a")).json()["decision"] is True
    for body in (evaluation(path="secret"), evaluation("pay"), evaluation("query", text="x"), evaluation("nothing")):
        answer = ask(client, body)
        assert (answer.status_code, answer.json()["decision"]) == (200, False)
    assert ask(client, evaluation("pay")).json()["context"]["verdict"] == "approve_required"
    assert ask(client, evaluation("query", text="x")).json()["context"]["transform_args"] == {"text": "x LIMIT 1"}


def test_rules_read_the_resource_the_environment_and_the_time(client: TestClient) -> None:
    edit = evaluation("edit")
    assert ask(client, edit).json()["decision"] is True
    assert ask(client, {**edit, "resource": {"type": "file", "id": "b"}}).json()["decision"] is False
    denied = ask(client, {**edit, "context": {"environment": "prod"}}).json()
    assert (denied["decision"], denied["context"]["reason"]) == (False, "not in prod")
    assert ask(client, evaluation("time")).json()["decision"] is True
    assert ask(client, {"tool": "time"}, "/v1/decide").json()["verdict"] == "allow"


def test_unknown_keys_are_ignored_and_request_ids_come_back(client: TestClient) -> None:
    body = {**evaluation(path="notes/a"), "extension": 1}
    answer = client.post("/access/v1/evaluation", json=body, headers={"X-Request-ID": "r-1"})
    assert (answer.json()["decision"], answer.headers["X-Request-ID"]) == (True, "r-1")


BAD: list[Any] = [
    [],
    {},
    {**evaluation(), "subject": None},
    {**evaluation(), "subject": {"type": "user"}},
    {**evaluation(), "subject": {"type": "user", "id": 3}},
    {**evaluation(), "action": {}},
    {**evaluation(), "action": {"name": "read", "properties": []}},
    {**evaluation(), "resource": {"type": "file"}},
    {**evaluation(), "context": 3},
    {**evaluation(), "context": {"environment": 3}},
]


@pytest.mark.parametrize("body", BAD)
def test_an_evaluation_that_is_malformed_is_a_bad_request(client: TestClient, body: Any) -> None:
    answer = ask(client, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}', '{"a": NaN}', "\ud800", '"' + "[" * 10_000])
def test_a_body_other_than_json_is_a_bad_request(client: TestClient, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    for path in ("/access/v1/evaluation", "/access/v1/evaluations", "/v1/decide"):
        assert client.post(path, content=data).status_code == 400


def batch(semantic: str | None = None) -> dict[str, Any]:
    whole = evaluation(path="notes/a")
    action = {"name": "read", "properties": {"path": "secret"}}
    items = [{}, {"action": action}, {"action": {}}, {"subject": {"type": "user", "id": "alice"}}]
    options = {} if semantic is None else {"options": {"evaluations_semantic": semantic}}
    return {**whole, "evaluations": items, **options}


def test_a_batch_shares_defaults_and_reports_each_item(client: TestClient) -> None:
    answer = ask(client, batch(), "/access/v1/evaluations").json()["evaluations"]
    assert [each["decision"] for each in answer] == [True, False, False, True]
    assert answer[2]["context"]["error"]["status"] == 400


def test_the_order_semantics_stop_early(client: TestClient) -> None:
    def decisions(semantic: str) -> list[bool]:
        answer = ask(client, batch(semantic), "/access/v1/evaluations").json()["evaluations"]
        return [each["decision"] for each in answer]

    assert decisions("deny_on_first_deny") == [True, False]
    assert decisions("permit_on_first_permit") == [True]
    assert ask(client, batch("other"), "/access/v1/evaluations").status_code == 400


def test_a_batch_without_items_is_one_evaluation(client: TestClient) -> None:
    for body in (evaluation(path="notes/a"), {**evaluation(path="notes/a"), "evaluations": []}):
        assert ask(client, body, "/access/v1/evaluations").json()["decision"] is True


def test_the_metadata_names_the_endpoints(client: TestClient) -> None:
    found = client.get("/.well-known/authzen-configuration").json()
    assert found["policy_decision_point"] == "http://testserver"
    assert found["access_evaluation_endpoint"] == "http://testserver/access/v1/evaluation"
    assert found["access_evaluations_endpoint"] == "http://testserver/access/v1/evaluations"


def test_bobcats_own_json_is_that_of_requests(client: TestClient) -> None:
    request = {"tool": "read", "args": {"path": "notes/a"}, "context": {"principal": {"kind": "user", "id": "alice"}}}
    one = ask(client, request, "/v1/decide").json()
    assert (one["verdict"], one["matched_rules"], len(one["bundle"])) == ("allow", ["read"], 64)
    lines = "\n".join(json.dumps(each) for each in (request, {"tool": "nothing"}))
    many = client.post("/v1/decide-many", content=lines).text.splitlines()
    assert [json.loads(each)["verdict"] for each in many] == ["allow", "approve_required"]
    bad = client.post("/v1/decide-many", content=lines + "\n{}")
    assert (bad.status_code, "line 3" in bad.text) == (400, True)


def test_tokens_are_required_where_they_are_given(bundle: Path) -> None:
    client = TestClient(
        create_app(ReloadingPolicy(bundle, trust=None, every=0), tokens=Tokens(["another-token-entirely", TOKEN]))
    )
    body = evaluation(path="notes/a")
    for header in (None, "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN):
        headers = {} if header is None else {"Authorization": header}
        for path in ("/access/v1/evaluation", "/access/v1/evaluations", "/v1/decide", "/v1/decide-many"):
            answer = client.post(path, json=body, headers=headers)
            assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert client.get("/v1/policy", headers=headers).status_code == 401
    assert client.post("/access/v1/evaluation", json=body, headers={"Authorization": f"bearer {TOKEN}"}).is_success
    assert client.get("/health").text == "ok\n"


@pytest.mark.parametrize("tokens", [[], [""], ["short"], ["schlüssel-mit-umlaut"]])
def test_weak_tokens_are_refused(tokens: list[str]) -> None:
    with pytest.raises(ValueError, match="token"):
        Tokens(tokens)


def test_sizes_are_limited(bundle: Path) -> None:
    client = TestClient(
        create_app(ReloadingPolicy(bundle, trust=None, every=0), limits=Limits(max_bytes=2_000, max_items=2))
    )
    assert ask(client, evaluation(path="x" * 3_000)).status_code == 413
    assert ask(client, batch(), "/access/v1/evaluations").status_code == 413
    assert client.post("/v1/decide-many", content='{"tool":"a"}\n' * 3).status_code == 413


def test_the_rate_is_limited_for_each_client(bundle: Path) -> None:
    tokens = [TOKEN, TOKEN + "-2"]
    client = TestClient(
        create_app(ReloadingPolicy(bundle, trust=None, every=0), tokens=Tokens(tokens), limits=Limits(rate=0.001))
    )

    def status(token: str) -> int:
        return ask_with(client, token).status_code

    def ask_with(client: TestClient, token: str) -> Any:
        return client.post("/access/v1/evaluation", json=evaluation(), headers={"Authorization": f"Bearer {token}"})

    assert [status(tokens[0]), status(tokens[0]), status(tokens[1])] == [200, 429, 200]
    assert int(ask_with(client, tokens[0]).headers["Retry-After"]) > 0


def test_a_large_batch_is_answered_whole(client: TestClient) -> None:
    lines = "\n".join(json.dumps({"tool": "read", "args": {"path": "x" * 100}}) for _ in range(2_000))
    answer = client.post("/v1/decide-many", content=lines)
    assert (answer.status_code, len(answer.text.splitlines())) == (200, 2_000)


DENY = "rules: [{id: none, match: {tool: read}, decision: deny}]"


def test_a_new_file_replaces_the_policy_and_a_bad_one_does_not(bundle: Path) -> None:
    source = ReloadingPolicy(bundle, trust=None, every=0)
    client = TestClient(create_app(source))
    body = evaluation(path="notes/a")
    before = source.current.id
    assert source.refresh() is False

    bundle.write_bytes(b"damaged")
    assert source.refresh() is False
    assert (ask(client, body).json()["decision"], client.get("/health").text) == (True, "stale\n")
    assert "problem" in client.get("/v1/policy").json()
    assert client.get("/v1/policy").json()["bundle"] == before

    bundle.unlink()
    assert source.refresh() is False
    assert client.get("/health").text == "stale\n"

    Policy.compile(DENY).save(bundle)
    assert source.refresh() is True
    assert (ask(client, body).json()["decision"], client.get("/health").text) == (False, "ok\n")


def test_an_older_epoch_is_not_loaded(bundle: Path) -> None:
    Policy.compile(POLICY).save(bundle, epoch=5)
    source = ReloadingPolicy(bundle, trust=None, every=0)
    Policy.compile(DENY).save(bundle, epoch=4)
    assert source.refresh() is False
    assert source.current.epoch == 5
    assert "epoch" in str(source.status().problem)


def test_a_policy_that_fails_denies(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Callable[..., Any]:
        raise RuntimeError("broken")

    monkeypatch.setattr("bobcat.pdp.evaluate", broken)
    client = TestClient(create_app(ReloadingPolicy(bundle, trust=None, every=0)), raise_server_exceptions=False)
    answer = ask(client, evaluation(path="notes/a"))
    assert (answer.status_code, answer.json()["decision"]) == (200, False)
