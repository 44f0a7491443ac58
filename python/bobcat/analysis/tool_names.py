"""The tools that a policy names, and the other tools that a rule is about: by a glob, a pattern or a prefix."""

from __future__ import annotations

import json
import re

from bobcat.analysis.code_paths import function_tools
from bobcat.ir.conjuncts import conjuncts
from bobcat.ir.schema import AnyRule, FunctionRule, IrPolicy, IrRule, Leaf
from bobcat.ir.visit import leaves
from bobcat.language.operators import SIGNS

_NAMING = ("eq", "in")
_PARTS = re.compile(r"\(\?:\.\*/\)\?|\[\^/\]\*|\[\^/\]|\(\?:|\.\*|\\.|.", re.DOTALL)
_OF_PART = {"(?:.*/)?": "**/", "[^/]*": "*", "[^/]": "?", "(?:": "{", "|": ",", ")": "}", ".*": "**"}
"""The parts of patterns that globs are translated to, with the parts of globs."""


def tools_of(policy: IrPolicy) -> frozenset[str]:
    """Return the tools that the rules of a policy compare the tool with, whatever the comparison is for."""
    found: set[str] = set()
    for rule in policy.rules:
        if isinstance(rule, FunctionRule):
            found.update(function_tools(rule))
        elif isinstance(rule, IrRule):
            for leaf in leaves(rule.match):
                if leaf.head == "tool" and leaf.op in _NAMING:
                    operands = leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]
                    found.update(item for item in operands if isinstance(item, str))
    return frozenset(found)


def other_tools(rule: AnyRule) -> tuple[str, ...]:
    """Return what a rule says of the tools that it is about without naming them: `matches kb_*`."""
    if not isinstance(rule, IrRule):
        return ()
    tests = [item for item in conjuncts(rule.match) if isinstance(item, Leaf) and item.head == "tool"]
    return tuple(_text(item) for item in tests if item.op not in _NAMING)


def _text(leaf: Leaf) -> str:
    if leaf.op == "matches" and isinstance(leaf.operand, str):
        return f"matches {_glob(leaf.operand) or leaf.operand}"
    sign = SIGNS.get(leaf.op) or leaf.op.replace("_", " ")
    return f"{sign} {json.dumps(leaf.operand, ensure_ascii=False)}"


def _glob(pattern: str) -> str | None:
    """Return a glob that is translated to a pattern; None if none is found."""
    from bobcat.frontend.strict.globs import GlobError, to_pattern

    body = pattern.removeprefix("(?s)").removeprefix("^").removesuffix("$")
    text = "".join(_OF_PART.get(part, part[-1:]) for part in _PARTS.findall(body))
    try:
        return text if to_pattern(text) == pattern else None
    except GlobError:
        return None
