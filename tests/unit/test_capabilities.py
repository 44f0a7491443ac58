"""Capabilities and resources: the rules that they become, what these permit, and what a mistake is answered with."""

from __future__ import annotations

import fnmatch
import json
import posixpath
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import PolicyCompileError, PolicyWarning, Request, compile_policy, load_bundle, request_from_json
from bobcat.build import Policy, args, capability, tool, when
from bobcat.bundle.model import PolicyBundle
from bobcat.frontend.strict.json_schema import policy_schema
from bobcat.lint.check import check_source

RESOURCES = {
    "ws": {"kind": "path", "root": "./workspace"},
    "data": {"kind": "path", "root": "/srv/data"},
    "all": {"kind": "path", "root": "/"},
    "here": {"kind": "path", "root": "."},
    "api": {"kind": "http", "base": "https://api.example.com"},
    "v2": {"kind": "http", "base": "https://api.example.com:8443/v2/"},
    "any": {"kind": "http", "base": "https://*.example.com"},
}
PATH = "args.path.path"
OUT = {"args.path.path.within": "./workspace/out"}
API = {
    "args.url.url.scheme": "https",
    "args.url.url.host": "api.example.com",
    "args.url.url.port": 443,
    "args.url.url.userinfo.exists": False,
    "args.redirects": "none",
}

PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"action": "fs.read", "resource": "ws:out/**"}, OUT),
    ({"action": "fs.list", "resource": "ws:**"}, {"args.path.path.within": "./workspace"}),
    ({"action": "fs.stat", "resource": "here:**"}, {"args.path.path.within": "."}),
    ({"action": "fs.read", "resource": "all:**"}, {"args.path.path.within": "/"}),
    ({"action": "fs.read", "resource": "/srv/data/in/**"}, {"args.path.path.within": "/srv/data/in"}),
    ({"action": "fs.read", "resource": "./notes/**"}, {"args.path.path.within": "./notes"}),
    (
        {"action": "fs.read", "resource": "ws:*.csv"},
        {f"{PATH}.within": "./workspace", f"{PATH}.components.length": 2, f"{PATH}.name.glob": "*.csv"},
    ),
    (
        {"action": "fs.read", "resource": "data:in/*"},
        {"args.path.path.within": "/srv/data/in", "args.path.path.components.length": 4},
    ),
    (
        {"action": "fs.read", "resource": "data:**/*.{md,txt}"},
        {f"{PATH}.within": "/srv/data", f"{PATH}.components.length.ge": 3, f"{PATH}.name.glob": "*.{md,txt}"},
    ),
    (
        {"action": "fs.read", "resource": "data:**/README"},
        {f"{PATH}.within": "/srv/data", f"{PATH}.components.length.ge": 3, f"{PATH}.name.glob": "README"},
    ),
    (
        {"action": "fs.read", "resource": "ws:notes/plan.md"},
        {f"{PATH}.components.eq": ["workspace", "notes", "plan.md"], f"{PATH}.is_absolute": False},
    ),
    (
        {"action": "fs.read", "resource": ["ws:out/**", "data:**"], "max_bytes": "64KiB"},
        {"any_of": [OUT, {"args.path.path.within": "/srv/data"}], "args.max_bytes.between": [0, 65536]},
    ),
    (
        {"action": "fs.write", "resource": "ws:out/**", "undo": "required", "max_bytes": "10MB"},
        {**OUT, "declared.scope.contains": "undo", "args.content.byte_length.le": 10_000_000},
    ),
    ({"action": "fs.append", "resource": "ws:out/**", "max_bytes": 5}, {**OUT, "args.content.byte_length.le": 5}),
    (
        {"action": "fs.move", "resource": "ws:out/**"},
        {**OUT, "args.to.path.within": "./workspace/out"},
    ),
    ({"action": "proc.run", "program": "git", "argv": ["status"]}, {"args.program": "git", "args.argv.eq": ["status"]}),
    (
        {"action": "proc.run", "program": ["git", "ls"], "argv": {"first.in": ["log"], "none.starts_with": "-c"}},
        {"args.program.in": ["git", "ls"], "args.argv.first.in": ["log"], "args.argv.none.starts_with": "-c"},
    ),
    (
        {"action": "proc.run", "program": "git", "argv": {"first": {"in": ["log"]}, "length": 2}, "timeout_seconds": 2},
        {
            "args.program": "git",
            "args.argv.first.in": ["log"],
            "args.argv.length": 2,
            "args.timeout_seconds.between": [0, 2],
        },
    ),
    (
        {"action": "proc.run", "program": "git", "argv": {"first": "log", "length": 2}},
        {"args.program": "git", "args.argv.first.eq": "log", "args.argv.length": 2},
    ),
    ({"action": "net.http", "resource": "api:/**"}, API),
    ({"action": "net.http", "resource": "api:/v1/**"}, {**API, "args.url.url.path.starts_with": "/v1/"}),
    ({"action": "net.http", "resource": "api:/v1"}, {**API, "args.url.url.path": "/v1"}),
    ({"action": "net.http", "resource": "api:/v1/*/x"}, {**API, "args.url.url.path.glob": "/v1/*/x"}),
    ({"action": "net.http", "resource": "https://api.example.com/v1/**"},
     {**API, "args.url.url.path.starts_with": "/v1/"}),
    (
        {"action": "net.http", "resource": "v2:/u/**", "methods": ["GET", "HEAD"], "redirects": "judged"},
        {
            **API,
            "args.url.url.port": 8443,
            "args.url.url.path.starts_with": "/v2/u/",
            "args.method.in": ["GET", "HEAD"],
            "args.redirects": None,
        },
    ),
    ({"action": "mcp.call", "server": "s", "tools": ["a", "b"]}, {"args.server": "s", "args.tool.in": ["a", "b"]}),
    ({"action": "mcp.call", "server": ["s", "t"]}, {"args.server.in": ["s", "t"]}),
    (
        {"action": "sql.query", "database": "main", "max_rows": 10},
        {"args.database": "main", "args.max_rows.between": [0, 10]},
    ),
    (
        {"action": "sql.query", "database": "main", "statements": ["select"]},
        {"args.database": "main", "args.query.sql.kind": "select"},
    ),
    (
        {"action": "sql.execute", "database": ["a", "b"], "statements": ["insert", "update"]},
        {"args.database.in": ["a", "b"], "args.statement.sql.kind.in": ["insert", "update"]},
    ),
]  # fmt: skip


