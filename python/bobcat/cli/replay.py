"""`bobcat replay`: decide recorded calls again by another policy, and show what changes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import FINDINGS, USAGE
from bobcat.cli.log import TimeParam
from bobcat.cli.options import choice_option, format_option, profile_option, python_rule_option
from bobcat.cli.output import write_json
from bobcat.cli.recorded_input import (
    exits_with_usage,
    log_argument,
    open_logs,
    parse_map,
    progress_of,
    show_damage,
    tools_of,
)

if TYPE_CHECKING:
    from bobcat.model.decision_change import Direction
    from bobcat.traffic.changes import Tally

FAIL_ON = ("loosened", "changed", "any")


@click.command()
@log_argument
@click.option("--policy", "policy_path", metavar="NEW", required=True, type=click.Path(),
              help="The policy that decides again, a source or a bundle.")  # fmt: skip
@click.option("--against", metavar="OLD", type=click.Path(),
              help="Compare with the decisions of this policy instead of the recorded ones.")  # fmt: skip
@click.option("--since", type=TimeParam(), metavar="TIME", help="Decisions at this time or later.")
@click.option("--until", type=TimeParam(), metavar="TIME", help="Decisions before this time.")
@click.option("--examples", type=click.IntRange(0, 1_000), default=3, show_default=True, metavar="N",
              help="Show at most N records of each group.")  # fmt: skip
@click.option("--redact", "redacted", multiple=True, metavar="KEY",
              help="Hide the values of this argument in examples, at any depth; repeatable.")  # fmt: skip
@click.option("--map", "mapped", multiple=True, metavar="FIELD=PATH",
              help="Read a field of a log like OPA's from this path; repeatable.")  # fmt: skip
@click.option("--tools", metavar="MODULE:NAME",
              help="Declarations of tools for records that lack them, from a `ToolSet`.")  # fmt: skip
@click.option("--rules", "show_rules", is_flag=True, help="Also show decisions that other rules make alike.")
@choice_option("--fail-on", choices=FAIL_ON, help="Exit with 1 if a decision is loosened, if one changed, or if one "
               "changed or cannot be decided again.")  # fmt: skip
@python_rule_option
@profile_option
@format_option
@exits_with_usage
def replay(
    logs: tuple[str, ...],
    *,
    policy_path: str,
    against: str | None,
    since: datetime | None,
    until: datetime | None,
    examples: int,
    redacted: tuple[str, ...],
    mapped: tuple[str, ...],
    tools: str | None,
    show_rules: bool,
    fail_on: str,
    python_rules: tuple[str, ...],
    profile: Any,  # Any: one of the choices
    output_format: str,
) -> int:
    """Decide the calls recorded in LOG... again by the policy NEW, and show the decisions that change.

    A LOG is a decision log (a file, or postgresql://...), a file of audit events, a decision log like OPA's, `-`, or
    the store of run journals. Compressed files (gzip) are read as they are. Exits with 0 if no decision permits more
    than before, with 1 if one does, with 2 if something cannot be read.

    \b
    Example: bobcat replay decisions.jsonl --policy new.yaml
             bobcat replay audit.jsonl.gz --policy new.yaml --against old.bobcat --since 7d
    """
    from bobcat.cli.inputs import open_policy
    from bobcat.model.decision_change import DIRECTIONS
    from bobcat.threads.journal import earlier_turns
    from bobcat.traffic.replaying import Options, Replay

    options = Options(
        examples, since, until, paths=parse_map(mapped), tools=tools_of(tools), earlier_runs=earlier_turns
    )
    sources = open_logs(logs, maps=bool(mapped))
    policy = open_policy(policy_path, profile, python_rules)
    old = None if against is None else open_policy(against, profile, python_rules)
    with progress_of(sources) as progress:
        tally = Replay(policy, old, options).run(sources, progress=progress)
    show_damage(tally)
    shown = DIRECTIONS if show_rules else DIRECTIONS[:-1]
    if output_format == "json":
        from bobcat.traffic.report import to_json

        write_json(to_json(tally, shown, redacted))
    else:
        for line in _lines(tally, shown, redacted):
            click.echo(line)
    failed = _failed(tally, fail_on)
    return FINDINGS if failed else USAGE if tally.damaged else 0


def _failed(tally: Tally, fail_on: str) -> bool:
    """Return true if the log has what `--fail-on` names. `unclear` counts as loosened: no order says otherwise."""
    if fail_on == "loosened":
        return tally.total("loosened", "unclear") > 0
    changed = tally.total("loosened", "unclear", "tightened") > 0
    undecided = sum(tally.undecided.values()) - tally.undecided["before_policy"]
    return changed or (fail_on == "any" and (undecided > 0 or tally.damaged > 0))


def _lines(tally: Tally, shown: tuple[Direction, ...], redacted: Iterable[str]) -> Iterable[str]:
    from bobcat.traffic.report import text_lines

    return text_lines(tally, shown, redacted)
