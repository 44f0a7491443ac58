"""`bobcat doctor hooks`: a gate that is off, has a gap or refuses everything is reported; the hook is fired for it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy
from bobcat.cli.hooks import examine_host
from bobcat.cli.hooks.call import HOSTS
from bobcat.cli.hooks.settings import HOST_SETTINGS
from unit.cli_runner import Done, Run, runner

HOOK = Path(sys.executable).parent / "bobcat-hook"
CLAUDE = Path(".claude/settings.json")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    for name in ("project's dir", "home", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project's dir")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(examine_host, "CLAUDE_MANAGED", tmp_path / "managed.json")
    monkeypatch.setattr(examine_host, "GEMINI_SYSTEM", tmp_path / "system.json")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_TRUST_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    Policy.compile("rules: [{id: a, match: {tool: x}, decision: allow}]").save("policy.bobcat")
    return runner(capsys, monkeypatch)


def program(tmp_path: Path, name: str, script: str) -> Path:
    path = tmp_path / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def report(done: Done, host: str) -> dict[str, Any]:
    (found,) = [each for each in done.json()["hosts"] if each["host"] == host]
    return found


def codes(found: dict[str, Any], *levels: str) -> set[str]:
    every = [*found["findings"], *(finding for hook in found["hooks"] for finding in hook["findings"])]
    return {finding["code"] for finding in every if not levels or finding["level"] in levels}


def claude(run: Run) -> dict[str, Any]:
    return report(run("doctor", "hooks", "claude-code", "--format", "json"), "claude-code")


def edit(path: Path, **fields: Any) -> None:
    """Change the fields of the one hook in the settings; None removes one."""
    settings = json.loads(path.read_text())
    hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]
    hook.update(fields)
    for name in [name for name, value in fields.items() if value is None]:
        del hook[name]
    path.write_text(json.dumps(settings))


def test_an_installed_hook_is_fired_and_found_to_be_on(run: Run) -> None:
    for host in ("claude-code", "cursor", "copilot"):
        run("install", host)
        done = run("doctor", "hooks", host)
        assert (done.code, "the gate is on" in done.out) == (0, True), done.out
        assert report(run("doctor", "hooks", host, "--format", "json"), host)["clean"] is True


@pytest.mark.parametrize("host", HOSTS)
def test_a_hook_that_is_not_installed_is_a_gate_that_is_off(run: Run, host: str) -> None:
    done = run("doctor", "hooks", host)
    assert done.code == 1
    assert "the gate is OFF" in done.out
    assert f"bobcat install {host}" in done.out


def test_without_a_host_the_ones_in_use_are_examined(run: Run, tmp_path: Path) -> None:
    assert run("doctor", "hooks").code == 1
    run("install", "claude-code")
    assert [each["host"] for each in run("doctor", "hooks", "--format", "json").json()["hosts"]] == ["claude-code"]
    program(tmp_path, "gemini", "echo 0.61.0")
    done = run("doctor", "hooks", "--format", "json")
    assert [each["host"] for each in done.json()["hosts"]] == ["claude-code", "gemini"]
    assert done.code == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"timeout": 5}, "timeout"), ({"timeout": 0.5}, "timeout"), ({"timeout": "10"}, "timeout"),
        ({"timeout": True}, "timeout"), ({"onFailure": None}, "not_fail_closed"),
        ({"onFailure": "allow"}, "not_fail_closed"), ({"if": "Bash(git *)"}, "condition"),
    ],
)  # fmt: skip
def test_a_gap_in_the_fields_is_a_warning(run: Run, fields: dict[str, Any], code: str) -> None:
    run("install", "claude-code")
    edit(CLAUDE, **fields)
    found = claude(run)
    assert (found["gate"], found["clean"], codes(found, "warning")) == ("on", False, {code})
    assert run("doctor", "hooks", "claude-code").code == 1


def test_a_matcher_for_some_tools_is_a_warning(run: Run) -> None:
    run("install", "claude-code")
    settings = json.loads(CLAUDE.read_text())
    for matcher, gap in (("Bash", True), ("Bash|Write", True), ("", False), (".*", False), (None, False)):
        settings["hooks"]["PreToolUse"][0]["matcher"] = matcher
        CLAUDE.write_text(json.dumps(settings))
        assert ("matcher" in codes(claude(run))) == gap


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"async": True}, "asynchronous"), ({"type": "prompt"}, "not_a_command"), ({"type": None}, "not_a_command")],
)
def test_a_hook_that_cannot_stop_a_call_is_off(run: Run, fields: dict[str, Any], code: str) -> None:
    run("install", "claude-code")
    edit(CLAUDE, **fields)
    found = claude(run)
    assert (found["gate"], codes(found, "error")) == ("off", {code})


def test_the_dialect_of_another_host_is_off(run: Run) -> None:
    run("install", "claude-code")
    edit(
        CLAUDE,
        command=f"{HOOK} gemini --policy {Path('policy.bobcat').absolute()!s}".replace("'", "\\'").replace(
            "s d", "s\\ d"
        ),
    )
    assert codes(claude(run), "error") == {"wrong_host"}


@pytest.mark.parametrize("suffix", [" || true", "; true", " | cat", " 2>/dev/null; exit 0"])
def test_a_line_that_hides_the_exit_code_is_off(run: Run, suffix: str) -> None:
    run("install", "claude-code")
    line = json.loads(CLAUDE.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    edit(CLAUDE, command=line + suffix)
    found = claude(run)
    assert (found["gate"], codes(found, "error")) == ("off", {"not_closed"})
    assert "not_plain" in codes(found, "warning")


@pytest.mark.parametrize(
    ("script", "closed", "gate"),
    [
        ("exit 1", True, "refuses"), ("exit 1", False, "off"), ("kill -9 $$", True, "refuses"),
        ("kill -SEGV $$", False, "off"), ("echo hello", True, "off"), ("exit 2", True, "refuses"),
        ("echo '{}'", True, "off"), ("true", True, "off"), ("sleep 30", True, "refuses"), ("sleep 30", False, "off"),
    ],
)  # fmt: skip
def test_another_program_in_its_place_is_noticed(
    run: Run, tmp_path: Path, script: str, closed: bool, gate: str
) -> None:
    run("install", "claude-code")
    fake = program(tmp_path, "bobcat-hook", script)
    fields = {} if closed else {"onFailure": None}
    edit(
        CLAUDE,
        command=f"{fake} claude-code --policy policy.bobcat",
        timeout=6 if "sleep" not in script else 0.3,
        **fields,
    )
    found = claude(run)
    assert (found["gate"], "not_closed" in codes(found, "error")) == (gate, True)


def test_a_program_that_answers_otherwise_than_the_policy_is_noticed(run: Run, tmp_path: Path) -> None:
    run("install", "claude-code")
    # it refuses an input that is no call, and lets every call run
    fake = program(tmp_path, "bobcat-hook", 'grep -q tool_name || { echo "no call" >&2; exit 2; }')
    policy = Path("policy.bobcat").rename(tmp_path / "p.bobcat")
    edit(CLAUDE, command=f"{fake} claude-code --policy {policy}")
    found = claude(run)
    assert (found["gate"], codes(found, "error")) == ("off", {"wrong_answer"})


def test_a_missing_hook_and_one_that_cannot_be_executed_are_noticed(run: Run, tmp_path: Path) -> None:
    run("install", "claude-code")
    present = tmp_path / "bobcat-hook"
    present.write_text("")
    for path in (tmp_path / "no/bobcat-hook", present):
        edit(CLAUDE, command=f"{path} claude-code --policy policy.bobcat", onFailure="block")
        found = claude(run)
        assert (found["gate"], codes(found, "error")) == ("refuses", {"hook_missing"})
        edit(CLAUDE, onFailure=None)
        assert claude(run)["gate"] == "off"


def test_a_bundle_that_is_missing_or_broken_refuses_every_call(run: Run) -> None:
    run("install", "claude-code")
    good = Path("policy.bobcat").read_bytes()
    for data in (good[:-3], b"rules: []", b"", None):
        Path("policy.bobcat").unlink(missing_ok=True)
        if data is not None:
            Path("policy.bobcat").write_bytes(data)
        found = claude(run)
        assert (found["gate"], codes(found, "error")) == ("refuses", {"bundle"})


def test_a_bundle_older_than_its_source_is_a_warning(run: Run) -> None:
    source = Path("policy.yaml")
    source.write_text("rules: []")
    run("compile", "policy.yaml", "-o", "policy.bobcat")
    run("install", "claude-code")
    later = os.stat("policy.bobcat").st_mtime + 10
    os.utime(source, (later, later))
    assert "stale" not in codes(claude(run))
    for text in ("rules: [{match: {tool: x}, decision: deny}]", "rules: ["):
        source.write_text(text)
        os.utime(source, (later, later))
        assert codes(claude(run), "warning") == {"stale"}


@pytest.mark.parametrize(
    "place", ["home/.claude/settings.json", "managed.json", "project's dir/.claude/settings.local.json"]
)
def test_the_switch_of_all_hooks_is_found_in_every_file(run: Run, tmp_path: Path, place: str) -> None:
    run("install", "claude-code")
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text('{"disableAllHooks": true}')
    found = claude(run)
    assert (found["gate"], codes(found, "error")) == ("off", {"disabled"})


@pytest.mark.parametrize("text", ["// c\n{}", "{", "[]", '{"hooks": 1}', '{"hooks": {"PreToolUse": [1]}}'])
def test_a_file_that_the_host_cannot_read_is_reported(run: Run, text: str) -> None:
    CLAUDE.parent.mkdir()
    CLAUDE.write_text(text)
    found = claude(run)
    assert found["gate"] == "off"
    assert "unreadable_settings" in codes(found, "error")


def test_comments_in_the_settings_of_gemini_are_read(run: Run) -> None:
    run("install", "gemini", "--user")
    path = Path(os.environ["HOME"], ".gemini/settings.json")
    path.write_text("// mine\n" + path.read_text())
    done = run("doctor", "hooks", "gemini")
    assert (done.code, "the gate is on" in done.out) == (0, True), done.out


def test_the_switches_of_gemini_are_read_in_its_order(run: Run, tmp_path: Path) -> None:
    run("install", "gemini", "--user")
    Path(".gemini").mkdir()
    for place, text, on in (
        (Path(".gemini/settings.json"), '{"hooksConfig": {"enabled": false}}', False),
        (tmp_path / "system.json", '{"hooksConfig": {"enabled": true}}', True),
        (tmp_path / "system.json", '{"hooksConfig": {"enabled": true, "disabled": ["bobcat"]}}', False),
    ):
        place.write_text(text)
        found = report(run("doctor", "hooks", "gemini", "--format", "json"), "gemini")
        assert (found["gate"] == "on", "disabled" in codes(found, "error")) == (on, not on)


def test_gemini_ignores_the_hooks_of_a_directory_without_trust(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("install", "gemini")
    home, here = Path(os.environ["HOME"], ".gemini"), str(Path.cwd())
    home.mkdir()

    def gate() -> str:
        found = report(run("doctor", "hooks", "gemini", "--format", "json"), "gemini")
        assert (found["gate"] == "on") != ("untrusted" in codes(found, "error"))
        return str(found["gate"])

    assert gate() == "off"
    for folders, state in (
        ({here: "TRUST_FOLDER"}, "on"), ({here: "DO_NOT_TRUST"}, "off"),
        ({str(Path(here).parent): "TRUST_FOLDER"}, "on"),
        ({f"{here}/sub": "TRUST_PARENT"}, "on"),
        ({here: "DO_NOT_TRUST", str(Path(here).parent): "TRUST_FOLDER"}, "off"),
    ):  # fmt: skip
        (home / "trustedFolders.json").write_text(json.dumps(folders))
        assert gate() == state
    monkeypatch.setenv("GEMINI_CLI_TRUST_WORKSPACE", "true")
    assert gate() == "on"


def test_an_old_version_is_a_warning(run: Run, tmp_path: Path) -> None:
    run("install", "claude-code")
    for version, gaps in (
        ("2.1.294 (Claude Code)", {"old_version"}), ("2.1.295", set()), ("10.0.0", set()), ("?", {"unknown_version"}),
    ):  # fmt: skip
        program(tmp_path, "claude", f"echo '{version}'")
        assert codes(claude(run), "warning") == gaps


LISTED = """
read line; echo '{"id": 1, "result": {}}'
read line; read line
echo '{"method": "warning"}'
"""


@pytest.mark.parametrize(
    ("answer", "gate", "code"),
    [
        ('{"trustStatus": "trusted", "enabled": true}', "on", None),
        ('{"trustStatus": "untrusted", "enabled": true}', "off", "untrusted"),
        ('{"trustStatus": "modified", "enabled": true}', "off", "untrusted"),
        ('{"trustStatus": "trusted", "enabled": false}', "off", "disabled"),
        (None, "off", "untrusted"),
    ],
)
def test_codex_says_which_hooks_were_reviewed(
    run: Run, tmp_path: Path, answer: str | None, gate: str, code: str | None
) -> None:
    run("install", "codex")
    line = json.loads(Path(".codex/hooks.json").read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    hook = {"key": "k", "command": line, "currentHash": "h", "eventName": "preToolUse"}
    listed = [] if answer is None else [{**hook, **json.loads(answer)}]
    (tmp_path / "answer").write_text(json.dumps({"id": 2, "result": {"data": [{"hooks": listed}]}}) + "\n")
    program(
        tmp_path,
        "codex",
        f"[ $1 = --version ] && echo 0.169.0 && exit\n{LISTED}cat '{tmp_path}/answer'; cat >/dev/null",
    )
    found = report(run("doctor", "hooks", "codex", "--format", "json"), "codex")
    assert (found["gate"], codes(found, "error", "warning")) == (gate, {code} if code else set())


@pytest.mark.parametrize("script", ["exit 0", "echo hello", """read l; echo '{"id": 1, "error": {"message": "no"}}'"""])
def test_a_codex_without_a_list_is_a_warning(run: Run, tmp_path: Path, script: str) -> None:
    run("install", "codex")
    program(tmp_path, "codex", f"[ $1 = --version ] && echo 0.169.0 && exit\n{script}")
    found = report(run("doctor", "hooks", "codex", "--format", "json"), "codex")
    assert (found["gate"], codes(found, "warning")) == ("on", {"unknown_trust"})


def test_a_key_that_codex_does_not_know_makes_it_ignore_the_file(run: Run) -> None:
    run("install", "codex")
    path = Path(".codex/hooks.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "x": 1}))
    found = report(run("doctor", "hooks", "codex", "--format", "json"), "codex")
    assert (found["gate"], "unreadable_settings" in codes(found, "error")) == ("off", True)


@pytest.mark.parametrize("host", [host for host in HOSTS if HOST_SETTINGS[host].opens])
def test_the_failures_that_open_a_host_are_named(run: Run, host: str) -> None:
    run("install", host)
    found = report(run("doctor", "hooks", host, "--format", "json"), host)
    assert "fails_open" in codes(found, "note")


def test_a_scope_may_be_chosen(run: Run) -> None:
    run("install", "claude-code")
    assert run("doctor", "hooks", "claude-code", "--project").code == 0
    assert run("doctor", "hooks", "claude-code", "--user").code == 1
    assert run("doctor", "hooks", "emacs").code == 2
    assert run("doctor", "hooks", "--nonsense").code == 2


def test_a_hook_that_asks_a_person_is_not_fired_at_one(run: Run, tmp_path: Path) -> None:
    run("install", "claude-code")
    fake = program(tmp_path, "bobcat-hook", f"grep -q tool_name && touch '{tmp_path}/asked'; echo no >&2; exit 2")
    policy = Path("policy.bobcat").rename(tmp_path / "p.bobcat")
    edit(CLAUDE, command=f"{fake} claude-code --policy {policy} --approvals sqlite:///x")
    assert claude(run)["gate"] == "on"
    assert not (tmp_path / "asked").exists()


def test_a_bundle_that_the_agent_may_write_is_noted(run: Run, tmp_path: Path) -> None:
    run("install", "claude-code")
    assert "within_reach" in codes(claude(run), "note")
    run("install", "claude-code", "--policy", str(Path("policy.bobcat").rename(tmp_path / "policy.bobcat")))
    assert "within_reach" not in codes(claude(run))


REMEMBERS = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
sources: {people: {tool: look, fields: [mail], asked_with: task}}
rules:
  - {id: mail, match: {tool: mail, args.to.from: people}, decision: allow}
  - {id: canary, match: {tool: bobcat_canary, run.count.bobcat_canary.lt: 1}, decision: allow}
"""


