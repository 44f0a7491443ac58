"""The profile that the core is built with: for whom it is, and what of a run is kept in it."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ROOT / "rust" / "profile" / "profile_flags.py"


def _reported(directory: Path, rustc: str | None) -> list[str]:
    """The arguments for maturin beside a compiler with the version text `rustc`."""
    binaries = directory / "bin"
    binaries.mkdir()
    if rustc is not None:
        program = binaries / "rustc"
        program.write_text(f"#!/bin/sh\n{rustc}\n")
        program.chmod(0o755)
    script = directory / "profile_flags.py"
    shutil.copy(FLAGS, script)
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"PATH": str(binaries)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return shlex.split(done.stdout)


SAID = "echo 'rustc 9.9.9 (abc)'; echo 'host: some-host'; echo 'release: 9.9.9'"


def test_a_profile_is_for_its_own_compiler(tmp_path: Path) -> None:
    place = tmp_path / "it's a place"
    place.mkdir()
    profile = place / "rustc-9.9.9-some-host.profdata"
    profile.touch()
    option, value = _reported(place, SAID)
    assert option == "--config"
    key, _, flags = value.partition("=")
    assert key == "build.rustflags"
    assert json.loads(flags) == [f"-Cprofile-use={profile}"]


@pytest.mark.parametrize("rustc", [SAID.replace("9.9.9", "9.9.8"), SAID.replace("some-host", "other"), "exit 1", None])
def test_any_other_compiler_gets_no_profile(tmp_path: Path, rustc: str | None) -> None:
    (tmp_path / "rustc-9.9.9-some-host.profdata").touch()
    assert _reported(tmp_path, rustc) == []


def test_only_what_ran_often_is_kept() -> None:
    head = "# IR level Instrumentation Flag\n:ir\n"
    often = _function("hot;_ZN3one", [0, 1_999, 2_000])
    # Kinds of values come after the counters; what they count decides nothing.
    seldom = _function("_ZN3two", [5]).rstrip("\n") + "\n# Num Value Kinds:\n1\n9000\n\n"
    training = _training()
    assert training.often(head + often + seldom + often) == head + often + often
    assert training.often(head) == head


def _function(name: str, counters: list[int]) -> str:
    counted = "\n".join(map(str, counters))
    return f"{name}\n# Func Hash:\n77\n# Num Counters:\n{len(counters)}\n# Counter Values:\n{counted}\n\n"


def _training() -> ModuleType:
    spec = importlib.util.spec_from_file_location("training", ROOT / "benches" / "training.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
