"""The HTTP application of a decision server, for Starlette.

Every answer of an endpoint that decides is JSON. A fault while deciding is a denial or an error, never a permission.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from bobcat import pdp
from bobcat.bundle import Policy
from bobcat.distribution import ReloadingPolicy
from bobcat.errors import RequestError
from bobcat.logs import logger
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.decision_json import decision_json
from bobcat.model.request_json import parse_request, request_from_data
from bobcat.server.authzen import answer_of, evaluate_batch, metadata, request_of
from bobcat.server.limits import Limits, Rates, Tokens
from bobcat.server.metrics import Metrics
from bobcat.server.monitor import Monitor, MonitoredRules
from bobcat.text.prometheus import METRICS_TYPE

try:
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("a decision server needs `pip install 'bobcat[serve]'`", name=error.name) from error

log = logger("server")
Endpoint = Callable[[Request, bytes], Response]
JSON_LINES = "application/x-ndjson"
LARGE_BYTES = 64 * 1024
"""Size of a body that is answered in a thread."""


def create_app(
    source: ReloadingPolicy,
    *,
    tokens: Tokens | None = None,
    limits: Limits = Limits(),  # noqa: B008
    candidate: Policy | None = None,
) -> Starlette:
    """Build the application. `candidate` decides beside the policy, and is only compared.

    Without `tokens` every client that can connect may ask: for a Unix socket."""
    server = _Server(source, tokens, limits, candidate)
    decides = [
        ("/access/v1/evaluation", server.evaluation),
        ("/access/v1/evaluations", server.evaluations),
        ("/v1/decide", server.decide),
        ("/v1/decide-many", server.decide_many),
    ]
    routes = [Route(path, server.guarded(endpoint), methods=["POST"]) for path, endpoint in decides]
    routes += [
        Route("/v1/policy", server.guarded(server.policy), methods=["GET"]),
        Route("/v1/status", server.guarded(server.status), methods=["GET"]),
        Route("/metrics", server.guarded(server.metrics), methods=["GET"]),
        Route("/.well-known/authzen-configuration", server.configuration, methods=["GET"]),
        Route("/health", server.health, methods=["GET"]),
    ]
    return Starlette(routes=routes)


class _Server:
    def __init__(
        self, source: ReloadingPolicy, tokens: Tokens | None, limits: Limits, candidate: Policy | None
    ) -> None:
        self._source = source
        self._tokens = tokens
        self._limits = limits
        self._rates = Rates(limits.rate)
        self._monitor = None if candidate is None else Monitor(candidate)
        self._monitored = MonitoredRules()
        self._metrics = Metrics()

    def guarded(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint behind authentication, the rate and the size limit; its errors as JSON."""

        async def handle(request: Request) -> Response:
            header = request.headers.get("authorization")
            if self._tokens is not None and not self._tokens.accepts(header):
                return _error(401, "unauthorized", "a bearer token is required", {"WWW-Authenticate": "Bearer"})
            client = header or (request.client.host if request.client else "local")
            wait = self._rates.seconds_to_wait(client)
            if wait:
                return _error(429, "too_many_requests", "the rate is exceeded", {"Retry-After": str(int(wait) + 1)})
            try:
                body = await self._body(request)
                if len(body) > LARGE_BYTES:  # a thread: other clients must not wait for a batch
                    response = await asyncio.to_thread(endpoint, request, body)
                else:
                    response = endpoint(request, body)
            except ClientDisconnect:
                return _error(400, "bad_request", "the client went away")
            except RequestError as error:
                response = _error(413 if error.code == "too_large" else 400, error.code, str(error))
            except Exception:
                log.exception("a request could not be answered")
                response = _error(500, "internal", "the request could not be answered")
            request_id = request.headers.get("x-request-id")
            if request_id is not None:
                response.headers["X-Request-ID"] = request_id
            return response

        return handle

    async def _body(self, request: Request) -> bytes:
        chunks, size = [], 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > self._limits.max_bytes:
                raise RequestError("too_large", f"the body is larger than {self._limits.max_bytes} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def evaluation(self, _: Request, body: bytes) -> Response:
        """AuthZEN: one decision."""
        return _json(answer_of(self._decision(request_of(parse_request(body), _now()))))

    def evaluations(self, _: Request, body: bytes) -> Response:
        """AuthZEN: several decisions, by one policy."""
        data = parse_request(body)
        if not isinstance(data, dict):
            raise RequestError("bad_request", "the request must be an object")
        policy = self._source.current
        return _json(
            evaluate_batch(data, _now(), lambda request: self._decided(policy, request), self._limits.max_items)
        )

    def decide(self, _: Request, body: bytes) -> Response:
        """Bobcat's JSON: one request as `requests.md` describes it."""
        policy = self._source.current
        decision = self._decided(policy, _timed(body, _now()))
        return _json({"bundle": policy.id, **decision_json(decision)})

    def decide_many(self, _: Request, body: bytes) -> Response:
        """Bobcat's JSON Lines: one request a line, one decision a line. An invalid line refuses the whole batch."""
        lines = body.splitlines()
        if len(lines) > self._limits.max_items:
            raise RequestError("too_large", f"more than {self._limits.max_items} requests")
        policy, now, requests = self._source.current, _now(), []
        for number, line in enumerate(lines, 1):
            try:
                requests.append(_timed(line, now))
            except RequestError as error:
                raise RequestError(error.code, f"line {number}: {error}") from error
        if self._monitor is not None or policy.monitored is not None:
            decisions = [self._decided(policy, request) for request in requests]
        else:
            began = perf_counter()
            decisions = pdp.evaluate_many(policy, requests)
            self._metrics.count_many([each.verdict for each in decisions], perf_counter() - began)
        text = "".join(
            json.dumps({"bundle": policy.id, **decision_json(each)}, allow_nan=False) + "\n" for each in decisions
        )
        return Response(text, media_type=JSON_LINES)

    def policy(self, _: Request, _body: bytes) -> Response:
        """The policy that decides now, and the problem of a newer file."""
        found = self._source.status()
        return _json(
            {
                "bundle": found.bundle,
                "epoch": found.epoch,
                "loaded": found.loaded.isoformat(),
                "problem": None if found.problem is None else found.problem.text,
                **({} if self._monitor is None else {"candidate": self._monitor.to_json()}),
                **({} if self._source.current.monitored is None else {"monitored": self._monitored.to_json()}),
            }
        )

    def status(self, _: Request, _body: bytes) -> Response:
        """The state of the policy and of its source."""
        return _json(self._source.status().to_json())

    def metrics(self, _: Request, _body: bytes) -> Response:
        """The metrics in the text format of Prometheus."""
        text = self._metrics.text(self._source.status(), None if self._monitor is None else self._monitor.to_json())
        return PlainTextResponse(text, media_type=METRICS_TYPE)

    async def configuration(self, request: Request) -> Response:
        """AuthZEN: the metadata of this decision point."""
        return _json(metadata(str(request.base_url).rstrip("/")))

    async def health(self, _: Request) -> Response:
        """Say that decisions are made; `stale` when the source does not confirm the policy in force."""
        return PlainTextResponse("ok\n" if self._source.status().current else "stale\n")

    def _decision(self, request: ActionRequest) -> Decision:
        return self._decided(self._source.current, request)

    def _decided(self, policy: Policy, request: ActionRequest) -> Decision:
        began = perf_counter()
        if self._monitor is None:
            decision = self._monitored.decide(policy, request)
        elif policy.monitored is None:
            decision = self._monitor.decide(policy, request)
        else:  # a release with monitored rules beside a candidate
            decision = self._monitored.decide(policy, request)
            self._monitor.compare(request, decision)
        self._metrics.count(decision.verdict, perf_counter() - began)
        return decision


def _timed(body: bytes, now: datetime) -> ActionRequest:
    """The request of Bobcat's JSON, at the time of the server unless it says another one."""
    data = parse_request(body)
    if not isinstance(data, dict):
        raise RequestError("bad_request", "the request must be an object")
    context = data.get("context", {})
    if isinstance(context, dict):
        data = {**data, "context": {"timestamp": now.isoformat(), **context}}
    return request_from_data(data)


def _now() -> datetime:
    return datetime.now(UTC)


def _json(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:  # Any: JSON
    return JSONResponse(data, status, headers)


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    return _json({"error": {"code": code, "message": message}}, status, headers)
