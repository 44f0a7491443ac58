"""`bobcat report`: one page about a policy, and the same facts as JSON."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy
from bobcat.decision_log import open_log
from unit.cli_runner import Done, Run, runner
from unit.policy_suites import write

POLICY = """\
rules:
  - {id: admins, match: {tool.matches: '^admin'}, decision: deny, priority: 5}
  - {id: read, match: {tool: read}, decision: allow}
  - {id: pay, match: {tool: pay, context.environment: prod, args.amount.lt: 100}, decision: allow}
  - {id: ask, match: {tool: pay, context.environment: prod}, decision: approve_required, approvers: [ann]}
  - {id: cap, match: {tool: cap}, decision: transform, transform: {jsonpath: $.args.n, set: 1}}
defaults: {on_missing_shadow: deny}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    return runner(capsys, monkeypatch)


def facts(run: Run, *args: str) -> Any:
    done = run("report", "policy.yaml", *args, "--format", "json")
    assert done.code == 0, done.err
    return done.json()


def logged(*calls: tuple[str, dict[str, Any]]) -> str:
    with open_log("decisions.jsonl") as log:
        for index, (tool, args) in enumerate(calls):
            body = {"tool": tool, "args": args, "verdict": "allow", "matched_rules": ["x"],
                    "principal": {"kind": "user", "id": "ann"}, "environment": "prod"}  # fmt: skip
            log.append(f"r{index}", "decision", body)
    return "decisions.jsonl"


def test_the_table_has_the_verdicts_of_every_tool_in_every_environment(run: Run) -> None:
    access = facts(run)["access"]
    assert access["columns"] == [{"context.environment": "prod"}, {"context.environment": None}]
    found = {row["tool"]: [cell["verdicts"] for cell in row["cells"]] for row in access["rows"]}
    assert found == {
        "cap": [["transform"], ["transform"]],
        "pay": [["allow", "approve_required"], ["deny"]],
        "read": [["allow"], ["allow"]],
        None: [["deny"], ["deny"]],
    }
    pay = next(row for row in access["rows"] if row["tool"] == "pay")
    assert pay["cells"][0] == {
        "verdicts": ["allow", "approve_required"],
        "by": [{"rule": "pay", "verdict": "allow"}, {"rule": "ask", "verdict": "approve_required"}],
        "error_denies": False,
        "seen": ["allow", "approve_required"],
    }


def test_declarations_of_tools_settle_the_default(run: Run) -> None:
    policy = "rules: [{id: a, match: {tool: x, args.n: 1}, decision: allow}]\n"
    Path("policy.yaml").write_text(policy)
    tools = "from bobcat import ToolSet, tool\n"
    for name, reversible in (("x", True), ("y", False)):
        tools += f"\n\n@tool(cost='low', reversible={reversible})\nasync def {name}(n: int) -> str:\n    return ''\n"
    Path("policy_tools.py").write_text(tools + "\n\ntools = ToolSet.from_functions(x, y)\n")
    rows = {row["tool"]: row for row in facts(run, "--tools", "policy_tools.py")["access"]["rows"]}
    assert rows["x"]["cells"][0]["verdicts"] == ["allow", "deny"]
    assert rows["y"]["cells"][0]["verdicts"] == ["approve_required"]
    assert rows["y"]["named_by"] == ["tools"]
    assert rows[None]["cells"][0]["verdicts"] == ["approve_required", "deny"]


def test_logs_give_counts_times_and_tools(run: Run) -> None:
    log = logged(("read", {"path": "a"}), ("read", {"path": "b"}), ("pay", {"amount": 500}), ("other", {}))
    found = facts(run, "--log", log)
    traffic = found["traffic"]
    assert traffic["decided"] == 4
    assert {rule: each["fired"] for rule, each in traffic["rules"].items()} == {
        "admins": 0, "read": 2, "pay": 0, "ask": 1, "cap": 0
    }  # fmt: skip
    assert traffic["rules"]["read"]["last"] is not None
    assert traffic["rules"]["cap"]["last"] is None
    assert {"tool": "other", "verdict": "deny", "count": 1} in traffic["verdicts"]
    assert [row["named_by"] for row in found["access"]["rows"] if row["tool"] == "other"] == [["logs"]]


