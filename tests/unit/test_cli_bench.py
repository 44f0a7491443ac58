"""`bobcat bench`: its output, its exit codes, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bobcat
from unit.cli_runner import Run, runner

POLICY = "rules:\n- {id: a, match: {tool: t, args.x.matches: '^a+$'}, decision: allow}\n"
REQUESTS = '{"tool": "t", "args": {"x": "aaa"}}\n{"tool": "u"}\n'
QUICK = ("--seconds", "0.1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(POLICY)
    Path("r.jsonl").write_text(REQUESTS)
    return runner(capsys, monkeypatch)


def test_the_text_shows_figures_a_histogram_rules_clauses_and_the_slowest(run: Run) -> None:
    done = run("bench", "p.yaml", "--requests", "r.jsonl", *QUICK)
    assert done.code == 0
    assert done.out.startswith("2 requests (r.jsonl), 1 rule, ")
    for part in ("p50", "p99", "decisions per second", "█", "decided by", "slowest request", "p.yaml:2:"):
        assert part in done.out
    assert done.err.startswith("deciding 2 requests with 1 rule ...\n")


def test_json_is_one_document_with_progress_elsewhere(run: Run) -> None:
    reported = run("bench", "p.yaml", "--requests", "r.jsonl", "--format", "json", *QUICK).json()
    assert reported["subject"]["requests"] == 2
    assert reported["comparison"] is None
    assert {cost["rule"] for cost in reported["rules"]} == {"a", "<default:on_missing_shadow>"}


def test_requests_are_made_from_the_policy_when_none_are_given(run: Run) -> None:
    bobcat.compile_policy(POLICY).save("p.bobcat")
    reported = run("bench", "p.bobcat", "--format", "json", *QUICK).json()
    assert reported["subject"]["source"] == "generated"
    assert "a" in {cost["rule"] for cost in reported["rules"]}


def _slowed(name: str, factor: float) -> None:
    saved = json.loads(Path(name).read_text())
    saved["decisions"]["relative"] /= factor
    Path(name).write_text(json.dumps(saved))


def test_a_regression_exits_with_one_and_is_not_saved(run: Run) -> None:
    measure = ("bench", "p.yaml", "--requests", "r.jsonl", *QUICK)
    assert run(*measure, "--save", "b.json").code == 0
    done = run(*measure, "--baseline", "b.json", "--fail-over", "4")
    assert done.code == 0, done.out
    assert "compared with the baseline" in done.out
    _slowed("b.json", 40)
    before = Path("b.json").read_bytes()
    done = run(*measure, "--baseline", "b.json", "--fail-over", "4", "--save", "b.json", "--html", "r.html")
    assert done.code == 1
    assert "slower than allowed" in done.out
    assert done.err.endswith("note: `b.json` is not written: the result is a regression\n")
    assert Path("b.json").read_bytes() == before
    assert "slower than allowed" in Path("r.html").read_text()
    done = run(*measure, "--baseline", "b.json")
    assert done.code == 0, "without a limit a comparison fails nothing"


def test_other_requests_than_those_of_the_baseline_are_noted(run: Run) -> None:
    run("bench", "p.yaml", "--requests", "r.jsonl", "--save", "b.json", *QUICK)
    done = run("bench", "p.yaml", "--baseline", "b.json", *QUICK)
    assert "note: the baseline was measured on other requests" in done.err


def test_requests_come_from_standard_input(run: Run) -> None:
    done = run("bench", "p.yaml", "--requests", "-", *QUICK, stdin=REQUESTS)
    assert done.out.startswith("2 requests (<stdin>)")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("p.yaml", "--requests", "none.jsonl"), 3, "error: cannot read `none.jsonl`: no such file or directory\n"),
        (("p.yaml", "--requests", "bad.jsonl"), 3, "not a request: bad.jsonl:2: the request has no `tool`"),
        (("p.yaml", "--requests", "empty.jsonl"), 3, "empty.jsonl: the file has no request"),
        (("p.yaml", "--baseline", "none.json", "--fail-over", "2"), 3, "cannot read `none.json`"),
        (("p.yaml", "--baseline", "bad.jsonl"), 3, "error: `bad.jsonl` is not a baseline"),
        (("p.yaml", "--fail-over", "1.1"), 2, "`--fail-over` needs `--baseline`"),
        (("p.yaml", "--fail-over", "0", "--baseline", "b.json"), 2, "--fail-over"),
        (("p.yaml", "--seconds", "0"), 2, "--seconds"),
        (("p.yaml", "--seconds", "nan"), 2, "nan is not a finite number"),
        (("p.yaml", "--fail-over", "nan", "--baseline", "b.json"), 2, "nan is not a finite number"),
        (("p.yaml", "--fail-over", "inf", "--baseline", "b.json"), 2, "inf is not a finite number"),
        (("-", "--requests", "-"), 2, "standard input can be the policy or the requests, not both"),
        (("broken.yaml",), 1, "error[E"),
        (("p.yaml", "--save", "none/b.json", *QUICK), 3, "cannot write `none/b.json`"),
    ],
)
def test_mistakes_are_messages_with_a_code(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    Path("bad.jsonl").write_text('{"tool": "t"}\n{"args": {}}\n')
    Path("empty.jsonl").write_text("\n")
    Path("broken.yaml").write_text("rules: [{id: a}]")
    done = run("bench", *arguments)
    assert done.code == code
    assert message in done.err
