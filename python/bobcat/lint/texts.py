"""The tests of texts that make a rule permit, the kind of text of each, and the candidate texts for it.

The kind depends on the argument's name, the tools of the rule and the text's prefix. A text of an unknown
kind is `other`: lints about commands, paths and URLs skip it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.ir.schema import Const, Expr, Operator
from bobcat.language.operators import ROWS
from bobcat.lint.pattern_syntax import PatternSyntaxError, Tree, is_anchored, parse
from bobcat.lint.subject import LintContext, Path, PlacedLeaf, RuleFacts
from bobcat.lint.values import literal_prefix, text_tree

TextKind = Literal["command", "path", "url", "host", "code", "prose", "other"]

_TEXT_OPERATORS = frozenset(row.name for row in ROWS if row.anchors in ("", "start", "end"))
_THROUGH = frozenset(row.name for row in ROWS if row.nests and row.constrains and not row.excludes)
TEXT_TESTS = _TEXT_OPERATORS | _THROUGH
"""Operators of the leaves that `permitting_texts` reads."""
_NAMES: dict[TextKind, frozenset[str]] = {
    "command": frozenset(
        "cmd command commands commandline command_line cmdline cmd_line shell_command script shell bash argv".split()
    ),
    "path": frozenset(
        "path paths file files filename file_name filepath file_path dir directory folder cwd workdir root destination"
        " dest output_path input_path src dst target_path source_path local_path".split()
    ),
    "url": frozenset("url urls uri href endpoint link webhook webhook_url callback callback_url base_url".split()),
    "host": frozenset("host hostname domain server origin email to cc bcc recipient recipients address".split()),
    "code": frozenset("sql statement stmt code source_code snippet expression javascript js".split()),
    "prose": frozenset(
        "title subject body message text content comment description summary note notes reason prompt question answer"
        " caption commit_message".split()
    ),
}
UNUSUAL = "[!-,:-@\\[-^`{-~]"
"""Punctuation that does not occur in plain names, numbers or paths."""
_UNLISTED: dict[TextKind, tuple[str, ...]] = {
    "command": (r"^find / -delete\z",),
    "path": (r"^/etc/shadow\z",),
    "url": (r"^https://evil\.test/\z",),
}
_DOMAINS = "com org net io dev ai edu gov internal local example test".split()
_NO_PATHS = frozenset(
    "branch ref repo repository image key topic queue channel label labels tag model bucket prefix package job".split()
)
"""Names of arguments that have slashes but are not paths."""
_SHELLS = frozenset(
    "shell bash sh zsh terminal exec run_shell run_command execute_command shell_exec run_bash powershell ssh".split()
)
_PROGRAMS = frozenset(
    "git kubectl docker helm terraform npm npx pip cargo make ls cat grep find echo python node aws gcloud az curl wget"
    " psql systemctl journalctl ps df du head tail wc pytest go yarn pnpm rm cp mv".split()
)


@dataclass(frozen=True, slots=True)
class TextTest:
    """One test of a text that makes a rule permit, in that rule or in one of higher rank that denies other texts.

    `owner` is the rule that contains it; `listed`: the texts are elements of a list.
    """

    owner: RuleFacts
    item: PlacedLeaf
    op: Operator
    operand: Const
    listed: bool

    @property
    def tree(self) -> Tree | None:
        """Return the test as a pattern; None if it has no pattern form."""
        try:
            return text_tree(self.op, self.operand)
        except PatternSyntaxError:
            return None

    @property
    def unanchored(self) -> bool:
        """Return true if it is a pattern that W0106 reports."""
        return self.op == "matches" and not is_anchored(self.operand)

    @property
    def deep_glob(self) -> bool:
        """Return true if it is the pattern of a glob with a directory before its `**`."""
        text = self.operand
        return self.op == "matches" and text.startswith("(?s)^") and any("/" in prefix for prefix in self.prefixes)

    @property
    def prefixes(self) -> list[str]:
        """Return the fixed prefixes of texts that pass, one for each alternative of `starts_with`."""
        if self.op == "starts_with":
            items = self.operand if isinstance(self.operand, list) else [self.operand]
            return [item for item in items if isinstance(item, str)]
        if self.op == "matches" and is_anchored(self.operand):
            return [literal_prefix(parse(self.operand))[0]]
        return []


def permitting_texts(subject: LintContext, facts: RuleFacts) -> Iterator[TextTest]:
    """Yield the tests that the texts among the arguments of a permitted call have passed."""
    own = [(facts, item) for item in facts.leaves if item.positive]
    for owner, item in (*own, *subject.required(facts)):
        if item.leaf.head == "args":
            yield from _texts(owner, item, (item.leaf.op, item.leaf.operand), listed=False)


def _texts(owner: RuleFacts, item: PlacedLeaf, test: tuple[Operator, Const], *, listed: bool) -> Iterator[TextTest]:
    op, operand = test
    if op in _TEXT_OPERATORS:
        yield TextTest(owner, item, op, operand, listed)
    elif op in _THROUGH:
        for inner in operand["tests"]:
            yield from _texts(owner, item, (inner["op"], inner["operand"]), listed=listed or op != "lower")


def kind_of(facts: RuleFacts, test: TextTest) -> TextKind:
    """Return the kind of text that a test is about."""
    prefixes = test.prefixes
    if any(prefix.startswith("file://") for prefix in prefixes):
        return "path"
    if any(re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", prefix) for prefix in prefixes) or "://" in str(test.operand):
        return "url"
    kind = kind_by_name(facts, test.item.path)
    if kind != "other":
        return kind
    if any(prefix.split(" ")[0] in _PROGRAMS and " " in prefix for prefix in prefixes):
        return "command"
    name = test.item.path[-1].lower()
    if test.deep_glob and name not in _NO_PATHS:
        return "path"
    if any(re.match(r"/[\w.-]|\.{1,2}/|~/", prefix) for prefix in prefixes):
        return "path"
    return "host" if test.op == "matches" and _names_domain(test.operand) else "other"


def _names_domain(pattern: str) -> bool:
    """Return true if a pattern ends with a top-level domain."""
    text = re.sub(r"\\(.)", r"\1", pattern)
    return re.search(rf"[a-z0-9-]\.(?:{'|'.join(_DOMAINS)})(?![\w-])", text) is not None


def kind_by_name(facts: RuleFacts, path: Path) -> TextKind:
    """Return the kind of text at a path, from its name and the tools of a rule."""
    name = path[-1].lower()
    for kind, names in _NAMES.items():
        if name in names:
            return kind
    return "command" if runs_commands(facts) else "other"


def is_command(path: Path) -> bool:
    """Return true if the name of an argument indicates a command line."""
    return path[-1].lower() in _NAMES["command"]


def runs_commands(facts: RuleFacts) -> bool:
    """Return true if one of the tools of a rule is a shell by its name."""
    return bool(_SHELLS & set(facts.tools))


def unlisted_texts(facts: RuleFacts, path: Path) -> tuple[str, ...]:
    """Return patterns for texts that no allow list would contain, the plainest first."""
    return (*_UNLISTED.get(kind_by_name(facts, path), ()), UNUSUAL)


def about(path: Path, pattern: str, *, listed: bool = False) -> Expr:
    """Return the condition that the text at a path, or one in the list there, matches a pattern."""
    test = construct.check("matches", pattern, "re2")
    if listed:
        return construct.leaf(_head(path), path[1:], "any", construct.checks([test]))
    return construct.leaf(_head(path), path[1:], "matches", pattern, "re2")


def first_call(subject: LintContext, facts: RuleFacts, test: TextTest, patterns: Iterable[str]) -> str | None:
    """Return the sentence that shows a call which a rule permits because of a test, with a text that matches one of
    some patterns; None without one.
    """
    goals = (about(test.item.path, pattern, listed=test.listed) for pattern in patterns)
    calls = (subject.example(facts, test.item.leaf, goal) for goal in goals)
    return next((call for call in calls if call is not None), None)


def find_open_texts(
    subject: LintContext, code: str, patterns: Callable[[RuleFacts, TextTest], tuple[str, ...]]
) -> Findings:
    """Find the tests that accept a text matching one of their `patterns`, once for each argument of a rule.

    Tests that W0106 reports are omitted.
    """
    for facts in subject.searched(TEXT_TESTS):
        seen: set[Path] = set()
        for test in permitting_texts(subject, facts):
            path = test.item.path
            if path in seen or test.unanchored:
                continue
            call = first_call(subject, facts, test, patterns(facts, test))
            if call is not None:
                seen.add(path)
                yield subject.at_leaf(code, facts, test.item, owner=test.owner, call=call)


def _head(path: Path) -> Literal["tool", "args", "declared", "context"]:
    head = path[0]
    assert head in ("tool", "args", "declared", "context")
    return head  # type: ignore[return-value]  # checked above
