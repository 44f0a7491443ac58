"""`bobcat log`: show, filter, follow and re-evaluate the audit events of runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.audit_file import MAX_LINE_BYTES, read_lines
from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.options import bundle_checks, bundle_options, format_option, profile_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bobcat.bundle import Policy
    from bobcat.model.decision import Decision
    from bobcat.model.run import AuditEvent

VALUE_CHARS = 200
"""Characters of a value that are shown without `--full`."""
MAX_RUNS = 10_000
"""Maximum concurrent runs whose steps are tracked for `--tool`."""
KINDS = (
    "run.started", "run.unbounded", "run.bundle_changed", "run.resumed", "run.suspended", "run.succeeded",
    "run.failed", "run.cancelled", "run.superseded", "step.proposed", "step.replayed", "step.usage",
    "step.compressed", "step.compress_failed", "policy.evaluated", "policy.reevaluated", "policy.diverged",
    "policy.reloaded", "policy.reload_refused",
    "action.started", "action.dry_run", "action.completed", "action.dry_run_completed", "action.denied",
    "obligation.performed", "obligation.failed",
    "action.failed", "action.result", "action.uncertain", "action.reconciled", "approval.requested",
    "approval.granted", "approval.denied", "audit.gap", "graph.started", "graph.handoff", "graph.finished",
    "graph.failed", "graph.cancelled", "graph.suspended", "graph.superseded", "graph.exhausted", "model.delta",
    "trigger.proposed", "trigger.confirmed", "trigger.changed", "trigger.withdrawn", "trigger.bound",
    "trigger.paused", "trigger.resumed", "trigger.done", "trigger.deleted",
)  # fmt: skip
ENDS = ("run.succeeded", "run.failed", "run.cancelled", "run.superseded", "run.suspended")
DENIALS = ("action.denied", "approval.denied")
VERDICTS = ("allow", "deny", "dry_run", "approve_required", "transform")


_AGE = re.compile(r"([0-9]{1,9})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class TimeParam(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases of click only
    """A date, with or without a time (UTC without a zone), or an age such as 90m, 12h, 30d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the point in time. Any: click's own."""
        if isinstance(value, datetime):
            return value
        age = _AGE.fullmatch(value)
        try:
            if age is not None:
                return datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])})
            return _aware(datetime.fromisoformat(value))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time such as 2026-01-31, 2026-01-31T12:00:00Z or 12h (ago).", param, ctx)


def _complete_kind(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(kind) for kind in KINDS if kind.startswith(incomplete)]


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Events of steps that call this tool.")
@click.option("--verdict", "verdicts", multiple=True, type=click.Choice(VERDICTS), help="Decisions with this verdict.")
@click.option("--denied", is_flag=True, help="Denials, by the policy or by an approver.")
@click.option("--rule", "rules", multiple=True, metavar="ID", help="Decisions of this rule.")
@click.option("--run", "runs", multiple=True, metavar="ID", help="Events of this run, in all its attempts.")
@click.option("--correlation-id", "ids", multiple=True, metavar="ID", help="Events with exactly this correlation id.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", shell_complete=_complete_kind,
              help="Events of this kind; `*` matches any text, as in `action.*`.")  # fmt: skip
@click.option("--since", type=TimeParam(), metavar="TIME", help="Events at this time or later.")
@click.option("--until", type=TimeParam(), metavar="TIME", help="Events before this time.")
@click.option("-f", "--follow", is_flag=True, help="Continue with events that are written later, until Ctrl-C.")
@click.option("--full", is_flag=True, help="Show values in full.")
@click.option("--decide-again", "policy", metavar="POLICY", type=click.Path(),
              help="Evaluate again with POLICY, a policy or a bundle, and show decisions that differ.")  # fmt: skip