def compiled(*capabilities: dict[str, Any], **more: Any) -> PolicyBundle:
    return compile_policy({"resources": RESOURCES, "capabilities": list(capabilities), **more})


def by_hand(made: dict[str, Any], match: dict[str, Any], **more: Any) -> dict[str, Any]:
    match = {"tool": made["action"], **match}
    if match.get("args.redirects", "") is None:
        del match["args.redirects"]
        match["args.redirects.in"] = ["none", "judged"]
    return {"id": f"cap-1-{made['action']}", "match": match, "decision": "allow", **more}


@pytest.mark.parametrize(("made", "match"), PAIRS, ids=[f"{c['action']} {c.get('resource', '')}" for c, _ in PAIRS])
def test_a_capability_has_the_digest_of_the_rule_by_hand(made: dict[str, Any], match: dict[str, Any]) -> None:
    written = compile_policy({"rules": [by_hand(made, match)]})
    assert compiled(made).id == written.id
    assert load_bundle(compiled(made).to_bytes()).id == written.id


@pytest.mark.parametrize(("made", "match"), PAIRS, ids=[f"{c['action']} {c.get('resource', '')}" for c, _ in PAIRS])
def test_a_capability_built_in_python_is_the_one_of_yaml(made: dict[str, Any], match: dict[str, Any]) -> None:
    keys = {name: value for name, value in made.items() if name != "action"}
    assert Policy(capability(made["action"], **keys), resources=RESOURCES).compile().id == compiled(made).id


def test_the_keys_of_rules_are_passed_on() -> None:
    more = {
        "id": "notes",
        "description": "for people",
        "priority": 3,
        "reason": "why",
        "decision": "approve_required",
        "approvers": ["ann", "bob"],
        "approvals_needed": 2,
        "approval_timeout_seconds": 60,
    }
    rule = {**more, "timeout_seconds": more["approval_timeout_seconds"], "match": {"tool": "fs.read", **OUT}}
    del rule["approval_timeout_seconds"]
    bundle = compiled({"action": "fs.read", "resource": "ws:out/**", **more})
    assert bundle.id == compile_policy({"rules": [rule]}).id
    assert [(found.id, found.description) for found in bundle.rules] == [("notes", "for people")]


