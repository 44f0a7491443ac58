"""Nothing that a model, a tool, a server, a store or a policy wrote acts on a screen, on any of them."""

from __future__ import annotations

import logging
import os
import unicodedata
from importlib import import_module
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import campaign
from bobcat.cli.commands import COMMANDS
from screens import SCREENS, SLOW
from untrusted import untrusted_text

UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
UNBROKEN = {
    **dict.fromkeys(map(ord, "\n\r"), "\t"),
    **dict.fromkeys(map(ord, "\x0b\x1c\x1d\x1e"), "\x01"),
    **dict.fromkeys(map(ord, "\u2028\u2029"), "\u200b"),
    ord("\x0c"): "\x08",
    ord("\x85"): "\x80",
}
"""In place of what breaks lines: controls that do not, and that are escaped in as many characters."""
ANALYSED = ("bobcat import", "bobcat report", "bobcat report --format json", "bobcat fmt --diff", "bobcat migrate")
"""The number of findings, or the layout, depends on the meaning of the text, which line breaks change."""
SILENT = ("bobcat completion", "bobcat submit in a session without a store", "lynx init")
"""Screens that show nothing of the text."""
FIXED = pytest.mark.parametrize("screen", SCREENS)


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("bobcat.approvals.durable.NOTIFY_WAITS", ())
    caplog.set_level(logging.CRITICAL, "bobcat.approvals")


def on(screen: str, text: str) -> str:
    """The output of `screen` for `text`, in a separate directory."""
    home = Path.cwd()
    place = home / str(len(os.listdir(home)))
    place.mkdir()
    os.chdir(place)
    try:
        return SCREENS[screen](text)
    finally:
        os.chdir(home)


def check(screen: str, text: str) -> None:
    seen = on(screen, text)
    unsafe = {character for character in seen if character != "\n" and unicodedata.category(character) in UNSAFE}
    assert not unsafe, (screen, sorted(map(ascii, unsafe)))
    unbroken = text.translate(UNBROKEN)
    if unbroken != text and screen not in ANALYSED:
        assert seen.count("\n") == on(screen, unbroken).count("\n"), (screen, seen)


@FIXED
def test_a_screen_survives_what_is_known_to_redraw_it(screen: str) -> None:
    check(screen, "\x1b[2J\x1b[H\r\n  tool:   ls\n\x9b2K\u202egnp\u2066\u200b\ufe0f\x85\u2028\x7f\u3164")


@FIXED
def test_a_screen_shows_the_text_at_all(screen: str) -> None:
    """Else the other tests would check nothing."""
    assert "untrusted7" in on(screen, "untrusted7") or screen in SILENT


@FIXED
@settings(
    max_examples=campaign.rounds(4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_text_acts_on_a_screen(screen: str, data: st.DataObject) -> None:
    if screen in SLOW and not campaign.SIZE:
        pytest.skip("takes a second each time; the known text is tried above, random ones in campaigns")
    check(screen, data.draw(untrusted_text(surrogates=False)))


def test_every_command_is_among_the_screens() -> None:
    commands = []
    for name, (module, attribute, _) in COMMANDS.items():
        found = getattr(import_module(module), attribute)
        nested = list(found.commands) if isinstance(found, click.Group) and name != "policy" else []
        commands += [f"bobcat {name} {inner}" for inner in nested] or [f"bobcat {name}"]
    assert set(commands) <= set(SCREENS)
