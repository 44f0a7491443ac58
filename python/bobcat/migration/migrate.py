"""Migration of one policy: the edits that provably keep its meaning, and a report of the rest.

INVARIANT: in the profile that the policy is written for, the text that is returned compiles to the digest of the text
that was given, but for ids and reasons that were numbers and become texts. An edit without this property, or one that
leaves its finding, is not made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from bobcat.diagnostics.model import Diagnostic
from bobcat.diagnostics.render import render_text
from bobcat.doctor.examine import Examination, examine
from bobcat.errors import PolicyCompileError
from bobcat.formatting.line_ends import as_in, with_lf
from bobcat.formatting.tree import Unformattable, Value, read_tree
from bobcat.frontend.files import Inputs
from bobcat.frontend.profiles import lower
from bobcat.ir.canonical import digest, encode
from bobcat.ir.schema import IrPolicy, IrRule, Profile
from bobcat.lint.observed import reported
from bobcat.migration.candidates import Edit, candidates

MAX_ROUNDS = 10
"""Passes over the findings of a policy: an edit can reveal others."""
OLDER = {"strict": ("W0110",), "lynx": ("W0206",)}
"""Warnings that a spelling with the same meaning resolves."""


@dataclass(frozen=True, slots=True)
class Change:
    """One edit that was made, the finding that it resolves, and the texts before and after it."""

    finding: Diagnostic
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Migration:
    """The result for one policy. `left` has the findings that no edit resolves.

    `examination` compares the new text in both profiles; None for a policy of the strict profile.
    """

    text: str
    changes: tuple[Change, ...]
    left: tuple[Diagnostic, ...]
    examination: Examination | None

    @property
    def complete(self) -> bool:
        """Return true if the text is a policy of the strict profile that decides as before, as far as calls show."""
        return not self.left and (self.examination is None or self.examination.clean)


def migrate(text: str, file: str, profile: Profile, inputs: Inputs) -> Migration:
    """Migrate a policy that is written for a profile. Raises `PolicyCompileError` if it does not compile there."""
    lowered = lower(text, file, profile, (), inputs)
    if lowered.policy is None:
        raise PolicyCompileError(render_text(lowered.errors, {file: text}), lowered.errors)
    given, text = text, with_lf(text)
    work = _Work(file, profile, inputs, _meaning(lowered.policy))
    changes: list[Change] = []
    for _ in range(MAX_ROUNDS):
        text, made = work.round(text)
        changes += made
        if not made:
            break
    left = tuple(work.findings(text))
    examination = examine(text, file) if profile == "lynx" else None
    return Migration(as_in(given, text) if changes else given, tuple(changes), left, examination)


@dataclass(frozen=True, slots=True)
class _Work:
    file: str
    profile: Profile
    inputs: Inputs
    meaning: bytes

    def findings(self, text: str) -> list[Diagnostic]:
        """Return the findings that a migration resolves, in order of the source."""
        lowered = lower(text, self.file, self.profile, (), self.inputs)
        older = [
            item
            for item in reported(lowered.findings)
            if item.code in OLDER[self.profile] and (item.span is None or item.span.file == self.file)
        ]
        if self.profile == "strict":
            return older
        strict = lower(text, self.file, "strict", (), self.inputs).errors
        return sorted([*strict, *older], key=lambda item: (item.span.line, item.span.column) if item.span else (0, 0))

    def round(self, text: str) -> tuple[str, list[Change]]:
        """Resolve what can be resolved, from the end of the text to its start, so that positions stay valid."""
        made: list[Change] = []
        known = self.findings(text)
        for finding in reversed(known):
            root = _tree(text)
            for edit in candidates(finding, text, root) if root is not None else ():
                result = edit.apply(text)
                after = self.findings(result) if self._same(result) else known
                if _resolves(finding, known, after):
                    made.append(Change(finding, *_lines(text, result, edit)))
                    text, known = result, after
                    break
        return text, made[::-1]

    def _same(self, text: str) -> bool:
        policy = lower(text, self.file, self.profile, (), self.inputs).policy
        return policy is not None and _meaning(policy) == self.meaning


def _resolves(finding: Diagnostic, before: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> bool:
    """Return true if a finding is gone and there are fewer, or others that it hid."""
    old, new = (Counter((item.code, item.message) for item in found) for found in (before, after))
    own = (finding.code, finding.message)
    hidden = finding.code.startswith("E01")  # errors of YAML hide all others
    return new[own] < old[own] and (hidden or new.total() <= old.total())


def _meaning(policy: IrPolicy) -> bytes:
    rules = [
        msgspec.structs.replace(rule, id=str(rule.id), reason=str(rule.reason)) if isinstance(rule, IrRule) else rule
        for rule in policy.rules
    ]
    return digest(encode(msgspec.structs.replace(policy, rules=tuple(rules))))


def _tree(text: str) -> Value | None:
    try:
        return read_tree(text)[0]
    except Unformattable:
        return None


def _lines(before: str, after: str, edit: Edit) -> tuple[str, str]:
    """Return the lines that an edit changes, as they were and as they are."""
    start = before.rfind("\n", 0, edit.start) + 1
    end = before.find("\n", edit.end)
    end = len(before) if end < 0 else end
    grown = len(after) - len(before)
    return before[start:end].strip(), after[start : end + grown].strip()
