"""Shells with stub programs: the programs that a command line really starts.

The directory on `PATH` has stubs, which log their path and arguments, and some real launchers. Nothing else can be
started by its name. A command line with a path that may be absolute is never run: it could reach real files.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
from pathlib import Path

STUBS = (
    *(
        "ls",
        "cat",
        "rm",
        "cp",
        "mv",
        "grep",
        "git",
        "python3",
        "make",
        "curl",
        "tee",
        "touch",
        "mkdir",
        "wc",
        "head",
        "true2",
    ),
    *("node", "npm", "id", "whoami", "date", "sort", "zstd", "ssh", "sudo", "tar", "if", "then", "a", "b", "x"),
)
REAL = (
    "env",
    "nice",
    "nohup",
    "timeout",
    "setsid",
    "stdbuf",
    "xargs",
    "find",
    "flock",
    "ionice",
    "sh",
    "bash",
    "dash",
    "sed",
    "awk",
    "time",
)
"""Launchers of the machine, started for real if they are installed."""
SHELLS = ("bash", "dash")
SECONDS = 5.0
"""Command lines that take longer are ended; what they started until then counts."""
_ABSOLUTE = re.compile(r"""(?:^|[\s;&|()<>=:,'"{}$\\`!#%^+\x00-\x1f])/(?!dev/(?:null|stdin)\b)""")
VARIABLES = {"A": "rm", "B": "-exec rm {} ;", "C": "a[$(rm)]", "D": "", "E": "-v a[$(rm)]", "F": "-c rm", "G": "; rm"}
"""Values that a command line may have to do with: texts that start a program where they are read again."""
_FIELD, _RECORD = "\x1f", "\x1e"
# Without the characters themselves: a line can pass the text of a stub to another one.
_STUB = r"""#!/bin/sh
f=$(printf '\037') r=$0
for a; do r="$r$f$a"; done
printf '%s\036' "$r" >> '{log}'
"""


def runs_here(text: str) -> bool:
    """Return false for a text with a path that may be absolute, but for `/dev/null` and `/dev/stdin`."""
    return _ABSOLUTE.search(text) is None


class Jail:
    """A directory of stubs, and a working directory with files of tempting names."""

    def __init__(self, root: Path) -> None:
        self.bin, self.work, self._log = root / "bin", root / "work", root / "log"
        self.bin.mkdir(parents=True)
        self._stub = _STUB.format(log=self._log)
        for name in STUBS:
            self._write(self.bin / name)
        self.real = [name for name in REAL if (found := shutil.which(name)) and self._link(name, found)]
        self._fill()

    def _link(self, name: str, found: str) -> bool:
        (self.bin / name).symlink_to(Path(found).resolve())
        return True

    def _write(self, path: Path) -> None:
        path.write_text(self._stub)
        path.chmod(0o755)

    def _fill(self) -> None:
        """Make the working directory anew."""
        shutil.rmtree(self.work, ignore_errors=True)
        (self.work / "d").mkdir(parents=True)
        for name in ("rm", "run.sh", "f.py", "g.py", "d/run.sh"):
            self._write(self.work / name)
        for name in ("-rf", "-exec", "f.txt", "x y"):
            (self.work / name).write_text("")

    def started(self, shell: str, text: str) -> list[tuple[str, list[str]]]:
        """The programs that `shell -c text` starts, with their arguments, in no certain order.

        Raises `ValueError` for a text that may reach files outside.
        """
        if not runs_here(text):
            raise ValueError(f"not run, for it may have an absolute path: {text!r}")
        self._log.unlink(missing_ok=True)
        read, write = os.pipe()
        process = None
        try:
            process = subprocess.Popen(
                [shutil.which(shell) or shell, "-c", text, "sh", "rm", "-exec", "rm", ";"],
                cwd=self.work,
                env={"PATH": str(self.bin), "HOME": str(self.work), "LC_ALL": "C.UTF-8", **VARIABLES},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[write],
                start_new_session=True,
            )
        finally:
            os.close(write)
            # Background processes hold the pipe until they end.
            # `select` takes no descriptor above 1,023, which a process that runs many tests may have.
            poll = select.poll()
            poll.register(read)
            poll.poll(SECONDS * 1000)
            os.close(read)
            if process is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if not self._log.exists():
            return []
        records = self._log.read_text("utf-8", "surrogateescape").split(_RECORD)[:-1]
        found = [record.split(_FIELD) for record in records]
        if len(os.listdir(self.work)) != 8 or not (self.work / "run.sh").stat().st_size:
            self._fill()
        return [(self._name(path), argv) for path, *argv in found]

    def _name(self, path: str) -> str:
        if path.startswith(f"{self.bin}/"):
            return path.removeprefix(f"{self.bin}/")
        return file_name(path.removeprefix(f"{self.work}/"))


def file_name(path: str) -> str:
    """A path in the working directory in one spelling."""
    return path if path.startswith("./") else f"./{path}"
