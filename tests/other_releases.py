"""Tests in an environment of their own, with other releases of packages than those that are locked for development."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import bobcat

ROOT = Path(__file__).parents[1]
PACKAGE = Path(bobcat.__file__).parents[1]
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "jsonschema", "jsonschema-rs", "lynx-agent==2.5.0")


def run_with(releases: Iterable[str], tests: Iterable[str], *, skips: bool = True) -> None:
    """Run tests with these releases, in an environment from the package registry that is removed after them.

    `tests` are patterns of files and directories below `tests`; each must match. Without `skips`, none may be skipped,
    nor those that run in campaigns only.
    """
    found: list[str] = []
    for pattern in tests:
        matched = sorted((ROOT / "tests").glob(pattern))
        assert matched, pattern
        found += map(str, matched)
    with tempfile.TemporaryDirectory(prefix="bobcat-releases-") as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        python = f"{place}/bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS, *releases], check=True)
        (packages,) = Path(place).glob("lib/*/site-packages")
        (packages / "bobcat.pth").write_text(str(PACKAGE), encoding="utf-8")
        command = Path(place, "bin", "bobcat")
        command.write_text(f"#!{python}\nfrom bobcat.cli.main import main\nmain()\n", encoding="utf-8")
        command.chmod(0o755)
        # What warns in a release that is not the current one is no fault of ours.
        options = ["-p", "no:cacheprovider", "-W", "default", "-n", "2", "--dist", "loadfile"]
        environment = dict(os.environ)
        if skips:
            environment.pop("BOBCAT_CAMPAIGN", None)
        done = subprocess.run(
            [python, "-m", "pytest", *options, *found],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-1000:]
    assert skips or " skipped" not in done.stdout
