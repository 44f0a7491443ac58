"""Bundles of released formats load, keep their digests and decide what they decided when they were written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from bobcat import load_bundle, request_from_json
from bobcat.bundle.sign import public_key

V1 = Path(__file__).parents[1] / "bundles" / "v1"
KEY = bytes(range(32))


@pytest.fixture(params=["full", "lynx"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


PROFILES: dict[str, Literal["strict", "lynx"]] = {"full": "strict", "lynx": "lynx"}


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((V1 / f"{name}.expected.json").read_text(encoding="utf-8"))
    return found


def test_a_format_1_bundle_loads_with_its_identity(name: str) -> None:
    bundle = load_bundle(V1 / f"{name}.bobcat", trusted_keys=[public_key(KEY)], profile=PROFILES[name])
    want = expected(name)
    assert (bundle.id, bundle.lynx_id, bundle.profile) == (want["digest"], want["lynx_id"], want["profile"])
    assert list(bundle.rule_digests) == want["rule_digests"]
    assert bundle.source_files == (f"{name}.yaml",)
    assert bundle.sources == {f"{name}.yaml": (V1 / f"{name}.yaml").read_text(encoding="utf-8")}
    assert len(bundle.ir.rules) == bundle.rule_count


def test_a_format_1_bundle_decides_as_it_did(name: str) -> None:
    bundle = load_bundle(V1 / f"{name}.bobcat", profile=PROFILES[name])
    lines = (V1 / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    for line, want in zip(lines, expected(name)["decisions"], strict=True):
        decision = bundle.evaluate(request_from_json(line))
        found = {
            "verdict": str(decision.verdict),
            "reason": decision.reason,
            "matched_rules": list(decision.matched_rules),
            "approvers": list(decision.approvers),
            "timeout_seconds": decision.timeout_seconds,
            "transform_args": decision.transform_args,
        }
        assert found == want, line


def test_a_format_1_bundle_is_written_again_as_it_was(name: str) -> None:
    data = (V1 / f"{name}.bobcat").read_bytes()
    assert load_bundle(data, profile=PROFILES[name]).to_bytes(sources=True, private_key=KEY) == data
