"""The difference between two policies: the calls that they decide differently, as regions with one call each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from bobcat.analysis.calls import plain
from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.engine import Data, Effort, Progress, Questions, rule_ref
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.model import CHANGES, ORDER, Diff, Reason, Region, Side, Traffic, Witness
from bobcat.analysis.terms import terms_numbers, terms_regions, terms_text
from bobcat.bundle.model import Policy
from bobcat.model.decision import ActionRequest, Decision

MAX_REGIONS = 10_000
"""Regions of one difference; what is beyond is a reason of the answer."""


class Seen(NamedTuple):
    """Two decisions on a recorded call that differ."""

    tool: str
    old: str
    old_rule: str
    new: str
    new_rule: str


def diff(
    old: PolicyInput,
    new: PolicyInput,
    *,
    traffic: Iterable[ActionRequest] | None = None,
    budget: float | None = None,
    progress: Progress | None = None,
) -> Diff:
    """Return the calls that two policies decide differently, those that the new one permits more first.

    `traffic` are recorded calls, counted by region. `budget` is the limit in seconds. Raises `PolicyCompileError` and
    `BundleError` for a policy that cannot be read.
    """
    policies = policy_of(old), policy_of(new)
    questions = Questions(policies, Effort.within(budget, progress))
    found = compare(questions)
    return found if traffic is None else counted(found, *decided(policies, traffic))


def compare(questions: Questions, old: int = 0, new: int = 1, limit: int = MAX_REGIONS, *, terms: bool = True) -> Diff:
    """Return the difference between two of the policies; without `terms`, of verdicts and arguments only."""
    numbers = terms_numbers(questions.policies[old], questions.policies[new]) if terms else None
    found = questions.ask("compare", old=old, new=new, limit=limit, terms=numbers)
    termed = [item for item in found["regions"] if item["change"] == "terms"]
    regions = tuple(_region(questions, old, new, item) for item in found["regions"] if item["change"] != "terms")
    reasons = questions.reasons(found["unknown"])
    if not found["complete"] and not reasons:
        reasons = (Reason("regions", f"there are more than {limit:,} regions, and the others were not looked for"),)
    other, unknown = terms_regions(questions, old, new, termed) if terms else ((), ())
    in_order = tuple(sorted((*regions, *other), key=_order))
    all_reasons = tuple(dict.fromkeys((*reasons, *unknown)))
    return Diff(in_order, all_reasons, found["complete"] and not in_order and not unknown)


def _order(region: Region) -> tuple[int, bool, int, int]:
    """Return the place of a region: what permits more first, the largest step of verdicts first, terms last."""
    old, new = ORDER.index(region.old.verdict), ORDER.index(region.new.verdict)
    step = (new, -old) if region.change == "tightening" else (-new, old)
    return (CHANGES.index(region.change), bool(region.terms), *step)


def _region(questions: Questions, old: int, new: int, data: Data) -> Region:
    was, now = (
        Side(data[key]["verdict"], rule_ref(questions.policies[number], data[key]["rule"]))
        for key, number in (("old", old), ("new", new))
    )
    given = data["witness"]
    witness = None
    if given is not None:
        both = questions.witness(given, {old: was.verdict, new: now.verdict})
        witness = Witness(both.request, (both.decisions[old], both.decisions[new]))
    return Region(data["tool"], was, now, data["change"], witness, questions.reasons(data.get("reasons", ())))


def counted(found: Diff, seen: Mapping[Seen, int], calls: int) -> Diff:
    """Return a difference with the numbers of recorded calls by region; `calls` are all that were decided."""
    named = {region.tool for region in found.regions if region.tool is not None}
    regions = tuple(replace(region, recorded=_recorded(region, seen, named)) for region in found.regions)
    return replace(found, regions=regions, traffic=Traffic(calls, sum(seen.values())))


def decided(policies: tuple[Policy, Policy], traffic: Iterable[ActionRequest]) -> tuple[Counter[Seen], int]:
    """Decide recorded calls by both policies."""
    old, new = policies
    before, after = map(DecidingRules, policies)
    seen: Counter[Seen] = Counter()
    calls = 0
    for request in traffic:
        calls += 1
        was, now = old.evaluate(request), new.evaluate(request)
        if differ(was, now):
            sides = was.verdict.value, before.of(was), now.verdict.value, after.of(now)
            seen[Seen(request.tool, *sides)] += 1
    return seen, calls


def _recorded(region: Region, seen: Mapping[Seen, int], named: set[str]) -> int:
    sides = (region.old.verdict, region.old.rule.id, region.new.verdict, region.new.rule.id)
    return sum(
        count
        for key, count in seen.items()
        if key[1:] == sides and (key.tool == region.tool if region.tool is not None else key.tool not in named)
    )


def differ(old: Decision, new: Decision) -> bool:
    """Return true if two decisions have different verdicts, arguments of transforms, or terms of a permission."""
    if old.verdict is not new.verdict or terms_text(old, new)[0]:
        return True
    changed = [None if item.transform_args is None else plain(item.transform_args) for item in (old, new)]
    return changed[0] != changed[1]
