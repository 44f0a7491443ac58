"""The options that several commands share."""

from __future__ import annotations

import click

profile_option = click.option(
    "--profile",
    type=click.Choice(["strict", "lynx"]),
    default="strict",
    show_default=True,
    help="The meaning of a policy source: `strict`, or that of lynx-agent 2.5. A bundle has its own.",
)
python_rule_option = click.option(
    "--python-rule",
    "python_rules",
    multiple=True,
    metavar="MODULE:NAME[@PRIORITY]",
    help="A Python rule; may be given several times. The current directory is importable.",
)
format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The form of the output.",
)
policy_argument = click.argument("policy", metavar="POLICY", type=click.Path(allow_dash=True))
