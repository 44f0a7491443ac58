"""Mistakes in the arguments of `processes`: reported when the tool is created."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bobcat.providers import ProcessLimits, processes
from providers.process_site import write_program


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"programs": "git"}, "programs must be a list of names"),
        ({"programs": []}, "programs is empty"),
        ({"programs": ["no-such-program"]}, "`no-such-program` is not in /usr/local/bin"),
        ({"programs": ["/bin/ls"]}, "write a mapping: {'ls': '/bin/ls'}"),
        ({"programs": {"ls": "bin/ls"}}, "must be an absolute path"),
        ({"programs": {"x": "/etc/passwd"}}, "not executable"),
        ({"programs": {"x": "/etc"}}, "not a regular file"),
        ({"programs": {"x": "/dev/null"}}, "not a regular file"),
        ({"cwd": "/no/such"}, "cannot be opened as a directory"),
        ({"env": "PATH"}, "env must be a tuple of names"),
        ({"set_env": {"A=B": "x"}}, "not a name of a variable"),
        ({"set_env": {"A": "x\0"}}, "without NUL"),
        ({"timeout_seconds": 0}, "timeout_seconds must be above 0"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds must be above 0"),
        ({"timeout_seconds": "1"}, "timeout_seconds must be a number"),
        ({"max_output_bytes": 0}, "max_output_bytes must be at least 1"),
        ({"max_argv_bytes": 1.5}, "max_argv_bytes must be an integer"),
        ({"effects": "read"}, "effects must be a list of names"),
        ({"effects": ["reads"]}, "effects must be some of read"),
        ({"isolation": "docker"}, "isolation must be"),
        ({"readable": ("relative",)}, "not an absolute path"),
        ({"writable": "/tmp"}, "writable must be a tuple of paths"),
    ],
)
def test_a_mistake_is_reported_when_the_provider_is_created(given: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        processes(**{"programs": ["ls"], **given})
    assert message in str(caught.value)


def test_limits_are_checked() -> None:
    with pytest.raises(ValueError, match="processes must be at least 1"):
        ProcessLimits(processes=0)
    with pytest.raises(TypeError, match="memory_bytes must be an integer"):
        ProcessLimits(memory_bytes="1GB")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "directory_mode", "message"),
    [
        (0o757, 0o755, "every user can write"),
        (0o755, 0o777, "every user can replace files in"),
        (0o644, 0o755, "not exec"),
    ],
)
def test_a_program_that_every_user_can_change_is_refused(
    tmp_path: Path, mode: int, directory_mode: int, message: str
) -> None:
    (tmp_path / "bin").mkdir()
    write_program(tmp_path / "bin" / "program", "#!/bin/sh\n")
    (tmp_path / "bin" / "program").chmod(mode)
    (tmp_path / "bin").chmod(directory_mode)
    with pytest.raises(ValueError, match=message):
        processes({"program": str(tmp_path / "bin" / "program")})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo x\n", "neither an ELF file nor a script"),
        ("#!sh\n", "no absolute interpreter"),
        ("#!/usr/bin/env -S sh -x\n", "is not understood"),
        ("#!/usr/bin/env A=b sh\n", "is not understood"),
        ("#!/no/such/interpreter\n", "cannot be opened"),
    ],
)
def test_a_script_needs_an_interpreter_that_can_be_opened(tmp_path: Path, text: str, message: str) -> None:
    write_program(tmp_path / "program", text)
    with pytest.raises(ValueError, match=message):
        processes({"program": str(tmp_path / "program")})


def test_the_description_names_the_programs_and_the_containment(tmp_path: Path) -> None:
    tool = processes(["ls", "cat"], cwd=tmp_path, isolation="none").get("proc.run")
    assert "Programs: cat, ls." in tool.description
    assert "Containment: none:" in tool.description
    assert "absent: a limit to the files" in tool.description
