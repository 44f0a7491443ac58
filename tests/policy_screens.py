"""What commands about policies show of an untrusted text, and how a screen is taken: rows of `screens`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

import bobcat
from bobcat.adapters.mcp_pins_file import pin, write_servers
from bobcat.benchmark import Calls, bench
from bobcat.benchmark.page import page
from bobcat.benchmark.report import BenchmarkReport
from bobcat.cli.main import main
from bobcat.decision_log import open_log

Screen = Callable[[str], str]


TIME = datetime(2026, 1, 31, 12, tzinfo=UTC)


_NEWLINES = {ord("\n"): "n"}
"""A traceback is shown line by line, each behind a mark."""


STORE = "sqlite:///runs.db"


def shown(work: Callable[[], object]) -> str:
    """The output of `work` on both streams, as a terminal without colours would get it."""
    kept = sys.stdin, sys.stdout, sys.stderr
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(""), stream, stream
        with contextlib.suppress(SystemExit):
            work()
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]  # the stream in memory behind it


def command(*args: str) -> str:
    """The output of `bobcat ARGS`."""
    return shown(lambda: main(list(args)))


def mcp_accept(text: str, *options: str) -> str:
    """Accept the definitions of a tool with `text` wherever it can be, which a proxy has refused."""
    name = text or "t"
    definition = {"name": name, "description": text, "inputSchema": {"type": "object", text: text}}
    write_servers(Path("pins.json"), {name: {name: pin({**definition, "title": "x"})}})
    write_servers(Path("pins.json.refused"), {name: {name: pin(definition), f"{name}2": pin(definition)}})
    return command("mcp", "accept", "--pins", "pins.json", *options)


def quoted(text: str) -> str:
    """`text` as a double-quoted string of YAML."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08X}" for c in text) + '"'


def suite(text: str, more: str = "", *, expects: bool = True) -> str:
    """Write a suite that fails, with `text` wherever it can be; its name."""
    value = quoted(text)
    request = f"{{tool: pay, args: {{to: {value}, {quoted('x' + text)}: 1}}, context: {{extra: {{x: {value}}}}}}}"
    expect = f"verdict: deny, rule: {quoted('y' + text)}, reason_matches: '^$', error: {value}"
    expect = f"{{{expect}, args: {{to: {quoted(text + 'x')}}}}}"
    case = f"name: {quoted('x' + text)}, tags: [{value}], request: {request}"
    case = f"{{{case}, expect: {expect}}}" if expects else f"{{{case}}}"
    Path("x.policytest.yaml").write_text(f"{more}policy: {policy(text)}\ncases: [{case}]\n", encoding="utf-8")
    return "x.policytest.yaml"


def passing_suite(text: str) -> str:
    """Write a suite that passes, with `text` wherever it can be; its name."""
    name = suite(text, expects=False)
    command("test", name, "--update", "--yes")
    return name


def policy(text: str, decision: str = "deny") -> str:
    """Write a policy that says `text` wherever it can; its name."""
    said = quoted(text)
    id = said if text.strip() and text.isprintable() and not text.startswith("<") else "one"
    more = f", approvers: [{quoted('x' + text)}]" if decision == "approve_required" else ""
    rules = (
        f"{{id: {id}, description: {said}, match: {{tool: pay, args.to.eq: {said}}}, decision: allow, reason: {said}}}",
        f"{{match: {{tool: pay, args.to.starts_with: {said}}}, decision: {decision}, reason: {said}{more}}}",
        f"{{match: {{tool: change}}, decision: transform, transform: {{jsonpath: $.args.to, append: {said}}}}}",
    )
    Path("policy.yaml").write_text("rules:\n" + "".join(f"  - {rule}\n" for rule in rules), encoding="utf-8")
    return "policy.yaml"


def flawed(text: str) -> str:
    """Write a policy with a finding about `text`; its name."""
    path = Path(policy(text))
    path.write_text(f"{path.read_text()}predicates: {{{quoted(text)}: {{tool: t}}}}\n")
    return "policy.yaml"


def shadowed(text: str) -> str:
    """Write a policy with a rule about `text` that decides nothing; its name."""
    said = quoted(text)
    match = f"{{tool: pay, args.to.eq: {said}}}"
    Path("policy.yaml").write_text(
        f"rules:\n  - {{id: deny, match: {match}, decision: deny, reason: {said}}}\n"
        f"  - {{id: {quoted('x' + text)}, match: {match}, decision: allow}}\n"
        "  - {id: rest, match: {tool: pay}, decision: allow}\n"
    )
    return "policy.yaml"


def compared(*args: str) -> Screen:
    """`bobcat diff` of two policies that differ in a rule about the text."""

    def screen(text: str) -> str:
        Path(policy(text)).rename("old.yaml")
        return command("diff", "old.yaml", policy(text, "allow"), *args)

    return screen


def proved(text: str, *args: str) -> str:
    """`bobcat prove` of an invariant about the text, which a policy violates."""
    said = quoted(text)
    Path("invariants.yaml").write_text(
        f"invariants: [{{id: {quoted('x' + text)}, reason: {said}, never: {{tool: pay, args.to: {said}}}}}]\n"
    )
    return command("prove", policy(text), "invariants.yaml", *args)


def proposed(text: str, *args: str, envelope: str = "rules: []") -> str:
    """`bobcat propose` of a rule about the text, beyond the envelope unless it is given."""
    Path("max.yaml").write_text(f"{envelope}\n")
    Path("base.yaml").write_text("rules: []\n")
    rule = f"{{id: {quoted('x' + text)}, match: {{tool: pay, args.to: {quoted(text)}}}, decision: allow}}"
    Path("rule.yaml").write_text(f"rules: [{rule}]\n")
    by = text.replace("\0", "") or "NAME"
    options = ("--policy", "base.yaml", "--envelope", "max.yaml", "--by", by, "--reason", by, "--store", STORE)
    return command("propose", "rule.yaml", *options, *args)


