"""bubblewrap: namespaces for processes, network and files around a program. Its file is resolved like a program."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from bobcat.errors import ToolError
from bobcat.providers.process.program import Program, resolve
from bobcat.providers.process.start import FIRST_FILE

_NAMESPACES = (
    "--unshare-user-try",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
)
MAX_WORDS = 8900
"""Fewer than the 9,000 arguments that bwrap accepts."""
_TRY_SECONDS = 10.0
_TRIED_FILES = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")


def find() -> Program | None:
    """The installed `bwrap`, or None."""
    try:
        return resolve("bwrap")
    except ValueError:
        return None


def failure(bwrap: Program) -> str | None:
    """Try it. Return the reason if it does not work here: namespaces can be forbidden."""
    try:
        tried = subprocess.run(
            [bwrap.path, *_NAMESPACES, "--unshare-net", *_TRIED_FILES, "--", "/bin/true"],
            env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if tried.returncode == 0 else tried.stderr.decode("utf-8", "replace").strip() or "it fails"


def command(
    program: Program, argv: Sequence[str], cwd: str, *, readable: Sequence[str], writable: Sequence[str], network: bool
) -> list[str]:
    """The arguments that run `program` in the directory `cwd`. The job's files are bwrap, then those of the program.

    Raises `ToolError` for more arguments than bwrap accepts.
    """
    words = ["bwrap", *_NAMESPACES, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    if not network:
        words.append("--unshare-net")
    for path in readable:
        if not path.startswith(("/proc", "/dev")):
            words += ["--ro-bind-try", path, path]
    for path in (*writable, cwd):
        words += ["--bind", path, path]
    for path in program.files():
        words += ["--ro-bind", path, path]
    words += ["--chdir", cwd, "--"]
    opened = [f"/proc/self/fd/{FIRST_FILE + 1 + number}" for number in range(len(program.descriptors()))]
    if program.option is not None:
        opened.insert(1, program.option)
    words += [*opened, *argv]
    if len(words) > MAX_WORDS:
        raise ToolError(f"argv has {len(argv)} arguments; bwrap takes {MAX_WORDS} together with its own", "size")
    return words
