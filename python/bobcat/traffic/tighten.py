"""A tighter form of a rule that allows too much: the rule, limited to what recorded calls had.

Every tool gets a clause with the values that its calls had: a set of literals where they are few, the common beginning
of texts, the bounds of numbers. The clauses are added to the match of the rule, so the result never permits more.
"""

from __future__ import annotations

from typing import Any

from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.yaml.nodes import plain_data
from bobcat.frontend.yaml.source import compose
from bobcat.traffic.redaction import is_secret
from bobcat.traffic.usage import Shape, Usage, Values

MAX_TOOLS = 20
"""Tools of one suggestion."""
MIN_PREFIX = 3
"""Characters of a common beginning that is worth a clause."""
MAX_TEXT = 120
"""Characters of a literal; longer texts are limited by their beginning only."""

Data = dict[str, Any]  # Any: the data of a policy


def policy_data(text: str) -> Data | None:
    """The plain data of a policy's source; None for a text that is not a mapping."""
    root = compose(text, DiagnosticCollector("<policy>"))
    data = None if root is None else plain_data(root)
    return data if isinstance(data, dict) else None


def tightened(data: Data, rule_id: str, usage: Usage) -> tuple[Data, Data] | None:
    """The rule limited to its recorded calls, and the policy with it; None for a rule without calls or clauses."""
    rules = data.get("rules")
    if not isinstance(rules, list):
        return None
    found = [rule for rule in rules if isinstance(rule, dict) and rule.get("id") == rule_id]
    shapes = {tool: shape for (rule, tool), shape in usage.shapes.items() if rule == rule_id}
    if len(found) != 1 or not shapes or len(shapes) > MAX_TOOLS:
        return None
    each = [{"tool": tool, **clauses_of(shape)} for tool, shape in sorted(shapes.items())]
    limit = each[0] if len(each) == 1 else {"any_of": each}
    match = found[0].get("match")
    both = limit if not match else {"all_of": [match, limit]}
    rule = {**found[0], "match": both}
    return rule, {**data, "rules": [rule if one is found[0] else one for one in rules]}


def clauses_of(shape: Shape) -> Data:
    """The clauses that hold for every call of one tool."""
    found: Data = {}
    optional: list[Data] = []
    for name, values in sorted((shape.values or {}).items()):
        clause = None if is_secret(name) else _clause(path_of(name), values)
        if clause is None:
            continue
        if values.count == shape.count:
            found.update(clause)
        else:
            optional.append({"any_of": [{f"{path_of(name)}.exists": False}, clause]})
    if len(optional) == 1:
        found.update(optional[0])
    elif optional:
        found["all_of"] = optional
    return found


def path_of(name: str) -> str:
    """The path of an argument in a key of a policy."""
    if name.replace("_", "a").isalnum() and name.isascii():
        return f"args.{name}"
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'args["{escaped}"]'


def _clause(path: str, values: Values) -> Data | None:
    if len(values.kinds) != 1 or "other" in values.kinds:
        return None
    literals = values.literals
    if literals is not None and not any(isinstance(value, str) and len(value) > MAX_TEXT for _, value in literals):
        listed = sorted(value for _, value in literals)
        return {f"{path}.eq": listed[0]} if len(listed) == 1 else {f"{path}.in": listed}
    if values.kinds == {"number"}:
        return {f"{path}.between": [values.low, values.high]}
    prefix = (values.prefix or "")[:MAX_TEXT]
    cut = prefix[: prefix.rfind("/") + 1] or prefix
    return {f"{path}.starts_with": cut} if len(cut) >= MIN_PREFIX else None