@profile_option
@bundle_options
@click.option("--exit-code", is_flag=True, help="Exit with 1 if a line is damaged.")
@format_option
def log(
    file: str,
    *,
    follow: bool,
    full: bool,
    policy: str | None,
    profile: Any,  # Any: one of the choices
    exit_code: bool,
    output_format: str,
    **conditions: Any,  # Any: click passes what the options declare
) -> int:
    """Show the audit events in FILE (`-`: standard input), one line each, as `jsonl_sink` writes them.

    An event must match all options, and one value of each option. Damaged lines are reported on standard error, with
    their numbers. With --decide-again, exits with 1 if a decision differs.
    """
    chosen = Filter(**conditions)
    condition = bundle_checks().given()
    if policy is None and condition is not None:
        raise click.UsageError(f"`{condition}` needs `--decide-again`: events alone involve no bundle")
    again = None
    if policy is not None:
        from bobcat.cli.inputs import open_policy

        again = ReEvaluation(open_policy(policy, profile, ()))
    reading = LogReader(file, follow=follow)
    limit = None if full else VALUE_CHARS
    try:
        for event in reading.events():
            if not chosen.keeps(event):
                continue
            if again is not None:
                again.check(event, output_format, limit)
            elif output_format == "json":
                click.echo(_json(event))
            else:
                click.echo(line_of(event, limit))
    except KeyboardInterrupt:
        if not follow:
            raise
    differs = again is not None and again.report()
    return FINDINGS if differs or (exit_code and reading.damaged) else 0


class LogReader:
    """The events of a file. Invalid lines are reported on standard error, and counted in `damaged`."""

    def __init__(self, path: str, *, follow: bool) -> None:
        self._path = path
        self._follow = follow
        self.damaged = 0

    def events(self) -> Iterator[AuditEvent]:
        """Yield every event that can be read."""
        from bobcat.errors import AuditError
        from bobcat.runtime.decide_again import parse_line
        from bobcat.text.display import safe_text

        for number, line in read_lines(self._path, follow=self._follow):
            if not line.strip():
                continue
            try:
                if len(line) > MAX_LINE_BYTES:
                    raise AuditError("damaged", f"longer than {MAX_LINE_BYTES} bytes")
                event = parse_line(line)
            except AuditError as error:
                self.damaged += 1
                name = "<stdin>" if self._path == "-" else self._path
                click.echo(safe_text(f"{name}:{number}: damaged line: {error}"), err=True)
            else:
                yield event


@dataclass(slots=True)
class Filter:
    """The conditions on events. Tracks the tools of steps, because most events do not name them."""

    tools: Collection[str]
    verdicts: Collection[str]
    denied: bool
    rules: Collection[str]
    runs: Collection[str]
    ids: Collection[str]
    kinds: Collection[str]
    since: datetime | None
    until: datetime | None
    _known: dict[str, dict[Any, str]] = field(default_factory=dict)

    def keeps(self, event: AuditEvent) -> bool:
        """Return true if the event meets every condition."""
        tool = self._tool_of(event)
        body, at = event.body, _aware(event.timestamp)
        decided = event.kind.startswith("policy.")
        verdict, rules = str(body.get("verdict")), body.get("matched_rules")
        return (
            (not self.tools or tool in self.tools)
            and (not self.verdicts or (decided and verdict in self.verdicts))
            and (not self.denied or event.kind in DENIALS or (decided and verdict == "deny"))
            and (
                not self.rules
                or (decided and isinstance(rules, list) and any(str(rule) in self.rules for rule in rules))
            )
            and (not self.runs or any(_belongs_to(event.correlation_id, run) for run in self.runs))
            and (not self.ids or event.correlation_id in self.ids)
            and (not self.kinds or any(fnmatchcase(event.kind, kind) for kind in self.kinds))
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )

    def _tool_of(self, event: AuditEvent) -> str | None:
        """Return the tool of an event's step."""
        if not self.tools:
            return None
        step, tool = event.body.get("seq"), event.body.get("tool")
        if event.kind in ENDS:
            self._known.pop(event.correlation_id, None)
        if type(step) is not int:
            return None
        if len(self._known) > MAX_RUNS:  # runs whose end is not in the file
            self._known.pop(next(iter(self._known)))
        steps = self._known.setdefault(event.correlation_id, {})
        if isinstance(tool, str):
            steps[step] = tool
        return steps.get(step)


