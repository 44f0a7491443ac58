"""The dashboard of the documentation names metrics, labels and units that the exporter has."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bobcat.stores.counts import StoreCounts
from bobcat.workers.activity import Activity
from bobcat.workers.worker_metrics import metrics_text

ROOT = Path(__file__).parents[2]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "docs/how-to/grafana-workers.json").read_text())
PAGE = (ROOT / "docs/how-to/operate-workers.md").read_text()
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def exported() -> dict[str, set[str]]:
    """The labels of each series that a worker with some work exports."""
    activity = Activity()
    activity.count_claim("refund", 0.1)
    activity.count_attempt("refund", "succeeded", 1.0)
    counts = StoreCounts(datetime.now(UTC), {"queued": 1}, {"refund": 1}, due=1)
    found: dict[str, set[str]] = {}
    for line in metrics_text(activity, counts, concurrency=4).splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()  # type: ignore[union-attr]
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_and_label_of_the_dashboard_is_exported(expression: str) -> None:
    series = exported()
    names = re.findall(r"\bbobcat_\w+", expression)
    assert names
    for name in names:
        assert name in series, f"no worker exports {name}"
    for labels in re.findall(r"by \(([\w, ]+)\)", expression):
        assert set(labels.split(", ")) <= set().union(*(series[name] for name in names))


def test_the_dashboard_shows_every_metric_that_a_worker_exports() -> None:
    shown = {
        re.sub(r"_(bucket|sum|count)$", "", name) for each in EXPRESSIONS for name in re.findall(r"bobcat_\w+", each)
    }
    have = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported()}
    assert shown == have


def test_the_page_describes_every_metric_that_a_worker_exports() -> None:
    have = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported()}
    assert {name for name in have if name not in PAGE} == set()


def test_panels_have_places_of_their_own() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} lies over {taken[x, y]}"
                taken[x, y] = panel["title"]
