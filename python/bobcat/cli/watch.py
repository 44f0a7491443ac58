"""`bobcat test --watch`: run the tests again whenever one of their files changes.

Each run is a process of its own, so that modules of tools and rules are read anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

import click

from bobcat.cli.output import wants_colour

INTERVAL_SECONDS = 0.3
Snapshot = dict[str, tuple[int, int] | None]


def watch(arguments: Sequence[str], paths: Sequence[str], policy: str | None) -> NoReturn:
    """Run `bobcat test ARGUMENTS` now and after every change, until Ctrl-C."""
    while True:
        before = _snapshot(paths, policy)
        subprocess.run([sys.executable, "-m", "bobcat", "test", *arguments], check=False)
        click.secho(
            f"watching {len(before)} file{'s' * (len(before) != 1)}; Ctrl-C ends", dim=True, color=wants_colour()
        )
        while _snapshot(paths, policy) == before:
            time.sleep(INTERVAL_SECONDS)


def _snapshot(paths: Sequence[str], policy: str | None) -> Snapshot:
    """Return the time and the size of each file; None for one that is not there."""
    from bobcat.testing.suites.session import watched_files

    try:
        files = watched_files(paths, policy)
    except OSError:  # between two writes of an editor
        files = set(paths)
    return {file: _state(file) for file in files}


def _state(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
