"""The provider `http`: what it records, previews and reports, and how it is made."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, ToolSet, compile_policy
from bobcat.guard import Outcome
from bobcat.providers import http
from bobcat.tools.schema import toolset_to_anthropic_tools
from providers.escapes_http import ALL, HOSTS, Row
from providers.name_server import NameServer
from providers.sites import OTHER, PUBLIC, SECRET, Web, ok, redirect, web
from providers.test_http_escapes import run


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("web")) as found:
        yield found


async def _public(host: str, port: int) -> list[str]:
    return [PUBLIC]


def _tools(sites: Web, **options: Any) -> ToolSet:
    sites.clear()
    defaults: dict[str, Any] = {
        "schemes": ("http", "https"), "ports": (sites.port, sites.tls_port), "allow_addresses": (PUBLIC, OTHER),
        "resolver": _public, "verify": sites.verify,
    }  # fmt: skip
    return http(**{**defaults, **options})


def _submit(tools: ToolSet, url: str, *, policy: str = ALL, log: Path | None = None, **args: Any) -> Outcome:
    async def main() -> Outcome:
        async with Guard(compile_policy(policy), tools, log=log) as guard:
            return await guard.submit("net.http", {"url": url, **args})

    return asyncio.run(main())


# Evidence.


def test_the_address_of_each_connection_is_recorded(sites: Web, tmp_path: Path) -> None:
    row = Row("chain", "http://shop.example:PORT/go", {"redirects": "judged"}, policy=HOSTS,
              answers={"/go": redirect("http://cdn.example:PORT/a", 307)})  # fmt: skip
    outcome, _ = run(sites, row, log=tmp_path / "log.jsonl")
    port = sites.port
    assert (outcome.opened["host"], outcome.opened["address"]) == ("shop.example", PUBLIC)
    assert outcome.opened["redirects"] == [
        {"status": 307, "host": "cdn.example", "port": port, "address": OTHER},
    ]
    (decided,) = outcome.opened["judged"]
    assert decided["args"]["url"] == f"http://cdn.example:{port}/a"
    assert decided["verdict"] == "allow"
    assert '"address":"127.0.0.3"' in (tmp_path / "log.jsonl").read_text().replace(" ", "")


def test_a_refused_redirect_leaves_the_first_address_in_the_evidence(sites: Web) -> None:
    row = Row("out", "http://shop.example:PORT/go", {"redirects": "judged"},
              answers={"/go": redirect("http://169.254.169.254:PORT/latest")})  # fmt: skip
    outcome, _ = run(sites, row)
    assert outcome.opened["address"] == PUBLIC
    assert "redirects" not in outcome.opened
    assert outcome.error == (
        f"redirect to `http://169.254.169.254:{sites.port}/latest`: `169.254.169.254` is refused: its address is that "
        "of a metadata service"
    )


def test_the_policy_decides_on_the_request_that_a_redirect_makes(sites: Web) -> None:
    policy = """
rules:
  - {id: gets, match: {args.method: GET, args.body: "", args.headers.empty: true}, decision: allow}
  - {id: form, match: {args.url.ends_with: /form}, decision: allow}
"""
    args: dict[str, Any] = {"redirects": "judged", "method": "POST", "body": "a=b",
                            "headers": {"content-type": "application/x-www-form-urlencoded"}}  # fmt: skip
    outcome, _ = run(sites, Row("see other", "http://shop.example:PORT/form", args,
                                {"/form": redirect("/done", 303)}, policy=policy))  # fmt: skip
    assert outcome.status == "ok", outcome
    kept, _ = run(sites, Row("keep", "http://shop.example:PORT/form", args,
                             {"/form": redirect("/done", 307)}, policy=policy))  # fmt: skip
    assert kept.status == "failed"
    assert "not allowed" in (kept.error or "")


def test_outside_of_a_guard_redirects_are_results(sites: Web) -> None:
    tools = _tools(sites)
    sites.sites["shop"].answers["/go"] = redirect("/ok")
    call = tools.get("net.http").fn(url=sites.placed("http://shop.example:PORT/go"), redirects="judged")
    assert asyncio.run(call)["status"] == 302
    assert len(sites.seen_by("shop")) == 1


def test_a_capability_permits_a_site_and_the_redirects_within_it(sites: Web) -> None:
    policy = sites.placed("""
resources: {api: {kind: http, base: "https://shop.example:TLS"}}
capabilities:
  - {action: net.http, resource: "api:/v1/**", methods: [GET], redirects: judged, timeout_seconds: 5}
