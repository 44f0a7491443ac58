"""Lints about what a policy lets through: each hole is found with a call, and its repair is silent."""

from __future__ import annotations

import re

import pytest

from bobcat.compiler import compile_policy
from bobcat.lint.check import check_source
from bobcat.lint.registry import all_lints
from bobcat.model.request_json import request_from_json

CLIMBS = r"(^|/)\.\.(/|$)"
OWN = {code for lint in all_lints() for code in lint.codes if "W0119" <= code <= "W0199"} | {"W0102", "W0106"}


def findings(*rules: str) -> set[str]:
    text = "rules:\n" + "".join(f"  - {{id: r{index}, {rule}}}\n" for index, rule in enumerate(rules))
    return {item.code for item in check_source(text, "p")} & OWN


def allow(match: str) -> str:
    return f"match: {{tool: t, {match}}}, decision: allow"


def deny(match: str) -> str:
    return f"match: {{tool: t, {match}}}, decision: deny"


HOLES = [
    # commands
    ("W0119", allow("args.cmd.starts_with: git status")),
    ("W0119", allow("args.cmd.starts_with: [git log, git diff]")),
    ("W0119", allow("args.cmd.matches: '^ls .*$'")),
    ("W0119", allow("args.cmd.matches: '^ls [^;&|]*$'")),
    ("W0119", allow(r"args.cmd.matches: '^ls\s+\w+\s*$'")),
    ("W0119", allow(r"args.cmd.matches: '^ls \S+$'")),
    ("W0119", allow("args.command.contains: status")),
    ("W0119", allow("args.cmd.ends_with: --dry-run")),
    ("W0119", allow("args.cmd.glob: 'git *'")),
    ("W0119", allow("args.cmd.lower.starts_with: git")),
    ("W0119", "match: {tool: shell, args.input.starts_with: echo}, decision: allow"),
    ("W0119", "match: {tool: run, args.x.matches: '^kubectl get .*$'}, decision: allow"),
    ("W0119", allow("args.commands.all.starts_with: git")),
    # patterns
    ("W0120", allow("args.job.matches: '^nightly-.*$'")),
    ("W0120", allow("args.job.matches: '^nightly-.+$'")),
    ("W0120", allow("args.job.matches: '(?s)^.*$'")),
    ("W0120", allow("args.job.matches: '^[^;&|<>$`]+$'")),
    ("W0120", allow(r"args.job.matches: '^job-\S*$'")),
    ("W0120", allow(r"args.job.matches: '^job-\D{1,40}$'")),
    ("W0120", allow("args.sql.matches: '(?i)^select .*$'")),
    ("W0120", allow("args.jobs.all.matches: '^a.*$', args.jobs.length.ge: 1")),
    ("W0106", allow("args.job.matches: '^*nightly$'")),
    ("W0106", allow("args.job.matches: '^?nightly$'")),
    ("W0106", allow("args.job.matches: '(^|x)nightly$'")),
    ("W0120", allow("args.sql.starts_with: 'select '")),
    ("W0120", allow("args.statement.lower.starts_with: select")),
    ("W0120", allow("args.code.contains: print")),
    # paths
    ("W0122", allow("args.name.glob: 'reports/**'")),
    ("W0122", allow("args.uri.glob: 'file:///srv/**'")),
    ("W0121", allow("args.path.starts_with: /srv/app")),
    ("W0121", allow("args.path.starts_with: {ref: context.extra.home}")),
    ("W0121", allow("args.path.matches: '^/srv/app.*$'")),
    ("W0121", allow("args.path.starts_with: [/srv/a/, /srv/b]")),
    ("W0121", allow("args.x.starts_with: /srv/app")),
    ("W0122", allow("args.path.starts_with: /srv/app/")),
    ("W0122", allow("args.path.glob: '/srv/**'")),
    ("W0122", allow("args.path.glob: 'src/**/*.py'")),
    ("W0122", allow("args.file.glob: '/srv/*/config'")),
    ("W0122", allow("args.path.matches: '^/srv/[^/]+/x$'")),
    ("W0122", allow(r"args.path.matches: '^/srv/[\w./-]+$'")),
    ("W0122", allow("args.path.ends_with: .txt")),
    ("W0122", allow("args.paths.all.starts_with: /srv/, args.paths.length.ge: 1")),
    # URLs and hosts
    ("W0123", allow("args.url.starts_with: 'https://api.example.com'")),
    ("W0123", allow(r"args.url.matches: '^https://api\.example\.com.*$'")),
    ("W0123", allow(r"args.url.matches: '^https://.*\.example\.com/$'")),
    ("W0123", allow("args.url.contains: api.example.com")),
    ("W0123", allow("args.url.ends_with: .example.com")),
    ("W0123", allow("args.url.glob: 'https://*.example.com/**'")),
    ("W0124", allow("args.url.matches: '^https://api.example.com/[a-z]*$'")),
    ("W0123", allow("args.host.ends_with: example.com")),
    ("W0123", allow("args.to.contains: '@example.com'")),
    ("W0124", allow("args.target.matches: '^[a-z]+\\.example.com$'")),
    ("W0124", allow("args.host.matches: '^(www|api).example.com$'")),
    ("W0124", allow("args.to.matches: '^[a-z]+@example.com$'")),
    # lists, numbers
    ("W0125", allow("args.ids.all.matches: '^C-[0-9]+$'")),
    ("W0125", allow("args.ids.all.in: [1, 2]")),
    ("W0125", allow("args.ids.none.in: [1, 2]")),
    ("W0125", allow("args.ids.subset_of: [1, 2]")),
    ("W0135", allow("args.to.any.eq: a@example.com")),
    ("W0126", allow("args.amount.le: 500")),
    ("W0126", allow("args.amount.lt: 500.5")),
    ("W0126", allow("not: {args.amount.gt: 500}")),
    ("W0126", allow("args.amount.le: {ref: context.extra.limit}")),
    # only what is not
    ("W0127", allow("not: {args.cmd.contains: rm}")),
    ("W0127", allow("not: {args.branch: main}")),
    ("W0127", allow("not: {args.branch.in: [main, master]}, args.branch.exists: true")),
    ("W0127", allow("not: {args.amount.between: [1000, 5000]}")),
    ("W0127", allow("args.amount.not_between: [1000, 5000]")),
    ("W0127", allow("args.branch.not_in: [main, master]")),
    ("W0127", allow("args.branch.not_in: [main], args.branch.empty: false")),
    ("W0127", allow("args.port.not_in: [22, 25]")),
    ("W0127", allow("not: {args.port: 22}")),
    ("W0127", allow("not: {context.principal.id: guest}")),
    ("W0127", allow("args.to.none.ends_with: '@evil.test'")),
    # tools, environments, people
    ("W0130", allow("not: {context.environment: prod}")),
    ("W0130", allow("context.environment.not_in: [prod, staging]")),
    ("W0130", allow("not: {context.extra.region: eu}")),
    ("W0131", "match: {tool.starts_with: read_}, decision: allow"),
    ("W0131", "match: {tool.glob: 'github_*'}, decision: allow"),
    ("W0131", "match: {tool.matches: '^get_[a-z]+$'}, decision: allow"),
    ("W0131", "match: {tool.ends_with: _read}, decision: allow"),
    ("W0132", "match: {tool: q}, decision: transform, transform: {jsonpath: $.args.sql, append: ' LIMIT 9'}"),
    ("W0132", "match: {tool: q}, decision: transform, transform: {jsonpath: $.args.cmd, append: ' --dry-run'}"),
    ("W0133", "match: {tool: t}, decision: approve_required, approvals_needed: 2"),
    ("W0134", "match: {}, decision: allow"),
    ("W0134", "match: {not: {tool: shell}}, decision: allow"),
]

