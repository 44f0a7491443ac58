"""`bobcat trace` and the names of lynx-agent's commands: journals as timelines, and `python -m bobcat`."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import subprocess
import sys
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import StepRecord, step_record_from_json, step_record_to_json
from bobcat.stores.urls import open_store
from unit.cli_runner import Run, runner

START = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def journal(*bodies: tuple[str, dict[str, Any]], run_id: str = "r1", skip: int | None = None) -> str:
    """Lines of records, a second apart."""
    records = [
        StepRecord(run_id, seq, kind, "k" * 32 if "action" in kind else "", body, START + timedelta(seconds=seq))
        for seq, (kind, body) in enumerate(bodies)
        if seq != skip
    ]
    return "".join(step_record_to_json(record) + "\n" for record in records)


STARTED = ("run.started", {"task": "pay the bills", "bundle_id": "f" * 64})
CALL = ("model.output", {"step": 0, "type": "tool_call", "tool": "pay", "args": {"to": "ann"}, "call_id": ""})
INTENT = ("action.intent", {"step": 0, "tool": "pay", "verdict": "allow"})
RESULT = (
    "action.result",
    {"step": 0, "tool": "pay", "verdict": "allow", "ok": True, "error": None, "duration_ms": 7, "message": "[ok] paid"},
)
ANSWER = ("model.output", {"step": 1, "type": "final_answer", "text": "all paid"})
FINAL = ("final", {"step": 1, "final_answer": "all paid"})
RESUMED = ("run.resumed", {"records": 3, "bundle_id": "e" * 64})


def test_a_finished_run_is_a_timeline(run: Run) -> None:
    done = run("trace", "-", stdin=journal(STARTED, CALL, INTENT, RESULT, ANSWER, FINAL))
    assert done.code == 0
    assert done.out == (
        "run r1: 6 records, 1 attempt, 2026-01-31T12:00:00+00:00 + 5.000 s\n"
        "  task: pay the bills\n"
        "     +0.000  attempt 1, policy ffffffffffffffff\n"
        '     +1.000  step 0: pay(to="ann")  allow  ok  7 ms\n'
        "             [ok] paid\n"
        "final: all paid\n"
    )


def test_an_intent_without_result_is_uncertain_whatever_a_later_attempt_decided(run: Run) -> None:
    denied = ("action.intent", {"step": 0, "tool": "pay", "verdict": "deny"})
    for records in ((STARTED, CALL, INTENT), (STARTED, CALL, INTENT, RESUMED, denied)):
        done = run("trace", "-", stdin=journal(*records))
        assert done.code == 0
        assert "uncertain\n             intent without result: the action may have been executed\n" in done.out
        assert done.out.endswith("final: (run incomplete)\n")
        assert run("trace", "-", "--exit-code", stdin=journal(*records)).code == 1


def test_a_retry_after_an_uncertain_attempt_says_so(run: Run) -> None:
    result = ("action.result", {**RESULT[1], "uncertain_retry": True, "ok": False, "message": "[error] gone"})
    done = run("trace", "-", stdin=journal(STARTED, CALL, INTENT, RESUMED, INTENT, result))
    assert "1.000  step 0" in done.out
    assert "allow  failed  7 ms\n" in done.out
    assert "retried after an uncertain attempt, which may have been executed too\n" in done.out
    assert "attempt 2, policy eeeeeeeeeeeeeeee" in done.out


def test_what_was_executed_is_shown_and_not_what_was_proposed(run: Run) -> None:
    intent = ("action.intent", {**INTENT[1], "verdict": "transform", "args": {"to": "bob"}})
    assert 'pay(to="bob")  transform  uncertain' in run("trace", "-", stdin=journal(STARTED, CALL, intent)).out


def test_the_calls_of_one_reply_are_steps_of_their_own(run: Run) -> None:
    calls = [{"tool": "a", "args": {}, "call_id": "1"}, {"tool": "b", "args": {}, "call_id": "2"}]
    reply = ("model.output", {"step": 0, "type": "tool_calls", "calls": calls})
    out = run("trace", "-", stdin=journal(STARTED, reply)).out
    assert "step 0: a()  -  unfinished\n" in out
    assert "step 1: b()  -  unfinished\n" in out


def test_an_approval_is_waited_for_or_was_given(run: Run) -> None:
    body = {"step": 0, "tool": "pay", "args": {"to": "ann"}, "matched_rules": ["r"], "approvers": ["bob"]}
    asked = ("approval.requested", body)
    granted = ("approval.granted", {**body, "approver": "bob", "edited": {"to": "eve"}})
    out = run("trace", "-", stdin=journal(STARTED, CALL, asked)).out
    assert 'pay(to="ann")  -  waiting\n             waiting for an approval\n' in out
    out = run("trace", "-", stdin=journal(STARTED, CALL, asked, granted)).out
    assert 'pay(to="eve")  -  unfinished\n             granted by bob\n' in out
    intent = ("action.intent", {**INTENT[1], "args": {"to": "eve"}})
    assert (
        'pay(to="eve")  allow  ok'
        in run("trace", "-", stdin=journal(STARTED, CALL, asked, granted, intent, RESULT)).out
    )


def test_handoffs_of_a_graph_are_shown(run: Run) -> None:
    hops = [
        ("handoff", {"hop": 0, "node": "plan", "next": "work", "denials": 0, "status": "succeeded"}),
        ("handoff", {"hop": 1, "node": "work", "next": None, "denials": 2, "status": "failed"}),
    ]
    done = run("trace", "-", "--exit-code", stdin=journal(*hops))
    assert done.code == 0
    assert "hop 0: plan succeeded → work" in done.out
    assert "hop 1: work failed → done" in done.out


def test_every_run_of_a_file_is_shown_unless_one_is_asked_for(run: Run, tmp_path: Path) -> None:
    text = journal(STARTED, CALL, run_id="b") + "\n" + journal(STARTED, FINAL, run_id="a")
    (tmp_path / "runs.jsonl").write_text(text)
    assert [item["run_id"] for item in run("trace", "runs.jsonl", "--format", "json").json()] == ["b", "a"]
    assert run("trace", "runs.jsonl", "--run-id", "a").out.startswith("run a: 2 records")
    done = run("trace", "runs.jsonl", "--run-id", "c")
    assert (done.code, done.err) == (3, "error: `runs.jsonl` has no run `c`; it has `b`, `a`\n")


def test_holes_of_a_journal_are_named(run: Run) -> None:
    text = journal(STARTED, CALL, INTENT, RESULT, skip=2)
    assert "records are missing: 2\n" in run("trace", "-", stdin=text).out
    assert run("trace", "-", "--format", "json", stdin=text).json()[0]["missing"] == [2]


def test_the_json_form_has_every_fact(run: Run) -> None:
    (reported,) = run(
        "trace", "-", "--format", "json", stdin=journal(STARTED, CALL, INTENT, RESULT, ANSWER, FINAL)
    ).json()
    assert reported["attempts"] == [
        {"number": 1, "at": "2026-01-31T12:00:00+00:00", "bundle_id": "f" * 64, "end": None, "ended": None}
    ]
    assert reported["final_answer"] == "all paid"
    (step,) = reported["steps"]
    assert step == {
        "step": 0, "tool": "pay", "args": {"to": "ann"}, "at": "2026-01-31T12:00:01+00:00", "attempt": 1,
        "key": "k" * 32, "verdict": "allow", "ok": True, "message": "[ok] paid", "duration_ms": 7,
        "ended": "2026-01-31T12:00:03+00:00", "approver": None, "waiting": False,
        "uncertain": False, "resolved_uncertain": False, "effect": None, "reconciled": False, "abandoned": None,
        "status": "ok",
    }  # fmt: skip


def test_long_messages_are_cut_unless_asked_for(run: Run) -> None:
    result = ("action.result", {**RESULT[1], "message": "[ok] " + "long\n" * 100})
    text = journal(STARTED, CALL, INTENT, result)
    assert max(map(len, run("trace", "-", stdin=text).out.splitlines())) < 120
    assert run("trace", "-", "--full", stdin=text).out.count("long") == 100


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "<stdin>: no records found"),
        ("\n\n", "<stdin>: no records found"),
        ("{", "<stdin>:1: not JSON: "),
        ("5", "<stdin>:1: not a journal record (no `run_id`)"),
        ("\n{}", "<stdin>:2: not a journal record (no `run_id`)"),
        ('{"correlation_id": "c"}', "<stdin>:1: an audit event, not a journal record"),
        ('{"run_id": "r"}', "<stdin>:1: not a journal record (no `seq`)"),
        (journal(CALL).replace('"seq":0', '"seq":"x"'), "<stdin>:1: not a journal record: `seq` must not be"),
        (journal(CALL).replace('"step":0', '"step":null'), "<stdin>:1: not a journal record: `body.step` must not be"),
        (journal(CALL).replace('"step":0', '"stop":0'), "<stdin>:1: not a journal record (no `step`)"),
        (journal(CALL).replace("2026", "soon"), "<stdin>:1: not a journal record: "),
        (journal(CALL).replace("+00:00", ""), "<stdin>:1: not a journal record: "),
        (journal(("x", {})).replace('"body":{}', '"body":3'), "<stdin>:1: not a journal record: "),
        (journal(("model.output", {"step": 0, "calls": 3})), "<stdin>:1: not a journal record: `body.calls` must"),
    ],
)
def test_an_invalid_journal_is_refused_with_its_line(run: Run, text: str, problem: str) -> None:
    done = run("trace", "-", stdin=text)
    assert done.code == 3
    assert done.err.startswith(f"error: {problem}")


def test_policy_lint_and_policy_bundle_id_are_check_and_bundle_id(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("rules: [{id: r, match: {tool: t}, decision: allow}]")
    assert run("policy", "lint").out == run("check").out != ""
    assert run("policy", "bundle-id").out == run("bundle-id").out
    assert run("policy", "bundle-id", "--lynx", "policy.yaml").out == run("bundle-id", "--lynx").out
    assert run("policy", "lint", "none.yaml").code == 3
    assert run("policy", "lint", "-", stdin="rules: 5").code == 1


def test_python_m_bobcat_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "bobcat", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bobcat ")
    refused = subprocess.run([sys.executable, "-m", "bobcat", "nothing"], capture_output=True, text=True)
    assert (refused.returncode, json.dumps("Traceback") in refused.stderr) == (2, False)


def test_an_attempt_that_ended_short_of_an_answer_says_how(run: Run) -> None:
    failed = ("run.failed", {"step": 0, "error": "duration budget exhausted (3s)"})
    waiting = ("run.suspended", {"step": 0, "approvals": ["a1"]})
    done = run("trace", "-", stdin=journal(STARTED, CALL, failed, RESUMED, waiting))
    assert "     +2.000  duration budget exhausted (3s)\n     +3.000  attempt 2" in done.out
    assert "     +4.000  suspended: waiting for approval a1\n" in done.out
    assert done.out.endswith("final: (run incomplete)\n")


def test_an_abandoned_intent_is_not_uncertain(run: Run) -> None:
    abandoned = ("action.abandoned", {"step": 0, "tool": "pay", "reason": "stopped", "intents": [2]})
    done = run("trace", "-", stdin=journal(STARTED, CALL, INTENT, abandoned))
    assert "allow  unfinished\n             begun, but not finished: stopped\n" in done.out


def test_the_resolution_of_an_uncertain_outcome_is_reported(run: Run) -> None:
    reconciled = ("action.result", {**RESULT[1], "reconciled": True})
    done = run("trace", "-", stdin=journal(STARTED, CALL, INTENT, RESUMED, reconciled))
    assert "not run again: the reconciler found that an earlier attempt happened\n" in done.out
    denied = {**RESULT[1], "uncertain_retry": True, "ok": False, "message": "[denied] no"}
    done = run("trace", "-", stdin=journal(STARTED, CALL, INTENT, RESUMED, ("action.result", denied)))
    assert "not run again after an uncertain attempt, which may have been executed\n" in done.out


def test_a_journal_that_was_changed_is_named(run: Run) -> None:
    changed = ("run.started", {**STARTED[1], "chain": "0" * 64})
    done = run("trace", "-", "--exit-code", stdin=journal(changed, CALL, INTENT, RESULT, ANSWER, FINAL))
    assert "  the journal was changed: record 0 was changed, or does not follow the records before it\n" in done.out
    assert done.code == 1


def test_a_run_is_shown_out_of_a_store(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = journal(STARTED, CALL, INTENT, RESULT, ANSWER, FINAL)

    async def keep() -> None:
        async with aclosing(open_store("sqlite:///runs.db")) as store:
            for record in map(step_record_from_json, whole.splitlines()):
                await store.append(record)

    asyncio.run(keep())
    done = run("trace", "--store", "sqlite:///runs.db", "--run-id", "r1")
    assert done.code == 0
    assert done.out == run("trace", "-", stdin=whole).out
    done = run("trace", "--store", "sqlite:///runs.db", "--run-id", "r2")
    assert (done.code, done.err) == (3, "error: no records of a run `r2` in this store\n")
    done = run("trace", "--store", "sqlite:///none.db", "--run-id", "r1")
    assert (done.code, done.err) == (3, "error: the store cannot be used (not_there): there is no store at `none.db`\n")
    (tmp_path / "j.jsonl").write_text(journal(STARTED, run_id="r3"))
    monkeypatch.setenv("BOBCAT_STORE", "sqlite:///runs.db")
    assert run("trace", "--run-id", "r1").out.startswith("run r1: 6 records")
    assert run("trace", "j.jsonl").out.startswith("run r3: 1 record")


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ([], "give a FILE, or `--store` and `--run-id`"),
        (["--store", "sqlite:///runs.db"], "`--store` needs `--run-id`; `bobcat runs list` lists the runs"),
        (["j.jsonl", "--store", "sqlite:///runs.db"], "give a FILE or `--store`, not both"),
    ],
)
def test_trace_shows_the_selected_runs(run: Run, options: list[str], reported: str) -> None:
    done = run("trace", *options)
    assert (done.code, done.err.splitlines()[-1]) == (2, f"Error: {reported}")


def test_resumed_attempts_stand_in_the_order_of_the_journal_whatever_the_clocks_say(run: Run) -> None:
    bodies = [STARTED, CALL, INTENT, RESUMED, INTENT, RESULT, ANSWER, FINAL]
    clocks = [10, 11, 12, 0, 1, 2, 3, 4]  # the second worker's clock is behind
    lines = journal(*bodies).splitlines()
    records = [step_record_from_json(line) for line in lines]
    text = "".join(
        step_record_to_json(dataclasses.replace(record, timestamp=START + timedelta(seconds=at))) + "\n"
        for record, at in zip(records, clocks, strict=True)
    )
    out = run("trace", "-", stdin=text).out.splitlines()
    assert out[2:] == [
        "    +10.000  attempt 1, policy ffffffffffffffff",
        '    +11.000  step 0: pay(to="ann")  allow  uncertain',
        "             intent without result: the action may have been executed",
        "     +0.000  attempt 2, policy eeeeeeeeeeeeeeee",
        '     +1.000  step 0: pay(to="ann")  allow  ok  7 ms',
        "             [ok] paid",
        "final: all paid",
    ]


@pytest.mark.parametrize(
    ("effect", "result", "settled"),
    [
        ("unsafe", {"ok": True}, False),
        (None, {"ok": True}, False),
        ("keyed", {"ok": True}, True),
        ("idempotent", {"ok": True}, True),
        ("keyed", {"ok": False, "message": "[error] gone"}, False),
        ("unsafe", {"ok": False, "message": "[denied] approval refused by bob"}, False),
        ("keyed", {"ok": False, "message": "[denied] approval refused by bob"}, False),
        ("none", {"ok": False, "message": "[denied] approval refused by bob"}, True),
        ("unsafe", {"ok": True, "reconciled": True}, True),
    ],
)
def test_an_uncertain_outcome_that_a_result_leaves_open_is_shown_and_counts(
    run: Run, effect: str | None, result: dict[str, Any], settled: bool
) -> None:
    intent = ("action.intent", INTENT[1] if effect is None else {**INTENT[1], "effect": effect})
    last = ("action.result", {**RESULT[1], "uncertain_retry": True, **result})
    text = journal(STARTED, CALL, intent, RESUMED, last, ANSWER, FINAL)
    done = run("trace", "-", "--exit-code", stdin=text)
    assert done.code == (0 if settled else 1)
    assert ("  uncertain: step 0 may have been executed, or more than once\n" in done.out) is not settled
    (reported,) = run("trace", "-", "--format", "json", stdin=text).json()
    assert reported["steps"][0]["uncertain"] is not settled


def test_an_abandoned_intent_hides_no_other_uncertain_one(run: Run) -> None:
    abandoned = ("action.abandoned", {"step": 0, "tool": "pay", "reason": "stopped", "intents": [4]})
    done = run("trace", "-", "--exit-code", stdin=journal(STARTED, CALL, INTENT, RESUMED, INTENT, abandoned))
    assert done.code == 1
    assert done.out.count("intent without result: the action may have been executed\n") == 2


def test_a_refused_step_is_denied_and_not_failed(run: Run) -> None:
    refused = ("action.result", {**RESULT[1], "ok": False, "message": "[denied] not like this"})
    failed = ("action.result", {**RESULT[1], "ok": False, "message": "[error] [denied] x"})
    assert "allow  denied  7 ms" in run("trace", "-", stdin=journal(STARTED, CALL, refused)).out
    assert "allow  failed  7 ms" in run("trace", "-", stdin=journal(STARTED, CALL, failed)).out


def test_a_result_can_neither_erase_nor_forge_a_line(run: Run) -> None:
    forged = "[ok] x\x1b[1A\x1b[2K\r\n     +1.000  step 0: pay()  deny  denied\nfinal: nothing was paid\u202e\u2028"
    text = journal(STARTED, CALL, INTENT, ("action.result", {**RESULT[1], "message": forged}), ANSWER, FINAL)
    plain = journal(STARTED, CALL, INTENT, RESULT, ANSWER, FINAL)
    for options in ((), ("--full",)):
        out = run("trace", "-", *options, stdin=text).out
        assert len(out.splitlines()) == len(run("trace", "-", *options, stdin=plain).out.splitlines())
        assert all(character == "\n" or character.isprintable() for character in out)
    assert "nothing was paid" in out


def test_what_is_cut_says_by_how_much(run: Run) -> None:
    result = ("action.result", {**RESULT[1], "message": "x" * 1080})
    assert "x" * 80 + "... [1,000 more characters]" in run("trace", "-", stdin=journal(STARTED, CALL, result)).out


def test_an_attempt_after_a_restore_of_the_store_says_so(run: Run) -> None:
    resumed = ("run.resumed", {"records": 2, "bundle_id": "f" * 64, "restored": True})
    done = run("trace", "-", stdin=journal(STARTED, CALL, resumed))
    assert "  attempt 2, policy ffffffffffffffff, after a restore of the store\n" in done.out
    assert "  attempt 1, policy ffffffffffffffff\n" in done.out
