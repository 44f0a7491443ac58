"""The shell facet on command lines of agents and developers: nearly all are decidable, and packs know their effects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bobcat._core import parse_shell, shell_packs
from shell.real_commands import real_commands

EFFECTS = {"read", "write", "network", "run", "unknown"}


def commands(text: str) -> list[dict[str, Any]]:  # Any: JSON
    found: list[dict[str, Any]] = json.loads(parse_shell(text))
    return found


def is_undecidable(text: str) -> bool:
    try:
        parse_shell(text)
    except ValueError:
        return True
    return False


def test_at_most_three_in_a_hundred_real_command_lines_are_undecidable() -> None:
    lines = real_commands()
    undecidable = [text for text in lines if is_undecidable(text)]
    assert len(lines) >= 1000
    assert len(undecidable) <= 0.03 * len(lines), undecidable


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("git status -sb", {"read"}),
        ("git -C x log --oneline -n 5", {"read"}),
        ("git log --output=x", {"write"}),
        ("git log --outp=x", {"unknown"}),
        ("git log --no-such-option", {"unknown"}),
        ("git remote -v", {"read"}),
        ("git remote add a b", {"write"}),
        ("git branch", {"read"}),
        ("git branch new", {"write"}),
        ("git push", {"write", "network", "run"}),
        ("git stash list", {"read"}),
        ("git stash", {"write"}),
        ("npm audit", {"network"}),
        ("npm audit fix", {"write", "network", "run"}),
        ("npm no-such-verb", {"unknown"}),
        ("pip list", {"read"}),
        ("podman ps -a", {"read"}),
        ("podman run x", {"write", "network", "run"}),
        ("kubectl get pods -n x", {"network"}),
        ("kubectl delete pod x", {"write", "network"}),
        ("curl -s https://example.com", {"network"}),
        ("curl -so f https://example.com", {"write", "network"}),
        ("curl -d x https://example.com", {"write", "network"}),
        ("cat x", {"read"}),
        ("cat x > y", {"write"}),
        ("cat x > /dev/null 2>&1", {"read"}),
        ("cat x > /dev/tcp/host/80", {"write", "network"}),
        ("rm x", {"write"}),
        ("sort x", {"read"}),
        ("sort -o y x", {"write"}),
        ("sort -uo y x", {"write"}),
        ("sort --output=y x", {"write"}),
        ("find . -name x", {"read"}),
        ("find . -delete", {"write"}),
        ("sed -n 1p x", {"read"}),
        ("sed -i s/a/b/ x", {"write"}),
        ("sed -i.bak s/a/b/ x", {"write"}),
        ("./ls", {"run", "unknown"}),
        ("no-such-program", {"unknown"}),
        ("FOO=1 ls", {"unknown"}),
        ("LANG=C ls", {"read"}),
        ("ls *", {"read"}),
        ("diff x*", {"read"}),
        ('cat "$A"', {"read"}),
        ("grep $A b", {"unknown"}),
        ("cp $A b", {"write"}),
        ('cat x > "$A"', {"write", "network", "unknown"}),
    ],
)
def test_effects_of_a_command(text: str, effects: set[str]) -> None:
    (command,) = commands(text)
    assert set(command["effects"]) == effects


@pytest.mark.parametrize(
    "text", ["xargs git log", "xargs sort", "xargs tar", "sort *", "tar cf x *", "xargs git fetch", "xargs find"]
)
def test_arguments_that_are_not_in_the_text_can_become_options(text: str) -> None:
    try:
        found = commands(text)
    except ValueError:
        return
    assert any("unknown" in command["effects"] for command in found)


def test_rows_of_packs_name_known_effects_and_each_program_once() -> None:
    seen: set[str] = set()
    for pack in json.loads(shell_packs()):
        groups = {name for names, *_ in pack["rows"] for name in names if name.startswith("@")}
        for names, settings, options in pack["rows"]:
            assert not seen & set(names), seen & set(names)
            seen |= {name for name in names if not name.startswith("@")}
            stated = [] if names[0].startswith("@") or settings[0] == "verbs" else settings[0].split(",")
            added = [option.partition(":")[2].split(",") for option in options if ":" in option]
            operands = [word.partition(":")[2].split(",") for word in settings if ":" in word]
            for effects in [stated, *added, *operands]:
                assert set(effects) <= EFFECTS, (names, effects)
            assert {option for option in options if option.startswith("@")} <= groups


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("echo $(ls)", "substitution", 5),
        ("ls; echo ${HOME:-x}", "expansion", 9),
        ("$A x", "program", 0),
        ("find . $A", "launcher_argument", 7),
        ('[ "$A" -eq 1 ]', "builtin", 2),
        ('git clone "$A"', "launcher_argument", 10),
        ("ls 'a", "unterminated_quote", 3),
        ("ls\x00", "control_character", 2),
        ("ls &&", "syntax", 5),
        ("if true; then ls; fi", "keyword", 0),
        ("PATH=. ls", "special_variable", 0),
        ("sudo -Z ls", "launcher_option", 5),
        ("git x", "launcher_verb", 4),
        ("a/../b", "program_path", 0),
        ("RM x", "upper_case", 0),
        ("bash -lc ls", "launcher_option", 5),
        ("tar tf host:f", "launcher_option", 7),
        ('tar cf "$A" d', "launcher_argument", 7),
        ("eval ls", "launcher", 0),
        ("echo x | sh", "shell_input", 9),
        ("x" * 131_072, "too_long", 131_071),
        ("env " * 20 + "ls", "too_deep", 36),
        ("(" * 20, "expansion", 0),
    ],
)
def test_an_undecidable_text_has_a_code_and_a_place(text: str, code: str, at: int) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_shell(text)
    assert caught.value.args[:2] == (code, at)


def test_started_commands_name_their_launchers() -> None:
    found = commands("sudo -u app env A=1 nice -n 5 sh -c 'rm -rf \"a b\"; ls' > log")
    assert [(command["program"], command["via"]) for command in found] == [
        ("sudo", []),
        ("env", ["sudo"]),
        ("nice", ["env", "sudo"]),
        ("sh", ["nice", "env", "sudo"]),
        ("rm", ["sh", "nice", "env", "sudo"]),
        ("ls", ["sh", "nice", "env", "sudo"]),
    ]
    assert found[4]["argv"] == ["-rf", "a b"]
    assert found[0]["redirections"] == [{"operator": ">", "fd": None, "target": "log"}]
    assert found[2]["assignments"] == [["A", "1"]]