HOLES_OF_SEVERAL = [
    ("W0128", deny("args.cmd.contains: rm -rf"), allow("args.user: x")),
    ("W0128", deny("args.cmd.contains_any: [rm, dd]"), allow("args.user: x")),
    ("W0128", deny("args.cmd.matches: '[;&|]'"), allow("args.user: x")),
    ("W0128", deny("args.path.starts_with: /etc/"), allow("args.user: x")),
    ("W0128", deny("args.path.matches: '(^|/)\\.\\.(/|$)'"), allow("args.user: x")),
    ("W0128", deny("args.to.any.ends_with: '@evil.test'"), allow("args.user: x")),
    ("W0128", "match: {args.cmd.contains: rm}, decision: approve_required", "match: {tool: bash}, decision: allow"),
    ("W0128", "match: {args.path.contains: x}, decision: deny, priority: 9", allow("args.user: x")),
    ("W0128", deny("args.cmd.contains: rm -rf"), allow("args.cmd.exists: true")),
    ("W0128", deny("args.cmd.starts_with: 'rm '"), allow("args.cmd.length.between: [1, 200]")),
    ("W0129", deny("args.branch: main"), allow("args.branch.length.le: 100")),
    ("W0129", deny("args.branch: main"), allow("args.user: x")),
    ("W0129", deny("args.method.in: [DELETE, PUT]"), allow("args.user: x")),
    ("W0129", deny("args.cmd.lower.eq: shutdown"), allow("args.user: x")),
    ("W0130", deny("context.extra.tier: free"), allow("args.user: x")),
    ("W0126", deny("args.amount.gt: 500"), allow("args.user: x")),
    ("W0130", deny("context.environment: prod"), allow("args.user: x")),
    ("W0130", "match: {context.environment.in: [prod, live]}, decision: approve_required", allow("args.user: x")),
    ("W0106", deny("not: {args.cmd.matches: '^ls'}"), allow("args.user: x")),
    ("W0121", deny("not: {args.path.starts_with: /srv}"), allow("args.user: x")),
    ("W0122", deny("not: {args.path.starts_with: /srv/}"), allow("args.user: x")),
    ("W0123", deny("not: {args.url.starts_with: 'https://a.example.com'}"), allow("args.user: x")),
    ("W0102", allow("args.cmd.matches: '^git [a-z -]+$'"), deny("args.cmd.contains: --force")),
    ("W0102", allow("args.amount.between: [1, 500]"), deny("args.amount.gt: 100")),
    ("W0102", allow("args.path.starts_with: /srv/"), deny("args.path.ends_with: .env")),
    ("W0102", allow("args.a: 1") + ", priority: 5", deny("args.b: 1")),
    ("W0102", allow("args.a: 1"), "match: {tool: t, args.b: 1}, decision: dry_run"),
    (
        "W0102",
        "match: {tool: t}, decision: transform, transform: {jsonpath: $.args.n, set: 1}",
        deny("args.b: 1"),
    ),
]

