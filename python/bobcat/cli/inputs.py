"""Inputs of the commands: policies and bundles, from files or from standard input (`-`). `calls` reads tool calls."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click
from click.core import ParameterSource

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.options import (
    NARROWING,
    BundleChecks,
    Decorated,
    bundle_checks,
    bundle_options,
    format_option_of,
    narrow_option,
    policy_argument,
    profile_option,
    python_rule_option,
)
from bobcat.text.display import safe_name, safe_names, safe_text

if TYPE_CHECKING:
    from bobcat.build.rule_module import RuleModule
    from bobcat.bundle.model import Policy
    from bobcat.diagnostics.model import Diagnostic
    from bobcat.frontend.files import Inputs, VariableText

Profile = Literal["strict", "lynx"]
HostRule = Callable[..., Any]  # Any: the callable is checked when the policy is compiled

GivenRule = tuple[HostRule, int | None]
"""A Python rule, and its priority from the command line."""

STDIN = "-"
DEFAULT_POLICY = "policy.yaml"
"""Default policy file of the commands; `bobcat init` writes it."""
MODULE = ".py"
"""File name suffix of a module of rules."""


def read_bytes(path: str) -> tuple[bytes, str]:
    """Read a file, or standard input for `-`; return the bytes and the display name."""
    try:
        if path == STDIN:
            return sys.stdin.buffer.read(), "<stdin>"
        with open(path, "rb") as handle:
            return handle.read(), path
    except OSError as error:
        first = path == DEFAULT_POLICY and isinstance(error, FileNotFoundError)
        hint = "; `bobcat init` writes one" if first else ""
        raise InputError(f"cannot read `{path}`: {reason_of(error)}{hint}") from error


def decode(data: bytes, name: str) -> str:
    """Decode UTF-8 text, or raise an error with the position of the first invalid byte."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode()) + 1
        raise InputError(f"{name}:{line}:{column}: not UTF-8 text (byte 0x{data[error.start]:02x})") from error


def policy_text(data: bytes, name: str) -> str:
    """Decode the text of a policy; invalid bytes are a diagnostic, which ends the command."""
    from bobcat.frontend.yaml.encoding import decode as decode_policy

    text, bad = decode_policy(data, name)
    if bad is not None:
        raise _refusal([bad], {name: text})
    return text


def read_private_key(path: str) -> bytes | str:
    """Read a key file: 32 raw bytes, or hexadecimal digits with surrounding white space."""
    data, _ = read_bytes(path)
    return data if len(data) == 32 else data.decode("ascii", "replace").strip()


@contextmanager
def asking() -> Iterator[None]:
    """Guard for evaluation: a Python rule that exits the process must not look like a successful command."""
    try:
        yield
    except SystemExit as leaving:
        raise InputError(f"a Python rule ended the command: SystemExit: {leaving}") from leaving


def open_policy(
    path: str,
    profile: Profile,
    python_rules: tuple[str, ...],
    *,
    shown_only: bool = False,
    checks: BundleChecks | None = None,
) -> Policy:
    """Load a bundle file, or compile a policy source; warnings go to stderr.

    A bundle must satisfy `checks`, by default the conditions of `bundle_options`, and have `profile`. `shown_only`: the
    command evaluates nothing, so it accepts a bundle of any profile unless one is requested. Conditions on a source are
    an error.
    """
    from bobcat.bundle import is_bundle, load_bundle

    checks = bundle_checks() if checks is None else checks
    condition = checks.given()
    if path.endswith(MODULE):
        if condition is not None:
            raise _not_a_bundle(path, condition)
        return compile_sources([path], profile, [import_rule(spec) for spec in python_rules])
    data, name = read_bytes(path)
    if condition is not None and not is_bundle(data):
        raise _not_a_bundle(name, condition)
    rules = [import_rule(spec) for spec in python_rules]
    if is_bundle(data):
        return load_bundle(
            data,
            [rule for rule, _ in rules],
            trusted_keys=checks.trusted_keys,
            profile=None if shown_only and not _asked_for_profile() else profile,
            expected_id=checks.expected_id,
            min_epoch=checks.min_epoch,
            layer_keys=checks.layer_keys,
        )
    return _compile(policy_text(data, name), name, profile, rules, path)


