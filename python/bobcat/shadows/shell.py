"""Preview of a shell command: the programs it would run, and those that destroy, overwrite or use a network.

The command line is parsed like a shell does (`shell_syntax`), through `sudo`, `env`, `xargs`, `bash -c` and similar.
Unknown parts are listed under `unresolved`: the value of a variable, the files of a glob, a program that is
not known to be read-only, an option that makes a read-only program write. A preview with no destructive token, no
overwritten file, no network access and nothing unresolved consists of known read-only programs. The disk is never
read.
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import Any

from bobcat.shadows import shell_commands as known
from bobcat.shadows.shell_syntax import MAX_NESTING, SimpleCommand, read_script

MAX_PATHS = 1000
"""Paths that a preview lists."""
_GLOB = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{[^{}]*,[^{}]*\}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")


# Any: previews are JSON objects for people to read.
async def shell_shadow(cmd: str) -> dict[str, Any]:
    """Preview running `cmd`, as far as static analysis can tell."""
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
    """Accumulated effects of a script's commands."""

    def __init__(self) -> None:
        self.destructive: set[str] = set()
        self.network = False
        self.paths: list[str] = []
        self.overwrites: list[str] = []
        self.unresolved: set[str] = set()

    def read(self, command: SimpleCommand, depth: int) -> None:
        """Analyse one command, and the commands inside its arguments."""
        self.overwrites.extend(path for path in command.writes if path != "/dev/null")
        if any(path.startswith(known.SOCKETS) for path in (*command.writes, *command.reads)):
            self.network = True
        self.unresolved.update(f"glob {path}" for path in command.writes if _GLOB.search(path))
        self.read_words(command.words, depth, command.input)

    def read_words(self, words: list[str], depth: int, text: str | None = None, *, guess: bool = False) -> None:
        """Analyse a command by its words; `text` is its standard input, if known.

        A `guess` may be an option's value instead of a command: an unknown guess is not reported as unresolved.
        """
        words = [*words]
        while words and _is_assignment(words[0]):
            name = words.pop(0).partition("=")[0].removesuffix("+")
            if name not in known.HARMLESS_VARIABLES:
                self.unresolved.add(f"sets {name}")
        if not words:
            return
        if depth > MAX_NESTING:
            self.unresolved.add("nested too deeply")
            return
        program, rest = words[0].rsplit("/", 1)[-1].rsplit("\\", 1)[-1], words[1:]
        if words[0] == ".":
            program = "."
        uncertain_reason = _uncertain_reason(words[0], program, rest)
        if uncertain_reason and not guess:
            self.unresolved.add(uncertain_reason)
        self.read_inner(program, rest, depth, text)
        remote = program == "git" and not known.GIT_REMOTE.isdisjoint(rest)
        self.network = self.network or program in known.NETWORK or remote
        destroys = _destroys(program, rest)
        if destroys:
            self.destructive.add(destroys)
            self.add_paths(program, rest)
        self.overwrites.extend(_written(program, rest))

    def read_inner(self, program: str, rest: list[str], depth: int, text: str | None) -> None:
        """Analyse the commands that a program is given to run."""
        self.unresolved.update(f"{program} {word}" for word in rest if word in known.STARTS_SHELL.get(program, ()))
        if program in known.WRAPPERS:
            self.read_wrapped(rest, known.WRAPPERS[program], depth, text)
        for option in known.TEXT_OPTIONS.get(program, ()):
            if option in rest[:-1]:
                self.read_text(rest[rest.index(option) + 1], depth)
        if program in known.TEXTS:
            self.read_text(" ".join(_executed_words(program, rest)), depth)
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
        """Analyse the command after `sudo -u x`, `timeout 5`, `env A=b`: it starts at the first word that may be a
        program.
        """
        for index, word in enumerate(rest):
            if word.startswith("-") or _is_assignment(word) or _NUMBER.fullmatch(word):
                continue
            if own:
                own -= 1
                continue
            # An option's value (`sudo -u root rm`) is not a program: the words after it are read as well.
            guess = index > 0 and rest[index - 1].startswith("-")
            self.read_words(rest[index:], depth + 1, text, guess=guess)
            if guess:
                continue
            return

    def read_shell(self, program: str, rest: list[str], depth: int, text: str | None) -> None:
        """Analyse `bash -c TEXT` and the standard input of a shell. A script file is not read."""
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
        """Analyse commands in an argument."""
        script = read_script(text, depth + 1)
        self.unresolved.update(script.unresolved)
        for command in script.commands:
            self.read(command, depth + 1)

    def add_paths(self, program: str, rest: list[str]) -> None:
        for word in rest:
            if program == "dd":
                if word.startswith("of="):
                    self.paths.append(word[3:])
            elif not word.startswith("-"):
                if _GLOB.search(word):
                    self.unresolved.add(f"glob {word}")
                if len(self.paths) < MAX_PATHS:
                    self.paths.append(word)
                else:
                    self.unresolved.add(f"more than {MAX_PATHS} paths")