def test_suites_give_the_coverage(run: Run) -> None:
    cases = "  - {name: read, request: {tool: read}, expect: {verdict: allow}}\n"
    write(Path(), cases, policy=POLICY)
    assert facts(run, "--suite", ".")["coverage"]["policies"][0]["rules"][1]["fired"] == 1
    run("report", "policy.yaml", "--suite", ".")
    page = Path("policy-report.html").read_text()
    assert "1 cases passed" in page
    assert '<section id="coverage"' in page


def test_findings_lead_to_their_rules(run: Run) -> None:
    Path("policy.yaml").write_text("rules:\n  - {id: late, match: {tool: a}, decision: allow}\n"
                                   "  - {id: never, match: {tool: a, args.x: 1}, decision: deny}\n")  # fmt: skip
    assert run("report", "policy.yaml").code == 0
    page = Path("policy-report.html").read_text()
    [number] = {match[1] for match in re.finditer(r'<tr id="finding-(\d)"[^>]*>.*?W0101', page)}
    assert f'<tr id="rule-1"><th scope="row">never<br><a href="#finding-{number}">W0101</a>' in page
    assert '<a href="#rule-1">policy.yaml:3:5</a>' in page


def test_a_bundle_is_reported_with_its_keys_and_findings(run: Run) -> None:
    from bobcat.bundle.sign import public_key

    key = "11" * 32
    Path("p.bundle").write_bytes(Policy.compile(POLICY, source_path="policy.yaml").to_bytes(private_key=key, epoch=7))
    done = run("report", "p.bundle", "--format", "json")
    policy = done.json()["policy"]
    assert (policy["epoch"], policy["signatures"]) == (7, [{"key": public_key(key), "verified": False}])
    done = run("report", "p.bundle", "--trusted-key", public_key(key), "--format", "json")
    assert done.json()["policy"]["signatures"][0]["verified"] is True
    assert [item["code"] for item in done.json()["findings"]] == [
        item["code"] for item in run("report", "policy.yaml", "--format", "json").json()["findings"]
    ]
    assert run("report", "p.bundle", "--trusted-key", "22" * 32).code == 2


def test_python_rules_and_what_is_remembered_are_shown(run: Run) -> None:
    Path("rules.py").write_text(
        "from bobcat import deny, rule\n\n\n@rule\ndef f(request, context):\n    '''Deny shells.'''\n"
        "    if request.tool == 'sh':\n        return deny('no')\n    return None\n"
    )
    assert run("report", "rules.py").code == 0
    page = Path("policy-report.html").read_text()
    assert "Python function" in page
    assert "Deny shells." in page
    text = "rules: [{id: a, match: {tool: pay, run.count.pay.lt: 2}, decision: allow}]"
    Path("policy.yaml").write_text(text)
    assert run("report", "policy.yaml").code == 0
    assert "What the policy remembers" in Path("policy-report.html").read_text()


def test_equal_inputs_give_equal_pages(run: Run) -> None:
    log = logged(("read", {"path": "a"}))
    pages = []
    for name in ("a.html", "b.html"):
        done = run("report", "policy.yaml", "--log", log, "-o", name)
        assert (done.code, done.out, done.err) == (0, "", f"wrote {name}\n")
        pages.append(Path(name).read_bytes())
    assert pages[0] == pages[1]
    assert run("report", "policy.yaml", "--log", log, "-o", "-").out.encode() == pages[0]


def test_the_page_allows_its_own_style_and_script_only(run: Run) -> None:
    run("report", "policy.yaml")
    page = Path("policy-report.html").read_text()
    rules = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert rules is not None
    for tag in ("style", "script"):
        [content] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in rules[1]
    assert rules[1].startswith("default-src 'none'; ")
    assert "unsafe" not in rules[1]
    assert not re.search(r"\b(src|action|onclick|style)=", page)
    assert re.findall(r'href="([^#][^"]*)"', page) == []


def mistaken(run: Run, *args: str) -> Done:
    done = run("report", *args)
    assert done.code in (1, 2)
    assert not Path("policy-report.html").exists()
    return done


