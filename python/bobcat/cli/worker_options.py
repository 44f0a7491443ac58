"""Types of the options of `bobcat worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bobcat.workers.retention import Retention


class Address(click.ParamType):  # type: ignore[type-arg]  # older releases have no parameter
    """A host and a port; without a host, this machine only."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Convert the option's text. Any: click's own."""
        host, colon, number = str(value).rpartition(":")
        if not number.isascii() or not number.isdigit() or int(number) > 65535 or (colon and not host):
            self.fail(f"`{value}` is not an address: write `PORT` or `HOST:PORT`, such as `0.0.0.0:8080`", param, ctx)
        return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(number)


class KindNames(click.ParamType):  # type: ignore[type-arg]  # older releases have no parameter
    """Names of kinds of runs, separated by commas."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Convert the option's text. Any: click's own."""
        names = tuple(name.strip() for name in str(value).split(","))
        if not all(names):
            self.fail("an empty name", param, ctx)
        return names


class RetentionTime(click.ParamType):  # type: ignore[type-arg]  # older releases have no parameter
    """A time for every status of runs that are over, or one for each."""

    name = "retention"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Retention:
        """Convert the option's text. Any: click's own."""
        from bobcat.workers.retention import retention_of

        try:
            return retention_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
