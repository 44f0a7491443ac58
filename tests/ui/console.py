"""The application of `bobcat ui` without a network, and runs that wait for approvals."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from bobcat import durable_approvals
from bobcat.stores.protocol import DurableStore
from bobcat.ui.access import Access, Holder
from bobcat.ui.app import Settings, create_app
from bobcat.ui.guarding import Origins
from kernel.scripted import Seen, Tools, call, run

HOST = "127.0.0.1:8000"
URL = f"http://{HOST}"
TOKENS = {"alice": "a" * 20, "bob": "b" * 20, "carol": "c" * 20, "": "r" * 20}
POLICY = """
rules:
  - {id: ask, match: {tool: restart}, decision: approve_required, approvers: [alice, bob], timeout_seconds: 7200,
     reason: restarts are checked}
  - {id: both, match: {tool: deploy}, decision: approve_required, approvers: [alice, bob], approvals_needed: 2}
  - {id: echo, match: {tool: echo}, decision: allow}
"""


async def suspended(store: DurableStore, *replies: object, run_id: str = "r-1", tools: Tools | None = None) -> Seen:
    """Run an agent until it waits for an approval, or to its end."""
    options: dict[str, Any] = {"store": store, "run_id": run_id, "policy": POLICY, "tools": tools}
    given = replies or (call("echo", text="hi"), call("restart", targets=["<b>web</b>"]))
    return await run(*given, on_approval=durable_approvals(store), **options)


class Browser:
    """Browsers on one application."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._open: list[httpx.AsyncClient] = []

    def new(self, base: str = URL) -> httpx.AsyncClient:
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=self._app), base_url=base)
        self._open.append(client)
        return client

    async def of(self, name: str) -> httpx.AsyncClient:
        client = self.new()
        assert (await client.get("/enter", params={"token": TOKENS[name]})).status_code == 200
        return client

    async def aclose(self) -> None:
        for client in self._open:
            await client.aclose()


@asynccontextmanager
async def served(store: DurableStore, *, answers: bool = True) -> AsyncIterator[Browser]:
    """The application on a store, with a token for each person of `TOKENS`."""
    access = Access([(token, Holder(name)) for name, token in TOKENS.items()])
    settings = Settings(Origins((HOST, "localhost:8000")), answers, store="test")
    browser = Browser(create_app(store, access, settings))
    try:
        yield browser
    finally:
        await browser.aclose()


def form_of(page: httpx.Response, button: str) -> tuple[str, dict[str, str]]:
    """The address and the hidden fields of the form with a button."""
    form = next(part for part in re.findall("<form.*?</form>", page.text, re.DOTALL) if f'id="{button}"' in part)
    action = re.search('action="([^"]*)"', form)
    assert action is not None
    return action[1], dict(re.findall('type="hidden" name="([^"]*)" value="([^"]*)"', form))


async def send(client: httpx.AsyncClient, page: httpx.Response, button: str, **fields: str) -> httpx.Response:
    """Send the form of a page as a browser does."""
    action, hidden = form_of(page, button)
    return await client.post(action, data={**hidden, **fields}, headers={"Origin": URL})
