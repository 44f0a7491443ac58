"""One layer of a policy, for users and tools: `Policy.layers` returns them."""

from __future__ import annotations

import msgspec

from bobcat.bundle.model import Policy


class PolicyLayer(msgspec.Struct, frozen=True):
    """One layer of a policy. `policy` is the layer alone, with the digest that it was compiled with.

    `limits`: its verdict takes no part in combining, and only makes the combined one stricter. `signed_by` are the
    public keys, in hexadecimal, of the signatures that the layer carries; `load_bundle(layer_keys=...)` verifies them.
    """

    name: str
    policy: Policy
    limits: bool
    signed_by: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return the digest of the layer, 64 hexadecimal digits."""
        return self.policy.digest
