"""Preview of a shell command: which programs it would run, and which of them destroy, overwrite or talk to a network.

The command line is read as a shell reads it (`shell_syntax`), through `sudo`, `env`, `xargs`, `bash -c` and their like.
What a preview cannot know, such as the value of a variable, is listed under `unresolved`.
"""

from __future__ import annotations

import glob
import re
import shlex
from itertools import pairwise
from typing import Any

from bobcat.shadows import shell_commands as known
from bobcat.shadows.shell_syntax import MAX_NESTING, SimpleCommand, read_script

MAX_PATHS = 1000
"""How many paths of a glob a preview lists."""
_BRACES = re.compile(r"\{[^{}]*,[^{}]*\}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")


# Any: previews are JSON objects for people to read.
async def shell_shadow(cmd: str) -> dict[str, Any]:
    """What running `cmd` would do, as far as reading it tells."""
    script = read_script(cmd)
    findings = _Findings()
    for command in script.commands:
        findings.read(command, 0)
    try:
        tokens = shlex.split(cmd)
    except ValueError:
        tokens = cmd.split()
    return {
        "would_run": cmd,
        "tokens": tokens,
        "destructive_tokens": sorted(findings.destructive),
        "network_egress": findings.network,
        "paths_affected": findings.paths,
        "overwrites": findings.overwrites,
        "unresolved": sorted({*script.unresolved, *findings.unresolved}),
        "note": "preview only: nothing was run",
    }


class _Findings:
    """What the commands of a script amount to."""

    def __init__(self) -> None:
        self.destructive: set[str] = set()
        self.network = False
        self.paths: list[str] = []
        self.overwrites: list[str] = []
        self.unresolved: set[str] = set()

    def read(self, command: SimpleCommand, depth: int) -> None:
        """Judge one command, and the commands inside its arguments."""
        self.overwrites.extend(path for path in command.writes if path != "/dev/null")
        self.read_words(command.words, depth, command.input)

    def read_words(self, words: list[str], depth: int, text: str | None = None) -> None:
        """Judge a command by its words; `text` is what it is given to read, where that is known."""
        words = [*words]
        while words and _is_assignment(words[0]):
            words.pop(0)
        if not words:
            return
        if depth > MAX_NESTING:
            self.unresolved.add("nested too deeply")
            return
        program, rest = words[0].rsplit("/", 1)[-1].rsplit("\\", 1)[-1], words[1:]
        if words[0] == ".":
            program = "."
        if "$" in words[0] or "`" in words[0] or _BRACES.search(words[0]):
            self.unresolved.add(f"program {words[0]}")
        self.read_inner(program, rest, depth, text)
        self.network = self.network or program in known.NETWORK or _talks(program, rest)
        destroys = _destroys(program, rest)
        if destroys:
            self.destructive.add(destroys)
            self.add_paths(program, rest)
        self.overwrites.extend(_written(program, rest))

    def read_inner(self, program: str, rest: list[str], depth: int, text: str | None) -> None:
        """The commands that a program is told to run."""
        if program in known.WRAPPERS:
            self.read_wrapped(rest, known.WRAPPERS[program], depth, text)
        for option in known.TEXT_OPTIONS.get(program, ()):
            if option in rest[:-1]:
                self.read_text(rest[rest.index(option) + 1], depth)
        if program in known.TEXTS:
            self.read_text(" ".join(_told(program, rest)), depth)
        if program == "alias":
            for word in rest:
                self.read_text(word.partition("=")[2], depth)
        if program in known.SHELLS:
            self.read_shell(program, rest, depth, text)
        if program == "find":
            for index, word in enumerate(rest):
                if word in ("-exec", "-execdir", "-ok", "-okdir"):
                    self.read_words(rest[index + 1 :], depth + 1)
        options = known.INTERPRETERS.get(program, ())
        if any(word.startswith(options) for word in rest if options):
            self.unresolved.add(f"{program} code")
        elif program in known.SCRIPTED and rest and not rest[0].startswith("-"):
            self.unresolved.add(f"script {rest[0]}")
        if program in ("awk", "gawk", "mawk") and any("system" in word or "|" in word for word in rest):
            self.unresolved.add(f"{program} code")
        if program in ("docker", "podman", "kubectl") and any(word in ("run", "exec") for word in rest):
            self.unresolved.add(f"{program} runs something inside a container")

    def read_wrapped(self, rest: list[str], own: int, depth: int, text: str | None) -> None:
        """The command behind `sudo -u x`, `timeout 5`, `env A=b`: at the first word that may be a program."""
        for index, word in enumerate(rest):
            if word.startswith("-") or _is_assignment(word) or _NUMBER.fullmatch(word):
                continue
            if own:
                own -= 1
                continue
            self.read_words(rest[index:], depth + 1, text)
            # An option's value (`sudo -u root rm`) is no program: what follows it is read as well.
            if index and rest[index - 1].startswith("-"):
                continue
            return

    def read_shell(self, program: str, rest: list[str], depth: int, text: str | None) -> None:
        """`bash -c TEXT` and what a shell is given to read: read the text. A script file stays unread."""
        for index, word in enumerate(rest):
            if word.startswith("-") and not word.startswith("--") and "c" in word:
                if index + 1 < len(rest):
                    self.read_text(rest[index + 1], depth)
                return
            if not word.startswith("-"):
                self.unresolved.add(f"script {word}")
                return
        if text is not None:
            self.read_text(text, depth)
        else:
            self.unresolved.add(f"{program} reads its standard input")

    def read_text(self, text: str, depth: int) -> None:
        """Commands that are written in an argument."""
        script = read_script(text, depth + 1)
        self.unresolved.update(script.unresolved)
        for command in script.commands:
            self.read(command, depth + 1)

    def add_paths(self, program: str, rest: list[str]) -> None:
        for word in rest:
            if program == "dd":
                if word.startswith("of="):
                    self.paths.append(word[3:])
            elif not word.startswith("-") and len(self.paths) < MAX_PATHS:
                found = sorted(glob.glob(word))[:MAX_PATHS] if glob.has_magic(word) else []
                self.paths.extend(found or [word])


