"""Rego, the language of OPA, by regorus: an interpreter in Rust that runs in the process, as the other engines do."""

from __future__ import annotations

from itertools import product
from typing import Any

from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_json
from corpora.mixed import JsonObject, Workload
from engines.by_hand import Answers
from engines.rules import Language, file_rules, quoted
from engines.sides import Side, request_data

RULE = "data.policy.first"


def rego_engine(work: Workload) -> Side:
    """Rego: an engine for each tool, parsed once; a rule adds its number to a set, the least of which decides."""
    import regorus

    def engine(rules: list[tuple[int, str]]) -> Any:  # Any: an engine of regorus
        made = regorus.Engine()
        made.add_policy(
            "policy.rego", "\n".join([HEAD, *(text.replace("NUMBER", str(number)) for number, text in rules)])
        )
        return made

    filed = file_rules(work.policy["rules"], Rego("; ", "", "not ", _leaf))
    by_tool = {tool: engine(rules) for tool, rules in filed.by_tool.items()}
    everywhere = engine(filed.everywhere) if filed.everywhere else None
    answers = Answers(work.policy)
    of_rule, default, last = answers.of_rule, answers.default, len(answers.of_rule)

    def first(which: Any, data: JsonObject) -> int:  # Any: as above
        if which is None:
            return last
        which.set_input(data)
        number = which.eval_rule(RULE)
        return int(number) if number >= 0 else last

    def decide(call: tuple[ActionRequest, JsonObject]) -> Decision:
        request, data = call
        number = min(first(by_tool.get(request.tool), data), first(everywhere, data))
        return of_rule[number] if number < last else default(request)

    return Side("Rego", decide, [(request_from_json(call), request_data(call)) for call in work.requests])


HEAD = """package policy
import rego.v1
default first := -1
first := min(holds) if count(holds) > 0"""


class Rego(Language):
    """A rule as statements that add its number: one for each way in which alternatives can hold."""

    __slots__ = ()

    def text(self, match: JsonObject) -> str:
        """The statements of a match."""
        return "\n".join(f"holds contains NUMBER if {{ {'; '.join(body)} }}" for body in self._bodies(match))

    def _bodies(self, match: JsonObject) -> list[list[str]]:
        parts: list[list[list[str]]] = []
        for key, value in match.items():
            if key == "any_of":
                parts.append([body for item in value for body in self._bodies(item)])
            elif key == "not":
                [[text]] = self._bodies(value)
                parts.append([[f"not {text}"]])
            elif key not in ("tool", "tool.in"):
                parts.append([[self._entry(key, value)]])
        return [[line for body in bodies for line in body] for bodies in product(*parts)]


def _leaf(path: str, operator: str, operand: Any) -> str:  # Any: JSON
    value = f"input.{path}"
    match operator:
        case "eq":
            return f"{value} == {quoted(operand)}"
        case "in":
            return f"{value} in {quoted(operand)}"
        case "matches":
            return f"regex.match({quoted(operand)}, {value})"
        case "contains":
            return f"contains({value}, {quoted(operand)})"
        case "contains_any":
            return f"some item in {value}; item in {quoted(operand)}"
        case "gt":
            return f"{value} > {quoted(operand)}"
        case "between":
            return f"{value} >= {quoted(operand[0])}; {value} <= {quoted(operand[1])}"
    raise ValueError(operator)
