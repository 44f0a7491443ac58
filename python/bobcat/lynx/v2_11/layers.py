"""Layered policies: each layer decides alone, or abstains, and a combiner decides between them.

The defaults apply when every layer abstains: of each default, the strictest one that a layer has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from bobcat._core import RunState
from bobcat.bundle import model
from bobcat.errors import PolicyCompileError
from bobcat.lynx.core.policy import PolicyBundle, PolicyDefaults, PythonRule
from bobcat.lynx.core.types import canonical_json
from bobcat.lynx.v2_11 import bundles
from bobcat.lynx.v2_11.bundles import EMPTY, cannot_save, check_names, sealed_parts
from bobcat.lynx.v2_11.combiners import Combiner, strictest
from bobcat.lynx.v2_11.core.types import Decision
from bobcat.lynx.v2_11.fulfilment import obligations_of
from bobcat.lynx.v2_11.rule_outcome import MISSING_SHADOW, NO_MATCH, RuleOutcome, rule_outcome
from bobcat.model.decision import ActionRequest, ExecutionContext
from bobcat.model.decision import Decision as CoreDecision

Layers = tuple[tuple[str, PolicyBundle], ...]
"""The name and the policy of each layer, in order."""


@dataclass(frozen=True, slots=True)
class PolicyLayer:
    """One layer of a layered policy: its name, its source, and its Python rules."""

    name: str
    source: str | Mapping[str, Any]  # Any: plain data, checked by the front end
    python_rules: tuple[PythonRule, ...] = ()


class LayeredPolicyBundle(model.Policy):
    """A compiled layered policy. Sealed: evaluators other than those of `bobcat.lynx` get a denial.

    `merge` is called with the answers of the layers unless all abstain. Raises `TypeError` for arguments of the wrong
    type, and `PolicyCompileError` for a rule with the name of a default.
    """

    __slots__ = ("_defaults", "_files", "_layers", "_merge")
    _defaults: PolicyDefaults
    _files: tuple[str, ...]
    _layers: Layers
    _merge: Combiner

    def __new__(
        cls,
        id: str,
        layers: Layers,
        defaults: PolicyDefaults,
        merge: Combiner,
        source_files: tuple[str, ...] = (),
    ) -> Self:
        """Create a layered policy from compiled layers; `compile_policy` compiles them."""
        layers = tuple((name, policy) for name, policy in layers)
        for name, policy in layers:
            if not isinstance(policy, PolicyBundle):
                raise TypeError(f"layer {name!r} must be a PolicyBundle, got {type(policy).__name__}")
            check_names(policy)
        if not callable(merge):
            raise TypeError(f"merge must be a function, got {type(merge).__name__}")
        content = [id, _name_of(merge), [(name, policy.digest) for name, policy in layers], _plain(defaults)]
        bundle = super().__new__(cls, sealed_parts("layers", canonical_json(content), id))
        for name, value in (("_layers", layers), ("_defaults", defaults), ("_merge", merge), ("_files", source_files)):
            object.__setattr__(bundle, name, value)
        return bundle

    @property
    def id(self) -> str:
        """Return the 16 hexadecimal digits of lynx-agent's id for this policy."""
        return self.lynx_id

    @property
    def layers(self) -> Layers:  # type: ignore[override]  # lynx-agent's shape
        """Return the name and the policy of each layer, in order."""
        return self._layers

    @property
    def defaults(self) -> PolicyDefaults:  # type: ignore[override]  # lynx-agent's shape
        """Return the verdicts when every layer abstains."""
        return self._defaults

    @property
    def merge(self) -> Combiner:
        """Return the combiner."""
        return self._merge

    @property
    def source_files(self) -> tuple[str, ...]:
        """Return the names of the layers' sources."""
        return self._files

    def evaluate(
        self, request: ActionRequest, context: ExecutionContext | None = None, state: RunState | None = None
    ) -> Decision:
        """Evaluate one request in every layer. Raises what the combiner raises, `TypeError` for what it must not give.

        `state` is not used: a policy of lynx-agent remembers nothing.
        """
        answers, errors = [], []
        for name, policy in self._layers:
            outcome = _outcome(policy, request, context)
            errors += [f"{name}:{error}" for error in outcome.errors]
            found = outcome.decision
            rules = () if found is None else tuple(f"{name}:{each}" for each in found.matched_rules)
            answers.append((name, None if found is None else Decision.of(found, rules, found.obligations)))
        if all(found is None for _, found in answers):
            return self._default(request, tuple(errors))
        merged: object = self._merge(tuple(answers))
        if not isinstance(merged, CoreDecision):
            raise TypeError(f"a combiner must return a Decision, got {type(merged).__name__}")
        return Decision.of(merged, (*errors, *merged.matched_rules), obligations_of(merged))

    def _default(self, request: ActionRequest, errors: tuple[str, ...]) -> Decision:
        if not request.declared.reversible and not request.declared.has_shadow:
            reason = "irreversible action with no shadow; no layer matched; default policy"
            return Decision(self._defaults.on_missing_shadow, reason, (*errors, MISSING_SHADOW))
        return Decision(self._defaults.on_no_match, "no layer matched; default policy", (*errors, NO_MATCH))

    def _pack(
        self, name_of: Callable[[str], str], *, sources: bool, private_key: bytes | str | None, epoch: int | None
    ) -> bytes:
        raise cannot_save("layers")

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, model.Policy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<LayeredPolicyBundle {self.id}, {', '.join(name for name, _ in self._layers)}>"

    def __reduce__(self) -> tuple[Callable[..., LayeredPolicyBundle], tuple[Any, ...]]:
        return type(self), (self.id, self._layers, self._defaults, self._merge, self._files)


