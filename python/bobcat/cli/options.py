"""The options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

Decorated = Callable[..., Any]  # Any: click passes what the decorators declare

profile_option = click.option(
    "--profile",
    type=click.Choice(["strict", "lynx"]),
    default="strict",
    show_default=True,
    help="The meaning of a policy: `strict`, or that of lynx-agent 2.5. A bundle must have been compiled with it.",
)


class FiniteRange(click.FloatRange):
    """A range of numbers that NaN, which no bound refuses, and the infinities are not in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # Any: click's own
        """The number that was written."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


HOST = "bobcat.host"
"""Where the context of a command keeps what `--host` says."""


def host_option(command: Decorated) -> Decorated:
    """What becomes of Python rules that cannot be compiled; `inputs` reads it from the context."""
    return click.option(
        "--host",
        type=click.Choice(["refuse", "allow"]),
        default="refuse",
        show_default=True,
        expose_value=False,
        callback=lambda context, _parameter, value: context.meta.update({HOST: value}),
        help="What becomes of a Python rule that cannot be compiled: an error, or a callable that the bundle needs.",
    )(command)


def python_rule_option(command: Decorated) -> Decorated:
    """Python rules beside a policy, and what becomes of those that cannot be compiled."""
    return host_option(
        click.option(
            "--python-rule",
            "python_rules",
            multiple=True,
            metavar="MODULE:NAME[@PRIORITY]",
            help="A Python rule; may be given several times. The current directory is importable.",
        )(command)
    )


format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The form of the output.",
)


def wants_json() -> bool:
    """Whether the command that runs was asked for JSON."""
    context = click.get_current_context(silent=True)
    return context is not None and context.params.get("output_format") == "json"


policy_argument = click.argument("policy", metavar="POLICY", type=click.Path(allow_dash=True))


@dataclass(frozen=True, slots=True)
class BundleChecks:
    """Conditions on a bundle that a command loads; None leaves one out."""

    trusted_keys: tuple[str, ...] | None = None
    expected_id: str | None = None
    min_epoch: int | None = None

    def given(self) -> str | None:
        """The first option that was given, by its name."""
        for name, value in (
            ("--trusted-key", self.trusted_keys),
            ("--expected-id", self.expected_id),
            ("--min-epoch", self.min_epoch),
        ):
            if value is not None:
                return name
        return None


_CHECKS = "bobcat.bundle_checks"


def bundle_checks() -> BundleChecks:
    """The conditions that the command that runs was given."""
    context = click.get_current_context(silent=True)
    found = context.meta.get(_CHECKS, {}) if context is not None else {}
    return BundleChecks(**found)


def _keep_check(context: click.Context, parameter: click.Parameter, value: Any) -> None:  # Any: click's own
    if value is not None and value != ():
        context.meta.setdefault(_CHECKS, {})[parameter.name] = value


def bundle_options(command: Decorated) -> Decorated:
    """Conditions on a bundle; `inputs` reads them from the context."""
    for decorate in (
        click.option(
            "--min-epoch",
            "min_epoch",
            type=click.IntRange(0),
            metavar="N",
            expose_value=False,
            callback=_keep_check,
            help="Refuse a bundle whose epoch is below N; without an epoch it counts as 0.",
        ),
        click.option(
            "--expected-id",
            "expected_id",
            metavar="ID",
            expose_value=False,
            callback=_keep_check,
            help="Refuse a bundle with another id.",
        ),
        click.option(
            "--trusted-key",
            "trusted_keys",
            multiple=True,
            metavar="KEY",
            expose_value=False,
            callback=_keep_check,
            help="A public Ed25519 key, in hexadecimal. When given, a bundle that no such key signed is refused.",
        ),
    ):
        command = decorate(command)
    return command


def call_options(command: Decorated) -> Decorated:
    """The tool call that `eval` and `explain` look at: a file, or options."""
    for decorate in (
        click.option(
            "--tools",
            metavar="MODULE:NAME",
            help="Judge the call as a run with this `ToolSet` would: its declarations, defaults and argument checks.",
        ),
        click.option("--context", "context_json", metavar="JSON|@FILE", help="The execution context, with --tool."),
        click.option("--declared", "declared_json", metavar="JSON|@FILE", help="What the tool declares, with --tool."),
        click.option("--args", "args_json", metavar="JSON|@FILE", help="The arguments of the call, with --tool."),
        click.option("--tool", metavar="NAME", help="The name of the tool, instead of a REQUEST."),
        click.argument("request_file", metavar="[REQUEST]", required=False, type=click.Path(allow_dash=True)),
    ):
        command = decorate(command)
    return command
