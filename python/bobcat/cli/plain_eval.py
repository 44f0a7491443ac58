"""`bobcat eval` of a bundle in a pipe, without click: for programs that decide by starting it.

PERF: importing click and building the options of a command takes as long as everything else. `plain_eval` leaves every
other command line, every error and every terminal to the command itself, with nothing printed.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bobcat.cli.exit_codes import NOT_ALLOWED
from bobcat.cli.json_document import json_document, json_text
from bobcat.text.display import safe_json_line, safe_name, safe_names, safe_text

if TYPE_CHECKING:
    from bobcat.model.decision import ActionRequest, Decision

STDIN = "-"
_FORMATS = ("text", "json")
_PARTS = ("args", "declared", "context")
_VALUED = ("tool", "format", *_PARTS)


class PlainCall(NamedTuple):
    """The words of a plain command line: paths, and values by the names of options."""

    policy: str
    request: str | None
    given: Mapping[str, str]
    exit_code: bool


def plain_eval(words: list[str]) -> tuple[str | bytes, int] | None:
    """Return the output and the exit code of `bobcat eval WORDS`; None if the command has to answer.

    Standard input that was read can be read again.
    """
    call = _plain_call(words)
    if call is None:
        return None
    from bobcat._core import evaluate
    from bobcat.bundle.load import is_bundle, load_bundle
    from bobcat.model.decision_json import decision_json

    try:
        with open(call.policy, "rb") as file:
            data = file.read()
        if not is_bundle(data):
            return None
        bundle = load_bundle(data)
        request = _request(call)
        if request is None:
            return None
        decision = evaluate(bundle, request)
    except (OSError, ValueError, RecursionError):  # the command says what is wrong
        return None
    output: str | bytes
    if call.given.get("format") == "json":
        output = json_document({"bundle": bundle.id, **decision_json(decision)}) + b"\n"
    else:
        lines = [str(decision.verdict), f"  reason     {safe_text(decision.reason)}"]
        lines += [f"  {name:<10} {text}" for name, text in decision_rows(decision) if text]
        output = "".join(f"{line}\n" for line in lines)
    denied = decision.verdict not in ("allow", "transform")
    return output, NOT_ALLOWED if call.exit_code and denied else 0


def _plain_call(words: list[str]) -> PlainCall | None:
    """Read a plain command line; None for one with other options, with a mistake, or with paths that are no files."""
    paths: list[str] = []
    given: dict[str, str] = {}
    exit_code = False
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if word == "--exit-code":
            exit_code = True
        elif not word.startswith("-") or word == STDIN:
            paths.append(word)
        elif word.startswith("--") and name in _VALUED and name not in given:
            given[name] = value if equals else next(rest, "-")
            if given[name].startswith(("-", "@")):
                return None
        else:
            return None
    policy, request = [*paths, None, None][:2]
    parts = any(name in given for name in _PARTS)
    if policy in (None, STDIN) or len(paths) > 2 or given.get("format", "text") not in _FORMATS:
        return None
    if not all(path == STDIN or os.path.isfile(path) for path in paths):  # a pipe can be read only once
        return None
    if (request is not None) if "tool" in given else parts:
        return None
    return None if sys.stdout.isatty() else PlainCall(policy, request, given, exit_code)


def _request(call: PlainCall) -> ActionRequest | None:
    """Read the call; None if tools have to complete it. Raises `OSError` and `ValueError`."""
    from bobcat.model.request_json import parse_request, request_from_data

    if "tool" in call.given:
        parts = {name: call.given[name] for name in _PARTS if name in call.given}
        if not all(isinstance(json.loads(text, parse_int=float), dict) for text in parts.values()):
            return None
        text = request_text(call.given["tool"], parts)
    elif call.request not in (None, STDIN):
        with open(call.request, "rb") as file:
            text = file.read().decode("utf-8").removeprefix("\ufeff")
    else:
        if sys.stdin.isatty():
            return None
        data = sys.stdin.buffer.read()
        sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
        text = data.decode("utf-8").removeprefix("\ufeff")
    found = parse_request(text)
    return None if isinstance(found, dict) and "tools" in found else request_from_data(found)


def request_text(tool: str, parts: Mapping[str, str]) -> str:
    """Return the JSON text of a request; the texts of its parts are passed on, so that they mean the same in a file."""
    entries = {"tool": json.dumps(tool), **parts}
    return "{" + ", ".join(f'"{name}": {text}' for name, text in entries.items()) + "}"


def decision_rows(decision: Decision) -> list[tuple[str, str | None]]:
    """Return the rows below the reason of a decision: names and safe texts, None for what it does not have."""
    transformed = decision.transform_args
    duties = ", ".join(f"{safe_name(each.name)} ({each.phase})" for each in decision.obligations)
    return [
        ("rules", safe_names(decision.matched_rules)),
        ("approvers", safe_names(decision.approvers)),
        ("needed", None if decision.approvals_needed == 1 else str(decision.approvals_needed)),
        ("timeout", None if decision.timeout_seconds is None else f"{decision.timeout_seconds} s"),
        ("obligations", duties or None),
        ("arguments", None if transformed is None else safe_json_line(json_text(transformed))),
    ]
