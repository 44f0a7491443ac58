"""The engines behind one face: each prepared with a workload, deciding one request per call.

Every side answers a call with the prebuilt `bobcat.Decision` of the rule that decides it, so that what is compared is
finding the rule. Where an engine has no notion of rules about a tool, the tool is looked up in a dict first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_json
from corpora.mixed import JsonObject, Workload
from engines.by_hand import Answers, comparison
from engines.rules import Filed, Language, chain, file_rules, quoted
from peers import bobcat_side, lynx_side

Decide = Callable[[Any], Decision]  # Any: each engine takes requests in its own form
CHUNK = 20
"""The number of conditions nested in one expression: the parsers of CEL and ZEN have a limit on depth."""


@dataclass(frozen=True, slots=True)
class Side:
    """An engine with a workload in it."""

    name: str
    decide: Decide
    requests: Sequence[Any]  # Any: as above

    def run(self, count: int) -> None:
        """Decide the first `count` requests once."""
        decide = self.decide
        for request in self.requests[:count]:
            decide(request)


def bobcat_engine(work: Workload) -> Side:
    """Bobcat, as its users call it."""
    side = bobcat_side(work)
    return Side("Bobcat", side.bundle.evaluate, side.requests)


def lynx_engine(work: Workload) -> Side:
    """lynx-agent, as its users call it."""
    side = lynx_side(work)
    evaluate, bundle = side.evaluate, side.bundle
    return Side("lynx-agent", lambda request: evaluate(bundle, request), side.requests)


# --- Python by hand ---


def python_engine(work: Workload) -> Side:
    """Hand-written code of an expert: a function per tool, found in a dict, with compiled patterns and frozen sets."""
    constants: dict[str, object] = {}

    def leaf(path: str, operator: str, operand: Any) -> str:  # Any: JSON
        return comparison(path.rpartition(".")[2], operator, operand, constants)

    filed = file_rules(work.policy["rules"], Language("and", "or", "not ", leaf))
    answers = Answers(work.policy)
    blocked = {work.policy["rules"][number]["match"]["context.principal.id"]: number for number, _ in filed.everywhere}
    functions = {tool: _compiled(rules, constants) for tool, rules in filed.by_tool.items()}
    of_rule, default, last = answers.of_rule, answers.default, len(answers.of_rule)

    def decide(request: ActionRequest) -> Decision:
        function = functions.get(request.tool)
        number = last if function is None else function(request)
        principal = request.context.principal
        if principal.kind == "service":
            number = min(number, blocked.get(principal.id, last))
        return of_rule[number] if number < last else default(request)

    for function in functions.values():
        function.__globals__["LAST"] = last
    return Side("Python by hand", decide, [request_from_json(call) for call in work.requests])


_SOURCES = {"environment": "request.context.environment", "reversible": "request.declared.reversible"}


def _compiled(rules: list[tuple[int, str]], constants: dict[str, object]) -> Any:  # Any: a function made by exec
    text = " ".join(condition for _, condition in rules)
    names = dict.fromkeys(re.findall(r"\b(?!C\d)[a-z]\w*\b", re.sub(r"'[^']*'", "", text)))
    lines = ["def decide(request):", "    args = request.args"]
    lines += [
        f"    {name} = {_SOURCES.get(name, f'args[{name!r}]')}"
        for name in names
        if name not in ("and", "or", "not", "in")
    ]
    for number, condition in rules:
        lines += [f"    if {condition}:", f"        return {number}"]
    lines.append("    return LAST")
    namespace: dict[str, Any] = dict(constants)  # Any: as above
    exec("\n".join(lines), namespace)
    return namespace["decide"]


# --- expression languages ---


def cel_engine(work: Workload) -> Side:
    """Common Expression Language: conditions nested by tool, compiled once."""
    import cel

    def leaf(path: str, operator: str, operand: Any) -> str:  # Any: JSON
        match operator:
            case "eq":
                return f"{path} == {quoted(operand)}"
            case "in":
                return f"{path} in {quoted(operand)}"
            case "matches":
                return f"{path}.matches({quoted(operand)})"
            case "contains":
                return f"{path}.contains({quoted(operand)})"
            case "contains_any":
                return f"{path}.exists(item, item in {quoted(operand)})"
            case "gt":
                return f"{path} > {quoted(operand)}"
            case "between":
                return f"{path} >= {quoted(operand[0])} && {path} <= {quoted(operand[1])}"
        raise ValueError(operator)

    filed = file_rules(work.policy["rules"], Language("&&", "||", "!", leaf))
    return _expressions("CEL", work, filed, lambda text: cel.compile(text).execute)


def zen_engine(work: Workload) -> Side:
    """ZEN, the expression language of GoRules: conditions nested by tool, compiled once."""
    import zen

    def leaf(path: str, operator: str, operand: Any) -> str:  # Any: JSON
        match operator:
            case "eq":
                return f"{path} == {quoted(operand)}"
            case "in":
                return f"{path} in {quoted(operand)}"
            case "matches":
                return f"matches({path}, '{operand}')"
            case "contains":
                return f"contains({path}, {quoted(operand)})"
            case "contains_any":
                return f"some({path}, # in {quoted(operand)})"
            case "gt":
                return f"{path} > {quoted(operand)}"
            case "between":
                return f"{path} in [{quoted(operand[0])}..{quoted(operand[1])}]"
        raise ValueError(operator)

    filed = file_rules(work.policy["rules"], Language("and", "or", "not ", leaf))
    return _expressions("ZEN", work, filed, lambda text: zen.compile_expression(text).evaluate)


def _expressions(name: str, work: Workload, filed: Filed, compiled: Callable[[str], Callable[[Any], Any]]) -> Side:
    """A side of compiled expressions: those of the call's tool, then those about every tool; the first rule wins."""

    def programs(rules: list[tuple[int, str]]) -> list[Callable[[Any], Any]]:
        return [compiled(chain(rules[start : start + CHUNK])) for start in range(0, len(rules), CHUNK)]

    by_tool = {tool: programs(rules) for tool, rules in filed.by_tool.items()}
    everywhere = programs(filed.everywhere)
    answers = Answers(work.policy)
    of_rule, default = answers.of_rule, answers.default
    last = len(of_rule)

    def first(which: Sequence[Callable[[Any], Any]], data: JsonObject) -> int:
        for program in which:
            number = program(data)
            if number >= 0:
                return int(number)
        return last

    def decide(call: tuple[ActionRequest, JsonObject]) -> Decision:
        request, data = call
        number = min(first(by_tool.get(request.tool, ()), data), first(everywhere, data))
        return of_rule[number] if number < last else default(request)

    # What the expressions read, as the mappings that the engines take; made once, like the requests of every side.
    calls = [(request_from_json(call), request_data(call)) for call in work.requests]
    return Side(name, decide, calls)


