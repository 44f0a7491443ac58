"""The driver of the compiler: a source and Python rules in, a bundle or diagnostics out.

    text or mapping ──► front end of the profile ──► IR ──► bundle
    Python rules ─────► functions, host rules

A worker never imports this: it loads bundles.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, assert_never, get_args

from bobcat.bundle.model import PolicyBundle
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic, Severity
from bobcat.display import safe_text
from bobcat.errors import PolicyCompileError, PolicyWarning
from bobcat.frontend.encoding import decode
from bobcat.frontend.lowered import Lowered
from bobcat.frontend.pyrules.built import AnyPythonRule, BuiltPolicy, take_built, texts_of, with_built
from bobcat.frontend.pyrules.host import Host, Priorities, PythonRules, to_rules
from bobcat.ir.canonical import EncodingError
from bobcat.ir.schema import Policy, Profile, Rule
from bobcat.render import render_text

PROFILES: tuple[Profile, ...] = get_args(Profile)
HOSTS: tuple[Host, ...] = get_args(Host)
Source = str | Mapping[str, Any]  # Any: plain data, checked by the front end


def compile_policy(
    source: Source | BuiltPolicy,
    source_path: str = "<inline>",
    *,
    profile: Profile = "strict",
    python_rules: Iterable[AnyPythonRule] = (),
    python_rule_priorities: Priorities = (),
    host: Host = "refuse",
) -> PolicyBundle:
    """Compile a policy, given as YAML text, as plain data or as built in Python, with Python rules beside it.

    `source_path` is the name that findings have for a text; `load_policy_file` compiles a file.
    A Python rule is compiled from its own source. In the strict profile one that cannot be is an error, unless `host`
    is `allow`: then it stays a callable, with a warning. `python_rule_priorities` are `(name, priority)` pairs, a
    mapping, or one integer for each rule; others have the priority that `@rule` gives. Raises
    `PolicyCompileError` with every finding; the warnings of a policy that compiles are in `bundle.warnings`.
    """
    if profile not in PROFILES:
        raise ValueError(f"`{profile}` is not a profile; the profiles are {', '.join(PROFILES)}")
    if host not in HOSTS:
        raise ValueError(f"`{host}` is no answer to a rule that stays a callable; write one of {', '.join(HOSTS)}")
    written, built, functions = take_built(source, python_rules)
    python = to_rules(functions, python_rule_priorities, profile=profile, host=host)
    lowered = with_built(_lower(written, source_path, profile, python), built, profile)
    found = (*lowered.diagnostics, *python.diagnostics)
    if profile == "strict" and lowered.policy is not None:
        found = (*found, *_name_clashes(lowered.policy, {item.code for item in found}))
    texts = {**texts_of(built), **(python.sources or {})}
    sources = {**texts, **({source_path: source} if isinstance(source, str) else {})}
    if lowered.policy is None or any(item.severity is Severity.ERROR for item in found):
        raise _failure(found, sources)
    if profile == "lynx":
        _warn(found)
    try:
        return PolicyBundle.from_policy(
            lowered.policy,
            host_rules=python.callables,
            source_map=lowered.source_map,
            sources=sources,
            diagnostics=found,
            lynx_id=_lynx_id(lowered, python),
        )
    except EncodingError as error:
        raise PolicyCompileError(f"{source_path}: {error}", found) from error


def load_policy_file(
    path: str | os.PathLike[str],
    *,
    profile: Profile = "strict",
    python_rules: Iterable[AnyPythonRule] = (),
    python_rule_priorities: Priorities = (),
    host: Host = "refuse",
) -> PolicyBundle:
    """Compile the policy in a UTF-8 file; see `compile_policy`.

    Raises `PolicyCompileError`, also for a file that cannot be read. A bundle file is loaded by `load_bundle`.
    """
    name = os.fspath(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise PolicyCompileError(f"Cannot read policy file {name}: {error}") from error
    except ValueError as error:  # a path with a null character
        raise PolicyCompileError(f"Cannot read policy file {name!r}: {error}") from error
    text, bad = decode(data, name)
    if bad is not None:
        raise _failure((bad,), {name: text})
    return compile_policy(
        text,
        name,
        profile=profile,
        python_rules=python_rules,
        python_rule_priorities=python_rule_priorities,
        host=host,
    )


def _lower(source: Source, source_path: str, profile: Profile, python: PythonRules) -> Lowered:
    # Each front end is imported when it is asked for: a strict compilation does not load the other one.
    match profile:
        case "strict":
            from bobcat.frontend.strict import compile_strict

            return compile_strict(source, source_path, python)
        case "lynx":
            from bobcat.frontend.lynx import compile_lynx

            return compile_lynx(source, source_path, python)
        case _:
            assert_never(profile)


def _name_clashes(policy: Policy, codes: set[str]) -> list[Diagnostic]:
    """Python rules with the id of a declarative rule: a decision could not be traced back to one of them."""
    if "E0803" in codes:
        return []
    ids = {rule.id for rule in policy.rules if isinstance(rule, Rule)}
    hosts = [rule.name for rule in policy.rules if not isinstance(rule, Rule)]
    return [diagnose("E0803", None, name=name) for name in hosts if name in ids]


def _failure(found: tuple[Diagnostic, ...], sources: Mapping[str, str]) -> PolicyCompileError:
    return PolicyCompileError(render_text(found, sources), found)


def _warn(found: Iterable[Diagnostic]) -> None:
    for item in found:
        if item.severity is Severity.WARNING:
            warnings.warn(safe_text(f"{item.code}: {item.message}"), PolicyWarning, stacklevel=3)


def _lynx_id(lowered: Lowered, python: PythonRules) -> Callable[[], str] | None:
    data = lowered.data
    if data is None:
        return None

    def compute() -> str:
        from bobcat.frontend.lynx_id import lynx_id

        return lynx_id(data(), tuple((rule.name, rule.priority) for rule in python.rules if not isinstance(rule, Rule)))

    return compute
