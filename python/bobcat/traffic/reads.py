"""The fields of a request that the rules of a policy read, and decisions that a missing field cannot change."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from msgspec import UnsetType

from bobcat import _core
from bobcat.bundle import Policy
from bobcat.ir.code import Attribute
from bobcat.ir.schema import AnyRule, Defaults, FunctionRule, IrRule
from bobcat.ir.visit import code_nodes, leaves, refs
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.markers import NO_MATCH, NO_SHADOW, default_of
from bobcat.traffic.recorded import Path

_SHADOW: tuple[Path, ...] = (("declared", "has_shadow"), ("declared", "reversible"))
"""The fields that choose between the two defaults of a policy."""
Known = bool | None
"""The outcome of a clause: None if a missing field may change it."""


class Reads:
    """The paths that each rule of a policy reads."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._rules = [_leaf_paths(rule) for rule in policy.ir.rules]
        self._names = [_attributes(rule) for rule in policy.ir.rules]
        self._parts = _parts(policy)
        self._two_defaults = any(part.two_defaults for part in self._parts)
        self._ids = [str(rule.id) if isinstance(rule, IrRule) else rule.name for rule in policy.ir.rules]
        self._needs_all = policy.combine == "strictest"
        self._touched: dict[tuple[Path, ...], bool] = {}

    def may_touch(self, missing: tuple[Path, ...]) -> bool:
        """Return true if some rule reads one of these paths."""
        found = self._touched.get(missing)
        if found is None:
            found = any(
                (names is None or _named(names, missing)) or any(_overlaps(paths, missing) for paths in of_leaves)
                for of_leaves, names in zip(self._rules, self._names, strict=True)
            )
            if len(self._touched) < 10_000:  # redacted paths are those of a log
                self._touched[missing] = found
        return found

    def arguments(self) -> set[str]:
        """The names of the arguments that declarative rules read."""
        paths = [path for of_leaves in self._rules for leaf in of_leaves for path in leaf]
        return {path[1] for path in paths if path[0] == "args" and len(path) > 1}

    def decide(
        self, request: ActionRequest, missing: tuple[Path, ...], state: _core.RunState | None = None
    ) -> Decision | None:
        """The decision, or None if a value at one of the missing paths could change it, except as `is_open` says."""
        decision, traces = _core.explain(self._policy, request, None, state)
        if decision.transform_args is not None:  # the arguments are evaluated again, and the trace does not show it
            return None
        for index, outcome, _, tree, _ in traces:
            if outcome == "not_reached":  # in a policy of layers, rules of the next layer may follow
                continue
            names = self._names[index]
            if tree is None:
                if names is None or _named(names, missing):
                    return None
            elif _known(tree, self._rules[index], missing) is None:
                return None
        return decision

    def is_open(
        self,
        decision: Decision,
        missing: tuple[Path, ...],
        request: Callable[[], ActionRequest | None],
        state: _core.RunState | None = None,
    ) -> bool:
        """Return true for a decision that the default of a missing declaration could change.

        In a policy of layers, the default of a layer without a firing rule takes part in the decision of another one.
        """
        if not self._two_defaults or not _overlaps(_SHADOW, missing):
            return False
        rules = decision.matched_rules
        by_default = bool(rules) and default_of(rules[-1]) in (NO_MATCH, NO_SHADOW)
        if self._policy.combine is None:
            return by_default
        found = request()
        return found is None or self._defaults_take_part(found, decision, state)

    def _defaults_take_part(self, request: ActionRequest, decision: Decision, state: _core.RunState | None) -> bool:
        _, traces = _core.explain(self._policy, request, None, state)
        fired = {index for index, outcome, *_ in traces if outcome == "true"}
        if not self._needs_all and any(not part.limits and not fired.isdisjoint(part.rules) for part in self._parts):
            return False
        for part in self._parts:
            own = fired.intersection(part.rules)
            if not own and part.two_defaults:
                return True
            if decision.verdict is Verdict.DENY and any(self._ids[index] in decision.matched_rules for index in own):
                return False  # the layers below are not evaluated
        return False


class _Part(NamedTuple):
    """A layer, or the whole policy: the indexes of its rules, and whether it has two defaults that differ."""

    rules: range
    two_defaults: bool
    limits: bool


def _parts(policy: Policy) -> list[_Part]:
    layers, start = policy.ir.layers, 0
    if isinstance(layers, UnsetType):
        return [_Part(range(len(policy.ir.rules)), _differ(policy.ir.defaults), limits=False)]
    found = []
    for layer in layers.items:
        found.append(_Part(range(start, start + layer.rules), _differ(layer.defaults), layer.limits))
        start += layer.rules
    return found


def _differ(defaults: Defaults) -> bool:
    return defaults.on_no_match != defaults.on_missing_shadow


def _leaf_paths(rule: AnyRule) -> list[tuple[Path, ...]]:
    """The paths that each leaf of a rule reads."""
    if not isinstance(rule, IrRule):
        return []
    return [((leaf.head, *leaf.path), *refs(leaf.operand)) for leaf in leaves(rule.match)]


def _attributes(rule: AnyRule) -> Collection[str] | None:
    """The attributes that the code of a rule reads; None for a callable, which may read everything."""
    if isinstance(rule, IrRule):
        return ()
    if isinstance(rule, FunctionRule):
        return {node.name for node in code_nodes(rule.body) if isinstance(node, Attribute)}
    return None


def _named(names: Collection[str], missing: Collection[Path]) -> bool:
    return any(all(step in names for step in _steps(path)) for path in missing)


def _steps(path: Path) -> Path:
    """The attributes on the way to a path: entries of mappings have none."""
    if path[0] != "context":
        return path[:1]
    return path[1:3] if path[1] == "principal" else path[1:2]


def _overlaps(paths: Collection[Path], missing: Collection[Path]) -> bool:
    return any(one[: len(other)] == other[: len(one)] for one in paths for other in missing)


def _known(tree: Any, of_leaves: list[tuple[Path, ...]], missing: Collection[Path]) -> Known:  # Any: a trace
    """The outcome of a clause with any value at the missing paths: true, something else, or None if they change it."""
    if tree[0] == "leaf":
        return None if _overlaps(of_leaves[tree[8]], missing) else tree[1] == "true"
    kind, outcome, children = tree
    known = [_known(child, of_leaves, missing) for child in children]
    if None not in known:
        return bool(outcome == "true")
    # One clause that is certainly false decides `all`, also beside errors; one that is certainly true decides `any`.
    if kind == "all" and any(one is False and child[1] == "false" for one, child in zip(known, children, strict=True)):
        return False
    return True if kind == "any" and True in known else None
