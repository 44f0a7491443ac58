"""The facets, for the reference evaluator: parsers that share no code with the core."""

from __future__ import annotations

import functools
import ipaddress
import json
import re
import shlex
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

import idna

from oracle import links
from oracle.values import CannotEvaluate, Missing

PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21}
NAMES = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home.arpa", "svc")
METADATA = {"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"}
SPECIAL = [
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
        " 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
        " 2001::/23 2001:db8::/32 3fff::/20"
    ).split()
]


def undecidable() -> CannotEvaluate:
    return CannotEvaluate("undecidable")


class Host(str):
    """A canonical name, compared with ranges by labels."""

    __slots__ = ()


class Path(str):
    """A normal form."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Network:
    """An address or a network."""

    network: Any
    parts: dict[str, Any]


@functools.total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version, ordered by precedence."""

    numbers: tuple[int, int, int]
    prerelease: str

    def key(self) -> Any:
        parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease.split(".")]
        return (self.numbers, not self.prerelease, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key() == other.key()

    def __lt__(self, other: Version) -> bool:
        return bool(self.key() < other.key())


EFFECTS = {"ls": "read", "cat": "read", "rm": "write"}


class Uncertain:
    """A part that the text does not decide."""


def shell(text: str) -> list[dict[str, Any]]:
    """Simple commands of plain words, as far as the cases need them: programs without a directory, and no launchers."""
    if re.search(r"[$`(){}~#<>!\\]", text):
        raise undecidable()
    found = []
    for part in re.split(r"&&|\|\||[;|&\n]", text):
        try:
            words = shlex.split(part)
        except ValueError:
            raise undecidable() from None
        if words:
            program, *argv = words
            if program in ("eval", "exec", "source", "."):
                raise undecidable()
            literal = not re.search(r"[*?\[]", " ".join(argv))
            effect = EFFECTS.get(program, "unknown")
            command = {
                "program": program,
                "name": program,
                "effect": effect,
                "effects": [effect],
                "via": [],
                "assigns": [],
            }
            command["argv"] = argv if literal else Uncertain()
            if argv:
                command["first"] = argv[0] if literal else Uncertain()
            found.append(command)
    return found


PURE = {"count", "max"}
OPAQUE = {"vacuum", "copy", "alter"}


def sql(text: str) -> dict[str, Any]:
    """One statement, as far as the cases need it: names without quotes, texts without comments."""
    plain = re.sub(r"'[^'\\\\]*'", "'x'", text.strip().removesuffix(";")).lower()
    traps = r"[`\[#$;\\]|--|/\*|(from|join) 'x'|\bin (?!\()|\bwindow,"
    if re.search(traps, plain):
        raise undecidable()
    first = re.match(r"[\s(]*(\w*)", plain)[1]  # type: ignore[index]  # it matches every text
    if first not in OPAQUE | {"select", "with", "insert", "update", "delete", "drop", "explain"}:
        raise undecidable()
    words = re.findall(r"\w+", plain)
    kinds = [kind for kind in ("insert", "update", "delete", "drop", *sorted(OPAQUE)) if kind in words]
    kinds += ["create"] if re.search(r"select \S+ into ", plain) else []
    ctes = set(re.findall(r"(?:with|,) (\w+) as \(", plain))
    tables = re.findall(r"(?:from|join|update(?! set)|into|table) ([a-z.]+)", plain)
    tables += re.findall(r"from [a-z.]+, ([a-z.]+)", plain)
    functions = re.findall(r"\b(?!(?:in|as|values|from|where|conflict|union|select)\b)([a-z]+) ?\(", plain)
    names: dict[str, Any] = {
        "tables": sorted(set(tables) - ctes),
        "functions": functions,
        "function_names": functions,
    }
    if first in OPAQUE:
        names = dict.fromkeys(names, Uncertain())
    return {
        "kind": (kinds or ["select"])[0] if len(kinds) < 2 else Uncertain(),
        "kinds": kinds or ["select"],
        "is_read_only": not kinds and set(functions) <= PURE,
        **names,
    }


def derive(facet: str, text: str) -> Any:
    return {
        "url": url,
        "ip": ip,
        "cidr": cidr,
        "path": path,
        "email": email,
        "semver": semver,
        "json": document,
        "shell": shell,
        "sql": sql,
        "links": links.links,
    }[facet](text)


def part(value: Any, name: str) -> Any:
    parts = value
    if isinstance(value, Network):
        parts = value.parts
    elif isinstance(value, Path):
        parts = path_parts(value)
    elif isinstance(value, Version):
        major, minor, patch = value.numbers
        parts = {"major": major, "minor": minor, "patch": patch, "prerelease": value.prerelease}
    if parts is None or (isinstance(parts, dict) and name not in parts):
        raise Missing
    if not isinstance(parts, dict):
        raise CannotEvaluate("wrong_type")
    if isinstance(parts[name], Uncertain):
        raise undecidable()
    return parts[name]


def within(value: Any, ranges: list[str]) -> bool:
    if isinstance(value, Host):
        return any(value == one or value.endswith("." + one) for one in ranges)
    if isinstance(value, Path):
        normal = [path(one) for one in ranges]
        comparable = [one for one in normal if one.startswith("/") == value.startswith("/")]
        if any(one in ("/", ".", value) or value.startswith(one + "/") for one in comparable):
            return True
        if len(comparable) < len(ranges):
            raise undecidable()
        return False
    networks = [mapped(ipaddress.ip_network(one)) for one in ranges]
    own = value.network
    return any(own.version == one.version and own.subnet_of(one) for one in networks)


def host(text: str) -> Host:
    name = text.removesuffix(".")
    if not name.isascii() or re.search(r"(^|\.)xn--", name, re.IGNORECASE):
        try:
            ascii = name.lower() if name.isascii() else idna.encode(name.lower(), std3_rules=False).decode()
            decoded = idna.decode(ascii)
        except (idna.IDNAError, UnicodeError):
            raise undecidable() from None
        if decoded != name.lower() and not name.isascii():
            raise undecidable()
        if re.search("[ßẞς\u200c\u200d]", name + decoded):
            raise undecidable()
        name = ascii
    if len(name) > 253 or not all(re.fullmatch("[A-Za-z0-9_-]{1,63}", label) for label in name.split(".")):
        raise undecidable()
    return Host(name.lower())


def mapped(network: Any) -> Any:
    """A network of IPv4 addresses mapped into IPv6, as one of IPv4."""
    inner = network.network_address.ipv4_mapped if network.version == 6 else None
    if inner is None:
        return network
    if network.prefixlen < 96:
        raise undecidable()
    return ipaddress.ip_network((inner, network.prefixlen - 96))


def literal(text: str) -> Any:
    if "%" in text:
        raise undecidable()
    try:
        return mapped(ipaddress.ip_network(ipaddress.ip_address(text))).network_address
    except ValueError:
        raise undecidable() from None


def carried(address: Any) -> Any:
    """The IPv4 address that an address carries, or itself."""
    if address.version == 4:
        return address
    number = int(address)
    if number >> 112 == 0x2002:
        return ipaddress.IPv4Address(number >> 80 & 0xFFFFFFFF)
    if number >> 32 == 0x0064FF9B << 64 or (number >> 32 == 0 and number >> 16):
        return ipaddress.IPv4Address(number & 0xFFFFFFFF)
    return address


def private(address: Any) -> bool:
    if str(address) in METADATA or str(carried(address)) in METADATA:
        return True
    seen = carried(address)
    if seen.version == 6 and int(seen) >> 125 != 1:
        return True
    return any(seen.version == network.version and seen in network for network in SPECIAL)


def ip(text: str) -> Network:
    address = literal(text)
    seen = carried(address)
    parts = {
        "address": str(address),
        "version": address.version,
        "is_private": private(address),
        "is_loopback": seen.is_loopback,
        "is_link_local": seen.is_link_local,
        "is_metadata": str(seen) in METADATA,
    }
    return Network(ipaddress.ip_network(address), parts)


def cidr(text: str) -> Network:
    if not re.fullmatch(r"[0-9a-fA-F.:]+/(0|[1-9][0-9]{0,2})", text):
        raise undecidable()
    try:
        network = mapped(ipaddress.ip_network(text))
    except ValueError:
        raise undecidable() from None
    first = network.network_address
    special = [one for one in SPECIAL if one.version == network.version]
    special += [ipaddress.ip_network(one) for one in METADATA if (":" in one) == (network.version == 6)]
    some = private(first) or any(one.subnet_of(network) for one in special)
    if network.version == 6:
        carrying = carried(first) != first
        some = some or network.prefixlen < 16
        some = some or (carrying and network.prefixlen < (48 if int(first) >> 112 == 0x2002 else 128))
    parts = {"address": str(first), "prefix": network.prefixlen, "version": network.version, "is_private": some}
    return Network(network, parts)


def url(text: str) -> dict[str, Any]:
    if len(text.encode()) > 8192 or re.search(r'[\x00-\x20\x7f\\"<>^`{|}]', text):
        raise undecidable()
    found = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#([^#]*))?", text)
    if found is None:
        raise undecidable()
    scheme, authority, route, query, _fragment = found.groups()
    scheme = scheme.lower()
    tail = text[found.start(3) :]
    if not tail.isascii() or "[" in tail or "]" in tail:
        raise undecidable()
    escapes(route)
    if any(segment in (".", "..") for segment in route.split("/")):
        raise undecidable()
    parts: dict[str, Any] = {"scheme": scheme, "path": route, "query_keys": keys(query), "is_ip": False}
    if authority is None:
        if scheme in PORTS or scheme == "file":
            raise undecidable()
        return parts | {"is_private": True}
    parts["path"] = route or "/"
    return parts | authority_parts(scheme, authority)


def authority_parts(scheme: str, authority: str) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    userinfo, at, rest = authority.rpartition("@")
    if at:
        if not re.fullmatch(r"[A-Za-z0-9\-._~!$&'()*+,;=:%]*", userinfo):
            raise undecidable()
        escapes(userinfo)
        parts["userinfo"] = userinfo
    found = re.fullmatch(r"(\[[^\[\]]*:[^\[\]]*\]|[^:\[\]]*)(?::([1-9][0-9]{0,4}))?", rest)
    if found is None:
        raise undecidable()
    name, port = found.groups()
    if bool(name) is (scheme == "file") or (not name and (at or port)):
        raise undecidable()
    if port is not None:
        if int(port) > 65535:
            raise undecidable()
        parts["port"] = int(port)
    elif scheme in PORTS:
        parts["port"] = PORTS[scheme]
    if not name:
        return parts | {"is_private": True, "is_ip": False}
    last = name.removesuffix(".").rpartition(".")[2]
    if name.startswith("[") or re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]*", last):
        address = literal(name.strip("[]"))
        return parts | {"host": Host(str(address)), "is_ip": True, "is_private": private(address)}
    canonical = host(name)
    local = "." not in canonical or within(canonical, list(NAMES))
    return parts | {"host": canonical, "is_ip": False, "is_private": local}


