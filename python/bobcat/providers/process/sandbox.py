"""The place of programs: their directory, and the containment around them, both opened when the provider is created."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from bobcat.errors import ToolError
from bobcat.providers.process import bwrap, landlock
from bobcat.providers.process.containment import DEVICES, SYSTEM_FILES, Containment
from bobcat.providers.process.program import Program
from bobcat.providers.process.start import FIRST_FILE


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Directory:
    """The directory that programs start in: its path without links, and its descriptor."""

    path: str
    descriptor: int

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None) -> Directory:
        """Open `path`, or the current directory. Raises `ValueError`."""
        real = os.path.realpath(os.getcwd() if path is None else path)
        try:
            opened = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise ValueError(f"cwd `{path or real}` cannot be opened as a directory: {error.strerror}") from error
        directory = cls(real, opened)
        weakref.finalize(directory, os.close, opened)
        return directory

    def verify(self) -> None:
        """Raise `ToolError` if the path leads to another directory now."""
        try:
            same = os.path.samestat(os.stat(self.path, follow_symlinks=False), os.fstat(self.descriptor))
        except OSError:
            same = False
        if not same:
            raise ToolError(f"{self.path} was replaced since the tool was created; create the tool again", "changed")


@dataclass(frozen=True, slots=True)
class Command:
    """What the server executes: the arguments, the opened files, and which of them the program inherits."""

    argv: list[str]
    files: list[int]
    inherited: list[int]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Sandbox:
    """Containment in a directory, with the files that programs reach."""

    containment: Containment
    directory: Directory
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    network: bool
    ruleset: int | None

    @classmethod
    def create(
        cls, containment: Containment, directory: Directory, programs: Sequence[Program],
        *, readable: Sequence[str], writable: Sequence[str], network: bool,
    ) -> Sandbox:  # fmt: skip
        """Make the sandbox of a provider. Raises `ValueError` if the kernel refuses it."""
        ruleset = None
        if containment.isolation == "landlock":
            opened = [descriptor for program in programs for descriptor in program.descriptors()]
            try:
                ruleset = landlock.make_ruleset(
                    (*SYSTEM_FILES, *readable, *opened), (*DEVICES, *writable, directory.descriptor), network=network
                )
            except OSError as error:
                raise ValueError(f"isolation='landlock' does not work here: {error}") from error
        sandbox = cls(containment, directory, tuple(readable), tuple(writable), network, ruleset)
        if ruleset is not None:
            weakref.finalize(sandbox, os.close, ruleset)
        return sandbox

    def command(self, program: Program, argv: Sequence[str]) -> Command:
        """Prepare one run. Raises `ToolError` if a file is not as it was when the provider was created."""
        program.verify()
        files = program.descriptors()
        around = self.containment.bwrap
        if around is not None:
            around.verify()
            self.directory.verify()  # bwrap takes a path
            words = bwrap.command(
                program, argv, self.directory.path,
                readable=(*SYSTEM_FILES, *self.readable), writable=self.writable, network=self.network,
            )  # fmt: skip
            return Command(words, [around.descriptor, *files], [FIRST_FILE + 1 + n for n in range(len(files))])
        if program.interpreter is None:
            return Command([program.path, *argv], files, [])
        # The script by its descriptor: its path could lead to another file when the interpreter opens it.
        option = [] if program.option is None else [program.option]
        words = [program.interpreter.path, *option, f"/proc/self/fd/{FIRST_FILE + 1}", *argv]
        return Command(words, files, [FIRST_FILE + 1])
