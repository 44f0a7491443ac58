"""`net.http` with a server that people use: uvicorn with Starlette, its redirects, compression and streams."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from bobcat import Guard, compile_policy
from bobcat.guard import Outcome
from bobcat.providers import http
from providers.escapes_http import ALL
from providers.sites import PUBLIC

SECONDS = 20.0


async def echo(request: Request) -> Response:
    """What the server has read."""
    body = (await request.body()).decode()
    return JSONResponse({"method": request.method, "query": dict(request.query_params), "body": body})


async def moved(request: Request) -> Response:
    return RedirectResponse("/echo?a=b%20c", 307)


async def stream(request: Request) -> Response:
    async def parts() -> AsyncIterator[str]:
        for number in range(5):
            yield f"part {number}\n"
            await asyncio.sleep(0.01)

    return StreamingResponse(parts(), media_type="text/plain")


async def large(request: Request) -> Response:
    return Response("x" * 500_000, media_type="text/plain")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    routes = [
        Route("/echo", echo, methods=["GET", "POST", "PUT", "DELETE"]),
        Route("/moved", moved, methods=["GET", "POST"]),
        Route("/stream", stream),
        Route("/large", large),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(GZipMiddleware, minimum_size=500)])
    listener = socket.create_server((PUBLIC, 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(SECONDS)
    listener.close()


def _submitted(port: int, path: str, **args: Any) -> Outcome:
    async def resolver(host: str, port: int) -> list[str]:
        return [PUBLIC]

    tools = http(schemes=("http",), ports=(port,), allow_addresses=(PUBLIC,), resolver=resolver)

    async def main() -> Outcome:
        async with Guard(compile_policy(ALL), tools) as guard:
            return await guard.submit("net.http", {"url": f"http://shop.example:{port}{path}", **args})

    return asyncio.run(main())


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PUT"])
def test_the_server_reads_the_method_the_query_and_the_body(port: int, method: str) -> None:
    body = '{"a": "é"}' if method in ("POST", "PUT") else ""
    outcome = _submitted(port, "/echo?q=%C3%A9&r=1", method=method, body=body)
    assert outcome.value["status"] == 200, outcome
    read = {"method": method, "query": {"q": "é", "r": "1"}, "body": body}
    assert json.loads(outcome.value["body"]) == read


def test_a_redirect_keeps_the_method_and_the_body(port: int) -> None:
    outcome = _submitted(port, "/moved", method="POST", body="x", redirects="judged")
    assert json.loads(outcome.value["body"]) == {"method": "POST", "query": {"a": "b c"}, "body": "x"}
    assert outcome.value["url"] == f"http://shop.example:{port}/echo?a=b%20c"


def test_streams_and_compressed_answers_are_read_whole(port: int) -> None:
    assert _submitted(port, "/stream").value["body"] == "".join(f"part {number}\n" for number in range(5))
    large = _submitted(port, "/large").value
    assert (len(large["body"]), large["truncated"], large["encoding"]) == (500_000, False, "text")
    assert _submitted(port, "/missing").value["status"] == 404
