"""What every test shares: hypothesis profiles, the switch for campaigns, and the servers that stores need."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from services import own_postgres, own_redis, postgres_url, redis_url

__all__ = ["own_postgres", "own_redis", "postgres_url", "redis_url"]

CAMPAIGN = "BOBCAT_CAMPAIGN"

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("campaign", settings.get_profile("default"), max_examples=2_000, print_blob=True)
settings.load_profile("campaign" if os.environ.get(CAMPAIGN) else "ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `slow` run in campaigns only."""
    if os.environ.get(CAMPAIGN):
        return
    skip = pytest.mark.skip(reason=f"a campaign: runs in `make check-slow`, which sets {CAMPAIGN}")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)
