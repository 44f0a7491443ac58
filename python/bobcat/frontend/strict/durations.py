"""Durations of windows: `90s`, `15m`, `1h`, `2d`, or a number of seconds."""

from __future__ import annotations

import math
import re

from bobcat._core import Node, ScalarNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.yaml.nodes import InvalidValue, value
from bobcat.frontend.yaml.scalars import kind_of_node

MAX_WINDOW_SECONDS = 3_660 * 24 * 60 * 60
"""The longest window: ten years."""
_WHOLE_RUN = "leave `within` out for the whole run"
_DURATION = re.compile(r"([0-9]{1,12})(s|m|h|d)", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_PARTS = re.compile(r"(?:[0-9]{1,9}[smhd]){2,}", re.ASCII)
_WORDS = re.compile(
    r"([0-9]{1,9})\s*(s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|hours|d|day|days|w|week|weeks)",
    re.ASCII | re.IGNORECASE,
)


def window(node: Node, report: DiagnosticCollector) -> int | None:
    """Return a window in microseconds; None after an error has been reported."""
    found = value(node, report) if isinstance(node, ScalarNode) else kind_of_node(node)
    if isinstance(found, InvalidValue):
        return None
    seconds: int | float
    if isinstance(found, str) and isinstance(node, ScalarNode):
        parts = _DURATION.fullmatch(found)
        if parts is None:
            return _refuse(node, found, "it is no number with a unit", report, _intended(found))
        seconds = int(parts[1]) * _SECONDS[parts[2]]
    elif type(found) in (int, float):
        seconds = found  # type: ignore[assignment]  # the type is checked above
    else:
        return _refuse(node, kind_of_node(node), "it is no number with a unit", report)
    text = shown(getattr(node, "value", ""))
    if not math.isfinite(seconds) or seconds < 0:
        return _refuse(node, text, "it is not a time from 0 on", report)
    if seconds > MAX_WINDOW_SECONDS:
        return _refuse(node, text, "a window is at most 3660 days long", report, _WHOLE_RUN)
    microseconds = round(seconds * 1_000_000)
    if microseconds == 0:
        return _refuse(node, text, "it holds nothing", report, _WHOLE_RUN)
    return microseconds


def _refuse(node: Node, text: str, problem: str, report: DiagnosticCollector, help: str | None = None) -> int | None:
    report.add("E1006", node, value=shown(text), problem=problem, help=help)
    return None


def _intended(text: str) -> str | None:
    """Suggest the spelling of a duration in words, or of several parts."""
    compact = text.replace(" ", "").lower()
    if _PARTS.fullmatch(compact):
        total = sum(int(number) * _SECONDS[unit] for number, unit in _DURATION.findall(compact))
        unit = next(unit for unit in "dhms" if total % _SECONDS[unit] == 0)
        return f"write `{total // _SECONDS[unit]}{unit}`"
    found = _WORDS.fullmatch(text.strip())
    if found is None:
        return None
    number, unit = int(found[1]), found[2][0].lower()
    return f"write `{number * 7}d`" if unit == "w" else f"write `{number}{unit}`"
