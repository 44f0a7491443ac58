"""Shared by all tests: hypothesis profiles, the switch for campaigns, and the servers that stores need."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

import campaign
from services import database, own_postgres, own_redis, postgres_url, redis_url

__all__ = ["database", "own_postgres", "own_redis", "postgres_url", "redis_url"]

# A shell starts background jobs with SIGINT ignored, and children inherit that. Tests that stop a command by SIGINT
# would then wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "default",
    max_examples=campaign.examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("campaign", settings.get_profile("default"), print_blob=True)
settings.load_profile("campaign" if campaign.SIZE else "ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose inputs are made are marked `campaign`; those marked `slow` are too, and run in campaigns only."""
    for item in items:
        made = getattr(getattr(item, "function", None), "is_hypothesis_test", False)
        if made or item.get_closest_marker("slow"):
            item.add_marker("campaign")
    if campaign.SIZE:
        for item in items:
            item.add_marker(pytest.mark.timeout(0))  # a campaign takes as long as it was asked to
        return
    skip = pytest.mark.skip(reason="a campaign: runs in `make check-slow`, which sets BOBCAT_CAMPAIGN")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a campaign, how much of everything was tried."""
    if not campaign.SIZE:
        return
    tried: Counter[str] = Counter()
    for report in [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]:
        tried.update({name: count for name, count in report.user_properties if isinstance(count, int)})
    if tried:
        terminalreporter.section(f"tried, from seed {campaign.FIRST_SEED}")
    for name, count in sorted(tried.items()):
        terminalreporter.line(f"{count:>9,} {name}")
