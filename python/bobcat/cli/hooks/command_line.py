"""The command line of a hook in the settings of a host: written for a POSIX shell, and read back."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bobcat.cli.hooks.call import HOSTS, Host

NATIVE = "bobcat-hook"
_SYNTAX = frozenset("|&;<>()$`*?#~\n")
"""Characters by which a line that is not in the form of `shlex.join` may be more than words to a shell."""


@dataclass(frozen=True, slots=True)
class HookCommand:
    """A command line that runs Bobcat's hook."""

    text: str
    program: str
    """The program that the shell starts."""
    host: str
    """The host in whose dialect the hook answers; empty if the line names none."""
    policy: str | None
    options: tuple[str, ...]
    """The other arguments."""
    plain: bool
    """The line runs the hook and nothing else: `bobcat install` may change and remove it."""

    @property
    def grant(self) -> bool:
        """True with `--grant`."""
        return "--grant" in self.options

    def value(self, option: str) -> str | None:
        """Return the value of an option; None if it is not given."""
        for word, following in pairwise((*self.options, "")):
            if word.startswith(f"{option}="):
                return word.partition("=")[2]
            if word == option:
                return following
        return None

    def has(self, option: str) -> bool:
        """Return true if an option is given."""
        return any(word == option or word.startswith(f"{option}=") for word in self.options)


def hook_command(hook: Path, host: Host, policy: Path, options: Sequence[str]) -> str:
    """Return the command line for a POSIX shell; paths are made absolute."""
    return shlex.join([os.path.abspath(hook), host, "--policy", os.path.abspath(policy), *options])


def parse_command(text: object) -> HookCommand | None:
    """Read the command line of a hook; None for a line that does not run Bobcat's hook."""
    if not isinstance(text, str):
        return None
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)  # operators are words of their own
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    for at, word in enumerate(words):
        arguments = _arguments(word, words[at + 1 :])
        if arguments is not None:
            alone = at == 0 or (at == 2 and words[1] == "-m")
            host, policy, options = _options(arguments)
            plain = bool(host) and alone and (shlex.join(words) == text or _SYNTAX.isdisjoint(text))
            return HookCommand(text, words[0], host, policy, options, plain)
    return None


def _arguments(word: str, rest: list[str]) -> list[str] | None:
    """Return the arguments of the hook that `word` starts; None if it starts something else."""
    name = os.path.basename(word).removesuffix(".exe")
    if name == NATIVE:
        return rest
    return rest[1:] if name == "bobcat" and rest[:1] == ["hook"] else None


def _options(words: list[str]) -> tuple[str, str | None, tuple[str, ...]]:
    host, policy, options = "", None, []
    rest = iter(words)
    for word in rest:
        if word == "--policy":
            policy = next(rest, None)
        elif word.startswith("--policy="):
            policy = word.partition("=")[2]
        elif not host and word in HOSTS:
            host = word
        else:
            options.append(word)
    return host, policy, tuple(options)


def native_hook() -> Path | None:
    """Return the native hook of this installation, else the one on PATH; None for neither."""
    for directory in (sysconfig.get_path("scripts"), os.path.dirname(os.path.abspath(sys.argv[0]))):
        path = Path(directory) / (NATIVE + (".exe" if os.name == "nt" else ""))
        if path.is_file():
            return path
    found = shutil.which(NATIVE)
    return None if found is None else Path(os.path.abspath(found))
