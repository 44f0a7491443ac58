"""Tables of known programs: destructive programs, network programs, and programs that run other commands.

Tables only, for `shell`. A program that no table lists is unresolved.
"""

from __future__ import annotations

from collections.abc import Mapping

DESTRUCTIVE = frozenset(
    "rm unlink rmdir del shred srm drop truncate mkfs mke2fs mkswap wipefs fdisk sfdisk cfdisk gdisk sgdisk parted "
    "blkdiscard hdparm badblocks chmod chown chgrp chattr setfacl kill killall pkill shutdown reboot halt poweroff "
    "init telinit umount swapoff userdel groupdel deluser delgroup dropdb dropuser lvremove vgremove pvremove zfs "
    "zpool cryptsetup iptables ip6tables nft ufw".split()
)
SYSTEM_DIRECTORIES = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})
"""Directories whose programs are assumed to be the standard ones."""
SOCKETS = ("/dev/tcp/", "/dev/udp/")
"""Prefixes of files that a shell opens as network connections."""
HARMLESS_VARIABLES = frozenset("LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_TIME TZ NO_COLOR COLUMNS".split())
"""Variables that change only the output format of a program."""

READERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        "ls cat grep egrep fgrep zgrep echo printf pwd wc head tail cut tr nl tac rev paste join comm cmp diff stat du "
        "df ps which whereis type id whoami groups uname hostid uptime free printenv true false test [ [[ : sleep seq "
        "basename dirname realpath readlink md5sum sha1sum sha256sum sha512sum cksum b2sum strings od hexdump nproc "
        "arch tty locale column fold fmt expand unexpand uniq lsblk lscpu lsof jq } fi done esac for in".split(),
        (),
    ),
    "sort": ("-o", "--output", "--compress-program", "-T", "--temporary-directory", "--files0-from"),
    "tree": ("-o",),
    "date": ("-s", "--set"),
    "find": ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "rg": ("--pre", "--hostname-bin", "--search-zip", "-z"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "file": ("-C", "--compile"),
}
"""Read-only programs, and their options that write or run something."""
GIT_READERS = frozenset(
    "status log diff show rev-parse ls-files ls-tree blame describe shortlog cat-file merge-base rev-list --version "
    "version".split()
)
"""Commands of git that only read the repository."""
GIT_REMOTE = frozenset({"push", "pull", "fetch", "clone"})
"""Commands of git that use a network."""
GIT_OPTIONS = (
    "--output",
    "-o",
    "--ext-diff",
    "--textconv",
    "--no-index",
    "--open-files-in-pager",
    "--exec",
    "--filters",
)
"""Options that make these write a file, run a program or leave the repository."""
STARTS_SHELL: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("sudo", "doas"), ("-s", "-i", "-e", "--shell", "--login", "--edit")),
}
"""Options after which a program runs a shell or an editor."""

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
"""Programs that are destructive if one of their words is, or starts with, one of these (`--delete-after`)."""

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
"""Programs that run code in a language not analysed here, and the options before it."""
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
"""Programs that run a command line given after one of these options."""
TEXTS = frozenset({"eval", "watch", "parallel", "trap", "ssh"})
"""Programs that run their joined words as a command line."""
COPIERS = frozenset({"cp", "mv", "install"})
"""Programs whose last word is a file or a directory they write to."""
OUTPUT_OPTIONS: Mapping[str, tuple[str, ...]] = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document")}
EDITORS = frozenset({"sed", "perl"})
"""Programs that change their input files with `-i`."""
