"""The commands of `bobcat`, and the page of `bobcat --help`.

PERF: neither needs click, whose import takes four fifths of the time of `bobcat --help`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # PERF: see `bobcat.lazy`
if TYPE_CHECKING:
    from collections.abc import Iterator

# section of `bobcat --help`: name: (module, attribute, one line for `bobcat --help`)
SECTIONS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Policies": {
        "init": ("bobcat.cli.init", "init", "Write a starter policy and its tests."),
        "import": ("bobcat.cli.import_", "import_", "Turn permissions of coding agents into a policy."),
        "fmt": ("bobcat.cli.fmt", "fmt", "Format policies and suites, with their comments."),
        "migrate": ("bobcat.cli.migrate", "migrate", "Rewrite policies in the current spelling, or for strict."),
        "check": ("bobcat.cli.check", "check", "Report errors and warnings of policies."),
        "test": ("bobcat.cli.test", "test", "Run the tests of policies."),
        "mutate": ("bobcat.cli.mutate", "mutate", "Change policies a little, and show what their tests miss."),
        "eval": ("bobcat.cli.eval", "eval_", "Evaluate one tool call."),
        "explain": ("bobcat.cli.explain", "explain", "Explain the decision on a tool call."),
        "diff": ("bobcat.cli.diff", "diff", "Show the calls that two policies decide differently."),
        "can": ("bobcat.cli.can", "can", "Find a call with a verdict, or prove that no such call exists."),
        "trace-can": ("bobcat.cli.trace_can", "trace_can", "Find a sequence of calls, or prove that none exists."),
        "prove": ("bobcat.cli.prove", "prove", "Prove invariants of a policy, or show calls that violate them."),
        "surface": ("bobcat.cli.surface", "surface", "Show what a policy permits, tool by tool."),
        "dead": ("bobcat.cli.dead", "dead", "List rules that decide no call, and clauses that change nothing."),
        "holes": ("bobcat.cli.holes", "holes", "Show calls that a restricting rule just misses."),
        "propose": ("bobcat.cli.propose", "propose", "Propose a rule: granted within an envelope, else asked about."),
        "proposals": ("bobcat.cli.proposals", "proposals", "List proposed rules, and revoke grants of them."),
        "replay": ("bobcat.cli.replay", "replay", "Decide recorded calls again, and show what changes."),
        "usage": ("bobcat.cli.usage", "usage", "Show what recorded calls use of a policy, and tighter rules."),
        "report": ("bobcat.cli.report", "report", "Write a page about a policy: rules, who may do what, findings."),
        "compile": ("bobcat.cli.compile", "compile_", "Compile a policy into a bundle file."),
        "inspect": ("bobcat.cli.inspect", "inspect", "Show a bundle: manifest, rules, digests."),
        "bundle": ("bobcat.cli.bundle", "bundle", "Publish, pull and serve signed releases of bundles."),
        "bundle-id": ("bobcat.cli.bundle_id", "bundle_id", "Print the digest of a policy."),
        "bench": ("bobcat.cli.bench", "bench", "Time the decisions of a policy, and compare with a baseline."),
        "packs": ("bobcat.cli.packs", "packs", "List the effects of programs that shell rules know."),
        "schema": ("bobcat.cli.schema", "schema", "Print the JSON Schema of the policy language."),
    },
    "Runs": {
        "run": ("bobcat.cli.run", "run", "Run the async `main()` of an agent script."),
        "submit": ("bobcat.cli.submit", "submit", "Decide one tool call, and execute it if that is permitted."),
        "serve": ("bobcat.cli.serve", "serve", "Decide over HTTP: OpenID AuthZEN 1.0 and JSON."),
        "proxy": ("bobcat.cli.proxy", "proxy", "Serve MCP in front of a server: every tool call is decided."),
        "mcp": ("bobcat.cli.mcp", "mcp", "Show and accept the definitions of MCP servers' tools."),
        "hook": ("bobcat.cli.hook", "hook", "Answer the tool call of a coding agent."),
        "install": ("bobcat.cli.install", "install", "Put the hook into the settings of a coding agent."),
        "trace": ("bobcat.cli.trace", "trace", "Show a journaled run as a timeline."),
        "log": ("bobcat.cli.log_command", "log", "Show, follow and check decision logs and audit events."),
        "approvals": ("bobcat.cli.approvals", "approvals", "List, show, grant and deny approvals."),
        "grants": ("bobcat.cli.grants", "grants", "List and revoke grants given ahead of time."),
        "runs": ("bobcat.cli.runs", "runs", "Queue, list, show, retry, cancel and delete runs."),
        "threads": (
            "bobcat.cli.threads",
            "threads",
            "List, show, rename, archive, export and import threads.",
        ),
        "ui": ("bobcat.cli.ui", "ui", "Show the runs and approvals of a store in a browser."),
        "worker": ("bobcat.cli.worker", "worker", "Execute queued runs."),
        "workers": ("bobcat.cli.workers", "workers", "List the workers of a store."),
        "triggers": ("bobcat.cli.triggers", "triggers", "List, show, confirm and stop triggers."),
        "undo": ("bobcat.cli.undo", "undo", "List, show and undo the changes of protected tools."),
        "spend": ("bobcat.cli.spend", "spend", "Show what runs have spent, and settle reservations."),
        "store": ("bobcat.cli.store_epoch", "store", "Show the epoch of a store, or mark it as restored."),
    },
    "Other": {
        "doctor": ("bobcat.cli.doctor", "doctor", "Check the hooks of coding agents, or a policy from lynx-agent."),
        "policy": ("bobcat.cli.policy", "policy", "`lint` and `bundle-id`, under lynx-agent's names."),
        "completion": ("bobcat.cli.completion", "completion", "Print the completion script of a shell."),
    },
}
COMMANDS = {name: command for commands in SECTIONS.values() for name, command in commands.items()}

COMPLETION_VARIABLE = "_BOBCAT_COMPLETE"
"""The variable of the environment by which a shell asks for completions."""

_ABOUT = (
    "Compile and evaluate policies for AI-agent tool calls, explain the decisions, and run agents behind them.",
    "Start with `bobcat init`, then `bobcat check`. `bobcat COMMAND --help` describes a command.",
)
_OPTIONS = (("-V, --version", "Show the version."), ("-h, --help", "Show this message and exit."))
_WIDEST, _NARROWEST = 78, 50


def help_page(width: int | None = None) -> str:
    """Return the page of `bobcat --help`, wrapped to `width` columns; None is the width of the terminal."""
    width = _width() if width is None else width
    lines = ["Usage: bobcat [OPTIONS] COMMAND [ARGS]..."]
    for paragraph in _ABOUT:
        lines += ["", *_wrapped(paragraph, width, "  ", "  ")]
    lists: dict[str, list[tuple[str, str]]] = {"Options": [*_OPTIONS]}
    for title, commands in SECTIONS.items():
        lists[title] = [(f"{name:<10}", summary) for name, (_, _, summary) in commands.items()]
    for title, rows in lists.items():
        column = max(len(name) for name, _ in rows) + 4
        lines += ["", f"{title}:"]
        for name, summary in rows:
            lines += _wrapped(summary, width, f"  {name}".ljust(column), " " * column)
    return "\n".join(lines) + "\n"


def _width() -> int:
    if not (sys.stdout.isatty() or "COLUMNS" in os.environ):
        return _WIDEST
    from shutil import get_terminal_size  # PERF: 2 ms, and a pipe has no size

    return max(min(get_terminal_size().columns - 2, _WIDEST), _NARROWEST)


def _wrapped(text: str, width: int, first: str, indent: str) -> Iterator[str]:
    """Split a paragraph into lines; the first one begins with `first`, the others with `indent`."""
    line, begun = first, False
    for word in text.split():
        if begun and len(line) + 1 + len(word) > width:
            yield line
            line, begun = indent, False
        line += f" {word}" if begun else word
        begun = True
    yield line