""")
    tools = _tools(sites, timeout_seconds=5)
    answers = sites.sites["tls shop"].answers
    answers["/v1/within"] = redirect("/v1/b")
    answers["/v1/beyond"] = redirect("/v2/b")
    answers["/v1/elsewhere"] = redirect(sites.placed("https://cdn.example:TLS/v1/b"))
    statuses = {}
    for path in ("/v1/within", "/v1/beyond", "/v1/elsewhere", "/v2/", "/v1/../v2/", "//v1/"):
        url = sites.placed(f"https://shop.example:TLS{path}")
        statuses[path] = _submit(tools, url, policy=policy, redirects="judged").status
    assert statuses == {
        "/v1/within": "ok", "/v1/beyond": "failed", "/v1/elsewhere": "failed",
        "/v2/": "denied", "/v1/../v2/": "denied", "//v1/": "denied",
    }  # fmt: skip
    url = sites.placed("https://shop.example:TLS/v1/")
    assert _submit(tools, url, policy=policy, method="POST").status == "denied"
    assert _submit(tools, url, policy=policy, timeout_seconds=6).status == "denied"
    assert [seen.target for seen in sites.seen_by("tls shop", "tls cdn")] == [
        "/v1/within", "/v1/b", "/v1/beyond", "/v1/elsewhere",
    ]  # fmt: skip


# Previews and schemas.


def test_a_preview_shows_the_request_without_secrets_and_sends_nothing(sites: Web) -> None:
    headers = {sites.placed("https://shop.example:TLS"): {"Authorization": f"Bearer {SECRET}"}}
    tools = _tools(sites, headers=headers)
    policy = "rules: [{id: preview, match: {}, decision: dry_run}]"
    url = sites.placed("https://shop.example:TLS/a?token=t")
    outcome = _submit(tools, url, policy=policy, method="POST", body="abc", headers={"cookie": "a=b", "accept": "x/y"})
    assert outcome.status == "previewed"
    shown = outcome.value
    assert (shown["method"], shown["body_bytes"], shown["provider_headers"]) == ("POST", 3, ["authorization"])
    assert shown["headers"] == {"cookie": "<redacted>", "accept": "x/y"}
    assert SECRET not in json.dumps(shown)
    assert "problem" not in shown
    refused = _submit(tools, "http://shop.example:22/", policy=policy)
    assert refused.value["problem"] == "the port 22 is not permitted"
    assert not any(site.connections for site in sites.sites.values())


def test_a_model_sees_methods_and_defaults(sites: Web) -> None:
    (shown,) = toolset_to_anthropic_tools(_tools(sites))
    properties = shown["input_schema"]["properties"]
    assert properties["method"]["default"] == "GET"
    assert properties["timeout_seconds"]["default"] == 30.0
    assert properties["redirects"]["enum"] == ["none", "judged"]
    assert SECRET not in json.dumps(shown)


@pytest.mark.parametrize(
    ("methods", "effect"), [(("GET",), "none"), (("GET", "HEAD", "OPTIONS"), "none"), (("GET", "POST"), "unsafe")]
)
def test_reading_methods_have_no_effect(sites: Web, methods: tuple[str, ...], effect: str) -> None:
    metadata = _tools(sites, methods=methods).get("net.http").metadata
    assert (metadata.effect, metadata.reversible, metadata.has_shadow) == (effect, effect == "none", True)


# Connections.


def test_variables_for_proxies_are_not_read(sites: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{sites.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    tools = _tools(sites)
    assert _submit(tools, sites.placed("http://shop.example:PORT/")).status == "ok"
    assert _submit(tools, sites.placed("https://shop.example:TLS/")).status == "ok"
    assert not sites.trapped()


def test_the_next_address_is_tried_if_one_refuses_connections(sites: Web) -> None:
    async def several(host: str, port: int) -> list[str]:
        return ["127.0.0.4", PUBLIC]

    tools = _tools(sites, resolver=several, allow_addresses=("127.0.0.0/29",))
    outcome = _submit(tools, sites.placed("http://shop.example:PORT/"))
    assert outcome.opened["address"] == PUBLIC


def test_a_name_server_that_rebinds_is_asked_once_for_each_request(sites: Web) -> None:
    with NameServer([PUBLIC, "127.0.0.1"]) as names:
        tools = _tools(sites, resolver=names.resolve)
        first = _submit(tools, sites.placed("http://rebind.example:PORT/"))
        assert (first.status, names.asked) == ("ok", ["rebind.example"])
        second = _submit(tools, sites.placed("http://rebind.example:PORT/"))
        assert second.error == "`rebind.example` is refused: its address is not that of a public host"
    assert not sites.trapped()


def test_the_resolver_of_the_machine_knows_its_loopback_address(sites: Web) -> None:
    url = sites.placed("http://localhost:PORT/")
    assert "not that of a public host" in (_submit(_tools(sites, resolver=None), url).error or "")
    assert not sites.trapped()
    private = _tools(sites, resolver=None, private=True)
    assert _submit(private, url).status == "ok"
    assert sites.trapped()


@pytest.mark.parametrize(
    "url", ["http://trap.example:PORT/", "http://mixed.example:PORT/", "http://127.0.0.1:PORT/", "http://[::1]:PORT/"]
)
def test_the_traps_can_be_reached_when_the_check_is_off(sites: Web, url: str) -> None:
    allowed = {"allow_addresses": ("127.0.0.0/8", "::1")}
    outcome, _ = run(sites, Row("open", url, options=allowed))
    assert outcome.status == "ok", outcome
    assert sites.trapped() or "mixed" in url


def test_a_cancelled_call_closes_its_connection(sites: Web) -> None:
    closed: list[float] = []

    def slow(seen: Any) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        try:
            for _ in range(300):
                yield b"x: y\r\n"
                time.sleep(0.05)
        finally:
            closed.append(time.monotonic())

    async def main() -> None:
        call = asyncio.create_task(tools.get("net.http").fn(url=sites.placed("http://shop.example:PORT/slow")))
        await asyncio.sleep(0.3)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    tools = _tools(sites)
    sites.sites["shop"].answers["/slow"] = slow
    asyncio.run(main())
    for _ in range(100):
        if closed:
            return
        time.sleep(0.05)
    raise AssertionError("the connection is still open")


def test_a_call_can_shorten_its_time_but_not_extend_it(sites: Web) -> None:
    def slow(seen: Any) -> Iterator[bytes]:
        time.sleep(1.5)
        yield ok(b"late")

    tools = _tools(sites, timeout_seconds=0.6)
    sites.sites["shop"].answers["/slow"] = slow
    url = sites.placed("http://shop.example:PORT/slow")
    assert (_submit(tools, url, timeout_seconds=0.2).error or "").endswith("no complete answer in 0.2 s")
    assert (_submit(tools, url, timeout_seconds=60).error or "").endswith("no complete answer in 0.6 s")
    assert _submit(tools, url, timeout_seconds=0).error == "timeout_seconds must be greater than 0"


# Making a provider.


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: http(schemes="https"), TypeError, "write \\('https',\\)"),
        (lambda: http(schemes=("ftp",)), ValueError, "got 'ftp'"),
        (lambda: http(schemes=()), ValueError, "got none"),
        (lambda: http(methods=("get",)), ValueError, "got 'get'"),
        (lambda: http(allow_addresses="10.0.0.1"), TypeError, "sequence of addresses"),
        (lambda: http(allow_addresses=("10.0.0",)), ValueError, "neither an address nor a network"),
        (lambda: http(max_bytes=-1), ValueError, "max_bytes"),
        (lambda: http(timeout_seconds=0), ValueError, "timeout_seconds"),
        (lambda: http(headers={"https://a.example/path": {}}), ValueError, "write `https://a.example`"),
        (lambda: http(headers={"a.example": {}}), ValueError, "headers: the URL is undecidable"),
        (lambda: http(headers={"https://a.example": {}, "https://A.example:443": {}}), ValueError, "occurs twice"),
        (lambda: http(headers={"https://a.example": {"host": "b"}}), ValueError, "`host` cannot be set"),
        (lambda: http(headers={"https://a.example": {"x-a": "b\n"}}), ValueError, "characters"),
        (lambda: http(verify=False), TypeError, "ssl.SSLContext"),  # type: ignore[arg-type]
        (lambda: http(verify=ssl._create_unverified_context()), ValueError, "must check certificates"),
    ],
)
def test_invalid_arguments_are_errors_at_once(make: Callable[[], ToolSet], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


def test_without_the_extra_the_message_names_it() -> None:
    program = "import sys; sys.modules['httpcore'] = None; from bobcat.providers import http"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: requests need `pip install 'bobcat[http]'`" in done.stderr
