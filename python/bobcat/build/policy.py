"""Policies: rules in order, with the defaults of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bobcat.build.places import Positions
from bobcat.build.rules import Rule, When

if TYPE_CHECKING:
    from bobcat.bundle.model import PolicyBundle
    from bobcat.frontend.builder.rules import BuiltRule


class Policy:
    """Rules, evaluated in this order if their priorities are equal, as in a file.

    `Policy(rule, rule)` or `Policy(rules)`. Rules without an id are named `rule_<index>`. The defaults apply if this
    policy is compiled alone; beside YAML, the defaults of the YAML apply, and this policy may not have any.
    """

    def __init__(
        self,
        *rules: Rule | Iterable[Rule],
        on_no_match: str | None = None,
        on_missing_shadow: str | None = None,
        on_rule_error: str | None = None,
    ) -> None:
        self._rules = tuple(_rules(rules))
        given = {"on_no_match": on_no_match, "on_missing_shadow": on_missing_shadow, "on_rule_error": on_rule_error}
        self._defaults = {name: value for name, value in given.items() if value is not None}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in order."""
        return self._rules

    @property
    def defaults(self) -> Mapping[str, str]:
        """Return the defaults of this policy."""
        return dict(self._defaults)

    def compile(self, **options: Any) -> PolicyBundle:  # Any: those of `compile_policy`
        """Compile this policy alone; the options are those of `compile_policy`."""
        from bobcat.compiler import compile_policy

        return compile_policy(self, **options)

    def __bobcat_policy__(self) -> tuple[Mapping[str, str], tuple[BuiltRule, ...]]:
        """Return the defaults, and the rules in the IR."""
        positions = Positions()
        return self.defaults, tuple(rule.__bobcat_rule__(index, positions) for index, rule in enumerate(self._rules))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __add__(self, other: Policy) -> Policy:
        """Return a policy with the rules of both, these first. TypeError if both have defaults."""
        if not isinstance(other, Policy):
            return NotImplemented
        if self._defaults and other._defaults:
            raise TypeError("both policies have defaults; remove them from one")
        return Policy(self._rules, other._rules, **{**self._defaults, **other._defaults})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return (self._rules, self._defaults) == (other._rules, other._defaults)

    __hash__ = None  # type: ignore[assignment]  # operands may be lists

    def __repr__(self) -> str:
        parts = [*(f"    {rule!r},\n" for rule in self._rules)]
        parts += [f"    {name}={value!r},\n" for name, value in self._defaults.items()]
        return f"Policy(\n{''.join(parts)})" if parts else "Policy()"


def _rules(given: Iterable[Rule | Iterable[Rule]]) -> Iterator[Rule]:
    for item in given:
        if isinstance(item, Rule):
            yield item
        elif isinstance(item, When):
            raise TypeError(f"`{item!r}` has no verdict: add `.allow()`, `.deny(...)` or another verdict")
        elif isinstance(item, Iterable) and not isinstance(item, str | bytes | Mapping):
            yield from _rules(item)
        else:
            raise TypeError(f"expected a rule, not a value of type `{type(item).__name__}`; write `when(...).deny()`")