def test_several_actions_are_rules_of_their_own() -> None:
    both = {"action": ["fs.read", "fs.list"], "resource": "ws:out/**"}
    assert [rule.id for rule in compiled(both, {**both, "id": "out"}).rules] == [
        "cap-1-fs.read",
        "cap-1-fs.list",
        "out-fs.read",
        "out-fs.list",
    ]


def decided(bundle: PolicyBundle, name: str, arguments: dict[str, Any], scope: tuple[str, ...] = ()) -> str:
    declared = {"cost": "low", "reversible": True, "scope": list(scope)}
    decision = bundle.evaluate(request_from_json({"tool": name, "args": arguments, "declared": declared}))
    return f"{decision.verdict.value} {decision.matched_rules[0]}"


def test_a_rule_that_denies_decides_before_capabilities_and_other_calls_are_denied() -> None:
    bundle = compiled(
        {"action": "fs.read", "resource": "ws:**"},
        rules=[{"id": "no-keys", "match": {"args.path.path.suffix": ".pem"}, "decision": "deny"}],
    )
    assert decided(bundle, "fs.read", {"path": "workspace/a.txt"}) == "allow cap-1-fs.read"
    assert decided(bundle, "fs.read", {"path": "workspace/a.pem"}) == "deny no-keys"
    assert decided(bundle, "fs.read", {"path": "other/a.txt"}) == "deny <default:on_no_match>"
    assert decided(bundle, "fs.write", {"path": "workspace/a.txt"}) == "deny <default:on_no_match>"


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("ws:out/**", ["workspace/out", "./workspace/out/a/b", "workspace//x/../out/a"],
         ["workspace/outer/a", "workspace/out/../a", "/workspace/out/a", "../workspace/out/a", "out/a", "workspace"]),
        ("ws:*.csv", ["workspace/a.csv", "workspace/.csv"], ["workspace/a/b.csv", "workspace/a.csv.txt", "a.csv"]),
        ("ws:**/*.csv", ["workspace/a.csv", "workspace/b/c/a.csv"], ["a.csv", "workspace/b.csv/a", "workspace"]),
        ("ws:a/*", ["workspace/a/b"], ["workspace/a", "workspace/a/b/c", "workspace/b/a"]),
        ("ws:a/b", ["workspace/a/b", "./workspace/c/../a/b"], ["workspace/a/b/c", "/workspace/a/b", "workspace/a"]),
        ("data:**", ["/srv/data", "/srv/data/x"], ["srv/data/x", "/srv/database", "/srv/data/../x", "//srv/data/x"]),
        ("data:a\u0301/**", [], ["/srv/data/\u00e1/x"]),
    ],
)  # fmt: skip
def test_a_pattern_of_paths_permits_what_lies_in_it(pattern: str, inside: list[str], outside: list[str]) -> None:
    if not inside:
        with pytest.raises(PolicyCompileError, match="E0217"):
            compiled({"action": "fs.read", "resource": pattern})
        return
    bundle = compiled({"action": "fs.read", "resource": pattern})
    for path in inside:
        assert decided(bundle, "fs.read", {"path": path}).startswith("allow"), path
    for path in outside:
        assert decided(bundle, "fs.read", {"path": path}).startswith("deny"), path


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("api:/v1/**", ["https://api.example.com/v1/a?q=1", "https://API.example.com:443/v1/"],
         ["https://api.example.com/v1", "https://api.example.com/v1/../v2", "http://api.example.com/v1/a",
          "https://api.example.com:8443/v1/a", "https://a@api.example.com/v1/a", "https://api.example.com.evil.example/v1/a",
          "https://evil.example/https://api.example.com/v1/", "https://api.example.com\\@evil.example/v1/"]),
        ("any:/**", ["https://a.example.com/", "https://a.b.example.com/x"],
         ["https://example.com/", "https://badexample.com/", "https://a.example.com.evil.example/"]),
        ("api:/u/*/name", ["https://api.example.com/u/1/name"],
         ["https://api.example.com/u/1/2/name", "https://api.example.com/u/1%2f2/name"]),
    ],
)  # fmt: skip
def test_a_pattern_of_urls_permits_what_lies_in_it(pattern: str, inside: list[str], outside: list[str]) -> None:
    bundle = compiled({"action": "net.http", "resource": pattern, "methods": "GET"})
    given = {"method": "GET", "redirects": "none"}
    for url in inside:
        assert decided(bundle, "net.http", {"url": url, **given}).startswith("allow"), url
    for url in outside:
        assert decided(bundle, "net.http", {"url": url, **given}).startswith("deny"), url
    for more in ({"method": "POST"}, {"redirects": "judged"}):
        assert decided(bundle, "net.http", {"url": inside[0], **given, **more}).startswith("deny")