def _told(program: str, rest: list[str]) -> list[str]:
    """The words that a program of `TEXTS` runs: all, or those behind its options, and behind the host of `ssh`."""
    if program == "eval":
        return rest
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if len(rest[at]) == 2 and program != "parallel" else 1
    if program == "trap":
        return rest[at : at + 1]
    return rest[at + (program == "ssh") :]


def _destroys(program: str, rest: list[str]) -> str | None:
    """The token under which a command is listed as destructive, or None."""
    if program in known.DESTRUCTIVE or program.startswith("mkfs."):
        return program
    if program == "dd" and any(word.startswith("of=") for word in rest):
        return "dd"
    if program == "git" and "push" in rest and any(word in ("-f", "--force", "--delete", "--mirror") for word in rest):
        return "git push --force"
    for word in rest:
        for name in known.DESTRUCTIVE_WORDS.get(program, ()):
            if word == name or (name.startswith("--") and word.startswith(name)):
                return f"{program} {name}"
    return None


def _talks(program: str, rest: list[str]) -> bool:
    return program == "git" and any(word in ("push", "pull", "fetch", "clone") for word in rest)


def _written(program: str, rest: list[str]) -> list[str]:
    """The files a command writes to by its arguments."""
    files = [word for word in rest if not word.startswith("-")]
    if program == "tee":
        return files
    if program in known.COPIERS:
        return files[-1:] if len(files) > 1 else []
    if program in known.EDITORS and any(word.startswith(("-i", "--in-place")) for word in rest):
        return files[1:]  # the first one is the script
    options = known.OUTPUT_OPTIONS.get(program, ())
    return [after for before, after in pairwise(rest) if before in options]


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
