"""Test utilities for policies, and for users' own stores, agents and tools.

from bobcat.testing import decide, run_store_contract

def test_small_payments_are_allowed():
    decide("policy.yaml", "pay", {"amount": 20}).expect(verdict="allow", rule="small-payments")

def test_my_store_keeps_the_contract():
    asyncio.run(run_store_contract(lambda: MyStore(...)))

`bobcat test` and pytest run suites of policy tests, `*.policytest.yaml`. `bobcat.testing.crashsim` kills users' runs
at every point.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
