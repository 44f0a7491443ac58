"""Mutation testing of policies: small changes, and whether a suite notices them.

`bobcat mutate` uses this package; `docs/how-to/test-a-policy.md` describes it.
"""
