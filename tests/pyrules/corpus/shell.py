"""Rules about shells and the network: commands, flags, hosts, tables of rules."""

import enum
import fnmatch
import ipaddress
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from bobcat import allow, approve_required, deny, dry_run


class Risk(enum.StrEnum):
    LOW = "low"
    HIGH = "high"


class Row(NamedTuple):
    tool: str
    prefix: str
    verdict: str


TABLE = (Row("shell", "rm ", "deny"), Row("shell", "git push", "ask"), Row("fetch", "http://", "deny"))
SAFE = frozenset("ls cat head tail grep wc".split())
DANGEROUS = re.compile(r"(^|[;&|]\s*)(rm|mkfs|dd|shutdown)\b")
FORK_BOMB = re.compile(r":\(\)\s*\{.*\};:", re.DOTALL)
RISKS = {"shell": Risk.HIGH.value, "fetch": Risk.LOW.value}
PRIVATE = ("10.", "192.168.", "127.", "169.254.")


def safe_commands(req, ctx):
    command = req.args.get("cmd", "")
    pieces = [piece.split() for piece in command.replace("&&", "|").split("|")]
    names = [piece[0] for piece in pieces if piece]
    if names and all(name in SAFE for name in names):
        return allow("only reads")
    return None


def dangerous_commands(req, ctx):
    if req.tool == "shell" and DANGEROUS.search(req.args["cmd"]):
        return deny("dangerous")


def fork_bomb(req, ctx):
    return deny("a fork bomb") if re.search(FORK_BOMB, req.args.get("cmd", "")) else None


def force_flags(req, ctx):
    words = req.args.get("cmd", "").split()
    flags = {word for word in words if word.startswith("-")}
    if flags & {"-f", "--force", "-rf"}:
        return approve_required(("ops",), reason=f"{len(flags)} flags, one of them forces")


def from_table(req, ctx):
    text = req.args.get("cmd") or req.args.get("url") or ""
    for tool, prefix, verdict in [("shell", "rm ", "deny"), ("shell", "git push", "ask"), ("fetch", "http://", "deny")]:
        if req.tool == tool and text.startswith(prefix):
            return deny(f"{prefix.strip()} is not allowed") if verdict == "deny" else approve_required(("dev",))
    return None


def by_risk(req, ctx):
    if RISKS.get(req.tool, Risk.LOW) == Risk.HIGH and ctx.environment == "prod":
        return dry_run("high risk")


def only_https(req, ctx):
    url = req.args.get("url", "")
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() != "https":
        return deny(f"not https: {scheme or url!r}")
    host = rest.split("/")[0].split(":")[0].lower()
    if host.startswith(PRIVATE) or host == "localhost":
        return deny(f"{host} is inside of the house")
    return allow() if host.endswith((".example.com", ".example.org")) else None


def parsed_host(req, ctx):
    host = urlsplit(req.args["url"]).hostname
    return deny(host) if host and ipaddress.ip_address(host).is_private else None


def glob_of_names(req, ctx):
    return deny("a log") if fnmatch.fnmatchcase(req.args.get("name", ""), "*.log") else None


def nested_arguments(req, ctx):
    match req.args:
        case {"action": "delete", "target": {"kind": str(kind), "id": int(number)}} if number > 0:
            return deny(f"no deleting of {kind} {number}")
        case {"action": "delete", **rest}:
            return approve_required(("ops",), reason=f"delete with {len(rest)} details")
        case {"action": ["batch", *steps]} if len(steps) > 2:
            return deny(f"{len(steps)} steps")
        case {"action": None}:
            return deny("no action")
    return None


def duplicates(req, ctx):
    seen = set()
    for item in req.args.get("ids", []):
        if item in seen:
            return deny(f"{item} is there twice")
        seen.add(item)
    return None


def count_by_kind(req, ctx):
    counts = {}
    for item in req.args.get("items", []):
        kind = item.get("kind", "?")
        counts[kind] = counts.get(kind, 0) + 1
    over = [f"{kind}: {number}" for kind, number in counts.items() if number > 2]
    return deny("; ".join(over)) if over else None


def deep_search(req, ctx):
    def mentions(value, word):
        return isinstance(value, str) and word in value.lower()

    hits = [key for key, value in req.args.items() if mentions(value, "prod") or mentions(value, "live")]
    if hits:
        return approve_required(("ops",), reason="mentions production: " + ", ".join(hits))
    return None


def flatten(values):
    found = []
    for value in values:
        if isinstance(value, list):
            found.extend(value)
        else:
            found.append(value)
    return found


def batch_size(req, ctx):
    count = len(flatten(req.args.get("items", [])))
    if count > 3:
        return deny(f"{count} items at once")


def loop_with_else(req, ctx):
    for key in ("reason", "ticket"):
        if not req.args.get(key):
            break
    else:
        return None
    return deny(f"`{key}` is missing")


def numbered(req, ctx):
    problems: list[str] = []
    if "cmd" not in req.args:
        problems += ["no command"]
    if len(str(req.args.get("cmd"))) > 20:
        problems.append("a long command")
    return deny("; ".join(f"{number}. {text}" for number, text in enumerate(problems, 1))) if problems else None


def first_match(req, ctx):
    host = next((part for part in req.args.get("cmd", "").split() if "@" in part), None)
    if host is not None:
        return deny(f"connects to {host.split('@')[-1]}")
    return None


def transfer_bytes(req, ctx):
    size = req.args.get("size")
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"size must be an integer, not {size!r}")
    if size < 0:
        raise ValueError("negative size")
    return deny("too large") if size > 1 << 20 else (allow() if size // 2 == 0 else None)


def recursive(req, ctx):
    def depth(value):
        return 1 + max((depth(item) for item in value), default=0) if isinstance(value, list) else 0

    return deny("deep") if depth(req.args.get("items")) > 3 else None
