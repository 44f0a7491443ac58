"""Benchmark of a policy: its decisions are timed against a reference loop in the same run.

    report = bench(bundle, read_calls(data, "requests.jsonl"))
    report.decisions.relative       # time per decision in reference steps: stable across machine load

`bobcat bench` and the pytest fixture `bobcat_bench` call this. A worker never does.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
