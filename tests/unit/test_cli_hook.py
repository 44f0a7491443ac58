"""`bobcat hook` as a command; `tests/hooks` has its answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bobcat import Policy


def test_hook_describes_its_options() -> None:
    done = subprocess.run([sys.executable, "-m", "bobcat", "hook", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--grant" in done.stdout


def test_hook_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    policy = tmp_path / "policy.bobcat"
    Policy.compile("rules: []").save(policy)
    command = [sys.executable, "-m", "bobcat", "hook", "codex", "--policy", str(policy)]
    done = subprocess.run(command, input="{}", capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
