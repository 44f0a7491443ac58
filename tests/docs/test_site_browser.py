"""The built documentation site in a browser: search, both colour schemes, and the width of a phone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import pytest

from browsing import Browser, chromium, low_contrast, prefer, text_of, until

SITE = Path(__file__).resolve().parents[2] / ".build" / "site"
PAGES = ("index.html", "how-to/guard-a-loop.html", "reference/semantics.html", "reference/api/runs.html")

pytestmark = pytest.mark.skipif(not SITE.exists(), reason="the site is not built: `make docs`")


class _Quiet(SimpleHTTPRequestHandler):
    """Serves the files without a line for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile"), "--window-size=1280,900") as started:
        yield started


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "from the disk"])
def test_search_finds_a_page_by_its_words(browser: Browser, address: str, from_disk: bool) -> None:
    browser.get(f"{SITE.as_uri() if from_disk else address}/index.html?q=exclusion+index")
    browser.execute_script("document.querySelector('[data-md-component=search-query]').focus()")
    until(lambda: "The engine" in text_of(browser, ".md-search-result__item"))


def _show(browser: Browser, width: int, scheme: str) -> None:
    """Show the page as on a screen of this width, in this colour scheme."""
    prefer(browser, {"default": "light", "slate": "dark"}[scheme])
    until(lambda: browser.execute_script("return document.body.dataset.mdColorScheme") == scheme)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    until(lambda: browser.execute_script("return innerWidth") == width)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read(browser: Browser, address: str, page: str) -> None:
    browser.get(f"{address}/{page}")
    for width, scheme in product((1280, 390), ("default", "slate")):
        _show(browser, width, scheme)
        until(lambda: browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"))
        assert low_contrast(browser, "article") == [], (width, scheme)
    assert [entry["message"] for entry in browser.get_log("browser")] == []