def _uncertain_reason(word: str, program: str, rest: list[str]) -> str | None:
    """Return the reason that a command may do more than the tables know; None for a known command."""
    if "$" in word or "`" in word or _BRACES.search(word) or (_GLOB.search(word) and word not in ("[", "[[")):
        return f"program {word}"
    directory = word.rpartition("/")[0]
    if directory and directory not in known.SYSTEM_DIRECTORIES:
        return f"program {word}"
    if program in known.DESTRUCTIVE or program in known.WRAPPERS or program in known.SHELLS or program in known.TEXTS:
        return None
    if program in known.COPIERS or program in ("dd", "tee", "alias", "cd", "."):
        return None
    if program == "git":
        return _uncertain_git_reason(rest)
    options = known.READERS.get(program)
    if options is None:
        return f"program {program}"
    if program == "date" and any(word[:1] not in ("-", "+") for word in rest):
        return "date may set the clock"
    found = next((word for word in rest if _has_option(word, options)), None)
    return f"option {found} of {program}" if found else None


def _uncertain_git_reason(rest: list[str]) -> str | None:
    """Return the reason that a `git` command may do more than read the repository; None if it only reads."""
    if not rest or rest[0] not in known.GIT_READERS:
        return f"git {rest[0]}" if rest else None
    found = next((word for word in rest[1:] if _has_option(word, known.GIT_OPTIONS)), None)
    return f"option {found} of git" if found else None


def _has_option(word: str, options: tuple[str, ...]) -> bool:
    """Return true if `word` is one of the options, abbreviated, with a value, or among bundled letters."""
    if word.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in options if option.startswith("--"))
    if not word.startswith("-"):
        return word in options
    return any(
        word == option or (len(option) == 2 and option[1] in word[1:])
        for option in options
        if not option.startswith("--")
    )


def _executed_words(program: str, rest: list[str]) -> list[str]:
    """Return the words that a program of `TEXTS` runs: all, or those after its options, and after the host of `ssh`."""
    if program == "eval":
        return rest
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if len(rest[at]) == 2 and program != "parallel" else 1
    if program == "trap":
        return rest[at : at + 1]
    return rest[at + (program == "ssh") :]


def _destroys(program: str, rest: list[str]) -> str | None:
    """Return the token that makes a command destructive, or None."""
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


def _written(program: str, rest: list[str]) -> list[str]:
    """Return the files that a command's arguments make it write to."""
    files = [word for word in rest if not word.startswith("-")]
    if program == "tee":
        return files
    if program == "uniq":
        return files[1:2]
    if program in known.COPIERS:
        return files[-1:] if len(files) > 1 else []
    if program in known.EDITORS and any(word.startswith(("-i", "--in-place")) for word in rest):
        return files[1:]  # the first one is the script
    options = known.OUTPUT_OPTIONS.get(program, ())
    return [after for before, after in pairwise(rest) if before in options]


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
