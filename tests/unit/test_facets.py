"""Facets in keys: their names, their operands, the lints, what `explain` shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bobcat import Policy, Request, _core, build
from bobcat.build import Condition, args, context, when
from bobcat.errors import PolicyCompileError
from bobcat.frontend.strict.facet_keys import PartStep
from bobcat.frontend.strict.keys import Key, parse_key
from bobcat.language.facets import CORE_KINDS, FACETS, PARTS
from bobcat.language.kinds import OperandKind
from bobcat.lint.check import check_source

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "facets.md"
KINDS = {
    OperandKind.STRING: "text",
    OperandKind.BOOL: "bool",
    OperandKind.NUMBER: "number",
    OperandKind.STRINGS: "texts",
    OperandKind.HOST: "host",
}
WORDS = {
    OperandKind.STRING: "string",
    OperandKind.BOOL: "bool",
    OperandKind.NUMBER: "number",
    OperandKind.STRINGS: "list of strings",
    OperandKind.HOST: "host",
}


def policy(match: str, decision: str = "allow") -> Policy:
    return Policy.compile(f"rules: [{{id: r, match: {{{match}}}, decision: {decision}}}]\n")


def parsed(text: str) -> tuple[tuple[str, ...], tuple[object, ...], str]:
    key = parse_key(text)
    assert isinstance(key, Key), key
    return key.path, key.chain, key.op


def test_the_facets_and_parts_are_those_of_the_core() -> None:
    assert sorted(_core.facets()) == sorted((row.name, row.core) for row in FACETS.values())
    kinds = [*((row.kind, row.core) for row in FACETS.values()), (OperandKind.COMMAND, "command")]
    for kind, core in kinds:
        parts = [(name, KINDS[part.kind]) for name, part in PARTS.get(kind, {}).items()]
        assert _core.facet_parts(core) == parts


def test_the_page_lists_every_part() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for parts in PARTS.values():
        for name, part in parts.items():
            assert f"| `{name}` | {WORDS[part.kind]} | {part.doc} |" in page


@pytest.mark.parametrize("row", FACETS.values(), ids=lambda row: row.name)
def test_the_sample_of_a_facet_is_parsed(row: object) -> None:
    found, problem = _core.parse_facet(row.name, row.sample)  # type: ignore[attr-defined]
    assert problem is None
    assert isinstance(json.loads(found or ""), list if row.kind in (OperandKind.SCRIPT, OperandKind.STRINGS) else dict)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "path", "chain", "op"),
    [
        ("args.link.url.host", ("link",), ("url", PartStep(("host",))), "eq"),
        ("args.link.url.host.in", ("link",), ("url", PartStep(("host",))), "in"),
        ("args.to.all.email.domain", ("to",), ("all", "email", PartStep(("domain",))), "eq"),
        ("args.a.b.path.within", ("a", "b"), ("path",), "within"),
        ("args.path.path.within", ("path",), ("path",), "within"),
        ("args.v.semver.gte", ("v",), ("semver",), "ge"),
        ("args.x.json.a.b.length.gt", ("x",), ("json", PartStep(("a", "b")), "length"), "gt"),
        ('args.x.json.a["in"]', ("x",), ("json", PartStep(("a", "in"))), "eq"),
        ("args.x.json.a.any.b", ("x",), ("json", PartStep(("a",)), "any", PartStep(("b",))), "eq"),
        ("args.x.url.query_keys.any.lower.eq", ("x",), ("url", PartStep(("query_keys",)), "any", "lower"), "eq"),
        ("args.cmd.shell.all.program.in", ("cmd",), ("shell", "all", PartStep(("program",))), "in"),
        ("args.cmd.shell.any", ("cmd",), ("shell",), "any"),
        ("args.cmd.shell.length.gt", ("cmd",), ("shell", "length"), "gt"),
        (
            "args.cmd.shell.any.argv.any.url.host",
            ("cmd",),
            ("shell", "any", PartStep(("argv",)), "any", "url", PartStep(("host",))),
            "eq",
        ),
        ("args.q.sql.kind.in", ("q",), ("sql", PartStep(("kind",))), "in"),
        ("args.q.sql.tables.subset_of", ("q",), ("sql", PartStep(("tables",))), "subset_of"),
        ("args.q.sql.contains", ("q", "sql"), (), "contains"),
        ("context.workspace.path.is_absolute", ("workspace",), ("path", PartStep(("is_absolute",))), "eq"),
        ("context.extra.home.url.host", ("extra", "home"), ("url", PartStep(("host",))), "eq"),
        # Entries.
        ("args.shell.any.eq", ("shell",), ("any",), "eq"),
        ("args.x.shell.contains", ("x", "shell"), (), "contains"),
        ("args.url.host", ("url", "host"), (), "eq"),
        ("args.path.within", ("path", "within"), (), "eq"),
        ("args.json.user", ("json", "user"), (), "eq"),
        ("args.file.path.starts_with", ("file", "path"), (), "starts_with"),
        ("args.file.path", ("file", "path"), (), "eq"),
        ("args.file.path.other", ("file", "path", "other"), (), "eq"),
        ("args.a.json.exists", ("a", "json"), (), "exists"),
        ("args.a.json.all.in", ("a", "json"), ("all",), "in"),
        ('args.link["url"].host', ("link", "url", "host"), (), "eq"),
        ('args.link.url["host"]', ("link", "url", "host"), (), "eq"),
        ("args.addr.ip.in", ("addr", "ip"), (), "in"),
        ("args.v.semver.contains", ("v", "semver"), (), "contains"),
    ],
)
def test_a_facet_is_one_before_its_own_parts_and_operators(
    text: str, path: tuple[str, ...], chain: tuple[object, ...], op: str
) -> None:
    assert parsed(text) == (path, chain, op)


@pytest.mark.parametrize(
    ("match", "code", "words"),
    [
        ("args.x.url.host.ends_with: example.com", "E0406", "within"),
        ("args.x.url.host.starts_with: a", "E0406", "`within`"),
        ("args.x.url.host: https://example.com/", "E0415", "letters"),
        ("args.x.url.host: '127.1'", "E0415", "four decimal numbers"),
        ("args.x.url.host: 5", "E0405", "host"),
        ("args.x.url.host: [a.example]", "E0405", ""),
        ("args.x.url.host.in: a.example", "E0401", ""),
        ("args.x.url.host: {in: [a]}", "E0401", ""),
        ("args.x.url.host.within: []", "E0409", ""),
        ("args.x.url.port: '80'", "E0405", "number"),
        ("args.x.url.is_private: 'yes'", "E0405", "bool"),
        ("args.x.url.host.eq: {ref: args.y}", "E0413", "constants"),
        ("args.x.url: {}", "E0401", "mapping"),
        ("args.x.url: {hots: a}", "E0303", "hots"),
        ("args.x.url: {host.inn: [a]}", "E0303", "inn"),
        ("args.x.url.host.inn: a", "E0303", "inn"),
        ("args.x.path.within: relative/dir", "E0415", "absolute"),
        ("args.x.path.within: /srv/../..", "E0415", ""),
        ("args.x.path.within: ws", "E0415", "absolute directory"),
        ("args.x.path.within: 5", "E0401", ""),
        ("args.x.ip.within: 10.0.0.1/8", "E0415", "behind the prefix"),
        ("args.x.ip.within: office", "E0415", ""),
        ("args.x.semver.ge: '1.2'", "E0415", "three numbers"),
        ("args.x.semver.ge: 1.2", "E0401", ""),
        ("args.x.semver.between: [1.0.0.0, 2.0.0]", "E0415", ""),
        ("args.x.semver.between: [1.10.0, 1.9.0]", "E0403", "1.10.0"),
        ("args.x.shell.any: {programm: rm}", "E0303", "programm"),
        ("args.x.sql: {kindd: select}", "E0303", "kindd"),
        ("args.x.sql.kind: 5", "E0405", "string"),
        ("args.x.shell.any.program: {in: [rm]}", "E0405", ""),
        ("args.x.shell.contains_any: {a: 1}", "E0401", ""),
        ("args.x.shell.all: rm", "E0401", "mapping"),
        ("args.x.any: {url: {host: a}}", "E0303", ""),
    ],
)
def test_a_mistake_has_a_code_and_says_what_to_write(match: str, code: str, words: str) -> None:
    with pytest.raises(PolicyCompileError) as caught:
        policy(match)
    found = caught.value.diagnostics
    assert [item.code for item in found] == [code]
    assert words in str(caught.value)


def test_operands_have_one_form_in_the_ir() -> None:
    spellings = ["Example.COM", "example.com.", "EXAMPLE.com"]
    assert len({policy(f"args.x.url.host: {text}").id for text in spellings}) == 1
    assert policy("args.x.path.within: /srv//ws/").id == policy("args.x.path.within: [/srv/./ws, /srv/ws]").id
    assert policy("args.x.ip.within: 10.0.0.1").id == policy("args.x.ip.within: 10.0.0.1/32").id
    assert policy("args.x.url: {host: a.b}").id == policy("args.x.url.host: a.b").id
    assert policy("args.x.semver.gte: 1.2.0").id == policy("args.x.semver.ge: 1.2.0").id


def test_explain_shows_the_value_or_the_place_that_made_it_undecidable() -> None:
    rules = policy("args.link.url.host: example.com")
    good = rules.explain(Request("t", {"link": "https://EXAMPLE.com/"}))
    assert '"host": "example.com"' in str(good)
    bad = rules.explain(Request("t", {"link": "http://é.example\\@x/"}))
    assert "url undecidable: url_character at character 16" in str(bad)
    listed = policy("args.to.all.email.domain: example.com").explain(Request("t", {"to": ["a@example.com", "b c"]}))
    assert "email_form at character 3" in str(listed)


def test_a_facet_of_a_very_long_text_is_undecidable_at_once() -> None:
    rules = policy("args.x.any.url.host: example.com")
    found = rules.evaluate(Request("t", {"x": ["https://example.com/" + "a" * 9000] * 1000}))
    assert "<rule_error:r:undecidable>" in found.matched_rules


def test_check_warns_where_an_argument_has_entries_and_a_facet() -> None:
    both = "rules: [{id: r, match: {tool: t, args.x.url.host: a.b, args.x.title: y}, decision: deny}]"
    assert [item.code for item in check_source(both)] == ["W0143"]
    quoted = both.replace("args.x.url.host", "'args.x[\"url\"].host'")
    assert check_source(quoted) == ()


def test_check_notes_texts_of_paths_and_urls_once_a_rule() -> None:
    texts = """
