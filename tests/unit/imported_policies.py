"""Commands for tests of imported permissions, and the decisions of the policies."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from bobcat import Policy, Request
from bobcat.cli.importers.model import Imported, policy_text

ORDER = {"deny": 0, "approve_required": 1, "allow": 2}
WORDS = ("git", "push", "rm", "ls", "npm", "run", "test", "-rf", "status", "gitx", "pushy")

words = st.sampled_from(WORDS)
prefixes = st.lists(words, min_size=1, max_size=3)
decorated = st.builds(
    lambda word, how: {0: word, 1: f'"{word}"', 2: f"'{word}'", 3: f"\\{word}", 4: f'{word[:1]}""{word[1:]}'}[how],
    words,
    st.sampled_from([0] * 12 + [1, 2, 3, 4]),
)
simple_commands = st.builds(
    lambda env, wrapper, body, gap: f"{env}{wrapper}{gap.join(body)}",
    st.sampled_from([""] * 6 + ["A=1 ", "A=1 B=2 "]),
    st.sampled_from([""] * 6 + ["sudo ", "timeout 5 ", "nohup ", "env "]),
    st.lists(decorated, min_size=1, max_size=4),
    st.sampled_from([" ", " ", " ", "  ", "\t"]),
)
commands = st.builds(
    lambda parts, operators: "".join(
        f"{part}{operator}" for part, operator in zip(parts, [*operators, ""], strict=False)
    ),
    st.lists(simple_commands, min_size=1, max_size=3),
    st.lists(st.sampled_from([" && ", "; ", " | ", "\n", " || ", "&"]), min_size=3, max_size=3),
)


def compiled(imported: Imported) -> Policy:
    return Policy.compile(policy_text(imported, "test"))


def verdict(policy: Policy, tool: str, args: dict[str, Any]) -> str:
    return str(policy.evaluate(Request(tool, args)).verdict)


def subcommands(command: str) -> list[list[str]]:
    """The words of each simple command, without assignments and wrappers."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set(";&|"):
            found.append([])
        else:
            found[-1].append(word)
    for each in found:
        while each and (re.fullmatch("[A-Z]=.*", each[0]) or each[0] in ("sudo", "nohup", "env")):
            del each[0]
        if each[:1] == ["timeout"]:
            del each[:2]
    return [each for each in found if each]


def worst(decisions: Sequence[str]) -> str:
    return min(decisions, key=ORDER.__getitem__)