def test_undo_is_required_of_the_tool_and_bytes_are_counted_in_utf_8() -> None:
    bundle = compiled({"action": "fs.write", "resource": "ws:out/**", "undo": "required", "max_bytes": 4})
    call = {"path": "workspace/out/a", "content": "éé"}
    assert decided(bundle, "fs.write", call, ("undo",)).startswith("allow")
    assert decided(bundle, "fs.write", call).startswith("deny")
    assert decided(bundle, "fs.write", {**call, "content": "ééé"}, ("undo",)).startswith("deny")


def test_a_rule_can_require_undo() -> None:
    match = {"tool": "fs.write"}
    for decision in ("allow", "approve_required"):
        rule = {"id": "r", "match": match, "decision": decision}
        hand = {**rule, "match": {**match, "declared.scope.contains": "undo"}}
        assert compile_policy({"rules": [{**rule, "undo": "required"}]}).id == compile_policy({"rules": [hand]}).id
    assert (
        Policy(when(tool == "x").allow(id="r", undo="required")).compile().id
        == compile_policy({"rules": [{"id": "r", "match": {"tool": "x"}, "undo": "required", "decision": "allow"}]}).id
    )
    with pytest.raises(PolicyCompileError, match="E0208"):
        compile_policy({"rules": [{"match": match, "undo": "required", "decision": "deny"}]})
    with pytest.raises(PolicyCompileError, match="`maybe` is not a value of `undo`"):
        compile_policy({"rules": [{"match": match, "undo": "maybe", "decision": "allow"}]})


def test_within_takes_the_name_of_a_resource() -> None:
    rule = {"match": {"args.p.path.within": ["ws", "/srv"]}, "decision": "allow"}
    written = {**rule, "match": {"args.p.path.within": ["./workspace", "/srv"]}}
    assert compile_policy({"resources": RESOURCES, "rules": [rule]}).id == compile_policy({"rules": [written]}).id
    built = Policy(when(args.p.path().within("ws", "/srv")).allow(), resources=RESOURCES)
    assert built.compile().id == compile_policy({"rules": [written]}).id
    for name, words in [("wz", "did you mean the resource `ws`"), ("other", "write `./other`"), ("api", "E0218")]:
        with pytest.raises(PolicyCompileError, match=words):
            compile_policy(
                {"resources": RESOURCES, "rules": [{"match": {"args.p.path.within": name}, "decision": "allow"}]}
            )


