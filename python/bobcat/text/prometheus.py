"""The text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

METRICS_TYPE = "text/plain; version=0.0.4"

Sample = tuple[str, Mapping[str, str], float]
"""Suffix of the name, labels and value."""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def metric_text(name: str, kind: Literal["counter", "gauge", "histogram"], text: str, samples: Iterable[Sample]) -> str:
    """The lines of one metric, `bobcat_NAME`."""
    lines = [f"# HELP bobcat_{name} {text}", f"# TYPE bobcat_{name} {kind}"]
    for suffix, labels, value in samples:
        shown = ",".join(f'{key}="{label.translate(_ESCAPES)}"' for key, label in labels.items())
        lines.append(f"bobcat_{name}{suffix}{{{shown}}} {value + 0}" if shown else f"bobcat_{name}{suffix} {value + 0}")
    return "\n".join(lines) + "\n"


def histogram_samples(
    bounds: Iterable[float], counts: Iterable[int], total: float, labels: Mapping[str, str] | None = None
) -> list[Sample]:
    """The samples of a histogram from the counts between its bounds, of which the last has no upper bound."""
    shared = labels or {}
    samples: list[Sample] = []
    below = 0
    for bound, count in zip((*map(str, bounds), "+Inf"), counts, strict=True):
        below += count
        samples.append(("_bucket", {**shared, "le": bound}, below))
    return [*samples, ("_sum", shared, total), ("_count", shared, below)]
