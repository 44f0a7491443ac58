"""`bobcat ui` as a process, in a real browser: a run waits, people answer, and the run goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bobcat import FinalAnswer, SQLiteStore
from browsing import Browser, chromium, low_contrast, prefer, text_of, until
from kernel.scripted import Seen, Tools, call
from ui.console import TOKENS, suspended

UPDATE = "BOBCAT_UPDATE_IMAGES"
IMAGES = Path(__file__).parents[2] / "docs" / "images"


async def created(path: Path) -> None:
    """Make an empty store."""
    store = SQLiteStore(path)
    await store.put("test", "x", {}, expected=0)
    await store.aclose()


class Served:
    """`bobcat ui` on a store of its own, with a token for each person."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "tokens").write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
        asyncio.run(created(directory / "runs.db"))
        command = [sys.executable, "-m", "bobcat", "ui", f"sqlite:///{directory}/runs.db", "--allow-answers"]
        self.process = subprocess.Popen(
            [*command, "--token-file", str(directory / "tokens")], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def run(self, *replies: object, run_id: str, tools: Tools | None = None) -> Seen:
        async def main() -> Seen:
            store = SQLiteStore(self.directory / "runs.db")
            try:
                return await suspended(store, *replies, run_id=run_id, tools=tools)
            finally:
                await store.aclose()

        return asyncio.run(main())

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("ui"))
    yield found
    assert found.stop() == 0


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Browser]]:
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(chromium(tmp_path_factory.mktemp(name), "--window-size=1000,800"))
            for name in ("one", "other")
        )
        yield one, other


def sign_in(browser: Browser, served: Served, name: str) -> None:
    browser.get(f"{served.url}/enter?token={TOKENS[name]}")
    until(lambda: browser.current_url == f"{served.url}/runs")


def test_a_person_signs_in_and_grants_with_the_keyboard_alone(
    served: Served, browsers: tuple[Browser, Browser]
) -> None:
    browser, tools = browsers[0], Tools()
    served.run(call("restart", targets=["web"]), run_id="keys", tools=tools)
    browser.get(served.url)
    field = browser.find_element(By.NAME, "token")
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element == field
    field.send_keys(TOKENS["alice"], Keys.ENTER)
    until(lambda: browser.current_url == f"{served.url}/runs")
    for wanted in ("Pending approvals", "restart", None):
        follow(browser, wanted)
    until(lambda: "granted by alice" in text_of(browser, "[role=status]"))
    done = served.run(FinalAnswer("ok"), run_id="keys", tools=tools)
    assert done.result.outcome == "succeeded"


def follow(browser: Browser, wanted: str | None) -> None:
    """Go to a link by its text, or to the button that grants, with the tabulator, and press enter."""
    before = browser.current_url
    until(lambda: browser.find_elements(By.LINK_TEXT, wanted) if wanted else browser.find_elements(By.ID, "grant"))
    for _ in range(60):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        here = browser.switch_to.active_element
        if here.get_attribute("id") == "grant" if wanted is None else here.text == wanted:
            outline = "return getComputedStyle(document.activeElement).outlineStyle"
            assert browser.execute_script(outline) == "solid"
            here.send_keys(Keys.ENTER)
            until(lambda: browser.current_url != before)
            return
    raise AssertionError(f"the tabulator does not reach {wanted or 'the button'}")


def test_a_denial_ends_the_call_and_the_model_reads_why(served: Served, browsers: tuple[Browser, Browser]) -> None:
    browser = browsers[0]
    asked = served.run(call("restart", targets=["db"]), run_id="denied").result.approvals[0]
    sign_in(browser, served, "bob")
    browser.get(f"{served.url}/approvals/{asked}")
    browser.find_elements(By.NAME, "reason")[1].send_keys("the database <b>stays</b>")
    browser.find_element(By.ID, "deny").click()
    until(lambda: "denied by bob" in text_of(browser, "[role=status]"))
    assert "the database <b>stays</b>" in text_of(browser, "table")
    done = served.run(FinalAnswer("ok"), run_id="denied")
    assert "the database <b>stays</b>" in done.tool_messages[-1]


