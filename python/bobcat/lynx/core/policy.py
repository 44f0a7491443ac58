"""Policies of the `lynx` profile: they decide like lynx-agent 2.5, and warn about its permissive behaviour.

A bundle is Bobcat's own, with the interface of lynx-agent: `id` is the 16 hexadecimal digits that its journals are
written with, `digest` is Bobcat's whole digest; `rules` have a `matcher` and a `decision_factory`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import msgspec

from bobcat import compiler
from bobcat.bundle import model
from bobcat.bundle.views import RuleView
from bobcat.diagnostics.model import Severity
from bobcat.errors import PolicyCompileError
from bobcat.ir.construct import all_
from bobcat.ir.schema import IrRule
from bobcat.model.constructors import allow, approve_required, deny, dry_run, transform
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Verdict
from bobcat.pdp import evaluate

__all__ = [
    "PolicyBundle",
    "PolicyCompileError",
    "PolicyDefaults",
    "PythonRule",
    "allow",
    "approve_required",
    "compile_policy",
    "deny",
    "dry_run",
    "evaluate",
    "load_policy_file",
    "transform",
]

PythonRule: TypeAlias = Callable[[ActionRequest, ExecutionContext], Decision | None]
"""A rule in Python: it returns a decision, or abstains."""


@dataclass(frozen=True, slots=True)
class PolicyDefaults:
    """Verdicts when no rule decides."""

    on_missing_shadow: Verdict = Verdict.APPROVE_REQUIRED
    on_no_match: Verdict = Verdict.DENY


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One declarative rule. `matcher` tests a call, `decision_factory` creates the decision."""

    id: str
    priority: int
    description: str
    matcher: Callable[[ActionRequest, ExecutionContext], bool]
    decision_factory: Callable[[ActionRequest, ExecutionContext], Decision]
    source_location: str
    order: int = 0


class PolicyBundle(model.PolicyBundle):
    """A compiled policy. Equal to every bundle with the same policy digest."""

    __slots__ = ()

    @classmethod
    def of(cls, bundle: model.PolicyBundle) -> Self:
        """Return the same policy with lynx-agent's interface."""
        return cls(bundle._parts)

    @property
    def id(self) -> str:
        """Return the 16 hexadecimal digits of lynx-agent's id for this policy."""
        return self.lynx_id

    @property
    def rules(self) -> tuple[CompiledRule, ...]:  # type: ignore[override]  # lynx-agent's shape
        """Return the declarative rules in evaluation order."""
        nodes = [rule for rule in self.ir.rules if isinstance(rule, IrRule)]
        return tuple(self._compiled(view, node) for view, node in zip(super().rules, nodes, strict=True))

    @property
    def defaults(self) -> PolicyDefaults:  # type: ignore[override]  # lynx-agent's shape
        """Return the verdicts when no rule decides."""
        defaults = self.manifest.defaults
        return PolicyDefaults(Verdict(defaults.on_missing_shadow), Verdict(defaults.on_no_match))

    @property
    def eval_order(self) -> tuple[tuple[str, int], ...]:
        """Return every rule in evaluation order, as its id and its priority."""
        rules = self.ir.rules
        return tuple((str(rule.id) if isinstance(rule, IrRule) else rule.name, rule.priority) for rule in rules)

    def _compiled(self, view: RuleView, rule: IrRule) -> CompiledRule:
        def matcher(request: ActionRequest, context: ExecutionContext) -> bool:
            return str(rule.id) in map(str, self._alone(rule).evaluate(request, context).matched_rules)

        def decision_factory(request: ActionRequest, context: ExecutionContext) -> Decision:
            always = msgspec.structs.replace(rule, match=all_(()))
            return self._alone(always).evaluate(request, context)

        return CompiledRule(
            view.id, view.priority, view.description, matcher, decision_factory, view.source_location, view.order
        )

    def _alone(self, rule: IrRule) -> model.PolicyBundle:
        """Return a policy of one rule, with this policy's defaults."""
        return model.PolicyBundle.from_policy(msgspec.structs.replace(self.ir, rules=(rule,)))

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, model.PolicyBundle) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    # Any: what `copyreg` wants.
    def __reduce__(self) -> tuple[Callable[..., PolicyBundle], tuple[Any, ...]]:
        return _unpickle, super().__reduce__()


# Any: what `copyreg` gave.
def _unpickle(load: Callable[..., model.PolicyBundle], arguments: tuple[Any, ...]) -> PolicyBundle:
    return PolicyBundle.of(load(*arguments))


def compile_policy(
    source: str | Mapping[str, Any],  # Any: plain data, checked by the front end
    source_path: str = "<inline>",
    *,
    python_rules: Iterable[PythonRule] = (),
    python_rule_priorities: Iterable[tuple[str, int]] = (),
) -> PolicyBundle:
    """Compile a policy as lynx-agent 2.5 compiles it. Each permissive behaviour is a `PolicyWarning`, once for each
    rule.
    """
    try:
        bundle = compiler.compile_policy(
            source,
            source_path,
            profile="lynx",
            python_rules=tuple(python_rules),
            python_rule_priorities=tuple(python_rule_priorities),
        )
    except PolicyCompileError as error:
        raise _plain(error) from None
    return PolicyBundle.of(bundle)


def load_policy_file(path: str | os.PathLike[str], *, python_rules: Iterable[PythonRule] = ()) -> PolicyBundle:
    """Compile the policy in a file; see `compile_policy`."""
    try:
        return PolicyBundle.of(compiler.load_policy_file(path, profile="lynx", python_rules=tuple(python_rules)))
    except PolicyCompileError as error:
        raise _plain(error) from None


def _plain(error: PolicyCompileError) -> PolicyCompileError:
    """Return the error with only its message, the form that programs written for lynx-agent expect."""
    for found in error.diagnostics:
        if found.severity is Severity.ERROR:
            return PolicyCompileError(found.message, error.diagnostics)
    return error