def escapes(text: str) -> None:
    for found in re.finditer("%(..)?", text, re.DOTALL):
        digits = found[1]
        if digits is None or not re.fullmatch("[0-9a-fA-F]{2}", digits):
            raise undecidable()
        char = chr(int(digits, 16))
        if re.fullmatch(r"[A-Za-z0-9\-._~/\\%\x00-\x1f\x7f]", char):
            raise undecidable()


def keys(query: str | None) -> list[str]:
    if query is None:
        return []
    if ";" in query:
        raise undecidable()
    found = []
    for pair in query.split("&"):
        key = pair.partition("=")[0]
        if re.search("%(?![0-9a-fA-F]{2})", key):
            raise undecidable()
        if pair:
            try:
                found.append(unquote_to_bytes(key.replace("+", " ")).decode())
            except UnicodeDecodeError:
                raise undecidable() from None
    return found


MAPPED = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2024-\u202e\u2044\u2060-\u206f\u2215\u2216\u29f8\u29f9\u0300-\u036f\ufe00-\ufe0f"
    "\ufeff\ufe52\uff00-\uff5e\U000e0000-\U000e0fff\\\\]"
)


def path(text: str) -> Path:
    size = len(text.encode())
    if not 0 < size <= 4096 or MAPPED.search(text) or text.startswith(("~", "//")):
        raise undecidable()
    if re.match("[^:]:", text) and text[0].isascii():
        raise undecidable()
    if text.find(":") >= 0 and text[text.find(":") :].startswith("://"):
        raise undecidable()
    names: list[str] = []
    for name in text.split("/"):
        if name == "..":
            if not names:
                raise undecidable()
            names.pop()
        elif name not in ("", "."):
            if name[-1] in ". ":
                raise undecidable()
            names.append(name)
    absolute = text.startswith("/")
    if absolute and names[:1] == ["proc"] and set(names[1:]) & set("root cwd exe fd fdinfo map_files task".split()):
        raise undecidable()
    if absolute and names[:1] == ["dev"] and names[1:2] and names[1] in ("fd", "stdin", "stdout", "stderr"):
        raise undecidable()
    return Path("/" + "/".join(names) if absolute else "/".join(names) or ".")


