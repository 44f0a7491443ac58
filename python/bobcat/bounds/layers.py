"""The verdicts of a policy of layers, from those of its layers.

Each layer bounds its own decisions, on any arguments, so that transforms of the others are covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STRICTNESS = ("allow", "transform", "dry_run", "approve_required", "deny")
"""Verdicts from the loosest to the strictest."""


@dataclass(frozen=True, slots=True)
class LayerBound:
    """The verdicts of one layer: those of its rules, those of its defaults, and whether no rule may fire.

    `limits`: it only makes the combined decision stricter.
    """

    fired: frozenset[str]
    defaults: frozenset[str]
    limits: bool = False

    @property
    def may_abstain(self) -> bool:
        """Return true if there are calls for which no rule fires."""
        return bool(self.defaults)

    @property
    def verdicts(self) -> frozenset[str]:
        """The verdicts of the layer as a policy alone."""
        return self.fired | self.defaults


def combined(layers: Sequence[LayerBound], combine: str) -> frozenset[str]:
    """Return the verdicts that the whole policy can give."""
    deciding = [layer for layer in layers if not layer.limits]
    if combine == "strictest":
        found = _strictest([layer.verdicts for layer in deciding])
    else:
        found = _fired(deciding, combine)
        if all(layer.may_abstain for layer in deciding):
            found |= _strictest([layer.defaults for layer in deciding])
    found = _strictest([found, *(layer.verdicts for layer in layers if layer.limits)])
    return found | _conflicts(layers)


def _fired(layers: Sequence[LayerBound], combine: str) -> frozenset[str]:
    """The verdicts of the layers of which a rule fires; after one that always does, no other decides."""
    if combine == "strict_overrides_loose":
        certain = [layer.fired for layer in layers if not layer.may_abstain]
        least = max((min(map(STRICTNESS.index, fired)) for fired in certain if fired), default=0)
        every = frozenset(verdict for layer in layers for verdict in layer.fired)
        return frozenset(verdict for verdict in every if STRICTNESS.index(verdict) >= least)
    found: frozenset[str] = frozenset()
    for layer in layers if combine == "first" else reversed(layers):
        found |= layer.fired
        if not layer.may_abstain:
            break
    return found


def _strictest(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """The strictest verdicts of all choices of one from each set."""
    given = [found for found in sets if found]
    least = max((min(map(STRICTNESS.index, found)) for found in given), default=0)
    return frozenset(verdict for found in given for verdict in found if STRICTNESS.index(verdict) >= least)


def _conflicts(layers: Sequence[LayerBound]) -> frozenset[str]:
    """The denial of two layers whose approvals or transforms do not fit together."""
    for verdict in ("approve_required", "transform"):
        if sum(verdict in layer.verdicts for layer in layers) > 1:
            return frozenset(("deny",))
    return frozenset()
