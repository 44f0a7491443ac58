"""Observations about capabilities that permit more than most are meant to: the input of the lint `broad-capability`."""

from __future__ import annotations

from bobcat._core import Node
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.capability_actions import ACTIONS
from bobcat.frontend.strict.capability_limits import texts
from bobcat.frontend.strict.capability_targets import PathPattern, UrlPattern
from bobcat.frontend.yaml.nodes import Entries

_RUNNERS = frozenset(
    "sh ash bash busybox csh dash fish ksh pwsh powershell tcsh zsh awk bun deno env find gawk git-shell java lua make "
    "mawk nice node nodejs nohup npx perl php pnpm python python2 python3 ruby screen script setsid ssh sudo su tclsh "
    "time timeout tmux uv uvx watch xargs".split()
)
"""Programs that run other programs, or code in their arguments."""


class Breadth:
    """Breadth of a capability of one action."""

    def __init__(self, action: str, report: DiagnosticCollector) -> None:
        self._action = action
        self._report = report
        self._sites: list[tuple[UrlPattern, str, Node]] = []

    def see(self, pattern: PathPattern | UrlPattern, text: str, node: Node) -> None:
        """Take a pattern of the capability."""
        if isinstance(pattern, UrlPattern):
            self._sites.append((pattern, text, node))
        elif pattern.directory == "/" and not pattern.file:
            self._observe(node, text, "it is every file of the machine", "name a directory")
        elif pattern.whole and ACTIONS[self._action].writes:
            problem = f"`{self._action}` may change everything in the resource"
            self._observe(node, text, problem, f"name a part of it: `{text.removesuffix('**')}out/**`")

    def check(self, found: Entries) -> None:
        """Record what is broad about the other keys."""
        if self._action == "proc.run" and "argv" not in found:
            names = texts(found["program"][1], "program", self._report) or []
            for name in names:
                if name.rpartition("/")[2] in _RUNNERS:
                    problem = f"`{name}` runs what its arguments say"
                    self._observe(found["program"][1], name, problem, "limit its arguments by `argv`")
        if self._action == "mcp.call" and "tools" not in found:
            problem = "every tool of the server may be called"
            self._observe(found["server"][1], "mcp.call", problem, "name the tools: `tools: [search]`")
        if self._action == "sql.execute" and "statements" not in found:
            problem = "every statement may be executed"
            self._observe(found["database"][1], "sql.execute", problem, "write `statements: [insert, update]`")
        if "redirects" in found and found["redirects"][1].value == "judged":
            for pattern, text, node in self._sites:
                if pattern.site.below:
                    problem = "redirects lead to any name below the host"
                    self._observe(node, text, problem, "name the hosts, or write `redirects: none`")

    def _observe(self, node: Node, what: str, problem: str, instead: str) -> None:
        self._report.observe("broad-capability", node, what=shown(what), problem=problem, instead=instead)
