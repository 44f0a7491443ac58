"""Compiler driver: from a source and Python rules to a bundle or diagnostics.

    text or mapping ──► front end of the profile ──► IR ──► bundle
    Python rules ─────► functions, host rules

A worker never imports this: it loads bundles.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from bobcat.bundle.model import Policy
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Severity
from bobcat.diagnostics.render import render_text
from bobcat.errors import PolicyCompileError, PolicyWarning, warn_caller
from bobcat.frontend.builder.rules import AnyPythonRule, BuiltPolicy, take_built, texts_of
from bobcat.frontend.files import Inputs, PolicyFiles
from bobcat.frontend.profiles import lower, with_python
from bobcat.frontend.python.rules import Priorities, PythonRules, Uncompiled
from bobcat.frontend.result import LoweringResult
from bobcat.frontend.yaml.encoding import decode
from bobcat.ir.canonical import EncodingError
from bobcat.ir.schema import IrPolicy, IrRule, Profile
from bobcat.lint.observed import reported
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.bundle.parts import LynxId

PROFILES: tuple[Profile, ...] = get_args(Profile)
UNCOMPILED: tuple[Uncompiled, ...] = get_args(Uncompiled)
MAX_SHOWN = 100
"""Above this many findings, the text of an error leaves warnings and notes out."""
OLD_HOST: Mapping[str, Uncompiled] = {"refuse": "error", "allow": "callable"}
"""Words of the older keyword `host`."""
Source = str | Mapping[str, Any]  # Any: plain data, checked by the front end


def compile_policy(
    source: Source | BuiltPolicy,
    source_path: str = "<inline>",
    *,
    profile: Profile = "strict",
    python_rules: Iterable[AnyPythonRule] = (),
    python_rule_priorities: Priorities = (),
    uncompiled: Uncompiled = "error",
    host: str | None = None,
    vars: Mapping[str, Any] | None = None,  # Any: values, checked against the policy's own
) -> Policy:
    """Compile a policy, given as YAML text, as plain data or as built in Python, with Python rules beside it.

    `source_path` is the file name in diagnostics about a text; `load_policy_file` compiles a file.
    A Python rule is compiled from its own source. In the strict profile, a failure is an error, unless
    `uncompiled` is `callable`: then it stays a callable, with a warning. `host` is the older name of `uncompiled`.
    `python_rule_priorities` are `(name, priority)` pairs, a mapping, or one integer for each rule; the default is
    the priority of `@rule`. `vars` replaces values of variables that the policy declares; a policy that includes files
    is compiled by `load_policy_file`. Raises `PolicyCompileError` with every finding; the warnings of a policy that
    compiles are in `bundle.warnings`.
    """
    return compile_with(
        source,
        source_path,
        Inputs(None, vars or {}),
        profile=profile,
        python_rules=python_rules,
        python_rule_priorities=python_rule_priorities,
        uncompiled=uncompiled,
        host=host,
    )


def compile_with(
    source: Source | BuiltPolicy,
    source_path: str,
    inputs: Inputs,
    *,
    profile: Profile = "strict",
    python_rules: Iterable[AnyPythonRule] = (),
    python_rule_priorities: Priorities = (),
    uncompiled: Uncompiled = "error",
    host: str | None = None,
) -> Policy:
    """Compile a policy as `compile_policy` does, with the files that it may include and values for its variables."""
    if profile not in PROFILES:
        raise ValueError(f"`{profile}` is not a profile; the profiles are {', '.join(PROFILES)}")
    if profile == "lynx" and inputs.variables:
        raise ValueError("a policy of the `lynx` profile has no variables")
    uncompiled = _read_uncompiled(uncompiled, host)
    written, built, functions = take_built(source, python_rules)
    lowered = lower(written, source_path, profile, built, inputs)
    python = PythonRules()
    if functions or python_rule_priorities != ():
        from bobcat.frontend.python.host import to_rules  # PERF: 20 ms that most policies do without

        python = to_rules(
            functions, python_rule_priorities, profile=profile, uncompiled=uncompiled, sources=lowered.sources
        )
    lowered = with_python(lowered, python)
    found = reported(lowered.findings)
    if profile == "strict" and lowered.policy is not None:
        found = (*found, *_name_clashes(lowered.policy, {item.code for item in found}))
    texts = {**texts_of(built), **python.sources}
    sources = {**texts, **lowered.texts, **({source_path: source} if isinstance(source, str) else {})}
    if lowered.policy is None or any(item.severity is Severity.ERROR for item in found):
        raise _failure(found, sources)
    if profile == "lynx":
        _warn(found)
    try:
        return Policy.from_policy(
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
    uncompiled: Uncompiled = "error",
    host: str | None = None,
    vars: Mapping[str, Any] | None = None,  # Any: values, checked against the policy's own
    include_root: str | os.PathLike[str] | None = None,
) -> Policy:
    """Compile the policy in a UTF-8 file, with the files that it includes; see `compile_policy`.

    Included files are below the directory of the file, or below `include_root`.
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
    return compile_with(
        text,
        name,
        Inputs(PolicyFiles(name, include_root), vars or {}),
        profile=profile,
        python_rules=python_rules,
        python_rule_priorities=python_rule_priorities,
        uncompiled=uncompiled,
        host=host,
    )


def _read_uncompiled(uncompiled: str, host: str | None) -> Uncompiled:
    """Read both spellings of the option; the older keyword and its words with a warning."""
    word = uncompiled if host is None else host
    found = OLD_HOST.get(word, word)
    if found not in UNCOMPILED:
        raise ValueError(f"`uncompiled` must be one of {', '.join(UNCOMPILED)}, not {word!r}")
    if host is not None or found != word:
        given = f"uncompiled={word!r}" if host is None else f"host={host!r}"
        warn_caller(f"`{given}` is now `uncompiled={found!r}`", DeprecationWarning)
    return found


def _name_clashes(policy: IrPolicy, codes: set[str]) -> list[Diagnostic]:
    """Report Python rules with the id of a declarative rule: a decision could not be traced back to one of them."""
    if "E0803" in codes:
        return []
    ids = {rule.id for rule in policy.rules if isinstance(rule, IrRule)}
    hosts = [rule.name for rule in policy.rules if not isinstance(rule, IrRule)]
    return [diagnose("E0803", None, name=name) for name in hosts if name in ids]


def _failure(found: tuple[Diagnostic, ...], sources: Mapping[str, str]) -> PolicyCompileError:
    shown = found if len(found) <= MAX_SHOWN else tuple(item for item in found if item.severity is Severity.ERROR)
    text = render_text(shown, sources)
    hidden = len(found) - len(shown)
    if hidden:
        text += f"\n{hidden:,} more in `diagnostics`: warnings and notes"
    return PolicyCompileError(text, found)


def _warn(found: Iterable[Diagnostic]) -> None:
    for item in found:
        if item.severity is Severity.WARNING:
            warn_caller(safe_text(f"{item.code}: {item.message}"), PolicyWarning)


def _lynx_id(lowered: LoweringResult, python: PythonRules) -> LynxId | None:
    data = lowered.data
    if data is None:
        return None

    def compute(*, obligations: bool = False) -> str:
        from bobcat.frontend.lynx.bundle_id import lynx_id

        rules = tuple((rule.name, rule.priority) for rule in python.rules if not isinstance(rule, IrRule))
        return lynx_id(data(), rules, obligations=obligations)

    return compute
