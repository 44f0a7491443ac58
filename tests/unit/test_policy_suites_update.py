"""`bobcat test --update`: expectations for new cases, with comments and layout kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat.testing.suites.session import collect, run, select
from bobcat.testing.suites.update import updates
from unit.cli_runner import Run, runner
from unit.policy_suites import write

CASES = """\
  # the smallest
  - name: a   # small
    request: {tool: pay, args: {amount: 20}}  # why
  - {name: b, request: {tool: pay, args: {amount: 5000}}}
  - name: c
    request:
      tool: pay
      args:
        amount: 500   # last

  # both rows are allowed
  - name: d
    table: [{a: 1}, {a: 2}]
    request: {tool: pay, args: {amount: $a, note: "$$x"}}
  - name: e
    sequence:
      - call: {tool: pay, args: {amount: 20}}
      - {call: {tool: pay, args: {amount: 20, to: [x]}}, }
  - {name: z, request: {tool: pay, args: {amount: 20}}, expect: {verdict: deny}}
"""
WRITTEN = """\
  # the smallest
  - name: a   # small
    request: {tool: pay, args: {amount: 20}}  # why
    expect: {verdict: allow, rule: small}
  - {name: b, request: {tool: pay, args: {amount: 5000}}, EXPECT_B}
  - name: c
    request:
      tool: pay
      args:
        amount: 500   # last
    expect: {verdict: approve_required, rule: large}

  # both rows are allowed
  - name: d
    table: [{a: 1}, {a: 2}]
    request: {tool: pay, args: {amount: $a, note: "$$x"}}
    expect: {verdict: allow, rule: small}
  - name: e
    sequence:
      - call: {tool: pay, args: {amount: 20}}
        expect: {verdict: allow, rule: small}
      - {call: {tool: pay, args: {amount: 20, to: [x]}},  expect: {verdict: deny, rule: blocked, error: wrong_type}}
  - {name: z, request: {tool: pay, args: {amount: 20}}, expect: {verdict: deny}}
"""


@pytest.fixture
def bobcat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def test_new_cases_get_expectations_and_the_rest_of_the_file_stays(bobcat: Run, tmp_path: Path) -> None:
    suite = tmp_path / write(tmp_path, CASES)
    done = bobcat("test", "--update", "--yes")
    second = 'expect: {verdict: transform, rule: capped, args: {"amount": 1000}}'
    assert suite.read_text() == f"policy: policy.yaml\ncases:\n{WRITTEN}".replace("EXPECT_B", second)
    assert (done.code, done.out.splitlines()[-1].partition(" in ")[0]) == (1, "1 failed, 6 updated")
    assert bobcat("test").out.splitlines()[-1].startswith("1 failed, 6 passed")
    assert "wrote" not in bobcat("test", "--update", "--yes").err


def test_without_a_terminal_the_change_is_shown_and_not_written(bobcat: Run, tmp_path: Path) -> None:
    suite = tmp_path / write(tmp_path, CASES)
    before = suite.read_bytes()
    done = bobcat("test", "--update")
    assert (done.code, suite.read_bytes() == before) == (1, True)
    assert "+    expect: {verdict: allow, rule: small}" in done.err
    assert "`--yes`" in done.err


def test_rows_that_are_decided_differently_are_left_to_their_author(bobcat: Run, tmp_path: Path) -> None:
    cases = "  - {name: a, table: [{a: 1}, {a: 500}], request: {tool: pay, args: {amount: $a}}}\n"
    suite = tmp_path / write(tmp_path, cases)
    before = suite.read_bytes()
    done = bobcat("test", "--update", "--yes")
    assert (done.code, suite.read_bytes() == before) == (1, True)
    assert "write `expect` with parameters" in done.err


def test_a_file_without_a_last_newline_is_extended(bobcat: Run, tmp_path: Path) -> None:
    suite = tmp_path / write(tmp_path, "  - name: a\n    request:\n      tool: pay")
    assert bobcat("test", "--update", "--yes").code == 0
    assert suite.read_text().endswith(
        "      tool: pay\n    expect: {verdict: deny, rule: <default:on_missing_shadow>}\n"
    )
    assert bobcat("test").code == 0


def test_cases_that_share_a_node_are_left_to_their_author(bobcat: Run, tmp_path: Path) -> None:
    shared = "  - name: a\n    sequence: &s\n      - call: {tool: pay}\n  - name: b\n    sequence: *s\n"
    suite = tmp_path / write(tmp_path, shared)
    before = suite.read_bytes()
    done = bobcat("test", "--update", "--yes")
    assert (done.code, suite.read_bytes() == before) == (1, True)
    assert "write the expectations by hand" in done.err


names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(str.strip)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 2000), names),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(values, st.booleans(), st.booleans()), min_size=1, max_size=4))
def test_updated_suites_pass_whatever_their_layout(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[object, bool, bool]]
) -> None:
    directory = tmp_path_factory.mktemp("suite")
    cases = ""
    for number, (value, flow, commented) in enumerate(calls):
        args = json.dumps({"amount": value, "to": "acct-1"}, ensure_ascii=False)
        comment = "  # why" if commented else ""
        if flow:
            cases += f"  - {{name: c{number}, request: {{tool: pay, args: {args}}}}}{comment}\n"
        else:
            cases += f"  - name: c{number}\n    request:\n      tool: pay\n      args: {args}{comment}\n"
    suite = directory / write(directory, cases)
    collected = collect([str(suite)])
    assert collected.errors == ()
    (update,) = updates([item.suite for item in collected.suites], run(select(collected)).results)
    assert (update.written, update.problems) == (len(calls), ())
    suite.write_text(update.after)
    again = collect([str(suite)])
    assert run(select(again)).failed == 0
    kept = [line.partition(", expect: ")[0] for line in update.after.split("\n") if "    expect: " not in line]
    assert all(line.startswith(found) for line, found in zip(update.before.split("\n"), kept, strict=True))
