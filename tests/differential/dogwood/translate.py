"""Translation of Dogwood's policies into ours: a condition at a decision is unfolded by one step into the past.

A formula holds at a decision if it holds of the proposed call, or of the events before it: `formerly F` is `F` of the
call, or `run.formerly: F`. Where a past event is compared with the proposed call, `ground` stands for the call, and the
translation is for calls like it; without it such a policy has no translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from differential.dogwood.syntax import Node, Point, Rule

ANY_EVENT = {"any_of": [{"call": {}}, {"result": {}}]}
JOINED = "counts and sums over joined events or distinct values"
FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}

Match = Any  # Any: a condition or a formula as YAML has it, or True or False


class Untranslatable(Exception):
    """A construct that our language does not have; the argument names its class."""


class NeedsCall(Untranslatable):
    """A past event is compared with the proposed call."""


class NotThere(Exception):
    """The proposed call lacks a field that the policy reads: the policy does not apply."""


def both(items: Sequence[Match]) -> Match:
    """A conjunction."""
    kept = [item for item in items if item is not True]
    if any(item is False for item in kept):
        return False
    return True if not kept else kept[0] if len(kept) == 1 else {"all_of": kept}


def either(*items: Match) -> Match:
    """A disjunction."""
    kept = [item for item in items if item is not False]
    if any(item is True for item in kept):
        return True
    return False if not kept else kept[0] if len(kept) == 1 else {"any_of": kept}


def negation(item: Match) -> Match:
    return not item if isinstance(item, bool) else {"not": item}


def plain(value: Any) -> Any:
    """A value of a policy or a trace as JSON has it. A decimal has four digits, so that its float is exact enough."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def arguments(point: Point) -> dict[str, Any]:
    """The arguments of a request as a call."""
    around = {"context": point.context, "principal": point.principal, "resource": point.resource}
    return dict(plain({**point.fields, **around}))


