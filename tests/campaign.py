"""Sizes of campaigns: `BOBCAT_CAMPAIGN` is the factor, `BOBCAT_CAMPAIGN_SEED` the first seed.

Every test whose inputs are made asks here how many to make, so that one number makes all of them longer.
"""

from __future__ import annotations

import os

SIZE = int(os.environ.get("BOBCAT_CAMPAIGN") or 0)
FIRST_SEED = int(os.environ.get("BOBCAT_CAMPAIGN_SEED") or 0)
USUAL_SIZE = 1_000
"""The size of a campaign that tries three times as many examples as the usual tests."""
LEAST = 20
"""The examples of a property test that are not left to campaigns."""


def examples(full: int) -> int:
    """The number of examples of a property test: `full` in a campaign of the usual size, a third without one."""
    return max(full, full * SIZE // USUAL_SIZE) if SIZE else max(min(full, LEAST), full // 3)


def rounds(usual: int) -> int:
    """The number of inputs of a test that campaigns do not select by its mark, or that counts its inputs."""
    return max(usual, usual * SIZE // USUAL_SIZE)


def limit(usual: int) -> int | None:
    """The most inputs of a test that tries all there are in a campaign: `usual` of them otherwise, always the same."""
    return None if SIZE else usual


def seeds(count: int, part: int, parts: int) -> range:
    """The seeds of one part of a test that takes `count` of them."""
    return range(FIRST_SEED + part, FIRST_SEED + count, parts)