HEAD = "resources: {ws: {kind: path, root: ./w}, api: {kind: http, base: https://a.example}}\n"


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        ("capabilities: {action: fs.read}", "E0204", 2, 15, "put `- ` before each capability"),
        ("capabilities: [fs.read]", "E0204", 2, 16, "write `{action: fs.read"),
        ("capabilities: [{resource: 'ws:**'}]", "E0203", 2, 17, "write `action:`"),
        ("capabilities: [{action: fs.reed, resource: 'ws:**'}]", "E0206", 2, 25, "did you mean `fs.read`?"),
        ("capabilities: [{action: deploy}]", "E0206", 2, 25, "permit the calls of other tools by a rule"),
        ("capabilities: [{action: []}]", "E0204", 2, 25, "a list of strings"),
        ("capabilities: [{action: fs.read}]", "E0203", 2, 17, 'write `resource: "ws:**"`'),
        ("capabilities: [{action: fs.read, path: 'ws:**'}]", "E0202", 2, 34, "did you mean `resource`?"),
        ("capabilities: [{action: fs.list, resource: 'ws:**', max_bytes: 5}]", "E0202", 2, 53, "no key `max_bytes`"),
        ("capabilities: [{action: fs.read, resource: 'ws'}]", "E0217", 2, 44, "write `ws:**`"),
        ("capabilities: [{action: fs.read, resource: 'sw:**'}]", "E0215", 2, 44, "did you mean `ws`?"),
        ("capabilities: [{action: fs.read, resource: 'w/out/**'}]", "E0217", 2, 44, "write `./w/out/**`"),
        ("capabilities: [{action: fs.read, resource: '~/x/**'}]", "E0217", 2, 44, "begins with neither"),
        ("capabilities: [{action: fs.read, resource: 'ws:../x/**'}]", "E0217", 2, 44, "are no names"),
        ("capabilities: [{action: fs.read, resource: 'ws:*/x'}]", "E0217", 2, 44, "write `DIR/**`"),
        ("capabilities: [{action: fs.read, resource: 'ws:a**'}]", "E0217", 2, 44, "write `*` for a part"),
        ("capabilities: [{action: fs.read, resource: 'ws:[a'}]", "E0217", 2, 44, "is not closed"),
        ("capabilities: [{action: fs.read, resource: 'ws:a\\b/**'}]", "E0217", 2, 44, "separator"),
        ("capabilities: [{action: fs.read, resource: []}]", "E0204", 2, 44, "an empty list"),
        ("capabilities: [{action: net.http, resource: 'api:v1/**'}]", "E0217", 2, 45, "write `api:/v1/**`"),
        ("capabilities: [{action: net.http, resource: 'https://a.*.com/**'}]", "E0217", 2, 45, "as in `*.example.com`"),
        ("capabilities: [{action: net.http, resource: 'https://u@a.com/**'}]", "E0217", 2, 45, "a user in front"),
        ("capabilities: [{action: net.http, resource: 'ftp://a.com/**'}]", "E0217", 2, 45, "its scheme"),
        ("capabilities: [{action: net.http, resource: 'ws:/**'}]", "E0218", 2, 45, "name one of the kind `http`"),
        ("capabilities: [{action: net.http, resource: 'api:/a/../b'}]", "E0217", 2, 45, "is not a pattern of a URL"),
        ("capabilities: [{action: net.http, resource: 'api:/**', methods: [get]}]", "E0206", 2, 65, "write `GET`"),
        ("capabilities: [{action: net.http, resource: 'api:/**', redirects: juged}]", "E0206", 2, 67, "`judged`?"),
        ("capabilities: [{action: proc.run, program: git, argv: {frst.in: [a]}}]", "E0303", 2, 56, "write `first.in"),
        ("capabilities: [{action: proc.run, program: git, argv: status}]", "E0204", 2, 55, "first.in: [status, log]"),
        ("capabilities: [{action: proc.run, program: git, timeout_seconds: soon}]", "E0204", 2, 66, "a number"),
        ("capabilities: [{action: fs.read, resource: 'ws:**', max_bytes: 10 tons}]", "E0204", 2, 64, "`MB`"),
        ("capabilities: [{action: fs.read, resource: 'ws:**', decision: deny}]", "E0206", 2, 63, "`approve_required`"),
        ("capabilities: [{action: fs.read, resource: 'ws:**', undo: yes}]", "E0206", 2, 59, "`required`"),
        ("capabilities: [{action: fs.read, resource: 'ws:**', approvers: [a]}]", "E0208", 2, 53, "approve_required"),
        ("capabilities: [{action: mcp.call, server: s, tools: []}]", "E0204", 2, 53, "an empty list"),
        ("capabilities: [{id: a, action: fs.read, resource: 'ws:**'}, {id: a, action: fs.list, resource: 'ws:**'}]",
         "E0210", 2, 66, "unique id"),
        ("capability: []", "E0202", 2, 1, "did you mean `capabilities`?"),
    ],
)  # fmt: skip
def test_a_mistake_has_a_place_and_a_suggestion(text: str, code: str, line: int, column: int, words: str) -> None:
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy(HEAD + text, "p.yaml")
    [item] = caught.value.diagnostics
    assert item.span is not None
    assert (item.code, item.span.line, item.span.column) == (code, line, column)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("resource", "code", "words"),
    [
        ("{kind: path}", "E0203", "write `root: ./workspace`"),
        ("{root: ./w}", "E0203", "write `kind: path`"),
        ("{kind: dir, root: ./w}", "E0206", "did you mean `path`?"),
        ("{kind: path, root: w}", "E0216", "write `./w`"),
        ("{kind: path, root: ../w}", "E0216", "leaves the directory"),
        ("{kind: path, root: ~/w}", "E0216", "home of a user"),
        ("{kind: path, root: ./w, base: x}", "E0202", "has no key `base`"),
        ("{kind: http, base: a.example}", "E0216", "https://HOST/PATH"),
        ("{kind: http, base: 'https://a.example/*'}", "E0216", "patterns stand in capabilities"),
        ("{kind: http, base: 'https://a.example/?q=1'}", "E0216", "without a query"),
        ("{kind: http, base: 'https://*.127.0.0.1/'}", "E0216", "no names are below an address"),
        ("{kind: http, base: 'https://a.*/'}", "E0216", "as in `*.example.com`"),
        ("./w", "E0204", "write `{kind: path"),
    ],
)
def test_a_resource_that_cannot_be_one(resource: str, code: str, words: str) -> None:
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy(f"resources:\n  ws: {resource}\n", "p.yaml")
    assert [item.code for item in caught.value.diagnostics] == [code]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{action: fs.write, resource: 'ws:**'}", "`ws:**` permits more"),
        ("{action: fs.read, resource: 'ws:**'}", None),
        ("{action: fs.write, resource: 'ws:out/**'}", None),
        ("{action: fs.write, resource: 'ws:*.txt'}", None),
        ("{action: fs.read, resource: '/**'}", "every file of the machine"),
        ("{action: net.http, resource: 'https://*.com/**'}", "can register a name below `com`"),
        ("{action: net.http, resource: 'https://*.co.uk/**'}", "below `co.uk`"),
        ("{action: net.http, resource: 'https://*.github.io/**'}", "below `github.io`"),
        ("{action: net.http, resource: 'https://*.example.com/**'}", None),
        ("{action: net.http, resource: 'https://*.example.com/**', redirects: judged}", "redirects lead to any name"),
        ("{action: net.http, resource: 'http://a.example/**'}", "write `https`"),
        ("{action: net.http, resource: 'http://127.0.0.1:8000/**'}", None),
        ("{action: proc.run, program: bash}", "runs what its arguments say"),
        ("{action: proc.run, program: [git, python3]}", "`python3` runs"),
        ("{action: proc.run, program: bash, argv: [./build.sh]}", None),
        ("{action: proc.run, program: git}", None),
        ("{action: mcp.call, server: s}", "every tool of the server"),
        ("{action: mcp.call, server: s, tools: a}", None),
        ("{action: sql.execute, database: a}", "every statement may be executed"),
        ("{action: sql.execute, database: a, statements: insert}", None),
        ("{action: sql.query, database: a}", None),
    ],
)
def test_a_broad_capability_is_found(text: str, found: str | None) -> None:
    checked = check_source(f"{HEAD}capabilities: [{text}]", "p.yaml")
    findings = [f"{item.message}; {item.help}" for item in checked if item.code == "W0144"]
    if found is None:
        assert findings == []
    else:
        assert len(findings) == 1
        assert found in findings[0]


