"""The effects of the packs beside what the documentation of the programs says: none is understated."""

from __future__ import annotations

import json

from bobcat._core import parse_shell
from shell.effect_lines import effect_lines

READ = frozenset({"read"})


def effects(text: str) -> set[str] | None:
    """All effects of a command line; None if it is undecidable."""
    try:
        commands = json.loads(parse_shell(text))
    except ValueError:
        return None
    return {effect for command in commands for effect in command["effects"]}


def test_no_effect_is_understated() -> None:
    lines = [(text, least) for text, least in effect_lines() if least != READ]
    assert len(lines) > 1000
    understated = [
        f"{text}: {sorted(found)}, not {sorted(least)}"
        for text, least in lines
        if (found := effects(text)) is not None and "unknown" not in found and not least <= found
    ]
    assert understated == []


def test_lines_that_only_read_have_no_other_effect() -> None:
    lines = [text for text, least in effect_lines() if least == READ]
    assert len(lines) > 150
    assert [text for text in lines if effects(text) != READ] == []


def test_a_text_of_awk_writes_or_reaches_the_network_only_where_it_can() -> None:
    assert effects("awk -F: '{print $1}' f.txt") == READ
    assert effects("awk '{print > \"out\"}' f.txt") == {"write", "network"}
    # gawk connects to a file of this name.
    for text in ("awk '{getline x < $1}' f", "awk 1 /inet/tcp/0/host/80", 'awk 1 "$A"', "xargs awk 1"):
        assert "network" in (effects(text) or {"network"}), text


def test_the_first_word_of_tar_may_be_options() -> None:
    assert effects("tar tvf a.tar") == READ
    assert effects("tar xf a.tar") == {"write"}
    assert effects("tar cvzf a.tar.gz d") == {"write"}
    assert "unknown" in (effects("tar tQf a.tar") or {"unknown"})
