"""A directory for programs, a directory outside, and the traces that an escape leaves. Used by tests of `proc.run`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bobcat.providers import ProcessLimits, containment, processes
from bobcat.tools import ToolSet
from providers.escapes_processes import SECRET

PROGRAMS = ("sh", "echo", "cat", "git", "tar", "find", "printf", "wc", "false", "ls", "env", "sleep")


def works(isolation: str) -> bool:
    """Try an isolation."""
    try:
        containment(isolation)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


WORKING = [isolation for isolation in ("none", "landlock", "bwrap") if works(isolation)]
"""The isolations of this machine."""


@dataclass(frozen=True)
class Site:
    """The two directories, and the port of a server on this machine."""

    ws: Path
    out: Path
    port: int
    made: dict[str, ToolSet] = field(default_factory=dict)

    def placed(self, value: Any) -> Any:  # Any: JSON
        """`value` with the names of this site in its texts."""
        if isinstance(value, str):
            for name, text in (("WS", self.ws), ("OUT", self.out), ("PARENT", os.getpid()), ("PORT", self.port)):
                value = value.replace(name, str(text))
            return value
        if isinstance(value, tuple | list):
            return type(value)(map(self.placed, value))
        if isinstance(value, dict):
            return {key: self.placed(item) for key, item in value.items()}
        return value

    def tools(self, isolation: str, **options: Any) -> ToolSet:  # Any: arguments of `processes`
        """The provider, with programs of the system and scripts of this site; one for the same options."""
        key = json.dumps([isolation, options])
        if key not in self.made:
            self.made[key] = self._make(isolation, self.placed(options))
        return self.made[key]

    def _make(self, isolation: str, given: dict[str, Any]) -> ToolSet:  # Any: as above
        limits = ProcessLimits(**given.pop("limits", {}))
        programs = {name: str(shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")) for name in PROGRAMS}
        scripts = {name: str(self.out.parent / "bin" / name) for name in ("hello", "greet", "also-printf")}
        token = {"BOBCAT_TOKEN": self.token, **given.pop("set_env", {})}
        options = {"isolation": isolation, **given, "limits": limits, "set_env": token}
        return processes({**programs, **scripts}, cwd=self.ws, **options)

    @property
    def token(self) -> str:
        """A text in the environment of every program of this site."""
        return f"token-{self.ws}"

    def left(self) -> list[str]:
        """The command lines of this site's programs that still run."""
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and self.token.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                    found.append(Path(f"/proc/{entry}/cmdline").read_bytes().decode())
            except OSError:
                continue
        return found

    def traces(self, shown: object) -> list[str]:
        """The signs of an escape: files outside, processes that still run, the secret in `shown`."""
        files = [str(path) for path in self.out.rglob("*") if path.name.startswith("owned")]
        files += [path for path in ("/usr/owned", "/etc/owned", "/owned") if os.path.exists(path)]
        secret = ["the secret"] if SECRET in json.dumps(shown, default=str) else []
        return files + self.left() + secret


@contextmanager
def site(root: Path) -> Iterator[Site]:
    """Make a site below `root`, with a repository, and a server that accepts connections."""
    ws, out, binaries = root / "ws", root / "out", root / "bin"
    for directory in (ws, out / "public", out / "shared", binaries):
        directory.mkdir(parents=True)
    (out / "secret").write_text(SECRET)
    (out / "public" / "file").write_text("for all\n")
    for name, text in (("a.txt", "text\n"), ("a b.txt", "spaces\n"), ("ä.txt", "ü\n"), ("-c", "dashes\n")):
        (ws / name).write_text(text)
    (ws / ".gitconfig").write_text(f"[alias]\n\tplanted = !touch {out}/owned\n")
    write_program(binaries / "hello", '#!/bin/sh -e\necho "hello $1-$2"\n')
    write_program(binaries / "greet", "#!/usr/bin/env sh\necho greet $1\n")
    (binaries / "also-printf").symlink_to("/usr/bin/printf")
    quiet: dict[str, Any] = {"cwd": ws, "check": True, "capture_output": True}  # Any: options of `run`
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["tar", "-cf", "old.tar", "a.txt"], **quiet)
    subprocess.run(["git", "init", "-q"], **quiet)
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "first commit"], **quiet)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield Site(ws, out, server.getsockname()[1])


def call(tools: ToolSet, program: str, *argv: str) -> dict[str, Any]:  # Any: JSON
    """Run a program, without a policy."""

    async def run() -> dict[str, Any]:  # Any: as above
        result: dict[str, Any] = await tools.get("proc.run").fn(program, list(argv))  # Any: as above
        return result

    return asyncio.run(run())


def write_program(path: Path, text: str) -> None:
    """Write an executable script."""
    path.write_text(text)
    path.chmod(0o755)
