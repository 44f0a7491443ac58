"""Targets of the Agent OS kernel by action: the tests of a tool's arguments that a glob over the target becomes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from bobcat._core import facet_operand, parse_facet
from bobcat.cli.importers.fnmatch_patterns import is_literal, literal_prefix, pattern_of
from bobcat.cli.importers.model import Match

MAX_PATTERN = 1_000
"""Length of a pattern of a policy."""
Tests = tuple[Match, tuple[str, ...]]
"""The tests, and what is narrower than in the source."""

_SPELLINGS = r"(^|/)[.]{1,2}(/|$)|//"
"""Paths in another spelling than their normal form."""
_BEHIND_START = r"^[.][.](/|$)|/[.]{1,2}(/|$)|//"
"""The same for paths that begin with `./`."""


class NoTarget(ValueError):
    """The resource has no equal."""


def _path(resource: str) -> Tests:
    """Files: the text, in its normal form, within the directory in front of the first wildcard."""
    spellings = _BEHIND_START if resource.startswith("./") else _SPELLINGS
    if resource.startswith("~"):
        raise NoTarget("some programs take `~` for the home of a user")
    if re.search(spellings, resource):
        raise NoTarget("it has `.`, `..` or `//`")
    directory, slash, _ = literal_prefix(resource).rpartition("/")
    roots = [directory or "/"] if slash else ["."] if literal_prefix(resource) else [".", "/"]
    if slash and not resource.startswith("/"):
        roots = [directory if directory.startswith("./") else f"./{directory}"]
    try:
        operand = [facet_operand("path", True, root) for root in roots]
    except ValueError as problem:
        raise NoTarget(f"no path is certain to be meant: {problem}") from problem
    match: Match = {
        "args.path.path.within": operand if len(operand) > 1 else operand[0],
        **_text("path", resource),
        "not": {"args.path.matches": spellings},
    }
    return match, ("paths with `.`, `..` or `//` are denied, and those that programs read in several ways",)


def _program(resource: str) -> Tests:
    """Programs: the text, without `..`."""
    if is_literal(resource):
        return {"args.program": resource}, ()
    match: Match = {
        "args.program.exists": True,
        **_text("program", resource),
        "not": {"args.program.matches": _SPELLINGS},
    }
    return match, ("programs with `.`, `..` or `//` in their path are denied",)


def _url(resource: str) -> Tests:
    """URLs: the text, and the scheme, the host and the port that it begins with."""
    scheme, separator, rest = resource.partition("://")
    match: Match = {"args.url.url.userinfo.exists": False, **_text("url", resource)}
    effects = ["URLs with a user in front of the host are denied, and those that programs read in several ways"]
    if not is_literal(resource) and literal_prefix(resource) == "":
        return {"args.url.url.scheme.in": ["http", "https"], **match}, tuple(effects)
    if not separator or scheme not in ("http", "https"):
        raise NoTarget("it does not begin with `https://` or `http://`")
    host, slash, _ = rest.partition("/")
    if not slash and not is_literal(host):
        if not is_literal(host[:-1]) or host[-1] != "*":
            raise NoTarget("its host has a wildcard, and no path follows")
        host = host.rstrip("*")
        effects.append(f"only the host `{host}` itself, not others that begin with this text")
    name, colon, port = host.partition(":")
    if "[" in name or not is_literal(port) or (colon and not port):
        raise NoTarget("its host or port cannot be read with certainty")
    if not is_literal(name):
        match["args.url.url.host.matches"] = pattern_of(name, star="[^/]*")
        effects.append("`*` in the host does not cross `/`")
        sample = "example.com"
    else:
        sample = name
    parsed, problem = parse_facet("url", f"{scheme}://{sample}{colon}{port}/")
    if parsed is None:
        raise NoTarget(problem[2] if problem is not None else "it is not a URL")
    url = json.loads(parsed)
    match |= {"args.url.url.scheme": url["scheme"], "args.url.url.port": url["port"]}
    if is_literal(name):
        match["args.url.url.host"] = url["host"]
    return match, tuple(effects)


def _server_and_tool(resource: str) -> Tests:
    """Tools of MCP servers: the text in front of the first slash and behind it."""
    server, slash, name = resource.partition("/")
    if resource.strip("*") == "":
        return {"args.server.exists": True, "args.tool.exists": True}, ()
    if "[" in server:
        raise NoTarget("its server cannot be read with certainty")
    if not slash:
        if not server.endswith("*") or not is_literal(server.rstrip("*")):
            raise NoTarget("it names no tool")
        return {"args.server.starts_with": server.rstrip("*"), "args.tool.exists": True}, ()
    match: Match = {}
    effects: tuple[str, ...] = ()
    if is_literal(server):
        match["args.server"] = server
    else:
        match["args.server.matches"] = pattern_of(server, star="[^/]*")
        effects = ("`*` in front of the slash stands for a part of a server's name",)
    if name.strip("*") == "" and name:
        match["args.tool.exists"] = True
    else:
        match |= {"args.tool": name} if is_literal(name) else {"args.tool.matches": pattern_of(name)}
    return match, effects


def _text(argument: str, resource: str) -> Match:
    """Return the test of the whole text of an argument."""
    if is_literal(resource):
        return {f"args.{argument}": resource}
    if re.fullmatch(r"[^*?\[]*\*+", resource):
        prefix = literal_prefix(resource)
        return {f"args.{argument}.starts_with": prefix} if prefix else {}
    pattern = pattern_of(resource)
    if len(pattern) > MAX_PATTERN:
        raise NoTarget("it is too long")
    return {f"args.{argument}.matches": pattern}


TARGETS: Mapping[str, Callable[[str], Tests]] = {
    "fs.read": _path,
    "fs.write": _path,
    "fs.delete": _path,
    "proc.exec": _program,
    "net.http": _url,
    "mcp.call": _server_and_tool,
}
"""The reader of the resource of each action."""