def proposals(text: str, *args: str) -> str:
    """`bobcat proposals` after a rule about the text was granted; `ID` is that of its proposal.

    Of a text that no rule can have, `ID` is the text itself.
    """
    everything = "rules: [{id: all, match: {tool: pay}, decision: allow}]"
    granted = json.loads(proposed(text, "--format", "json", envelope=everything))
    by = text.replace("\0", "") or "NAME"
    return command(
        "proposals", *({"ID": granted.get("id", by), "BY": by}.get(arg, arg) for arg in args), "--store", STORE
    )


def older(text: str) -> str:
    """Write a policy of lynx-agent with `text` in what `bobcat migrate` changes and leaves; its name."""
    rule = f"{{verdict: deny, reason: {quoted(text)}, match: {{tool: [{quoted(text)}]}}, {quoted('x' + text)}: 1}}"
    Path("policy.yaml").write_text(f"rules:\n  - {rule}\n", encoding="utf-8")
    return "policy.yaml"


def request(text: str, tool: str = "pay") -> str:
    """Write a request with `text` in it; its name."""
    Path("request.json").write_text(json.dumps({"tool": tool, "args": {"to": text, text: [text]}}), encoding="utf-8")
    return "request.json"


def twice(text: str) -> str:
    """Write a request that has a key twice; its name."""
    key = json.dumps(text)
    Path("request.json").write_text(f'{{"tool": "t", "args": {{{key}: 1, {key}: 2}}}}', encoding="utf-8")
    return "request.json"


def named(text: str) -> str:
    """`text` as the name of a file that is not there."""
    return f"no{text}".replace("\0", "").replace("/", "")[:80]


def warned(text: str) -> str:
    """The warnings and the error of compiling."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            bobcat.compile_policy(
                f"rules: [{{id: r, match: {{tool: t, {quoted(text)}: 1}}, decision: {quoted(text)}}}]"
            )
        except ValueError as error:
            return str(error)
    return "\n".join(str(item.message) for item in found)


def explained(text: str) -> str:
    """An explanation as text."""
    made = json.loads(Path(request(text)).read_text())
    return bobcat.compile_policy(Path(policy(text)).read_text()).explain(bobcat.request_from_json(made)).to_text()


@lru_cache(1)
def measured() -> BenchmarkReport:
    """A report of a benchmark; times are what differs between two of them."""
    calls = Calls.of([bobcat.request_from_json({"tool": "t"})])
    return bench(bobcat.compile_policy("rules: [{id: r, match: {tool: t}, decision: allow}]"), calls, seconds=0.02)


def benchmark(text: str) -> BenchmarkReport:
    """The report, with `text` in every place."""
    report, change = measured(), msgspec.structs.replace
    return change(
        report,
        subject=change(report.subject, policy=text, profile=text, source=text),
        machine=change(report.machine, python=text, processor=text),
        rules=[change(cost, rule=text) for cost in report.rules],
        clauses=[change(cost, clause=text, rule=text, place=text) for cost in report.clauses],
        slowest=[change(call, tool=text, rule=text, verdict=text) for call in report.slowest],
    )


def html(text: str) -> str:
    """The page of a benchmark."""
    return page(benchmark(text), text)


def replayed(*args: str, name: str = "replay") -> Screen:
    """The replay, or the usage, of a decision log with the text in every place."""

    def screen(text: str) -> str:
        said = text.encode("utf-8", "replace").decode()
        body = {
            "tool": said, "args": {said: said}, "matched_rules": [said], "verdict": "deny",
            "principal": {"kind": said, "id": said}, "environment": said,
        }  # fmt: skip
        with open_log("decisions.jsonl") as log:
            log.append("r", "decision", body)
        Path("all.json").write_text('{"rules": [{"id": "all", "match": {}, "decision": "allow"}]}')
        return command(name, "decisions.jsonl", "--policy", "all.json", *args)

    return screen


def reported(*args: str) -> Screen:
    """The report on a policy with the text in a rule, its test and a recorded call."""

    def screen(text: str) -> str:
        said = text.encode("utf-8", "replace").decode()
        with open_log("decisions.jsonl") as log:
            log.append("r", "decision", {"tool": said, "args": {}, "matched_rules": [said], "verdict": "deny"})
        rule = {
            "id": "a",
            "description": said,
            "match": {"tool": "t", "args.x": said},
            "decision": "deny",
            "reason": said,
        }
        Path("all.json").write_text(json.dumps({"rules": [rule]}))
        return command("report", "all.json", "--log", "decisions.jsonl", "-o", "-", *args)

    return screen


def imported(kind: str, source: str) -> str:
    """Write a file of permissions; the output of `bobcat import`."""
    Path("source").write_text(source, encoding="utf-8", errors="replace")
    return command("import", kind, "source")


def rule_lists(text: str) -> dict[str, Any]:
    """Permissions of Claude Code with `text` in every place."""
    rules = [text, f"Bash({text})", f"Bash({text}:*)", f"Read({text})", f"x({text})"]
    return {"deny": rules, "ask": rules, "allow": rules, "defaultMode": text, text: 1}


def toml(text: str) -> str:
    """`text` as a basic string of TOML."""
    return '"' + "".join(f"\\U{ord(c):08X}" for c in text if not 0xD800 <= ord(c) < 0xE000) + '"'
