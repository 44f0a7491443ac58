"""Policies and requests of the Agent OS kernel, its decisions, and the differences that imported policies may have."""

from __future__ import annotations

import fnmatch
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from bobcat import Policy, Request
from bobcat._core import parse_facet
from bobcat.cli.importers.agent_os import import_agent_os
from bobcat.cli.importers.model import policy_text

RESOURCES: Mapping[str, Sequence[str]] = {
    "fs.read": ("/workspace/**", "/workspace/*.csv", "/workspace/[a-c]?/x*", "/srv/a.txt", "*", "**", "data/**", "da*",
                "./n/*", "/**", "/workspace/[!.]*", "/w[o]rkspace/*", "/workspace/.*", "/a/*/public/*"),
    "fs.write": ("/workspace/out/**", "/workspace/out/*.csv", "*.txt", "/srv/[0-9][0-9]"),
    "fs.delete": ("/tmp/*", "/workspace/out/?"),
    "proc.exec": ("git", "ls", "/usr/bin/*", "*", "g?t", "python*"),
    "net.http": ("https://api.example.com/**", "https://api.example.com/v1/*", "https://*.example.com/*", "*",
                 "https://api.example.com*", "http://127.0.0.1:8000/**", "https://api.example.com/v[12]/x", "**",
                 "https://api.example.com/a?b", "https://api.ex*mple.com/*"),
    "mcp.call": ("scholar/search", "scholar/*", "*", "*/search", "sch*", "scholar/[rs]*"),
}  # fmt: skip
CONSTRAINTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "fs.write": ({"content": "a"},),
    "proc.exec": ({"args": ["status"]}, {"args": []}, {"timeout": 5}),
    "net.http": ({"method": "GET"}, {"method": "GET", "timeout": 5}, {"headers": {"a": "b"}}),
    "mcp.call": ({"arguments": {"q": "x"}},),
}
TOOLS = {"proc.exec": "proc.run"}
ARGUMENTS = {"args": "argv", "timeout": "timeout_seconds"}
PIECES: Mapping[str, Sequence[str]] = {
    "path": (
        "..",
        ".",
        "a",
        "b.csv",
        "out",
        "x1",
        "public",
        "secret",
        "a\\b",
        "é",
        "",
        "c.",
        "\x00",
        "~",
        ".env",
        "a\nb",
    ),
    "url": ("..", "a", "x", "%2e%2e", "@evil.example", "?q=1", "#f", "//", "a b", "\\", ".evil.example", ":8000", "v1"),
    "other": ("a", "/", "..", "search", "read", "sh", "-c", " ", ""),
}


class Call(NamedTuple):
    """A request of the kernel."""

    action: str
    target: str
    params: Mapping[str, Any]


def made_policy(rng: random.Random) -> list[dict[str, Any]]:
    capabilities = []
    for _ in range(rng.randint(1, 4)):
        action = rng.choice(list(RESOURCES))
        item: dict[str, Any] = {"action": action, "resource": rng.choice(RESOURCES[action])}
        if action in CONSTRAINTS and rng.random() < 0.4:
            item["constraint"] = dict(rng.choice(CONSTRAINTS[action]))
        capabilities.append(item)
    return capabilities


def made_call(rng: random.Random, capabilities: Sequence[Mapping[str, Any]]) -> Call:
    """A request that often fits a capability, or nearly does."""
    like = rng.choice(capabilities)
    action = like["action"] if rng.random() < 0.9 else rng.choice(list(RESOURCES))
    pieces = PIECES["path" if action.startswith("fs.") else "url" if action == "net.http" else "other"]

    def filled(found: re.Match[str]) -> str:
        if found[0].startswith("["):
            return rng.choice("abcrs10.!")
        if found[0] == "?":
            return rng.choice("ax/i")
        return "/".join(rng.choice(pieces) for _ in range(rng.randint(0, 3)))

    target = re.sub(r"\*+|\?|\[[^\]]*\]", filled, like["resource"])
    if rng.random() < 0.15:
        at = rng.randint(0, len(target))
        target = target[:at] + rng.choice(pieces) + target[at:]
    params = dict(like.get("constraint") or {}) if rng.random() < 0.8 else {}
    if rng.random() < 0.2:
        params |= rng.choice(CONSTRAINTS.get(action, ({},)))
    if rng.random() < 0.05 and params:
        params[rng.choice(list(params))] = rng.choice([True, 1, 5.0, None, "GET", [], {}])
    return Call(action, target or "x", params)


