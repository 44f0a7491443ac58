"""Recorded calls that two policies decide differently, counted for `bobcat diff --traffic`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bobcat.cli.failures import InputError
from bobcat.cli.recorded_input import open_logs, progress_of, show_damage

if TYPE_CHECKING:
    from bobcat.analysis.difference import Seen
    from bobcat.bundle import Policy
    from bobcat.model.decision import ActionRequest

_FIRST_BYTES = 1 << 16


class RecordedCalls:
    """The calls of some logs, and of files with one request on each line."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._requests = [request for target in targets if _holds_requests(target) for request in requests_in(target)]
        self._logs = open_logs([target for target in targets if not _holds_requests(target)], maps=False)

    def count(self, old: Policy, new: Policy) -> tuple[Counter[Seen], int]:
        """Return the numbers of calls that are decided differently, by tool, verdicts and rules, and of all calls."""
        from bobcat.analysis.deciding import DecidingRules
        from bobcat.analysis.difference import Seen, decided
        from bobcat.threads.journal import earlier_turns
        from bobcat.traffic.replaying import Options, Replay

        seen, calls = decided((old, new), self._requests)
        if self._logs:
            options = Options(0, earlier_runs=earlier_turns)
            with progress_of(self._logs) as progress:
                tally = Replay(new, old, options).run(self._logs, progress=progress)
            show_damage(tally)
            before, after = DecidingRules(old), DecidingRules(new)
            calls += tally.decided
            for key, group in tally.groups.items():
                if key.old != key.new or (key.new == "transform" and key.direction == "unclear"):
                    rules = before.named(key.old_rules, key.old), after.named(key.new_rules, key.new)
                    seen[Seen(key.tool, key.old, rules[0], key.new, rules[1])] += group.count
        return seen, calls


def recorded_requests(targets: Sequence[str]) -> list[ActionRequest]:
    """Return the calls of some logs. A record without the declaration of its tool has the strictest one."""
    from bobcat.errors import RequestError
    from bobcat.model.request_json import request_from_json
    from bobcat.traffic.formats import parse_entry, parse_event
    from bobcat.traffic.opa import opa_parser
    from bobcat.traffic.recorded import Recorded

    parsers = {"decision_log": parse_entry, "audit": parse_event, "opa": opa_parser({})}
    found = [request for target in targets if _holds_requests(target) for request in requests_in(target)]
    for log in open_logs([target for target in targets if not _holds_requests(target)], maps=False):
        if log.kind == "store":
            raise InputError(f"`{log.name}` is a store of journals; give a decision log or a file of audit events")
        for chunk in log.chunks():
            for number, line in enumerate(chunk.lines(), 1):
                try:
                    parsed = parsers[chunk.format](line, number)
                    if isinstance(parsed, Recorded):
                        found.append(request_from_json(parsed.request()))
                except (ValueError, RequestError):
                    continue  # `bobcat replay` reports damaged lines
    return found


def requests_in(target: str) -> list[ActionRequest]:
    """Return the requests of a file with one on each line."""
    from bobcat.errors import RequestError
    from bobcat.model.request_json import request_from_json

    found = []
    for number, line in enumerate(Path(target).read_bytes().splitlines(), 1):
        if line.strip():
            try:
                found.append(request_from_json(line))
            except RequestError as error:
                raise InputError(f"{target}:{number}: not a request: {error}") from error
    return found


def _holds_requests(target: str) -> bool:
    """Return true for a file whose first line is a request rather than an entry of a log."""
    import json

    path = Path(target)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(_FIRST_BYTES)
    try:
        data = json.loads(first)
    except ValueError:
        return False
    return isinstance(data, dict) and "tool" in data and not {"kind", "input"} & data.keys()
