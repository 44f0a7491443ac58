"""`bobcat replay` on logs that are damaged, hostile or of another release: every line is decided, or named."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Policy
from bobcat.decision_log import open_log
from bobcat.traffic import replaying, sources
from bobcat.traffic.replaying import Options, Replay
from bobcat.traffic.sources import open_source
from unit.cli_runner import Run, runner

NEW = "rules: [{id: sh, match: {tool: sh}, decision: allow}]"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("new.yaml").write_text(NEW)
    return runner(capsys, monkeypatch)


def entry(number: int = 1, tool: Any = "sh", args: Any = None, **more: Any) -> bytes:
    body = {"tool": tool, "args": {"cmd": "x"} if args is None else args, "verdict": "deny", "matched_rules": ["r"],
            "principal": {"kind": "user", "id": "ann"}, "environment": "dev"}  # fmt: skip
    line = {"seq": number, "record_id": f"r{number}", "kind": "decision", "at": "2026-11-01T10:00:00.000000Z",
            "body": body, "previous": "0" * 64, "hash": "0" * 64, **more}  # fmt: skip
    return json.dumps(line).encode() + b"\n"


@pytest.mark.parametrize(
    "bad",
    [
        b'{"seq":2,"record_id":"r2","kind":"decision","at"\n',
        b"\xff\xfe\n",
        entry().replace(b"r1", b"r\xff"),
        b"[" * 100_000 + b"\n",
        entry(tool=7),
        entry(kind="a kind of later"),
        entry(args={"a": {"b": 1}}).replace(b'{"b": 1}', b"NaN"),
        b'"text"\n',
        b"\0\0\0\0\n",
        entry(at=5),
        entry(body="x"),
    ],
    ids=range(11),
)
def test_a_bad_line_is_named_and_the_others_are_decided(bad: bytes, run: Run) -> None:
    Path("log.jsonl").write_bytes(entry(1) + bad + b"\n" + entry(3) + entry(4))
    done = run("replay", "log.jsonl", "--policy", "new.yaml", "--format", "json")
    report = done.json()
    assert report["groups"][0]["count"] == 3
    places = [each["place"] for each in report["damage"]] + [each["first"] for each in report["not_decided"]]
    assert places == ["log.jsonl:2"]
    assert report["damaged"] == 0 or "log.jsonl:2: damaged: " in done.err


def test_a_damaged_line_alone_is_no_success(run: Run) -> None:
    Path("log.jsonl").write_bytes(entry(1).replace(b'"deny"', b'"allow"') + b"torn")
    done = run("replay", "log.jsonl", "--policy", "new.yaml")
    assert done.code == 2
    assert "log.jsonl:2: damaged" in done.err


def test_a_line_beyond_the_limit_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 1_000)
    monkeypatch.setattr("bobcat.traffic.replaying.MAX_LINE_BYTES", 1_000)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 500)
    Path("log.jsonl").write_bytes(entry(1) + b"x" * 5_000 + b"\n" + entry(3) + entry(4))
    report = run("replay", "log.jsonl", "--policy", "new.yaml", "--format", "json").json()
    assert report["damage"] == [{"place": "log.jsonl:2", "problem": "longer than 1000 bytes"}]
    assert report["groups"][0]["count"] == 3
    assert [each["place"] for each in report["groups"][0]["examples"]] == ["log.jsonl:1", "log.jsonl:3", "log.jsonl:4"]


def test_a_compressed_log_that_is_cut_short_is_decided_as_far_as_it_goes(run: Run) -> None:
    whole = gzip.compress(b"".join(entry(number) for number in range(1, 2_000)))
    Path("log.gz").write_bytes(whole[: len(whole) // 2])
    done = run("replay", "log.gz", "--policy", "new.yaml", "--format", "json")
    report = done.json()
    assert 0 < report["decided"] < 2_000
    assert report["damage"][-1]["place"].startswith("log.gz:")
    assert "compressed" in report["damage"][-1]["problem"]


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "text.txt", "image.gz", "other.db", "redis://x", "bad.yaml"])
def test_a_file_of_another_kind_is_a_clear_error(name: str, run: Run) -> None:
    Path("text.txt").write_text("hello\n")
    Path("image.gz").write_bytes(b"\x1f\x8b nonsense")
    Path("other.db").write_bytes(b"SQLite format 3\0" + b"\0" * 100)
    Path("bad.yaml").write_text("rules: [{id: x}]")
    Path("log.jsonl").write_bytes(entry())
    log, policy = ("log.jsonl", name) if name.endswith(".yaml") else (name, "new.yaml")
    done = run("replay", log, "--policy", policy)
    assert done.code == 2
    assert done.out == ""
    assert "error" in done.err


def test_standard_input_is_any_of_the_formats(run: Run) -> None:
    opa = b'{"input": {"tool": "sh", "args": {}}, "result": false}\n'
    for text in (entry(1) + entry(2), b"torn\n" + opa + opa):
        done = run("replay", "-", "--policy", "new.yaml", "--format", "json", stdin=text)
        assert (done.code, done.json()["groups"][0]["count"]) == (1, 2)
    done = run("replay", "-", "--policy", "new.yaml", stdin=b"hello\n")
    assert (done.code, done.out) == (2, "")
    assert "cannot read standard input: not a decision log" in done.err
    assert run("replay", "-", "--policy", "new.yaml", stdin=b"").code == 0


def test_a_pipe_by_name_is_refused_at_once(run: Run) -> None:
    os.mkfifo("pipe")
    done = run("replay", "pipe", "--policy", "new.yaml")
    assert done.code == 2
    assert "not a regular file" in done.err


def test_an_empty_log_has_no_decisions(run: Run) -> None:
    Path("log.jsonl").write_bytes(b"")
    done = run("replay", "log.jsonl", "--policy", "new.yaml", "--fail-on", "any")
    assert (done.code, done.out) == (0, "0 of 0 decisions change\n")


def test_text_of_a_log_cannot_forge_a_line(run: Run) -> None:
    Path("log.jsonl").write_bytes(entry(1, args={"a\x1b[31m\nLOOSENED": "\u202e"}))
    done = run("replay", "log.jsonl", "--policy", "new.yaml")
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert sum(line.startswith("LOOSENED") for line in done.out.splitlines()) == 1


def test_the_number_of_groups_is_bounded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.traffic.changes.MAX_GROUPS", 10)
    Path("log.jsonl").write_bytes(b"".join(entry(number, args={f"a{number}": 1}) for number in range(1, 101)))
    report = run("replay", "log.jsonl", "--policy", "new.yaml", "--format", "json").json()
    assert len(report["groups"]) == 11
    assert sum(group["count"] for group in report["groups"]) == 100


LINES = st.lists(
    st.one_of(
        st.builds(entry, st.integers(1, 99), st.sampled_from(["sh", "pay", 7]), st.just(None)),
        st.binary(max_size=30).map(lambda data: data.replace(b"\n", b" ") + b"\n"),
    ),
    max_size=40,
)


@settings(max_examples=25, deadline=None)
@given(lines=LINES, size=st.integers(1, 3_000))
def test_chunks_and_processes_change_nothing(
    lines: list[bytes], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(entry(1) + b"".join(lines))
    replay = Replay(Policy.compile(NEW), None, Options())
    expected = replay.run([open_source(str(path))], processes=1)
    assert expected.lines == 1 + len(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "CHUNK_BYTES", size)
        assert replay.run([open_source(str(path))], processes=1) == expected


def test_processes_decide_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_BYTES", 2_000)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(entry(number) + b"torn\n" for number in range(1, 200)))
    replay = Replay(Policy.compile(NEW), Policy.compile(NEW.replace("allow", "deny")), Options())
    alone, together = (replay.run([open_source(str(path))], processes=count) for count in (1, 2))
    assert alone == together
    assert (alone.decided, alone.damaged) == (199, 199)


def test_a_killed_process_of_a_replay_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_log("decisions.db") as log:
        log.append("r1", "decision", {"tool": "sh", "args": {}, "verdict": "allow", "matched_rules": ["sh"]})
    monkeypatch.setattr(replaying, "_work", killed)
    for words in (("replay",), ("usage",)):
        done = run(*words, "decisions.db", "--policy", "new.yaml")
        assert (done.code, done.out) == (2, "")
        assert "a process of the replay was killed" in done.err


def killed(_chunk: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_records_outside_the_times_are_not_counted(run: Run) -> None:
    lines = [
        {"input": {"args": {}}, "result": True, "timestamp": "2026-01-01T00:00:00Z"},
        {"input": {"args": {}}, "result": True, "timestamp": "2026-03-01T00:00:00Z"},
        {"input": {"tool": "sh", "args": {}}, "result": "odd", "timestamp": "2026-01-01T00:00:00Z"},
        {"input": {"tool": "sh"}, "result": True, "timestamp": "2026-02-02T00:00:00Z"},
    ]
    Path("opa.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open_log("decisions.jsonl") as log:
        log.append("r1", "decision", {"tool": "sh", "verdict": "allow", "matched_rules": []})

    def codes(name: str, *words: str) -> dict[str, int]:
        found = run("replay", name, "--policy", "new.yaml", "--format", "json", *words).json()["not_decided"]
        return {each["code"]: each["count"] for each in found}

    assert codes("opa.jsonl") == {"not_mapped": 2, "unknown_verdict": 1, "no_args": 1}
    assert codes("opa.jsonl", "--since", "2026-02-01") == {"not_mapped": 1, "no_args": 1}
    assert codes("opa.jsonl", "--until", "2026-02-01") == {"not_mapped": 1, "unknown_verdict": 1}
    assert codes("decisions.jsonl") == {"no_args": 1}
    assert codes("decisions.jsonl", "--until", "2026-01-01") == {}