def kernel_permits(capabilities: Sequence[Mapping[str, Any]], call: Call) -> bool:
    """The decision of the kernel: the first capability whose action, glob and constraint fit permits."""
    return any(
        item["action"] == call.action
        and fnmatch.fnmatchcase(call.target, item["resource"])
        and all(call.params.get(name) == value for name, value in (item.get("constraint") or {}).items())
        for item in capabilities
    )


def imported(capabilities: Sequence[Mapping[str, Any]]) -> Policy:
    text = yaml.safe_dump({"capabilities": list(capabilities)})
    return Policy.compile(policy_text(import_agent_os([("policy.yaml", text)]), "test"))


def bobcat_permits(policy: Policy, call: Call) -> bool:
    args = {ARGUMENTS.get(name, name): value for name, value in call.params.items()}
    if call.action == "mcp.call":
        args["server"], _, args["tool"] = call.target.partition("/")
    else:
        name = "program" if call.action == "proc.exec" else "url" if call.action == "net.http" else "path"
        args[name] = call.target
    return str(policy.evaluate(Request(TOOLS.get(call.action, call.action), args)).verdict) == "allow"


def difference(capabilities: Sequence[Mapping[str, Any]], call: Call) -> str | None:
    """The class of a call that the kernel permits and an imported policy denies; None if it may not deny it."""
    target = call.target
    if call.action in ("fs.read", "fs.write", "fs.delete"):
        if re.search(r"(^|/)\.{1,2}(/|$)|//", target):
            return "path: `.`, `..` or `//`"
        return "path: read in several ways" if parse_facet("path", target)[0] is None else None
    if call.action == "net.http":
        return _of_url(capabilities, target)
    if call.action == "proc.exec" and re.search(r"(^|/)\.{1,2}(/|$)|//", target):
        return "program: `.`, `..` or `//`"
    if call.action == "mcp.call" and "/" not in target:
        return "mcp: no tool"
    fits = [item for item in capabilities if kernel_permits([item], call)]
    if any(type(value) is bool for value in call.params.values()):
        return "constraint: a bool for a number"
    if call.action == "mcp.call" and all(item["resource"] == "*/search" for item in fits) and target.count("/") > 1:
        return "mcp: `*` across the slash"
    return None


def _of_url(capabilities: Sequence[Mapping[str, Any]], target: str) -> str | None:
    parsed, _ = parse_facet("url", target)
    if parsed is None:
        return "url: read in several ways"
    url = yaml.safe_load(parsed)
    if "userinfo" in url:
        return "url: a user in front of the host"
    if url["scheme"] not in ("http", "https"):
        return "url: another scheme"
    hosts: list[Callable[[str], bool]] = []
    for item in capabilities:
        if item["action"] == "net.http" and "://" in item["resource"]:
            host = item["resource"].split("://")[1].split("/")[0].split(":")[0]
            whole = host.rstrip("*") if "/" not in item["resource"].split("://")[1] else host
            hosts.append(lambda name, whole=whole: fnmatch.fnmatchcase(name, whole))  # type: ignore[misc]
    if not any(fits(url["host"]) for fits in hosts):
        return "url: another host"
    return (
        "url: another port" if url["port"] not in (443, 8000) or ":" in target.split("://")[1].split("/")[0] else None
    )
