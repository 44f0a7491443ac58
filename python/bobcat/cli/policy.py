"""`bobcat policy`: `lint` and `bundle-id` under lynx-agent's names."""

from __future__ import annotations

from copy import copy

import click

from bobcat.cli.bundle_id import bundle_id
from bobcat.cli.check import check


@click.group()
def policy() -> None:
    """The same as `bobcat check` and `bobcat bundle-id`."""


for name, command, summary in (
    ("lint", check, "Report errors and warnings of policies: `bobcat check`."),
    ("bundle-id", bundle_id, "Print the digest of a policy: `bobcat bundle-id`."),
):
    alias = copy(command)
    alias.short_help = summary
    policy.add_command(alias, name)
