"""Output of the commands to a terminal: colours where requested, and nothing truncated at any width."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bobcat import StepRecord, step_record_to_json

ROOT = Path(__file__).parents[2]
BOBCAT = [sys.executable, "-m", "bobcat"]
POLICY = """\
rules:
  - {id: nothing-leaves-the-workspace-of-an-agent, match: {tool: shell, args.cmd.matches: '^rm'}, decision: deny}
  - {id: no-large-payments, match: {tool: pay, args.amount.gt: 100}, decision: deny}
  - {id: look, match: {tool.in: [shell, pay], args.cmd: ls}, decision: allow}
"""
START = datetime(2026, 1, 31, 12, tzinfo=UTC)
RECORDS = (
    ("run.started", {"task": "pay the bills", "bundle_id": "f" * 64}),
    ("model.output", {"step": 0, "type": "tool_call", "tool": "pay", "args": {"to": "ann"}, "call_id": ""}),
    ("action.intent", {"step": 0, "tool": "pay", "verdict": "allow"}),
)
CALL = ["--tool", "shell", "--args", '{"cmd": "ls"}']
COMMANDS = {
    "check": ["check", "wrong.yaml"],
    "inspect": ["inspect", "policy.yaml"],
    "eval": ["eval", "policy.yaml", *CALL],
    "explain": ["explain", "policy.yaml", "--all", *CALL],
    "doctor": ["doctor", "policy.yaml"],
    "bench": ["bench", "policy.yaml", "--seconds", "0.1"],
    "trace": ["trace", "journal.jsonl"],
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "wrong.yaml").write_text(POLICY.replace("args.cmd: ls", "arg.cmd: ls"))
    records = [StepRecord("r", seq, kind, "", body, START) for seq, (kind, body) in enumerate(RECORDS)]
    (tmp_path / "journal.jsonl").write_text("\n".join(map(step_record_to_json, records)))
    return tmp_path


def environment(**changes: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**kept, "TERM": "xterm-256color", **changes}


def on_terminal(command: list[str], cwd: Path, columns: int = 80, **changes: str) -> str:
    """The output of a program whose standard output and error are a terminal of so many columns."""
    keys, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        command, cwd=cwd, env=environment(**changes), stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    written = b""
    while True:
        try:
            part = os.read(keys, 65536)
        except OSError:  # the terminal is closed
            break
        if not part:
            break
        written += part
    os.close(keys)
    process.wait(60)
    return written.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_only_a_terminal_gets_colours(name: str, here: Path) -> None:
    command = [*BOBCAT, *COMMANDS[name]]
    assert "\x1b[" in on_terminal(command, here)
    piped = subprocess.run(command, cwd=here, env=environment(FORCE_COLOR="1"), capture_output=True, check=False)
    assert b"\x1b[" not in piped.stdout + piped.stderr


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("name", COMMANDS)
def test_where_colours_are_not_wanted_there_is_no_bold_either(name: str, changes: dict[str, str], here: Path) -> None:
    assert "\x1b[" not in on_terminal([*BOBCAT, *COMMANDS[name]], here, **changes)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_colour_is_that_of_the_background_of_a_usual_scheme(name: str, here: Path) -> None:
    written = on_terminal([*BOBCAT, *COMMANDS[name]], here)
    codes = {int(code) for group in re.findall(r"\x1b\[([\d;]*)m", written) for code in group.split(";") if code}
    assert codes <= {0, 1, 2, 22, 31, 32, 33, 34, 35, 36, 39}  # neither black, white nor the bright ones


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_cut_to_the_width(name: str, columns: int, here: Path) -> None:
    assert "…" not in on_terminal([*BOBCAT, *COMMANDS[name]], here, columns)


def test_an_id_and_a_call_stand_on_one_line_however_narrow_the_terminal(here: Path) -> None:
    shown = on_terminal([*BOBCAT, *COMMANDS["inspect"]], here, 40, NO_COLOR="1")
    assert re.search(r"^id +[0-9a-f]{64}\r$", shown, re.MULTILINE)
    shown = on_terminal([*BOBCAT, *COMMANDS["doctor"]], here, 40, NO_COLOR="1")
    assert re.search(r"^ +call +\{.*\}\r$", shown, re.MULTILINE)


@pytest.mark.parametrize("columns", [80, 60, 200])
def test_inspect_breaks_no_name_and_no_place_on_a_narrow_terminal(here: Path, columns: int) -> None:
    name = "a-rule-with-a-rather-long-name-as-people-write-them"
    (here / "wide.yaml").write_text(f"rules: [{{id: {name}, match: {{tool: shell}}, decision: deny}}]\n")
    lines = on_terminal([*BOBCAT, "inspect", "wide.yaml"], here, columns, NO_COLOR="1").splitlines()
    assert any(name in line for line in lines)
    assert any("deny" in line and "wide.yaml:1:9" in line for line in lines)
    assert all(len(line) <= columns for line in lines if not line.startswith("id "))


def test_the_histogram_of_bench_fits_a_narrow_terminal(here: Path) -> None:
    shown = on_terminal([*BOBCAT, *COMMANDS["bench"]], here, 50, NO_COLOR="1")
    bars = [line.rstrip() for line in shown.splitlines() if "█" in line]
    assert bars
    assert all(re.search(r"█ +[\d,]+$", line) and len(line) <= 50 for line in bars)


def test_doctor_says_on_a_terminal_what_it_is_busy_with(here: Path) -> None:
    shown = on_terminal([*BOBCAT, *COMMANDS["doctor"]], here)
    assert shown.startswith("evaluating calls with both profiles ...\r\n")


def test_the_demo_has_no_bold_without_colours(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), str(tmp_path)]
    assert "\x1b[" not in on_terminal(command, tmp_path, NO_COLOR="1")


def test_on_a_terminal_padding_puts_nothing_where_a_line_of_ours_begins(here: Path) -> None:
    """A terminal wraps a long line, and what stands at the beginning of the next one looks like a line of its own."""
    forged = "x" * 46 + "final: nothing was paid " + "y" * 60
    result = {"step": 0, "tool": "pay", "verdict": "allow", "ok": True, "duration_ms": 1, "message": f"[ok] {forged}"}
    record = StepRecord("r", len(RECORDS), "action.result", "", result, START)
    with (here / "journal.jsonl").open("a") as file:
        file.write(f"\n{step_record_to_json(record)}")
    (here / "forged.yaml").write_text(
        f"rules: [{{match: {{tool: shell}}, decision: deny, reason: {'x' * 54} allow all}}]"
    )
    for command in (
        ["trace", "journal.jsonl", "--full"],
        ["explain", "forged.yaml", *CALL],
        ["eval", "forged.yaml", *CALL],
    ):
        for columns in range(40, 90, 7):
            lines = on_terminal([*BOBCAT, *command], here, columns, NO_COLOR="1").splitlines()
            assert max(map(len, lines)) <= columns
            forgeries = [line for line in lines if line.startswith(("final: nothing", "nothing", "allow all", "all"))]
            assert not forgeries, (command, columns)
