"""The obligations of a rule, and of a decision that a lowered function makes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Obligation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """An action that the caller of the decision point performs, before the effect or after its outcome."""

    name: str
    phase: Literal["before", "after"]
    value: Any  # Any: schema.Const
