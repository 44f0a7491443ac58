"""Sizes of campaigns: `BOBCAT_CAMPAIGN` is the factor, `BOBCAT_CAMPAIGN_SEED` the first seed.

Every test whose inputs are made asks here how many to make, so that one number makes all of them longer.
"""

from __future__ import annotations

import os

SIZE = int(os.environ.get("BOBCAT_CAMPAIGN") or 0)
FIRST_SEED = int(os.environ.get("BOBCAT_CAMPAIGN_SEED") or 0)
USUAL_SIZE = 1_000
"""The size of a campaign that is as long as the usual tests."""


def examples(usual: int) -> int:
    """The number of examples of a test that usually takes `usual`."""
    return max(usual, usual * SIZE // USUAL_SIZE)


def seeds(count: int, part: int, parts: int) -> range:
    """The seeds of one part of a test that takes `count` of them."""
    return range(FIRST_SEED + part, FIRST_SEED + count, parts)
