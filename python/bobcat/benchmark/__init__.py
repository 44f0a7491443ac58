"""What a policy costs: its decisions timed against a reference loop in the same run.

    report = bench(bundle, read_calls(data, "requests.jsonl"))
    report.decisions.relative       # a decision, in steps of the reference loop: stable where nanoseconds are not

`bobcat bench` and the pytest fixture `bobcat_bench` call this. A worker never does.
"""

from bobcat.benchmark.baseline import as_json, compared, read_baseline
from bobcat.benchmark.calls import Calls, directed_calls, read_calls
from bobcat.benchmark.measure import bench
from bobcat.benchmark.report import Comparison, Report

__all__ = [
    "Calls",
    "Comparison",
    "Report",
    "as_json",
    "bench",
    "compared",
    "directed_calls",
    "read_baseline",
    "read_calls",
]
