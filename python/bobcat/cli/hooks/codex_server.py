"""Codex's own list of hooks, from `codex app-server`: whether it will run a hook depends on a review by its user."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]  # Any: JSON

_EVENTS = ("preToolUse", "postToolUse", "userPromptSubmit")

TIME = 20
"""Seconds that the server gets for everything."""


class NoAnswer(Exception):
    """Codex gave no list. The message is the reason."""


@dataclass(frozen=True, slots=True)
class ListedHook:
    """A hook as Codex sees it."""

    key: str
    command: str
    digest: str
    enabled: bool
    trust: str
    """`trusted`, `managed`, `untrusted` or `modified`."""

    @property
    def runs(self) -> bool:
        """True if Codex runs the hook."""
        return self.enabled and self.trust in ("trusted", "managed")


def listed_hooks(program: str, directory: Path) -> list[ListedHook]:
    """Return the hooks that Codex lists for a session in `directory`. Raises `NoAnswer`."""
    with _server(program, directory) as server:
        return server.hooks()


def trust_hook(program: str, directory: Path, command: str) -> None:
    """Record in Codex's settings that its user has reviewed the hook with this command line. Raises `NoAnswer`."""
    with _server(program, directory) as server:
        own = [hook for hook in server.hooks(_EVENTS) if hook.command == command]
        if not own:
            raise NoAnswer("Codex does not list the hook; a project has to be trusted in Codex first")
        value = {hook.key: {"trusted_hash": hook.digest} for hook in own}
        edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": value}
        server.call("config/batchWrite", {"edits": [edit]})


class _Server:
    def __init__(self, process: subprocess.Popen[str], directory: Path) -> None:
        self._process = process
        self._directory = directory
        self._sent = 0

    def hooks(self, events: Collection[str] = ("preToolUse",)) -> list[ListedHook]:
        result = self.call("hooks/list", {"cwds": [str(self._directory)]})
        try:
            return [
                ListedHook(hook["key"], hook["command"], hook["currentHash"], hook["enabled"], hook["trustStatus"])
                for entry in result["data"]
                for hook in entry["hooks"]
                if hook["eventName"] in events and hook.get("handlerType", "command") == "command"
            ]
        except (KeyError, TypeError) as error:
            raise NoAnswer(f"its list of hooks has another form ({error})") from error

    def call(self, method: str, params: JsonObject) -> JsonObject:
        self._sent += 1
        self._send({"id": self._sent, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError as error:
                raise NoAnswer("`codex app-server` wrote text that is not JSON") from error
            if isinstance(message, dict) and message.get("id") == self._sent:
                if not isinstance(message.get("result"), dict):
                    raise NoAnswer(f"`codex app-server` refused `{method}`: {_reason(message)}")
                result: JsonObject = message["result"]
                return result
        raise NoAnswer(f"`codex app-server` ended before it answered `{method}`")

    def notify(self, method: str) -> None:
        self._send({"method": method})

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise NoAnswer("`codex app-server` ended early") from error


@contextmanager
def _server(program: str, directory: Path) -> Iterator[_Server]:
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            [program, "app-server"], cwd=directory, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise NoAnswer(f"`{program}` cannot be started: {error.strerror}") from error
    timer = Timer(TIME, process.kill)
    timer.start()
    try:
        server = _Server(process, directory)
        server.call("initialize", {"clientInfo": {"name": "bobcat", "version": "1"}})
        server.notify("initialized")
        yield server
    finally:
        timer.cancel()
        process.terminate()
        try:
            process.communicate(timeout=5)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            process.kill()
            process.wait()


def _reason(message: JsonObject) -> str:
    error = message.get("error")
    return str(error.get("message")) if isinstance(error, dict) else "no reason given"
