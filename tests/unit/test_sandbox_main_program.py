"""Sandboxed tools that are defined in the program that runs: a script, a module run by name, and what has no file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = """
import asyncio
from dataclasses import dataclass
from bobcat.executors.sandbox import SandboxError, run_in_subprocess

print("loaded", __name__)

@dataclass
class Order:
    id: int

async def ship(order: Order) -> str:
    return f"shipped {order.id} of {WAREHOUSE}"

WAREHOUSE = "north"

def main():
    try:
        print(asyncio.run(run_in_subprocess(ship, {"order": Order(7)})))
    except SandboxError as error:
        print("SandboxError:", str(error).strip().splitlines()[-1])
"""
GUARDED = TOOL + '\nif __name__ == "__main__":\n    main()\n'


def run(*arguments: str, cwd: Path, text: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout


def test_a_tool_of_a_script_runs_and_its_main_part_does_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "ship.py").write_text(GUARDED)
    assert run("ship.py", cwd=tmp_path) == "loaded __main__\nshipped 7 of north\n"


def test_a_script_can_have_any_name_and_no_cache_is_written(tmp_path: Path) -> None:
    (tmp_path / "ship-it").write_text(GUARDED)
    assert "shipped 7 of north" in run("ship-it", cwd=tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["ship-it"]


def test_a_tool_of_a_module_that_is_run_by_name_can_import_its_neighbours(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "places.py").write_text("WAREHOUSE = 'south'\n")
    source = GUARDED.replace('WAREHOUSE = "north"', "from .places import WAREHOUSE")
    (package / "ship.py").write_text(source)
    assert "shipped 7 of south" in run("-B", "-m", "shop.ship", cwd=tmp_path)


def test_a_script_without_a_guard_is_reported_and_starts_no_chain_of_processes(tmp_path: Path) -> None:
    (tmp_path / "ship.py").write_text(TOOL + "\nmain()\n")
    out = run("ship.py", cwd=tmp_path)
    # The child's own attempt fails inside the child; its error is caught and printed there, unseen.
    assert out == "loaded __main__\nshipped 7 of north\n"
    (tmp_path / "ship.py").write_text(TOOL + "\nprint(asyncio.run(run_in_subprocess(ship, {'order': Order(7)})))\n")
    done = subprocess.run(
        [sys.executable, "ship.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert 'put its code under `if __name__ == "__main__":`' in done.stderr


def test_a_program_without_a_file_is_refused(tmp_path: Path) -> None:
    expected = (
        "SandboxError: cannot sandbox 'ship': it is defined in an interactive __main__ with no file. "
        "Move it into a module or a script.\n"
    )
    assert run("-c", TOOL + "\nmain()", cwd=tmp_path).endswith(expected)
    assert run("-", cwd=tmp_path, text=TOOL + "\nmain()\n").endswith(expected)