def test_two_people_grant_and_one_of_them_reads_that_the_other_did(
    served: Served, browsers: tuple[Browser, Browser]
) -> None:
    asked = served.run(call("restart", targets=["web"]), run_id="both").result.approvals[0]
    for browser, name in zip(browsers, ("alice", "bob"), strict=True):
        sign_in(browser, served, name)
        browser.get(f"{served.url}/approvals/{asked}")
    for browser in browsers:
        browser.find_element(By.ID, "grant").click()
    until(lambda: "granted by alice" in text_of(browsers[0], "[role=status]"))
    until(lambda: "was granted by alice already" in text_of(browsers[1], "[role=alert]"))


def test_a_page_of_another_site_cannot_answer(
    served: Served, browsers: tuple[Browser, Browser], tmp_path: Path
) -> None:
    browser = browsers[0]
    asked = served.run(call("restart", targets=["web"]), run_id="forged").result.approvals[0]
    sign_in(browser, served, "alice")
    (tmp_path / "evil.html").write_text(
        f'<form method="post" action="{served.url}/approvals/{asked}/grant"><input name="mark" value="x">'
        '<button id="go">go</button></form>'
    )
    browser.get(f"file://{tmp_path}/evil.html")
    browser.find_element(By.ID, "go").click()
    until(lambda: "another site" in text_of(browser, "[role=alert]"))
    browser.get(f"{served.url}/approvals/{asked}")
    assert text_of(browser, "dd:first-of-type").startswith("pending")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_readable_and_load_nothing_from_elsewhere(
    served: Served, browsers: tuple[Browser, Browser], scheme: str
) -> None:
    browser, attack = browsers[0], "<script>window.hit=1</script><img src=x onerror=window.hit=1>"
    run = f"shown-{scheme}"
    replies = (call("echo", text="look up order o-7"), call("restart", targets=[attack]))
    asked = served.run(*replies, run_id=run).result.approvals[0]
    sign_in(browser, served, "alice")
    prefer(browser, scheme)
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    for path in ("/runs", f"/run?id={run}", "/approvals", f"/approvals/{asked}"):
        browser.get(served.url + path)
        assert low_contrast(browser) == []
        assert len(browser.find_elements(By.TAG_NAME, "h1")) == 1
        loaded = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
        assert set(loaded) == {f"{served.url}/style.css"}
        assert browser.execute_script("return window.hit") is None
        if os.environ.get(UPDATE) and scheme == "light" and path == f"/run?id={run}":
            browser.save_screenshot(str(IMAGES / "run-timeline.png"))
    assert attack in text_of(browser, ".args")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    prefer(browser, "light")


def test_the_question_is_drawn_for_the_documentation(served: Served, browsers: tuple[Browser, Browser]) -> None:
    browser = browsers[1]
    asked = served.run(call("restart", targets=["web"]), run_id="order-7").result.approvals[0]
    sign_in(browser, served, "alice")
    browser.get(f"{served.url}/approvals/{asked}")
    assert [each.text for each in browser.find_elements(By.CSS_SELECTOR, "main button")] == ["Grant", "Deny"]
    if os.environ.get(UPDATE):
        browser.save_screenshot(str(IMAGES / "approval.png"))


def test_a_printed_token_opens_the_pages_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    asyncio.run(created(tmp_path / "runs.db"))
    command = [sys.executable, "-m", "bobcat", "ui", f"sqlite:///{tmp_path}/runs.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        url, _, token = address.partition("/enter?token=")
        with httpx.Client() as client:
            assert client.get(f"{url}/enter", params={"token": token[:-1]}).status_code == 403
            assert client.get(f"{url}/runs").status_code == 401
            assert client.get(address).status_code == 200
            assert client.get(f"{url}/runs").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stdout.read() == ""
