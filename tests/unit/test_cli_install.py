"""`bobcat install`: the settings of hosts, with everything that is there, and without it again."""

from __future__ import annotations

import json
import os
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobcat import Policy
from bobcat.cli.hooks.call import HOSTS
from bobcat.cli.hooks.settings import HOST_SETTINGS, with_hook, without_hook
from bobcat.cli.hooks.settings_file import SettingsFile
from unit.cli_runner import Run, runner

FILES = {host: HOST_SETTINGS[host].project for host in HOSTS}
hosts = pytest.mark.parametrize("host", HOSTS)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    project = tmp_path / 'a project\'s "dir" $(x)'
    project.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    Policy.compile("rules: []").save("policy.bobcat")
    return runner(capsys, monkeypatch)


def hooks_of(host: str, path: Path | str) -> list[dict[str, Any]]:
    """The hooks of the host's event in a file."""
    entries = json.loads(Path(path).read_text())["hooks"][HOST_SETTINGS[host].event]
    return [hook for group in entries for hook in group["hooks"]] if HOST_SETTINGS[host].grouped else entries


EXPECTED: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "command", "timeout": 10, "onFailure": "block"},
    "codex": {"type": "command", "timeout": 10},
    "gemini": {"type": "command", "timeout": 10000, "name": "bobcat"},
    "cursor": {"timeout": 10, "failClosed": True},
    "copilot": {"type": "command", "timeoutSec": 10},
}


@hosts
def test_a_hook_is_written_with_absolute_paths_and_closed_switches(run: Run, host: str) -> None:
    done = run("install", host)
    assert done.code == 0, done.err
    (hook,) = hooks_of(host, FILES[host])
    key = "bash" if host == "copilot" else "command"
    words = shlex.split(hook[key])
    assert {name: value for name, value in hook.items() if name != key} == EXPECTED[host]
    assert os.path.isabs(words[0])
    assert words[1:] == [host, "--policy", str(Path("policy.bobcat").absolute())]
    whole = json.loads(Path(FILES[host]).read_text())
    assert whole.get("hooksConfig") == ({"enabled": True} if host == "gemini" else None)
    assert whole.get("version") == (1 if host in ("cursor", "copilot") else None)


@hosts
def test_a_second_installation_changes_nothing_and_removal_takes_the_file_away(run: Run, host: str) -> None:
    run("install", host)
    before = Path(FILES[host]).read_bytes(), os.stat(FILES[host]).st_mtime_ns
    again = run("install", host)
    assert (again.code, "unchanged" in again.out) == (0, True)
    assert (Path(FILES[host]).read_bytes(), os.stat(FILES[host]).st_mtime_ns) == before
    assert run("install", host, "--remove").code == 0
    assert not Path(FILES[host]).exists()
    assert "unchanged" in run("install", host, "--remove").out


@hosts
def test_another_policy_changes_the_hook_in_place(run: Run, host: str) -> None:
    run("install", host)
    Policy.compile("rules: []").save("other.bobcat")
    run("install", host, "--policy", "other.bobcat", "--", "--grant")
    (hook,) = hooks_of(host, FILES[host])
    assert "other.bobcat" in str(hook)
    assert "--grant" in str(hook)


def test_everything_else_stays_in_its_order_and_style(run: Run) -> None:
    lint = {"matcher": "Bash", "hooks": [{"type": "command", "command": "/usr/bin/lint-it"}]}
    hooks = {"PreToolUse": [lint], "Stop": []}
    text = json.dumps({"model": "opus", "hooks": hooks, "x-unknown": {"b": 1, "a": [1.5, None]}}, indent="\t")
    path = Path(".claude/settings.json")
    path.parent.mkdir()
    path.write_text(text)
    assert run("install", "claude-code").code == 0
    installed = path.read_text()
    assert list(json.loads(installed)) == ["model", "hooks", "x-unknown"]
    assert [hook["command"].split()[0] for hook in hooks_of("claude-code", path)][:1] == ["/usr/bin/lint-it"]
    assert len(hooks_of("claude-code", path)) == 2
    assert run("install", "claude-code", "--remove").code == 0
    assert path.read_text() == text


def test_the_line_of_another_program_is_no_hook_of_ours(run: Run) -> None:
    others = ["bobcat-hook-lint x", "echo bobcat-hooks claude-code", "/x/bobcat-hook claude-code --policy p || true"]
    group = {"hooks": [{"type": "command", "command": line} for line in others]}
    path = Path(".claude/settings.json")
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"PreToolUse": [group]}}))
    run("install", "claude-code")
    assert [hook["command"] for hook in hooks_of("claude-code", path)][:3] == others
    run("install", "claude-code", "--remove")
    assert json.loads(path.read_text()) == {"hooks": {"PreToolUse": [group]}}


def test_a_hook_for_some_tools_becomes_one_for_all(run: Run) -> None:
    path = Path(".claude/settings.json")
    path.parent.mkdir()
    hook = {"type": "command", "command": "/x/bobcat-hook claude-code --policy /p", "async": True}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))
    run("install", "claude-code")
    (group,) = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert group["matcher"] == "*"
    assert "async" not in group["hooks"][0]