GOOD = [
    (allow("args.cmd.in: [ls, git status]"),),
    (allow("args.cmd.matches: '^git (status|log)( -[a-z]+)*$'"),),
    (allow(r"args.cmd.matches: '^ls( [\w-]+)*$'"),),
    (deny(r"args.cmd.matches: '[^\w /.-]'"), allow("args.cmd.starts_with: git status")),
    (allow("args.title.matches: '^feat: .*$'"),),
    (allow("args.job.matches: '^nightly-[a-z0-9-]+$'"),),
    (allow("args.n.matches: '^[0-9]+$'"),),
    (allow(r"args.name.matches: '^\p{Greek}+$'"),),
    (allow("args.job.glob: 'feature/*'"),),
    (allow(f"args.path.starts_with: /srv/app/, not: {{args.path.matches: '{CLIMBS}'}}"),),
    (deny("args.path.contains: .."), allow("args.path.starts_with: /srv/app/")),
    (deny(f"args.path.matches: '{CLIMBS}'"), allow("args.path.glob: 'src/**'")),
    (
        deny(f"any_of: [{{args.path.matches: '{CLIMBS}'}}, {{not: {{args.path.starts_with: /srv/}}}}]"),
        allow("args.n: 1"),
    ),
    (allow("args.path.in: [/etc/hosts, /etc/motd]"),),
    (allow(r"args.path.matches: '^/srv/[\w-]+\.txt$'"),),
    (allow("args.url.starts_with: 'https://api.example.com/'"),),
    (allow("args.url.starts_with: 'https://api.example.com/v1/'"),),
    (allow(r"args.url.matches: '^https://api\.example\.com/[a-z/]*$'"),),
    (allow(r"args.url.matches: '^https://([a-z]+\.)?example\.com/[a-z/]*$'"),),
    (allow("args.url.starts_with: 'https://'"),),
    (allow(r"args.host.matches: '^(www|api)\.example\.com$'"),),
    (allow("args.to.ends_with: '@example.com'"),),
    (allow("args.host.ends_with: .example.com"),),
    (allow("args.recipients.contains: boss@example.com"),),
    (allow("args.branch.glob: 'feature/**'"),),
    (allow("args.tier: free, not: {args.note: null}"),),
    (allow("args.ids.all.matches: '^C-[0-9]+$', args.ids.length.between: [1, 20]"),),
    (allow("args.amount.between: [1, 500]"),),
    (allow("args.amount.le: 500, all_of: [{args.amount.ge: 0}]"),),
    (deny("args.amount.le: 0"), allow("args.amount.le: 500")),
    (deny("args.amount.gt: 500"), allow("args.amount.ge: 1")),
    (deny("not: {args.amount.between: [1, 500]}"), allow("args.user: x")),
    (allow("args.text.length.le: 500"),),
    (allow("context.step_seq.le: 10"),),
    (allow("declared.blast_radius_hint.le: 10"),),
    (allow("not: {args.force: true}"),),
    (allow("args.cmd.in: [ls], not: {args.cmd.contains: rm}"),),
    (allow("not: {declared.cost: high}"),),
    (deny("not: {args.branch.matches: '^agent/[a-z0-9-]+$'}"), allow("args.user: x")),
    (deny("args.force: true"), allow("args.user: x")),
    (deny("args.cmd.contains: rm"), allow("args.cmd.in: [ls, git status]")),
    (deny("args.customer.in: [C-1, C-2]"), deny("not: {args.customer.matches: '^C-[0-9]+$'}"), allow("args.n: 1")),
    (deny("args.cmd.contains: rm"), "match: {tool: other}, decision: allow"),
    ("match: {args.cmd.contains: rm}, decision: deny", "match: {tool: search}, decision: allow"),
    (
        deny("context.environment: prod, declared.reversible: false"),
        deny("declared.reversible: false"),
        allow("args.n: 1"),
    ),
    (deny("not: {context.environment.in: [dev, staging]}"), allow("args.user: x")),
    (deny("context.environment: prod"), allow("context.environment: dev")),
    (allow("context.environment.in: [dev, staging]"),),
    (deny("context.principal.id: mallory"), allow("args.user: x")),
    ("match: {tool.in: [read_file, read_mail]}, decision: allow",),
    ("match: {tool.matches: '^(read|list)_file$'}, decision: allow",),
    ("match: {tool.starts_with: delete_}, decision: deny", "match: {tool: read_file}, decision: allow"),
    ("match: {}, decision: deny",),
    ("match: {declared.scope.contains: read}, decision: allow",),
    (
        "match: {tool: q, args.sql.matches: '^select [a-z, ]+ from [a-z]+$'}, decision: transform,"
        " transform: {jsonpath: $.args.sql, append: ' LIMIT 9'}",
    ),
    ("match: {tool: t}, decision: transform, transform: {jsonpath: $.args.labels, append: reviewed}",),
    ("match: {tool: t}, decision: transform, transform: {jsonpath: $.args.limit, set: 9}",),
    (deny("args.sql.contains: x"), "match: {tool: t}, decision: transform, transform: {jsonpath: $.args.sql, set: y}"),
    ("match: {tool: t}, decision: approve_required, approvals_needed: 2, approvers: [a, b, c]",),
    ("match: {tool: t}, decision: approve_required",),
    # exceptions, and rules for what is left
    (allow("args.cmd.in: [ls, git status]"), "match: {tool: t}, decision: deny"),
    (allow("args.cmd.in: [ls, git status]"), "match: {}, decision: approve_required"),
    (allow("args.amount.between: [1, 500]"), "match: {tool: t, args.amount.gt: 500}, decision: approve_required"),
    (
        allow("args.path.matches: '^out/[a-z]+\\.md$', args.content.length.le: 1000"),
        "match: {tool: t, args.path.starts_with: out/}, decision: approve_required",
    ),
    (allow("args.n: 1"), "match: {declared.reversible: false}, decision: approve_required"),
    (allow("args.method.in: [GET, HEAD]"), deny("not: {args.method.in: [GET, HEAD]}")),
    (allow("args.path.starts_with: /srv/a/, not: {args.path.contains: ..}"), deny("args.path.starts_with: /srv/b/")),
    (allow("args.cmd.matches: '^git [a-z ]+$'"), deny("args.cmd.contains: --force")),
    (allow("context.principal.id: root") + ", priority: 9", deny("args.cmd.contains: rm")),
]


