"""Random Python rules without loops, over a domain of few values."""

from __future__ import annotations

import linecache
import random
import re
import zlib
from typing import Any

import bobcat
from analysis.enumeration import MISSING
from bobcat import Policy

DOMAIN: dict[str, list[Any]] = {
    "tool": ["t", "u"],
    "args.a": [MISSING, None, True, False, 0, 1, 2, 3.5, 5.0, 10**30, "", "x", "xy", "Xy", "yx", [], ["x"], [1, "x"],
               {}, {"x": 1}, "\ud800"],
    "args.b": [MISSING, None, False, 1, "", "x", "ab", ["x"], {}, {"k": None}, {"k": "x"}, {"k": 2}, {"k": []}],
    "context.environment": ["dev", "prod"],
}  # fmt: skip
"""Values of every type, with and without what the tests look for."""

_SCALARS = ("'x'", "'xy'", "''", "0", "1", "2", "3.5", "True", "False", "None")
_READS = (
    "request.args.get('a')",
    "request.args.get('a', '')",
    "request.args.get('a', 'x')",
    "request.args.get('a', 0)",
    "request.args['a']",
    "request.args.get('b')",
    "request.args.get('b', {}).get('k')",
    "request.args['b']['k']",
    "request.args.get('b', {}).get('k', 'x')",
    "(request.args.get('b') or {}).get('k')",
    "(request.args.get('a') or '')",
    "str(request.args.get('a'))",
    "context.environment",
    "request.tool",
)
_TEXT_TESTS = (
    "{}.startswith('x')",
    "{}.endswith(('y', 'x'))",
    "'x' in {}",
    "'y' not in {}",
    "{}.lower() == 'xy'",
    "{}.lower() in ('x', 'xy')",
    "{}.lower().startswith('x')",
    "len({}) > 1",
    "len({}) == 0",
    "1 <= len({}) <= 2",
    "any(word in {} for word in ('xy', 'b'))",
    "all({} != word for word in ('x', 'ab'))",
    "'a' <= {} < 'xy'",
    "{} >= 'x'",
)
_TESTS = (
    "{}",
    "not {}",
    "{} is None",
    "{} is not None",
    "{} > 1",
    "{} <= 2",
    "0 < {} <= 3",
    "3 >= {}",
    "{} in ('x', 1)",
    "{} not in {{'x', 'ab'}}",
    "{} in ['xy', None]",
    "isinstance({}, str)",
    "isinstance({}, int)",
    "isinstance({}, (int, float))",
    "isinstance({}, bool)",
    "isinstance({}, (list, dict))",
    *_TEXT_TESTS,
)
_ENDS = ("allow('')", "allow('')", "deny('')", "approve_required(['x'])", "dry_run('')", "None")


def _operand(chance: random.Random, bound: list[str]) -> str:
    return chance.choice(bound) if bound and chance.random() < 0.6 else chance.choice(_READS)


def _test(chance: random.Random, bound: list[str], depth: int = 0) -> str:
    kind = chance.random()
    if depth < 2 and kind < 0.3:
        parts = [_test(chance, bound, depth + 1) for _ in range(chance.randint(2, 3))]
        return "(" + chance.choice((" and ", " or ")).join(parts) + ")"
    if depth < 2 and kind < 0.36:
        return f"(not {_test(chance, bound, depth + 1)})"
    if kind < 0.45:
        return chance.choice(("'a' in request.args", "'b' not in request.args", "'k' in request.args.get('b', {})"))
    if kind < 0.6:
        return f"{_operand(chance, bound)} {chance.choice(('==', '!='))} {chance.choice(_SCALARS)}"
    return chance.choice(_TESTS).format(_operand(chance, bound))


def function_source(chance: random.Random, name: str = "generated") -> str:
    """Return the source of a rule."""
    lines = [f"def {name}(request, context):"]
    bound: list[str] = []
    if chance.random() < 0.5:
        lines.append("    if request.tool != 't':\n        return None")
    for number in range(chance.randint(1, 4)):
        if chance.random() < 0.4:
            value = chance.choice(_READS) + chance.choice(("", "", ".lower()"))
            lines.append(f"    v{number} = {value}")
            bound.append(f"v{number}")
        test, end = _test(chance, bound), chance.choice(_ENDS)
        lines.append(f"    if {test}:\n        return {end}")
    lines.append(f"    return {chance.choice(_ENDS)}")
    return "\n".join(lines) + "\n"


def function_of(text: str) -> Any:
    """Define a rule, with its source where `inspect` finds it."""
    file = f"<generated {zlib.crc32(text.encode())}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {name: getattr(bobcat, name) for name in ("allow", "deny", "approve_required", "dry_run")}
    names["re"] = re
    exec(compile(text, file, "exec"), names)
    return names[text.split("(", 1)[0].removeprefix("def ")]


def policy_of(text: str, source: dict[str, Any] | None = None) -> Policy:
    """Compile a policy with one Python rule."""
    return Policy.compile(source or {"rules": []}, python_rules=[function_of(text)])
