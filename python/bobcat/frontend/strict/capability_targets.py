"""Patterns of the key `resource` of a capability, and the tests that they stand for.

`ws:out/**` is everything in the directory `out` of the resource `ws`; `api:/v1/**` is every URL of `api` whose path
begins with `/v1/`. A pattern may also begin with a directory or with a scheme and a host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from bobcat._core import Node, facet_operand
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.globs import GlobError, to_pattern
from bobcat.frontend.strict.resources import NAME, QUALIFIED, Directory, Resources, Site, site

# Any: JSON, the operands of a match.
Tests = dict[str, Any]
_WILD = re.compile(r"[*?\[\]{}]")
Target = Literal["path", "url"]


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A directory with what lies in it: all of it, or names that a glob matches, directly or at any depth; or one file.

    `glob` is None for everything, `depth` the number of components of a path, `deep` true for at least as many.
    `whole` is true for a whole resource.
    """

    directory: str
    glob: str | None
    depth: int | None
    deep: bool
    file: tuple[str, ...] = ()
    whole: bool = False

    def tests(self, argument: str) -> Tests:
        """Return the tests of a path, as the entries of a match."""
        path = f"args.{argument}.path"
        if self.file:
            absolute = self.directory.startswith("/")
            return {f"{path}.components.eq": list(self.file), f"{path}.is_absolute": absolute}
        tests: Tests = {f"{path}.within": self.directory}
        if self.depth is not None:
            tests[f"{path}.components.length.{'ge' if self.deep else 'eq'}"] = self.depth
        if self.glob is not None:
            tests[f"{path}.name.glob"] = self.glob
        return tests


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """The URLs of a site whose path matches."""

    site: Site
    path: str

    def tests(self, argument: str) -> Tests:
        """Return the tests of a URL, as the entries of a match."""
        url, found = f"args.{argument}.url", self.site
        tests: Tests = {f"{url}.scheme": found.scheme}
        if found.below:
            tests |= {f"{url}.host.within": found.host, f"{url}.host.not_in": [found.host]}
        else:
            tests[f"{url}.host"] = found.host
        tests |= {f"{url}.port": found.port, f"{url}.userinfo.exists": False}
        start = self.path.removesuffix("**")
        if not _WILD.search(self.path):
            tests[f"{url}.path"] = self.path
        elif start == "/":
            pass
        elif self.path.endswith("/**") and not _WILD.search(start):
            tests[f"{url}.path.starts_with"] = start
        else:
            tests[f"{url}.path.glob"] = self.path
        return tests


class Targets:
    """Reading of patterns. Methods return None after they have reported an error."""

    def __init__(self, report: DiagnosticCollector, resources: Resources) -> None:
        self._report = report
        self._resources = resources

    def path(self, text: str, node: Node) -> PathPattern | None:
        """Read a pattern of paths."""
        try:
            return self._path(text, node)
        except PatternProblem as problem:
            self._report.add("E0217", node, pattern=shown(text), what="a path", problem=str(problem), help=problem.help)
            return None

    def url(self, text: str, node: Node) -> UrlPattern | None:
        """Read a pattern of URLs."""
        try:
            return self._url(text, node)
        except PatternProblem as problem:
            self._report.add("E0217", node, pattern=shown(text), what="a URL", problem=str(problem), help=problem.help)
            return None

    def _path(self, text: str, node: Node) -> PathPattern | None:
        if text.startswith(("/", "./")):
            root, rest, whole = ("/", text[1:], False) if text[0] == "/" else (".", text[2:], False)
        else:
            name, rest = _split(text, "a directory", "ws:**")
            found = self._resources.named(name, node, Directory)
            if not isinstance(found, Directory):
                return None
            root, whole = found.root, True
        _check_names(rest)
        names = rest.split("/")
        deep = len(names) > 1 and names[-2] == "**"
        fixed, last = (names[:-1], names[-1]) if deep or _WILD.search(names[-1]) else (names, "")
        fixed = fixed[:-1] if deep else fixed
        try:
            directory = facet_operand("path", True, _below(root, fixed))
            if last != "**":
                to_pattern(last)
        except ValueError as error:
            raise PatternProblem(str(error)) from error
        components = tuple(name for name in directory.split("/") if name not in ("", "."))
        if last == "**":
            return PathPattern(directory, None, None, False, whole=whole and not fixed)
        if not last:
            return PathPattern(directory, None, None, False, file=components)
        return PathPattern(directory, None if last == "*" else last, len(components) + 1, deep)

    def _url(self, text: str, node: Node) -> UrlPattern | None:
        if "://" in text:
            found = site(text)
            if isinstance(found, str):
                raise PatternProblem(found)
            self._resources.observe_site(found, text, node)
            return _of_site(found, found.path)
        name, rest = _split(text, "a scheme", "api:/v1/**")
        base = self._resources.named(name, node, Site)
        if not isinstance(base, Site):
            return None
        if not rest.startswith("/"):
            raise PatternProblem("a path of a URL begins with `/`", f"write `{name}:/{shown(rest or '**')}`")
        return _of_site(base, base.path.rstrip("/") + rest)


class PatternProblem(ValueError):
    """The text is not a pattern; `help` is a help line."""

    def __init__(self, problem: str, help: str | None = None) -> None:
        super().__init__(problem)
        self.help = help


def _of_site(base: Site, path: str) -> UrlPattern:
    host = f"[{base.host}]" if ":" in base.host else base.host
    found = site(f"{base.scheme}://{host}:{base.port}{path}")
    if isinstance(found, str):
        raise PatternProblem(found)
    try:
        to_pattern(path)
    except GlobError as error:
        raise PatternProblem(str(error)) from error
    return UrlPattern(base, path)


def _split(text: str, start: str, example: str) -> tuple[str, str]:
    """Return the name of a resource, and the pattern below it."""
    name, colon, rest = text.partition(":")
    if colon and QUALIFIED.fullmatch(name):
        return name, rest
    help = f"write `{example}`"
    if NAME.fullmatch(text):
        help = f"write `{text}:{example.partition(':')[2]}`"
    elif not colon and "/" in text and text[0] not in "~." and start == "a directory":
        help = f"write `./{shown(text)}`"
    raise PatternProblem(f"it begins with neither the name of a resource and `:`, nor {start}", help)


def _check_names(rest: str) -> None:
    """Check the names of a pattern below a root."""
    names = rest.split("/")
    if not rest or "" in names:
        raise PatternProblem("a name in it is empty", "end it with `**` for everything in the directory")
    if "." in names or ".." in names:
        raise PatternProblem("`.` and `..` are no names", "write the directory itself")
    deep = len(names) > 1 and names[-2] == "**"
    if any(_WILD.search(name) for name in (names[:-2] if deep else names[:-1])):
        help = "write `DIR/**`, `DIR/*.csv` or `DIR/**/*.csv`"
        raise PatternProblem("a wildcard stands in the last name, or is `**` before it", help)
    if deep and names[-1] == "**":
        raise PatternProblem("`**` stands twice", "write it once")
    if "**" in names[-1] and names[-1] != "**":
        raise PatternProblem("`**` is a whole name", "write `*` for a part of a name")


def _below(root: str, names: list[str]) -> str:
    """Return a directory below a root."""
    start = "" if root == "/" else root
    return "/".join((start, *names)) or "/"
