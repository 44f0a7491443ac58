"""Test utilities for users' own stores, agents and tools.

from bobcat.testing import run_store_contract

def test_my_store_keeps_the_contract():
    asyncio.run(run_store_contract(lambda: MyStore(...)))

`bobcat.testing.crashsim` kills users' runs at every point.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
