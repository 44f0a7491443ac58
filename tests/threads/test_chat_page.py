"""The page of the chat service in a real browser, with the service as a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By

from browsing import Browser, chromium, text_of, until

SERVICE = Path(__file__).parents[2] / "examples" / "30_chat_service.py"
THREADS = count(1)


class Service:
    """The chat service as a process, on one port and one store."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.directory, self.thread = directory, "main"
        self.start()

    def start(self) -> None:
        options = ["--serve", "--port", str(self.port), "--store", str(self.directory / "chat.db")]
        command = [sys.executable, str(SERVICE), *options, "--delay", "0.05"]
        self.process = subprocess.Popen(command)
        until(self.answers)

    def answers(self) -> bool:
        assert self.process.poll() is None
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def page(self) -> str:
        return f"{self.url}/?thread={self.thread}"

    @property
    def events(self) -> str:
        return f"{self.url}/threads/{self.thread}/events"

    def say(self, text: str) -> None:
        url = f"{self.url}/threads/{self.thread}/messages"
        assert httpx.post(url, json={"text": text}, headers={"Origin": self.url}, timeout=60).status_code == 202

    def ended(self) -> int:
        return httpx.get(self.events, params={"follow": "0"}, timeout=60).text.count('"event": "Ended"')

    def numbers(self) -> list[int]:
        text = httpx.get(self.events, params={"follow": "0"}, timeout=60).text
        return [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("service"))
    yield found
    found.kill()


@pytest.fixture
def service(running: Service) -> Service:
    """The service, with a thread of the test's own."""
    running.thread = f"thread-{next(THREADS)}"
    return running


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def seen(browser: Browser) -> list[int]:
    return list(browser.execute_script("return window.seen"))


def type_in(browser: Browser, text: str) -> None:
    browser.find_element(By.ID, "text").send_keys(text)
    browser.find_element(By.ID, "send").click()


def test_text_appears_before_the_reply_ends(service: Service, browser: Browser) -> None:
    browser.get(service.page)
    words = [f"w{number}" for number in range(30)]
    type_in(browser, " ".join(words))
    first = until(lambda: text_of(browser, ".reply"))
    assert "w29" not in first
    until(lambda: text_of(browser, ".reply") == "You said: " + " ".join(words))


def test_a_click_grants_the_call_and_it_runs_once(service: Service, browser: Browser) -> None:
    browser.get(service.page)
    type_in(browser, "please restart")
    (grant, deny) = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".ask button"))
    assert (grant.text, deny.text) == ("grant", "deny")
    calls = text_of(browser, ".call")
    assert 'status {"service":"web"}|decision: allow' in calls
    assert 'restart {"service":"web"}|decision: approve_required' in calls
    assert "is up" not in calls
    grant.click()
    until(lambda: "The last result is" in text_of(browser, ".reply"))
    assert text_of(browser, ".call").count("[ok] web is up") == 1
    assert not browser.find_elements(By.CSS_SELECTOR, ".ask")


def test_a_click_denies_the_call_and_it_does_not_run(service: Service, browser: Browser) -> None:
    browser.get(service.page)
    type_in(browser, "please restart")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".ask button"))[1].click()
    until(lambda: "The last result is [denied]" in text_of(browser, ".reply"))
    assert "web is up" not in text_of(browser, ".call")


def test_a_page_goes_on_after_the_service_was_killed_amid_a_reply(tmp_path: Path, browser: Browser) -> None:
    service = Service(tmp_path)
    try:
        goes_on(service, browser)
    finally:
        service.kill()


def goes_on(service: Service, browser: Browser) -> None:
    browser.get(service.page)
    type_in(browser, " ".join(f"w{number}" for number in range(20)))
    until(lambda: "w3" in text_of(browser, ".reply"))
    service.kill()
    service.start()
    until(lambda: "w19" in text_of(browser, ".reply:not(.discarded)"))
    assert text_of(browser, ".discarded").startswith("You said: ")
    service.say("another")
    until(lambda: "another" in text_of(browser, ".reply"))
    numbers = until(lambda: (found := seen(browser)) == service.numbers() and found)
    assert numbers == list(range(1, len(numbers) + 1))


def test_markup_of_people_and_models_is_text(service: Service, browser: Browser) -> None:
    browser.get(service.page)
    attack = "<img src=x onerror='window.hit=1'><script>window.hit=1</script>"
    type_in(browser, attack)
    until(lambda: text_of(browser, ".reply") == f"You said: {attack}")
    assert browser.execute_script("return window.hit") is None
    assert not browser.find_elements(By.CSS_SELECTOR, "#log img, #log script")


def test_a_stopped_reader_does_not_block_the_run(service: Service) -> None:
    with socket.socket() as stopped:
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        stopped.connect(("127.0.0.1", service.port))
        path = service.events.removeprefix(service.url)
        stopped.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n\r\n".encode())
        # More than this system buffers for a connection without a reader.
        for _ in range(20):
            service.say("x" * 90_000)
        until(lambda: service.ended() == 20)


def test_a_stream_goes_on_after_the_event_that_the_browser_names(service: Service) -> None:
    service.say("one two three")
    until(service.ended)
    every = service.numbers()
    for headers, since in (({"Last-Event-ID": "2"}, "0"), ({}, "2")):
        text = httpx.get(service.events, headers=headers, params={"follow": "0", "since": since}).text
        assert [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")] == every[2:]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 403),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.test", "Host": "evil.test"}, 400),
        ({"Origin": "SAME", "Content-Type": "text/plain"}, 415),
        ({"Origin": "SAME"}, 400),
    ],
)
def test_another_page_cannot_send(service: Service, headers: dict[str, str], code: int) -> None:
    given = {name: service.url if value == "SAME" else value for name, value in headers.items()}
    content = b"{" if code == 400 else b'{"text": "x"}'
    given.setdefault("Content-Type", "application/json")
    answer = httpx.post(f"{service.url}/threads/{service.thread}/messages", content=content, headers=given)
    assert answer.status_code == code
    assert service.numbers() == []
