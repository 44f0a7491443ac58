"""Invariant Guardrails, whose rules decide on tool calls without a model, on the part that Cedar can express."""

from __future__ import annotations

from typing import Any

from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_json
from corpora.mixed import JsonObject, Workload
from engines.by_hand import Answers
from engines.rules import Language, file_rules, quoted
from engines.sides import Side


def guardrails_engine(work: Workload) -> Side:
    """Invariant Guardrails: a local policy for each tool, parsed once; a rule raises its number, the least decides."""
    from invariant.analyzer import LocalPolicy

    filed = file_rules(work.policy["rules"], Language("\n    ", "or", "not ", _leaf))
    by_tool = {
        tool: LocalPolicy.from_string("\n".join(_rule(tool, number, text) for number, text in rules))
        for tool, rules in filed.by_tool.items()
    }
    answers = Answers(work.policy)
    of_rule, default = answers.of_rule, answers.default

    def decide(call: tuple[ActionRequest, list[JsonObject], str]) -> Decision:
        request, messages, environment = call
        errors = by_tool[request.tool].analyze(messages, environment=environment).errors
        return of_rule[min(int(error.args[0]) for error in errors)] if errors else default(request)

    calls = [(request_from_json(call), _trace(call), call["context"]["environment"]) for call in work.requests]
    return Side("Invariant Guardrails", decide, calls)


def _rule(tool: str, number: int, text: str) -> str:
    return f'raise "{number}" if:\n    (call: ToolCall)\n    call.function.name == {quoted(tool)}\n    {text}\n'


def _leaf(path: str, operator: str, operand: Any) -> str:  # Any: JSON
    head, _, name = path.rpartition(".")
    value = f"input.{name}" if head == "context" else f"call.function.arguments.{name}"
    match operator:
        case "eq":
            return f"{value} == {quoted(operand)}"
        case "in":
            return f"{value} in {quoted(operand)}"
        case "contains":
            return f"{quoted(operand)} in {value}"
        case "contains_any":
            # Without brackets: each condition is a line, and a line that begins with one continues the line before.
            return " or ".join(f"{quoted(item)} in {value}" for item in operand)
        case "gt":
            return f"{value} > {quoted(operand)}"
    raise ValueError(operator)


def _trace(call: JsonObject) -> list[JsonObject]:
    function = {"name": call["tool"], "arguments": call["args"]}
    proposed = {"id": "1", "type": "function", "function": function}
    return [{"role": "assistant", "content": "", "tool_calls": [proposed]}]
