"""The packs beside the help of the installed programs: no option of a program that reads writes or starts programs.

A row with `read` and `*` gives every other option the effect of reading. Where the help of such an option has a word of
writing, running or connecting, a person has to look: it belongs into the row, or among `REVIEWED`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from bobcat._core import shell_packs

SUSPICIOUS = re.compile(
    r"\b(writ\w*|output (?:to|into|file)|sav\w+|creat\w+|append\w*|delet\w+|remov\w+|overwrit\w+|exec\w*|command"
    r"|program|pager|compil\w+|modif\w+|updat\w+|stor\w+|edit\w*|dump\w*|log ?file|connect\w*|download|fetch|upload"
    r"|server|URL)\b",
    re.IGNORECASE,
)
OPTIONS = re.compile(
    r"^\s{1,12}(--?[\w#?@%+][\w-]*(?:[= \[][^ ,]*)?(?:, *(?:-\w|--\w[\w-]*)\S*)*)\s*(.*)$", re.MULTILINE
)
NAME = re.compile(r"(?<![\w-])--?\w[\w-]*")
REVIEWED = {
    "ls": "-p --indicator-style -F --classify --file-type -H --dereference-command-line --time"
    " --dereference-command-line-symlink-to-dir",
    "tail": "-f --follow",
    "tr": "-d --delete",
    "od": "-N --read-bytes",
    "strings": "-v -V --version",
    "file": "--apple",
    "du": "-a --all --time",
    "basename": "-s --suffix",
    "cksum": "--tag --untagged",
    "basenc": "--base64 --base64url --base32",
    "diff3": "-i",
    "numfmt": "--padding",
    "[": "-N -w -x",
    "who": "--writable",
    "locale": "-a --all-locales -m --charmaps -c --category-name -k --keyword-name -V --version",
    "pgrep": "-a --list-full -x --exact",
    "pstree": "-a --arguments",
    "lsof": "-c",
    "getent": "-V --version",
    "column": "-t --table",
    "date": "-r --reference",
    "xxd": "-b -e",
    # The names of these programs imply standard output.
    "xzcat": "-k --keep -f --force -c --stdout",
    "bzcat": "-k --keep -f --force -c --stdout",
    "zstdcat": "-f --force -V --version -c --stdout --no-dictID",
    "less": "-_ --_ -_<_f_l_a_g_> --_<_n_a_m_e_>",
    "env": "-u --unset --block-signal",
    "setsid": "-w --wait",
    "xargs": "-n --max-args -r --no-run-if-empty -s --max-chars --show-limits -t --verbose",
    "netstat": "-M --masquerade -p --programs -l --listening -a --all",
    # The reader of the launcher's own options makes others undecidable.
    "sort": "--compress-program",
    "man": "-P --pager -u --update -r --prompt -V --version",
    "timeout": "--preserve-status -k --kill-after",
    "find": "-readable -writable -executable -exec -execdir -ok -okdir",
    "time": "-a --append -o --output -q --quiet",
}
SAME = {"dir": "ls", "vdir": "ls", "md5sum": "cksum", "b2sum": "cksum", "bunzip2": "bzcat"}


def reviewed(name: str) -> set[str]:
    known = "cksum" if re.fullmatch(r"sha\d+sum", name) else SAME.get(name, name)
    return set(REVIEWED.get(known, "").split())


def help_of(name: str) -> str:
    """The help of an installed program; empty for one that is missing or has none."""
    program = shutil.which(name)
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).decode(errors="replace")


@pytest.mark.slow
def test_no_option_of_a_reading_program_writes_or_starts_programs() -> None:
    found, programs = [], 0
    for names, settings, options in (row for pack in json.loads(shell_packs()) for row in pack["rows"]):
        known = {re.split(r"[:=?]", option)[0] for option in options}
        if "*" not in known or settings[0] != "read":
            continue
        for name in names:
            if " " in name or not (text := help_of(name)):
                continue
            programs += 1
            for match in OPTIONS.finditer(text):
                new = set(NAME.findall(match[1])) - known - reviewed(name)
                listed = set(NAME.findall(match[1])) & (known | reviewed(name))
                if new and not listed and SUSPICIOUS.search(f"{match[1]} {match[2]}"):
                    found.append(f"{name}: {match[0].strip()}")
    assert found == [], "\n".join(found)
    assert programs > 60