def test_a_gate_that_remembers_is_fired_in_a_session_of_its_own(run: Run, tmp_path: Path) -> None:
    Policy.compile(REMEMBERS).save("policy.bobcat")
    run("install", "claude-code", "--state", str(tmp_path / "sessions"))
    for _ in range(2):
        found = claude(run)
        assert (found["gate"], codes(found, "error", "warning")) == ("on", set())
        assert "sessions" in codes(found, "note")
    assert str(tmp_path / "sessions") in run("doctor", "hooks", "claude-code").out


def test_a_missing_event_of_a_policy_that_remembers_is_found(run: Run) -> None:
    run("install", "claude-code")
    assert not codes(claude(run)) & {"no_results", "no_task", "sessions"}
    Policy.compile(REMEMBERS).save("policy.bobcat")
    assert codes(claude(run), "warning") == {"no_results", "no_task"}
    assert run("install", "claude-code").code == 0
    assert not codes(claude(run), "warning")
    run("install", "cursor")
    found = report(run("doctor", "hooks", "cursor", "--format", "json"), "cursor")
    assert {"no_results", "no_task"} <= codes(found, "note")


def test_sessions_that_cannot_be_kept_refuse_every_call(run: Run, tmp_path: Path) -> None:
    Policy.compile(REMEMBERS).save("policy.bobcat")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    run("install", "claude-code", "--state", str(tmp_path / "open"))
    found = claude(run)
    assert (found["gate"], codes(found, "error")) == ("refuses", {"refuses"})


def test_a_candidate_is_read_and_one_that_cannot_be_used_is_a_warning(run: Run) -> None:
    Policy.compile("rules: []").save("candidate.bobcat")
    assert run("install", "claude-code", "--log", "log.jsonl", "--candidate", "candidate.bobcat").code == 0
    assert "candidate" in codes(claude(run), "note")
    Path("candidate.bobcat").write_text("rules: []")
    found = claude(run)
    assert found["hooks"][0]["gate"] == "on"
    assert "candidate" in codes(found, "warning")
