"""Texts of more than 64 KiB are found in the index as short ones are, and functions among the rules see them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import bobcat
from bobcat import Decision

RULES = 20
LENGTHS = (0, 65_535, 65_536, 65_537, 100_000)


def ends_in_a_mark(req: Any, ctx: Any) -> Decision | None:
    return bobcat.deny("a mark") if req.args["x"].endswith("!mark!") else None


MATCHES = {
    "contains": lambda n: {"args.x.contains": f"<{n}>"},
    "matches": lambda n: {"args.x.matches": rf"\[{n}\]+"},
    "without a literal": lambda n: {"args.x.matches": rf"[#$]{{{n + 3}}}[%]"},
    "starts_with": lambda n: {"args.x.starts_with": f"({n})"},
    "ends_with": lambda n: {"args.x.ends_with": f"({n})"},
    "contains_all": lambda n: {"args.x.contains_all": [f"<{n}>", f"[{n}]"]},
    "not": lambda n: {"all_of": [{"args.x.contains": f"<{n}>"}, {"not": {"args.x.contains": "[0]"}}]},
}


def _texts(length: int) -> list[str]:
    filler = "abc " * (length // 4 + 1)
    middle = [f"<{n}>" for n in (0, 7, 19)] + ["[7]", "##########%", "<3>[3]", "<3>[0]", "nothing"]
    texts = [filler[: length // 2] + piece + filler[: length // 2] for piece in middle]
    return [*texts, "(4)" + filler, filler + "(5)", filler + "!mark!", "<6>" + filler + "!mark!"]


@pytest.mark.parametrize("kind", MATCHES)
@pytest.mark.parametrize("function", [None, ends_in_a_mark])
def test_a_long_text_is_decided_on_as_the_plain_walk_does(kind: str, function: Any) -> None:
    rules = [
        {"id": f"r{n}", "match": {"tool": "t", **MATCHES[kind](n)}, "decision": "deny" if n % 2 else "allow"}
        | {"reason": ""}
        for n in range(RULES)
    ]
    functions = [] if function is None else [bobcat.rule(priority=-1)(function)]
    bundle = bobcat.compile_policy(json.dumps({"version": 1, "rules": rules}), python_rules=functions)
    fired = set()
    for length in LENGTHS:
        for text in _texts(length):
            request = bobcat.request_from_json({"tool": "t", "args": {"x": text}})
            decision = bobcat.evaluate(bundle, request)
            assert decision == bobcat.explain(bundle, request).decision, (length, text[:20], text[-20:])
            fired.add(decision.matched_rules)
    assert len(fired) >= 2 + len(functions)
