"""The logs of `bobcat replay` and `bobcat usage`: arguments, progress, and what cannot be read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import USAGE
from bobcat.cli.failures import InputError, report_failure
from bobcat.cli.options import Decorated
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.tools.toolset import ToolSet
    from bobcat.traffic.changes import Tally
    from bobcat.traffic.sources import Log

SHOWN_DAMAGE = 10

log_argument = click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(allow_dash=True))


def exits_with_usage(command: Decorated) -> Decorated:
    """Exit with 2 for every input that cannot be read: 1 is the result of the comparison."""

    @wraps(command)
    def guarded(*args: Any, **given: Any) -> Any:  # Any: click passes what the decorators declare
        from bobcat.traffic.sources import UnknownFormat

        try:
            return command(*args, **given)
        except InputError as error:
            error.show()
            return USAGE
        except UnknownFormat as error:  # of standard input, which is read only once
            InputError(f"cannot read standard input: {error}").show()
            return USAGE
        except click.exceptions.Exit as leaving:
            raise click.exceptions.Exit(USAGE if leaving.exit_code else 0) from leaving
        except BrokenPipeError:
            raise
        except Exception as error:
            if report_failure(error) is None:
                raise
            return USAGE

    return guarded


def parse_map(given: Sequence[str]) -> Mapping[str, str]:
    """Read `--map FIELD=PATH`."""
    from bobcat.traffic.opa import DEFAULT_MAP, opa_parser

    found: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or name not in DEFAULT_MAP:
            raise click.UsageError(f"`--map {text}`: write FIELD=PATH, with a field of {', '.join(DEFAULT_MAP)}")
        found[name] = path
    try:
        opa_parser(found)
    except ValueError as error:
        raise click.UsageError(f"`--map`: {error}") from error
    return found


def tools_of(spec: str | None) -> ToolSet | None:
    """The tool set that `--tools` names."""
    from bobcat.tools.named_object import load_tools

    return None if spec is None else load_tools(spec)


def open_logs(targets: Sequence[str], *, maps: bool) -> list[Log]:
    """Open every log before one is read. Raises `InputError` for one that cannot be."""
    from bobcat.errors import DecisionLogError, StoreError
    from bobcat.traffic.sources import UnknownFormat, open_source, problem_of

    found = []
    for target in targets:
        try:
            found.append(open_source(target, "opa" if maps else None))
        except (OSError, UnknownFormat) as error:
            raise InputError(f"cannot read `{target}`: {problem_of(error)}") from error
        except (DecisionLogError, StoreError) as error:
            raise InputError(f"cannot read `{target}` ({error.code}): {error}") from error
    return found


@contextmanager
def progress_of(logs: Sequence[Log]) -> Iterator[Callable[[Log, int], None] | None]:
    """Show on a terminal how much of the logs is read."""
    total = sum(log.size for log in logs)
    if not sys.stderr.isatty() or not total:
        yield None
        return
    with click.progressbar(length=total, label="reading", file=sys.stderr) as bar:
        yield lambda _log, size: bar.update(size)


def show_damage(tally: Tally) -> None:
    """Report damaged lines on standard error."""
    for place, problem in tally.damage[:SHOWN_DAMAGE]:
        click.echo(f"{safe_text(place)}: damaged: {safe_text(problem, limit=200)}", err=True)
    if tally.damaged > SHOWN_DAMAGE:
        more = tally.damaged - SHOWN_DAMAGE
        click.echo(f"and {more:,} more damaged {'line' if more == 1 else 'lines'}", err=True)
