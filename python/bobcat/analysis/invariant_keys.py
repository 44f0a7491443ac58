"""The keys of files of invariants, with the words that people write for them, for the reader and the JSON Schema."""

from __future__ import annotations

from bobcat.frontend.suggest import synonyms

DOCUMENT = ("predicates", "invariants")
CLAIMS = ("never", "only_if", "always", "within")
INVARIANT = ("id", "reason", *CLAIMS, "verdicts")
ONLY_IF = ("match", "when")
ALWAYS = ("match", "verdict")

SYNONYMS = synonyms(
    {
        "invariants": "rules properties claims assertions",
        "id": "name title",
        "reason": "description why message",
        "never": "deny forbid not_allowed",
        "only_if": "only onlyif only_when requires",
        "always": "must ensure",
        "within": "envelope subset_of inside",
        "verdicts": "verdict decisions decision",
        "match": "calls if",
        "when": "if condition then",
        "verdict": "decision verdicts outcome",
    }
)
