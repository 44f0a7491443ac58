"""Requests that must not reach a server, and look-alikes that must be answered.

URLs and answers contain PORT for the port of the sites that speak http, TLS for that of the ones with https. The policy
permits everything, unless a row says otherwise: what is contained is contained by the provider.
"""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from providers.sites import SECRET, Answer, Seen, ok, redirect

ALL = "rules: [{id: all, match: {tool: net.http}, decision: allow}]"
HOSTS = """
rules:
  - {id: hosts, match: {tool: net.http, args.url.url.host.in: [shop.example, cdn.example]}, decision: allow}
  - {id: no-deletes, match: {tool: net.http, args.method: DELETE}, decision: deny, priority: 10}
"""

ADDRESSES: dict[str, list[str]] = {
    "shop.example": ["127.0.0.2"],
    "cdn.example": ["127.0.0.3"],
    "unlisted.example": ["127.0.0.3"],
    "trap.example": ["127.0.0.1"],
    "localhost": ["127.0.0.1", "::1"],
    "mixed.example": ["127.0.0.2", "127.0.0.1"],
    "mixed6.example": ["127.0.0.2", "::1"],
    "metadata.google.internal": ["169.254.169.254"],
    "metadata.example": ["169.254.169.254"],
    "task.example": ["169.254.170.2"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::127.0.0.1"],
    "6to4.example": ["2002:7f00:1::1"],
    "compatible.example": ["::127.0.0.1"],
    "zero.example": ["0.0.0.0"],
    "any.example": ["::"],
    "zone.example": ["fe80::1%lo"],
    "ten.example": ["10.0.0.1"],
    "shared.example": ["100.64.0.1"],
    "unique.example": ["fd00::1"],
    "odd.example": ["0x7f.1"],
    "none.example": [],
    "wrong.example": ["127.0.0.2"],
}


@dataclass(frozen=True)
class Row:
    """A call, the answers of `shop.example`, and the expected status; `says` is part of the error or the value."""

    name: str
    url: str
    args: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    policy: str = ALL
    status: str = "failed"
    says: str = ""
    silent: bool = False
    """No site at all gets a request."""
    holds: Callable[[Any, list[Seen]], bool] | None = None
    """A further condition on the value and the requests of all sites."""


def _to(url: str, status: int = 302) -> dict[str, Answer]:
    return {"/go": redirect(url, status)}


def _go(name: str, url: str, says: str = "", *, start: str = "http://shop.example:PORT/go", **more: Any) -> Row:
    """A redirect from `/go`, which the call follows."""
    args = {"redirects": "judged", **more.pop("args", {})}
    return Row(name, start, args, _to(url, more.pop("code", 302)), says=says, **more)


def _refused(name: str, url: str, says: str = "", **more: Any) -> Row:
    """A request that is not sent at all."""
    return Row(name, url, says=says, silent=True, **more)


def _slowly(seen: Seen) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(200):
        yield f"x-{number}: y\r\n".encode()
        time.sleep(0.1)


def _drops(seen: Seen) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"
    for _ in range(200):
        yield b"."
        time.sleep(0.1)


def _informational(seen: Seen) -> Iterator[bytes]:
    for _ in range(200):
        yield b"HTTP/1.1 103 Early Hints\r\n\r\n"
        time.sleep(0.1)


def _endless(seen: Seen) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"." * 65536


def _chunks(seen: Seen) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    while True:
        yield b"1000\r\n" + b"." * 4096 + b"\r\n"


def _again(seen: Seen) -> list[bytes]:
    return [redirect(f"/go?{len(seen.target)}{'.' * len(seen.target)}")]


def _has(name: str, value: str) -> Callable[[Any, list[Seen]], bool]:
    return lambda _, seen: seen[-1].headers.get(name) == value


def _lacks(*names: str) -> Callable[[Any, list[Seen]], bool]:
    return lambda _, seen: not set(names) & seen[-1].headers.keys()


def _header(name: str, value: str = "x") -> dict[str, Any]:
    return {"headers": {name: value}}


BOMB = gzip.compress(b"\0" * 50_000_000)
SHOP = "http://shop.example:PORT/"

ESCAPES = (
    # URLs that are read in two ways.
    _refused("credentials in the URL", "http://shop.example@trap.example:PORT/", "credentials"),
    _refused("host as user name", "http://shop.example:PORT@127.0.0.1:PORT/", "credentials"),
    _refused("backslash ends the host", "http://trap.example:PORT\\@shop.example:PORT/", "url_character"),
    _refused("backslash in the path", "http://shop.example:PORT/\\trap.example", "url_character"),
    _refused("short address", "http://127.1:PORT/", "url_address"),
    _refused("decimal address", "http://2130706433:PORT/", "url_address"),
    _refused("hexadecimal address", "http://0x7f000001:PORT/", "url_address"),
    _refused("octal address", "http://0177.0.0.1:PORT/", "url_address"),
    _refused("full width digits", "http://１２７.0.0.1:PORT/", "undecidable"),
    _refused("dot of another script", "http://127。0。0。1:PORT/", "undecidable"),
    _refused("escaped host", "http://%6c%6f%63alhost:PORT/", "undecidable"),
    _refused("line break in the URL", "http://shop.example:PORT/\r\nHost: trap.example", "url_character"),
    _refused("tab in the host", "http://tr\tap.example:PORT/", "url_character"),
    _refused("climbing path", "http://shop.example:PORT/a/../admin", "url_dots"),
    _refused("escaped climbing path", "http://shop.example:PORT/a/%2e%2e/admin", "url_escape"),
    # Addresses of this machine and its networks.
    _refused("loopback", "http://127.0.0.1:PORT/", "not that of a public host"),
    _refused("another loopback address", "http://127.0.0.9:PORT/", "not that of a public host"),
    _refused("loopback 6", "http://[::1]:PORT/", "not that of a public host"),
    _refused("mapped loopback", "http://[::ffff:127.0.0.1]:PORT/", "not that of a public host"),
    _refused("mapped loopback in hex", "http://[::ffff:7f00:1]:PORT/", "not that of a public host"),
    _refused("NAT64 loopback", "http://[64:ff9b::7f00:1]:PORT/", "not that of a public host"),
    _refused("unspecified", "http://0.0.0.0:PORT/", "not that of a public host"),
    _refused("unspecified 6", "http://[::]:PORT/", "not that of a public host"),
    _refused("link-local", "http://[fe80::1]:PORT/", "not that of a public host"),
    _refused("zone", "http://[fe80::1%25lo]:PORT/", "url_address"),
    _refused("metadata", "http://169.254.169.254:PORT/latest/meta-data/", "metadata"),
    _refused("metadata 6", "http://[fd00:ec2::254]:PORT/", "metadata"),
    _refused("metadata in spite of private", "http://169.254.169.254:PORT/", "metadata", options={"private": True}),
    *(
        _refused(f"name of {what}", f"http://{name}:PORT/", says)
        for name, what, says in (
            ("localhost", "loopback", "not that of a public host"),
            ("localhost.", "loopback with a dot", "not that of a public host"),
            ("trap.example", "a public look with a loopback address", "not that of a public host"),
            ("mixed.example", "a public and a private address", "not that of a public host"),
            ("mixed6.example", "a public and a private address 6", "not that of a public host"),
            ("metadata.google.internal", "the metadata service", "metadata"),
            ("metadata.example", "the metadata address", "metadata"),
            ("task.example", "the credentials of a task", "metadata"),
            ("mapped.example", "a mapped address", "not that of a public host"),
            ("nat64.example", "a NAT64 address", "not that of a public host"),
            ("6to4.example", "a 6to4 address", "not that of a public host"),
            ("compatible.example", "a compatible address", "not that of a public host"),
            ("zero.example", "the unspecified address", "not that of a public host"),
            ("any.example", "the unspecified address 6", "not that of a public host"),
            ("zone.example", "an address with a zone", "unknown form"),
            ("odd.example", "an address in another form", "unknown form"),
            ("ten.example", "a private address", "not that of a public host"),
            ("shared.example", "a shared address", "not that of a public host"),
            ("unique.example", "a unique local address", "not that of a public host"),
            ("none.example", "nothing", "has no address"),
            ("missing.example", "nobody", "has no address"),
        )
    ),
    _refused("rebinding before the call", "http://rebound.example:PORT/", "not that of a public host"),
    # Schemes and ports.
    _refused("file", "file:///etc/passwd", "scheme"),
    _refused("ftp", "ftp://shop.example:PORT/", "scheme"),
    _refused("gopher", "gopher://shop.example:PORT/", "scheme"),
    _refused("web socket", "ws://shop.example:PORT/", "scheme"),
    _refused("data", "data:text/plain,x", "scheme"),
    _refused("http where https only is declared", SHOP, "scheme", options={"schemes": ("https",)}),
    _refused("another port", "http://shop.example:22/", "port"),
    _refused("another port by default", SHOP, "port", options={"ports": None}),
    # Redirects.
    _go("redirect to loopback", "http://127.0.0.1:PORT/", "not that of a public host"),
    _go("redirect to a name of loopback", "http://trap.example:PORT/", "not that of a public host"),
    _go("redirect to the metadata service", "http://169.254.169.254:PORT/", "metadata"),
    _go("redirect to a decimal address", "http://2130706433:PORT/", "url_address"),
    _go("redirect without a scheme", "//trap.example:PORT/", "not that of a public host"),
    _go("redirect with backslashes", "/\\trap.example:PORT/", "characters"),
    _go("redirect with half an address", "//[", "cannot be read"),
    _go("redirect with a tab", "ht\ttp://trap.example:PORT/", "characters"),
    _go("redirect with credentials", "http://shop.example:x@trap.example:PORT/", "credentials"),
    _go("redirect to a file", "file:///etc/passwd", "scheme"),
    _go("redirect to ftp", "ftp://shop.example:PORT/", "scheme"),
    _go("redirect to gopher", "gopher://trap.example:PORT/_x", "scheme"),
    _go("redirect to javascript", "javascript:alert(1)", "scheme"),
    _go("redirect to another port", "http://shop.example:1/", "port"),
    _go("redirect from https to http", "http://shop.example:PORT/", "https to http",
        start="https://shop.example:TLS/go"),
    _go("redirect that the policy denies", "http://unlisted.example:PORT/", "not allowed", policy=HOSTS),
    _go("redirect to an address that the policy denies", "http://127.0.0.3:PORT/", "not allowed", policy=HOSTS),
    _go("redirect to a rebound name", "http://rebinding.example:PORT/next", "not that of a public host",
        start="http://rebinding.example:PORT/go"),
    Row("redirect with two URLs", SHOP + "go", {"redirects": "judged"}, says="several URLs",
        answers={"/go": redirect("/ok", 302, "location: http://trap.example:PORT/")}),
    Row("chain to loopback", SHOP + "go", {"redirects": "judged"}, says="not that of a public host",
        answers={"/go": redirect("/b"), "/b": redirect("c"), "/c": redirect("http://127.0.0.1:PORT/")}),
    Row("endless redirects", SHOP + "go", {"redirects": "judged"}, says="more than 5 redirects",
        answers={"/go" + tail: redirect(f"/go?{number + 1}") for number, tail in
                 enumerate(("", *(f"?{n}" for n in range(1, 120))))}),
    Row("redirect to itself", SHOP + "go", {"redirects": "judged"}, _to("/go"), says="more than 5 redirects"),
    _go("redirect in spite of `none`", "http://trap.example:PORT/", args={"redirects": "none"}, status="ok"),
    # Headers of a call.
    *(
        _refused(f"header {name}", SHOP, "cannot be set", args=_header(name, value))
        for name, value in (
            ("host", "trap.example"), ("content-length", "0"), ("transfer-encoding", "chunked"),
            ("connection", "upgrade"), ("upgrade", "h2c"), ("te", "trailers"), ("expect", "100-continue"),
            ("proxy-authorization", "Basic eDp5"), ("x-forwarded-for", "127.0.0.1"),
            ("x-http-method-override", "DELETE"), ("x-original-url", "/admin"), ("accept-encoding", "br"),
        )
    ),
    _refused("header Host", SHOP, "lower-case", args=_header("Host", "trap.example")),
    _refused("header with a line break", SHOP, "characters", args=_header("x-a", "b\r\nhost: trap.example")),
    _refused("header with a line feed", SHOP, "characters", args=_header("x-a", "b\nx-b: c")),
    _refused("header with NUL", SHOP, "characters", args=_header("x-a", "b\0c")),
    _refused("header beyond ASCII", SHOP, "characters", args=_header("x-a", "é")),
    _refused("header whose name ends early", SHOP, "lower-case", args=_header("x-a: b\r\nhost", "c")),
    _refused("header name with a space", SHOP, "lower-case", args=_header("host ", "trap.example")),
    _refused("many headers", SHOP, "more than 64", args={"headers": {f"x-{n}": "y" for n in range(65)}}),
    _refused("long headers", SHOP, "longer", args=_header("x-a", "y" * 20_000)),
    _refused("header of the provider", "https://shop.example:TLS/", "set by the provider",
             args=_header("authorization", "Bearer mine")),
    # Methods and bodies.
    _refused("method in lower case", SHOP, policy=HOSTS, args={"method": "delete"}, status="invalid"),
    _refused("method with a line break", SHOP, args={"method": "GET / HTTP/1.1\r\nx: y\r\n\r\nDELETE"},
             status="invalid"),
    _refused("CONNECT", SHOP, args={"method": "CONNECT"}, status="invalid"),
    _refused("TRACE", SHOP, args={"method": "TRACE"}, status="invalid"),
    _refused("method that is not declared", SHOP, "method POST", args={"method": "POST"},
             options={"methods": ("GET", "HEAD")}),
    _refused("long body", SHOP, "longer", args={"method": "POST", "body": "x" * 10_001}),
    _refused("body with half a character", SHOP, args={"method": "POST", "body": "\ud800"}),
    _refused("URL with half a character", SHOP + "\ud800", "bad_unicode"),
    _refused("body of a GET", SHOP, "no body", args={"body": "GET /admin HTTP/1.1\r\n\r\n"}),
    # Answers without an end.
    Row("slow headers", SHOP + "go", answers={"/go": _slowly}, says="no complete answer"),
    Row("slow body", SHOP + "go", answers={"/go": _drops}, says="no complete answer"),
    Row("informational answers", SHOP + "go", answers={"/go": _informational}, says="no complete answer"),
    Row("huge headers", SHOP + "go", answers={"/go": ok(b"", "x-a: " + "y" * 300_000)}, says="cannot be asked"),
    Row("countless headers", SHOP + "go", answers={"/go": ok(b"", *(f"x-{n}: y" for n in range(200)))},
        says="more than 128 headers"),
    Row("unknown compression", SHOP + "go", answers={"/go": ok(b"x", "content-encoding: br")}, says="not asked for"),
    Row("compressed twice", SHOP + "go", answers={"/go": ok(BOMB, "content-encoding: gzip, gzip")},
        says="not asked for"),
    Row("damaged compression", SHOP + "go", answers={"/go": ok(b"\x1f\x8bxxxx", "content-encoding: gzip")},
        says="damaged"),
    Row("compressed in countless members", SHOP + "go", says="more than 64 members",
        answers={"/go": ok(gzip.compress(b"") * 400, "content-encoding: gzip")}),
    Row("two lengths", SHOP + "go", answers={"/go": ok(b"xx", "content-length: 1")}, says="cannot be asked"),
    Row("another protocol", SHOP + "go", answers={"/go": b"SSH-2.0-OpenSSH_9.9\r\n"}, says="cannot be asked"),
    # TLS.
    _refused("certificate of another name", "https://wrong.example:TLS/", "cannot be asked"),
    _refused("certificate of an unknown authority", "https://shop.example:TLS/", "cannot be asked",
             options={"verify": None}),
)  # fmt: skip
"""Rows that must not reach a trap, and end with `status`."""


def _ok(name: str, url: str, says: str = '"ok"', **more: Any) -> Row:
    return Row(name, url, says=says, status="ok", **more)


LOOK_ALIKES = (
    _ok("plain", SHOP),
    _ok("name in capitals", "http://SHOP.Example:PORT/"),
    _ok("name with a dot at the end", "http://shop.example.:PORT/", holds=_has("host", "shop.example:PORT")),
    _ok("an at sign in the path", "http://shop.example:PORT/@trap.example"),
    _ok("an at sign in the query", "http://shop.example:PORT/?to=a@trap.example"),
    _ok("a URL in the query", "http://shop.example:PORT/?next=http://127.0.0.1:PORT/"),
    _ok("escapes in the query", "http://shop.example:PORT/?q=a%20b%2Fc+d&e[]=%C3%A9".replace("[]", "%5B%5D"),
        holds=lambda _, seen: seen[-1].target == "/?q=a%20b%2Fc+d&e%5B%5D=%C3%A9"),
    _ok("a fragment is not sent", "http://shop.example:PORT/a#/../b", holds=lambda _, seen: seen[-1].target == "/a"),
    _ok("no path", "http://shop.example:PORT", holds=lambda _, seen: seen[-1].target == "/"),
    _ok("no path with a query", "http://shop.example:PORT?x=1", holds=lambda _, seen: seen[-1].target == "/?x=1"),
    _ok("double slash in the path", "http://shop.example:PORT//trap.example/",
        holds=lambda _, seen: seen[-1].target == "//trap.example/"),
    _ok("colon in the path", "http://shop.example:PORT/a:b;c=d,e"),
    _ok("an address that is declared", "http://127.0.0.2:PORT/"),
    _ok("a mapped address that is declared", "http://[::ffff:127.0.0.2]:PORT/",
        holds=_has("host", "127.0.0.2:PORT")),
    _ok("name of metadata in the path", "http://shop.example:PORT/latest/meta-data/"),
    _ok("localhost as a label", "http://localhost.shop.example:PORT/"),
    _ok("rebinding after the check", "http://rebind.example:PORT/"),
    _ok("https", "https://shop.example:TLS/"),
    _ok("https with an address", "https://127.0.0.2:TLS/"),
    _ok("https with credentials of the provider", "https://shop.example:TLS/",
        holds=_has("authorization", f"Bearer {SECRET}")),
    _ok("no credentials for http", SHOP, holds=_lacks("authorization")),
    _ok("no credentials for another port", "https://cdn.example:TLS/", holds=_lacks("authorization")),
    _ok("own headers", SHOP, args={"headers": {"accept": "text/plain", "x-a": "b\td", "authorization": "Bearer mine"}},
        holds=_has("authorization", "Bearer mine")),
    _ok("empty header", SHOP, args=_header("x-a", ""), holds=_has("x-a", "")),
    _ok("POST", SHOP, args={"method": "POST", "body": "é"}, holds=lambda _, seen: seen[-1].body == "é".encode()),
    _ok("POST without a body", SHOP, args={"method": "POST"}, holds=_has("content-length", "0")),
    _ok("PUT", SHOP, args={"method": "PUT", "body": "x"}),
    _ok("PATCH", SHOP, args={"method": "PATCH", "body": "x"}),
    _ok("DELETE", SHOP, args={"method": "DELETE"}),
    _ok("HEAD", SHOP, '"status": 200', args={"method": "HEAD"},
        answers={"/": b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n"}),
    _ok("OPTIONS", SHOP, args={"method": "OPTIONS"}),
    _ok("longest body", SHOP, args={"method": "POST", "body": "x" * 10_000}),
    _ok("not found", SHOP + "x", '"status": 404', answers={"/x": b"HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\nno"}),
    _ok("until the connection ends", SHOP + "x", '"abc"', answers={"/x": b"HTTP/1.1 200 OK\r\n\r\nabc"}),
    _ok("early hints", SHOP + "x", '"abc"',
        answers={"/x": b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabc"}),
    _ok("chunked", SHOP + "x", '"abcd"',
        answers={"/x": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"}),
    _ok("gzip", SHOP + "x", '"packed"', answers={"/x": ok(gzip.compress(b"packed"), "content-encoding: gzip")}),
    _ok("gzip of two members", SHOP + "x", '"packed twice"',
        answers={"/x": ok(gzip.compress(b"packed ") + gzip.compress(b"twice"), "content-encoding: gzip")}),
    _ok("deflate", SHOP + "x", '"packed"', answers={"/x": ok(zlib.compress(b"packed"), "content-encoding: deflate")}),
    _ok("latin-1", SHOP + "x", "\\u00e9", answers={"/x": ok(b"\xe9", "content-type: text/plain; charset=ISO-8859-1")}),
    _ok("bytes", SHOP + "x", '"AP8="', answers={"/x": ok(b"\x00\xff")}),
    _ok("gzip bomb is truncated", SHOP + "x", '"truncated": true',
        answers={"/x": ok(BOMB, "content-encoding: gzip")}, holds=lambda value, _: len(value["body"]) == 10_000),
    _ok("endless body is truncated", SHOP + "x", '"truncated": true', answers={"/x": _endless},
        holds=lambda value, _: len(value["body"]) == 10_000),
    _ok("endless chunks are truncated", SHOP + "x", '"truncated": true', answers={"/x": _chunks}),
    _ok("truncated within a character", SHOP + "x", '"truncated": true', answers={"/x": ok("€".encode() * 4_000)},
        holds=lambda value, _: value["body"] == "€" * 3_333),
    _ok("largest body", SHOP + "x", '"truncated": false', answers={"/x": ok(b"x" * 10_000)}),
    _ok("many headers", SHOP + "x", '"abc"', answers={"/x": ok(b"abc", *(f"x-{n}: y" for n in range(100)))}),
    _ok("cookies stay with the provider", SHOP + "x", answers={"/x": ok(b"ok", "set-cookie: a=b")},
        holds=lambda value, _: "set-cookie" not in value["headers"]),
    _ok("secrets that come back are replaced", SHOP + "x", "<redacted>",
        answers={"/x": ok(f"you sent {SECRET}".encode(), f"x-echo: {SECRET}")}),
    # Redirects.
    _ok("redirect as a result", SHOP + "go", '"status": 302', answers=_to("http://trap.example:PORT/")),
    _ok("redirect to a path", SHOP + "go", answers=_to("/next?a=b"), args={"redirects": "judged"}),
    _ok("redirect to a relative path", SHOP + "a/go", answers={"/a/go": redirect("../b/next")},
        args={"redirects": "judged"}, holds=lambda _, seen: seen[-1].target == "/b/next"),
    _ok("redirect to a query", SHOP + "go", answers=_to("?page=2"), args={"redirects": "judged"},
        holds=lambda _, seen: seen[-1].target == "/go?page=2"),
    _ok("redirect with a fragment", SHOP + "go", answers=_to("/next#part"), args={"redirects": "judged"}),
    _ok("redirect to a permitted host", SHOP + "go", answers=_to("http://cdn.example:PORT/"), policy=HOSTS,
        args={"redirects": "judged"}),
    _ok("redirect to https", SHOP + "go", answers=_to("https://shop.example:TLS/"), policy=HOSTS,
        args={"redirects": "judged"}, holds=_has("authorization", f"Bearer {SECRET}")),
    _ok("redirect without a scheme", SHOP + "go", answers=_to("//cdn.example:PORT/"), args={"redirects": "judged"}),
    _ok("five redirects", SHOP + "1", args={"redirects": "judged"},
        answers={f"/{number}": redirect(f"/{number + 1}") for number in range(1, 6)}),
    _ok("redirect without a URL", SHOP + "go", '"status": 302', args={"redirects": "judged"},
        answers={"/go": b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n"}),
    _ok("not modified", SHOP + "go", '"status": 304', args={"redirects": "judged"},
        answers={"/go": b"HTTP/1.1 304 Not Modified\r\nlocation: http://trap.example:PORT/\r\n\r\n"}),
    *(
        _ok(f"{method} after {status} is {then}", SHOP + "go", '"status": 200', answers=_to("/next", status),
            args={"redirects": "judged", "method": method, "headers": {"content-type": "text/plain", "x-a": "b"},
                  "body": "x" if method == "POST" else ""},
            holds=lambda _, seen, then=then: (seen[-1].method, seen[-1].headers.get("x-a")) == (then, "b")
            and (seen[-1].body == b"x") == ("content-type" in seen[-1].headers) == (then in ("POST", "PUT")
                                                                                    and seen[0].body == b"x"))
        for method, status, then in (
            ("POST", 301, "GET"), ("POST", 302, "GET"), ("POST", 303, "GET"), ("POST", 307, "POST"),
            ("POST", 308, "POST"),
        )
    ),
    _ok("HEAD after 303 is HEAD", SHOP + "go", '"status": 200', args={"redirects": "judged", "method": "HEAD"},
        answers={"/go": redirect("/next", 303), "/next": b"HTTP/1.1 200 OK\r\n\r\n"},
        holds=lambda _, seen: seen[-1].method == "HEAD"),
    _ok("secrets of a call stay at their origin", SHOP + "go", answers=_to("http://cdn.example:PORT/"),
        args={"redirects": "judged", "headers": {"authorization": "Bearer mine", "cookie": "a=b", "x-api-key": "c",
                                                 "accept": "text/plain"}},
        holds=lambda _, seen: _lacks("authorization", "cookie", "x-api-key")(_, seen)
        and _has("accept", "text/plain")(_, seen) and seen[0].headers["cookie"] == "a=b"),
    _ok("secrets of a call stay at their scheme", SHOP + "go", answers=_to("https://127.0.0.2:TLS/"),
        args={"redirects": "judged", "headers": {"cookie": "a=b"}}, holds=_lacks("cookie")),
    _ok("secrets of the provider stay at their origin", "https://shop.example:TLS/go",
        answers=_to("https://cdn.example:TLS/"), args={"redirects": "judged"}, holds=_lacks("authorization")),
)  # fmt: skip
"""Rows that are answered, and reach no trap."""