def test_a_policy_built_in_python_reports_the_line_of_a_capability() -> None:
    broken = capability("fs.reed", resource="ws:**")
    with pytest.raises(PolicyCompileError) as caught:
        Policy(broken, resources=RESOURCES).compile()
    item = caught.value.diagnostics[-1]
    assert item.span is not None
    assert item.span.file == __file__
    assert "did you mean `fs.read`?" in str(caught.value)
    with pytest.raises(PolicyCompileError, match="E0216"):
        Policy(resources={"ws": {"kind": "path", "root": "w"}}).compile()


def test_policies_with_resources_are_joined_and_compared() -> None:
    first = Policy(capability("fs.read", resource="ws:**"), resources=RESOURCES)
    assert first == Policy(capability("fs.read", resource="ws:**"), resources=RESOURCES)
    assert len(first + Policy(when(tool == "x").deny())) == 2
    assert "capability('fs.read', resource='ws:**')" in repr(first)
    with pytest.raises(TypeError, match="a resource `ws`"):
        first + Policy(resources={"ws": {"kind": "path", "root": "/"}})


def test_a_capability_in_a_mapping_has_a_path_in_it() -> None:
    with pytest.raises(PolicyCompileError) as caught:
        compiled({"action": "fs.read", "resource": "no:**"})
    item = caught.value.diagnostics[-1]
    assert item.span is not None
    assert item.span.path == "$.capabilities[0].resource"
    bundle = compiled({"action": "fs.read", "resource": "ws:**"})
    explained = bundle.explain(request_from_json({"tool": "fs.read", "args": {"path": "workspace/a"}}))
    assert [str(rule.span.path) for rule in explained.rules if rule.span is not None] == ["$.capabilities[0]"]


def test_the_lynx_profile_has_no_capabilities() -> None:
    text = "capabilities: [{action: fs.read, resource: '/srv/**'}]\nrules: []\n"
    with pytest.warns(PolicyWarning, match="unused `capabilities`"):
        assert len(compile_policy(text, profile="lynx").rules) == 0