@pytest.mark.parametrize(("code", "rule"), HOLES)
def test_a_hole_is_found(code: str, rule: str) -> None:
    assert code in findings(rule)


@pytest.mark.parametrize("hole", HOLES_OF_SEVERAL)
def test_a_hole_of_several_rules_is_found(hole: tuple[str, ...]) -> None:
    code, *rules = hole
    assert code in findings(*rules)


@pytest.mark.parametrize("rules", GOOD)
def test_what_has_no_hole_has_no_finding(rules: tuple[str, ...]) -> None:
    assert findings(*rules) == set()


@pytest.mark.parametrize("rules", [(rule,) for _, rule in HOLES] + [tuple(rules) for _, *rules in HOLES_OF_SEVERAL])
def test_the_call_that_a_finding_shows_is_permitted(rules: tuple[str, ...]) -> None:
    text = "rules:\n" + "".join(f"  - {{id: r{index}, {rule}}}\n" for index, rule in enumerate(rules))
    bundle = compile_policy(text)
    shown = [item.message for item in check_source(text) if "; it permits `" in item.message]
    assert shown or findings(*rules) & {"W0106", "W0133"}
    for message in shown:
        found = re.search(
            r"it permits `([^`]*)` with `(.*?)`(?: declared `(.*?)`)?(?: in the context `(.*)`)?$", message
        )
        assert found is not None
        request = {"tool": found[1], "args": found[2], "declared": found[3], "context": found[4]}
        written = ", ".join(
            f'"{name}": {value if name != "tool" else chr(34) + value + chr(34)}'
            for name, value in request.items()
            if value is not None
        )
        data = "{" + written + "}"
        if "declared" not in data:
            data = data[:-1] + ', "declared": {"reversible": true}}'
        assert bundle.evaluate(request_from_json(data)).verdict in ("allow", "transform")


def test_lints_change_no_digest() -> None:
    text = "rules: [{id: a, match: {tool: t, args.cmd.starts_with: git}, decision: allow}]"
    before = compile_policy(text).id
    assert check_source(text)
    assert compile_policy(text).id == before
