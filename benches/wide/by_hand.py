"""Python by hand: the code of an expert, a function per tool found in a dict, with compiled patterns and frozen sets.

It checks no type, and an argument of an unexpected one raises or passes unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.frozen import FrozenDict
from engines.by_hand import Answers, comparison
from wide.generate import JsonObject, WideWorkload
from wide.matches import Leaf, Match, ordered

Decide = Callable[[ActionRequest], Decision]


def decide_by_hand(work: WideWorkload) -> Decide:
    """The function that decides on a request."""
    constants: dict[str, object] = {}
    answers = Answers(work.policy)
    by_tool: dict[str, list[tuple[int, str]]] = {}
    everywhere: list[tuple[int, str]] = []
    numbers: list[int] = []
    for order, (number, tools, match) in enumerate(ordered(work.policy)):
        numbers.append(number)
        pair = (order, _text(match, constants))
        for rules in [everywhere] if tools is None else [by_tool.setdefault(tool, []) for tool in tools]:
            rules.append(pair)
    last = len(numbers)
    constants["LAST"] = last
    functions = {tool: _compiled(rules, constants) for tool, rules in by_tool.items()}
    of_every_tool = _compiled(everywhere, constants)
    decisions = [answers.of_rule[number] for number in numbers]
    transforms = [work.policy["rules"][number].get("transform") for number in numbers]
    changes = {order: _change(transform) for order, transform in enumerate(transforms) if transform is not None}
    no_match, no_shadow = answers.no_match, answers.no_shadow

    def decide(request: ActionRequest) -> Decision:
        function = functions.get(request.tool)
        order: int = min(last if function is None else function(request), of_every_tool(request))
        if order == last:
            declared = request.declared
            return no_match if declared.reversible or declared.has_shadow else no_shadow
        change = changes.get(order)
        decision = decisions[order]
        return decision if change is None else replace(decision, transform_args=change(request.args))

    return decide


def _change(transform: JsonObject) -> Callable[[Any], FrozenDict[str, Any]]:  # Any: arguments
    key = transform["jsonpath"].removeprefix("$.args.")
    if "set" in transform:
        added = {key: transform["set"]}
        return lambda args: FrozenDict({**args, **added})
    return lambda args: FrozenDict({name: value for name, value in args.items() if name != key})


def _text(item: Match | Leaf, constants: dict[str, object]) -> str:
    if isinstance(item, Leaf):
        return comparison(_value(item.path), item.operator, item.operand, constants)
    if item.connective == "not":
        return f"not ({_text(item.items[0], constants)})"
    texts = [_text(each, constants) for each in item.items]
    joined = f" {'and' if item.connective == 'all' else 'or'} ".join(texts)
    return f"({joined})" if texts else "True"


def _value(path: str) -> str:
    head, _, name = path.partition(".")
    return f"args[{name!r}]" if head == "args" else f"{head}.{name}"


def _compiled(rules: list[tuple[int, str]], constants: dict[str, object]) -> Any:  # Any: a function made by exec
    lines = ["def decide(request):", "    args, context, declared = request.args, request.context, request.declared"]
    for order, condition in rules:
        lines += [f"    if {condition}:", f"        return {order}"]
    lines.append("    return LAST")
    space: dict[str, Any] = {}  # Any: as above
    exec("\n".join(lines), constants, space)
    return space["decide"]
