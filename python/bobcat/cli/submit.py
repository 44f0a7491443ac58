"""`bobcat submit`: take one tool call through a policy, and execute it if that permits."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.calls import FROM_FILE
from bobcat.cli.exit_codes import FINDINGS, NOT_ALLOWED, UNREADABLE
from bobcat.cli.failures import InputError
from bobcat.cli.inputs import PolicySource, decode, policy_command, read_bytes
from bobcat.cli.json_document import json_text
from bobcat.cli.options import check_memory, memory_options
from bobcat.cli.output import echo_line, show_rows, write_json
from bobcat.text.display import safe_json_line, safe_names, safe_text
from bobcat.text.unique_keys import unique_keys
from bobcat.tools.named_object import load_tool_functions

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.guard import Outcome

_FAILED = ("failed", "uncertain")


@policy_command(
    "submit",
    click.option("--tools", required=True, metavar="MODULE:NAME",
                 help="A `ToolSet`, or a list of functions; the current directory is importable."),
    click.option("--tool", required=True, metavar="NAME", help="The tool to call."),
    click.option("--args", "args_json", default="{}", metavar="JSON|@FILE", help="The arguments, a JSON object."),
    click.option("--key", metavar="KEY", help="The idempotency key: the same key in one store never executes twice."),
    click.option("--log", metavar="FILE|URL", help="The decision log: SQLite, JSONL for `.jsonl`, or a URL."),
    click.option("--store", "store_url", metavar="URL", help="The store for keys, approvals and memory."),
    click.option("--principal", default="user:anonymous", show_default=True, metavar="KIND:ID", help="Who calls."),
    click.option("--environment", default="dev", show_default=True, metavar="NAME", help="The environment."),
    memory_options,
    click.option("--redact", multiple=True, metavar="PATH", help="Log a keyed digest of this value, as `args.card`."),
)  # fmt: skip
def submit(source: PolicySource, *, output_format: str, **given: Any) -> int:  # Any: the options above
    """Decide one tool call with POLICY, execute it if that permits, and record it.

    Exits with 0 when the tool ran; 4 when it did not: denied, waiting, previewed, invalid or unknown; 1 when it failed
    or its outcome is uncertain; 2 for usage; 3 when the policy, the log or the store cannot be used.

    Example: bobcat submit policy.yaml --tools tools:TOOLS --tool fs.read --args '{"path": "a"}' --log decisions.db
    """
    args, policy = _arguments(given.pop("args_json")), opened(source)
    outcome = asyncio.run(submitted(policy, load_tool_functions(given.pop("tools")), args, **given))
    show_outcome(outcome, output_format)
    return exit_code(outcome)


def show_outcome(outcome: Outcome, output_format: str) -> None:
    """Print an outcome."""
    if output_format == "json":
        write_json(outcome.to_json())
    else:
        _show(outcome)


def exit_code(outcome: Outcome) -> int:
    """Return the exit code of an outcome."""
    if outcome.code == "log_failed" or outcome.log_error is not None:
        return UNREADABLE
    return 0 if outcome.ok else FINDINGS if outcome.status in _FAILED else NOT_ALLOWED


def opened(source: PolicySource) -> Policy:
    """Open the policy. One with mistakes is unreadable here: exit code 1 is that of a tool."""
    from bobcat.errors import PolicyCompileError

    try:
        return source.open()
    except PolicyCompileError as error:
        raise InputError(str(error)) from error
    except click.exceptions.Exit as shown:
        raise click.exceptions.Exit(UNREADABLE) from shown


async def submitted(
    policy: Policy, tools: Any, args: dict[str, Any], *, tool: str, principal: str, environment: str,
    log: str | None, key: str | None = None, store_url: str | None = None, redact: tuple[str, ...] = (),
    **memory: Any,
) -> Outcome:  # fmt: skip
    """Submit one call to a guard. Raises `InputError` for a log or a store that cannot be used."""
    from bobcat.errors import StoreError
    from bobcat.guard import Guard

    check_memory(store_url, memory)
    try:
        guard = Guard(
            policy, tools, log=log, store=store_url, principal=principal_of(principal), environment=environment,
            redact=redact, **memory,
        )  # fmt: skip
    except (StoreError, ValueError, TypeError) as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"the log cannot be used: {error}") from error
    async with guard:
        return await guard.submit(tool, args, key=key)


def principal_of(text: str) -> Any:
    """The principal that `--principal` names."""
    from bobcat.errors import RequestError
    from bobcat.model.request_json import principal_from_json

    kind, found, name = text.partition(":")
    try:
        return principal_from_json({"kind": kind, "id": name} if found else {"kind": "user", "id": kind})
    except RequestError as error:
        raise click.BadParameter(str(error), param_hint="--principal") from error


def _arguments(text: str) -> dict[str, Any]:
    if text.startswith(FROM_FILE):
        data, name = read_bytes(text.removeprefix(FROM_FILE))
        text = decode(data, name)
    try:
        found = json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--args") from error
    if not isinstance(found, dict):
        raise click.BadParameter("the arguments must be a JSON object", param_hint="--args")
    return found


def _show(outcome: Outcome) -> None:
    echo_line(f"{outcome.status}  {safe_text(outcome.tool)}")
    rows = [
        ("value", "" if outcome.value is None else safe_json_line(json_text(outcome.to_json()["value"]))),
        ("error", safe_text((outcome.error or "").partition("\n")[0])),
        ("reason", safe_text(outcome.reason)),
        ("rules", safe_names(outcome.matched_rules)),
        ("approvals", safe_names(outcome.approvals)),
        ("record", outcome.record_id),
        ("log", safe_text(outcome.log_error or "")),
    ]
    show_rows([(f"  {name}", text) for name, text in rows if text], width=12)