def test_a_capability_in_a_text_has_its_lines_and_the_places_of_its_keys() -> None:
    text = f"{HEAD}capabilities:\n  - action: fs.write\n    resource: ws:out/**\n    max_bytes: 5\n\nrules: []\n"
    bundle = compile_policy(text, "p.yaml")
    span = bundle.rules[0].span
    assert span is not None
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 5, 5, 17)
    source_map = bundle.source_map
    assert source_map is not None
    leaves = {(at.line, at.column) for number in range(3) if (at := source_map.leaf_span(0, number)) is not None}
    assert leaves == {(3, 5), (4, 5), (5, 5)}
    assert bundle.rules[0].source_location == "p.yaml:capabilities[0]"


def test_other_calls_are_denied_or_asked_for() -> None:
    made = {"action": "fs.read", "resource": "ws:**"}
    assert decided(compiled(made), "fs.delete", {"path": "workspace/a"}) == "deny <default:on_no_match>"
    worst = Request("fs.delete", {"path": "workspace/a"})
    assert str(compiled(made).evaluate(worst).verdict) == "approve_required"
    assert str(compiled(made, defaults={"on_missing_shadow": "deny"}).evaluate(worst).verdict) == "deny"


@pytest.mark.parametrize(("made", "match"), PAIRS, ids=[f"{c['action']} {c.get('resource', '')}" for c, _ in PAIRS])
def test_a_capability_has_no_other_findings_and_fits_the_schema(made: dict[str, Any], match: dict[str, Any]) -> None:
    named = {name: item for name, item in RESOURCES.items() if f"{name}:" in str(made.get("resource"))}
    policy = {"resources": named, "capabilities": [made]}
    assert {item.code for item in check_source(json.dumps(policy), "p.yaml")} <= {"W0144"}
    jsonschema.Draft202012Validator(policy_schema()).validate(policy)


NAMES = st.sampled_from(
    ["a", "b.csv", "*", "**", "*.csv", "..", ".", "", "a*", "[a", "{a,b}.csv", "~", "é", "a\\b", "x "]
)
PATTERNS = st.builds(
    lambda start, names: start + "/".join(names),
    st.sampled_from(
        ["ws:", "ws:", "data:", "/srv/", "./", "api:", "api:/", "https://a.example/", "", "nobody:", "x://"]
    ),
    st.lists(NAMES, min_size=1, max_size=3),
)
MADE = st.fixed_dictionaries(
    {"action": st.sampled_from(["fs.read", "fs.write", "fs.move", "net.http", "proc.run", "mcp.call", "fs.x", 5, []])},
    optional={
        "resource": PATTERNS | st.lists(PATTERNS, max_size=2) | st.none(),
        "max_bytes": st.sampled_from([5, "5KB", "x", -1, None, 1.5]),
        "program": st.sampled_from(["git", ["a", "b"], [], ""]),
        "argv": st.sampled_from([{"first.in": ["a"]}, {"first": {"in": ["a"]}}, ["a"], {}, {"x": 1}, "a"]),
        "methods": st.sampled_from(["GET", ["GET", "get"], []]),
        "undo": st.sampled_from(["required", True]),
        "decision": st.sampled_from(["allow", "deny", "approve_required"]),
        "server": st.sampled_from(["s", ["s"], 5]),
        "id": st.sampled_from(["a", "", "<x"]),
    },
)


@given(st.lists(MADE, max_size=3))
def test_every_input_is_compiled_or_has_errors_with_a_place(made: list[dict[str, Any]]) -> None:
    policy = {"resources": RESOURCES, "capabilities": made}
    try:
        bundle = compile_policy(policy)
    except PolicyCompileError as failure:
        errors = [item for item in failure.diagnostics if item.code.startswith("E")]
        assert errors
        assert all(item.span is not None and item.span.path.startswith("$.capabilities") for item in errors)
    else:
        jsonschema.Draft202012Validator(policy_schema()).validate(policy)
        built = [capability(**item) for item in made]
        assert Policy(built, resources=RESOURCES).compile().id == bundle.id


SEGMENTS = st.sampled_from(["a", "b.csv", "..", ".", "", "workspace", "c", "x.csv", ".csv"])


