"""One provider at work: checks of a call, its job for the server, its result."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bobcat.errors import ToolError
from bobcat.providers.process.client import Finished, Launcher
from bobcat.providers.process.effects import check_effects
from bobcat.providers.process.limits import ProcessLimits, check_seconds
from bobcat.providers.process.program import Program
from bobcat.providers.process.sandbox import Sandbox
from bobcat.tools.action import current_action

_ENDED_BY = {
    "timeout": "the program did not end within {timeout:g} seconds and was killed",
    "output": "the program wrote more than {output} bytes and was killed",
    "processes": "the program started more than {processes} processes and was killed",
    "cancelled": "the program was killed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """The programs and caps of a provider, and the connection to its server."""

    programs: Mapping[str, Program]
    sandbox: Sandbox
    env: Mapping[str, str]
    timeout_seconds: float
    max_output_bytes: int
    max_argv_bytes: int
    max_stdin_bytes: int
    limits: ProcessLimits
    effects: frozenset[str] | None
    launcher: Launcher = field(default_factory=Launcher)

    async def run(
        self, name: str, argv: Sequence[str], stdin: str, timeout_seconds: float | None
    ) -> dict[str, Any]:  # Any: JSON
        """Run a program. Raises `ToolError` if it does not start."""
        program = self.programs.get(name)
        if program is None:
            raise ToolError(
                f"`{name}` is not a program of this tool; it runs {', '.join(sorted(self.programs))}", "program"
            )
        timeout = self.timeout_seconds
        if timeout_seconds is not None:
            timeout = min(timeout, _seconds(timeout_seconds))
        self._check_argv(argv)
        given = _encoded("stdin", stdin)
        if len(given) > self.max_stdin_bytes:
            raise ToolError(f"stdin has {len(given)} bytes; at most {self.max_stdin_bytes} are passed on", "size")
        effects = None if self.effects is None else check_effects(name, argv, self.effects, self.programs)
        command = self.sandbox.command(program, argv)
        self._record(program, effects)
        ruleset = self.sandbox.ruleset
        job = {
            "argv": command.argv, "env": dict(self.env), "inherited": command.inherited,
            "limits": {limit: value for limit, value in asdict(self.limits).items() if value is not None},
            "timeout_seconds": timeout, "landlock": ruleset is not None,
        }  # fmt: skip
        opened = [self.sandbox.directory.descriptor, *command.files, *([] if ruleset is None else [ruleset])]
        return self._result(await self.launcher.run(job, given, opened, self.max_output_bytes), timeout)

    def _check_argv(self, argv: Sequence[str]) -> None:
        size = 0
        for word in argv:
            if "\0" in word:
                raise ToolError("argv has a NUL character, which no program can get", "argument")
            size += len(_encoded("argv", word)) + 1
        if size > self.max_argv_bytes:
            raise ToolError(f"argv has {size} bytes; at most {self.max_argv_bytes} are passed on", "size")

    def _record(self, program: Program, effects: list[str] | None) -> None:
        action = current_action()
        if action is None:
            return
        device, inode = program.identity[:2]
        action.record(
            program=program.file, device=device, inode=inode, sandbox=self.sandbox.containment.isolation,
            cwd=self.sandbox.directory.path,
        )  # fmt: skip
        if effects is not None:
            action.record(effects=effects)
        if program.interpreter is not None:
            action.record(interpreter=program.interpreter.file)

    def _result(self, finished: Finished, timeout: float) -> dict[str, Any]:
        report = finished.report
        if report["failure"] is not None:
            raise ToolError(f"the program could not {report['failure']['step']}: {report['failure']['error']}", "start")
        if report["left"]:
            raise ToolError(f"{report['left']} processes of the program could not be killed", "lost")
        if report["stragglers"] and (action := current_action()) is not None:
            action.record(killed_processes=report["stragglers"])
        error = None
        if report["ended_by"] is not None:
            caps = {"timeout": timeout, "output": self.max_output_bytes, "processes": self.limits.processes}
            error = _ENDED_BY[report["ended_by"]].format(**caps)
        status = report["wait_status"]
        return {
            "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": _signal_name(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None,
            "stdout": finished.stdout.decode("utf-8", "replace"),
            "stderr": finished.stderr.decode("utf-8", "replace"),
            "truncated": finished.truncated,
            "duration_ms": report["duration_ms"],
            "error": error,
        }


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number in {*signal.Signals} else f"signal {number}"


def _seconds(value: float) -> float:
    try:
        return check_seconds("timeout_seconds", value)
    except (TypeError, ValueError) as error:
        raise ToolError(str(error), "argument") from None


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"{name} has a lone surrogate at character {error.start}", "argument") from None
