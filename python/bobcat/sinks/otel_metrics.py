"""Metrics of `otel_sink`: decisions, durations of tools, pending approvals.

INVARIANT: attribute values are verdicts, codes, rules of policies and tools of runs, never text that a model chose.
Each attribute has at most `MAX_LABELS` values, and `other` beyond that.
"""

from __future__ import annotations

from typing import Final, Literal

from opentelemetry.metrics import Meter

from bobcat.model.decision import Verdict

MAX_LABELS: Final = 1000
"""Rules, and tools, that one sink tells apart: a Python rule can name any number of rules."""
NO_RULE: Final = "none"
"""Rule of a decision without one, such as the refusal of an unknown tool."""
UNKNOWN: Final = "unknown"
"""Tool that the run does not have, and a verdict that is not one."""
OTHER: Final = "other"
"""Rule or tool beyond `MAX_LABELS`."""
DURATION_BOUNDARIES: Final = (
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0,
)  # fmt: skip
"""Boundaries of the histogram in seconds; the default ones are made for milliseconds."""
Wait = Literal["live", "suspended"]
"""State of a run with a pending approval: it waits in this process, or ended until it is resumed."""

_VERDICTS = frozenset(verdict.value for verdict in Verdict)


class Metrics:
    """The instruments of one sink."""

    __slots__ = ("_codes", "_decisions", "_durations", "_pending", "_reloads", "_rules", "_tools")

    def __init__(self, meter: Meter) -> None:
        self._decisions = meter.create_counter(
            "bobcat.decisions", unit="{decision}", description="Decisions on tool calls by verdict and rule."
        )
        self._durations = meter.create_histogram(
            "bobcat.tool.duration",
            unit="s",
            description="Duration of tools that returned, and of previews.",
            explicit_bucket_boundaries_advisory=DURATION_BOUNDARIES,
        )
        self._pending = meter.create_up_down_counter(
            "bobcat.approvals.pending", unit="{approval}", description="Requested approvals without an answer."
        )
        self._reloads = meter.create_counter(
            "bobcat.policy.reloads", unit="{bundle}", description="Bundles that were put in force or refused."
        )
        self._rules = _Labels()
        self._tools = _Labels()
        self._codes = _Labels()

    def count_decision(self, verdict: str, rules: tuple[str, ...], tool: str, code: str) -> None:
        """Count a decision under the rule that settled it, which is the last one."""
        attributes = {
            "bobcat.verdict": verdict if verdict in _VERDICTS else UNKNOWN,
            "bobcat.rule": self._rules.bounded(rules[-1]) if rules else NO_RULE,
            "gen_ai.tool.name": self._tools.bounded(tool),
        }
        if code:
            attributes["bobcat.code"] = self._codes.bounded(code)
        self._decisions.add(1, attributes)

    def count_reload(self, outcome: str, code: str) -> None:
        """Count a bundle that was put in force, or refused with a code."""
        attributes = {"bobcat.outcome": outcome}
        if code:
            attributes["bobcat.code"] = self._codes.bounded(code)
        self._reloads.add(1, attributes)

    def record_duration(self, seconds: float, tool: str, outcome: str) -> None:
        """Record the duration of a tool, or of its shadow."""
        self._durations.record(seconds, {"gen_ai.tool.name": self._tools.bounded(tool), "bobcat.outcome": outcome})

    def add_pending(self, count: int, wait: Wait) -> None:
        """Add to the pending approvals; a negative `count` removes."""
        if count:
            self._pending.add(count, {"bobcat.wait": wait})


class _Labels:
    """The values of one attribute."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: set[str] = set()

    def bounded(self, name: str) -> str:
        """The name, or `other` when there are too many."""
        if name in self._known:
            return name
        if len(self._known) >= MAX_LABELS:
            return OTHER
        self._known.add(name)
        return name