class PolicySource(NamedTuple):
    """POLICY and the options of a command about its profile and its Python rules, as written."""

    path: str
    profile: Profile
    python_rules: tuple[str, ...]

    def open(self, *, shown_only: bool = False) -> Policy:
        """Open the policy; see `open_policy`. `--narrow-with` narrows it."""
        narrowing = read_narrowing(self.path)
        policy = open_policy(*self, shown_only=shown_only)
        return policy if narrowing is None else narrowed(policy, narrowing)


def narrowed(policy: Policy, narrowing: Policy) -> Policy:
    """Return `policy` narrowed. Policies that cannot be layers of one are an `InputError`."""
    from bobcat.errors import BundleError

    try:
        return policy.narrow_with(narrowing)
    except BundleError as error:
        raise InputError(f"`--narrow-with`: {error}") from error


def read_narrowing(policy: str) -> Policy | None:
    """Open the policy that `--narrow-with` names; None without the option. `policy` is the path of the other one.

    The conditions on bundles concern the other policy: what can only narrow it needs no signature.
    """
    context = click.get_current_context(silent=True)
    path = context.meta.get(NARROWING) if context is not None else None
    if path is None:
        return None
    if path == STDIN and policy == STDIN:
        raise click.UsageError("POLICY and `--narrow-with` cannot both be `-`")
    return open_policy(path, "strict", (), checks=BundleChecks())


def policy_command(
    name: str, *own: Callable[[Decorated], Decorated], formats: Sequence[str] = ("text", "json")
) -> Callable[[Decorated], click.Command]:
    """A command on POLICY that gets a `PolicySource`, with its own options, those on the source and `--format`."""

    def decorate(function: Decorated) -> click.Command:
        @wraps(function)
        def command(policy: str, profile: Profile, python_rules: tuple[str, ...], **given: Any) -> Any:
            return function(PolicySource(policy, profile, python_rules), **given)

        decorated: Decorated = command
        shared = (format_option_of(*formats), bundle_options, narrow_option, python_rule_option, profile_option)
        options: tuple[Callable[[Decorated], Decorated], ...] = (*shared, *reversed(own), policy_argument)
        for option in options:
            decorated = option(decorated)
        return click.command(name)(decorated)

    return decorate


def _not_a_bundle(name: str, condition: str) -> InputError:
    return InputError(f"`{name}` is a policy source, which has no signature, id or epoch; `{condition}` needs a bundle")


def _asked_for_profile() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source("profile") is ParameterSource.COMMANDLINE


def compile_sources(
    paths: Sequence[str],
    profile: Profile,
    rules: Sequence[GivenRule] = (),
    modules: Sequence[RuleModule] | None = None,
) -> Policy:
    """Compile modules of rules and at most one policy. `modules` are those of `paths`, read by default."""
    from bobcat.build.rule_module import is_policy  # PERF: evaluating a bundle needs no builder

    policies = [path for path in paths if not path.endswith(MODULE)]
    if len(policies) > 1:
        raise click.UsageError(f"one policy at a time; `{policies[1]}` is the second one")
    modules = read_modules(paths) if modules is None else modules
    given: list[GivenRule] = [(rule, None) for module in modules for rule in module.rules]
    given.extend(rules)
    if not policies:
        built = [item for item in given if is_policy(item[0])]
        if len(built) != 1:
            return _compile({}, paths[0], profile, given)
        # The only policy: its defaults apply.
        return _compile(built[0][0], paths[0], profile, [item for item in given if item is not built[0]])
    data, name = read_bytes(policies[0])
    return _compile(policy_text(data, name), name, profile, given, policies[0])


def read_modules(paths: Sequence[str]) -> list[RuleModule]:
    """Load the modules of rules among some sources; their imports are listed on stderr."""
    modules = []
    for path in paths:
        if path.endswith(MODULE):
            modules.append(read_rules(path))
            report_imports(modules[-1])
    return modules


def read_rules(path: str) -> RuleModule:
    """Load the rules of a module; importing it runs its code."""
    from bobcat.build.rule_module import load_rules

    data, name = read_bytes(path)
    return load_rules(decode(data, name), name)