class ReEvaluation:
    """Re-evaluation of decisions with the same or another bundle."""

    def __init__(self, bundle: Policy) -> None:
        self._bundle = bundle
        self._same = self._differ = self._other = self._by_run = 0
        self._refused: dict[str, int] = {}

    def check(self, event: AuditEvent, output_format: str, limit: int | None) -> None:
        """Evaluate an event's decision again; print it if the result differs."""
        from bobcat.errors import AuditError
        from bobcat.runtime.decide_again import DECISIONS, decide_again, recorded

        if event.kind not in DECISIONS:
            return
        try:
            then, now = recorded(event), decide_again(event, self._bundle)
        except AuditError as error:
            self._refused[error.code] = self._refused.get(error.code, 0) + 1
            return
        if event.body.get("code") is not None:
            self._by_run += 1
            return
        self._other += event.bundle_id != self._bundle.id
        if _shape(then) == _shape(now):
            self._same += 1
            return
        self._differ += 1
        if output_format == "json":
            click.echo(_json(event, now))
        else:
            click.echo(line_of(event, limit))
            click.echo(f"    decided now: {_decided(now.verdict.value, now.reason, now.matched_rules, limit)}")

    def report(self) -> bool:
        """Report on standard error the number of different decisions; return true if there is one."""
        parts = [f"{self._same} decisions are the same, {self._differ} differ"]
        parts += [f"{count} not evaluated again ({code})" for code, count in sorted(self._refused.items())]
        if self._by_run:
            parts.append(f"{self._by_run} were refused by the run, not by a policy")
        if self._other:
            parts.append(f"{self._other} are from another policy")
        click.echo("; ".join(parts), err=True)
        return self._differ > 0


def _shape(decision: Decision) -> tuple[object, ...]:
    """Return the parts by which two decisions are compared."""
    from bobcat.text.json_text import json_text

    args = None if decision.transform_args is None else json_text(decision.transform_args)
    rules = tuple(decision.matched_rules)
    return str(decision.verdict), rules, str(decision.reason), args, decision.approvals_needed


def line_of(event: AuditEvent, limit: int | None = VALUE_CHARS) -> str:
    """Format one line for humans, safe to display. `limit` is per value, in characters."""
    from bobcat.text.display import safe_text

    at = _aware(event.timestamp).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    head = f"{at}Z {safe_text(event.correlation_id)} #{event.seq} {safe_text(event.kind)}"
    detail = _detail(event, limit)
    return f"{head} {detail}" if detail else head


def _detail(event: AuditEvent, limit: int | None) -> str:
    from bobcat.text.display import safe_json, safe_name, safe_names, safe_text

    body = dict(event.body)
    if event.kind.startswith("policy."):
        call = [f"step {safe_text(body.get('seq'), limit=limit)}:"]
        if "tool" in body:
            args = body.get("args", {"sha256": body.get("args_sha256")})
            call.append(f"{safe_name(body['tool'], limit=limit)} {safe_json(args, limit=limit)} ->")
        rules = body.get("matched_rules")
        names = tuple(rules) if isinstance(rules, list) else ()
        call.append(_decided(body.get("verdict"), body.get("reason"), names, limit, body.get("code")))
        return " ".join(call)
    if event.kind == "run.started":
        given = body.get("tools")
        tools = safe_names(given if isinstance(given, Mapping) else ())
        kept = {name: body[name] for name in ("task", "principal_id", "environment", "run_id") if body.get(name)}
        return " ".join([*_pairs(kept, limit), f"tools=[{tools}]"])
    return " ".join(_pairs(body, limit))


def _decided(verdict: object, reason: object, rules: tuple[object, ...], limit: int | None, code: object = None) -> str:
    from bobcat.text.display import safe_names, safe_text

    text = safe_text(verdict)
    if code is not None:
        text += f" ({safe_text(code)})"
    if rules:
        text += f" [{safe_names(rules)}]"
    return f"{text} {safe_text(reason, limit=limit)}" if reason else text


def _pairs(body: Mapping[str, Any], limit: int | None) -> list[str]:
    from bobcat.text.display import safe_json, safe_text

    return [f"{safe_text(name)}={safe_json(value, limit=limit)}" for name, value in body.items()]


def _json(event: AuditEvent, again: Decision | None = None) -> str:
    from bobcat.model.plain_fields import fields_to_json
    from bobcat.text.json_text import json_text

    data = fields_to_json(event)
    if again is not None:
        data["decided_again"] = {
            "verdict": str(again.verdict),
            "reason": again.reason,
            "matched_rules": list(again.matched_rules),
            "transform_args": again.transform_args,
        }
    return json_text(data)


def _belongs_to(correlation_id: str, run: str) -> bool:
    """Return true for a run, its resumed attempts, and the nodes of a graph."""
    return correlation_id == run or correlation_id.startswith((f"{run}#", f"{run}::"))


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
