"""Platforms without what only POSIX has: modules import, policies decide and run, the rest is refused with the reason.

`without_posix.py` takes these names away on Linux and macOS. On Windows the same checks run as they are.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bobcat

PROGRAM = Path(__file__).with_name("without_posix.py")
FROM_SOURCES = Path(bobcat.__file__).is_relative_to(Path(__file__).parents[2])


@pytest.mark.skipif(not FROM_SOURCES, reason="imports the modules of the sources")
def test_every_module_can_be_imported() -> None:
    _run("imports")


def test_policies_decide_runs_go_on_and_unsafe_parts_are_refused() -> None:
    _run("decides_and_runs", "refuses")


@pytest.mark.skipif(
    sys.platform == "win32", reason="imitates what Windows does; there it cannot raise SIGTERM for a handler"
)
def test_signals_and_pipes_have_substitutes() -> None:
    _run("ends", "reads_a_pipe")


def _run(*checks: str) -> None:
    done = subprocess.run([sys.executable, str(PROGRAM), *checks], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()) == (0, list(checks)), done.stderr