@given(
    st.lists(st.sampled_from(["a", "workspace", "c"]), max_size=2),
    st.sampled_from(["**", "*", "*.csv", "?", "**/*.csv", "b.csv", "**/b.csv"]),
    st.lists(SEGMENTS, min_size=1, max_size=6),
    st.booleans(),
)
def test_a_pattern_is_the_tree_that_python_sees(
    below: list[str], pattern: str, names: list[str], absolute: bool
) -> None:
    """The oracle normalises with `posixpath`, and matches the last name with `fnmatch`."""
    root = "/workspace" if absolute else "workspace"
    path = ("/" if absolute else "") + "/".join(names)
    bundle = compile_policy(
        {
            "resources": {"r": {"kind": "path", "root": root if absolute else f"./{root}"}},
            "capabilities": [{"action": "fs.read", "resource": f"r:{'/'.join([*below, pattern])}"}],
        }
    )
    normal = posixpath.normpath(path) if path else ".."
    start = "/".join([root, *below])
    rest = normal[len(start) + 1 :].split("/") if normal.startswith(f"{start}/") else None
    certain = path and not normal.startswith("..") and not path.startswith("//") and "/.." not in f"/{_climbing(names)}"
    *deep, last = pattern.split("/")
    inside = rest is not None and (bool(deep) or len(rest) == 1) and fnmatch.fnmatchcase(rest[-1], last)
    if pattern == "**":
        inside = rest is not None or normal == start
    assert decided(bundle, "fs.read", {"path": path}).startswith("allow") is bool(certain and inside)


def _climbing(names: list[str]) -> str:
    """Return `..` if the path leaves its start on the way."""
    depth = 0
    for name in names:
        depth += (name not in ("", ".")) * (-1 if name == ".." else 1)
        if depth < 0:
            return ".."
    return ""


MANY = ["./a", "./a/workspace", "./workspace", "./workspace/c", "/a", "/workspace/c", "./c/b.csv", "."]
OTHERS = [*(f"./x{number}" for number in range(20)), *(f"/x{number}" for number in range(20))]
"""Directories that no path lies in, so that an index is worth its while."""


def on_directories(decision: str, directories: list[str]) -> PolicyBundle:
    rules = [
        {"id": item, "match": {"tool": "t", "args.path.path.within": item}, "decision": decision}
        for item in directories
    ]
    return compile_policy({"rules": rules, "defaults": {"on_no_match": "deny" if decision == "allow" else "allow"}})


ALONE = {decision: {item: on_directories(decision, [item]) for item in MANY} for decision in ("allow", "deny")}
TOGETHER = {
    (decision, left_out): on_directories(decision, [item for item in [*MANY, *OTHERS] if item != left_out])
    for decision in ("allow", "deny")
    for left_out in (".", "./a")
}


@given(st.lists(SEGMENTS, min_size=1, max_size=6), st.booleans(), st.sampled_from(sorted(TOGETHER)))
def test_many_directories_decide_as_one_by_one(names: list[str], absolute: bool, which: tuple[str, str]) -> None:
    decision, left_out = which
    path = ("/" if absolute else "") + "/".join(names)
    alone = {item: decided(ALONE[decision][item], "t", {"path": path}) for item in MANY if item != left_out}
    hits = [item for item, found in alone.items() if found == f"{decision} {item}"]
    found = decided(TOGETHER[which], "t", {"path": path})
    if decision == "allow":
        assert found.startswith("allow") is bool(hits)
    else:  # a rule in error denies as well, and the first one in the file is named
        assert found.startswith("deny") is any(each.startswith("deny") for each in alone.values())
        first = next((item for item, each in alone.items() if each.startswith("deny")), "")
        assert not found.startswith("deny") or first in found


def test_statements_are_kinds_of_sql() -> None:
    bundle = compiled(
        {"action": "sql.query", "database": "main", "statements": "select"},
        {"action": "sql.execute", "database": "main", "statements": ["insert"]},
    )
    query = {"database": "main", "parameters": [], "max_rows": 10}
    assert decided(bundle, "sql.query", {**query, "query": "SELECT a FROM b"}).startswith("allow")
    for text in ("DELETE FROM b", "SELECT 1; DELETE FROM b", "WITH x AS (DELETE FROM b RETURNING a) SELECT a FROM x"):
        assert decided(bundle, "sql.query", {**query, "query": text}).startswith("deny"), text
    insert = "INSERT INTO b VALUES (1)"
    for database, text, wanted in [
        ("main", insert, "allow"),
        ("other", insert, "deny"),
        ("main", "DROP TABLE b", "deny"),
    ]:
        call = {"database": database, "statement": text, "parameters": []}
        assert decided(bundle, "sql.execute", call).startswith(wanted)
