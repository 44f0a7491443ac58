"""Proposed rules: granted for a time if they stay within an envelope, else a question to an approver.

    proposal = await propose(store, policy, rule, envelope=Path("max.yaml"), by="agent-7", seconds=3600)
    if proposal.status == "granted":
        policy = extended(policy, await granted(store, policy))

The end of the time is part of the granted rule: it fires before that only, wherever the extended policy is used.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
