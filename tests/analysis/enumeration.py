"""The questions of the analysis, answered by deciding every request of a small domain: the slow oracle.

It shares no code with `rust/core/src/analysis`, and has the interface of `_core.Analysis`. Its "none" holds for the
domain only: compare answers on the same domain, in one direction where the engine knows more calls.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bobcat import Policy
from bobcat.ir.schema import HostRule, IrRule
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_data

ORDER = ("deny", "approve_required", "dry_run", "transform", "allow")
MISSING = object()
"""A value of a domain that stands for an absent path."""

Data = dict[str, Any]
Key = tuple[str, str, int | None, str, int | None]


def requests(domain: Mapping[str, Sequence[Any]]) -> Iterator[Data]:
    """Yield every request of a domain: values by path, such as `tool` and `args.path`."""
    for values in itertools.product(*domain.values()):
        found: Data = {}
        for path, value in zip(domain, values, strict=True):
            if value is not MISSING:
                here = found
                *steps, last = path.split(".")
                for step in steps:
                    here = here.setdefault(step, {})
                here[last] = value
        yield found


class Enumeration:
    """The questions about some policies on the requests of a domain."""

    def __init__(self, policies: Sequence[Policy], domain: Iterable[Data]) -> None:
        self.policies = list(policies)
        self._data = list(domain)
        self._requests = [request_from_data(item) for item in self._data]
        self._decisions = [[policy.evaluate(request) for policy in policies] for request in self._requests]

    def ask(self, question: bytes, on_progress: Callable[[int, int, str], bool] | None = None) -> bytes:
        """Answer a question in JSON."""
        asked = json.loads(question)
        match asked["ask"]:
            case "find":
                found = self.find(asked["where"])
            case "compare":
                found = self.compare(asked["old"], asked["new"])
            case "rules":
                found = self.rules(asked["policy"])
            case "tools":
                found = self.tools()
            case other:
                raise ValueError(f"no question {other}")
        return json.dumps(found).encode()

    def each(self) -> Iterator[tuple[Data, ActionRequest, list[Decision]]]:
        """Yield the requests, as data too, with the decision of each policy."""
        return zip(self._data, self._requests, self._decisions, strict=True)

    def find(self, where: Sequence[Data]) -> Data:
        """Return the first request that satisfies all constraints."""
        for data, request, decisions in self.each():
            if all(self._satisfies(item, request, decisions) for item in where):
                return {"answer": "witness", "witness": data, "decisions": [_decided(item) for item in decisions]}
        return {"answer": "none"}

    def _satisfies(self, constraint: Data, request: ActionRequest, decisions: list[Decision]) -> bool:
        if "verdicts" in constraint:
            return decisions[constraint["policy"]].verdict.value in constraint["verdicts"]
        if "rules" in constraint:
            number = constraint["policy"]
            return deciding_index(self.policies[number], decisions[number]) in constraint["rules"]
        if "match" in constraint:
            return outcome(self.policies[constraint["match"]], request) in constraint["is"]
        return bool(request.tool == constraint["tool"])

    def regions(self, old: int, new: int) -> dict[Key, Data]:
        """Return the first request of each pair of verdicts and rules that differ, by tool."""
        found: dict[Key, Data] = {}
        for data, request, decisions in self.each():
            was, now = decisions[old], decisions[new]
            same_arguments = was.transform_args == now.transform_args
            if was.verdict is not now.verdict or (was.verdict.value == "transform" and not same_arguments):
                rules = deciding_index(self.policies[old], was), deciding_index(self.policies[new], now)
                found.setdefault((request.tool, was.verdict.value, rules[0], now.verdict.value, rules[1]), data)
        return found

    def compare(self, old: int, new: int) -> Data:
        """Return the regions in the form of the core."""
        regions = []
        for (tool, was, first, now, second), data in self.regions(old, new).items():
            change = direction(was, now)
            sides = {"old": {"verdict": was, "rule": first}, "new": {"verdict": now, "rule": second}}
            regions.append({"tool": tool, **sides, "change": change, "witness": data, "reasons": []})
        regions.sort(key=lambda item: item["change"] != "loosening")
        return {"regions": regions, "unknown": [], "complete": True, "same": not regions}

    def rules(self, number: int) -> Data:
        """Return for each rule a request that it decides, and one that its match takes."""
        policy = self.policies[number]
        decides: dict[int | None, Data] = {}
        matches: dict[int, Data] = {}
        for data, request, decisions in self.each():
            decides.setdefault(deciding_index(policy, decisions[number]), data)
            for index, rule in enumerate(policy.ir.rules):
                if isinstance(rule, IrRule) and index not in matches and matched(policy, index, request):
                    matches[index] = data
        rows: list[Data] = []
        for index in range(len(policy.ir.rules)):
            answers = {name: "witness" if index in found else "none"
                       for name, found in (("decides", decides), ("matches", matches))}  # fmt: skip
            witness = decides.get(index)
            rows.append({"index": index, **answers, "witness": witness, "culprits": [], "reasons": [], "clauses": []})
        return {"rules": rows}

    def tools(self) -> Data:
        """Return the verdicts of each tool of the domain."""
        by_tool: dict[str, list[Data]] = {}
        for data, request, decisions in self.each():
            own = by_tool.setdefault(request.tool, [{"verdicts": {}, "witnesses": {}, "rules": {}} for _ in decisions])
            for policy, decision, entry in zip(self.policies, decisions, own, strict=True):
                verdict = decision.verdict.value
                entry["verdicts"][verdict] = "witness"
                entry["witnesses"].setdefault(verdict, data)
                rules = entry["rules"].setdefault(verdict, [])
                index = deciding_index(policy, decision)
                if index not in rules:
                    rules.append(index)
        for own in by_tool.values():
            for entry in own:
                for verdict in ORDER:
                    entry["verdicts"].setdefault(verdict, "none")
        return {"tools": [{"tool": tool, "policies": own} for tool, own in by_tool.items()]}


def direction(old: str, new: str) -> str:
    """Return the direction of a change of verdicts."""
    if old == new:
        return "arguments"
    return "loosening" if ORDER.index(new) > ORDER.index(old) else "tightening"


def deciding_index(policy: Policy, decision: Decision) -> int | None:
    """Return the index of the rule that decided, also by its error; None for a default."""
    name = str(decision.matched_rules[-1])
    if name.startswith("<rule_error:"):
        name = name.removeprefix("<rule_error:").rpartition(":")[0]
    for index, rule in enumerate(policy.ir.rules):
        if (rule.id if isinstance(rule, IrRule) else rule.name) == name:
            return index
    return None


def outcome(policy: Policy, request: ActionRequest) -> str:
    """Return the outcome of the match of the first rule."""
    clause = policy.explain(request).rules[0].clause
    assert clause is not None
    return clause.outcome


def matched(policy: Policy, index: int, request: ActionRequest) -> bool:
    """Return true if the match of a rule alone is true."""
    import msgspec

    rule = policy.ir.rules[index]
    assert not isinstance(rule, HostRule)
    alone = Policy.from_policy(msgspec.structs.replace(policy.ir, rules=(rule,), layers=msgspec.UNSET))
    return outcome(alone, request) == "true"


def _decided(decision: Decision) -> Data:
    return {"verdict": decision.verdict.value, "rules": [str(name) for name in decision.matched_rules]}
