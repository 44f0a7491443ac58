"""The limits of the instruction gate, by the machine that counts; `make bench-gate` counts."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = {"rustc": "rustc 1", "architecture": "x86_64", "processor": "avx2 avx512f"}
CALL, DECISION = "call, 1 rule", "decide, 1 rule"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    return importlib.import_module("instructions.gate")


@pytest.mark.parametrize(
    ("here", "python", "limits"),
    [
        ({}, sys.version, {CALL: 1_010, DECISION: 1_010}),
        ({"processor": "avx2"}, sys.version, {CALL: 1_100, DECISION: 1_100}),
        ({"processor": "avx2"}, "another", {DECISION: 1_100}),
        ({"processor": "avx512f"}, sys.version, {}),
        ({"rustc": "rustc 2"}, sys.version, {}),
    ],
)
def test_limits_follow_the_machine(
    gate: Any, monkeypatch: pytest.MonkeyPatch, here: dict[str, str], python: str, limits: dict[str, int]
) -> None:
    monkeypatch.setattr(gate, "machine", lambda: WRITTEN | here)
    baseline = {"machine": WRITTEN, "python": python, "instructions": {CALL: 1_000, DECISION: 1_000}}
    assert gate.limits_of(baseline) == limits


def test_a_count_above_its_limit_fails(gate: Any) -> None:
    baseline = {CALL: 1_000, DECISION: 1_000}
    assert gate.compare({CALL: 1_101, DECISION: 1_000}, baseline, {CALL: 1_100, DECISION: 1_100}) == 1
    assert gate.compare({CALL: 1_100, DECISION: 9_000}, baseline, {CALL: 1_100}) == 0
