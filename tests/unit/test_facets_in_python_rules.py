"""Rules in Python that read parts of texts, compiled and as host rules."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from bobcat import ActionRequest, Decision, ExecutionContext, Request, allow, compile_policy, deny, facets, rule
from bobcat.errors import PolicyCompileError
from bobcat.facets import Undecidable, path, semver, shell, sql, url


@rule
def fetches(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    if request.tool == "fetch" and url(request.args["link"]).host == "api.example.com":
        return allow()
    return None


@rule
def commands(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    if request.tool == "shell":
        if "rm" in shell(request.args["cmd"]).programs:
            return deny("removes")
        return allow()
    return None


@rule
def parts(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    if request.tool != "parts":
        return None
    x = request.args["x"]
    if path(x).components == ["srv", "a.txt"] and path(x).suffix == ".txt" and path(x).is_absolute:
        return allow(path(x).normal)
    return None


@rule
def versions(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    if (
        request.tool == "version"
        and semver(request.args["v"]).major >= 2
        and facets.semver(request.args["v"]).minor < 5
    ):
        return allow()
    return None


@rule
def queries(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    if request.tool == "query" and sql(request.args["q"]).kind == "select" and "a" in sql(request.args["q"]).tables:
        return allow()
    return None


@pytest.fixture(scope="module")
def policy() -> Any:
    rules = [fetches, commands, parts, versions, queries]
    return compile_policy("defaults: {on_no_match: deny, on_missing_shadow: deny}\n", python_rules=rules)


@pytest.mark.parametrize(
    ("tool", "args", "verdict", "matched"),
    [
        ("fetch", {"link": "https://API.example.com/x"}, "allow", ("fetches",)),
        ("fetch", {"link": "https://api.example.com@evil.example/"}, "deny", ("<default:on_missing_shadow>",)),
        ("fetch", {"link": "urn:a:b"}, "deny", ("<default:on_missing_shadow>",)),
        ("fetch", {"link": "http://127.1/"}, "deny", ("<rule_error:fetches:undecidable>",)),
        ("fetch", {"link": 5}, "deny", ("<rule_error:fetches:TypeError>",)),
        ("shell", {"cmd": "ls; cat a"}, "allow", ("commands",)),
        ("shell", {"cmd": "ls; sudo rm a"}, "deny", ("commands",)),
        ("shell", {"cmd": "ls $(rm a)"}, "deny", ("<rule_error:commands:undecidable>",)),
        ("query", {"q": "SELECT * FROM a"}, "allow", ("queries",)),
        ("query", {"q": "SELECT * FROM b"}, "deny", ("<default:on_missing_shadow>",)),
        ("query", {"q": "SELECT 1; SELECT 2"}, "deny", ("<rule_error:queries:undecidable>",)),
        ("parts", {"x": "/srv/./a.txt"}, "allow", ("parts",)),
        ("parts", {"x": "srv/a.txt"}, "deny", ("<default:on_missing_shadow>",)),
        ("version", {"v": "2.4.0-rc"}, "allow", ("versions",)),
        ("version", {"v": "2.5.0"}, "deny", ("<default:on_missing_shadow>",)),
    ],
)
def test_a_compiled_rule_reads_a_part(
    policy: Any, tool: str, args: dict[str, Any], verdict: str, matched: tuple[str, ...]
) -> None:
    found = policy.evaluate(Request(tool, args))
    assert (found.verdict, found.matched_rules) == (verdict, matched)


def test_an_unknown_part_is_a_finding_with_the_known_ones() -> None:
    @rule
    def wrong(request: ActionRequest, context: ExecutionContext) -> Decision | None:
        return deny("x") if url(request.args["link"]).hots == "a" else None

    with pytest.raises(PolicyCompileError) as caught:
        compile_policy("rules: []", python_rules=[wrong])
    assert "`hots`, which `url` does not have" in str(caught.value)
    assert "is_private" in str(caught.value)


def test_outside_of_a_rule_the_functions_return_parts_or_raise() -> None:
    found = url("https://u@a.example/")
    assert (found.host, found.userinfo, found.port) == ("a.example", "u", 443)
    assert url("urn:a:b").host is None
    assert sql("TRUNCATE a").tables == ["a"]
    with pytest.raises(Undecidable, match="sql_part"):
        _ = sql("VACUUM").tables
    with pytest.raises(AttributeError):
        _ = found.hots
    with pytest.raises(TypeError):
        url(5)  # type: ignore[arg-type]
    with pytest.raises(Undecidable) as caught:
        path("a/../..")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.at) == ("path_climbs", 5)
