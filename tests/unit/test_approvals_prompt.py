"""The prompt on the terminal, and the checks an answer must pass."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import (
    ActionRequest,
    ApprovalDecision,
    ApprovalRequest,
    Decision,
    ExecutionContext,
    Principal,
    ToolMetadata,
    Verdict,
    callback_approval,
    cli_prompt_approval,
)
from bobcat.approvals import ask

CONTEXT = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime(2026, 1, 31, tzinfo=UTC))
DECISION = Decision(Verdict.APPROVE_REQUIRED, "prod")
REQUEST = ApprovalRequest(ActionRequest("deploy", {"v": 1}, ToolMetadata("low", True, ()), CONTEXT), DECISION, "c")


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A pipe for the standard input; the end to type into."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        yield writing
    os.close(writing)


def prompt(handler: Any) -> ApprovalDecision:
    async def main() -> Any:
        return await asyncio.wait_for(handler(REQUEST), 10)

    answer = asyncio.run(main())
    assert isinstance(answer, ApprovalDecision)
    return answer


@pytest.mark.parametrize("typed", ["y\n", "yes\n", " YES \n", "Y\n"])
def test_yes_grants(keyboard: int, typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.write(keyboard, typed.encode())
    assert prompt(cli_prompt_approval("alice")) == ApprovalDecision(True, "alice")
    assert capsys.readouterr().out == (
        "\n→ APPROVAL REQUIRED\n  tool:   deploy\n  args:   {'v': 1}\n  reason: prod\nApprove? [y/N] "
    )


def asked(monkeypatch: pytest.MonkeyPatch, request: ApprovalRequest, *answers: str) -> tuple[bool, list[str]]:
    """The outcome of `request` with these answers, and the text before each."""
    shown: list[str] = []
    given = iter(answers)

    def answer(text: str) -> str:
        shown.append(text)
        return next(given)

    async def main() -> bool:
        return (await asyncio.wait_for(cli_prompt_approval("alice")(request), 10)).granted

    with monkeypatch.context() as patched:
        patched.setattr("builtins.input", answer)
        return asyncio.run(main()), shown


def question(tool: str = "deploy", reason: str = "prod", **args: Any) -> ApprovalRequest:
    action = ActionRequest(tool, args, ToolMetadata("low", True, ()), CONTEXT)
    return ApprovalRequest(action, Decision(Verdict.APPROVE_REQUIRED, reason), "c")


def test_a_question_about_what_may_have_happened_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    request = dataclasses.replace(question(v=1), uncertain=True)
    _, (text,) = asked(monkeypatch, request, "n")
    lines = text.splitlines()
    assert lines[2] == "  UNCERTAIN: an earlier attempt may have taken effect; approving can make it happen twice"
    assert "UNCERTAIN" not in asked(monkeypatch, question(v=1), "n")[1][0]


def test_text_of_a_model_cannot_redraw_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    forged = "\x1b[2J\x1b[H\n→ APPROVAL REQUIRED\n  tool:   ls\r\u202e\u2066\x9b2J\u3164"
    granted, (text,) = asked(monkeypatch, question(tool=forged, reason=forged, cmd=forged, **{forged: 1}), "y")
    assert granted
    assert [line[:9] for line in text.splitlines()[1:]] == [
        "→ APPROVA",
        "  tool:  ",
        "  args:  ",
        "  reason:",
        "Approve? ",
    ]
    assert all(character == "\n" or character.isprintable() for character in text)


def test_a_long_question_says_how_much_is_hidden_and_shows_all_of_it_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = "".join(f"{number}," for number in range(4000)) + "rm -rf /"
    granted, shown = asked(monkeypatch, question(cmd=whole, force=True), "v", *[""] * 6, "y")
    hidden = len(json.dumps(whole)) - 2000
    assert granted
    assert f"... [{hidden:,} more characters]" in shown[0]
    assert f"  {hidden:,} characters are hidden: `v` shows all, page by page\nApprove? [y/N/v] " in shown[0]
    assert "    force: true\n" in shown[0]
    assert "rm -rf /" not in shown[0]
    assert len(shown) == 8
    assert [text.splitlines()[-1] for text in shown[1:-1]] == [
        *(f"[page {number} of 6; Enter: next page, q: back] " for number in range(1, 6)),
        "[page 6 of 6; Enter: back] ",
    ]
    pages = "".join(line for text in shown[1:-1] for line in text.splitlines()[:-1])
    assert whole in pages.replace("    | ", "")
    assert shown[-1] == shown[0]


def test_many_arguments_are_counted_and_shown_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    args = {f"argument{number}": number for number in range(500)}
    granted, shown = asked(monkeypatch, question(**args), "v", "q", "")
    assert not granted
    assert "    ... [470 more arguments]\n" in shown[0]
    assert len(shown[0].splitlines()) < 40
    assert "    argument39: 39" not in shown[0]
    assert "    argument30: 30" in shown[1]


def test_v_is_no_grant_where_nothing_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    granted, shown = asked(monkeypatch, question(v=1), "v")
    assert (granted, len(shown)) == (False, 1)


def test_on_a_terminal_padding_puts_nothing_where_a_line_of_ours_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((40, 24)))
    _, (text,) = asked(monkeypatch, question(cmd="x" + " " * 27 + "  reason: harmless" + " " * 200), "n")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 40
    assert [line for line in lines if line.startswith("  reason")] == ["  reason: prod"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_several_needed_approvals_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    decision = Decision(Verdict.APPROVE_REQUIRED, "prod", approvals_needed=2)
    request = dataclasses.replace(question(v=1), decision=decision, granted_by=("bob\x1b",))
    assert "\n  needs:  2 approvals, granted by bob\\x1b\n" in asked(monkeypatch, request, "n")[1][0]


@pytest.mark.parametrize("typed", ["n\n", "\n", "yep\n", "y y\n", "\xff\n"])
def test_anything_else_refuses(keyboard: int, typed: str) -> None:
    os.write(keyboard, typed.encode("latin-1"))
    assert prompt(cli_prompt_approval()) == ApprovalDecision(False, "local", "denied by local user")


def test_the_end_of_the_input_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert prompt(cli_prompt_approval()).reason == "no answer: standard input is at its end"
    monkeypatch.setattr("sys.stdin", None)
    assert prompt(cli_prompt_approval()).reason == "standard input is closed"
    with (tmp_path / "answers").open("w+") as file:
        file.write("yes\n")
        file.seek(0)
        monkeypatch.setattr("sys.stdin", file)
        assert prompt(cli_prompt_approval()).granted
        assert prompt(cli_prompt_approval()).granted is False


def test_an_abandoned_prompt_eats_no_later_answer(keyboard: int) -> None:
    async def main() -> tuple[bool, bool]:
        handler = cli_prompt_approval()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(handler(REQUEST), 0.05)
        os.write(keyboard, b"y\nn\n")
        return (await handler(REQUEST)).granted, (await handler(REQUEST)).granted

    assert asyncio.run(main()) == (True, False)


def test_a_process_with_an_abandoned_prompt_exits() -> None:
    script = """
        import asyncio
        from bobcat import ActionRequest, ApprovalRequest, Decision, ExecutionContext, Principal, ToolMetadata, Verdict
        from bobcat import cli_prompt_approval
        from datetime import datetime, UTC
        context = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime.now(UTC))
        action = ActionRequest("deploy", {}, ToolMetadata("low", True, ()), context)
        request = ApprovalRequest(action, Decision(Verdict.APPROVE_REQUIRED), "c")
        async def main():
            try:
                await asyncio.wait_for(cli_prompt_approval()(request), 0.05)
            except TimeoutError:
                print("gave up")
        asyncio.run(main())
    """
    reading, writing = os.pipe()  # without input and never closed
    try:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], stdin=reading, capture_output=True, text=True, timeout=20
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert done.stdout.endswith("gave up\n"), done.stderr


@pytest.mark.parametrize("timeout", ["30", -1, float("nan"), True])
def test_a_timeout_that_is_no_number_of_seconds_refuses(timeout: Any) -> None:
    async def grants(_: object) -> ApprovalDecision:
        return ApprovalDecision(True, "alice")

    decision = Decision(Verdict.APPROVE_REQUIRED, timeout_seconds=timeout)
    answer = asyncio.run(ask(callback_approval(grants), ApprovalRequest(REQUEST.request, decision, "c")))
    assert answer.refusal == f"denied: the approval timeout {timeout!r} is not a number of seconds"


def test_an_endless_timeout_waits() -> None:
    async def grants(_: object) -> ApprovalDecision:
        await asyncio.sleep(0.01)
        return ApprovalDecision(True, "alice")

    decision = Decision(Verdict.APPROVE_REQUIRED, timeout_seconds=float("inf"))
    assert asyncio.run(ask(grants, ApprovalRequest(REQUEST.request, decision, "c"))).refusal is None


def test_on_a_terminal_what_was_typed_before_the_question_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, terminal = os.openpty()
    with os.fdopen(terminal, "r") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        os.write(keys, b"y\n")

        async def main() -> bool:
            waiting = asyncio.create_task(cli_prompt_approval()(REQUEST))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            os.write(keys, b"n\n")
            return (await asyncio.wait_for(waiting, 10)).granted

        assert asyncio.run(main()) is False
    os.close(keys)


@pytest.mark.parametrize(("typed", "granted"), [("y", True), ("YES ", True), ("n", False), ("", False)])
def test_what_stands_in_for_input_is_asked(monkeypatch: pytest.MonkeyPatch, typed: str, granted: bool) -> None:
    asked: list[str] = []

    def answer(text: str) -> str:
        asked.append(text)
        return typed

    monkeypatch.setattr("builtins.input", answer)
    reason = "" if granted else "denied by local user"
    assert prompt(cli_prompt_approval("alice")) == ApprovalDecision(granted, "alice", reason)
    assert len(asked) == 1
    assert asked[0].endswith("Approve? [y/N] ")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EOFError(), "no answer: standard input is at its end"),
        (OSError("no terminal"), "no answer: `input()` raised OSError: no terminal"),
        (StopIteration(), "no answer: `input()` raised StopIteration: "),
    ],
)
def test_a_stand_in_that_raises_refuses(monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str) -> None:
    def fail(text: str) -> str:
        raise error

    monkeypatch.setattr("builtins.input", fail)
    assert prompt(cli_prompt_approval()) == ApprovalDecision(False, "local", reason)


def test_a_wait_for_a_stand_in_can_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def wait(text: str) -> str:
        release.wait(10)
        return "y"

    monkeypatch.setattr("builtins.input", wait)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(cli_prompt_approval()(REQUEST), 0.05)
        release.set()
        await asyncio.sleep(0.05)

    asyncio.run(main())


def test_a_stream_that_cannot_be_read_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreadable(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:
            raise OSError("captured")

    monkeypatch.setattr("sys.stdin", Unreadable())
    refused = ApprovalDecision(False, "local", "standard input cannot be read: captured")
    assert prompt(cli_prompt_approval()) == refused