def compared(left: Any, op: str, right: Any) -> bool:
    if op in ("eq", "ne"):
        return (type(left) is type(right) and left == right) is (op == "eq")
    return bool({"lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right}[op])


def test(path: str, op: str, value: Any) -> dict[str, Any]:
    return {"not": {f"{path}.eq": value}} if op == "ne" else {f"{path}.{op}": value}


@dataclass
class Translator:
    """Translates for any call, or for calls like `ground`; `read` collects what was read of it."""

    ground: dict[str, Any] | None
    read: dict[str, Any] = field(default_factory=dict)

    def rule(self, rule: Rule) -> Match:
        """The condition under which a rule applies."""
        items: list[Match] = [{"tool.eq": rule.action}] if rule.action else []
        for unless, formula in rule.conditions:
            found = self.now(simplified(formula))
            items.append(negation(found) if unless else found)
        return both([{f"args.{path}.eq": value} for path, value in self.read.items()] + items)

    # --- at the decision ---

    def now(self, formula: Node) -> Match:
        match formula:
            case ("pred", action, kind, fields):
                if kind != "request":
                    return False
                return both([{"tool.eq": action}, *self.fields(fields, kind)])
            case ("cmp", left, op, right):
                return self.comparison(left, op, right)
            case ("not", item):
                return negation(self.now(item))
            case ("and", *items):
                return both([self.now(item) for item in items])
            case ("formerly", window, item):
                return either(self.now(item), self.run("formerly", self.past(item), window))
            case ("previous", window, item):
                return self.run("previous", self.past(item), window)
            case ("since", window, holds, start):
                kept, begun = self.past(holds), self.past(start)
                before: Match = self.run("formerly", begun, window) if kept is True else False
                if not isinstance(kept, bool) and begun is not False:
                    start_at = ANY_EVENT if begun is True else begun
                    before = {"run.since": {"holds": kept, "start": start_at, "within": window}}
                elif kept is False:
                    before = False
                return either(self.now(start), both([self.now(holds), before]))
        raise unknown(formula)

    def run(self, operator: str, item: Match, window: int) -> Match:
        if item is False:
            return False
        inner = ANY_EVENT if item is True else item
        return {f"run.{operator}": {"all_of": [inner], "within": window}}

    def comparison(self, left: Node, op: str, right: Node) -> Match:
        if left[0] == "lit" and right[0] != "lit":
            left, op, right = right, FLIPPED[op], left
        if left[0] == "agg":
            return self.measured(left, op, right)
        if right[0] == "agg":
            return self.measured(right, FLIPPED[op], left)
        if left[0] == "lit":
            return compared(left[1], op, right[1])
        if left[0] == "ctx" and right[0] == "lit":
            self.must_be_there(left)
            return test("args." + ".".join(left[1]), op, plain(right[1]))
        return compared(self.value(left), op, self.value(right))

    def must_be_there(self, term: Node) -> None:
        if self.ground is not None:
            lookup(self.ground, term[1])

    def measured(self, aggregate: Node, op: str, bound: Node) -> Match:
        """A count or a sum, beside a number. Where what else must hold at the decision does not, nothing is counted."""
        _, kind, summed, binders, body = aggregate
        variables = [name for name, _ in binders]
        window, predicate, points, beside = counted(body, variables)
        path = next((path for path, term in predicate[3] if summed and term == ("var", summed)), None)
        if not points or points != [name for name, type_ in binders if type_ == "Timepoint"]:
            raise Untranslatable(JOINED)
        if kind == "sum" and (path is None or window is None):
            raise Untranslatable("sums without a window")
        nothing = compared(0, op, self.value(bound)) if bound[0] == "lit" else None
        holds = both([self.now(item) for item in beside])
        if window is None:
            number, here = int(self.value(bound)), both([self.now(predicate), holds])
            return either(both([here, compared(1, op, number)]), both([negation(here), compared(0, op, number)]))
        if predicate[2] != "request":
            raise Untranslatable("counts and sums of results")
        of = both([{"tool.eq": predicate[1]}, *self.fields(predicate[3], "request")])
        tested = {"eq" if op == "ne" else op: self.bound(bound)}
        options = {"of": of, "within": window, "with_this": tested}
        found: Match = {f"run.{kind}": {**options, "field": ".".join(path)} if kind == "sum" and path else options}
        found = negation(found) if op == "ne" else found
        if holds is True:
            return found
        if nothing is None:
            raise Untranslatable(JOINED)
        return either(both([holds, found]), both([negation(holds), nothing]))

    def bound(self, term: Node) -> Any:
        if term[0] == "ctx":
            self.must_be_there(term)
            return {"ref": "args." + ".".join(term[1])}
        return plain(self.value(term))

    # --- before it ---

    def past(self, formula: Node) -> Match:
        match formula:
            case ("pred", action, kind, fields):
                word = {"request": "call", "response": "result"}.get(kind)
                if word is None:
                    raise Untranslatable("other kinds of events")
                return {word: both([{"tool.eq": action}, *self.fields(fields, kind)])}
            case ("cmp", left, op, right):
                if "agg" in (left[0], right[0]):
                    raise Untranslatable("counts and sums inside of a sequence")
                return compared(self.value(left), op, self.value(right))
            case ("not", item):
                return negation(self.past(item))
            case ("and", *items):
                return both([self.past(item) for item in items])
            case ("formerly" | "previous" as word, window, item):
                inner = self.past(item)
                if inner is False:
                    return False
                return {word: {"all_of": [ANY_EVENT if inner is True else inner]}, "within": window}
            case ("since", window, holds, start):
                kept, begun = self.past(holds), self.past(start)
                if begun is False or kept is False:
                    return begun
                if kept is True:
                    return self.past(("formerly", window, start))
                return {"since": {"holds": kept, "start": ANY_EVENT if begun is True else begun, "within": window}}
        raise unknown(formula)

    # --- fields and values ---

    def fields(self, fields: Sequence[tuple[tuple[str, ...], Node]], kind: str) -> list[Match]:
        found: list[Match] = []
        for path, term in fields:
            if term[0] in ("any", "var"):
                continue
            head = "result" if kind == "response" and path[0] == "output" else "args"
            op, value = (term[1], term[2]) if term[0] == "test" else ("eq", term)
            if value[0] == "lit" and isinstance(value[1], list | dict):
                raise Untranslatable("lists and records as values")
            found.append(test(f"{head}.{'.'.join(path)}", op, plain(self.value(value))))
        return found

    def value(self, term: Node) -> Any:
        """The value of a term, read from the proposed call where it stands for one."""
        if term[0] == "lit":
            return term[1]
        if term[0] not in ("ctx", "scope"):
            raise unknown(term)
        if self.ground is None:
            raise NeedsCall("past events compared with the proposed call")
        found = lookup(self.ground, term[1])
        if isinstance(found, list | dict):
            raise Untranslatable("lists and records as values")
        self.read[".".join(term[1])] = found
        return found


def lookup(ground: dict[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = ground
    if path[0] != "context" and len(path) > 1:
        raise Untranslatable("attributes of entities")
    for name in path:
        if not isinstance(found, dict) or name not in found:
            raise NotThere(path)
        found = found[name]
    return found


def unknown(node: Node) -> Untranslatable:
    if node[0] in ("exists", "var", "tp"):
        return Untranslatable("variables that join events")
    return Untranslatable(f"`{node[0]}`")


def counted(body: Node, variables: Sequence[str]) -> tuple[int | None, Node, list[str], list[Node]]:
    """The window, the one predicate and the time points of what is counted, and what else holds at the decision."""
    bound = [("var", name) for name in variables]
    outer = list(body[1:]) if body[0] == "and" else [body]
    windowed = [
        item for item in outer if item[0] == "formerly" and any(mentions(item, ("tp", name)) for name in variables)
    ]
    window, rest, beside = None, outer, []
    if len(windowed) == 1:
        _, window, inner = windowed[0]
        rest = list(inner[1:]) if inner[0] == "and" else [inner]
        beside = [item for item in outer if item is not windowed[0]]
    if any(mentions(item, name) for item in beside for name in [*bound, *(("tp", name) for name in variables)]):
        raise Untranslatable(JOINED)
    predicates = [item for item in rest if item[0] == "pred"]
    points = [item[1] for item in rest if item[0] == "tp"]
    tests = [item for item in rest if item[0] == "cmp"]
    if len(predicates) != 1 or len(predicates) + len(points) + len(tests) != len(rest):
        raise Untranslatable(JOINED)
    _, action, kind, fields = predicates[0]
    for _, left, op, right in tests:
        if right in bound:
            left, op, right = right, FLIPPED[op], left
        places = [path for path, term in fields if term == left and left in bound]
        if len(places) != 1 or right in bound:
            raise Untranslatable(JOINED)
        fields = (*fields, (places[0], ("test", op, right)))
    used = [term for _, term in fields if term in bound]
    if len(used) != len(set(used)) or any(("var", name) in used for name in points):
        raise Untranslatable(JOINED)
    return window, ("pred", action, kind, fields), points, beside


def simplified(formula: Node) -> Node:
    """Without `exists`, where its variable names a number, or a field of one event that is compared with a value."""
    match formula:
        case ("exists", name, body):
            return simplified(without(name, body))
        case ("and", *items):
            return ("and", *(simplified(item) for item in items))
        case ("not", item):
            return ("not", simplified(item))
        case ("formerly" | "previous" as word, window, item):
            return (word, window, simplified(item))
        case ("since", window, holds, start):
            return ("since", window, simplified(holds), simplified(start))
    return formula


def without(name: str, body: Node) -> Node:
    variable, items = ("var", name), list(body[1:]) if body[0] == "and" else [body]
    for item in items:
        match item:
            case ("cmp", ("agg", *_) as aggregate, "eq", other) if other == variable:
                return replaced([each for each in items if each is not item], variable, aggregate)
    if mentions(body, variable) == 1:
        return body
    tests = [item for item in items if item[0] == "cmp" and variable in (item[1], item[3])]
    others = [item for item in items if item not in tests]
    if len(tests) == 1 and sum(mentions(item, variable) for item in others) == 1 and mentions(tests[0], variable) == 1:
        _, left, op, right = tests[0]
        tested = ("test", op, right) if left == variable else ("test", FLIPPED[op], left)
        return replaced(others, variable, tested)
    raise Untranslatable("variables that join events")


def mentions(node: Any, variable: Node) -> int:
    if node == variable:
        return 1
    return sum(mentions(item, variable) for item in node) if isinstance(node, tuple) else 0


def replaced(items: list[Node], variable: Node, by: Node) -> Node:
    def change(node: Any) -> Any:
        if node == variable:
            return by
        return tuple(change(item) for item in node) if isinstance(node, tuple) else node

    changed = [change(item) for item in items]
    return changed[0] if len(changed) == 1 else ("and", *changed)
