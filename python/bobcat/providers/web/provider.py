"""`http`: the tool `net.http`, contained by schemes, ports, addresses and limits."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from bobcat.errors import ToolError
from bobcat.model.decision import Effect, Verdict
from bobcat.model.frozen import FrozenDict
from bobcat.providers.web.addresses import AddressCheck, Resolver
from bobcat.providers.web.body import as_text
from bobcat.providers.web.headers import Credentials, checked_headers, returned
from bobcat.providers.web.options import check_limits, credentials, names, verifying
from bobcat.providers.web.redirects import location_of, next_request
from bobcat.providers.web.target import PORTS, Target, blocked, target_of
from bobcat.providers.web.wire import Answer, Message, send
from bobcat.shadows.http import http_shadow
from bobcat.text.display import safe_text
from bobcat.tools.action import Action, current_action, uses_action
from bobcat.tools.decorator import tool
from bobcat.tools.toolset import ToolSet

MAX_BYTES = 1_000_000
"""Default limit of an answer's body, after decompression."""
MAX_REQUEST_BYTES = 1_000_000
"""Default limit of a request's body."""
TIMEOUT_SECONDS = 30.0
"""Default time limit of a call, redirects included."""
MAX_REDIRECTS = 5
"""Default limit of the redirects of a call."""

Method: TypeAlias = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
METHODS: tuple[Method, ...] = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_SHOWN = 200
NO_HEADERS: Mapping[str, Mapping[str, str]] = FrozenDict()


def http(
    *,
    schemes: Collection[str] = ("https",),
    ports: Collection[int] | None = None,
    methods: Collection[str] = METHODS,
    private: bool = False,
    allow_addresses: Iterable[str] = (),
    max_bytes: int = MAX_BYTES,
    max_request_bytes: int = MAX_REQUEST_BYTES,
    timeout_seconds: float = TIMEOUT_SECONDS,
    max_redirects: int = MAX_REDIRECTS,
    headers: Mapping[str, Mapping[str, str]] = NO_HEADERS,
    resolver: Resolver | None = None,
    verify: ssl.SSLContext | None = None,
) -> ToolSet:
    """Return the tool `net.http`, which sends one request to a checked address.

    * `schemes`: `https`, `http` or both; `ports`: by default those of the schemes.
    * `methods`: the methods that a call may use. With GET, HEAD and OPTIONS only, the tool has no effect; with others
      it is `unsafe`, because one tool has one effect class.
    * `private`: permit addresses that are not those of public hosts; `allow_addresses`: permit these addresses and
      networks. Metadata services need the latter.
    * `max_bytes`, `max_request_bytes`: limits of bodies; an answer beyond it is truncated.
    * `timeout_seconds`: limit of the whole call; a call can set a shorter one.
    * `headers`: headers by origin, such as `{"https://api.example.com": {"authorization": "Bearer ..."}}`. They are
      added to the requests of that origin, and to no others.
    * `resolver`: an async function that returns the addresses of a name and a port; by default that of the machine.
    * `verify`: the TLS context of connections; by default the certificates of certifi. It must verify.

    The variables of the environment for proxies are not read. Redirects are followed with `redirects="judged"` only,
    each of them decided by the policy as a call of its own. Raises `ValueError` and `TypeError` for invalid arguments.
    """
    check_limits(
        timeout_seconds=timeout_seconds,
        max_bytes=max_bytes,
        max_request_bytes=max_request_bytes,
        max_redirects=max_redirects,
    )
    provider = _Provider(
        names("schemes", schemes, PORTS),
        None if ports is None else frozenset(map(int, ports)),
        names("methods", methods, METHODS),
        AddressCheck(private=private, allow=allow_addresses, resolver=resolver),
        credentials(headers),
        verifying(verify),
        max_bytes=max_bytes,
        max_request_bytes=max_request_bytes,
        timeout_seconds=timeout_seconds,
        max_redirects=max_redirects,
    )
    return provider.tools()


