"""Policies as lynx-agent 2.11 compiles them: with its ids, with obligations and with layers."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from bobcat import pdp
from bobcat.bundle import model
from bobcat.errors import PolicyCompileError
from bobcat.frontend.lynx.bundle_id import lynx_id
from bobcat.frontend.lynx.source import UnreadableSource, read_text, snapshot
from bobcat.frontend.yaml.encoding import decode
from bobcat.lynx.core.policy import PolicyBundle as PolicyBundleOf25
from bobcat.lynx.core.policy import PythonRule
from bobcat.lynx.core.policy import compile_policy as compile_of_2_5
from bobcat.lynx.core.policy import load_policy_file as load_of_2_5
from bobcat.lynx.v2_11.bundles import ObligedBundle, PolicyBundle
from bobcat.lynx.v2_11.combiners import Combiner, first_layer_wins, last_layer_wins, strict_overrides_loose
from bobcat.lynx.v2_11.core.types import Decision, Obligation
from bobcat.lynx.v2_11.layers import LayeredPolicyBundle, PolicyLayer, compile_layers
from bobcat.lynx.v2_11.obligations import KEY, has_obligations, obligations_of, without_obligations
from bobcat.model import constructors
from bobcat.model.constructors import DEFAULT_APPROVAL_SECONDS
from bobcat.model.decision import ActionRequest, ExecutionContext

__all__ = [
    "Combiner",
    "LayeredPolicyBundle",
    "Policy",
    "PolicyLayer",
    "allow",
    "approve_required",
    "compile_policy",
    "deny",
    "dry_run",
    "evaluate",
    "first_layer_wins",
    "last_layer_wins",
    "load_policy_file",
    "strict_overrides_loose",
    "transform",
]

Policy: TypeAlias = PolicyBundleOf25 | LayeredPolicyBundle
"""A compiled policy of either kind."""
_ESCAPED_LETTERS = re.compile(r"\\[xuU\r\n]")
"""Escapes of YAML that can stand for letters of a key, or divide it."""
Names: TypeAlias = tuple[str, ...]
Duties: TypeAlias = tuple[Obligation, ...]


def allow(reason: str = "", matched_rules: Names = (), obligations: Duties = ()) -> Decision:
    """Run the call as proposed."""
    return Decision.of(constructors.allow(reason), matched_rules, obligations)


def deny(reason: str, matched_rules: Names = (), obligations: Duties = ()) -> Decision:
    """Deny the call; the model sees `reason`."""
    return Decision.of(constructors.deny(reason), matched_rules, obligations)


def dry_run(reason: str = "", matched_rules: Names = (), obligations: Duties = ()) -> Decision:
    """Run the tool's shadow instead of the tool."""
    return Decision.of(constructors.dry_run(reason), matched_rules, obligations)


def approve_required(
    approvers: Names = (),
    timeout_seconds: int = DEFAULT_APPROVAL_SECONDS,
    reason: str = "",
    matched_rules: Names = (),
    obligations: Duties = (),
) -> Decision:
    """Ask one of `approvers` first, and wait at most `timeout_seconds`."""
    return Decision.of(constructors.approve_required(approvers, timeout_seconds, reason), matched_rules, obligations)


def transform(
    transform_args: Mapping[str, Any],  # Any: arguments of any tool
    reason: str = "",
    matched_rules: Names = (),
    obligations: Duties = (),
) -> Decision:
    """Run the call with `transform_args` in place of the proposed arguments."""
    return Decision.of(constructors.transform(transform_args, reason), matched_rules, obligations)


