"""The keys of a suite, with the words that people write for them; the reader and the JSON Schema use these lists."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bobcat.frontend.suggest import synonyms

SUITE = ("policy", "profile", "tools", "context", "cases")
CASE = ("name", "tags", "context", "parameters", "table", "request", "expect", "sequence")
STEP = ("call", "expect", "after", "same_reply", "approved", "result", "failed")
EXPECT = ("verdict", "rule", "reason_matches", "args", "error", "approvers")
REQUEST = ("tool", "args", "declared", "context")
ORDERS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("cases", "*"): CASE,
    ("cases", "*", "expect"): EXPECT,
    ("cases", "*", "request"): REQUEST,
}
"""The order in which the formatter writes the keys."""

SYNONYMS: Mapping[str, str] = synonyms(
    {
        "policy": "bundle policies source policy_file",
        "cases": "tests test case examples",
        "tools": "toolset tool_set",
        "name": "title id description",
        "tags": "tag labels marks",
        "parameters": "params parametrize columns",
        "table": "rows data values",
        "request": "call input action",
        "expect": "expected expects want then assert output",
        "sequence": "steps run calls",
        "call": "request action",
        "result": "returns returned value",
        "failed": "fails failure raises",
        "approved": "granted approve",
        "after": "wait delay later",
        "verdict": "decision effect outcome",
        "rule": "rules rule_id matched_rules matched by",
        "reason_matches": "reason message reason_match",
        "error": "errors code error_code",
        "approvers": "approver approved_by",
        "tool": "name tool_name function",
        "args": "arguments params parameters input transform_args",
        "declared": "metadata tool_metadata declares",
        "context": "ctx execution_context",
    }
)


@cache
def synonyms_for(known: tuple[str, ...]) -> Mapping[str, str]:
    """Return the words for the keys of one mapping."""
    found = {word: name for word, name in SYNONYMS.items() if name in known}
    if "request" in known:
        found |= {"call": "request"}
    if "call" in known:
        found |= {"request": "call"}
    if "args" in known:
        found |= dict.fromkeys(("params", "parameters", "arguments", "input"), "args")
    return found
