"""Programs resolved once: the file is opened at construction, and that inode is what runs.

A script runs as its interpreter, which is resolved and opened in the same way, with the opened script as its argument.
"""

from __future__ import annotations

import os
import stat
import weakref
from dataclasses import dataclass, field

from bobcat.errors import ToolError

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
"""Directories in which names are looked up. The `PATH` of this process may have writable ones."""
_SHEBANG_BYTES = 256
_Identity = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Program:
    """An opened executable file.

    `path` is the path as it was found, which the program gets as its name; `file` the file behind its links.
    `interpreter` and `option` are those of a script.
    """

    path: str
    file: str
    descriptor: int
    identity: _Identity
    interpreter: Program | None = field(default=None)
    option: str | None = None

    def verify(self) -> None:
        """Raise `ToolError` if the file is not as it was at construction."""
        if _identity(os.fstat(self.descriptor)) != self.identity:
            raise ToolError(f"{self.path} has changed since the tool was created; create the tool again", "changed")
        if self.interpreter is not None:
            self.interpreter.verify()

    def descriptors(self) -> list[int]:
        """The opened files that a start needs: the binary first, then the script."""
        return [self.descriptor] if self.interpreter is None else [self.interpreter.descriptor, self.descriptor]

    def files(self) -> list[str]:
        """The paths of these files."""
        return [self.file] if self.interpreter is None else [self.interpreter.file, self.file]


def resolve(name: str, path: str | None = None) -> Program:
    """Open the program `name`: the absolute file `path`, else the first of that name in `SYSTEM_PATH`.

    Raises `ValueError` for a file that is missing, cannot be executed, or could be changed by every user.
    """
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(f"a program needs a name, got {name!r}")
    if path is None:
        return _open(name, _look_up(name))
    path = os.fspath(path)
    if not isinstance(path, str) or not os.path.isabs(path):
        raise ValueError(f"program `{name}`: the file must be an absolute path, got {path!r}")
    return _open(name, path)


def _look_up(name: str) -> str:
    if "/" in name:
        raise ValueError(f"program `{name}` is a path; write a mapping: {{'{os.path.basename(name)}': {name!r}}}")
    for directory in SYSTEM_PATH.split(":"):
        path = os.path.join(directory, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise ValueError(f"program `{name}` is not in {SYSTEM_PATH}; write a mapping: {{{name!r}: '/absolute/file'}}")


def _open(name: str, path: str, *, script: bool = True) -> Program:
    try:
        file = os.path.realpath(path, strict=True)
        descriptor = os.open(file, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ValueError) as error:
        raise ValueError(f"program `{name}`: {path} cannot be opened: {error}") from error
    try:
        found = os.fstat(descriptor)
        _check(name, file, found)
        interpreter, option = _interpreter(name, file, descriptor, script=script)
    except BaseException:
        os.close(descriptor)
        raise
    program = Program(path, file, descriptor, _identity(found), interpreter, option)
    weakref.finalize(program, os.close, descriptor)
    return program


def _check(name: str, file: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"program `{name}`: {file} is not a regular file")
    if not os.access(file, os.X_OK):
        raise ValueError(f"program `{name}`: {file} is not executable")
    if found.st_mode & stat.S_IWOTH:
        raise ValueError(f"program `{name}`: every user can write {file}; remove the permission: chmod o-w")
    directory = os.path.dirname(file)
    while True:
        mode = os.stat(directory).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:  # with the sticky bit, others cannot replace the file
            raise ValueError(f"program `{name}`: every user can replace files in {directory}; choose another place")
        if directory == "/":
            return
        directory = os.path.dirname(directory)


def _interpreter(name: str, file: str, descriptor: int, *, script: bool) -> tuple[Program | None, str | None]:
    """The interpreter of a script and the option of its first line; none of a binary."""
    try:
        with open(f"/proc/self/fd/{descriptor}", "rb") as opened:
            start = opened.read(_SHEBANG_BYTES)
    except PermissionError:  # executable without being readable: no script
        return None, None
    if start.startswith(b"\x7fELF"):
        return None, None
    line, end, _ = start.partition(b"\n")
    if not line.startswith(b"#!") or not end:
        raise ValueError(f"program `{name}`: {file} is neither an ELF file nor a script with a `#!` line")
    if not script:
        raise ValueError(f"program `{name}`: the interpreter {file} is a script itself")
    words = line[2:].decode("utf-8", "surrogateescape").strip().split(None, 1)
    if not words or not os.path.isabs(words[0]):
        raise ValueError(f"program `{name}`: the `#!` line of {file} has no absolute interpreter")
    path, option = words[0], words[1] if len(words) > 1 else None
    if os.path.basename(path) == "env":  # looked up now, so that the interpreter that runs is known
        if option is None or option.startswith("-") or "=" in option or len(option.split()) != 1:
            raise ValueError(f"program `{name}`: the `#!` line of {file} is not understood: `{line[2:].decode()}`")
        path, option = _look_up(option), None
    return _open(name, path, script=False), option


def _identity(found: os.stat_result) -> _Identity:
    # The inode alone would not show that it was written to. Only root can set the time of change.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
