"""Policies as lynx-agent 2.11 compiles them: with its ids. Obligations and layers are refused."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from bobcat.errors import PolicyCompileError
from bobcat.lynx.core.policy import PolicyBundle, PythonRule
from bobcat.lynx.core.policy import compile_policy as compile_of_2_5
from bobcat.lynx.core.policy import load_policy_file as load_of_2_5
from bobcat.lynx.v2_11.absent import absent

__all__ = ["compile_policy", "load_policy_file"]


def compile_policy(
    source: str | Mapping[str, Any] | Sequence[object],  # Any: plain data, checked by the front end
    source_path: str = "<inline>",
    *,
    python_rules: Iterable[PythonRule] = (),
    python_rule_priorities: Iterable[tuple[str, int]] = (),
    merge: None = None,
) -> PolicyBundle:
    """Compile a policy as lynx-agent 2.11 compiles it, and as 2.5 does but for the id. Raises `PolicyCompileError`."""
    if merge is not None or isinstance(source, list | tuple):
        raise PolicyCompileError(absent("a policy of layers"))
    bundle = compile_of_2_5(
        cast("str | Mapping[str, Any]", source),
        source_path,
        python_rules=python_rules,
        python_rule_priorities=python_rule_priorities,
    )
    return _identified(bundle)


def load_policy_file(path: str | os.PathLike[str], *, python_rules: Iterable[PythonRule] = ()) -> PolicyBundle:
    """Compile the policy in a file; see `compile_policy`."""
    return _identified(load_of_2_5(path, python_rules=python_rules))


def _identified(bundle: PolicyBundle) -> PolicyBundle:
    parts = bundle._parts
    if parts.lynx_id is None:
        raise PolicyCompileError("this policy has no id in lynx-agent")
    try:
        identity = parts.lynx_id(obligations=True)
    except ValueError as error:
        raise PolicyCompileError(str(error), parts.diagnostics) from error
    manifest = msgspec.structs.replace(parts.manifest, lynx_id=identity)
    return PolicyBundle(msgspec.structs.replace(parts, manifest=manifest))
