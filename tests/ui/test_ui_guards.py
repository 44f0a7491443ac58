"""The doors of `bobcat ui`: tokens, sessions, hosts, origins, marks of forms, and headers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from bobcat import MemoryStore, SQLiteStore
from bobcat.ui.access import MAX_SESSIONS, SESSION_SECONDS, Access, Holder, parse_holders
from ui.console import HOST, TOKENS, URL, Browser, form_of, send, served, suspended
from unit.cli_runner import Run, runner

Work = Callable[[Browser, str], Awaitable[Any]]


def with_question(work: Work) -> Any:
    async def main() -> Any:
        store = MemoryStore()
        async with served(store) as browser:
            return await work(browser, (await suspended(store)).result.approvals[0])

    return asyncio.run(main())


def test_without_a_session_there_is_only_the_form_for_a_token() -> None:
    async def work(browser: Browser, asked: str) -> None:
        for path in ("/", "/runs", "/run?id=r-1", "/approvals", f"/approvals/{asked}"):
            for cookie in (None, "", "x" * 43):
                client = browser.new()
                if cookie is not None:
                    client.cookies.set("bobcat_ui", cookie)
                page = await client.get(path)
                assert (page.status_code, 'name="token"' in page.text, "r-1" in page.text) == (401, True, False)

    with_question(work)


def test_a_wrong_token_opens_nothing() -> None:
    async def work(browser: Browser, _: str) -> None:
        for token in ("", "a" * 19, "a" * 21, TOKENS["alice"].upper(), "é", "x" * 5_000):
            client = browser.new()
            asked = await client.get("/enter", params={"token": token})
            sent = await client.post("/enter", data={"token": token}, headers={"Origin": URL})
            for page in (asked, sent):
                assert page.status_code == (403 if token else 200)
                assert "set-cookie" not in page.headers
            assert (await client.get("/runs")).status_code == 401

    with_question(work)


def test_the_cookie_is_not_the_token_and_is_kept_from_scripts_and_other_sites() -> None:
    async def work(browser: Browser, _: str) -> None:
        page = await browser.new().post("/enter", data={"token": TOKENS["bob"]}, headers={"Origin": URL})
        cookie = page.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        assert TOKENS["bob"] not in cookie
        assert "bob" in page.text

    with_question(work)


def test_another_name_of_this_server_is_refused() -> None:
    async def work(browser: Browser, _: str) -> None:
        alice = await browser.of("alice")
        for host in ("evil.test", "evil.test:8000", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8000.evil.test", ""):
            page = await alice.get("/runs", headers={"Host": host})
            assert (page.status_code, "r-1" in page.text) == (421, False)
            entered = await alice.get("/enter", params={"token": TOKENS["alice"]}, headers={"Host": host})
            assert (entered.status_code, "set-cookie" in entered.headers) == (421, False)

    with_question(work)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "https://" + HOST}, 403),
        ({"Origin": URL + ".evil.test"}, 403),
        ({"Origin": URL, "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": URL, "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": URL, "Content-Type": "text/plain"}, 415),
        ({"Origin": URL, "Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Origin": URL}, 303),
    ],
)
def test_a_form_of_another_site_is_refused(headers: dict[str, str], code: int) -> None:
    async def work(browser: Browser, asked: str) -> None:
        alice = await browser.of("alice")
        action, hidden = form_of(await alice.get(f"/approvals/{asked}"), "grant")
        content = str(httpx.QueryParams(hidden)).encode()
        given = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        answer = await alice.post(action, content=content, headers=given)
        assert answer.status_code == code
        status = (await alice.get(f"/approvals/{asked}")).text.split("status</dt><dd>")[1][:40]
        assert ("granted" in status) is (code == 303)

    with_question(work)


def test_a_mark_is_of_one_session_and_one_form() -> None:
    async def work(browser: Browser, asked: str) -> None:
        alice, bob = await browser.of("alice"), await browser.of("bob")
        page = await alice.get(f"/approvals/{asked}")
        grant, granting = form_of(page, "grant")
        deny, denying = form_of(page, "deny")
        for client, action, fields in (
            (bob, grant, granting), (alice, grant, denying), (alice, deny, granting),
            (alice, grant, {**granting, "mark": ""}), (alice, grant, {"digest": granting["digest"]}),
            (browser.new(), grant, granting),
        ):  # fmt: skip
            answer = await client.post(action, data=fields, headers={"Origin": URL})
            assert answer.status_code in (401, 403)
        assert "pending" in (await alice.get(f"/approvals/{asked}")).text.split("status</dt><dd>")[1][:40]

    with_question(work)


def test_forms_that_are_too_large_or_malformed_are_refused() -> None:
    async def work(browser: Browser, asked: str) -> None:
        alice = await browser.of("alice")
        form = {"Origin": URL, "Content-Type": "application/x-www-form-urlencoded"}
        for content, code in (
            (b"mark=" + b"x" * 70_000, 413), (b"mark=a&mark=b", 400), (b"mark=%ff", 400), (b"\xff=1", 400),
            (b"&".join(b"f%d=1" % number for number in range(50)), 400),
        ):  # fmt: skip
            answer = await alice.post(f"/approvals/{asked}/grant", content=content, headers=form)
            assert answer.status_code == code
        assert (await alice.get(f"/approvals/{asked}/grant")).status_code == 405

    with_question(work)


def test_signing_out_ends_the_session() -> None:
    async def work(browser: Browser, _: str) -> None:
        alice = await browser.of("alice")
        kept = alice.cookies["bobcat_ui"]
        mark = re.search(
            'action="/leave"><input type="hidden" name="mark" value="([^"]*)"', (await alice.get("/runs")).text
        )
        assert mark is not None
        assert (await alice.post("/leave", data={"mark": "x"}, headers={"Origin": URL})).status_code == 403
        assert (await alice.post("/leave", data={"mark": mark[1]}, headers={"Origin": URL})).status_code == 200
        alice.cookies.set("bobcat_ui", kept)
        assert (await alice.get("/runs")).status_code == 401

    with_question(work)


def test_every_answer_has_the_headers_that_keep_it_in_its_frame() -> None:
    async def work(browser: Browser, asked: str) -> None:
        alice = await browser.of("alice")
        page = await alice.get(f"/approvals/{asked}")
        stranger = await browser.new().get("/runs")
        answers = [page, stranger, await alice.get("/style.css"), await alice.get("/nothing")]
        answers += [await alice.get("/runs", headers={"Host": "evil.test"}), await send(alice, page, "deny")]
        for answer in answers:
            rules = answer.headers["content-security-policy"]
            assert "default-src 'none'" in rules
            assert "frame-ancestors 'none'" in rules
            assert "unsafe" not in rules
            assert "script" not in rules
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers.get_list("cache-control") == ["no-store"]

    with_question(work)


def test_sessions_end_and_are_bounded() -> None:
    now = [0.0]
    access = Access([("t" * 16, Holder("ann"))], lambda: now[0])
    first = access.sign_in("t" * 16)
    assert first is not None
    assert access.session(first[0]) is not None
    for _ in range(MAX_SESSIONS):
        last = access.sign_in("t" * 16)
    assert last is not None
    assert access.session(first[0]) is None
    now[0] = SESSION_SECONDS - 1.0
    assert access.session(last[0]) is not None
    now[0] += 1
    assert access.session(last[0]) is None


def test_a_token_file_has_names_and_strong_tokens() -> None:
    found = parse_holders(["", "Ann Lee  " + "a" * 16, "b" * 16])
    assert [(token[0], holder.name) for token, holder in found] == [("a", "Ann Lee"), ("b", "")]
    for lines, problem in ((["short"], "line 1"), ([], "no token"), (["a" * 16, "x " + "a" * 16], "twice"),
                           (["é" * 16], "ASCII")):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            parse_holders(lines)


async def created() -> None:
    store = SQLiteStore("runs.db")
    await store.put("test", "x", {}, expected=0)
    await store.aclose()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOBCAT_STORE", raising=False)
    Path("weak").write_text("short")
    Path("plain").write_text("a" * 20)
    asyncio.run(created())
    return runner(capsys, monkeypatch)


MISTAKES = [
    ((), 2, "STORE"),
    (("sqlite:///absent.db",), 3, "the store cannot be used"),
    (("ftp://x",), 3, "the store cannot be used"),
    (("sqlite:///absent.db", "--allow-answers"), 2, "--approver NAME"),
    (("sqlite:///absent.db", "--allow-answers", "--token-file", "plain"), 2, "names in the token file"),
    (("sqlite:///absent.db", "--token-file", "weak"), 3, "line 1: a token has at least"),
    (("sqlite:///absent.db", "--token-file", "none"), 3, "cannot read `none`"),
    (("sqlite:///absent.db", "--token-file", "plain", "--approver", "ann"), 2, "NAME TOKEN"),
    (("sqlite:///absent.db", "--host", "192.0.2.1"), 2, "--insecure"),
    (("sqlite:///absent.db", "--host", "0.0.0.0", "--insecure"), 2, "--allow-host"),
    (("sqlite:///absent.db", "--host", "192.0.2.1", "--insecure"), 3, "cannot listen on `192.0.2.1"),
    (("sqlite:///absent.db", "--tls-cert", "plain"), 2, "--tls-key"),
    (("sqlite:///runs.db", "--tls-cert", "plain", "--tls-key", "weak"), 3, "cannot use `plain` with `weak`"),
    (("sqlite:///absent.db", "--port", "99999"), 2, "--port"),
]


@pytest.mark.parametrize(("arguments", "code", "text"), MISTAKES)
def test_mistakes_are_refused_before_anything_is_served(
    run: Run, arguments: tuple[str, ...], code: int, text: str
) -> None:
    done = run("ui", *arguments)
    assert (done.code, done.out) == (code, "")
    assert text in done.err
