"""The options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

Decorated = Callable[..., Any]  # Any: click passes what the decorators declare

profile_option = click.option(
    "--profile",
    type=click.Choice(["strict", "lynx"]),
    default="strict",
    show_default=True,
    help="The meaning of a policy source: `strict`, or that of lynx-agent 2.5. A bundle has its own.",
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
trusted_key_option = click.option(
    "--trusted-key",
    "trusted_keys",
    multiple=True,
    metavar="KEY",
    help="A public Ed25519 key, in hexadecimal. When given, a bundle that no such key signed is refused.",
)


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