def test_mistakes_are_named_and_write_no_page(run: Run) -> None:
    assert "cannot read `absent.yaml`" in mistaken(run, "absent.yaml").err
    assert "give a file" in mistaken(run, "-").err
    assert "absent" in mistaken(run, "policy.yaml", "--suite", "absent").err
    Path("empty").mkdir()
    assert "no `*.policytest.yaml` found" in mistaken(run, "policy.yaml", "--suite", "empty").err
    assert "cannot read `absent.jsonl`" in mistaken(run, "policy.yaml", "--log", "absent.jsonl").err
    assert "absent.py" in mistaken(run, "policy.yaml", "--tools", "absent.py").err
    Path("bad.yaml").write_text("rules: [{id: a, match: {tol: x}, decision: allow}]")
    assert "did you mean" in mistaken(run, "bad.yaml").err
    Path("odd.jsonl").write_text("hello\n")
    assert "cannot read `odd.jsonl`" in mistaken(run, "policy.yaml", "--log", "odd.jsonl").err


def test_damaged_lines_are_reported_and_counted(run: Run) -> None:
    log = logged(("read", {}))
    with open(log, "a") as file:
        file.write("{]\n")
    done = run("report", "policy.yaml", "--log", log)
    assert (done.code, "damaged" in done.err) == (2, True)
    assert "1 damaged line was left out" in Path("policy-report.html").read_text()


def test_an_environment_with_too_many_values_is_no_column(run: Run) -> None:
    rules = "".join(
        f"  - {{id: r{n}, match: {{tool: t, context.environment: e{n}}}, decision: allow}}\n" for n in range(20)
    )
    Path("policy.yaml").write_text("rules:\n" + rules + "defaults: {on_missing_shadow: deny}\n")
    access = facts(run)["access"]
    assert access["columns"] == [{}]
    assert access["rows"][0]["cells"][0]["verdicts"] == ["allow", "deny"]
    run("report", "policy.yaml")
    assert "20 values of environment: too many for columns" in Path("policy-report.html").read_text()


def test_example_calls_show_what_really_happens(run: Run) -> None:
    Path("policy.yaml").write_text(
        "rules: [{id: a, match: {tool: x, args.n: 1, not: {args.n: 1}}, decision: allow}, "
        "{id: b, match: {tool: y, args.n: 1}, decision: allow}]\ndefaults: {on_missing_shadow: deny}\n"
    )
    rows = {row["tool"]: row["cells"][0] for row in facts(run)["access"]["rows"]}
    assert (rows["x"]["verdicts"], rows["x"]["seen"]) == (["allow", "deny"], ["deny"])
    assert (rows["y"]["verdicts"], rows["y"]["seen"]) == (["allow", "deny"], ["allow", "deny"])
    assert (rows[None]["verdicts"], rows[None]["seen"]) == (["deny"], ["deny"])
    run("report", "policy.yaml")
    assert "example calls were allowed or denied" in Path("policy-report.html").read_text()


def test_a_monitored_rule_is_shown_and_decides_nothing(run: Run) -> None:
    Path("policy.yaml").write_text("rules: [{id: a, match: {tool: x}, decision: deny, mode: monitor}, "
                                   "{id: b, match: {tool: x}, decision: allow}]\n")  # fmt: skip
    found = facts(run)
    assert [rule["monitored"] for rule in found["rules"]] == [True, False]
    assert found["access"]["rows"][0]["cells"][0]["verdicts"] == ["allow"]
    run("report", "policy.yaml")
    assert "monitored: decides nothing" in Path("policy-report.html").read_text()


def test_the_lynx_profile_is_reported(run: Run) -> None:
    Path("policy.yaml").write_text("rules: [{id: a, match: {tool: x, args.n: 1}, decision: allow}, "
                                   "{id: b, match: {tool: y}, decision: deny}]\n")  # fmt: skip
    rows = {row["tool"]: row["cells"][0]["verdicts"] for row in facts(run, "--profile", "lynx")["access"]["rows"]}
    assert rows["y"] == ["deny"]
    assert "allow" in rows["x"]
    assert len(rows["x"]) > 1
