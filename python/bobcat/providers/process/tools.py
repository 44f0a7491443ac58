"""The provider `processes`: the tool `proc.run`, which runs named programs with an argument list and no shell."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bobcat.providers.process.containment import Isolation, containment
from bobcat.providers.process.effects import check_names
from bobcat.providers.process.limits import ProcessLimits, check_count, check_seconds
from bobcat.providers.process.program import SYSTEM_PATH, Program, resolve
from bobcat.providers.process.runner import Runner
from bobcat.providers.process.sandbox import Directory, Sandbox
from bobcat.tools.action import uses_action
from bobcat.tools.decorator import tool
from bobcat.tools.toolset import ToolSet

_ENVIRONMENT = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "HOME": "/nonexistent"}


def processes(
    programs: Iterable[str] | Mapping[str, str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Sequence[str] = (),
    set_env: Mapping[str, str] | None = None,
    timeout_seconds: float = 60.0,
    max_output_bytes: int = 1_000_000,
    max_argv_bytes: int = 100_000,
    max_stdin_bytes: int = 1_000_000,
    limits: ProcessLimits | None = None,
    effects: Sequence[str] | None = None,
    isolation: Isolation = "auto",
    readable: Sequence[str] = (),
    writable: Sequence[str] = (),
    network: bool = False,
) -> ToolSet:
    """Make the tool `proc.run`, which runs these programs and no others. Linux only.

    `programs` are names, looked up in the system's directories, or a mapping of names to absolute files. Each is opened
    now; a file that is replaced or changed later does not run. `cwd` is the directory that programs start in, by
    default the current one, opened now.

    A program gets `PATH`, `LANG` and `HOME`, the variables of this process that `env` names, and `set_env`; both are
    read now. `HOME` does not exist, so that no program reads settings that a tool could write.

    `timeout_seconds` is the time for a run; a call can ask for less. `max_output_bytes` counts standard output and
    error together. `limits` are those of the system, see `ProcessLimits`.

    `effects` are those that calls may have by the packs of the shell facet: some of `read`, `write`, `network`, `run`
    and `unknown`. Other calls are refused, also where a program starts one that is not among `programs`.

    `isolation` contains programs, see `containment`: they write below `cwd` and `writable`, read and execute system
    files and `readable`, and reach the network with `network=True` only. Raises `TypeError` and `ValueError`.
    """
    contained = containment(isolation)  # first: other systems lack what opens a program
    found = _programs(programs)
    seconds = check_seconds("timeout_seconds", timeout_seconds)  # a rule on the time sees the one that holds
    place = Sandbox.create(
        contained, Directory.open(cwd), [*found.values()],
        readable=_paths("readable", readable), writable=_paths("writable", writable), network=network,
    )  # fmt: skip
    runner = Runner(
        programs=found,
        sandbox=place,
        env=_environment(env, set_env or {}),
        timeout_seconds=seconds,
        max_output_bytes=check_count("max_output_bytes", max_output_bytes),
        max_argv_bytes=check_count("max_argv_bytes", max_argv_bytes),
        max_stdin_bytes=check_count("max_stdin_bytes", max_stdin_bytes),
        limits=limits or ProcessLimits(),
        effects=check_names(effects),
    )

    @tool(
        name="proc.run",
        effect="unsafe",
        reversible=False,
        description="Run a program with a list of arguments, without a shell. "
        f"Programs: {', '.join(sorted(found))}. Containment: {place.containment.describe()}.",
    )
    @uses_action
    async def run(
        program: str, argv: list[str], stdin: str = "", timeout_seconds: float = seconds
    ) -> dict[str, Any]:  # Any: JSON
        return await runner.run(program, argv, stdin, timeout_seconds)

    return ToolSet.from_functions(run)


def _programs(programs: object) -> dict[str, Program]:
    if isinstance(programs, str):
        raise TypeError(f"programs must be a list of names, got the string {programs!r}; write [{programs!r}]")
    if isinstance(programs, Mapping):
        found = {name: resolve(name, path) for name, path in programs.items()}
    elif isinstance(programs, Iterable):
        found = {name: resolve(name) for name in programs}
    else:
        raise TypeError(f"programs must be a list of names or a mapping of names to files, got {programs!r}")
    if not found:
        raise ValueError("programs is empty; name those that the tool may run")
    return found


def _environment(names: Sequence[str], values: Mapping[str, str]) -> dict[str, str]:
    if isinstance(names, str):
        raise TypeError(f"env must be a tuple of names, got the string {names!r}; write ({names!r},)")
    found = {**_ENVIRONMENT, **{name: os.environ[name] for name in names if name in os.environ}, **values}
    for name, value in found.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise ValueError(f"set_env: {name!r} is not a name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise ValueError(f"set_env: the value of {name} must be a string without NUL")
    return found


def _paths(name: str, paths: Sequence[str]) -> tuple[str, ...]:
    if isinstance(paths, str):
        raise TypeError(f"{name} must be a tuple of paths, got the string {paths!r}; write ({paths!r},)")
    for path in paths:
        if not isinstance(path, str) or not os.path.isabs(path) or not os.path.exists(path):
            raise ValueError(f"{name}: {path!r} is not an absolute path of an existing file")
    return tuple(map(os.path.realpath, paths))