def report_imports(module: RuleModule) -> None:
    """Report the modules that a module of rules has imported, and its functions that are probably unmarked rules."""
    if module.imported:
        click.echo(f"{safe_text(module.name)} imports {safe_names(module.imported)}", err=True)
    for name in module.unmarked:
        click.echo(
            f"{safe_text(module.name)}: `{safe_name(name)}` is not a rule, but has the signature of one; "
            "mark it with `@rule`",
            err=True,
        )


def uncompiled() -> Literal["error", "callable"]:
    """Return what `--uncompiled` says."""
    from bobcat.cli.options import UNCOMPILED

    context = click.get_current_context(silent=True)
    return "callable" if context is not None and context.meta.get(UNCOMPILED) == "callable" else "error"


def compilation_inputs(path: str | None, profile: Profile) -> Inputs:
    """Return the files that the policy at `path` may include, and the values of `--var`."""
    from bobcat.frontend.files import Inputs, PolicyFiles

    files = None if path is None or path == STDIN else PolicyFiles(path, include_root())
    return Inputs(files, variables(profile))


def include_root() -> str | None:
    """Return the directory of `--include-root`."""
    from bobcat.cli.options import INCLUDE_ROOT

    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(INCLUDE_ROOT)


def variables(profile: Profile) -> dict[str, VariableText]:
    """Return the values of `--var`, by the names of the variables."""
    from bobcat.cli.options import VARIABLES
    from bobcat.frontend.files import VariableText

    context = click.get_current_context(silent=True)
    meta = context.meta if context is not None else {}
    given = {name: VariableText(text) for name, text in meta.get(VARIABLES, {}).items()}
    if given and profile == "lynx":
        raise click.UsageError("`--var`: a policy of the `lynx` profile has no variables")
    return given


# Any: a policy.
def _compile(source: Any, name: str, profile: Profile, rules: Sequence[GivenRule], path: str | None = None) -> Policy:
    """Compile; warnings go to stderr, and errors end the command."""
    from bobcat.bundle.host_code import host_name
    from bobcat.cli.output import show_diagnostics
    from bobcat.compiler import compile_with
    from bobcat.errors import PolicyCompileError, PolicyWarning

    texts = {name: source} if isinstance(source, str) else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)  # the same findings are printed below, with their positions
            bundle = compile_with(
                source,
                name,
                compilation_inputs(path, profile),
                profile=profile,
                python_rules=[rule for rule, _ in rules],
                python_rule_priorities=[(host_name(rule), level) for rule, level in rules if level is not None],
                uncompiled=uncompiled(),
            )
    except PolicyCompileError as error:
        if not error.diagnostics:
            raise
        raise _refusal(error.diagnostics, texts) from error
    show_diagnostics(bundle.diagnostics, texts, err=True)
    return bundle


def _refusal(found: Sequence[Diagnostic], texts: Mapping[str, str]) -> click.exceptions.Exit:
    """Show the errors of a policy, as JSON if the command requested it; return the exception to raise."""
    from bobcat.cli.options import wants_json
    from bobcat.cli.output import echo_json, show_diagnostics
    from bobcat.diagnostics.render import render_json

    if wants_json():
        echo_json(render_json(found))
    else:
        show_diagnostics(found, texts, err=True)
    return click.exceptions.Exit(FINDINGS)


def import_rule(spec: str) -> GivenRule:
    """Import the Python rule of `module:name@priority`, with its priority."""
    target, _, priority = spec.partition("@")
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise click.UsageError(f"`--python-rule {spec}`: write it as MODULE:NAME or MODULE:NAME@PRIORITY")
    if priority and not re.fullmatch("-?[0-9]{1,10}", priority):
        raise click.UsageError(f"`--python-rule {spec}`: the priority `{priority}` is not an integer")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        rule = import_module(module_name)
        for part in attribute.split("."):
            rule = getattr(rule, part)
    except (Exception, SystemExit) as error:  # importing runs the user's code, which may raise anything
        raise InputError(f"cannot import the Python rule `{target}`: {type(error).__name__}: {error}") from error
    return rule, int(priority) if priority else None  # type: ignore[return-value]  # the compiler reports an object that is not callable
