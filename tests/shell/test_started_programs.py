"""The shell facet beside real shells: a decidable command line starts no program that the facet does not name."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import campaign
from bobcat._core import parse_shell
from shell.command_lines import Lines
from shell.jail import SHELLS, Jail, file_name, runs_here
from shell.spellings import HARMLESS, RUN, RUN_ELSEWHERE

PARTS = 2
Commands = list[dict[str, Any]]  # Any: JSON


@pytest.fixture(scope="module")
def jail(tmp_path_factory: pytest.TempPathFactory) -> Jail:
    if not all(shutil.which(shell) for shell in SHELLS):
        pytest.skip("bash and dash are not both installed")
    return Jail(tmp_path_factory.mktemp("jail"))


def parsed(text: str) -> Commands | None:
    """The commands of a text, or None if it is undecidable."""
    try:
        commands: Commands = json.loads(parse_shell(text))
    except ValueError as error:
        code, at, detail = error.args
        assert code.isidentifier()
        assert 0 <= at <= len(text.encode())
        assert detail
        return None
    return commands


def programs(commands: Commands) -> set[str]:
    return {file_name(name) if "/" in (name := command["program"]) else name for command in commands}


def wrongly_started(jail: Jail, shell: str, text: str, commands: Commands) -> list[str]:
    """The programs that a shell starts and the facet does not name, or names with other arguments."""
    certain: dict[str, list[Any]] = {}  # Any: argv, or None where the facet is not certain of it
    for command in commands:
        name = file_name(command["program"]) if "/" in command["program"] else command["program"]
        certain.setdefault(name, []).append(command["argv"] if command["argv_is_certain"] else None)
    return [
        f"{shell}: {text!r} starts {name} {argv}"
        for name, argv in jail.started(shell, text)
        if name not in certain or (None not in certain[name] and argv not in certain[name])
    ]


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_a_decidable_line_starts_only_the_programs_that_the_facet_names(jail: Jail, part: int) -> None:
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for seed in campaign.seeds(campaign.rounds(240), part, PARTS):
        text = Lines(seed).line()
        commands = parsed(text)
        counts["undecidable" if commands is None else "decidable"] += 1
        for shell in SHELLS if commands is not None and runs_here(text) else ():
            wrong += wrongly_started(jail, shell, text, commands or [])
    assert wrong == []
    assert counts["decidable"] > counts["undecidable"] / 4


@pytest.mark.parametrize("text", RUN)
def test_every_spelling_of_rm_is_found_or_undecidable(jail: Jail, text: str) -> None:
    commands = parsed(text)
    assert commands is None or "rm" in programs(commands)
    for shell in SHELLS if commands is not None and runs_here(text) else ():
        assert wrongly_started(jail, shell, text, commands or []) == []


def test_bash_runs_rm_for_nearly_all_spellings(jail: Jail) -> None:
    started = [text for text in RUN if runs_here(text) and "rm" in {name for name, _ in jail.started("bash", text)}]
    # Without process substitution in the jail, or with other versions of bash, a few do not.
    assert len(started) >= 0.9 * len(RUN)
    assert len(RUN) >= 150


@pytest.mark.parametrize("text", RUN_ELSEWHERE)
def test_launchers_of_other_machines_and_users_are_seen_through_or_undecidable(text: str) -> None:
    commands = parsed(text)
    assert commands is None or "rm" in programs(commands)


@pytest.mark.parametrize("text", HARMLESS)
def test_lines_that_only_mention_rm_are_decidable(jail: Jail, text: str) -> None:
    commands = parsed(text)
    assert commands is not None
    assert "rm" not in programs(commands)
    for shell in SHELLS if runs_here(text) else ():
        assert wrongly_started(jail, shell, text, commands) == []


def test_a_file_of_the_directory_is_another_program_than_its_name() -> None:
    commands = parsed("./ls -l; d/ls; /bin/ls; /opt/ls")
    assert commands is not None
    assert [command["program"] for command in commands] == ["./ls", "d/ls", "ls", "/opt/ls"]
    assert {command["name"] for command in commands} == {"ls"}


def test_the_jail_reports_what_a_shell_starts(jail: Jail, tmp_path: Path) -> None:
    assert jail.started("bash", "ls 'a b' && ./run.sh") == [("ls", ["a b"]), ("./run.sh", [])]
