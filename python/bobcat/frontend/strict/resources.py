"""Named resources of a policy: directories and sites, with the names that `within` and capabilities use for them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from bobcat._core import MappingNode, Node, facet_operand, parse_facet
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.fields import check_keys, mapping, string
from bobcat.frontend.strict.marks import resolved, unqualified
from bobcat.frontend.suggest import closest, listed, synonyms
from bobcat.frontend.yaml.nodes import entries

KINDS = {"path": "root", "http": "base"}
"""The key that each kind of resource needs."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
QUALIFIED = re.compile(rf"(?:{NAME.pattern}[.])?{NAME.pattern}")
"""A name, after the prefix of an included file."""
_SITE = re.compile(r"(?P<scheme>[^:/?#]*)://(?P<any>\*\.)?(?P<host>[^/?#]*)(?P<path>/[^?#]*)?")
_SYNONYMS = synonyms({"path": "dir directory file files fs folder", "http": "url https site web api"})
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory, as an operand of `within`: absolute, `.`, or beginning with `./`."""

    root: str


@dataclass(frozen=True, slots=True)
class Site:
    """The URLs of one scheme, host and port below a path. `below`: of all names below the host."""

    scheme: str
    host: str
    port: int
    path: str
    below: bool


Resource: TypeAlias = Directory | Site


class Resources:
    """The resources of one policy by name. Methods return None after they have reported an error."""

    def __init__(self, report: DiagnosticCollector, found: Mapping[str, Resource | None] | None = None) -> None:
        self._report = report
        self._found: dict[str, Resource | None] = dict(found or {})

    def reporting_to(self, report: DiagnosticCollector) -> Resources:
        """Return the same resources, whose errors are recorded in another report."""
        return Resources(report, self._found)

    def define(self, node: Node) -> None:
        """Read the resources of a policy."""
        fields = mapping(
            node, "resources", self._report, help="write `resources: {ws: {kind: path, root: ./workspace}}`"
        )
        for name, (key_node, item) in entries(fields, self._report).items() if fields is not None else ():
            self._found[name] = self._resource(item)
            if not NAME.fullmatch(unqualified(name, key_node)):
                problem = "a name has letters, digits, `_` and `-`, and begins with a letter"
                self._report.add("E0216", key_node, key="name", value=shown(name), problem=problem)

    def named(self, name: str, node: Node, kind: type[Resource]) -> Resource | None:
        """Return the resource of a name and kind; `node` is the place of the name."""
        name = resolved(name, node, self._found)
        if name not in self._found:
            near = closest(name, self._found)
            known = f"the resources are {listed(self._found)}" if self._found else "define it under `resources`"
            help = f"did you mean `{near}`?" if near else known
            self._report.add("E0215", node, name=shown(name), help=help)
            return None
        found = self._found[name]
        if found is not None and not isinstance(found, kind):
            wanted = "path" if kind is Directory else "http"
            self._report.add("E0218", node, name=shown(name), kind=wanted)
            return None
        return found

    def suggestion(self, name: str) -> str | None:
        """Return a help line about a text that could be the name of a directory; None if it could not."""
        if not NAME.fullmatch(name):
            return None
        near = closest(name, [each for each, found in self._found.items() if isinstance(found, Directory)])
        return f"did you mean the resource `{near}`?" if near else f"for a directory write `./{name}`"

    def directory_operand(self, text: str, node: Node) -> str | None:
        """Return the directory of an operand of `within`: that of the resource if the text is the name of one."""
        if resolved(text, node, self._found) not in self._found:
            return text
        found = self.named(text, node, Directory)
        return found.root if isinstance(found, Directory) else None

    def _resource(self, node: Node) -> Resource | None:
        fields = mapping(node, "a resource", self._report, help="write `{kind: path, root: ./workspace}`")
        if fields is None:
            return None
        found = entries(fields, self._report)
        if "kind" not in found:
            likely = next((kind for kind, key in KINDS.items() if key in found), "path")
            self._missing(fields, "kind", f"write `kind: {likely}`")
            return None
        kind_node = found["kind"][1]
        kind = string(kind_node, "kind", self._report)
        if kind is None:
            return None
        if kind not in KINDS:
            near = _SYNONYMS.get(kind.lower()) or closest(kind, KINDS)
            help = f"did you mean `{near}`?" if near else None
            self._report.add("E0206", kind_node, key="kind", value=shown(kind), known=listed(KINDS), help=help)
            return None
        key = KINDS[kind]
        check_keys(found, ("kind", key, "description"), f"a resource of the kind `{kind}`", self._report)
        if "description" in found:
            string(found["description"][1], "description", self._report)
        if key not in found:
            self._missing(
                fields, key, "write `root: ./workspace`" if key == "root" else "write `base: https://example.com`"
            )
            return None
        text = string(found[key][1], key, self._report)
        if text is None:
            return None
        return self._directory(text, found[key][1]) if kind == "path" else self._site(text, found[key][1])

    def _missing(self, node: MappingNode, key: str, help: str) -> None:
        head = node.value[0][0] if node.value else node
        self._report.add("E0203", head, where="the resource", key=key, help=help)

    def _directory(self, text: str, node: Node) -> Directory | None:
        try:
            root = facet_operand("path", True, text)
        except ValueError as problem:
            help = f"write `./{shown(text)}`" if NAME.fullmatch(text) else None
            self._report.add("E0216", node, key="root", value=shown(text), problem=str(problem), help=help)
            return None
        if root == "/":
            self._report.observe("broad-capability", node, what="root: /", problem="it is every file of the machine",
                                 instead="name the directory that the agent needs")  # fmt: skip
        return Directory(root)

    def _site(self, text: str, node: Node) -> Site | None:
        found = site(text)
        if isinstance(found, str):
            self._report.add("E0216", node, key="base", value=shown(text), problem=found)
            return None
        if "*" in found.path:
            problem = "its path has a wildcard; patterns stand in capabilities"
            self._report.add("E0216", node, key="base", value=shown(text), problem=problem)
            return None
        self.observe_site(found, text, node)
        return found

    def observe_site(self, found: Site, text: str, node: Node) -> None:
        """Record a site that is broader than most are meant to be."""
        problem = breadth(found)
        if problem:
            self._report.observe("broad-capability", node, what=shown(text), problem=problem[0], instead=problem[1])


def site(text: str) -> Site | str:
    """Parse a base or a pattern of URLs; return the problem of another text."""
    parts = _SITE.fullmatch(text)
    if parts is None:
        return "it is not `https://HOST/PATH`, without a query and a fragment"
    if parts["scheme"] not in ("http", "https"):
        return "its scheme is not `https` or `http`"
    if "*" in parts["host"]:
        return "`*` stands only for all names below a host, as in `*.example.com`"
    path = parts["path"] or "/"
    # A wildcard stands for characters that every path may have, so that the facet judges the rest.
    sample = re.sub(r"[*?]", "x", path)
    parsed, problem = parse_facet("url", f"{parts['scheme']}://{parts['host']}{sample}")
    if parsed is None:
        return problem[2] if problem is not None else "it is not a URL"
    url = json.loads(parsed)
    if "userinfo" in url:
        return "it has a user in front of the host"
    if parts["any"] and url["is_ip"]:
        return "no names are below an address"
    return Site(url["scheme"], url["host"], url["port"], path, bool(parts["any"]))


_REGISTRIES = frozenset("ac co com edu gov gob go ne net nom or org sch".split())
"""Second labels below which registries of countries sell names: `co.uk`."""
_SHARED = frozenset(
    "amazonaws.com azurewebsites.net blob.core.windows.net cloudfront.net firebaseapp.com fly.dev github.io gitlab.io "
    "googleapis.com herokuapp.com netlify.app ngrok.io ngrok-free.app onrender.com pages.dev railway.app "
    "trycloudflare.com vercel.app web.app workers.dev".split()
)
"""Hosts below which anybody can have a name."""


def breadth(found: Site) -> tuple[str, str] | None:
    """Return the reason that a site is broad, and what to write instead; None if it is not."""
    labels = found.host.split(".")
    country = len(labels) == 2 and len(labels[1]) == 2 and labels[0] in _REGISTRIES
    if found.below and (len(labels) == 1 or country or found.host in _SHARED):
        return f"anybody can register a name below `{found.host}`", "name the hosts"
    if found.scheme == "http" and found.host not in _LOOPBACK:
        return "anybody on the way can read and change what `http` carries", "write `https`"
    return None
