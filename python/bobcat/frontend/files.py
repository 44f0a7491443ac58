"""Files that a policy includes: from which directory they may come, and their text.

INVARIANT: no file outside of the root is opened. The root is the directory of the policy, or the one that the caller
names; links are followed before the check, and the resolved path is what is opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.suggest import closest
from bobcat.frontend.yaml.encoding import decode

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Size of an included file; the limit of the text itself is lower, and has its own diagnostic."""


class UnusableFile(ValueError):
    """A file that cannot be included; `help` is a help line."""

    def __init__(self, problem: str, help: str | None = None) -> None:
        super().__init__(problem)
        self.help = help


@dataclass(frozen=True, slots=True)
class IncludedFile:
    """A file to include: its name in diagnostics, and its path with every link resolved."""

    name: str
    path: str


class PolicyFiles:
    """The files that the policy `entry` may include: those below `root`, by default its own directory."""

    def __init__(self, entry: str, root: str | os.PathLike[str] | None = None) -> None:
        self.entry = IncludedFile(entry, os.path.realpath(entry))
        self._given = root is not None
        self._shown = (os.path.dirname(entry) or ".") if root is None else str(os.fspath(root))
        self._root = os.path.realpath(self._shown)

    def find(self, written: str, including: str) -> IncludedFile:
        """Return the file that `including` names. Raises `UnusableFile`; only a file below the root is inspected."""
        if not written.strip() or "\0" in written:
            raise UnusableFile("the path is empty" if not written.strip() else "the path has a null character")
        if "://" in written:
            raise UnusableFile("it is a URL", "copy the file beside the policy, and include the copy")
        if os.path.isabs(written) and not self._given:
            instead = "write a path from the directory of this file, or name the directory with `--include-root`"
            raise UnusableFile("the path is absolute", instead)
        name = os.path.normpath(os.path.join(os.path.dirname(including), written))
        path = os.path.realpath(os.path.join(os.path.dirname(including), written))
        if not self._holds(path):
            help = None if self._given else "name a directory that holds both with `--include-root`"
            raise UnusableFile(f"it is outside of `{self._shown}`", help)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            raise UnusableFile("there is no such file", _near(name, path)) from None
        except OSError as error:
            raise UnusableFile((error.strerror or str(error)).lower()) from None
        if not stat.S_ISREG(found.st_mode):
            kind = "a directory" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise UnusableFile(f"it is {kind}", "name each file of it" if stat.S_ISDIR(found.st_mode) else None)
        return IncludedFile(name, path)

    def _holds(self, path: str) -> bool:
        try:
            return os.path.commonpath((self._root, path)) == self._root
        except ValueError:  # another drive
            return False

    @staticmethod
    def read(file: IncludedFile) -> tuple[str, Diagnostic | None]:
        """Return the text of a file, and the diagnostic of one that is not UTF-8. Raises `UnusableFile`."""
        try:
            with open(file.path, "rb") as opened:
                data = opened.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise UnusableFile((error.strerror or str(error)).lower()) from None
        if len(data) > MAX_FILE_BYTES:
            raise UnusableFile(f"it has more than {MAX_FILE_BYTES:,} bytes")
        return decode(data, file.name)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a policy source is compiled with: the files that it may include, and values for its variables.

    Without `files`, the source is a text or plain data, which includes nothing.
    """

    files: PolicyFiles | None = None
    variables: Mapping[str, Any] = field(
        default_factory=lambda: MappingProxyType({})
    )  # Any: checked when they are used


NO_INPUTS = Inputs()


class VariableText(str):
    """The value of a variable as a text, from a command line: read as the type of the variable."""

    __slots__ = ()


def _near(name: str, path: str) -> str | None:
    directory = os.path.dirname(path)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return f"there is no directory `{os.path.dirname(name)}`" if os.path.dirname(name) else None
    near = closest(os.path.basename(path), names)
    return None if near is None else f"did you mean `{os.path.join(os.path.dirname(name), near)}`?"