rules:
  - {id: r, match: {tool: t, args.url.contains: evil, args.path.starts_with: /etc}, decision: deny}
  - {id: s, match: {tool: t, args.url.url.host: a.b, args.url.contains: evil}, decision: deny}
"""
    found = check_source(texts)
    assert [(item.code, item.severity.value) for item in found] == [("N0104", "note")]


@pytest.mark.parametrize(("decision", "facet"), [("deny", "shell.any.program"), ("allow", "shell.all.program")])
def test_the_facet_for_a_command_is_over_one_program_to_deny_and_over_all_to_allow(decision: str, facet: str) -> None:
    text = f"rules: [{{id: r, match: {{tool: t, args.cmd.contains: rm}}, decision: {decision}}}]"
    (found,) = (item for item in check_source(text) if item.code == "N0104")
    assert found.help == f"write `args.cmd.{facet}`"


def test_python_reads_the_hosts_of_accepted_urls_alike() -> None:
    for text in ("https://a.example/", "http://u:p@a.example:8080/x?y=z#w", "https://[2001:db8::1]:99/", "urn:a:b"):
        found, problem = _core.parse_facet("url", text)
        assert problem is None
        ours, theirs = json.loads(found or ""), urlsplit(text)
        assert (ours["scheme"], ours.get("host")) == (theirs.scheme, theirs.hostname)


def test_the_functions_of_the_core_refuse_unknown_names() -> None:
    assert _core.parse_facet("url", "\ud800") == (None, ("bad_unicode", 0, "the text holds a lone surrogate"))
    for call in (
        lambda: _core.parse_facet("nothing", ""),
        lambda: _core.facet_parts("nothing"),
        lambda: _core.facet_operand("nothing", False, ""),
        lambda: _core.facet_operand(CORE_KINDS[OperandKind.HOST], False, "a b"),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize(
    ("condition", "match"),
    [
        (args.link.url().host.in_("a.b", "c.d"), "args.link.url.host.in: [a.b, c.d]"),
        (args.file.path().within("/srv"), "args.file.path.within: /srv"),
        (args.file.path().within("/srv", "."), "args.file.path.within: [/srv, .]"),
        (args.to.all().email().domain == "x.y", "args.to.all.email.domain: x.y"),
        (args.cmd.shell().any().program == "rm", "args.cmd.shell.any.program: rm"),
        (args.cmd.shell().all().effect.in_("read"), "args.cmd.shell.all: {effect.in: [read]}"),
        (args.q.sql().kind.in_("select"), "args.q.sql.kind.in: [select]"),
        (args.q.sql().tables.subset_of("a", "b"), "args.q.sql.tables.subset_of: [a, b]"),
        (args.v.semver() >= "1.2.0", "args.v.semver.ge: 1.2.0"),
        (args.b.json().user.id == 7, "args.b.json.user.id: 7"),
        (args.b.json()["in"]["a b"] == 7, '\'args.b.json["in"]["a b"]\': 7'),
        (args.link.url().userinfo.exists(False), "args.link.url.userinfo.exists: false"),
        (context.workspace.path().is_absolute == True, "context.workspace.path.is_absolute: true"),  # noqa: E712
        # Entries.
        (args.link.url == 7, "args.link.url: 7"),
        (args.link.url.host == 7, "'args.link[\"url\"].host': 7"),
        (args.v.semver >= 7, "'args.v[\"semver\"].ge': 7"),
    ],
)
def test_the_builder_calls_a_facet(condition: Condition, match: str) -> None:
    assert build.Policy([when(condition).allow(id="r")]).compile() == policy(match)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: args.url(),
        lambda: args.x.y(),
        lambda: args.x.url().hots,
        lambda: args.x.length().within("a"),
        lambda: args.x.all().email("a"),
        lambda: args.x.url().within("a"),
    ],
)
def test_the_builder_refuses_what_no_facet_has(wrong: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        wrong()
