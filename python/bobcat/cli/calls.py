"""The tool call of `eval` and `explain`: from a file, from standard input, or from options.

With tools, a call is evaluated as in a run with these tools: declared values and argument defaults are the tool's,
and invalid arguments are refused before any rule. Without tools, the request contains all of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bobcat.cli.inputs import STDIN, decode, read_bytes
from bobcat.cli.options import Decorated
from bobcat.cli.plain_eval import request_text

if TYPE_CHECKING:
    from bobcat.model.decision import ActionRequest, Decision

TOOLS = "tools"
FROM_FILE = "@"


class CallOptions(NamedTuple):
    """The options of a command that describe a call, as written."""

    request_file: str | None
    tool: str | None
    tools: str | None
    parts: Mapping[str, str | None]
    """`args`, `declared` and `context`: JSON text, `@FILE`, or None."""


def call_options(command: Decorated) -> Decorated:
    """Add the options of the tool call for `eval` and `explain`, a file or its parts; the command gets `call`."""

    @wraps(command)
    def with_call(
        *args: Any,  # Any: click passes what the decorators declare, here and below
        request_file: str | None,
        tool: str | None,
        tools: str | None,
        **given: Any,
    ) -> Any:
        parts = {name: given.pop(f"{name}_json") for name in ("args", "declared", "context")}
        return command(*args, call=CallOptions(request_file, tool, tools, parts), **given)

    for decorate in (
        click.option(
            "--tools",
            metavar="MODULE:NAME",
            help="Evaluate the call as in a run with this `ToolSet`: its declarations, defaults and argument checks.",
        ),
        click.option("--context", "context_json", metavar="JSON|@FILE", help="The execution context, with --tool."),
        click.option(
            "--declared",
            "declared_json",
            metavar="JSON|@FILE",
            help="The metadata that the tool declares, with --tool.",
        ),
        click.option("--args", "args_json", metavar="JSON|@FILE", help="The arguments of the call, with --tool."),
        click.option("--tool", metavar="NAME", help="The name of the tool, instead of a REQUEST."),
        click.argument("request_file", metavar="[REQUEST]", required=False, type=click.Path(allow_dash=True)),
    ):
        with_call = decorate(with_call)
    return with_call


class CallInput(NamedTuple):
    """A request, or the refusal of a call that the tools do not accept."""

    request: ActionRequest
    refusal: Decision | None = None


def read_call(policy: str, options: CallOptions) -> CallInput:
    """Read the call that the options describe. Raises `RequestError`, `InputError` and usage errors."""
    _check_stdin(policy, options)
    from bobcat.model.request_json import parse_request, request_from_data

    data = parse_request(_request_text(options))
    named = _take_tools(data) if isinstance(data, dict) and options.tool is None else None
    spec = options.tools or named
    request = request_from_data(data)
    return (
        CallInput(request)
        if spec is None
        else _bound(request, spec, declares=isinstance(data, dict) and "declared" in data)
    )


def _check_stdin(policy: str, options: CallOptions) -> None:
    """Reject two readers of one standard input, and an unexpected wait for terminal input."""
    readers = ["the policy"] * (policy == STDIN)
    readers += [f"`--{name}`" for name, text in options.parts.items() if text == FROM_FILE + STDIN]
    if options.tool is None and options.request_file in (None, STDIN):
        readers.append("the request")
    if len(readers) > 1:
        raise click.UsageError(
            f"{readers[0]} is read from standard input, so {readers[1]} cannot be; name a file for one of them"
        )
    if options.tool is None and options.request_file is None and sys.stdin.isatty():
        raise click.UsageError("no call: give a REQUEST file, `--tool NAME`, or `-` to type the request")


def _request_text(options: CallOptions) -> str:
    """Return the JSON text of the request."""
    if options.tool is None:
        given = [name for name, text in options.parts.items() if text is not None]
        if given:
            raise click.UsageError(f"`--{given[0]}` needs `--tool`")
        source = options.request_file if options.request_file is not None else STDIN
        if source == STDIN and sys.stdin.isatty():
            click.echo("reading a request; end it with Ctrl-D", err=True)
        data, name = read_bytes(source)
        return decode(data, name)
    if options.request_file is not None:
        raise click.UsageError("give a REQUEST file or `--tool`, not both")
    parts = {name: _json_object(name, _part_text(text)) for name, text in options.parts.items() if text is not None}
    return request_text(options.tool, parts)


def _take_tools(data: dict[str, Any]) -> str | None:
    """Remove the key `tools` of a request file, which no request has; return its value."""
    from bobcat.errors import RequestError

    if TOOLS not in data:
        return None
    named = data.pop(TOOLS)
    if not isinstance(named, str):
        raise RequestError("bad_request", f"`{TOOLS}` must be a string such as `tools.py` or `module:NAME`")
    return named


def _part_text(text: str) -> str:
    """Return the text of an option; `@FILE` is the text of a file, `@-` standard input."""
    if not text.startswith(FROM_FILE):
        return text
    data, name = read_bytes(text.removeprefix(FROM_FILE))
    return decode(data, name)


def _json_object(name: str, text: str) -> str:
    try:
        value = json.loads(text, parse_int=float)  # an integer of any length
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"`--{name}`: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f'`--{name}`: a JSON object is needed, such as \'{{"cmd": "ls"}}\', or `@FILE`')
    return text


def _bound(request: ActionRequest, spec: str, *, declares: bool) -> CallInput:
    """Return the call as evaluated in a run with the tools."""
    from bobcat.errors import ArgumentError, RequestError
    from bobcat.model.decision import Decision, Verdict
    from bobcat.runtime.mediator import bind_request
    from bobcat.tools.named_object import load_tools

    if declares:
        raise RequestError("bad_request", f"the tools of `{spec}` already set `declared`; remove one of the two")
    try:
        return CallInput(bind_request(request, load_tools(spec)))
    except ArgumentError as error:
        code = getattr(error, "code", "argument_error")
        return CallInput(request, Decision(Verdict.DENY, str(error), (f"<{code}>",)))
