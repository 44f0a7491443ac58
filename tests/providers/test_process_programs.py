"""`processes`: programs that are resolved once, what is recorded, cancellation, and mistakes in its arguments."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, ToolError, compile_policy
from bobcat.providers import containment, processes
from providers.escapes_processes import ALL
from providers.process_site import WORKING, call, site, write_program


def _swap_by_rename(file: Path) -> None:
    write_program(file.with_name("new"), "#!/bin/sh\necho planted\n")
    os.replace(file.with_name("new"), file)


def _overwrite(file: Path) -> None:
    with file.open("r+") as opened:
        opened.write("#!/bin/sh\necho planted\n")


def _overwrite_with_old_times(file: Path) -> None:
    before = file.stat()
    _overwrite(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("swap", [_swap_by_rename, _overwrite, _overwrite_with_old_times])
def test_a_program_that_changed_does_not_run(tmp_path: Path, swap: Callable[[Path], None]) -> None:
    file = tmp_path / "program"
    write_program(file, "#!/bin/sh\necho original and long\n")
    tools = processes({"program": str(file)}, cwd=tmp_path)
    assert call(tools, "program")["stdout"] == "original and long\n"
    swap(file)
    with pytest.raises(ToolError, match="has changed since the tool was created") as caught:
        call(tools, "program")
    assert caught.value.code == "changed"


def test_a_link_that_was_swapped_leads_to_the_program_of_before(tmp_path: Path) -> None:
    for name in ("original", "planted"):
        write_program(tmp_path / name, f"#!/bin/sh\necho {name}\n")
    link = tmp_path / "program"
    link.symlink_to("original")
    tools = processes({"program": str(link)}, cwd=tmp_path)
    link.unlink()
    link.symlink_to("planted")
    assert call(tools, "program")["stdout"] == "original\n"


def test_an_interpreter_that_changed_does_not_run(tmp_path: Path) -> None:
    interpreter = tmp_path / "interpreter"
    interpreter.write_bytes(Path("/bin/sh").read_bytes())
    interpreter.chmod(0o755)
    write_program(tmp_path / "program", f"#!{interpreter}\necho ran\n")
    tools = processes({"program": str(tmp_path / "program")}, cwd=tmp_path)
    assert call(tools, "program")["stdout"] == "ran\n"
    _swap_by_rename(interpreter)
    with pytest.raises(ToolError, match="has changed"):
        call(tools, "program")


@pytest.mark.parametrize("isolation", WORKING)
def test_modes_of_files_outside_change_exactly_where_the_page_says_so(tmp_path: Path, isolation: str) -> None:
    with site(tmp_path) as made:
        (made.out / "secret").chmod(0o600)
        call(made.tools(isolation), "sh", "-c", f"chmod 644 {made.out}/secret")
        assert ((made.out / "secret").stat().st_mode & 0o777 == 0o644) == (isolation != "bwrap")
    absent = containment(isolation).absent  # type: ignore[arg-type]
    assert ("modes, owners and times of files outside" in absent) == (isolation == "landlock")


def test_a_directory_that_was_swapped_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "other").mkdir()
    tools = processes(["ls"], cwd=tmp_path / "ws", isolation="none")
    (tmp_path / "ws" / "inside").touch()
    (tmp_path / "ws").rename(tmp_path / "moved")
    (tmp_path / "ws").symlink_to("other")
    assert call(tools, "ls")["stdout"] == "inside\n"


def test_what_ran_is_recorded(tmp_path: Path) -> None:
    write_program(tmp_path / "script", "#!/bin/sh\nsleep 60 &\n")

    async def submit() -> Any:  # Any: the facts
        tools = processes({"script": str(tmp_path / "script")}, cwd=tmp_path)
        async with Guard(compile_policy(ALL), tools) as guard:
            return await guard.submit("proc.run", {"program": "script", "argv": []})

    outcome = asyncio.run(submit())
    found = (tmp_path / "script").stat()
    assert outcome.status == "ok", outcome
    assert dict(outcome.opened) == {
        "program": str(tmp_path / "script"), "inode": found.st_ino, "device": found.st_dev, "cwd": str(tmp_path),
        "interpreter": os.path.realpath("/bin/sh"), "sandbox": containment().isolation, "killed_processes": 1,
    }  # fmt: skip