def compile_policy(
    source: str | Mapping[str, Any] | Sequence[PolicyLayer],  # Any: plain data, checked by the front end
    source_path: str = "<inline>",
    *,
    python_rules: Iterable[PythonRule] = (),
    python_rule_priorities: Iterable[tuple[str, int]] = (),
    merge: Combiner | None = None,
) -> PolicyBundleOf25 | LayeredPolicyBundle:
    """Compile a policy, or a list of layers, whose decisions `merge` combines.

    The default combiner is `strict_overrides_loose`. Raises `PolicyCompileError`.
    """
    python_rules, python_rule_priorities = tuple(python_rules), tuple(python_rule_priorities)
    if isinstance(source, list | tuple):
        if python_rules or python_rule_priorities:
            raise PolicyCompileError(
                "pass python_rules per layer (PolicyLayer.python_rules), not to the layered compile_policy call"
            )
        return compile_layers(source, strict_overrides_loose if merge is None else merge, _compile)
    if merge is not None:
        raise PolicyCompileError("merge= is only valid when compiling a list of PolicyLayer")
    given = cast("str | Mapping[str, Any]", source)
    return _compile(given, source_path, python_rules=python_rules, python_rule_priorities=python_rule_priorities)


def load_policy_file(path: str | os.PathLike[str], *, python_rules: Iterable[PythonRule] = ()) -> PolicyBundleOf25:
    """Compile the policy in a file; see `compile_policy`."""
    python_rules = tuple(python_rules)
    try:
        text, bad = decode(Path(path).read_bytes(), os.fspath(path))
    except (OSError, ValueError):
        text, bad = "", None
    if bad is None and _may_have_obligations(text):
        return _compile(text, os.fspath(path), python_rules=python_rules)
    return _identified(load_of_2_5(path, python_rules=python_rules))


def evaluate(bundle: model.Policy, request: ActionRequest, context: ExecutionContext) -> Decision:
    """Return the decision on a request. A policy of another profile decides as it is."""
    if isinstance(bundle, PolicyBundle | LayeredPolicyBundle):
        return bundle.evaluate(request, context)
    found = pdp.evaluate(bundle, request, context)
    if getattr(found, "obligations", ()):
        return deny("the decision has obligations other than those of lynx-agent 2.11; denied", found.matched_rules)
    return Decision.of(found, found.matched_rules)


def _compile(
    source: str | Mapping[str, Any], source_path: str, *, python_rules: Iterable[PythonRule] = (),
    python_rule_priorities: Iterable[tuple[str, int]] = (),
) -> PolicyBundle:  # fmt: skip
    options: dict[str, Any] = {"python_rules": python_rules, "python_rule_priorities": python_rule_priorities}
    data = _obliged(source)
    if data is None:
        return _identified(compile_of_2_5(source, source_path, **options))
    compiled = compile_of_2_5(without_obligations(data), source_path, **options)
    return _with_obligations(compiled, data)


def _obliged(source: str | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the plain data of a source whose rules may have obligations, None for another one.

    A source that cannot be read has none: the compiler reports it.
    """
    try:
        if isinstance(source, str):
            data = read_text(source)[0] if _may_have_obligations(source) else None
        else:
            data = snapshot(source)
    except UnreadableSource:
        return None
    return data if has_obligations(data) else None


def _may_have_obligations(text: str) -> bool:
    """Return false for a YAML text in which no key can be `obligations`. PERF: spares a second reading of it."""
    return KEY in text or _ESCAPED_LETTERS.search(text) is not None


def _with_obligations(compiled: PolicyBundleOf25, data: Mapping[str, Any]) -> PolicyBundle:
    obligations, inner = obligations_of(data), _identified(compiled)
    if not obligations:
        return inner
    rules = [(rule.name, rule.priority) for rule in inner.manifest.host_rules]
    return ObligedBundle.seal(inner, obligations, lynx_id(data, rules, obligations=True))


def _identified(bundle: PolicyBundleOf25) -> PolicyBundle:
    parts = bundle._parts
    if parts.lynx_id is None:
        raise PolicyCompileError("this policy has no id in lynx-agent")
    try:
        identity = parts.lynx_id(obligations=True)
    except ValueError as error:
        raise PolicyCompileError(str(error), parts.diagnostics) from error
    manifest = msgspec.structs.replace(parts.manifest, lynx_id=identity)
    return PolicyBundle(dataclasses.replace(parts, section=manifest))
