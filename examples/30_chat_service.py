"""A chat in the browser: threads over HTTP, text as it streams, decisions, and approvals by a button.

`python 30_chat_service.py --serve` serves it on this machine only; without arguments it talks to itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from bobcat import Approvals, FinalAnswer, Message, Policy, ToolCall, ToolSet, durable_approvals, tool
from bobcat.adapters import ClaudeAgent
from bobcat.errors import ApprovalError, ThreadError
from bobcat.model.agent import Agent
from bobcat.model.deltas import TextDelta
from bobcat.stores import SQLiteStore
from bobcat.threads import Thread, ThreadEvent

POLICY = Policy.compile("""
rules:
  - {id: status, match: {tool: status, args.service.in: [web, jobs]}, decision: allow}
  - id: restart
    match: {tool: restart, args.service.in: [web, jobs]}
    decision: approve_required
    approvers: [ann]
    timeout_seconds: 3600
""")
APPROVER = "ann"  # a real service takes the name from its authentication
PAGE = Path(__file__).with_name("chat_page.html").read_text(encoding="utf-8")
MAX_BODY = 100_000
THREAD_ID = re.compile(r"[a-z0-9-]{1,40}")


@tool()
async def status(service: str) -> str:
    """The state of a service."""
    return f"{service} is down"


@tool(reversible=False)
async def restart(service: str) -> str:
    """Restart a service."""
    return f"{service} is up"


class ScriptedAgent:
    """Streams its words: looks and restarts where the message asks for that, and repeats any other message."""

    def __init__(self, delay: float) -> None:
        self.delay = delay

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[TextDelta | ToolCall | FinalAnswer]:
        reply = await self.step(conversation)
        for word in re.findall(r"\S+\s*", reply.text):
            yield TextDelta(word)
            await asyncio.sleep(self.delay)
        yield reply

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        asked = max(number for number, message in enumerate(conversation) if message.role == "user")
        answers = [message.content for message in conversation[asked:] if message.role == "tool"]
        if "restart" not in conversation[asked].content:
            return FinalAnswer(f"You said: {conversation[asked].content}")
        if len(answers) == 2:
            return FinalAnswer(f"The last result is {answers[-1]}")
        return ToolCall(["status", "restart"][len(answers)], {"service": "web"}, text="One moment please.")


class Chat:
    """The threads of one store."""

    def __init__(self, path: Path, agent: Agent) -> None:
        self.store = SQLiteStore(path)
        self.agent = agent
        self.threads: dict[str, Thread] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def thread(self, name: str) -> Thread:
        if name not in self.threads:
            self.threads[name] = Thread(
                self.store, name, agent=self.agent, tools=ToolSet.from_functions(status, restart), policy=POLICY,
                on_approval=durable_approvals(self.store), owner="chat-service",
            )  # fmt: skip
        return self.threads[name]

    def go_on(self, name: str) -> None:
        """Continue the last turn in the background: after an approval, and after a restart of this process."""

        async def resume() -> None:
            async for _ in self.thread(name).resume():
                pass

        task = asyncio.create_task(resume())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.store.aclose)
            for summary in await self.store.runs():
                name = summary.run_id.removeprefix("thread:")
                if name != summary.run_id and THREAD_ID.fullmatch(name):
                    self.go_on(name)
            yield
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
            for thread in self.threads.values():
                await thread.aclose()

    async def page(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe()
        policy = f"default-src 'none'; connect-src 'self'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'"
        headers = {"Content-Security-Policy": f"{policy}; base-uri 'none'; frame-ancestors 'none'"}
        return HTMLResponse(PAGE.replace("NONCE", nonce), headers=headers)

    async def events(self, request: Request) -> Response:
        """The events after `Last-Event-ID`, which a browser sends when it connects again, or after `?since=`."""
        since = request.headers.get("last-event-id") or request.query_params.get("since") or "0"
        if not re.fullmatch("[0-9]{1,15}", since):
            return problem(400, "since must be the number of an event")
        follow = request.query_params.get("follow") != "0"
        found = self.thread(request.path_params["thread"]).events(int(since), follow=follow)

        async def sent() -> AsyncIterator[ServerSentEvent]:
            async for event in found:
                yield ServerSentEvent(json_of(event), id=str(event.seq), event="thread", retry=300)

        return EventSourceResponse(sent())

    async def message(self, request: Request) -> Response:
        """Send a message. The same `key` twice is one message."""
        body = await body_of(request)
        key = str(body["key"]) if "key" in body else None
        sent = self.thread(request.path_params["thread"]).send(str(body.get("text", "")), key=key)
        try:
            first = await anext(sent, None)
        except ThreadError as error:
            return problem(400, str(error))
        return JSONResponse({"event": None if first is None else first.seq}, 202)

    async def approval(self, request: Request) -> Response:
        """Answer an approval of this thread. Whether the answer counts is for the policy to say."""
        body, approvals = await body_of(request), Approvals(self.store)
        name, id = request.path_params["thread"], request.path_params["id"]
        try:
            if not (await approvals.show(id)).run_id.startswith(f"thread:{name}#"):
                return problem(404, "no such approval")
            answer = approvals.grant if body.get("granted") is True else approvals.deny
            answered = (await answer(id, approver=APPROVER)).approval
        except ApprovalError as error:
            return problem(409, str(error))
        self.go_on(name)
        return JSONResponse({"status": answered.status})


def json_of(event: ThreadEvent) -> str:
    """An event as JSON, with the name of its class."""
    values = {field.name: getattr(event, field.name) for field in fields(event)}  # type: ignore[arg-type]  # each is one
    return json.dumps({"event": type(event).__name__, **values}, default=plain)


def plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def problem(code: int, message: str) -> Response:
    return JSONResponse({"error": message}, code)


async def body_of(request: Request) -> dict[str, Any]:  # Any: JSON
    body = json.loads(await request.body())
    return body if isinstance(body, dict) else {}


Endpoint = Callable[[Request], Coroutine[None, None, Response]]


def guarded(endpoint: Endpoint) -> Endpoint:
    """`endpoint` for valid names of threads; a change only from a page of this service, as JSON of bounded size."""

    async def answer(request: Request) -> Response:
        if not THREAD_ID.fullmatch(request.path_params["thread"]):
            return problem(404, "no such thread")
        if request.method == "POST":
            headers = request.headers
            if headers.get("origin") != f"http://{headers['host']}":
                return problem(403, "not from this page")
            if headers.get("content-type") != "application/json":
                return problem(415, "not JSON")
            if not headers.get("content-length", "").isdecimal() or int(headers["content-length"]) > MAX_BODY:
                return problem(413, "too long")
        try:
            return await endpoint(request)
        except ValueError:
            return problem(400, "not JSON")

    return answer


def application(path: Path, agent: Agent) -> Starlette:
    chat = Chat(path, agent)
    routes = [
        Route("/", chat.page),
        Route("/threads/{thread}/events", guarded(chat.events)),
        Route("/threads/{thread}/messages", guarded(chat.message), methods=["POST"]),
        Route("/threads/{thread}/approvals/{id}", guarded(chat.approval), methods=["POST"]),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])  # against DNS rebinding
    return Starlette(routes=routes, middleware=[hosts], lifespan=chat.lifespan)


def talk(path: Path) -> None:
    """A conversation without a browser."""
    origin = {"Origin": "http://127.0.0.1"}

    def shown(client: TestClient, since: int, until: str) -> dict[str, Any]:  # Any: JSON
        while True:
            lines = client.get(f"/threads/demo/events?follow=0&since={since}").text.splitlines()
            events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
            if events and events[-1]["event"] == until:
                break
        for event in events:
            if event["event"] != "ThreadText":
                told = event.get("verdict") or event.get("message") or event.get("answer") or event.get("tool") or ""
                print(event["seq"] if event["event"] == "TurnStarted" else " ", event["event"], told)
        return dict(events[-1])

    with TestClient(application(path, ScriptedAgent(0)), base_url="http://127.0.0.1") as client:
        print(client.post("/threads/demo/messages", json={"text": "restart web"}).json())
        client.post("/threads/demo/messages", json={"text": "restart web"}, headers=origin)
        asked = shown(client, 0, "Asked")
        approval = asked["approvals"][0]
        print(client.post(f"/threads/demo/approvals/{approval}", json={"granted": True}, headers=origin).json())
        shown(client, asked["seq"], "Ended")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--store", type=Path, default=Path("chat.db"))
    parser.add_argument("--delay", type=float, default=0.05, help="seconds between words")
    parser.add_argument("--claude", metavar="MODEL", help="a real model in place of the scripted agent")
    given = parser.parse_args()
    if given.serve:
        tools = ToolSet.from_functions(status, restart)
        agent = ClaudeAgent(tools=tools, model=given.claude) if given.claude else ScriptedAgent(given.delay)
        uvicorn.run(application(given.store, agent), host="127.0.0.1", port=given.port, log_level="warning")
    else:
        with tempfile.TemporaryDirectory() as directory:
            talk(Path(directory) / "chat.db")


if __name__ == "__main__":
    main()
