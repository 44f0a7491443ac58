"""Conditions on a bundle as options: `--trusted-key`, `--profile`, `--expected-id`, `--min-epoch`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import compile_policy, load_bundle
from bobcat.bundle.sign import public_key
from unit.cli_runner import Run, runner

TEXT = "rules: [{id: look, match: {tool: search}, decision: allow}]\n"
KEY = bytes(range(32))
COMMANDS = {
    "eval": ("--tool", "search"),
    "explain": ("--tool", "search"),
    "inspect": (),
    "bundle-id": (),
    "bench": ("--seconds", "0.1"),
    "log": ("events.jsonl",),
}
DECIDING = ("eval", "explain", "bench", "log")
CONDITIONS = [("--trusted-key", public_key(KEY)), ("--trusted-key", ""), ("--expected-id", "x"), ("--min-epoch", "0")]


def line(command: str, policy: str) -> tuple[str, ...]:
    """The command line of a command that loads `policy`."""
    if command == "log":
        return (command, *COMMANDS[command], "--decide-again", policy)
    return (command, policy, *COMMANDS[command])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(TEXT)
    (tmp_path / "rules.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "key").write_text(KEY.hex())
    (tmp_path / "events.jsonl").write_text("")
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_on_a_source_is_an_error(run: Run, command: str, condition: tuple[str, str]) -> None:
    for source in ("policy.yaml", "rules.py"):
        done = run(*line(command, source), *condition)
        assert (done.code, done.out) == (3, "")
        assert done.err == (
            f"error: `{source}` is a policy source, which has no signature, id or epoch; "
            f"`{condition[0]}` needs a bundle\n"
        )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_what_the_conditions_refuse(run: Run, command: str) -> None:
    assert run("compile", "policy.yaml", "-o", "p.bobcat", "--sign-key", "key", "--epoch", "4").code == 0
    identity = compile_policy(TEXT).id
    for code, *condition in [
        ("unsigned", "--trusted-key", "00" * 32),
        ("bad_key", "--trusted-key", ""),
        ("id_mismatch", "--expected-id", identity[:16]),
        ("id_mismatch", "--expected-id", ""),
        ("old_epoch", "--min-epoch", "5"),
        ("profile_mismatch", "--profile", "lynx"),
    ]:
        refused = run(*line(command, "p.bobcat"), *condition)
        assert (refused.code, refused.err.partition(":")[0]) == (3, f"error[{code}]")
    met = ("--trusted-key", public_key(KEY), "--expected-id", identity, "--min-epoch", "4")
    assert run(*line(command, "p.bobcat"), *met).code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bundle_of_the_lynx_profile_decides_only_when_asked_for(run: Run, command: str) -> None:
    assert run("compile", "policy.yaml", "-o", "lax.bobcat", "--profile", "lynx").code == 0
    done = run(*line(command, "lax.bobcat"))
    if command in DECIDING:
        assert (done.code, "error[profile_mismatch]" in done.err, "--profile lynx" in done.err) == (3, True, True)
    else:
        assert done.code == 0
    assert run(*line(command, "lax.bobcat"), "--profile", "lynx").code == 0


def test_an_epoch_is_written_and_shown(run: Run) -> None:
    assert run("compile", "policy.yaml", "-o", "p.bobcat", "--epoch", "7").code == 0
    assert load_bundle("p.bobcat").epoch == 7
    assert "epoch              7\n" in run("inspect", "p.bobcat").out
    assert run("inspect", "p.bobcat", "--format", "json").json()["manifest"]["epoch"] == 7
    assert run("compile", "policy.yaml", "-o", "q.bobcat").code == 0
    assert "epoch" not in run("inspect", "q.bobcat").out
    assert Path("q.bobcat").read_bytes() == compile_policy(TEXT, "policy.yaml").to_bytes()


@pytest.mark.parametrize("epoch", ["-1", "x", "1.5"])
def test_an_epoch_is_a_whole_number(run: Run, epoch: str) -> None:
    assert run("compile", "policy.yaml", "-o", "p.bobcat", "--epoch", epoch).code == 2
    assert not Path("p.bobcat").exists()
    assert run("inspect", "policy.yaml", "--min-epoch", epoch).code == 2


def test_an_epoch_beyond_the_largest_is_refused(run: Run) -> None:
    done = run("compile", "policy.yaml", "-o", "p.bobcat", "--epoch", str(2**53))
    assert (done.code, "error[bad_epoch]" in done.err, Path("p.bobcat").exists()) == (3, True, False)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_on_a_log_that_is_not_decided_again_is_an_error(run: Run, condition: tuple[str, str]) -> None:
    done = run("log", "events.jsonl", *condition)
    assert (done.code, done.out) == (2, "")
    assert f"`{condition[0]}` needs `--decide-again`" in done.err
