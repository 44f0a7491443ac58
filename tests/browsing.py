"""A real browser without a window: Chromium by its driver."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver

from services import REQUIRED

PATIENCE = 60.0
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
Browser = webdriver.Chrome


@contextmanager
def chromium(profile: Path, *flags: str) -> Iterator[Browser]:
    """A browser with a profile of its own; the test is skipped where none is installed."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)("chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={profile}", *flags):
        options.add_argument(flag)
    started = webdriver.Chrome(options, Driver(driver))
    try:
        yield started
    finally:
        started.quit()


def until(true: Callable[[], Any]) -> Any:  # Any: what is waited for
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def text_of(browser: Browser, selector: str) -> str:
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent).join('|')"
    return str(browser.execute_script(script, selector))


def prefer(browser: Browser, scheme: str) -> None:
    """Set the colour scheme that the person prefers."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


_CONTRAST = """
const light = (text) => {
  const [r, g, b] = text.match(/[0-9.]+/g).map(Number);
  const linear = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = getComputedStyle(at).backgroundColor;
    if (!/, 0\\)$/.test(color)) return color;
  }
  return "rgb(255, 255, 255)";
};
const found = [];
const walker = document.createTreeWalker(document.querySelector(arguments[0]), NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || /^(SCRIPT|STYLE)$/.test(element.tagName)) continue;
  const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.push(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
}
return found;
"""


def low_contrast(browser: Browser, selector: str = "body") -> list[str]:
    """The elements with text below `selector` whose contrast is below 4.5, as WCAG 2 computes it."""
    return list(browser.execute_script(_CONTRAST, selector))
