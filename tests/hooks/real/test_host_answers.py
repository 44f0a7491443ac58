"""The hook that `bobcat install` writes, in the real hosts: each verdict does what the page says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs.markdown_blocks import blocks_of
from hooks.real.conftest import make
from hooks.real.programs import Scratch


def test_a_command_runs_without_a_hook(scratch: Scratch) -> None:
    """The control of every other test: the file is missing because of the hook."""
    ran = scratch.run("touch denied")
    assert (scratch.files(), ran.finished) == ({"denied"}, True), ran
    assert scratch.gate()["gate"] == "off"


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("touch allowed", {"allowed"}), ("touch denied", set()), ("touch asked", set()), ("touch moved", {"changed"}),
        ("touch allowed; touch denied", set()),
    ],
)  # fmt: skip
def test_a_verdict_is_carried_out(scratch: Scratch, command: str, files: set[str]) -> None:
    scratch.install()
    assert scratch.gate()["gate"] == "on"
    ran = scratch.run(command)
    assert (scratch.files(), ran.finished) == (files, True), ran


def test_several_calls_of_a_session_are_each_decided(scratch: Scratch) -> None:
    scratch.install()
    scratch.run("touch many1", "touch denied", "touch many2", "touch moved", "touch asked")
    assert scratch.files() == {"many1", "many2", "changed"}


def test_the_model_gets_the_reason(scratch: Scratch) -> None:
    scratch.install()
    if scratch.host == "gemini":
        pytest.skip("its model is a file, which cannot see results")
    (result,) = scratch.run("touch denied").results
    assert "no rule" in result or "default policy" in result, result


def test_after_removal_the_command_runs(scratch: Scratch) -> None:
    scratch.install()
    assert scratch.bobcat("install", scratch.host, "--user", "--remove").returncode == 0
    scratch.run("touch denied")
    assert scratch.files() == {"denied"}


def test_the_settings_of_a_project_hold_where_the_host_trusts_it(scratch: Scratch) -> None:
    scratch.install("--project", "--no-trust")
    if scratch.host == "claude-code":
        gates, options = ("on", "on"), ()
    elif scratch.host == "codex":
        gates, options = ("off", "on"), ()
    else:
        gates, options = ("off", "on"), ("--no-skip-trust",)
    assert scratch.gate()["gate"] == gates[0]
    scratch.run("touch denied", options=options)
    assert scratch.files() == ({"denied"} if scratch.host == "codex" else set())  # Gemini CLI does not start
    for name in scratch.files():
        (scratch.project / name).unlink()
    _trust_project(scratch)
    assert scratch.gate()["gate"] == gates[1]
    ran = scratch.run("touch denied", options=options)
    assert (scratch.files(), ran.finished) == (set(), True), ran


def _trust_project(scratch: Scratch) -> None:
    match scratch.host:
        case "codex":
            config = scratch.home / ".codex/config.toml"
            config.parent.mkdir(exist_ok=True)
            name = json.dumps(str(scratch.project))
            config.write_text(f'[projects.{name}]\ntrust_level = "trusted"\n')
            done = scratch.bobcat("install", "codex", "--trust", "--hook", str(scratch.hook))
            assert done.returncode == 0, done.stderr
        case "gemini":
            (scratch.home / ".gemini/trustedFolders.json").write_text(
                json.dumps({str(scratch.project): "TRUST_FOLDER"})
            )
        case _:
            pass


def test_the_example_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    scratch = make("claude-code", tmp_path)
    page = Path(__file__).parents[3] / "docs/how-to/coding-agents.md"
    (policy,) = [block.body for block in blocks_of(page) if block.title == "policy.yaml"]
    (scratch.project / "policy.yaml").write_text(policy)
    (scratch.project / "build").mkdir()
    compiled = scratch.bobcat("compile", "policy.yaml", "--output", "policy.bobcat")
    assert (compiled.returncode, scratch.bobcat("install", "claude-code").returncode) == (0, 0)
    listed, removed, pushed = scratch.run("ls", "rm -rf build", "git push").results
    assert "policy.yaml" in listed
    assert "default policy" in removed
    assert "a push is public" in pushed
    assert scratch.files() == {"build"}


def test_gemini_skips_the_hooks_of_a_project_with_skip_trust(tmp_path: Path) -> None:
    """`doctor` says that the directory is not trusted, and names the option."""
    scratch = make("gemini", tmp_path)
    scratch.install("--project")
    scratch.run("touch denied")
    assert scratch.files() == {"denied"}
    report = scratch.gate()
    assert report["gate"] == "off"
    assert any("--skip-trust" in finding["message"] for finding in report["findings"])


def test_codex_skips_a_hook_that_was_not_reviewed(tmp_path: Path) -> None:
    scratch = make("codex", tmp_path)
    scratch.install("--no-trust")
    scratch.run("touch denied")
    assert scratch.files() == {"denied"}
    assert [finding["code"] for finding in scratch.gate()["findings"]][:1] == ["untrusted"]


def test_trust_keeps_the_settings_of_codex(tmp_path: Path) -> None:
    scratch = make("codex", tmp_path)
    config = scratch.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text('# mine\nmodel = "gpt-5" # and this\n')
    scratch.install()
    assert config.read_text().startswith('# mine\nmodel = "gpt-5" # and this\n')
    assert scratch.gate()["gate"] == "on"


@pytest.mark.parametrize("options", [("--ask",), ()])
def test_claude_rewrites_without_a_permission(tmp_path: Path, options: tuple[str, ...]) -> None:
    """`updatedInput` alone: the host's own permissions decide on the new command."""
    scratch = make("claude-code", tmp_path)
    scratch.install()
    scratch.run("touch moved", options=options)
    assert scratch.files() == (set() if options else {"changed"})


