"""Policies: rules in order, with the defaults of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bobcat.build.capabilities import Capability
from bobcat.build.places import Positions, here
from bobcat.build.rules import Rule, When

if TYPE_CHECKING:
    from bobcat.bundle.model import PolicyBundle
    from bobcat.frontend.builder.rules import BuiltRule


class Policy:
    """Rules, evaluated in this order if their priorities are equal, as in a file.

    `Policy(rule, rule)` or `Policy(rules)`. Rules without an id are named `rule_<index>`. The defaults apply if this
    policy is compiled alone; beside YAML, the defaults of the YAML apply, and this policy may not have any.
    `resources` and `sources` are those of its rules and capabilities, as in YAML; in `sources`, a condition stands for
    a match.
    """

    def __init__(
        self,
        *rules: Rule | Capability | Iterable[Rule | Capability],
        on_no_match: str | None = None,
        on_missing_shadow: str | None = None,
        on_rule_error: str | None = None,
        resources: Mapping[str, Mapping[str, str]] | None = None,
        sources: Mapping[str, Mapping[str, Any]] | None = None,  # Any: as in YAML
    ) -> None:
        items = tuple(_rules(rules))
        self._rules = tuple(item for item in items if isinstance(item, Rule))
        self._capabilities = tuple(item for item in items if isinstance(item, Capability))
        self._resources = {name: dict(resource) for name, resource in (resources or {}).items()}
        self._sources = {name: dict(source) for name, source in (sources or {}).items()}
        self._place = here()
        given = {"on_no_match": on_no_match, "on_missing_shadow": on_missing_shadow, "on_rule_error": on_rule_error}
        self._defaults = {name: value for name, value in given.items() if value is not None}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in order."""
        return self._rules

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """Return the capabilities in order; their rules come after the others of equal priority."""
        return self._capabilities

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
        if not self._capabilities and not self._resources and not self._sources:
            rules = (rule.__bobcat_rule__(index, positions) for index, rule in enumerate(self._rules))
            return self.defaults, tuple(rules)
        from bobcat.build.surface import built_names

        names, findings = built_names(self._resources, self._sources, self._place, positions)
        built = [rule.__bobcat_rule__(index, positions, names) for index, rule in enumerate(self._rules)]
        for index, item in enumerate(self._capabilities):
            built.extend(item.__bobcat_rules__(index, positions, names))
        return self.defaults, (*findings, *built)

    def __iter__(self) -> Iterator[Rule | Capability]:
        return iter((*self._rules, *self._capabilities))

    def __len__(self) -> int:
        return len(self._rules) + len(self._capabilities)

    def __add__(self, other: Policy) -> Policy:
        """Return a policy with the rules of both, these first. TypeError if both have defaults."""
        if not isinstance(other, Policy):
            return NotImplemented
        if self._defaults and other._defaults:
            raise TypeError("both policies have defaults; remove them from one")
        twice = [name for name, item in self._resources.items() if other._resources.get(name, item) != item]
        if twice:
            raise TypeError(f"both policies have a resource `{twice[0]}`; rename it in one")
        twice = [name for name, item in self._sources.items() if repr(other._sources.get(name, item)) != repr(item)]
        if twice:
            raise TypeError(f"both policies have a source `{twice[0]}`; rename it in one")
        defaults = {**self._defaults, **other._defaults}
        resources, sources = {**self._resources, **other._resources}, {**self._sources, **other._sources}
        return Policy(self, other, resources=resources, sources=sources, **defaults)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return self._content == other._content

    @property
    def _content(self) -> tuple[object, ...]:
        return self._rules, self._capabilities, self._resources, repr(self._sources), self._defaults

    __hash__ = None  # type: ignore[assignment]  # operands may be lists

    def __repr__(self) -> str:
        parts = [*(f"    {rule!r},\n" for rule in self)]
        parts += [f"    resources={self._resources!r},\n"] if self._resources else []
        parts += [f"    sources={self._sources!r},\n"] if self._sources else []
        parts += [f"    {name}={value!r},\n" for name, value in self._defaults.items()]
        return f"Policy(\n{''.join(parts)})" if parts else "Policy()"


def _rules(given: Iterable[Rule | Capability | Iterable[Rule | Capability]]) -> Iterator[Rule | Capability]:
    for item in given:
        if isinstance(item, Rule | Capability):
            yield item
        elif isinstance(item, When):
            raise TypeError(f"`{item!r}` has no verdict: add `.allow()`, `.deny(...)` or another verdict")
        elif isinstance(item, Iterable) and not isinstance(item, str | bytes | Mapping):
            yield from _rules(item)
        else:
            raise TypeError(f"expected a rule, not a value of type `{type(item).__name__}`; write `when(...).deny()`")