def compile_layers(
    layers: Sequence[PolicyLayer], merge: Combiner, compile_one: Callable[..., PolicyBundle]
) -> LayeredPolicyBundle:
    """Compile each layer with `compile_one`. Raises `PolicyCompileError`."""
    if not layers:
        raise PolicyCompileError("compile_policy([...]) requires at least one PolicyLayer")
    if not all(isinstance(layer, PolicyLayer) for layer in layers):
        raise PolicyCompileError("layered compile_policy expects a list of PolicyLayer instances")
    if not callable(merge):
        raise PolicyCompileError(f"merge must be a function, got {type(merge).__name__}")
    compiled: dict[str, PolicyBundle] = {}
    for layer in layers:
        if not isinstance(layer.name, str) or not layer.name:
            raise PolicyCompileError("PolicyLayer.name must be a non-empty string")
        if layer.name in compiled:
            raise PolicyCompileError(f"duplicate layer name: {layer.name!r}")
        source: object = layer.source
        if isinstance(source, list | tuple):
            raise PolicyCompileError(f"layer {layer.name!r} has layers of its own; a layer is one policy")
        file = f"<layer:{layer.name}>"
        compiled[layer.name] = compile_one(layer.source, file, python_rules=layer.python_rules)
    defaults = PolicyDefaults(
        strictest(each.defaults.on_missing_shadow for each in compiled.values()),
        strictest(each.defaults.on_no_match for each in compiled.values()),
    )
    hashed = {
        "layers": [{"name": name, "id": each.id} for name, each in compiled.items()],
        "merge": _name_of(merge),
        "defaults": _plain(defaults),
    }
    id = hashlib.sha256(canonical_json(hashed).encode()).hexdigest()[:16]
    files = tuple(f"<layer:{name}>" for name in compiled)
    return LayeredPolicyBundle(id, tuple(compiled.items()), defaults, merge, files)


def _outcome(policy: PolicyBundle, request: ActionRequest, context: ExecutionContext | None) -> RuleOutcome:
    if isinstance(policy, bundles.PolicyBundle):
        return policy.rule_outcome(request, context)
    return rule_outcome(policy, EMPTY, request, context)


def _name_of(merge: Combiner) -> str:
    return str(getattr(merge, "__name__", repr(merge)))


def _plain(defaults: PolicyDefaults) -> dict[str, str]:
    return {"on_missing_shadow": defaults.on_missing_shadow.value, "on_no_match": defaults.on_no_match.value}