@dataclass(frozen=True, slots=True, repr=False)
class _Provider:
    schemes: frozenset[str]
    ports: frozenset[int] | None
    methods: frozenset[str]
    addresses: AddressCheck
    credentials: Credentials
    verify: ssl.SSLContext
    max_bytes: int
    max_request_bytes: int
    timeout_seconds: float
    max_redirects: int

    def tools(self) -> ToolSet:
        # A rule on the time sees the one that holds.
        default_seconds = self.timeout_seconds
        effect: Effect = "none" if self.methods <= SAFE_METHODS else "unsafe"

        @tool(name="net.http", cost="medium", reversible=effect == "none", scope=("net:http",), effect=effect)
        @uses_action
        async def net_http(
            url: str,
            method: Method = "GET",
            headers: Mapping[str, str] = FrozenDict(),
            body: str = "",
            redirects: Literal["none", "judged"] = "none",
            timeout_seconds: float = default_seconds,
        ) -> dict[str, Any]:
            """Send an HTTP request and return its answer: status, headers, body.

            Header names are in lower case. A body that is not text comes back with the encoding `base64`. With
            `redirects` as `judged` redirects are followed if the policy allows each of them.
            """
            limit = self._limit(timeout_seconds)
            message = self._message(url, method, headers, body)
            try:
                async with asyncio.timeout(limit):
                    return await self._call(message, follow=redirects == "judged")
            except TimeoutError as error:
                text = f"`{message.target.authority}` gave no complete answer in {limit:g} s"
                raise ToolError(text, "timeout") from error

        @net_http.shadow
        async def preview(
            url: str,
            method: Method = "GET",
            headers: Mapping[str, str] = FrozenDict(),
            body: str = "",
            redirects: Literal["none", "judged"] = "none",
            timeout_seconds: float = default_seconds,
        ) -> dict[str, Any]:
            shown = await http_shadow(method, url, headers, body, self._limit(timeout_seconds))
            try:
                message = self._message(url, method, headers, body)
                own = self.credentials.fields(message.target, message.headers)
            except ToolError as error:
                return {**shown, "problem": str(error)}
            return {**shown, "provider_headers": sorted(own)}

        return ToolSet.from_functions(net_http)

    def _limit(self, asked: float) -> float:
        if not asked > 0:
            raise blocked("timeout_seconds must be greater than 0")
        return min(asked, self.timeout_seconds)

    def _message(self, url: str, method: str, headers: Mapping[str, str], body: str) -> Message:
        """The request of a call. Raises `ToolError`."""
        target = self._checked(target_of(url))
        try:
            content = body.encode()
        except UnicodeEncodeError as error:
            raise blocked("the body has half of a surrogate pair, which UTF-8 lacks") from error
        if method not in self.methods:
            raise blocked(f"the method {method} is not one of {', '.join(sorted(self.methods))}")
        if len(content) > self.max_request_bytes:
            raise blocked(f"the body is longer than {self.max_request_bytes:,} bytes")
        if content and method in ("GET", "HEAD"):
            raise blocked(f"a {method} request has no body")
        return Message(method, target, checked_headers(headers), content)

    def _checked(self, target: Target) -> Target:
        """Return the target. Raises `ToolError` for another scheme or port."""
        if target.scheme not in self.schemes:
            known = ", ".join(sorted(self.schemes))
            raise blocked(f"the scheme `{target.scheme}` is not one of {known}")
        permitted = target.port == PORTS[target.scheme] if self.ports is None else target.port in self.ports
        if not permitted:
            raise blocked(f"the port {target.port} is not permitted")
        return target

    async def _call(self, message: Message, *, follow: bool) -> dict[str, Any]:
        action = current_action()
        opened: list[dict[str, Any]] = [{}]  # Any: JSON
        answer = await self._send(message, action, opened)
        while follow and action is not None and (location := location_of(answer)) is not None:
            if len(opened) > self.max_redirects:
                raise blocked(f"more than {self.max_redirects} redirects")
            opened.append({"status": answer.status})
            try:
                message = await self._judged(next_request(message, answer.status, location), action)
                answer = await self._send(message, action, opened)
            except ToolError as error:
                raise ToolError(f"redirect to `{safe_text(location[:_SHOWN])}`: {error}", error.code) from error
        return self._result(message, answer)

    async def _judged(self, message: Message, action: Action) -> Message:
        """Return a request that the policy allows. Raises `ToolError` for any other."""
        target = self._checked(message.target)
        if message.method not in self.methods:
            raise blocked(f"the method {message.method} is not permitted")
        changed = {"url": target.url, "method": message.method, "headers": message.headers}
        decision = await action.judge({**action.request.args, **changed, "body": message.body.decode()})
        if decision.verdict is not Verdict.ALLOW:
            raise blocked(f"not allowed: {decision.reason or 'by the policy'}")
        return message

    async def _send(self, message: Message, action: Action | None, opened: list[dict[str, Any]]) -> Answer:
        target = message.target
        own = self.credentials.fields(target, message.headers)
        addresses = await self.addresses.addresses_of(target)

        def connected(address: str) -> None:
            opened[-1].update(host=target.host, port=target.port, address=address)
            if action is not None:
                action.record(**opened[0], **({"redirects": opened[1:]} if opened[1:] else {}))

        return await send(
            replace(message, headers={**message.headers, **own}),
            addresses,
            max_bytes=self.max_bytes,
            verify=self.verify if target.scheme == "https" else None,
            connected=connected,
        )

    def _result(self, message: Message, answer: Answer) -> dict[str, Any]:
        content = self.credentials.redacted(answer.body)
        kind = next(iter(answer.header("content-type")), "")
        text, encoding = as_text(content, kind, truncated=answer.truncated)
        return {
            "status": answer.status,
            "url": message.target.url,
            "headers": returned(answer.headers, self.credentials),
            "body": text,
            "encoding": encoding,
            "truncated": answer.truncated,
        }
