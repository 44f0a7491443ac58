"""The examination of a hook whose policy remembers: the events that it needs, and the directory of sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bobcat._core import session_directory
from bobcat.bundle.load import load_bundle
from bobcat.cli.hooks.report import Finding
from bobcat.cli.hooks.settings import HostSettings, Installed, JsonObject, installed


def remembering_findings(
    found: Installed, host: HostSettings, directory: Path, settings: JsonObject
) -> Iterator[Finding]:
    """Examine what the policy of a hook reads beside the call. The bundle has been read before."""
    bundle = load_bundle(Path(found.command.policy or "").read_bytes())
    if bundle.reads_results:
        missing = "sources are empty, and formulas see no results"
        yield from _event(found, host, settings, host.result_event, ("no_results", "results of calls", missing))
    if bundle.reads_task:
        yield from _event(found, host, settings, host.task_event, ("no_task", "`context.task`", "it is absent"))
    if bundle.remembers or bundle.reads_task:
        yield _place(found, directory)


def _event(
    found: Installed, host: HostSettings, settings: JsonObject, event: str | None, words: tuple[str, str, str]
) -> Iterator[Finding]:
    code, read, effect = words
    if event is None:
        yield Finding("note", code, f"the policy reads {read}, which {host.title} does not report: {effect}")
    elif all(other.command.text != found.command.text for other in installed(settings, host, event)):
        said = f"the policy reads {read}, and this hook is not installed at `{event}`: {effect}"
        yield Finding("warning", code, said, f"run `bobcat install {host.host}` again")


def _place(found: Installed, directory: Path) -> Finding:
    given = found.command.value("--state")
    try:
        place = Path(given) if given else session_directory()
    except ValueError as error:
        return Finding("warning", "sessions", str(error))
    said = f"the calls of each session are on record in `{place}`"
    if Path(os.path.realpath(place)).is_relative_to(os.path.realpath(directory)):
        return Finding("note", "sessions", f"{said}, where the agent works: deny changes of it, or keep it elsewhere")
    return Finding("note", "sessions", said)
