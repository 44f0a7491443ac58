"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import click

Decorated = Callable[..., Any]  # Any: click passes what the decorators declare


def choice_option(*names: str, choices: Sequence[str], help: str) -> Callable[[Decorated], Decorated]:
    """An option with one of some words, by default the first one, which its help shows."""
    return click.option(*names, type=click.Choice(choices), default=choices[0], show_default=True, help=help)


def format_option_of(*formats: str) -> Callable[[Decorated], Decorated]:
    """`--format` for a command with these formats."""
    return choice_option("--format", "output_format", choices=formats, help="The output format.")


profile_option = choice_option(
    "--profile",
    choices=("strict", "lynx"),
    help="The semantics of a policy: `strict`, or those of lynx-agent 2.5. A bundle must have been compiled with it.",
)
format_option = format_option_of("text", "json")


class FiniteRange(click.FloatRange):
    """A range of numbers that excludes the infinities and NaN, which satisfies no bound check."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # Any: click's own
        """Convert the option's text."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


UNCOMPILED = "bobcat.uncompiled"
"""Key under which the context of a command keeps what `--uncompiled` says."""


def uncompiled_option(command: Decorated) -> Decorated:
    """Add `--uncompiled`, and its older spelling `--host`; `inputs` reads the value from the context."""
    older = click.option(
        "--host", type=click.Choice(["refuse", "allow"]), hidden=True, expose_value=False, callback=_note_uncompiled
    )
    return click.option(
        "--uncompiled",
        type=click.Choice(["error", "callable"]),
        expose_value=False,
        callback=_note_uncompiled,
        help="A Python rule that cannot be compiled is an error (the default), or a callable that the bundle needs.",
    )(older(command))


VARIABLES, INCLUDE_ROOT = "bobcat.variables", "bobcat.include_root"
"""Keys under which the context of a command keeps what `--var` and `--include-root` say."""


def composition_options(command: Decorated) -> Decorated:
    """Add `--var` and `--include-root`; `inputs` reads the values from the context."""
    values = click.option(
        "--var",
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        callback=_note_variables,
        help="Set a variable that the policy declares to another value of the same type; repeatable.",
    )
    root = click.option(
        "--include-root",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        expose_value=False,
        callback=_note_root,
        help="The policy may include files below DIR (default: below its own directory).",
    )
    return values(root(command))


def _note_variables(context: click.Context, _: click.Parameter, given: tuple[str, ...]) -> None:
    found: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise click.UsageError(f"`--var {item}`: write it as NAME=VALUE")
        if name in found:
            raise click.UsageError(f"`--var {item}`: `{name}` has a value already")
        found[name] = value
    if found:
        context.meta[VARIABLES] = found


