"""Combiners of a layered policy: from the decisions of the layers, None of a layer that abstains, to one decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from bobcat.lynx.v2_11.core.types import Decision, Obligation
from bobcat.model.decision import Verdict
from bobcat.text.json_text import loose_json_text

Answers: TypeAlias = tuple[tuple[str, Decision | None], ...]
"""The name and the decision of each layer, in order."""
Combiner: TypeAlias = Callable[[Answers], Decision]
"""Function from the answers of the layers, of which one decides at least, to the decision."""

STRICTNESS = (Verdict.ALLOW, Verdict.TRANSFORM, Verdict.DRY_RUN, Verdict.APPROVE_REQUIRED, Verdict.DENY)
"""The verdicts, the strictest one last."""


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the strictest verdict. Raises `ValueError` for none."""
    return max(verdicts, key=STRICTNESS.index)


def strict_overrides_loose(layers: Answers) -> Decision:
    """The strictest verdict decides: the first decision with it, with the rules and obligations of all that have it."""
    decided = _decided(layers)
    verdict = strictest(each.verdict for each in decided)
    agreeing = [each for each in decided if each.verdict == verdict]
    names = tuple(name for each in agreeing for name in each.matched_rules)
    return replace(agreeing[0], matched_rules=names, obligations=_united(agreeing))


def last_layer_wins(layers: Answers) -> Decision:
    """The last layer that does not abstain decides, also against a denial of an earlier one."""
    return _decided(layers)[-1]


def first_layer_wins(layers: Answers) -> Decision:
    """The first layer that does not abstain decides."""
    return _decided(layers)[0]


def _decided(layers: Answers) -> list[Decision]:
    return [found for _, found in layers if found is not None]


def _united(decisions: Sequence[Decision]) -> tuple[Obligation, ...]:
    """Return the obligations of all decisions; equal ones once, at the first place."""
    found: dict[str, Obligation] = {}
    for decision in decisions:
        for each in decision.obligations:
            found.setdefault(loose_json_text([each.id, each.phase, dict(each.params)]), each)
    return tuple(found.values())