@pytest.mark.parametrize("grant", [False, True])
def test_a_grant_takes_the_place_of_the_hosts_permission(tmp_path: Path, grant: bool) -> None:
    scratch = make("claude-code", tmp_path)
    scratch.install(*(["--grant"] if grant else []))
    scratch.run("touch allowed", options=("--ask",))
    assert scratch.files() == ({"allowed"} if grant else set())


@pytest.mark.parametrize(
    ("host", "damage"),
    [("claude-code", "// mine\n{}"), ("claude-code", "{},"), ("codex", "// mine\n{}"), ("codex", "unknown key")],
)
def test_a_settings_file_that_the_host_ignores_is_reported(tmp_path: Path, host: str, damage: str) -> None:
    scratch = make(host, tmp_path)  # type: ignore[arg-type]  # one of the hosts
    scratch.install()
    file = Path(scratch.gate()["hooks"][0]["file"])
    text = file.read_text()
    if damage == "unknown key":
        file.write_text(json.dumps({**json.loads(text), "x": 1}))
    else:
        file.write_text(damage.replace("{}", text))
    scratch.run("touch denied")
    assert scratch.files() == {"denied"}
    report = scratch.gate()
    assert (report["gate"], report["findings"][0]["code"]) == ("off", "unreadable_settings")


def test_gemini_reads_settings_with_comments(tmp_path: Path) -> None:
    scratch = make("gemini", tmp_path)
    scratch.install()
    file = scratch.home / ".gemini/settings.json"
    file.write_text(f"// mine\n{file.read_text()}")
    scratch.run("touch denied")
    assert (scratch.files(), scratch.gate()["gate"]) == (set(), "on")


@pytest.mark.parametrize("host", ["claude-code", "gemini"])
def test_the_switch_that_disables_hooks_is_reported(tmp_path: Path, host: str) -> None:
    scratch = make(host, tmp_path)  # type: ignore[arg-type]  # one of the hosts
    scratch.install()
    file = Path(scratch.gate()["hooks"][0]["file"])
    switch = {"disableAllHooks": True} if host == "claude-code" else {"hooksConfig": {"enabled": False}}
    file.write_text(json.dumps({**json.loads(file.read_text()), **switch}))
    scratch.run("touch denied")
    assert (scratch.files(), scratch.gate()["gate"]) == ({"denied"}, "off")