def _note_root(context: click.Context, _: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.meta[INCLUDE_ROOT] = given


def _note_uncompiled(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[UNCOMPILED] = {"refuse": "error", "allow": "callable"}.get(value, value)
        if context.meta[UNCOMPILED] != value:
            click.echo(f"note: `--host {value}` is now `--uncompiled {context.meta[UNCOMPILED]}`", err=True)


def python_rule_option(command: Decorated) -> Decorated:
    """Add what a policy source is compiled with: Python rules, the handling of those that cannot be compiled, values of
    variables, and the directory of included files.
    """
    return composition_options(
        uncompiled_option(
            click.option(
                "--python-rule",
                "python_rules",
                multiple=True,
                metavar="MODULE:NAME[@PRIORITY]",
                help="A Python rule; repeatable. The current directory is importable.",
            )(command)
        )
    )


def wants_json() -> bool:
    """Return true if the running command was asked for JSON."""
    context = click.get_current_context(silent=True)
    return context is not None and context.params.get("output_format") == "json"


policy_argument = click.argument("policy", metavar="POLICY", type=click.Path(allow_dash=True))


class BundleChecks(NamedTuple):
    """Conditions on a bundle that a command loads; None disables one."""

    trusted_keys: tuple[str, ...] | None = None
    layer_keys: Mapping[str, tuple[str, ...]] | None = None
    expected_id: str | None = None
    min_epoch: int | None = None

    def given(self) -> str | None:
        """Return the name of the first given option."""
        for name, value in (
            ("--trusted-key", self.trusted_keys),
            ("--layer-key", self.layer_keys),
            ("--expected-id", self.expected_id),
            ("--min-epoch", self.min_epoch),
        ):
            if value is not None:
                return name
        return None


_CHECKS = "bobcat.bundle_checks"


def bundle_checks() -> BundleChecks:
    """Return the conditions given to the running command."""
    context = click.get_current_context(silent=True)
    found = context.meta.get(_CHECKS, {}) if context is not None else {}
    return BundleChecks(**found)


def _keep_check(context: click.Context, parameter: click.Parameter, value: Any) -> None:  # Any: click's own
    if value is not None and value != ():
        context.meta.setdefault(_CHECKS, {})[parameter.name] = value


def read_layer_keys(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read the values of `--layer-key`: the keys of each layer. Raises `UsageError`."""
    found: dict[str, tuple[str, ...]] = {}
    for item in given:
        layer, equals, key = item.partition("=")
        if not (layer and equals and key):
            raise click.UsageError(f"`--layer-key {item}`: write it as LAYER=KEY")
        found[layer] = (*found.get(layer, ()), key)
    return found


def _keep_layer_keys(
    context: click.Context, _: click.Parameter, given: tuple[str, ...]
) -> Mapping[str, tuple[str, ...]]:
    found = read_layer_keys(given)
    if found:
        context.meta.setdefault(_CHECKS, {})["layer_keys"] = found
    return found


_layer_key = partial(
    click.option,
    "--layer-key",
    "layer_keys",
    multiple=True,
    metavar="LAYER=KEY",
    callback=_keep_layer_keys,
    help="A public Ed25519 key that must have signed the bundle of this layer; repeatable, several are alternatives.",
)
layer_key_option = _layer_key()


NARROWING = "bobcat.narrow_with"
"""Key under which the context of a command keeps what `--narrow-with` says."""


def _keep_narrowing(context: click.Context, _: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.meta[NARROWING] = given


narrow_option = click.option(
    "--narrow-with",
    metavar="FILE",
    type=click.Path(),
    expose_value=False,
    callback=_keep_narrowing,
    help="A policy that can only make the decisions of POLICY stricter, as its last layer.",
)


def memory_options(command: Decorated) -> Decorated:
    """Add what rules that remember need of a guard: `--task`, `--session` and `--tenant`."""
    for decorate in (
        click.option("--tenant", metavar="NAME", help="The tenant whose calls rules count, in the store."),
        click.option("--session", metavar="NAME", help="Remember with the other calls of this session in the store."),
        click.option("--task", metavar="TEXT", help="The user's own words, which rules read as `context.task`."),
    ):
        command = decorate(command)
    return command


def check_memory(store: str | None, given: Mapping[str, str | None]) -> None:
    """Raise `UsageError` for a session or a tenant without a store to remember in."""
    for name in ("session", "tenant"):
        if given.get(name) is not None and store is None:
            raise click.UsageError(f"`--{name}` needs `--store`")


def bundle_options(command: Decorated) -> Decorated:
    """Add conditions on a bundle; `inputs` reads them from the context."""
    condition = partial(click.option, expose_value=False, callback=_keep_check)
    command = _layer_key(expose_value=False)(command)
    for decorate in (
        condition(
            "--min-epoch",
            "min_epoch",
            type=click.IntRange(0),
            metavar="N",
            help="Reject a bundle whose epoch is below N; without an epoch it counts as 0.",
        ),
        condition("--expected-id", "expected_id", metavar="ID", help="Reject a bundle with another id."),
        condition(
            "--trusted-key",
            "trusted_keys",
            multiple=True,
            metavar="KEY",
            help="A public Ed25519 key, in hexadecimal. If given, a bundle that no such key signed is rejected.",
        ),
    ):
        command = decorate(command)
    return command
