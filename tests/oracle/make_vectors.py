"""Writes `tests/vectors/cases.jsonl`: the corpus as IR, JSON requests and full decisions, for the core's tests.

    python tests/oracle/make_vectors.py

A line is one policy: {"ir": .., "requests": [{"request": .., "decision": ..}, ..]}. Cases that JSON cannot carry (NaN,
bytes, broken requests) are left out. Decisions are those of the reference evaluator, which the corpus has checked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir.canonical import encode
from bobcat.ir.schema import IrPolicy
from oracle.corpus import Case, Group, build_request, load, plain, untag
from oracle.reference import decide

VECTORS = Path(__file__).parent.parent / "vectors" / "cases.jsonl"


def vectors() -> str:
    """The text of the vector file."""
    return "".join(line for group in load() if (line := _line(group)))


def json_request(case: Case) -> dict[str, Any] | None:
    """The case's request as JSON data, or None when JSON cannot carry it."""
    try:
        request = untag_request(case.request)
        json.dumps(request, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return request if _has_string_keys(request) else None


def untag_request(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Tagged values made real; a field that breaks its type raises `ValueError`."""
    fields = [field for part in ("declared", "context") for field in raw.get(part, {}).values()]
    if any(isinstance(field, dict) and any(key.startswith("$") for key in field) for field in fields):
        raise ValueError("a broken field")
    request: dict[str, Any] = plain(untag(dict(raw)))
    return request


def _has_string_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _has_string_keys(item) for key, item in value.items())
    return all(map(_has_string_keys, value)) if isinstance(value, list) else True


def lower(policy: Any) -> IrPolicy:
    """A corpus policy as IR."""
    lowered = compile_strict(policy, "policy.yaml")
    assert lowered.policy is not None, lowered.findings
    return lowered.policy


def _line(group: Group) -> str:
    policy = lower(group.policy)
    entries = []
    for case in group.cases:
        request = json_request(case)
        if request is None:
            continue
        decision = decide(policy, build_request(case.request))
        assert not case.failures(decision), case.name
        answer = {
            "verdict": str(decision.verdict),
            "reason": decision.reason,
            "matched_rules": list(decision.matched_rules),
            "approvers": list(decision.approvers),
            "timeout_seconds": decision.timeout_seconds,
            "transform_args": plain(decision.transform_args),
        }
        entries.append(json.dumps({"request": request, "decision": answer}, separators=(",", ":")))
    if not entries:
        return ""
    return f'{{"ir":{encode(policy).decode()},"requests":[{",".join(entries)}]}}\n'


if __name__ == "__main__":
    VECTORS.parent.mkdir(exist_ok=True)
    VECTORS.write_text(vectors(), encoding="utf-8")
