"""Policies as lynx-agent 2.11 compiles them: their decisions have obligations.

A policy with obligations is a *sealed* policy: it is evaluated here, and its program, which every other evaluator
reads, denies each call with the reason. So no part of Bobcat that knows nothing about obligations executes a call
without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import msgspec

from bobcat._core import Program, RunState, sha256
from bobcat.bundle import model
from bobcat.bundle.host_code import HostFunction
from bobcat.bundle.parts import BundleParts
from bobcat.errors import PolicyCompileError
from bobcat.ir.construct import all_, policy
from bobcat.ir.schema import Defaults, IrRule
from bobcat.lynx.core import policy as v2_5
from bobcat.lynx.core.policy import CompiledRule, PolicyDefaults
from bobcat.lynx.v2_11.core.types import Decision
from bobcat.lynx.v2_11.obligations import Table, rule_key
from bobcat.lynx.v2_11.rule_outcome import MISSING_SHADOW, NO_MATCH, MarkedRule, RuleOutcome, rule_outcome
from bobcat.model.decision import ActionRequest, ExecutionContext
from bobcat.text.json_text import loose_json_text

EMPTY: Table = MappingProxyType({})


class PolicyBundle(v2_5.PolicyBundle):
    """A compiled policy whose Python rules may give obligations."""

    __slots__ = ()

    def __new__(cls, parts: BundleParts) -> Self:
        """Load the program of a compiled policy."""
        rules = zip(parts.manifest.host_rules, parts.host_rules, strict=True)
        marked = tuple(MarkedRule(fn, name.name) for name, fn in rules)
        bundle = Program.__new__(cls, parts.ir, marked)
        object.__setattr__(bundle, "_parts", parts)
        return bundle

    @property
    def obligations(self) -> Table:
        """Return the obligations of the declarative rules."""
        return EMPTY

    def rule_outcome(self, request: ActionRequest, context: ExecutionContext | None) -> RuleOutcome:
        """Return the outcome of the rules, without the defaults."""
        return rule_outcome(self, self.obligations, request, context)

    def evaluate(
        self, request: ActionRequest, context: ExecutionContext | None = None, state: RunState | None = None
    ) -> Decision:
        """Evaluate one request. `state` is not used: a policy of lynx-agent remembers nothing."""
        return self.rule_outcome(request, context).final

    def __reduce__(self) -> tuple[Callable[..., PolicyBundle], tuple[Any, ...]]:
        load, arguments = super().__reduce__()
        return _unpickle, (load, arguments)


class ObligedBundle(PolicyBundle):
    """A compiled policy whose rules have obligations; sealed."""

    __slots__ = ("_inner", "_obligations")
    _inner: PolicyBundle
    _obligations: Table

    @classmethod
    def seal(cls, inner: PolicyBundle, obligations: Table, identity: str) -> Self:
        """Return `inner` with obligations. `identity` is the id that lynx-agent 2.11 gives the policy.

        Raises `PolicyCompileError` for a rule with the name of a default.
        """
        check_names(inner)
        text = loose_json_text([inner.digest, sorted((repr(key), _plain(value)) for key, value in obligations.items())])
        bundle = cls(sealed_parts("obligations", text, identity))
        object.__setattr__(bundle, "_inner", inner)
        object.__setattr__(bundle, "_obligations", obligations)
        return bundle

    @property
    def obligations(self) -> Table:
        """Return the obligations of the declarative rules."""
        return self._obligations

    def rule_outcome(self, request: ActionRequest, context: ExecutionContext | None) -> RuleOutcome:
        """Return the outcome of the rules, without the defaults."""
        return rule_outcome(self._inner, self._obligations, request, context)

    @property
    def version(self) -> int:
        """Return the version of the policy language."""
        return self._inner.version

    @property
    def rules(self) -> tuple[CompiledRule, ...]:  # type: ignore[override]  # lynx-agent's shape
        """Return the declarative rules in evaluation order."""
        return tuple(self._with_obligations(each) for each in self._inner.rules)

    @property
    def python_rules(self) -> tuple[tuple[str, int, HostFunction], ...]:
        """Return the Python rules in evaluation order: name, priority, callable."""
        return self._inner.python_rules

    @property
    def defaults(self) -> PolicyDefaults:  # type: ignore[override]  # lynx-agent's shape
        """Return the verdicts when no rule decides."""
        return self._inner.defaults

    @property
    def eval_order(self) -> tuple[tuple[str, int], ...]:
        """Return every rule in evaluation order, as its id and its priority."""
        return self._inner.eval_order

    @property
    def source_files(self) -> tuple[str, ...]:
        """Return the files the policy was compiled from."""
        return self._inner.source_files

    def _with_obligations(self, compiled: CompiledRule) -> CompiledRule:
        duties = self._obligations.get(rule_key(compiled.id), ())

        def decision_factory(request: ActionRequest, context: ExecutionContext) -> Decision:
            given = compiled.decision_factory(request, context)
            return Decision.of(given, given.matched_rules, duties)

        return replace(compiled, decision_factory=decision_factory)

    def _pack(
        self, name_of: Callable[[str], str], *, sources: bool, private_key: bytes | str | None, epoch: int | None
    ) -> bytes:
        raise cannot_save("obligations")

    def __reduce__(self) -> tuple[Callable[..., PolicyBundle], tuple[Any, ...]]:
        return type(self).seal, (self._inner, dict(self._obligations), self.id)


def sealed_parts(feature: str, content: str, identity: str) -> BundleParts:
    """Return the program of a policy that is evaluated here only. `content` determines its digest."""
    digest = sha256(b"bobcat/lynx-2.11/v1\0", content.encode("utf-8", "surrogatepass")).hex()
    reason = f"a policy with {feature} is evaluated by `bobcat.lynx` as lynx-agent 2.11 only; denied ({digest})"
    deny = IrRule(f"<{feature} of lynx-agent 2.11>", 0, all_(()), "deny", reason, (), None, None)
    refusing = policy([deny], profile="lynx", defaults=Defaults("deny", "deny", "continue"), language_version=1)
    parts = model.Policy.from_policy(refusing)._parts
    return replace(parts, section=msgspec.structs.replace(parts.manifest, lynx_id=identity))


def cannot_save(feature: str) -> ValueError:
    """The error about a bundle file of a sealed policy."""
    return ValueError(f"a policy of lynx-agent 2.11 with {feature} cannot be saved as a bundle; keep its source")


def check_names(bundle: v2_5.PolicyBundle) -> None:
    """Raise `PolicyCompileError` for a declarative rule that has the name of a default."""
    for each in bundle.ir.rules:
        if isinstance(each, IrRule) and each.id in (NO_MATCH, MISSING_SHADOW):
            raise PolicyCompileError(f"Rule {each.id!r}: this is the name of a default; give the rule another id")


def _plain(obligations: tuple[Any, ...]) -> list[Mapping[str, Any]]:
    return [{"id": each.id, "phase": each.phase, "params": dict(each.params)} for each in obligations]


# Any: what `copyreg` gave.
def _unpickle(load: Callable[..., v2_5.PolicyBundle], arguments: tuple[Any, ...]) -> PolicyBundle:
    return PolicyBundle.of(load(*arguments))