def path_parts(normal: str) -> dict[str, Any]:
    names = [name for name in normal.split("/") if name not in ("", ".")]
    name = names[-1] if names else ""
    dot = name.rfind(".")
    suffix = name[dot:] if dot > 0 else ""
    return {"components": names, "name": name, "suffix": suffix, "is_absolute": normal.startswith("/")}


def email(text: str) -> dict[str, Any]:
    local, at, domain = text.partition("@")
    if not at or len(text.encode()) > 320 or domain.endswith(".") or len(local) > 64:
        raise undecidable()
    if not re.fullmatch(r"[A-Za-z0-9#$&'*+\-/=?^_`{|}~]+(\.[A-Za-z0-9#$&'*+\-/=?^_`{|}~]+)*", local):
        raise undecidable()
    if re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]*", domain.rpartition(".")[2]) or "_" in domain:
        raise undecidable()
    return {"local": local, "domain": host(domain)}


def semver(text: str) -> Version:
    number = "(0|[1-9][0-9]*)"
    identifier = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
    pattern = (
        rf"{number}\.{number}\.{number}(?:-({identifier}(?:\.{identifier})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
    )
    found = re.fullmatch(pattern, text, re.ASCII)
    if found is None or len(text) > 256 or any(int(found[at]) >= 2**63 for at in (1, 2, 3)):
        raise undecidable()
    return Version((int(found[1]), int(found[2]), int(found[3])), found[4] or "")


def document(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key is there twice")
        return found

    def constant(name: str) -> Any:
        raise ValueError(name)

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except (ValueError, RecursionError):
        raise undecidable() from None
