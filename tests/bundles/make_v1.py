"""Writes the bundles of format 1. Run once, when the format was released; never to make a test pass."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from bobcat import PolicyBundle, Verdict, compile_policy, request_from_json
from bobcat.errors import PolicyWarning

HERE = Path(__file__).parent / "v1"


def expectation(bundle: PolicyBundle) -> dict[str, Any]:
    """The permanent content of the bundle."""
    lines = (HERE / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        "digest": bundle.id,
        "lynx_id": bundle.lynx_id,
        "profile": bundle.profile,
        "rule_digests": list(bundle.rule_digests),
        "decisions": [decision(bundle, line) for line in lines],
    }


def decision(bundle: PolicyBundle, line: str) -> dict[str, Any]:
    """One decision as JSON."""
    made = bundle.evaluate(request_from_json(line))
    return {
        "verdict": str(Verdict(made.verdict)),
        "reason": made.reason,
        "matched_rules": list(made.matched_rules),
        "approvers": list(made.approvers),
        "timeout_seconds": made.timeout_seconds,
        "transform_args": made.transform_args,
    }


def main() -> None:
    """Refuses to overwrite: a released bundle does not change."""
    warnings.simplefilter("ignore", PolicyWarning)
    for name, profile in (("full", "strict"), ("lynx", "lynx")):
        target = HERE / f"{name}.bobcat"
        if target.exists():
            sys.exit(f"{target.name} is released; it does not change")
        bundle = compile_policy((HERE / f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml", profile=profile)  # type: ignore[arg-type]
        bundle.save(target, sources=True, private_key=bytes(range(32)))
        text = json.dumps(expectation(bundle), indent=1, ensure_ascii=False)
        (HERE / f"{name}.expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
