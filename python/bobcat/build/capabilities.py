"""Capabilities in Python: an action, a resource and limits, with the keys that they have in YAML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bobcat.build.places import Positions, SourcePosition, here

if TYPE_CHECKING:
    from bobcat.frontend.builder.located import PolicyNames
    from bobcat.frontend.builder.rules import BuiltRule


@dataclass(frozen=True, slots=True)
class Capability:
    """A capability as written. The compiler checks it, and makes one rule for each of its actions."""

    place: SourcePosition = field(compare=False, repr=False)
    # Any: each key as it was given; the compiler checks it as it checks the key in YAML.
    keys: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        action, *rest = (value for _, value in self.keys)
        names = (name for name, _ in self.keys[1:])
        return f"capability({', '.join([repr(action), *(f'{n}={v!r}' for n, v in zip(names, rest, strict=True))])})"

    def __bobcat_rules__(self, index: int, positions: Positions, names: PolicyNames) -> tuple[BuiltRule, ...]:
        """Return the rules in the IR, or the diagnostics that prevented them. `index` is that in its policy."""
        from bobcat.build.surface import built_capability

        return built_capability(dict(self.keys), self.place, index, positions, names)


def capability(action: str | Iterable[str], **keys: Any) -> Capability:  # Any: as in YAML
    """Return a capability: `capability("fs.write", resource="ws:out/**", undo="required")`.

    The keys are those of `capabilities` in YAML. A tuple or another iterable of names is a list.
    """
    named = action if isinstance(action, str) else list(action)
    return Capability(here(), (("action", named), *keys.items()))