def request_data(call: JsonObject) -> JsonObject:
    """Return what the expressions of a workload read of a call."""
    context = {"environment": call["context"]["environment"], "principal": call["context"]["principal"]}
    return {"args": call["args"], "declared": {"reversible": call["declared"]["reversible"]}, "context": context}


def casbin_engine(work: Workload) -> Side:
    """casbin: a policy line per rule, whose condition the matcher evaluates; the first that holds decides."""
    import casbin
    from casbin.model import Model

    def leaf(path: str, operator: str, operand: Any) -> str:  # Any: JSON
        head, *steps = path.split(".")
        value = f"r.call['{head}']" + "".join(f"['{step}']" for step in steps)
        match operator:
            case "eq":
                return f"{value} == {operand!r}"
            case "in":
                return f"{value} in {tuple(operand)!r}"
            case "matches":
                return f"search({operand!r}, {value})"
            case "contains":
                return f"{operand!r} in {value}"
            case "contains_any":
                return "(" + " or ".join(f"{item!r} in {value}" for item in operand) + ")"
            case "gt":
                return f"{value} > {operand!r}"
            case "between":
                return f"({operand[0]!r} <= {value} and {value} <= {operand[1]!r})"
        raise ValueError(operator)

    filed = file_rules(work.policy["rules"], Language("and", "or", "not ", leaf))
    model = Model()
    model.add_def("r", "r", "tool, call")
    model.add_def("p", "p", "tool, number, rule")
    model.add_def("e", "e", "some(where (p.eft == allow))")
    model.add_def("m", "m", "(p.tool == '*' or r.tool == p.tool) and eval(p.rule)")
    enforcer = casbin.Enforcer(model)
    enforcer.add_function("search", lambda pattern, text: re.search(pattern, text, re.ASCII) is not None)
    lines = [(number, tool, text) for tool, rules in filed.by_tool.items() for number, text in rules]
    lines += [(number, "*", text) for number, text in filed.everywhere]
    enforcer.add_policies([[tool, str(number), text] for number, tool, text in sorted(lines)])
    answers = Answers(work.policy)
    of_rule, default = answers.of_rule, answers.default

    def decide(call: tuple[ActionRequest, JsonObject]) -> Decision:
        request, data = call
        holds, line = enforcer.enforce_ex(request.tool, data)
        return of_rule[int(line[1])] if holds else default(request)

    calls = [(request_from_json(call), request_data(call)) for call in work.requests]
    return Side("casbin", decide, calls)
