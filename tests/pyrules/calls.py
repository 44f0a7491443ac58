"""Requests for Python rules, from seeds, and what a rule made of one: what two ways of running it must share."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Principal, ToolMetadata

TOOLS = [
    "read_file", "write_file", "delete_file", "send_email", "send_sms", "issue_refund", "query", "deploy", "shell",
    "fetch", "batch", "restart", "delete_row", "t",
]  # fmt: skip
TEXTS: dict[str, list[Any]] = {
    "path": ["", "a/b.py", "/srv/agent/x.md", "/srv/agent/../../etc/passwd", "../x", "/tmp/agent/.env", "a/.git/config",
             "/w/key.pem", "./a//b/../c.csv", "a/b/c/d/e/f/g", "con.txt", "/srv/secrets/k", "é/\U0001f600.py"],
    "source": ["a/b", "/a/c", "b/x", ""],
    "target": ["a/z", "/b", ""],
    "body": ["hello", "the Password is x", "my SECRET", "-----BEGIN RSA PRIVATE KEY-----", ""],
    "subject": ["hi", "Your password", "secret plans", "straße"],
    "text": ["short", "x" * 200, "é"],
    "channel": ["#general", "Random", "ext-acme", "#dev", "ANNOUNCEMENTS"],
    "from": ["alice", "bob", ""],
    "to": [["a@example.com"], ["A@EXAMPLE.org", "x@acme.test"], "a@example.com", ["no-address", "y@-bad.test"],
           ["x@globex.test"], [], ["a@example.com"] * 21],
    "cc": [[], ["b@example.org"] * 5],
    "bcc": [["spy@evil.test"], []],
    "sql": ["select * from orders", "SELECT 1; DROP TABLE x", "update customers set a=1", "delete from t where x=1",
            "  with q as (select 1) select * from q", "select * from users limit 5000", "-- hi\nselect 1", "",
            "insert into `products` values (1)", "grant all to x", "select * from orders LIMIT 10 ;"],
    "currency": ["EUR", "USD", "XXX", 5],
    "country": [" kp ", "DE", None, "ir"],
    "cmd": ["ls | grep x", "rm -rf /", "git push --force", "cat a && rm b", ":(){ :|:& };:", "ssh root@host x", "",
            "ls", "dd if=/dev/zero", "a\n; rm x", "deploy PROD"],
    "url": ["https://api.example.com/x", "http://a.test", "https://10.0.0.1/", "ftp://x", "localhost",
            "https://LOCALHOST:80/x", "https://www.example.org:443/a/b?c#d"],
    "name": ["a.log", "b.LOG", "x.log.txt", ""],
    "tenant": ["t1", "t2", None],
    "owner": ["alice", "bob", None],
    "reason": ["", "because"],
    "ticket": ["T-1", ""],
    "action": ["delete", ["batch", 1, 2, 3], ["batch"], None, "x"],
    "kind": ["disk", "vm"],
}  # fmt: skip
NUMBERS: list[Any] = [0, 1, 5, 50, 51, 499.5, 500, 1000, 2000, 5001, -3, 10**20, 0.1, 1e300, True, None, "12"]
ITEMS: list[Any] = [
    [], [1, [2, 3], "x"], [[1, 2], [3, 4]], [{"kind": "a"}, {"kind": "a"}, {"kind": "a"}, {}], [[[[1]]]], "text", None,
    [{"size": 5}], 7,
]  # fmt: skip


def request(rng: Random) -> ActionRequest:
    """A request whose arguments are mostly of the types that rules expect, and sometimes not."""
    args: dict[str, Any] = {}
    for name, values in TEXTS.items():
        if rng.random() < 0.55:
            args[name] = copy.deepcopy(rng.choice(values))
    for name in ("amount", "total", "percent", "cost", "issued", "size", "n", "m"):
        if rng.random() < 0.6:
            args[name] = rng.choice(NUMBERS)
    for name in ("items", "ids", "xs", "ys"):
        if rng.random() < 0.6:
            args[name] = copy.deepcopy(rng.choice(ITEMS))
    if rng.random() < 0.5:
        args["ids"] = [rng.choice([1, 2, 3, "a", 1.0, True]) for _ in range(rng.randrange(4))]
    if rng.random() < 0.6:
        args["paths"] = [rng.choice(TEXTS["path"]) for _ in range(rng.randrange(3))]
    if rng.random() < 0.6:
        args["customer"] = rng.choice([{}, {"tier": "gold"}, {"tier": "silver"}, {"tier": "?"}])
    if rng.random() < 0.6:
        args["lines"] = [
            {"price": rng.choice([1, 2.5, 10]), "count": rng.randrange(3)} for _ in range(rng.randrange(3))
        ]
    if rng.random() < 0.6:
        args["parts"] = [{"amount": rng.choice([10, 10.05, 99])} for _ in range(rng.randrange(4))]
    if rng.random() < 0.4:
        args["attachments"] = [{"size": rng.choice([1, 6_000_000])} for _ in range(rng.randrange(3))]
    if rng.random() < 0.3:
        args = {"action": "delete", "target": {"kind": "disk", "id": rng.choice([0, 7, True, "7"])}, **args}
    if rng.random() < 0.1 and args:
        args[rng.choice(list(args))] = rng.choice([None, 5, [], {}, "x", 1.5, True, "\U0001f600é"])
    return ActionRequest(
        tool=rng.choice(TOOLS),
        args=args,
        declared=ToolMetadata(
            cost=rng.choice(["low", "medium", "high", "huge"]),  # type: ignore[arg-type]  # any string is a request
            reversible=rng.random() < 0.5,
            scope=rng.choice([(), ("fs",), ("net", "mail")]),
            blast_radius_hint=rng.choice([None, 1, 500]),
            has_shadow=rng.random() < 0.5,
            isolation=rng.choice([None, "subprocess"]),
        ),
        context=context(rng),
    )


def context(rng: Random) -> ExecutionContext:
    """A context at some hour of some day, in some zone."""
    zone = rng.choice([UTC, UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))])
    start = rng.choice([datetime(2026, 1, 31, tzinfo=zone), datetime(2026, 12, 25, tzinfo=zone)])
    extra: dict[str, Any] = {}
    if rng.random() < 0.7:
        extra["scopes"] = rng.choice([[], ["read"], ["read", "write"], ["write", "prod"]])
    if rng.random() < 0.5:
        extra["budget"] = rng.choice([{}, {"spent": 5, "limit": 50}, {"limit": 0}])
    if rng.random() < 0.5:
        extra["tenant"] = rng.choice(["t1", "t2"])
    if rng.random() < 0.5:
        extra["role"] = rng.choice(["viewer", "editor", "owner", "?"])
    if rng.random() < 0.5:
        extra["calls"] = [1] * rng.randrange(5)
    return ExecutionContext(
        principal=Principal(
            rng.choice(["user", "service", "agent"]),  # type: ignore[arg-type]  # one of the kinds
            rng.choice(["alice", "bob", "eve"]),
            rng.choice([None, "Al"]),
        ),
        environment=rng.choice(["dev", "staging", "prod"]),
        workspace=rng.choice(["/w", "/srv/agent", "."]),
        correlation_id=rng.choice(["", "c-1"]),
        step_seq=rng.choice([0, 1, 21]),
        timestamp=start + timedelta(minutes=rng.randrange(60 * 24 * 9), microseconds=rng.choice([0, 123_456])),
        extra=extra,
    )


def typed(value: Any) -> Any:
    """A value with its types: `1`, `1.0` and `True` are three."""
    if isinstance(value, dict):
        return "dict", [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value).__mro__[-2].__name__, [typed(item) for item in value]
    return type(value).__name__, repr(value)


def outcome(rule: Callable[..., Any], call: ActionRequest) -> Any:
    """The result of a callable for a request: the parts of a decision, the name of an exception, or another answer."""
    call = copy.deepcopy(call)
    try:
        answer = rule(call, call.context)
    except Exception as error:
        return "raises", type(error).__name__
    if not isinstance(answer, Decision):
        return "returns", typed(answer)
    return (
        "decides",
        str(answer.verdict),
        typed(answer.reason),
        typed(answer.matched_rules),
        typed(answer.approvers),
        typed(answer.timeout_seconds),
        typed(answer.transform_args),
    )
