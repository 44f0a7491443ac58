"""The shell facet beside two other parsers, tree-sitter-bash and brush-parser; bash decides where they differ.

They have no launchers and expand nothing: each program that they name must be one of those of a decidable line.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
import tree_sitter_bash
from tree_sitter import Language, Node, Parser

import campaign
from bobcat._core import parse_shell
from shell.command_lines import Lines
from shell.jail import Jail, file_name, runs_here
from shell.real_commands import real_commands
from shell.spellings import HARMLESS, RUN

ROOT = Path(__file__).parents[2]
PARSER = Parser(Language(tree_sitter_bash.language()))
LITERALS = {"string_content", "number", "variable_name"}
JOINED = {"concatenation", "command_name", "string"}


def literal(node: Node) -> str | None:
    """The text of a word without its quotes; None if the shell expands it."""
    text = (node.text or b"").decode()
    if node.type == "word" or node.type in LITERALS:
        return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string" and all(child.type == "string_content" for child in node.named_children):
        return re.sub(r'\\([\\"$`])', r"\1", text[1:-1].replace("\\\n", ""))
    if node.type in JOINED:
        parts = [literal(child) for child in node.named_children]
        return None if None in parts else "".join(part or "" for part in parts)
    return None


def named(text: str) -> set[str] | None:
    """The programs that the grammar names; None if it does not accept the text."""
    root = PARSER.parse(text.encode()).root_node
    if root.has_error:
        return None
    found, nodes = set[str](), [root]
    while nodes:
        node = nodes.pop()
        nodes += node.named_children
        if node.type == "command_name" and (name := literal(node)) is not None:
            found.add(name)
    return found


def command_lines(generated: int) -> list[str]:
    seeds = range(campaign.FIRST_SEED, campaign.FIRST_SEED + campaign.rounds(generated))
    return [*real_commands(), *RUN, *HARMLESS, *(Lines(seed).line() for seed in seeds)]


def compare(jail: Jail, opinions: Iterable[tuple[str, set[str] | None]]) -> Counter[str]:
    """Assert that bash starts no program that another parser names and the facet does not; count the agreements."""
    counts: Counter[str] = Counter()
    wrong = []
    for text, names in opinions:
        try:
            commands = json.loads(parse_shell(text))
        except ValueError:
            counts["undecidable"] += 1
            continue
        if names is None:
            counts["not accepted by the grammar"] += 1
            continue
        known = {spelling for command in commands for spelling in (command["program"], command["name"])}
        more = {name for name in names if name not in known and name.rpartition("/")[2] not in known}
        counts["differs" if more else "agrees"] += 1
        started = {name for name, _ in jail.started("bash", text)} if more and runs_here(text) else set[str]()
        if more and (not runs_here(text) or started & {file_name(name) if "/" in name else name for name in more}):
            wrong.append((text, more))
    assert wrong == []
    assert counts["agrees"] > 0.5 * counts.total()
    return counts


@pytest.fixture
def jail(tmp_path: Path) -> Jail:
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    return Jail(tmp_path)


def test_the_programs_of_tree_sitter_are_those_of_the_facet(jail: Jail) -> None:
    counts = compare(jail, ((text, named(text)) for text in command_lines(2_000)))
    assert counts["differs"] < 0.01 * counts["agrees"]  # of a quoted string before `\ `, for example


@pytest.mark.slow
def test_the_programs_of_brush_are_those_of_the_facet(jail: Jail) -> None:
    target = ROOT / ".build" / "second-opinion"
    build = ["cargo", "run", "--quiet", "--release", "--locked", "--target-dir", str(target)]
    texts = command_lines(2_000)
    run = subprocess.run(
        [*build, "--manifest-path", str(ROOT / "rust/second-opinion/Cargo.toml")],
        input="\0".join(texts).encode(errors="replace"),
        capture_output=True,
        check=True,
    )
    lines = run.stdout.decode().removesuffix("\n").split("\n")
    assert len(lines) == len(texts)
    words = (None if line == "!" else line.replace("\x01", "\n").split("\0")[:-1] for line in lines)
    compare(jail, zip(texts, map(unquoted, words), strict=True))


def unquoted(words: list[str] | None) -> set[str] | None:
    """The words without their quotes; None if they cannot be read."""
    try:
        return None if words is None else {"".join(shlex.split(word.replace("\\\n", ""))) for word in words}
    except ValueError:
        return None
