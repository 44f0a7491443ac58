"""Metrics of a decision server in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from bobcat.distribution import PolicyStatus
from bobcat.model.decision import Verdict
from bobcat.text.prometheus import histogram_samples
from bobcat.text.prometheus import metric_text as _metric

BUCKETS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Upper bounds of the histogram of decision times, in seconds."""


class Metrics:
    """Counts the decisions of one server. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._verdicts: Counter[str] = Counter({str(verdict): 0 for verdict in Verdict})
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def count(self, verdict: Verdict, seconds: float) -> None:
        """Count one decision."""
        self.count_many((verdict,), seconds)

    def count_many(self, verdicts: Iterable[Verdict], seconds: float) -> None:
        """Count the decisions of a batch that took `seconds` together, each with its share."""
        counted = Counter(map(str, verdicts))
        number = counted.total()
        if not number:
            return
        each = seconds / number
        place = next((index for index, bound in enumerate(BUCKETS) if each <= bound), len(BUCKETS))
        with self._lock:
            self._verdicts.update(counted)
            self._buckets[place] += number
            self._seconds += seconds

    def text(self, status: PolicyStatus, candidate: Mapping[str, Any] | None) -> str:  # Any: JSON
        """All metrics. `candidate` are the counts of a candidate's divergences."""
        with self._lock:
            verdicts, buckets, seconds = dict(self._verdicts), list(self._buckets), self._seconds
        metrics = [
            _metric("decisions_total", "counter", "Decisions by verdict.",
                    [("", {"verdict": name}, count) for name, count in sorted(verdicts.items())]),
            _metric("decision_seconds", "histogram", "Time of a decision.",
                    histogram_samples(BUCKETS, buckets, seconds)),
            *_of_policy(status),
        ]  # fmt: skip
        if candidate is not None:
            kinds = {**dict.fromkeys(("error", "loosened", "tightened", "unclear"), 0), **candidate["diverged"]}
            metrics.append(
                _metric("candidate_divergences_total", "counter", "Decisions that the candidate makes otherwise.",
                        [("", {"kind": kind}, count) for kind, count in kinds.items()])
            )  # fmt: skip
        return "".join(metrics)


def _of_policy(status: PolicyStatus) -> list[str]:
    now = datetime.now(UTC)
    gauges: dict[str, tuple[str, float | None]] = {
        "policy_epoch": ("Epoch of the policy in force.", status.epoch),
        "policy_loaded_timestamp_seconds": ("Time at which it was loaded.", status.loaded.timestamp()),
        "policy_confirmed_age_seconds": (
            "Time since the source last confirmed it.",
            None if status.checked is None else max((now - status.checked).total_seconds(), 0.0),
        ),
        "policy_expires_timestamp_seconds": (
            "Time at which its release expires.",
            None if status.expires is None else status.expires.timestamp(),
        ),
        "policy_current": ("1 if the source confirms the policy, and it is not stale or expired.", status.current),
    }
    counters = {
        "policy_reloads_total": ("Releases that replaced another one.", status.reloads),
        "policy_refused_total": ("Bundles that were refused.", status.refused),
        "policy_check_failures_total": ("Checks that did not reach the source.", status.failures),
    }
    found = [_metric("policy_info", "gauge", "Digest of the policy in force.", [("", {"bundle": status.bundle}, 1)])]
    found += [
        _metric(name, "gauge", text, [("", {}, value)]) for name, (text, value) in gauges.items() if value is not None
    ]
    found += [_metric(name, "counter", text, [("", {}, value)]) for name, (text, value) in counters.items()]
    return found