def test_a_dry_run_shows_the_change_and_writes_nothing(run: Run) -> None:
    done = run("install", "gemini", "--dry-run")
    assert done.code == 0
    assert '+  "hooks": {' in done.out
    assert not Path(".gemini").exists()
    shown = run("install", "gemini", "--dry-run", "--format", "json").json()
    assert (shown["action"], shown["dry_run"], shown["scope"]) == ("installed", True, "project")
    assert shown["difference"]


def test_the_settings_of_the_user_are_where_the_host_looks(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for host in ("claude-code", "codex", "gemini", "cursor"):
        assert run("install", host, "--user").code == 0
        assert (tmp_path / "home" / HOST_SETTINGS[host].user).is_file()  # type: ignore[operator]  # it has one
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    run("install", "codex", "--user")
    assert (tmp_path / "elsewhere/hooks.json").is_file()
    assert run("install", "copilot", "--user").code == 2


def test_a_link_and_a_mode_are_kept(run: Run, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"env": {"TOKEN": "x"}}')
    real.chmod(0o600)
    Path(".claude").mkdir()
    Path(".claude/settings.json").symlink_to(real)
    assert run("install", "claude-code").code == 0
    assert Path(".claude/settings.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert "bobcat-hook" in real.read_text()
    assert [name.name for name in tmp_path.iterdir() if name.name.endswith(".part")] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('// mine\n{"model": "x"}', "comments"),
        ('{"model": "x", /* y */ "a": 1}', "comments"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": 1,}', ":1:"),
        ("[]", "not a JSON object"),
        ('{"hooks": []}', "`hooks` is not an object"),
        ('{"hooks": {"PreToolUse": {}}}', "not a list"),
        ('{"hooks": {"PreToolUse": [{"matcher": "*"}]}}', "no list"),
        ('{"a": 1e999}', "too large"),
        ('{"a": NaN}', "not JSON"),
        ("[" * 20_000, "settings.json"),
    ],
)  # fmt: skip
def test_a_file_that_could_not_be_written_back_whole_stays(run: Run, text: str, said: str) -> None:
    path = Path(".claude/settings.json")
    path.parent.mkdir()
    path.write_text(text)
    for more in ((), ("--dry-run",), ("--remove",)):
        done = run("install", "claude-code", *more)
        assert (done.code, said in done.err) == (3, True), done.err
        assert path.read_text() == text


def test_text_that_is_not_utf_8_stays(run: Run) -> None:
    Path(".claude").mkdir()
    Path(".claude/settings.json").write_bytes(b'{"a": "\xff"}')
    assert run("install", "claude-code").code == 3
    assert Path(".claude/settings.json").read_bytes() == b'{"a": "\xff"}'


def test_a_lone_surrogate_and_a_byte_order_mark_are_kept(run: Run) -> None:
    path = Path(".claude/settings.json")
    path.parent.mkdir()
    path.write_text('\ufeff{"é": "\\ud800"}', encoding="utf-8")
    assert run("install", "claude-code").code == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    assert json.loads(text[1:])["é"] == "\ud800"


def test_a_source_is_answered_with_the_command_that_compiles_it(run: Run) -> None:
    Path("policy.yaml").write_text("rules: []")
    done = run("install", "codex", "--policy", "policy.yaml")
    assert done.code == 3
    assert "bobcat compile policy.yaml --output policy.bobcat" in done.err
    assert not Path(".codex").exists()


def test_a_bundle_that_the_hook_refuses_is_not_installed(run: Run) -> None:
    Policy.compile("version: 1\nrules: []", profile="lynx").save("lynx.bobcat")
    Path("broken.bobcat").write_bytes(Path("policy.bobcat").read_bytes()[:-4])
    for name in ("lynx.bobcat", "broken.bobcat", "missing.bobcat", "."):
        done = run("install", "claude-code", "--policy", name)
        assert done.code == 3, name
    assert not Path(".claude").exists()


def test_an_option_that_the_hook_does_not_know_is_not_installed(run: Run) -> None:
    done = run("install", "claude-code", "--", "--verbose")
    assert done.code == 3
    assert "does not work" in done.err
    assert not Path(".claude").exists()


@pytest.mark.parametrize(
    "args",
    [
        (), ("emacs",), ("claude-code", "--remove", "--policy", "policy.bobcat"), ("claude-code", "--trust"),
        ("codex", "--remove", "--", "--grant"), ("codex", "--nonsense"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_a_usage_error(run: Run, args: tuple[str, ...]) -> None:
    assert run("install", *args).code == 2


def test_a_directory_in_place_of_the_file_is_an_error(run: Run) -> None:
    Path(".claude/settings.json").mkdir(parents=True)
    assert run("install", "claude-code").code == 3


def test_a_candidate_is_installed_with_its_absolute_path(run: Run) -> None:
    Policy.compile("rules: []").save("candidate.bobcat")
    options = ("--log", "log.jsonl", "--candidate", "candidate.bobcat")
    assert run("install", "claude-code", *options).code == 0
    (hook,) = hooks_of("claude-code", FILES["claude-code"])
    assert shlex.split(hook["command"])[-2:] == ["--candidate", os.path.abspath("candidate.bobcat")]
    assert run("install", "codex", "--candidate", "candidate.bobcat").code == 2
    Policy.compile("rules: [{match: {run.count.x.lt: 1}, decision: allow}]").save("candidate.bobcat")
    done = run("install", "codex", *options)
    assert (done.code, "has rules that remember" in done.err) == (3, True)
    assert not Path(FILES["codex"]).exists()


def test_trust_needs_the_program(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("install", "codex", "--trust")
    assert done.code == 3
    assert "not on PATH" in done.err


NAMES = st.sampled_from(["hooks", "hooksConfig", "version", "PreToolUse", "BeforeTool", "preToolUse", "enabled", "x"])
SCALARS = st.sampled_from([None, True, 0, 1.5, "a", "é", "*"])
HOOK = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["lint", "bobcat hook", "x/bobcat-hook || true", "é"])}
)
GROUP = st.fixed_dictionaries({"hooks": st.lists(HOOK, min_size=1, max_size=2)}, optional={"matcher": SCALARS})


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    host=st.sampled_from(HOSTS),
    other=st.dictionaries(
        NAMES.filter(lambda name: name not in ("hooks", "hooksConfig", "version")), SCALARS, max_size=3
    ),
    groups=st.lists(GROUP, max_size=2),
    events=st.dictionaries(st.sampled_from(["Stop", "AfterTool"]), st.lists(GROUP, min_size=1, max_size=2), max_size=2),
)
def test_removal_undoes_an_installation(
    host: Any, other: dict[str, Any], groups: list[Any], events: dict[str, Any]
) -> None:
    table = HOST_SETTINGS[host]
    own = groups if table.grouped else [hook for group in groups for hook in group["hooks"]]
    hooks = {**events, **({table.event: own} if own else {})}
    before = {**table.top, **other, **({"hooks": hooks} if hooks else {})}
    if table.switch is not None and hooks:
        before[table.switch[0]] = {table.switch[1]: True}
    command = f"/a/bobcat-hook {host} --policy /p"
    after = with_hook(before, table, command)
    assert with_hook(after, table, command) == after
    assert command in json.dumps(after)
    assert without_hook(after, table) == before
    assert list(without_hook(after, table)) == list(before)


def test_a_file_with_comments_is_answered_with_the_hook_to_add(run: Run) -> None:
    Path(".gemini").mkdir()
    Path(".gemini/settings.json").write_text("{} // mine\n")
    done = run("install", "gemini")
    assert (done.code, '"BeforeTool": [{"matcher": "*"' in done.err) == (3, True)


def test_a_file_that_changes_in_between_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(".claude/settings.json")
    path.parent.mkdir()
    path.write_text("{}")
    difference = SettingsFile.difference

    def edited(self: SettingsFile, text: str | None) -> list[str]:
        path.write_text('{"model": "x"}')
        return difference(self, text)

    monkeypatch.setattr(SettingsFile, "difference", edited)
    done = run("install", "claude-code")
    assert (done.code, "run the command again" in done.err) == (3, True)
    assert path.read_text() == '{"model": "x"}'


COUNTS = "rules: [{match: {tool: pay, run.count.pay.lt: 3}, decision: allow}]"
RESULTS = "rules: [{match: {tool: pay, run.formerly: {result: {tool: look}}}, decision: allow}]"
TASK = "rules: [{match: {tool: pay, args.to.occurs_in: {ref: context.task}}, decision: allow}]"
BOTH = """
sources: {people: {tool: look, fields: [mail], asked_with: task}}
rules: [{match: {tool: pay, args.to.from: people}, decision: allow}]
"""
RESULT_EVENTS = {"claude-code": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool"}
TASK_EVENTS = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}


@hosts
@pytest.mark.parametrize("text", ["rules: []", COUNTS, RESULTS, TASK, BOTH])
def test_the_hook_is_installed_at_the_events_that_the_policy_needs(run: Run, host: str, text: str) -> None:
    for policy in (BOTH, text):  # an event that is no longer needed is taken out
        Policy.compile(policy).save("policy.bobcat")
        done = run("install", host, "--state", "sessions")
        assert done.code == 0, done.err
    found = json.loads(Path(FILES[host]).read_text())["hooks"]
    wanted = [HOST_SETTINGS[host].event]
    wanted += [RESULT_EVENTS[host]] if text in (RESULTS, BOTH) and host in RESULT_EVENTS else []
    wanted += [TASK_EVENTS[host]] if text in (TASK, BOTH) and host in TASK_EVENTS else []
    assert sorted(found) == sorted(wanted)
    assert len({json.dumps(entries) for entries in found.values()}) == 1
    (hook,) = hooks_of(host, FILES[host])
    assert shlex.split(hook[HOST_SETTINGS[host].command_key])[-1] == str(Path("sessions").absolute())
    missing = text in (RESULTS, TASK, BOTH) and host not in RESULT_EVENTS
    assert ("does not report" in done.out) == missing
    run("install", host, "--remove")
    assert not Path(FILES[host]).exists()
