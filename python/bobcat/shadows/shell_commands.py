"""What programs are known for: which destroy, which talk to a network, and which run what they are given.

Tables only, for `shell`. A program that is not here is taken to do nothing but what its redirections say.
"""

from __future__ import annotations

from collections.abc import Mapping

DESTRUCTIVE = frozenset(
    {"rm", "unlink", "rmdir", "del", "shred", "drop", "truncate", "mkfs", "wipefs", "fdisk", "parted", "blkdiscard"}
)
NETWORK = frozenset(
    "curl wget scp sftp rsync ssh ftp nc ncat netcat telnet socat pip npm apt apt-get docker podman kubectl helm "
    "aws gcloud az terraform".split()
)
DESTRUCTIVE_WORDS: Mapping[str, frozenset[str]] = {
    "git": frozenset({"clean", "reset", "restore"}),
    "kubectl": frozenset({"delete", "drain"}),
    "helm": frozenset({"uninstall", "delete"}),
    "terraform": frozenset({"destroy"}),
    "docker": frozenset({"rm", "rmi", "prune"}),
    "podman": frozenset({"rm", "rmi", "prune"}),
    "aws": frozenset({"rm", "rb"}),
    "find": frozenset({"-delete"}),
    "rsync": frozenset({"--delete"}),
    "tar": frozenset({"--remove-files"}),
    "crontab": frozenset({"-r"}),
}
"""Programs that destroy when one of these is among their words (or begins it: `--delete-after`)."""

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
INTERPRETERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("python", "python3", "pypy3"), ("-c",)),
    **dict.fromkeys(("perl", "ruby", "node", "osascript"), ("-e", "-E")),
    "php": ("-r",),
    "psql": ("-c", "--command"),
    **dict.fromkeys(("mysql", "mariadb"), ("-e", "--execute")),
    **dict.fromkeys(("pwsh", "powershell"), ("-c", "-Command", "-EncodedCommand")),
    "cmd": ("/c", "/k"),
}
"""Programs that run a text in a language not read here, and the options before it."""
SCRIPTED = frozenset({"python", "python3", "pypy3", "perl", "ruby", "node", "php", "osascript", "source", "."})
"""Programs whose first word is a file of commands."""

WRAPPERS: Mapping[str, int] = {
    **dict.fromkeys(
        "sudo doas env nohup time xargs exec command builtin timeout nice ionice stdbuf setsid busybox strace watch "
        "parallel coproc unshare nsenter setpriv runuser if then else elif while until do ! {".split(),
        0,
    ),
    "chroot": 1,
    "flock": 1,
    "function": 1,
}
"""Programs that run the rest of their words, after so many words of their own."""
TEXT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "env": ("-S", "--split-string"),
}
"""Programs that run a text of commands after one of these options."""
TEXTS = frozenset({"eval", "watch", "parallel", "trap", "ssh"})
"""Programs that run their words, put together, as commands."""
COPIERS = frozenset({"cp", "mv", "install"})
"""Programs whose last word is a file or a directory they write to."""
OUTPUT_OPTIONS: Mapping[str, tuple[str, ...]] = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document")}
EDITORS = frozenset({"sed", "perl"})
"""Programs that change the files they are given, with `-i`."""
