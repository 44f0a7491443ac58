"""`bobcat policy`: `lint` and `bundle-id` under the names that lynx-agent gave them."""

from __future__ import annotations

import click

from bobcat.cli.bundle_id import bundle_id
from bobcat.cli.check import check


@click.group()
def policy() -> None:
    """The same as `bobcat check` and `bobcat bundle-id`."""


policy.add_command(check, "lint")
policy.add_command(bundle_id, "bundle-id")
