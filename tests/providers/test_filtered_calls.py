"""The files provider where a filter of system calls refuses `openat2`, `renameat2` and `statx`, as in containers."""

from __future__ import annotations

import errno
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from providers.filtered_calls import CALLS
from providers.trees import tree

OPENAT2, RENAMEAT2, STATX = 437, 316, 332
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the numbers of the calls are those of x86_64"
)


def used(base: Path, number: int, *calls: int) -> dict[str, Any]:
    with tree(base) as made:
        made.make([{"file": "ws/f"}, {"link": ["ws/l", "../outside"]}, {"mount": "ws/mounted"}])
        script = Path(__file__).with_name("filtered_calls.py")
        command = [sys.executable, str(script), str(number), ",".join(map(str, calls)), str(base)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["outcomes"]) == len(CALLS)
    return dict(found)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_the_walk_is_chosen_where_openat2_is_refused_and_answers_alike(number: int, tmp_path: Path) -> None:
    free = used(tmp_path / "free", number)
    filtered = used(tmp_path / "filtered", number, OPENAT2)
    assert (free["openat2"], free["resolver"]) == (True, "openat2")
    assert (filtered["openat2"], filtered["resolver"]) == (False, "walk")
    assert filtered["outcomes"] == free["outcomes"]
    codes = [each for each in free["outcomes"] if isinstance(each, str)]
    assert codes == ["symlink", "exists", "exists", "leads_out"]


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_without_renameat2_files_are_moved_by_links_and_directories_are_not(number: int, tmp_path: Path) -> None:
    free = used(tmp_path / "free", number)
    filtered = used(tmp_path / "filtered", number, OPENAT2, RENAMEAT2)
    different = [
        at
        for at, pair in enumerate(zip(free["outcomes"], filtered["outcomes"], strict=True))
        if len({*map(repr, pair)}) > 1
    ]
    assert [CALLS[at] for at in different] == [("fs.move", {"path": "ws/d", "to": "ws/e"}), ("fs.list", {"path": "ws"})]
    assert filtered["outcomes"][different[0]] == "invalid"
    names = [entry["name"] for entry in filtered["outcomes"][different[1]]["entries"]]
    assert names == ["a", "d", "f", "l", "mounted"]


def test_without_statx_the_walk_sees_a_mount_of_the_same_device(tmp_path: Path) -> None:
    free = used(tmp_path / "free", errno.ENOSYS)
    filtered = used(tmp_path / "filtered", errno.ENOSYS, OPENAT2, STATX)
    assert filtered["outcomes"] == free["outcomes"]
    assert filtered["outcomes"][-1] == "leads_out"
