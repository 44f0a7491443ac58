"""Slow combination of layers: each layer decides alone, by a policy of its own, and its decision is combined here.

It shares no code with `rust/core/src/eval/layers.rs`; both follow `docs/reference/layers.md`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bobcat.bundle.model import Policy
from bobcat.model.decision import ActionRequest, Decision

LADDER = ["allow", "transform", "dry_run", "approve_required", "deny"]


class LayerOf(NamedTuple):
    """A layer: its name, its policy, and true if it is limits."""

    name: str
    policy: Policy
    limits: bool = False


class Opinion(NamedTuple):
    """The decision of one layer, with the names of its rules."""

    layer: LayerOf
    decision: Decision

    @property
    def abstains(self) -> bool:
        return self.decision.matched_rules[-1].startswith("<default:")


def decide(layers: Sequence[LayerOf], combine: str, request: ActionRequest) -> Decision:
    """Return the decision that `docs/reference/layers.md` defines."""
    ordinary = [layer for layer in layers if not layer.limits]
    chooses = combine in ("first", "last")
    stages: list[list[LayerOf]] = [ordinary] if chooses else []
    stages += [[layer] for layer in layers if layer.limits or not chooses]
    found: list[Opinion] = []
    markers: list[str] = []
    steps: list[str] = []
    current, rewriter = request, None
    for place, stage in enumerate(stages):
        opinion = _ask(stage, combine, current, markers)
        if opinion is None:
            continue
        found.append(opinion)
        steps += _named(opinion, _steps(opinion))
        if opinion.decision.verdict == "deny":
            return _finish(found, markers, steps, None)
        if opinion.decision.transform_args is not None:
            current, rewriter = _rewritten(current, opinion.decision), place
    for stage in stages[:rewriter] if rewriter is not None else []:
        opinion = _ask(stage, combine, current, markers)
        if opinion is None:
            continue
        found.append(opinion)
        if opinion.decision.verdict == "deny":
            return _finish(found, markers, steps, None)
        if opinion.decision.transform_args is not None and not _same(opinion.decision.transform_args, current.args):
            return _conflict(opinion.layer, stages[rewriter][0], "rewrite the arguments differently")
    if all(opinion.layer.limits for opinion in found):
        for layer in ordinary:
            decision = layer.policy.evaluate(request)
            default = dataclasses.replace(decision, **_default_of(layer.policy, request))
            if all(_rank(default) > _rank(other.decision) for other in found):
                found = [Opinion(layer, default)]
    return _finish(found, markers, steps, None if rewriter is None else current)


def _ask(stage: Sequence[LayerOf], combine: str, request: ActionRequest, markers: list[str]) -> Opinion | None:
    """Return the opinion of one layer, or of the chosen one of several."""
    chosen: Opinion | None = None
    for layer in stage:
        opinion = Opinion(layer, layer.policy.evaluate(request))
        markers += _named(opinion, _markers(opinion.decision))
        if opinion.abstains and not layer.limits and combine != "strictest":
            continue
        chosen = opinion
        if combine == "first":
            break
    return chosen


def _finish(found: list[Opinion], markers: list[str], steps: list[str], last: ActionRequest | None) -> Decision:
    strictest = max(map(_rank, (opinion.decision for opinion in found)))
    equal = [opinion for opinion in found if _rank(opinion.decision) == strictest]
    best = next((opinion for opinion in equal if not opinion.abstains), equal[0])
    decision = best.decision
    names = _named(best, _deciding(decision))
    if decision.verdict == "approve_required":
        unique: dict[tuple[str, str], Opinion] = {}
        for opinion in equal:
            unique.setdefault((opinion.layer.name, opinion.decision.matched_rules[-1]), opinion)
        every = sorted(unique.values(), key=lambda opinion: _place(found, opinion))
        joint = _approvals([opinion.decision for opinion in every])
        if len(every) > 1:
            names = [name for opinion in every for name in _named(opinion, _deciding(opinion.decision))]
            if joint is None:
                return Decision("deny", "approvals", ("<layer_conflict>",))
            timeouts = [one.decision.timeout_seconds for one in every if one.decision.timeout_seconds is not None]
            decision = dataclasses.replace(
                decision,
                approvers=joint[0],
                approvals_needed=joint[1],
                timeout_seconds=min(timeouts, default=None),
            )
    own = set(names)
    rules = (*dict.fromkeys(markers), *(name for name in steps if name not in own), *names)
    args = None if last is None or decision.verdict == "deny" else last.args
    return dataclasses.replace(decision, matched_rules=rules, transform_args=args)


def _place(found: list[Opinion], opinion: Opinion) -> int:
    return next(at for at, other in enumerate(found) if other.layer.name == opinion.layer.name)


def _approvals(decisions: Iterable[Decision]) -> tuple[tuple[str, ...], int] | None:
    """Return approvers and a number of which every choice satisfies each decision, as the page chooses them."""
    joint: tuple[tuple[str, ...], int] | None = None
    for decision in decisions:
        own = (tuple(dict.fromkeys(decision.approvers)), decision.approvals_needed)
        joint = own if joint is None else _both(joint, own)
        if joint is None:
            return None
    return joint


def _both(left: tuple[tuple[str, ...], int], right: tuple[tuple[str, ...], int]) -> tuple[tuple[str, ...], int] | None:
    most = max(left[1], right[1])
    if not left[0] and not right[0]:
        return (), most
    if not left[0] or not right[0]:
        names = left[0] or right[0]
        return (names, most) if len(names) >= most else None
    shared = tuple(name for name in left[0] if name in right[0])
    if len(shared) >= most:
        return shared, most
    everyone = (*left[0], *(name for name in right[0] if name not in left[0]))

    def passes(chosen: tuple[str, ...], one: tuple[tuple[str, ...], int]) -> bool:
        return sum(name in one[0] for name in chosen) >= one[1]

    for needed in range(1, len(everyone) + 1):
        choices = itertools.combinations(everyone, needed)
        if all(passes(chosen, left) and passes(chosen, right) for chosen in choices):
            return everyone, needed
    return None


def _conflict(first: LayerOf, second: LayerOf, text: str) -> Decision:
    reason = f"layers `{first.name}` and `{second.name}` {text}; denied"
    return Decision("deny", reason, (f"<layer_conflict:{first.name}:{second.name}>",))


def _default_of(policy: Policy, request: ActionRequest) -> dict[str, Any]:
    """Return the default decision of a policy, whatever its rules say."""
    empty = Policy.compile({"defaults": {
        "on_no_match": str(policy.defaults.on_no_match), "on_missing_shadow": str(policy.defaults.on_missing_shadow),
    }, "rules": []})  # fmt: skip
    decision = empty.evaluate(request)
    return {field.name: getattr(decision, field.name) for field in dataclasses.fields(decision)}


def _rank(decision: Decision) -> int:
    return LADDER.index(str(decision.verdict))


def _markers(decision: Decision) -> list[str]:
    return [name for name in decision.matched_rules[:-1] if name.startswith("<rule_error:")]


def _deciding(decision: Decision) -> list[str]:
    return [decision.matched_rules[-1]]


def _steps(opinion: Opinion) -> list[str]:
    """Return the names of the transforms that were made."""
    made = {rule.id for rule in opinion.layer.policy.rules if rule.verdict == "transform"}
    return [name for name in opinion.decision.matched_rules if name in made]


def _named(opinion: Opinion, names: Iterable[str]) -> list[str]:
    prefix = f"{opinion.layer.name}:"
    return [
        name.replace("<rule_error:", f"<rule_error:{prefix}", 1) if name.startswith("<rule_error:") else prefix + name
        for name in names
    ]


def _rewritten(request: ActionRequest, decision: Decision) -> ActionRequest:
    assert decision.transform_args is not None
    return dataclasses.replace(request, args=decision.transform_args)


def _same(left: object, right: object) -> bool:
    return _text(left) == _text(right)


def _text(value: Any) -> str:
    def plain(value: Any) -> Any:
        if hasattr(value, "items"):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    return json.dumps(plain(value), sort_keys=True)
