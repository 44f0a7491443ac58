"""The policies in question: a `Policy`, a file, a text, or what `bobcat.build` builds."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bobcat.bundle.load import is_bundle, load_bundle
from bobcat.bundle.model import Policy
from bobcat.errors import PolicyWarning
from bobcat.ir import construct
from bobcat.ir.schema import Defaults

PolicyInput: TypeAlias = Policy | os.PathLike[str] | str | Mapping[str, Any]  # Any: plain data
"""A policy, the path of a source, a bundle or a module of rules, the text of a source, or plain data."""
MatchInput: TypeAlias = str | Mapping[str, Any]  # Any: plain data
"""A match of the policy language, as YAML text or as plain data."""
_MODULE = ".py"


def policy_of(given: PolicyInput) -> Policy:
    """Return the policy in question. Raises `PolicyCompileError` and `BundleError` as `Policy.compile` does."""
    if isinstance(given, Policy):
        return given
    data = _bundle_in(given)
    if data is not None:
        return load_bundle(data)
    from bobcat.compiler import compile_policy, load_policy_file  # PERF: a bundle needs no front end

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        if not isinstance(given, os.PathLike):
            return compile_policy(given)
        path = os.fspath(given)
        if path.endswith(_MODULE):
            return _of_module(path)
        return load_policy_file(path)


def _bundle_in(given: PolicyInput) -> bytes | None:
    if not isinstance(given, os.PathLike):
        return None
    try:
        data = Path(given).read_bytes()
    except OSError:
        return None  # the compiler has the words for a file that cannot be read
    return data if is_bundle(data) else None


def _of_module(path: str) -> Policy:
    from bobcat.build.rule_module import is_policy, load_rules
    from bobcat.compiler import compile_policy

    rules = load_rules(Path(path).read_text("utf-8"), path).rules
    built = [rule for rule in rules if is_policy(rule)]
    source: Any = built[0] if len(built) == 1 else {}  # Any: a policy that its module built
    return compile_policy(source, path, python_rules=[rule for rule in rules if rule is not source])


def denies_everything() -> Policy:
    """Return a policy without rules that denies every call: that of a file which does not exist."""
    return Policy.from_policy(construct.policy([], defaults=Defaults("deny", "deny", "deny")))
