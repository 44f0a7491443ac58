"""The report in a real browser: hostile texts, search, keyboard, contrast, print, and no network."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bobcat import Policy
from bobcat.report.access import access_table
from bobcat.report.model import PolicyReport
from bobcat.report.page import report_page
from browsing import Browser, chromium, low_contrast, prefer, text_of
from docs.markdown_blocks import blocks_of

UPDATE = "BOBCAT_UPDATE_IMAGES"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "read-a-policy-report.md"
RULES = next(block.body for block in blocks_of(PAGE) if block.title == "payments.yaml")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile"), "--window-size=1100,900") as started:
        yield started


def page_of(source: Any, name: str = "payments.yaml") -> str:
    policy = Policy.compile(source, source_path=name)
    return report_page(PolicyReport(name, policy, access_table(policy.ir), policy.diagnostics))


def shown(browser: Browser, directory: Path, text: str) -> None:
    (directory / "report.html").write_text(text)
    browser.get(f"file://{directory}/report.html")


def logs(browser: Browser) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]  # type: ignore[no-untyped-call]


def test_texts_of_others_neither_run_nor_load(browser: Browser, tmp_path: Path) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/"
        attack = (
            f"x</script></style></title><script>window.hit=1;fetch('{url}')</script>"
            f"<img src={url} onerror=window.hit=1>\"'><link rel=stylesheet href={url}><iframe src={url}></iframe>"
        )
        source = {
            "rules": [
                {"id": attack, "description": attack, "match": {"tool": attack, f'args["x{attack[:40]}"]': attack},
                 "decision": "deny", "reason": attack},
                {"id": "b", "match": {"tool": "t", "context.environment": attack, "context.principal.id": attack},
                 "decision": "approve_required", "approvers": [attack]},
            ]
        }  # fmt: skip
        shown(browser, tmp_path, page_of(source, attack[:60]))
        assert attack in text_of(browser, "#rules-table tbody tr:first-child th")
        assert attack in text_of(browser, "#access-table thead")
        assert browser.execute_script("return window.hit") is None
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
        assert browser.find_elements(By.CSS_SELECTOR, "img, iframe, link, body style, main script") == []
        assert logs(browser) == []
        assert asked == []
    finally:
        server.shutdown()
        server.server_close()


def test_search_hides_rows_and_says_how_many_are_left(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, page_of(RULES))
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    field = browser.switch_to.active_element
    assert field.get_attribute("id") == "query"
    field.send_keys("balance allow")
    rows = browser.find_elements(By.CSS_SELECTOR, "#rules-table tbody tr, #access-table tbody tr")
    assert [row.text.split()[0] for row in rows if row.is_displayed()] == ["balance", "balances"]
    assert text_of(browser, "#count") == f"2 of {len(rows)} rows"
    field.send_keys(Keys.ESCAPE)
    assert all(row.is_displayed() for row in rows)


def test_the_page_is_used_with_the_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, page_of(RULES))
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.execute_script("return document.activeElement.id") == "main"
    for _ in range(20):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.switch_to.active_element.tag_name == "summary":
            break
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.execute_script(outline) == "solid"
    details = browser.find_element(By.CSS_SELECTOR, "#access-table details")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert details.get_attribute("open") is not None
    assert "denied where blocked-accounts matches" in details.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(browser: Browser, tmp_path: Path, scheme: str) -> None:
    prefer(browser, scheme)
    shown(browser, tmp_path, page_of(RULES))
    browser.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert low_contrast(browser) == []
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    if os.environ.get(UPDATE) and scheme == "light":
        browser.save_screenshot(str(IMAGES / "policy-report.png"))


def test_without_scripts_everything_but_the_search_is_there(browser: Browser, tmp_path: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        shown(browser, tmp_path, page_of(RULES))
        assert not browser.find_element(By.ID, "find").is_displayed()
        assert browser.find_element(By.ID, "rule-3").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_headings_landmarks_and_tables_have_their_structure(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, page_of(RULES))
    levels = browser.execute_script("return [...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    targets = browser.execute_script(
        "return [...document.querySelectorAll('a[href]')].map(e => e.getAttribute('href').slice(1))"
    )
    assert set(targets) <= set(ids)
    assert browser.find_elements(By.CSS_SELECTOR, "thead th:not([scope=col]), tbody th:not([scope=row])") == []
    for selector in ("main", "nav[aria-label]", "header", "html[lang]", "form[role=search] label input"):
        assert len(browser.find_elements(By.CSS_SELECTOR, selector)) == 1


def test_on_paper_the_navigation_is_gone_and_details_are_open(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, page_of(RULES))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
        assert not browser.find_element(By.ID, "find").is_displayed()
        height = "return document.querySelector('#access-table details li').getBoundingClientRect().height"
        assert browser.execute_script(height) > 5
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
