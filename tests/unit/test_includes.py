"""Policies of several files: order, identity, names across files, positions, and paths that are refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bobcat import Policy, PolicyCompileError, Request, compile_policy, load_policy_file
from bobcat.frontend.files import Inputs, PolicyFiles
from bobcat.frontend.strict.includes import MAX_FILES, included_files
from bobcat.lint.check import check_source
from bobcat.testing import decide
from bobcat.testing.suites.session import watched_files
from unit.cli_runner import Run, runner

Write = Callable[..., None]
RULE = "rules: [{{id: {0}, match: {{tool: {0}}}, decision: deny}}]\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def files(**texts: str) -> None:
        for name, text in texts.items():
            path = Path(*name.split("__")).with_suffix(".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return files


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def errors(**options: object) -> list[tuple[str, str]]:
    """The codes of the errors of `main.yaml`, with their places."""
    with pytest.raises(PolicyCompileError) as caught:
        load_policy_file("main.yaml", **options)  # type: ignore[arg-type]
    return [
        (item.code, f"{item.span.file}:{item.span.line}:{item.span.column}" if item.span else "")
        for item in caught.value.diagnostics
    ]


def ids(policy: Policy) -> list[str]:
    return [rule.id for rule in policy.rules]


def test_a_policy_in_files_is_the_policy_in_one_file(write: Write) -> None:
    write(
        main="include: [a.yaml, d/b.yaml]\npredicates: {main: {args.z: 1}}\n"
        "capabilities: [{action: fs.read, resource: 'ws:**'}]\n"
        "rules: [{match: {all_of: [main, shared]}, decision: deny}]\n",
        a="defaults: {on_rule_error: deny}\nresources: {ws: {kind: path, root: ./ws}}\nrules:\n"
        "  - {match: shared, decision: deny}\n  - {id: low, priority: -1, match: {}, decision: deny}\n",
        d__b="include: [c.yaml]\nsources: {seen: {tool: read, fields: [id]}}\n"
        "rules: [{id: of-b, match: {args.id.from: seen}, decision: allow}]\n"
        "capabilities: [{action: fs.list, resource: 'ws:**'}]\n",
        d__c="predicates: {shared: {any_of: [{args.x: 1}, {args.y: 2}]}}\n"
        "rules: [{id: of-c, match: {}, decision: approve_required, priority: 5}]\n",
        one="resources: {ws: {kind: path, root: ./ws}}\nsources: {seen: {tool: read, fields: [id]}}\n"
        "predicates:\n  shared: {any_of: [{args.x: 1}, {args.y: 2}]}\n  main: {args.z: 1}\n"
        "capabilities: [{action: fs.list, resource: 'ws:**'}, {action: fs.read, resource: 'ws:**'}]\n"
        "rules:\n  - {match: shared, decision: deny}\n  - {id: low, priority: -1, match: {}, decision: deny}\n"
        "  - {id: of-c, match: {}, decision: approve_required, priority: 5}\n"
        "  - {id: of-b, match: {args.id.from: seen}, decision: allow}\n"
        "  - {match: {all_of: [main, shared]}, decision: deny}\n",
    )
    several, one = load_policy_file("main.yaml"), load_policy_file("one.yaml")
    assert ids(several) == ids(one)
    assert several.ir_bytes == one.ir_bytes
    assert several.id == one.id
    assert several.lynx_id == one.lynx_id
    assert set(several.source_files) == {"main.yaml", "a.yaml", "d/b.yaml", "d/c.yaml"}


def test_positions_name_the_file_of_each_rule_and_of_each_test(write: Write) -> None:
    write(
        main="include: [d/names.yaml]\nrules:\n  - {id: both, match: {all_of: [known, {tool: x}]}, decision: deny}\n"
        "  - {id: negated, match: {not: known}, decision: deny}\n",
        d__names="predicates:\n  known: {args.a: 1}\nrules:\n- {id: there, match: {args.b: 1}, decision: deny}\n",
    )
    policy = load_policy_file("main.yaml")
    for bundle in (policy, Policy.load(policy.to_bytes(sources=True))):
        places = bundle.source_map
        assert places is not None
        index = {rule.id: number for number, rule in enumerate(bundle.rules)}
        spans = {(name, leaf): places.leaf_span(index[name], leaf) for name in index for leaf in (0, 1)}
        shown = {key: (span.file, span.line, span.column) for key, span in spans.items() if span is not None}
        assert shown == {
            ("there", 0): ("d/names.yaml", 4, 23),
            ("both", 0): ("d/names.yaml", 2, 11),
            ("both", 1): ("main.yaml", 3, 41),
            ("negated", 0): ("d/names.yaml", 2, 11),
        }
        rule = places.rule_span(index["there"])
        assert rule is not None
        assert (rule.file, rule.line, rule.column) == ("d/names.yaml", 4, 3)
        assert set(bundle.sources) == {"main.yaml", "d/names.yaml"}


def test_a_policy_of_one_file_keeps_the_bytes_of_its_bundle() -> None:
    rows = Policy.compile("rules: [{id: a, match: {tool: x}, decision: deny}]").source_map
    assert rows is not None
    assert len(rows.rows()[1][0]) == 8


def test_errors_and_warnings_of_included_files_name_their_place(write: Write) -> None:
    write(
        main="include: [a.yaml, b.yaml]\nrules: [{match: {tool: x, arg: 1}, decision: deny}]\n",
        a="rules:\n  - {match: {args.x.matches: '['}, decision: deny}\nunknown: 1\n",
        b="rules:\n - {id: a\n",
    )
    assert errors() == [("E0101", "b.yaml:2:10")]
    write(b="rules: [{match: {}, decision: dney}]\n")
    assert errors() == [
        ("E0701", "a.yaml:2:31"),
        ("E0202", "a.yaml:3:1"),
        ("E0206", "b.yaml:1:31"),
        ("E0301", "main.yaml:2:27"),
    ]
    write(
        a="rules:\n  - {id: any, match: {}, decision: allow}\n", b=RULE.format("b"), main="include: [a.yaml, b.yaml]\n"
    )
    found = check_source(Path("main.yaml").read_text(), "main.yaml", inputs=Inputs(PolicyFiles("main.yaml")))
    assert {(item.code, item.span.file if item.span else "") for item in found} >= {("W0134", "a.yaml")}


def test_comments_in_an_included_file_ignore_findings_there(write: Write, run: Run) -> None:
    rule = "rules:\n  - {id: any, match: {}, decision: allow}"
    write(main="include: [a.yaml]\n", a=f"{rule}\n")
    before = run("check", "main.yaml", "--format", "json").json()
    assert [item["code"] for item in before["diagnostics"]] == ["W0134"]
    write(a=f"{rule}  # bobcat: ignore W0134 because this is a test\n")
    after = run("check", "main.yaml", "--format", "json").json()
    assert after["warnings"] == 0
    assert [item["suppressed"] for item in after["diagnostics"]] == ["this is a test"]


def test_a_file_is_included_once(write: Write) -> None:
    write(
        main="include: [a.yaml, b.yaml, d/../common.yaml, common.yaml]\n",
        a="include: [common.yaml]\n" + RULE.format("a"),
        b="include: [./common.yaml]\n" + RULE.format("b"),
        common=RULE.format("common"),
    )
    Path("d").mkdir()
    Path("link.yaml").symlink_to("common.yaml")
    assert ids(load_policy_file("main.yaml")) == ["common", "a", "b"]
    write(b="include: [link.yaml]\n" + RULE.format("b"))
    assert ids(load_policy_file("main.yaml")) == ["common", "a", "b"]


@pytest.mark.parametrize(
    ("files", "chain"),
    [
        ({"main": "include: [main.yaml]\n"}, "`main.yaml` -> `main.yaml`"),
        ({"main": "include: [a.yaml]\n", "a": "include: [main.yaml]\n"}, "`main.yaml` -> `a.yaml` -> `main.yaml`"),
        (
            {"main": "include: [a.yaml]\n", "a": "include: [b.yaml]\n", "b": "include: [c.yaml]\n",
             "c": "include: [a.yaml]\n"},
            "`a.yaml` -> `b.yaml` -> `c.yaml` -> `a.yaml`",
        ),
    ],
)  # fmt: skip
def test_a_cycle_is_an_error_with_the_whole_chain(write: Write, files: dict[str, str], chain: str) -> None:
    write(**files)
    with pytest.raises(PolicyCompileError) as caught:
        load_policy_file("main.yaml")
    assert [item.code for item in caught.value.diagnostics] == ["E1203"]
    assert chain in caught.value.diagnostics[0].message


def test_names_and_ids_that_two_files_define_are_errors_with_both_places(write: Write) -> None:
    write(
        main="include: [a.yaml]\nvars: {v: 1}\npredicates: {p: {tool: x}}\nresources: {r: {kind: path, root: ./r}}\n"
        "sources: {s: {tool: t, fields: [a]}}\n" + RULE.format("same"),
        a="vars: {v: 2}\npredicates: {p: {tool: y}}\nresources: {r: {kind: path, root: ./q}}\n"
        "sources: {s: {tool: u, fields: [a]}}\n" + RULE.format("same"),
    )
    assert errors() == [("E0111", "main.yaml:2:8")]
    write(a=Path("a.yaml").read_text().replace("vars: {v: 2}\n", ""))
    with pytest.raises(PolicyCompileError) as caught:
        load_policy_file("main.yaml")
    found = caught.value.diagnostics
    assert [(item.code, item.span.file if item.span else "") for item in found] == [
        ("E0111", "main.yaml"), ("E0111", "main.yaml"), ("E0111", "main.yaml"), ("E0210", "main.yaml"),
    ]  # fmt: skip
    assert {related.span.file for item in found for related in item.related} == {"a.yaml"}


def test_a_prefix_begins_the_names_and_ids_of_a_file(write: Write) -> None:
    write(
        main="include: [common.yaml, {file: pay.yaml, prefix: pay}]\n"
        "rules:\n  - id: small\n    match: {all_of: [pay.large, large, {args.a: '${pay.limit}', args.b: '${limit}'}]}\n"
        "    decision: deny\n"
        "  - {id: seen, match: {args.id.from: [pay.seen, seen]}, decision: deny}\n"
        "  - {id: files, match: {args.file.path.within: 'pay.ws'}, decision: deny}\n"
        "capabilities: [{id: cap, action: fs.read, resource: ['pay.ws:**', 'ws:a/**']}]\n",
        pay="vars: {limit: 5}\npredicates: {large: {args.n.gt: '${limit}'}}\nsources: {seen: {tool: p, fields: [id]}}\n"
        "resources: {ws: {kind: path, root: ./pay}}\n"
        "rules:\n  - {id: small, match: {all_of: [large, other, {args.id.from: seen}]}, decision: deny}\n"
        "capabilities: [{id: cap, action: fs.list, resource: 'ws:**'}]\n",
        common="vars: {limit: 9}\npredicates: {large: {args.n.gt: 100}, other: {args.c: '${limit}'}}\n"
        "sources: {seen: {tool: c, fields: [id]}}\nresources: {ws: {kind: path, root: ./ws}}\n",
    )
    policy = load_policy_file("main.yaml")
    assert ids(policy) == ["pay.small", "small", "seen", "files", "pay.cap", "cap"]
    assert policy.evaluate(Request("t", {"n": 150, "a": 5, "b": 9})).matched_rules == ("small",)
    assert policy.evaluate(Request("t", {"n": 150, "a": 9, "b": 9})).matched_rules != ("small",)
    assert policy.evaluate(Request("t", {"n": 50, "a": 5, "b": 9})).matched_rules != ("small",)
    allowed = {
        path: policy.evaluate(Request("fs.read", {"path": path})).matched_rules for path in ("pay/x", "ws/a/x", "ws/x")
    }
    assert allowed["ws/a/x"] == ("cap",)
    assert allowed["ws/x"] != ("cap",)
    assert policy.evaluate(Request("fs.list", {"path": "pay/x"})).matched_rules == ("pay.cap",)
    assert policy.evaluate(Request("fs.list", {"path": "ws/x"})).matched_rules != ("pay.cap",)
    assert Policy.load(policy.to_bytes()).id == policy.id


@pytest.mark.parametrize("prefix", ["a.b", "", "1a", "a b", "ä"])
def test_a_prefix_is_a_name(write: Write, prefix: str) -> None:
    write(main=f"include: [{{file: a.yaml, prefix: '{prefix}'}}]\n", a=RULE.format("a"))
    assert errors() == [("E0204", "main.yaml:1:34")]


@pytest.mark.parametrize(
    "path",
    ["../secret.yaml", "d/../../secret.yaml", "/etc/hostname", "out.yaml", "away/secret.yaml", "https://x.example/a.yaml",
     "", " ", "missing.yaml", "d", "fifo.yaml", "a\\0b", "~/a.yaml", "d/loop.yaml"],
)  # fmt: skip
def test_no_path_leaves_the_directory_of_the_policy(write: Write, tmp_path: Path, path: str) -> None:
    write(policies__main=f'include: ["{path}"]\n' + RULE.format("a"), secret=RULE.format("secret"))
    os.chdir(tmp_path / "policies")
    Path("d").mkdir()
    Path("out.yaml").symlink_to("../secret.yaml")
    Path("away").symlink_to("..")
    Path("d", "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo("fifo.yaml")
    assert errors() == [("E1202", "main.yaml:1:11")]


def test_the_root_can_be_another_directory(write: Write, tmp_path: Path) -> None:
    write(
        policies__main=f"include: [../common/a.yaml, {tmp_path}/common/b.yaml]\n" + RULE.format("main"),
        common__a=RULE.format("a"),
        common__b=RULE.format("b"),
    )
    os.chdir("policies")
    assert [code for code, _ in errors()] == ["E1202", "E1202"]
    assert ids(load_policy_file("main.yaml", include_root=tmp_path)) == ["a", "b", "main"]
    assert ids(load_policy_file("main.yaml", include_root="../common")) == ["a", "b", "main"]
    assert [code for code, _ in errors(include_root=".")] == ["E1202", "E1202"]


def test_a_directory_of_links_can_be_the_root(write: Write) -> None:
    """A mounted ConfigMap consists of links into a directory with a time in its name."""
    write(mount__v1__main="include: [common.yaml]\n", mount__v1__common=RULE.format("common"))
    os.chdir("mount")
    for name in ("main.yaml", "common.yaml"):
        Path(name).symlink_to(f"v1/{name}")
    assert ids(load_policy_file("main.yaml")) == ["common"]


def test_a_missing_file_is_suggested(write: Write) -> None:
    write(main="include: [teams/pya.yaml]\n", teams__pay=RULE.format("pay"))
    with pytest.raises(PolicyCompileError, match=r"did you mean `teams/pay.yaml`\?"):
        load_policy_file("main.yaml")


@pytest.mark.parametrize(
    "include", ["a.yaml", "{a: b}", "[[a.yaml]]", "[{prefix: a}]", "[{file: a.yaml, as: b}]", "[5]", "~"]
)
def test_include_takes_a_list_of_files(write: Write, include: str) -> None:
    write(main=f"include: {include}\n", a=RULE.format("a"))
    assert {code for code, _ in errors()} <= {"E0204", "E0202", "E0203"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "text\n", "a: !!x 1\n"])
def test_an_included_file_is_a_policy(write: Write, text: str) -> None:
    write(main="include: [a.yaml]\n", a=text)
    ((code, place),) = errors()
    assert code in ("E0201", "E0105")
    assert place.startswith("a.yaml:")


def test_bytes_that_are_no_text_cannot_be_included(write: Write) -> None:
    write(main="include: [a.yaml, p.bobcat]\n")
    Path("a.yaml").write_bytes(b"rules: []\n# \xff\n")
    Policy.compile("rules: []").save("p.bobcat")
    assert [code for code, _ in errors()] == ["E0102", "E0102"]


def test_a_text_and_plain_data_include_nothing(write: Write, run: Run) -> None:
    write(a=RULE.format("a"))
    for source in ("include: [a.yaml]\n", {"include": ["a.yaml"]}):
        with pytest.raises(PolicyCompileError) as caught:
            compile_policy(source)
        assert [item.code for item in caught.value.diagnostics] == ["E1201"]
    done = run("check", "-", stdin="include: [a.yaml]\n")
    assert done.code == 1
    assert "E1201" in done.out


def test_defaults_of_an_included_file_agree_with_those_of_the_policy(write: Write) -> None:
    write(
        main="include: [a.yaml]\ndefaults: {on_missing_shadow: deny}\n",
        a="defaults: {on_no_match: deny, on_missing_shadow: deny}\nrules: []\n",
    )
    assert load_policy_file("main.yaml").defaults.on_no_match == "deny"
    write(a="defaults: {on_no_match: allow, on_rule_error: continue}\n")
    assert errors() == [("E1205", "a.yaml:1:25"), ("E1205", "a.yaml:1:47")]


def test_the_number_of_files_is_limited(write: Write) -> None:
    names = [f"f{number}" for number in range(MAX_FILES + 1)]
    write(main=f"include: [{', '.join(f'{name}.yaml' for name in names)}]\n", **dict.fromkeys(names, "rules: []\n"))
    assert [code for code, _ in errors()] == ["E1202"]


def test_check_of_a_directory_reads_included_files_with_their_policy(write: Write, run: Run) -> None:
    write(
        p__main="include: [parts/a.yaml]\nvars: {x: 1}\npredicates: {known: {tool: t}}\nrules: []\n",
        p__parts__a="rules: [{id: a, match: {all_of: [known, {args.n: '${x}'}]}, decision: deny}]\n",
        p__other=RULE.format("other"),
    )
    done = run("check", "p")
    assert done.code == 0, done.out
    assert "2 policies: 0 errors, 0 warnings" in done.out
    assert run("check", "p/parts/a.yaml").code == 1


def test_a_suite_is_about_all_files_of_its_policy(write: Write, run: Run) -> None:
    write(
        main="include: [a.yaml]\n",
        a="rules:\n  - {id: a, match: {tool: x}, decision: deny}\n  - {id: b, match: {tool: y}, decision: deny}\n",
    )
    Path("t.policytest.yaml").write_text(
        "policy: main.yaml\ncases: [{name: a, request: {tool: x}, expect: {rule: a}}]\n", encoding="utf-8"
    )
    done = run("test", "--coverage")
    assert done.code == 0, done.out
    assert "a.yaml" in done.out
    assert included_files("main.yaml") == ("a.yaml",)
    assert watched_files(["t.policytest.yaml"]) == {"t.policytest.yaml", "main.yaml", "a.yaml"}
    assert watched_files([], "main.yaml") == {"main.yaml", "a.yaml"}
    assert decide("main.yaml", "x").decision.matched_rules == ("a",)
    write(a="rules: [{id: changed, match: {tool: x}, decision: deny}]\n")
    os.utime("a.yaml", ns=(1, 1))
    assert decide("main.yaml", "x").decision.matched_rules == ("changed",)


def test_the_lynx_profile_includes_nothing(write: Write) -> None:
    write(main="include: [a.yaml]\nrules: []\n", a=RULE.format("a"))
    with pytest.warns(UserWarning, match="include"):
        assert not load_policy_file("main.yaml", profile="lynx").rules


def test_requests_are_decided_as_by_one_file(write: Write) -> None:
    write(main="include: [a.yaml]\nrules: [{id: m, match: {tool: x}, decision: allow}]\n", a=RULE.format("x"))
    assert load_policy_file("main.yaml").evaluate(Request("x")).matched_rules == ("x",)
