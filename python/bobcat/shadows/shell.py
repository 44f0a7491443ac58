"""Preview of a shell command: which programs it would run, and which of them destroy, overwrite or talk to a network.

The command line is read as a shell reads it (`shell_syntax`), through `sudo`, `env`, `xargs`, `bash -c` and their like.
What a preview cannot know, such as the value of a variable, is listed under `unresolved`.
"""

from __future__ import annotations

import glob
import shlex
from typing import Any

from bobcat.shadows.shell_syntax import MAX_NESTING, Script, SimpleCommand, read_script

_DESTRUCTIVE = frozenset(
    {"rm", "unlink", "rmdir", "del", "shred", "drop", "truncate", "mkfs", "wipefs", "fdisk", "parted"}
)
_NETWORK = frozenset({"curl", "wget", "scp", "sftp", "rsync", "ssh", "ftp", "nc", "ncat", "netcat", "telnet", "socat"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_INTERPRETERS = frozenset({"python", "python3", "perl", "ruby", "node", "php", "awk", "gawk", "osascript"})
_WRAPPERS = frozenset(
    "sudo doas env nohup time xargs exec command builtin timeout nice ionice stdbuf setsid chroot busybox "
    "strace watch parallel if then else elif while until do ! {".split()
)
MAX_PATHS = 1000
"""How many paths of a glob a preview lists."""


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
        self.read_words(command.words, depth)

    def read_words(self, words: list[str], depth: int) -> None:
        words = [*words]
        while words and _is_assignment(words[0]):
            words.pop(0)
        if not words:
            return
        if depth > MAX_NESTING:
            self.unresolved.add("nested too deeply")
            return
        program, rest = words[0].rsplit("/", 1)[-1].rsplit("\\", 1)[-1], words[1:]
        if "$" in words[0] or "`" in words[0]:
            self.unresolved.add(f"program {words[0]}")
        if program in _WRAPPERS:
            self.read_wrapped(rest, depth)
        if program in _SHELLS or program == "eval":
            self.read_shell(program, rest, depth)
        elif program in _INTERPRETERS and any(word in ("-c", "-e", "-r") for word in rest):
            self.unresolved.add(f"{program} code")
        self.network = self.network or program in _NETWORK or _talks(program, rest)
        destroys = _destroys(program, rest)
        if destroys:
            self.destructive.add(destroys)
            self.add_paths(program, rest)
        if program == "tee":
            self.overwrites.extend(word for word in rest if not word.startswith("-"))
        if program == "find":
            self.read_find(rest, depth)

    def read_wrapped(self, rest: list[str], depth: int) -> None:
        """The command behind `sudo -u x`, `timeout 5`, `env A=b`: at the first word that may be a program."""
        for index, word in enumerate(rest):
            if word.startswith("-") or _is_assignment(word) or word.replace(".", "").rstrip("smhd").isdigit():
                continue
            self.read_words(rest[index:], depth + 1)
            # An option's value (`sudo -u root rm`) is no program: what follows it is read as well.
            if index and rest[index - 1].startswith("-"):
                continue
            return

    def read_shell(self, program: str, rest: list[str], depth: int) -> None:
        """`bash -c TEXT` and `eval WORDS`: read the text. A script file stays unread."""
        if program == "eval":
            self.merge(read_script(" ".join(rest)), depth)
            return
        for index, word in enumerate(rest):
            if word.startswith("-") and not word.startswith("--") and "c" in word:
                if index + 1 < len(rest):
                    self.merge(read_script(rest[index + 1]), depth)
                return
            if not word.startswith("-"):
                self.unresolved.add(f"script {word}")
                return
        self.unresolved.add(f"{program} reads its standard input")

    def merge(self, script: Script, depth: int) -> None:
        self.unresolved.update(script.unresolved)
        for command in script.commands:
            self.read(command, depth + 1)

    def read_find(self, rest: list[str], depth: int) -> None:
        for flag in ("-exec", "-execdir", "-ok", "-okdir"):
            if flag in rest:
                self.read_words(rest[rest.index(flag) + 1 :], depth + 1)

    def add_paths(self, program: str, rest: list[str]) -> None:
        for word in rest:
            if program == "dd":
                if word.startswith("of="):
                    self.paths.append(word[3:])
            elif not word.startswith("-") and len(self.paths) < MAX_PATHS:
                found = sorted(glob.glob(word))[:MAX_PATHS] if glob.has_magic(word) else []
                self.paths.extend(found or [word])


def _destroys(program: str, rest: list[str]) -> str | None:
    """The token under which a command is listed as destructive, or None."""
    if program in _DESTRUCTIVE or program.startswith("mkfs."):
        return program
    if program == "dd" and any(word.startswith("of=") for word in rest):
        return "dd"
    if program == "find" and "-delete" in rest:
        return "find -delete"
    if program == "git" and any(word in ("clean", "reset") for word in rest):
        return "git " + next(word for word in rest if word in ("clean", "reset"))
    if program == "rsync" and any(word.startswith("--delete") for word in rest):
        return "rsync --delete"
    if program == "kubectl" and "delete" in rest:
        return "kubectl delete"
    return None


def _talks(program: str, rest: list[str]) -> bool:
    if program == "git":
        return any(word in ("push", "pull", "fetch", "clone") for word in rest)
    return program in ("pip", "npm", "apt", "apt-get", "docker", "kubectl", "aws", "gcloud")


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
